import { Hex } from '../../eth/index.ts'
import { revertReason } from '../../evm/index.ts'
import type { Executed, Outcome } from '../../evm/index.ts'
import { anvilHaltReason, anvilReason } from './anvilreason.ts'
import type { Compat } from '../../compat.ts'
import { RpcError } from '../../jsonrpc/index.ts'

const REVERTED = 'execution reverted'

/** The error of a call that ran and did not succeed. */
export class FailedCall extends RpcError {}

/** The error of a call that did not succeed, else null (interface 7.1, compat.ts). */
export function failure({ outcome, output }: Executed, compat: Compat): FailedCall | null {
  return outcome.kind === 'success' ? null : failureError(outcome, Hex.fromBytes(output), compat)
}

/** A halt has no data and is not reported as a revert. */
export function failureError(outcome: Outcome, output: Hex, { haltCode, revertCode, revertReason: wording }: Compat): FailedCall {
  if (outcome.kind === 'halt') return new FailedCall(haltCode, wording === 'anvil' ? anvilHaltReason(outcome.reason) : outcome.reason)
  return new FailedCall(revertCode, withReason(REASONS[wording](Hex.toBytes(output))), output)
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
