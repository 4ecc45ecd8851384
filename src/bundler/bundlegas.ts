import { Address } from '../eth/index.ts'
import type { EntryPoint, UserOperation } from '../eth/index.ts'
import type { RpcError } from '../jsonrpc/index.ts'
import { refuse } from './errors.ts'

/** Returns the gas limit of a bundle whose operations use all of their limits. `sizeBytes`: size of the call data, if it is known. */
export function bundleGas(
  entryPoint: EntryPoint,
  operations: readonly UserOperation[],
  sizeBytes: number = entryPoint.handleOps(operations, Address.zero).length,
): bigint {
  const limits = operations.reduce((sum, operation) => sum + entryPoint.gasLimits(operation) + OPERATION_MARGIN, BUNDLE_MARGIN)
  const authorizations = BigInt(operations.filter(({ authorization }) => authorization !== null).length)
  // Each of two nested calls retains a 64th (EIP-150); a byte of call data costs 16 gas, or 40 at the floor (EIP-7623).
  return (limits * 66n) / 63n + BigInt(sizeBytes) * 40n + authorizations * AUTHORIZATION_GAS
}

/** The refusal of an operation whose limits exceed a bundle. */
export function tooMuchGas(gas: bigint, maxGas: bigint): RpcError {
  return refuse('invalid', `with its gas limits a bundle needs ${gas} gas, and this chain accepts at most ${maxGas}; lower them`)
}

/** Returns the bytes of an operation's fields of any length. */
export function operationBytes({ callData, factoryData, paymasterData, paymasterSignature, signature }: UserOperation): number {
  return callData.length + factoryData.length + paymasterData.length + paymasterSignature.length + signature.length
}

const BUNDLE_MARGIN = 60_000n
/** The EntryPoint's overhead per operation; AA95 requires 10,000 of it. */
const OPERATION_MARGIN = 60_000n
/** EIP-7702 charges 25,000 in advance. */
const AUTHORIZATION_GAS = 40_000n
