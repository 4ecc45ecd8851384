import { Hash, Hex } from '../eth/index.ts'
import type { Address } from '../eth/index.ts'
import { JsonRecords } from '../jsonrpc/index.ts'
import type { Records } from '../jsonrpc/index.ts'
import { EntryJson } from './entry.ts'
import type { Entry } from './entry.ts'
import { DAYS } from './limits.ts'

/** What is left of the folded entries of a policy. Wei. */
export interface Folded {
  readonly settled: bigint
  readonly settledCount: number
  readonly expiredCount: number
  /** accounts that it has paid for */
  readonly users: number
  /** what was settled on each of the newest days */
  readonly days: ReadonlyMap<number, bigint>
}

const JOURNAL = 'sponsor/folding'
const POLICIES = 'sponsor/sum/'
const USERS = 'sponsor/user/'

/**
 * The sums of entries that are no longer kept. Accounts have a record each, which is read when it is asked for: there may be any number of them. What is
 * to be written is noted first and then done; where records know no transactions, a process that ended on the way has it done by the next one.
 */
export class Folds {
  readonly #records: Records
  readonly #entryPrefix: string
  readonly #policies = new Map<string, Folded>()

  constructor(records: Records, entryPrefix: string) {
    this.#records = records
    this.#entryPrefix = entryPrefix
    const journal = JsonRecords.get(records, JOURNAL)
    if (journal !== null) this.#carryOut(journal as Journal) // only #carryOut's caller writes it
    for (const [, value] of JsonRecords.entries(records, POLICIES)) {
      const kept = value as KeptSum // only `fold` writes it
      this.#policies.set(kept.policy, readSum(kept))
    }
  }

  of(policy: string): Folded {
    return this.#policies.get(policy) ?? NOTHING
  }

  day(policy: string, day: number): bigint {
    return this.of(policy).days.get(day) ?? 0n
  }

  user(policy: string, sender: Address): bigint {
    if (this.of(policy).users === 0) return 0n
    const kept = JsonRecords.get(this.#records, userKey(policy, sender))
    return kept === null ? 0n : BigInt(kept as Hex) // only `fold` writes it
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
  fold(entries: readonly Entry[]): void {
    const users = new Map<string, bigint>()
    const changed = new Map<string, Folded>()
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
      changed.set(policy, withSettled(before, entry, isNew))
    }
    const puts: [string, unknown][] = [...changed].map(([policy, sum]) => [policyKey(policy), writeSum(policy, sum)])
    for (const [user, wei] of users) puts.push([user, Hex.fromQuantity(wei)])
    const journal: Journal = { ids: entries.map(({ id }) => id), puts }
    JsonRecords.together(this.#records, () => {
      JsonRecords.put(this.#records, JOURNAL, journal)
      this.#carryOut(journal)
    })
    for (const [policy, sum] of changed) this.#policies.set(policy, sum)
  }

  /** Sums stand there as they will be: done twice it is the same. */
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

const NOTHING: Folded = { settled: 0n, settledCount: 0, expiredCount: 0, users: 0, days: new Map() }

function withSettled(sum: Folded, { day, cost }: Entry, isNewUser: boolean): Folded {
  const days = new Map(sum.days).set(day, (sum.days.get(day) ?? 0n) + (cost ?? 0n))
  const newest = [...days].toSorted(([a], [b]) => b - a).slice(0, DAYS)
  return {
    ...sum,
    settled: sum.settled + (cost ?? 0n),
    settledCount: sum.settledCount + 1,
    users: sum.users + (isNewUser ? 1 : 0),
    days: new Map(newest),
  }
}

interface KeptSum extends Omit<Folded, 'settled' | 'days'> {
  readonly policy: string
  readonly settled: Hex
  readonly days: readonly (readonly [day: number, wei: Hex])[]
}

function writeSum(policy: string, sum: Folded): KeptSum {
  const days = [...sum.days].map(([day, wei]) => [day, Hex.fromQuantity(wei)] as const)
  return { ...sum, policy, settled: Hex.fromQuantity(sum.settled), days }
}

function readSum({ settledCount, expiredCount, users, settled, days }: KeptSum): Folded {
  return { settledCount, expiredCount, users, settled: BigInt(settled), days: new Map(days.map(([day, wei]) => [day, BigInt(wei)])) }
}

/** Names may hold anything; the records' keys are short. */
function short(policy: string): string {
  return Hash.ofText(policy).slice(2, 34)
}

function policyKey(policy: string): string {
  return `${POLICIES}${short(policy)}`
}

function userKey(policy: string, sender: Address): string {
  return `${USERS}${short(policy)}/${sender}`
}
