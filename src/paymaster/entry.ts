import { Hex } from '../eth/index.ts'
import type { Address, Hash } from '../eth/index.ts'
import { schema } from '../jsonrpc/index.ts'
import type { InnerCall } from './calls.ts'
import type { PolicyReason, Reason } from './policy.ts'
import { SPONSORED_VERSIONS } from './sponsoredversion.ts'
import type { SponsoredVersion } from './sponsoredversion.ts'

/** `included`: pre-confirmed, in the block under construction. `settled`: in a sealed block. */
export const ENTRY_STATES = ['reserved', 'included', 'settled', 'expired', 'refused'] as const
export type EntryState = (typeof ENTRY_STATES)[number]

/** The position of an entry's event in the chain. */
export interface Place {
  readonly blockNumber: number
  /** `null` before the block is sealed */
  readonly blockHash: Hash | null
  /** `null` if the time of a block caused the state */
  readonly transactionHash: Hash | null
}

/** A line of the ledger, immutable. */
export interface Entry {
  /** ascending */
  readonly id: number
  /** Unix time, milliseconds */
  readonly at: number
  readonly state: EntryState
  /** the method that was called; reservations are always final */
  readonly stage: 'stub' | 'final'
  /** day of the latest signature by the chain's clock: days since 1970, UTC */
  readonly day: number
  readonly chainId: number
  readonly version: SponsoredVersion
  readonly entryPoint: Address
  /** `null` for refusals */
  readonly paymaster: Address | null
  /** `null` for a refusal by no policy in particular, and for an operation found on the chain without a reservation */
  readonly policy: string | null
  readonly sender: Address
  readonly nonce: bigint
  /** hash of the operation on the chain, or else of the operation signed last; `null` if unknown */
  readonly userOpHash: Hash | null
  /** hashes of all signed operations of this nonce, the newest last */
  readonly signed: readonly Hash[]
  /** the first of them; `null` if they cannot be decoded */
  readonly calls: readonly InnerCall[] | null
  readonly callCount: number
  /** in wei, the highest possible cost of any operation that was signed for this nonce; `null` for a stub */
  readonly maxCost: bigint | null
  /** charged cost in wei */
  readonly cost: bigint | null
  /** in wei per gas, of the latest signature; `null` for a refusal, and for an operation found on the chain without a reservation */
  readonly maxFeePerGas: bigint | null
  readonly maxPriorityFeePerGas: bigint | null
  /** gas that was charged; the price paid is `cost` by it */
  readonly gasUsed: bigint | null
  /** Unix seconds; 0 without an end */
  readonly validUntil: number | null
  readonly place: Place | null
  /** whether the account's own calls succeeded */
  readonly success: boolean | null
  /** cause of a refusal or an expiry */
  readonly reason: Reason | 'ran-out' | 'nonce-used' | null
  readonly message: string | null
  /** reason of each policy that was evaluated */
  readonly reasons: readonly PolicyReason[]
}

/** Entries in stored records. */
export const EntryJson = { key, idOf, write, read }

/** Record keys sort by id. */
function key(prefix: string, id: number): string {
  return `${prefix}${String(id).padStart(12, '0')}`
}

/** Returns the id in a record key; 0 if it has none. */
function idOf(prefix: string, name: string): number {
  const id = Number(name.slice(prefix.length))
  return Number.isSafeInteger(id) ? id : 0
}

/** Stores a pre-confirmed entry as reserved: its block may not exist after a restart. */
function write(entry: Entry): Readonly<Record<string, unknown>> {
  const isPromised = entry.state === 'included'
  const { nonce, calls, maxCost, cost, gasUsed } = isPromised ? { ...entry, cost: null, gasUsed: null } : entry
  return {
    ...entry,
    ...(isPromised ? { state: 'reserved', place: null, success: null } : null),
    nonce: Hex.fromQuantity(nonce),
    calls: calls && calls.map(({ to, value, selector }) => ({ to, value: Hex.fromQuantity(value), selector })),
    maxCost: quantityOrNull(maxCost),
    cost: quantityOrNull(cost),
    maxFeePerGas: quantityOrNull(entry.maxFeePerGas),
    maxPriorityFeePerGas: quantityOrNull(entry.maxPriorityFeePerGas),
    gasUsed: quantityOrNull(gasUsed),
  }
}

export function quantityOrNull(value: bigint | null): Hex | null {
  return value === null ? null : Hex.fromQuantity(value)
}

const { address, maybe, object, oneOf, quantity } = schema
const STORED = object({
  state: oneOf(...ENTRY_STATES),
  version: oneOf(...SPONSORED_VERSIONS),
  sender: address,
  entryPoint: address,
  paymaster: maybe(address),
  nonce: quantity,
  maxCost: maybe(quantity),
  cost: maybe(quantity),
  // Records of the first versions have no prices.
  maxFeePerGas: maybe(quantity),
  maxPriorityFeePerGas: maybe(quantity),
  gasUsed: maybe(quantity),
})

/** Checks the fields that budgets depend on; `write` guarantees the others. Throws RpcError for a malformed entry. */
function read(value: unknown): Entry {
  const kept = STORED.parse(value, 'entry')
  const rest = value as Omit<Entry, 'nonce' | 'maxCost' | 'cost' | 'calls'> & { readonly calls: readonly StoredCall[] | null } // as write left it
  if (!Number.isSafeInteger(rest.id) || !Number.isSafeInteger(rest.chainId)) throw new RangeError('an entry has an id and a chain')
  return {
    ...rest,
    nonce: kept.nonce,
    maxCost: kept.maxCost ?? null,
    cost: kept.cost ?? null,
    maxFeePerGas: kept.maxFeePerGas ?? null,
    maxPriorityFeePerGas: kept.maxPriorityFeePerGas ?? null,
    gasUsed: kept.gasUsed ?? null,
    calls: rest.calls && rest.calls.map(({ to, value: wei, selector }) => ({ to, value: BigInt(wei), selector })),
  }
}

interface StoredCall {
  readonly to: Address
  readonly value: Hex
  readonly selector: Hex | null
}
