/** EntryPoint 0.6, in lower case. */
export const ENTRY_POINT_06 = '0x5ff137d4b0fdcd49dca30c7cf57e578a026d2789'

/** The gas fields of a user operation in JSON; 0.6 has `paymasterAndData` in place of the paymaster's. */
export interface OperationGasFields {
  readonly callGasLimit: string
  readonly verificationGasLimit: string
  readonly preVerificationGas: string
  readonly paymasterVerificationGasLimit?: string | null
  readonly paymasterPostOpGasLimit?: string | null
  readonly paymasterAndData?: string | null
}

/** Returns the gas that the EntryPoint charges in advance, at the max fee. */
export function prefundGas(fields: OperationGasFields, entryPoint: string): bigint {
  const { callGasLimit, verificationGasLimit, preVerificationGas, paymasterAndData } = fields
  const own = BigInt(callGasLimit) + BigInt(preVerificationGas)
  const verification = BigInt(verificationGasLimit)
  // 0.6 calls the paymaster with the account's limit, before and after.
  if (entryPoint.toLowerCase() === ENTRY_POINT_06) return own + verification * ((paymasterAndData ?? '0x') === '0x' ? 1n : 3n)
  return own + verification + BigInt(fields.paymasterVerificationGasLimit ?? 0) + BigInt(fields.paymasterPostOpGasLimit ?? 0)
}
