import type { View } from '../../chain/index.ts'
import { Hash, Hex } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import { Deadline } from '../../evm/index.ts'
import { environmentOf, withCall } from './calls.ts'
import type { Call, CallEnvironment } from './calls.ts'
import { CALL_TIME_MS, TOKEN_SLOTS } from '../limits.ts'
import type { CallRequest } from './request.ts'

/** A slot and its account, which differs from the token for some proxies. */
interface Place {
  readonly address: Address
  readonly slot: Hash
}

/** A value that no balance has by chance, small enough for tokens with balances of 96 bits. */
const PROBE = 0x706f636b6574n

/**
 * Returns the slot that a getter (`balanceOf(…)`, `allowance(…)`) of a token returns, or null. Each slot that the getter reads is overridden with
 * the probe and with `amount`; the result must be the same value.
 */
export function tokenSlot(view: View, token: Address, data: Uint8Array, amount: bigint): Place | null {
  const environment = environmentOf(view, view.byTag('pending'))
  const getter: Getter = { environment, request: { to: token, data }, deadline: new Deadline(CALL_TIME_MS) }
  for (const place of slotsRead(getter).slice(0, TOKEN_SLOTS)) {
    if (resultWith(getter, place, PROBE) === PROBE && resultWith(getter, place, amount) === amount) return place
  }
  return null
}

/** Returns the number that a getter of a token returns, such as `totalSupply()`; null if it returns none. */
export function tokenNumber(view: View, token: Address, data: Uint8Array): bigint | null {
  const environment = environmentOf(view, view.byTag('pending'))
  return withCall(environment, { to: token, data }, {}, (call) => numberOf(call.run()), { deadline: new Deadline(CALL_TIME_MS) })
}

interface Getter {
  readonly environment: CallEnvironment
  readonly request: CallRequest
  /** shared by all attempts */
  readonly deadline: Deadline
}

function slotsRead({ environment, request, deadline }: Getter): readonly Place[] {
  const { accessList } = withCall(environment, request, {}, (call) => call.run(call.gas, {}, { accessList: true }), {
    deadline,
    traced: true,
  })
  return (accessList ?? []).flatMap(({ address, storageKeys }) => storageKeys.map((slot) => ({ address, slot })))
}

/** Returns the result of the getter with `value` in the slot; null if it is not a number. */
function resultWith({ environment, request, deadline }: Getter, { address, slot }: Place, value: bigint): bigint | null {
  const state = new Map([[address, { stateDiff: new Map([[slot, Hash.fromBigint(value)]]) }]])
  return withCall(environment, request, { state }, (call) => numberOf(call.run()), { deadline })
}

function numberOf({ outcome, output }: ReturnType<Call['run']>): bigint | null {
  return outcome.kind === 'success' && output.length === 32 ? BigInt(Hex.fromBytes(output)) : null
}
