import { Hex } from '../eth/index.ts'
import { revertReason } from '../evm/index.ts'
import type { Executed } from '../evm/index.ts'
import type { Compat } from '../compat.ts'
import { CODE, RpcError } from './errors.ts'

const REVERTED = 'execution reverted'

/** The error of a call that did not succeed (interface 7.1, compat.ts). A halt carries no data and is never called a revert. */
export function failure({ outcome, output }: Executed, compat: Compat): RpcError | null {
  if (outcome.kind === 'success') return null
  if (outcome.kind === 'halt') return new RpcError(CODE.server, outcome.reason)
  const message = compat.revertReasonInMessage ? revertMessage(output) : REVERTED
  return new RpcError(compat.revertCode, message, Hex.fromBytes(output))
}

/** `execution reverted: user error`; without the suffix when the data is neither Error(string) nor Panic(uint256). */
export function revertMessage(output: Uint8Array): string {
  const reason = revertReason(output)
  return reason === null ? REVERTED : `${REVERTED}: ${reason}`
}
