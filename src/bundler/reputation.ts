import type { Address, UserOperation } from '../eth/index.ts'
import { refuse } from './errors.ts'
import { REPUTATIONS, REPUTATION_FADE_MS, THROTTLED_OPERATIONS } from './limits.ts'

/** What an entity (factory, paymaster, account that others pay for) has brought, and how much of it came through (ERC-7562). */
export interface Reputation {
  readonly seen: number
  readonly included: number
}

export type Standing = 'ok' | 'throttled' | 'banned'

const MIN_INCLUSION_DENOMINATOR = 10
const THROTTLING_SLACK = 10
const BAN_SLACK = 50
const FADE = 23 / 24

/** Who brings operations that nobody can include is heard less, and then not any more. */
export class Reputations {
  readonly #entries = new Map<Address, { seen: number; included: number }>()
  readonly #now: () => number
  #fadedMs: number

  constructor(now: () => number) {
    this.#now = now
    this.#fadedMs = now()
  }

  saw(operation: UserOperation): void {
    for (const entity of entitiesOf(operation)) this.#entry(entity).seen += 1
  }

  included(operation: UserOperation): void {
    for (const entity of entitiesOf(operation)) this.#entry(entity).included += 1
  }

  /** It never came to a bundle through no fault of theirs. */
  forget(operation: UserOperation): void {
    for (const entity of entitiesOf(operation)) {
      const entry = this.#entry(entity)
      entry.seen = Math.max(0, entry.seen - 1)
    }
  }

  /** Throws RpcError -32504. `waiting` counts an entity's operations in the pool. */
  assert(operation: UserOperation, waiting: (entity: Address) => number): void {
    for (const entity of entitiesOf(operation)) {
      const standing = this.standing(entity)
      const crowded = standing === 'throttled' && waiting(entity) >= THROTTLED_OPERATIONS
      if (standing !== 'banned' && !crowded) continue
      const { seen, included } = this.#entry(entity)
      throw refuse(
        'reputation',
        `${roleOf(entity, operation)} ${entity} is ${standing}: of ${Math.round(seen)} operations it brought, ${Math.round(included)} were included`,
        { [roleOf(entity, operation)]: entity, status: standing },
      )
    }
  }

  standing(entity: Address): Standing {
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

/** Who answers for an operation besides its sender. */
export function entitiesOf({ factory, paymaster }: UserOperation): readonly Address[] {
  return [factory, paymaster].filter((entity) => entity !== null)
}

function roleOf(entity: Address, { paymaster }: UserOperation): 'paymaster' | 'factory' {
  return entity === paymaster ? 'paymaster' : 'factory'
}
