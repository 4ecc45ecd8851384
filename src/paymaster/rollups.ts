import { Hash, Hex } from '../eth/index.ts'
import type { Address } from '../eth/index.ts'
import { JsonRecords } from '../jsonrpc/index.ts'
import type { Records } from '../jsonrpc/index.ts'
import { EntryJson } from './entry.ts'
import type { Entry } from './entry.ts'
import { ROLL_UP_DAYS } from './limits.ts'

/** The sums of a policy's rolled-up entries, in wei. */
interface RollUp {
  readonly settled: bigint
  readonly settledCount: number
  readonly expiredCount: number
  /** number of accounts with a settled entry */
  readonly users: number
  /** settled wei of the newest days */
  readonly days: ReadonlyMap<number, bigint>
}

const JOURNAL = 'sponsor/folding'
const POLICIES = 'sponsor/sum/'
const USERS = 'sponsor/user/'

/**
 * The sums of entries that are no longer kept. Each account has a record, which is read on demand, since their number is unlimited. A
 * journal makes updates atomic where records have no transactions: the next process completes an interrupted one.
 */
export class RollUps {
  readonly #records: Records
  readonly #entryPrefix: string
  readonly #policies = new Map<string, RollUp>()

  constructor(records: Records, entryPrefix: string) {
    this.#records = records
    this.#entryPrefix = entryPrefix
    const journal = JsonRecords.get(records, JOURNAL)
    if (journal !== null) this.#carryOut(journal as Journal) // written by `add` only
    for (const [, value] of JsonRecords.entries(records, POLICIES)) {
      const kept = value as StoredRollUp // written by `add` only
      this.#policies.set(kept.policy, decodeRollUp(kept))
    }
  }

  of(policy: string): RollUp {
    return this.#policies.get(policy) ?? NOTHING
  }

  day(policy: string, day: number): bigint {
    return this.of(policy).days.get(day) ?? 0n
  }

  user(policy: string, sender: Address): bigint {
    if (this.of(policy).users === 0) return 0n
    const kept = JsonRecords.get(this.#records, userKey(policy, sender))
    return kept === null ? 0n : BigInt(kept as Hex) // written by `add` only
  }

  hasUser(policy: string, sender: Address): boolean {
    return this.of(policy).users > 0 && this.#records.get(userKey(policy, sender)) !== null
  }

  get settled(): bigint {
    return [...this.#policies.values()].reduce((sum, { settled }) => sum + settled, 0n)
  }

  get counts(): { readonly settled: number; readonly expired: number } {
    const counts = { settled: 0, expired: 0 }
    for (const { settledCount, expiredCount } of this.#policies.values()) {
      counts.settled += settledCount
      counts.expired += expiredCount
    }
    return counts
  }

  /** Adds closed entries to the sums and removes their records. */
  add(entries: readonly Entry[]): void {
    const users = new Map<string, bigint>()
    const changed = new Map<string, RollUp>()
    for (const entry of entries) {
      const policy = entry.policy ?? ''
      const before = changed.get(policy) ?? this.of(policy)
      if (entry.state !== 'settled') {
        changed.set(policy, { ...before, expiredCount: before.expiredCount + 1 })
        continue
      }
      const user = userKey(policy, entry.sender)
      const isNew = !users.has(user) && !this.hasUser(policy, entry.sender)
      users.set(user, (users.get(user) ?? this.user(policy, entry.sender)) + (entry.cost ?? 0n))
      changed.set(policy, addSettled(before, entry, isNew))
    }
    const puts: [string, unknown][] = [...changed].map(([policy, sum]) => [policyKey(policy), encodeRollUp(policy, sum)])
    for (const [user, wei] of users) puts.push([user, Hex.fromQuantity(wei)])
    const journal: Journal = { ids: entries.map(({ id }) => id), puts }
    JsonRecords.together(this.#records, () => {
      JsonRecords.put(this.#records, JOURNAL, journal)
      this.#carryOut(journal)
    })
    for (const [policy, sum] of changed) this.#policies.set(policy, sum)
  }

  /** The journal contains final values, so that repeating it changes nothing. */
  #carryOut({ ids, puts }: Journal): void {
    for (const [key, value] of puts) JsonRecords.put(this.#records, key, value)
    for (const id of ids) JsonRecords.put(this.#records, EntryJson.key(this.#entryPrefix, id), null)
    JsonRecords.put(this.#records, JOURNAL, null)
  }
}

interface Journal {
  readonly ids: readonly number[]
  readonly puts: readonly (readonly [key: string, value: unknown])[]
}

const NOTHING: RollUp = { settled: 0n, settledCount: 0, expiredCount: 0, users: 0, days: new Map() }

function addSettled(sum: RollUp, { day, cost }: Entry, isNewUser: boolean): RollUp {
  const days = new Map(sum.days).set(day, (sum.days.get(day) ?? 0n) + (cost ?? 0n))
  const newest = [...days].toSorted(([a], [b]) => b - a).slice(0, ROLL_UP_DAYS)
  return {
    ...sum,
    settled: sum.settled + (cost ?? 0n),
    settledCount: sum.settledCount + 1,
    users: sum.users + (isNewUser ? 1 : 0),
    days: new Map(newest),
  }
}

interface StoredRollUp extends Omit<RollUp, 'settled' | 'days'> {
  readonly policy: string
  readonly settled: Hex
  readonly days: readonly (readonly [day: number, wei: Hex])[]
}

function encodeRollUp(policy: string, sum: RollUp): StoredRollUp {
  const days = [...sum.days].map(([day, wei]) => [day, Hex.fromQuantity(wei)] as const)
  return { ...sum, policy, settled: Hex.fromQuantity(sum.settled), days }
}

function decodeRollUp({ settledCount, expiredCount, users, settled, days }: StoredRollUp): RollUp {
  return { settledCount, expiredCount, users, settled: BigInt(settled), days: new Map(days.map(([day, wei]) => [day, BigInt(wei)])) }
}

/** Policy names have any length; record keys are short. */
function short(policy: string): string {
  return Hash.ofText(policy).slice(2, 34)
}

function policyKey(policy: string): string {
  return `${POLICIES}${short(policy)}`
}

function userKey(policy: string, sender: Address): string {
  return `${USERS}${short(policy)}/${sender}`
}
