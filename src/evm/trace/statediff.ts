import { EMPTY_CODE_HASH, Hash, Hex } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import type { Account, StateReader } from '../state.ts'
import { isEmpty } from '../world.ts'
import type { Trace, TraceContext } from './trace.ts'

/** OpenEthereum's form of a change: unchanged, added, removed, changed. */
type Change = '=' | { readonly '+': Hex } | { readonly '-': Hex } | { readonly '*': { readonly from: Hex; readonly to: Hex } }

interface AccountDiff {
  readonly balance: Change
  readonly code: Change
  readonly nonce: Change
  readonly storage: Readonly<Record<Hash, Change>>
}

/** The accounts that a transaction changed, by address in ascending order. */
export type StateDiff = Readonly<Record<Address, AccountDiff>>

type Slots = ReadonlyMap<Hash, bigint>

const NO_SLOTS: Slots = new Map()
const ACCOUNT_BYTES = 160
const SLOT_BYTES = 240

/**
 * OpenEthereum's `stateDiff`: every account that differs after the transaction, as in reth, so also those that only receive fees; geth's
 * prestateTracer has touched accounts only. JSON of a StateDiff.
 */
export function stateDiffTrace(start: TraceContext): Trace {
  return { tracer: {}, json: () => JSON.stringify(stateDiffOf(start)) }
}

function stateDiffOf(start: TraceContext): StateDiff {
  const { accounts, storage } = start.state.writes()
  const diff: Record<Address, AccountDiff> = {}
  for (const address of [...new Set([...accounts.keys(), ...storage.keys()])].toSorted()) {
    const changed = accountDiff(start, address, storage.get(address) ?? NO_SLOTS)
    if (changed !== null) diff[address] = changed
  }
  return diff
}

/** `written`: the slots with a new value; null: the account did not exist and does not exist. */
function accountDiff({ stateBefore, state, budget }: TraceContext, address: Address, written: Slots): AccountDiff | null {
  const before = existing(stateBefore.account(address))
  const after = state.account(address)
  budget.take(ACCOUNT_BYTES + written.size * SLOT_BYTES)
  const slots = [...written].toSorted(([a], [b]) => (a < b ? -1 : 1))
  const codeOf = (reader: StateReader, { codeHash }: Account) => {
    const code = codeHash === EMPTY_CODE_HASH ? new Uint8Array() : reader.code(codeHash, address)
    budget.take(code.length * 2)
    return Hex.fromBytes(code)
  }
  if (before === null) {
    if (after === null || (isEmpty(after) && slots.length === 0)) return null
    const added = (value: Hex): Change => ({ '+': value })
    return {
      balance: added(Hex.fromQuantity(after.balance)),
      code: added(codeOf(state, after)),
      nonce: added(Hex.fromQuantity(after.nonce)),
      storage: Object.fromEntries(slots.map(([slot, value]) => [slot, added(Hash.fromBigint(value))])),
    }
  }
  const wordBefore = (slot: Hash) => Hash.fromBigint(stateBefore.storage(address, slot))
  if (after === null) {
    const removed = (value: Hex): Change => ({ '-': value })
    return {
      balance: removed(Hex.fromQuantity(before.balance)),
      code: removed(codeOf(stateBefore, before)),
      nonce: removed(Hex.fromQuantity(before.nonce)),
      storage: Object.fromEntries(slots.map(([slot]) => [slot, removed(wordBefore(slot))])),
    }
  }
  return {
    balance: changed(Hex.fromQuantity(before.balance), Hex.fromQuantity(after.balance)),
    code: before.codeHash === after.codeHash ? '=' : changed(codeOf(stateBefore, before), codeOf(state, after)),
    nonce: changed(Hex.fromQuantity(before.nonce), Hex.fromQuantity(after.nonce)),
    storage: Object.fromEntries(slots.map(([slot, value]) => [slot, changed(wordBefore(slot), Hash.fromBigint(value))])),
  }
}

/** EIP-161: an empty account is as one that does not exist. */
function existing(account: Account | null): Account | null {
  return account === null || isEmpty(account) ? null : account
}

function changed(from: Hex, to: Hex): Change {
  return from === to ? '=' : { '*': { from, to } }
}
