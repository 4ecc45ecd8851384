import type { View } from '../../chain/index.ts'
import { Hash, Hex } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import { Deadline } from '../../evm/index.ts'
import { siteOf, withCall } from './calls.ts'
import type { Site } from './calls.ts'
import { CALL_TIME_MS, TOKEN_SLOTS } from '../limits.ts'
import type { CallRequest } from './request.ts'

/** A slot, with the account that it belongs to: behind a proxy this is not always the token itself. */
export interface Place {
  readonly address: Address
  readonly slot: Hash
}

/** A number that no token answers by chance, small enough for one that packs its balances into 96 bits. */
const PROBE = 0x706f636b6574n

/**
 * The slot that a getter (`balanceOf(…)`, `allowance(…)`) of a token answers from, found by trying each one that it reads:
 * the right one makes it answer whatever stands there, the probe as well as `amount`. null: none does.
 */
export function tokenSlot(view: View, token: Address, data: Uint8Array, amount: bigint): Place | null {
  const site = siteOf(view, view.byTag('pending'))
  const getter: Getter = { site, request: { to: token, data }, deadline: new Deadline(CALL_TIME_MS) }
  for (const place of slotsRead(getter).slice(0, TOKEN_SLOTS)) {
    if (answer(getter, place, PROBE) === PROBE && answer(getter, place, amount) === amount) return place
  }
  return null
}

interface Getter {
  readonly site: Site
  readonly request: CallRequest
  /** for all that is tried */
  readonly deadline: Deadline
}

function slotsRead({ site, request, deadline }: Getter): readonly Place[] {
  const { accessList } = withCall(site, request, {}, (call) => call.run(call.gas, {}, { accessList: true }), { deadline, traced: true })
  return (accessList ?? []).flatMap(({ address, storageKeys }) => storageKeys.map((slot) => ({ address, slot })))
}

/** What the getter answers when `value` stands in the slot; null when it answers no number. */
function answer({ site, request, deadline }: Getter, { address, slot }: Place, value: bigint): bigint | null {
  const state = new Map([[address, { stateDiff: new Map([[slot, Hash.fromBigint(value)]]) }]])
  const { outcome, output } = withCall(site, request, { state }, (call) => call.run(), { deadline })
  return outcome.kind === 'success' && output.length === 32 ? BigInt(Hex.fromBytes(output)) : null
}
