import { Hex } from '../eth/index.ts'
import type { Address, EntryPointVersion, Hash } from '../eth/index.ts'
import { schema } from '../jsonrpc/index.ts'
import type { InnerCall } from './calls.ts'
import type { PolicyReason, Reason } from './policy.ts'

/** `included`: pre-confirmed, in the block under construction. `settled`: in a sealed block. */
export const ENTRY_STATES = ['reserved', 'included', 'settled', 'expired', 'refused'] as const
export type EntryState = (typeof ENTRY_STATES)[number]

/** Where the chain told of it. */
export interface Place {
  readonly blockNumber: number
  /** null: not sealed yet */
  readonly blockHash: Hash | null
  /** null: no transaction did it, but a block's time */
  readonly transactionHash: Hash | null
}

/** A line of the ledger. Never changed, only replaced. */
export interface Entry {
  /** later ones have greater ids */
  readonly id: number
  /** Unix time, milliseconds */
  readonly at: number
  readonly state: EntryState
  /** what was asked for; what is reserved is always final */
  readonly stage: 'stub' | 'final'
  /** of the chain's clock when it was signed last: days since 1970, UTC */
  readonly day: number
  readonly chainId: number
  readonly version: EntryPointVersion
  readonly entryPoint: Address
  /** null: refused */
  readonly paymaster: Address | null
  /** null: refused by none of them, or found on the chain without a reservation */
  readonly policy: string | null
  readonly sender: Address
  readonly nonce: bigint
  /** as it is on the chain, else as it was signed last; null: not known */
  readonly userOpHash: Hash | null
  /** all that were signed for this nonce, the newest last */
  readonly signed: readonly Hash[]
  /** the first of them; null: they cannot be read */
  readonly calls: readonly InnerCall[] | null
  readonly callCount: number
  /** wei, the most that the chain can charge for anything that was signed for this nonce; null: nobody knew yet */
  readonly maxCost: bigint | null
  /** wei, as charged */
  readonly cost: bigint | null
  /** Unix seconds; 0: for ever */
  readonly validUntil: number | null
  readonly place: Place | null
  /** of the account's own calls */
  readonly success: boolean | null
  /** why it was refused, or came to nothing: its time ran out, or its nonce was used by another operation */
  readonly reason: Reason | 'ran-out' | 'nonce-used' | null
  readonly message: string | null
  /** of each policy that was asked */
  readonly reasons: readonly PolicyReason[]
}

/** Entries as they are kept. */
export const EntryJson = { key, idOf, write, read }

/** Ids lie in their order. */
function key(prefix: string, id: number): string {
  return `${prefix}${String(id).padStart(12, '0')}`
}

/** The other way round; 0 for what is no such key. */
function idOf(prefix: string, name: string): number {
  const id = Number(name.slice(prefix.length))
  return Number.isSafeInteger(id) ? id : 0
}

/** What is only pre-confirmed is kept as reserved: the block may be gone when somebody reads it. */
function write(entry: Entry): Readonly<Record<string, unknown>> {
  const isPromised = entry.state === 'included'
  const { nonce, calls, maxCost, cost } = isPromised ? { ...entry, cost: null } : entry
  return {
    ...entry,
    ...(isPromised ? { state: 'reserved', place: null, success: null } : null),
    nonce: Hex.fromQuantity(nonce),
    calls: calls && calls.map(({ to, value, selector }) => ({ to, value: Hex.fromQuantity(value), selector })),
    maxCost: maxCost === null ? null : Hex.fromQuantity(maxCost),
    cost: cost === null ? null : Hex.fromQuantity(cost),
  }
}

const { address, maybe, object, oneOf, quantity } = schema
const KEPT = object({
  state: oneOf(...ENTRY_STATES),
  sender: address,
  entryPoint: address,
  paymaster: maybe(address),
  nonce: quantity,
  maxCost: maybe(quantity),
  cost: maybe(quantity),
})

/** Only `write` makes such records: what budgets hang on is looked at, the rest is taken as it stands. Throws RpcError for what is no entry. */
function read(value: unknown): Entry {
  const kept = KEPT.parse(value, 'entry')
  const rest = value as Omit<Entry, 'nonce' | 'maxCost' | 'cost' | 'calls'> & { readonly calls: readonly KeptCall[] | null } // as write left it
  if (!Number.isSafeInteger(rest.id) || !Number.isSafeInteger(rest.chainId)) throw new RangeError('an entry has an id and a chain')
  return {
    ...rest,
    nonce: kept.nonce,
    maxCost: kept.maxCost ?? null,
    cost: kept.cost ?? null,
    calls: rest.calls && rest.calls.map(({ to, value: wei, selector }) => ({ to, value: BigInt(wei), selector })),
  }
}

interface KeptCall {
  readonly to: Address
  readonly value: Hex
  readonly selector: Hex | null
}
