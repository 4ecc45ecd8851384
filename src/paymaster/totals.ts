import type { Address } from '../eth/index.ts'
import type { Entry, EntryState } from './entry.ts'
import type { RollUps } from './rollups.ts'

/** Returns the days since 1970 of Unix seconds, in UTC. */
export function dayOf(seconds: number): number {
  return Math.floor(seconds / 86_400)
}

/** The name under which entries without a policy are counted. */
const NOBODY = ''

/**
 * Sums in wei over the kept and rolled-up entries by policy, day and account. Reserved and included entries count with their highest cost,
 * settled ones with their charged cost.
 */
export class Totals {
  readonly #rollUps: RollUps
  readonly #policies = new Map<string, PolicyTotals>()
  /** reserved wei by paymaster; the deposit is already charged for operations in the block under construction */
  readonly #waiting = new Map<Address, bigint>()
  readonly #counts = { reserved: 0, included: 0, settled: 0, expired: 0 }

  constructor(rollUps: RollUps) {
    this.#rollUps = rollUps
  }

  add(entry: Entry): void {
    this.#count(entry, 1)
  }

  remove(entry: Entry): void {
    this.#count(entry, -1)
  }

  /** Records that the roll-ups contain the account of an entry. */
  markRolledUp({ policy, sender, state }: Entry): void {
    const sums = this.#policies.get(policy ?? NOBODY)
    const user = sums?.users.get(sender)
    if (sums === undefined || state !== 'settled' || user?.isNew !== true) return
    sums.users.set(sender, { ...user, isNew: false })
    sums.newUsers--
  }

  total(policy: string): bigint {
    const { reserved, settled } = this.use(policy)
    return reserved + settled
  }

  day(policy: string, day: number): bigint {
    return (this.#policies.get(policy)?.days.get(day) ?? 0n) + this.#rollUps.day(policy, day)
  }

  user(policy: string, sender: Address): bigint {
    return (this.#policies.get(policy)?.users.get(sender)?.wei ?? 0n) + this.#rollUps.user(policy, sender)
  }

  use(policy: string): { readonly reserved: bigint; readonly settled: bigint; readonly users: number } {
    const rolledUp = this.#rollUps.of(policy)
    const sums = this.#policies.get(policy)
    if (sums === undefined) return { reserved: 0n, settled: rolledUp.settled, users: rolledUp.users }
    return { reserved: sums.reserved, settled: sums.settled + rolledUp.settled, users: rolledUp.users + sums.newUsers }
  }

  waitingFor(paymaster: Address): bigint {
    return this.#waiting.get(paymaster) ?? 0n
  }

  get totals(): { readonly reserved: bigint; readonly settled: bigint } {
    const totals = { reserved: 0n, settled: this.#rollUps.settled }
    for (const { reserved, settled } of this.#policies.values()) {
      totals.reserved += reserved
      totals.settled += settled
    }
    return totals
  }

  get counts(): Readonly<Record<Exclude<EntryState, 'refused'>, number>> {
    const { settled, expired } = this.#rollUps.counts
    return { ...this.#counts, settled: this.#counts.settled + settled, expired: this.#counts.expired + expired }
  }

  #count(entry: Entry, sign: 1 | -1): void {
    const { state, paymaster, maxCost } = entry
    if (state === 'refused') return
    this.#counts[state] += sign
    const wei = weightOf(entry) * BigInt(sign)
    if (state === 'reserved' && paymaster !== null) addTo(this.#waiting, paymaster, (maxCost ?? 0n) * BigInt(sign))
    const name = entry.policy ?? NOBODY
    const sums = this.#policies.get(name) ?? emptyTotals()
    this.#policies.set(name, sums)
    if (state === 'settled') sums.settled += wei
    else sums.reserved += wei
    addTo(sums.days, entry.day, wei)
    this.#countUser(sums, name, entry.sender, state === 'expired' ? 0 : sign, wei)
  }

  #countUser(sums: PolicyTotals, policy: string, sender: Address, entries: 1 | -1 | 0, wei: bigint): void {
    if (entries === 0) return
    const before = sums.users.get(sender)
    const isNew = before?.isNew ?? !this.#rollUps.hasUser(policy, sender)
    const after = { entries: (before?.entries ?? 0) + entries, wei: (before?.wei ?? 0n) + wei, isNew }
    if (before === undefined && isNew) sums.newUsers++
    if (after.entries > 0) sums.users.set(sender, after)
    else if (sums.users.delete(sender) && isNew) sums.newUsers--
  }
}

interface PolicyTotals {
  reserved: bigint
  settled: bigint
  /** wei of both by day */
  readonly days: Map<number, bigint>
  readonly users: Map<Address, User>
  /** accounts without a rolled-up entry */
  newUsers: number
}

interface User {
  readonly entries: number
  readonly wei: bigint
  readonly isNew: boolean
}

function emptyTotals(): PolicyTotals {
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
