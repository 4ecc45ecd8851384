import { Hex } from '../../eth/index.ts'
import { revertReason } from '../../evm/index.ts'
import type { Executed, Outcome } from '../../evm/index.ts'
import type { Compat } from '../../compat.ts'
import { CODE, RpcError } from '../../jsonrpc/index.ts'

export const REVERTED = 'execution reverted'

/** The error of a call that did not succeed, else null (interface 7.1, compat.ts). */
export function failure({ outcome, output }: Executed, compat: Compat): RpcError | null {
  return outcome.kind === 'success' ? null : failed(outcome, Hex.fromBytes(output), compat)
}

/** A halt has no data and is not reported as a revert. */
export function failed(outcome: Outcome, output: Hex, compat: Compat): RpcError {
  if (outcome.kind === 'halt') return new RpcError(CODE.server, outcome.reason)
  const message = compat.revertReasonInMessage ? revertMessage(Hex.toBytes(output)) : REVERTED
  return new RpcError(compat.revertCode, message, output)
}

/** `execution reverted: user error`; without the suffix when the data is neither Error(string) nor Panic(uint256). */
export function revertMessage(output: Uint8Array): string {
  const reason = revertReason(output)
  return reason === null ? REVERTED : `${REVERTED}: ${reason}`
}
