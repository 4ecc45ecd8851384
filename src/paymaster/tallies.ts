import type { Address } from '../eth/index.ts'
import type { Entry, EntryState } from './entry.ts'
import type { Folds } from './folds.ts'

/** Days since 1970 in UTC, of Unix seconds. */
export function dayOf(seconds: number): number {
  return Math.floor(seconds / 86_400)
}

/** What entries of no policy are counted under. */
const NOBODY = ''

/**
 * The sums over the entries that are held, by policy, day and account, with those of the folded ones. What is reserved or included weighs its greatest
 * cost, what is settled what it cost. Wei.
 */
export class Tallies {
  readonly #folds: Folds
  readonly #policies = new Map<string, Tally>()
  /** what may still be taken from a deposit, by paymaster: what is in the block under construction was taken already */
  readonly #waiting = new Map<Address, bigint>()
  readonly #counts = { reserved: 0, included: 0, settled: 0, expired: 0 }

  constructor(folds: Folds) {
    this.#folds = folds
  }

  add(entry: Entry): void {
    this.#count(entry, 1)
  }

  remove(entry: Entry): void {
    this.#count(entry, -1)
  }

  /** Its account is among those of the folded entries from now on. */
  noteFolded({ policy, sender, state }: Entry): void {
    const tally = this.#policies.get(policy ?? NOBODY)
    const user = tally?.users.get(sender)
    if (tally === undefined || state !== 'settled' || user?.isNew !== true) return
    tally.users.set(sender, { ...user, isNew: false })
    tally.newUsers--
  }

  total(policy: string): bigint {
    const { reserved, settled } = this.use(policy)
    return reserved + settled
  }

  day(policy: string, day: number): bigint {
    return (this.#policies.get(policy)?.days.get(day) ?? 0n) + this.#folds.day(policy, day)
  }

  user(policy: string, sender: Address): bigint {
    return (this.#policies.get(policy)?.users.get(sender)?.wei ?? 0n) + this.#folds.user(policy, sender)
  }

  use(policy: string): { readonly reserved: bigint; readonly settled: bigint; readonly users: number } {
    const folded = this.#folds.of(policy)
    const tally = this.#policies.get(policy)
    if (tally === undefined) return { reserved: 0n, settled: folded.settled, users: folded.users }
    return { reserved: tally.reserved, settled: tally.settled + folded.settled, users: folded.users + tally.newUsers }
  }

  waitingFor(paymaster: Address): bigint {
    return this.#waiting.get(paymaster) ?? 0n
  }

  get totals(): { readonly reserved: bigint; readonly settled: bigint } {
    const totals = { reserved: 0n, settled: this.#folds.settled }
    for (const { reserved, settled } of this.#policies.values()) {
      totals.reserved += reserved
      totals.settled += settled
    }
    return totals
  }

  get counts(): Readonly<Record<Exclude<EntryState, 'refused'>, number>> {
    const { settled, expired } = this.#folds.counts
    return { ...this.#counts, settled: this.#counts.settled + settled, expired: this.#counts.expired + expired }
  }

  #count(entry: Entry, sign: 1 | -1): void {
    const { state, paymaster, maxCost } = entry
    if (state === 'refused') return
    this.#counts[state] += sign
    const wei = weightOf(entry) * BigInt(sign)
    if (state === 'reserved' && paymaster !== null) addTo(this.#waiting, paymaster, (maxCost ?? 0n) * BigInt(sign))
    const name = entry.policy ?? NOBODY
    const tally = this.#policies.get(name) ?? newTally()
    this.#policies.set(name, tally)
    if (state === 'settled') tally.settled += wei
    else tally.reserved += wei
    addTo(tally.days, entry.day, wei)
    this.#countUser(tally, name, entry.sender, state === 'expired' ? 0 : sign, wei)
  }

  #countUser(tally: Tally, policy: string, sender: Address, entries: 1 | -1 | 0, wei: bigint): void {
    if (entries === 0) return
    const before = tally.users.get(sender)
    const isNew = before?.isNew ?? !this.#folds.hasUser(policy, sender)
    const after = { entries: (before?.entries ?? 0) + entries, wei: (before?.wei ?? 0n) + wei, isNew }
    if (before === undefined && isNew) tally.newUsers++
    if (after.entries > 0) tally.users.set(sender, after)
    else if (tally.users.delete(sender) && isNew) tally.newUsers--
  }
}

interface Tally {
  reserved: bigint
  settled: bigint
  /** of both */
  readonly days: Map<number, bigint>
  readonly users: Map<Address, User>
  /** users that no folded entry is of */
  newUsers: number
}

interface User {
  readonly entries: number
  readonly wei: bigint
  readonly isNew: boolean
}

function newTally(): Tally {
  return { reserved: 0n, settled: 0n, days: new Map(), users: new Map(), newUsers: 0 }
}

function weightOf({ state, maxCost, cost }: Entry): bigint {
  if (state === 'settled') return cost ?? 0n
  return state === 'expired' ? 0n : (maxCost ?? 0n)
}

function addTo<K>(sums: Map<K, bigint>, key: K, wei: bigint): void {
  const sum = (sums.get(key) ?? 0n) + wei
  if (sum === 0n) sums.delete(key)
  else sums.set(key, sum)
}
