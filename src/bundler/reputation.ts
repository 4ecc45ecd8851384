import { UserOperation } from '../eth/index.ts'
import type { Address } from '../eth/index.ts'
import type { RpcError } from '../jsonrpc/index.ts'
import { refuse } from './errors.ts'
import { REPUTATIONS, REPUTATION_FADE_MS, THROTTLED_OPERATIONS } from './limits.ts'

/** The operations of an entity (factory, paymaster or staked account) that were seen and included (ERC-7562). */
export interface Reputation {
  readonly seen: number
  readonly included: number
}

/** An operation with the entities whose reputation it affects. */
export interface AccountableOperation {
  readonly operation: UserOperation
  /** a staked account is an entity */
  readonly hasStakedSender: boolean
}

export type ReputationStatus = 'ok' | 'throttled' | 'banned'

const MIN_INCLUSION_DENOMINATOR = 10
const THROTTLING_SLACK = 10
const BAN_SLACK = 50
const FADE = 23 / 24
/** Seen operations of an entity that spoiled a bundle: it is banned (BAN_OPS_SEEN_PENALTY). */
const BAN_PENALTY = 10_000

/** Throttles, then bans, entities whose operations are rarely included (ERC-7562, GREP). */
export class Reputations {
  readonly #entries = new Map<Address, { seen: number; included: number }>()
  readonly #now: () => number
  #fadedMs: number

  constructor(now: () => number) {
    this.#now = now
    this.#fadedMs = now()
  }

  countSeen(operation: AccountableOperation): void {
    for (const entity of entitiesOf(operation)) this.#entry(entity).seen += 1
  }

  countIncluded(operation: AccountableOperation): void {
    for (const entity of entitiesOf(operation)) this.#entry(entity).included += 1
  }

  /** Reverts `countSeen` for an operation that was replaced before it was sent. */
  uncountSeen(operation: AccountableOperation): void {
    for (const entity of entitiesOf(operation)) this.uncountSeenOf(entity)
  }

  uncountSeenOf(entity: Address): void {
    const entry = this.#entry(entity)
    entry.seen = Math.max(0, entry.seen - 1)
  }

  /** Bans an entity that passed its validation and failed in a bundle (EREP-040). */
  penalize(entity: Address): void {
    this.set(entity, { seen: BAN_PENALTY, included: 0 })
  }

  /** Throws RpcError -32504. `pooledCount` returns the number of an entity's operations in the pool. */
  assert(accountable: AccountableOperation, pooledCount: (entity: Address) => number): void {
    const { operation } = accountable
    for (const entity of entitiesOf(accountable)) {
      const status = this.status(entity)
      const isOverLimit = status === 'throttled' && pooledCount(entity) >= THROTTLED_OPERATIONS
      if (status !== 'banned' && !isOverLimit) continue
      throw this.refusal(operation, entity)
    }
  }

  /** Returns RpcError -32504 for an operation of an entity that is throttled or banned. */
  refusal(operation: UserOperation, entity: Address): RpcError {
    const { seen, included } = this.#entry(entity)
    const [role, status] = [roleOf(entity, operation), this.status(entity)]
    const message = `${role} ${entity} is ${status}: ${Math.round(included)} of its ${Math.round(seen)} operations were included`
    return refuse('reputation', message, { [role]: entity, status })
  }

  status(entity: Address): ReputationStatus {
    this.#fade()
    const entry = this.#entries.get(entity)
    if (entry === undefined) return 'ok'
    const expected = Math.floor(entry.seen / MIN_INCLUSION_DENOMINATOR)
    if (expected > entry.included + BAN_SLACK) return 'banned'
    return expected > entry.included + THROTTLING_SLACK ? 'throttled' : 'ok'
  }

  set(entity: Address, { seen, included }: Reputation): void {
    Object.assign(this.#entry(entity), { seen, included })
  }

  entries(): readonly (readonly [Address, Reputation])[] {
    this.#fade()
    return [...this.#entries]
  }

  clear(): void {
    this.#entries.clear()
  }

  #entry(entity: Address) {
    let entry = this.#entries.get(entity)
    if (entry !== undefined) return entry
    const [oldest] = this.#entries.keys()
    if (this.#entries.size >= REPUTATIONS && oldest !== undefined) this.#entries.delete(oldest)
    this.#entries.set(entity, (entry = { seen: 0, included: 0 }))
    return entry
  }

  #fade(): void {
    const hours = Math.floor((this.#now() - this.#fadedMs) / REPUTATION_FADE_MS)
    if (hours <= 0) return
    this.#fadedMs += hours * REPUTATION_FADE_MS
    const factor = FADE ** hours
    for (const entry of this.#entries.values()) {
      entry.seen *= factor
      entry.included *= factor
    }
  }
}

/** Returns the operation's factory, paymaster and account if it is staked. */
export function entitiesOf({ operation, hasStakedSender }: AccountableOperation): readonly Address[] {
  const { paymaster, sender } = operation
  return [factoryOf(operation), paymaster, hasStakedSender ? sender : null].filter((entity) => entity !== null)
}

/** Returns the contract that creates the sender; `null` for a sender that exists or that its authorization creates (EIP-7702). */
export function factoryOf({ factory }: UserOperation): Address | null {
  return factory === UserOperation.DELEGATION ? null : factory
}

function roleOf(entity: Address, { paymaster, sender }: UserOperation): 'paymaster' | 'factory' | 'account' {
  if (entity === sender) return 'account'
  return entity === paymaster ? 'paymaster' : 'factory'
}
