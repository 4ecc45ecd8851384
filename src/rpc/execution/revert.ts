import { Hex } from '../../eth/index.ts'
import { revertReason } from '../../evm/index.ts'
import type { Executed, Outcome } from '../../evm/index.ts'
import { anvilReason } from './anvilreason.ts'
import type { Compat } from '../../compat.ts'
import { CODE, RpcError } from '../../jsonrpc/index.ts'

export const REVERTED = 'execution reverted'

/** The error of a call that did not succeed, else null (interface 7.1, compat.ts). */
export function failure({ outcome, output }: Executed, compat: Compat): RpcError | null {
  return outcome.kind === 'success' ? null : failureError(outcome, Hex.fromBytes(output), compat)
}

/** A halt has no data and is not reported as a revert. */
export function failureError(outcome: Outcome, output: Hex, compat: Compat): RpcError {
  if (outcome.kind === 'halt') return new RpcError(CODE.server, outcome.reason)
  return new RpcError(compat.revertCode, withReason(REASONS[compat.revertReason](Hex.toBytes(output))), output)
}

const REASONS: Readonly<Record<Compat['revertReason'], (output: Uint8Array) => string | null>> = {
  none: () => null,
  geth: revertReason,
  anvil: anvilReason,
}

/** `execution reverted: user error`; without the suffix when the data is neither Error(string) nor Panic(uint256). */
export function revertMessage(output: Uint8Array): string {
  return withReason(revertReason(output))
}

function withReason(reason: string | null): string {
  return reason === null ? REVERTED : `${REVERTED}: ${reason}`
}
