import { ENTRY_POINTS } from './entrypoints.ts'

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
  if (entryPoint.toLowerCase() === ENTRY_POINTS['0.6']) return own + verification * ((paymasterAndData ?? '0x') === '0x' ? 1n : 3n)
  return own + verification + BigInt(fields.paymasterVerificationGasLimit ?? 0) + BigInt(fields.paymasterPostOpGasLimit ?? 0)
}
