import { ENTRY_POINTS } from '../eth/index.ts'
import type { Address, Hash } from '../eth/index.ts'
import { JsonRecords } from '../jsonrpc/index.ts'
import type { Records } from '../jsonrpc/index.ts'
import { LedgerEntries, isOpen } from './ledgerentries.ts'
import type { NonceOf } from './ledgerentries.ts'
import type { InnerCall } from './calls.ts'
import type { Entry, EntryState, Place } from './entry.ts'
import { RollUps } from './rollups.ts'
import { LedgerFormat } from './format.ts'
import {
  CLOSED_ENTRIES,
  ENTRY_CALLS,
  ROLL_UP_BATCH,
  OPEN_ENTRIES,
  PAGE_ENTRIES,
  REFUSAL_CHARS,
  REFUSAL_REASONS,
  SIGNED_HASHES,
} from './limits.ts'
import { decide, refusal } from './policy.ts'
import type { PolicyInput, Decision, Policy, Refusal, Spent } from './policy.ts'
import { Refusals } from './refusals.ts'
import { SPONSORED_VERSIONS } from './sponsoredversion.ts'
import { Totals, dayOf } from './totals.ts'

export type { Entry, EntryState, Place } from './entry.ts'

/** The terms of a signature. */
export interface Terms {
  readonly paymaster: Address
  /** Unix seconds, the last second in which the chain accepts the operation; 0 without an end */
  readonly validUntil: number
  /** `null` if it depends on an unknown delegate */
  readonly userOpHash: Hash | null
  /** wei */
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
}

interface Reservation {
  readonly isGranted: true
  readonly policy: Policy
  readonly entry: Entry
}

/** A UserOperationEvent, of any paymaster. */
export interface Charge {
  readonly entryPoint: Address
  readonly sender: Address
  readonly nonce: bigint
  /** the zero address if the account pays */
  readonly paymaster: Address
  readonly userOpHash: Hash
  readonly success: boolean
  /** wei (actualGasCost) */
  readonly cost: bigint
  /** actualGasUsed */
  readonly gasUsed: bigint
  readonly place: Place
}

/** The newest sealed block that was processed. */
export interface ProcessedBlock {
  readonly number: number
  readonly hash: Hash
  /** Unix seconds */
  readonly timestamp: number
}

/** The newest processed block, and number and hash of older ones, the newest last. */
export interface Cursor {
  readonly head: ProcessedBlock
  readonly trail: readonly (readonly [number: number, hash: Hash])[]
}

/** Amounts that a policy has spent and reserved, in wei. */
interface BudgetUse {
  readonly reserved: bigint
  readonly settled: bigint
  /** both, for the current day */
  readonly today: bigint
  /** accounts with a settled or reserved operation */
  readonly users: number
  /** the remainder under total and perDay; `null` if neither is limited */
  readonly left: bigint | null
}

interface EntryQuery {
  /** 1 … PAGE_ENTRIES, the default */
  readonly limit?: number
  /** only entries with a lower id */
  readonly before?: number
  readonly sender?: Address
  readonly state?: EntryState
}

export interface LedgerOptions {
  /** Unix time, milliseconds */
  readonly now?: () => number
  /** receives errors of records that cannot be decoded */
  readonly onError?: (error: unknown) => void
  /** closed entries that are kept whole, and how many are rolled up together: CLOSED_ENTRIES, ROLL_UP_BATCH */
  readonly keep?: { readonly closed: number; readonly batch: number }
}

const ENTRIES = 'sponsor/entry/'
const CURSORS = 'sponsor/cursor/'
const KEEP = { closed: CLOSED_ENTRIES, batch: ROLL_UP_BATCH }

/**
 * Reservations, charges of the chain and refusals. A reservation is durable before its response is sent. All methods are synchronous, so no
 * other request runs between a budget check and its reservation. Records of an earlier process are loaded unchanged; `Settlement` then processes the later
 * blocks.
 */
export class Ledger {
  readonly #records: Records
  readonly #now: () => number
  readonly #keep: { readonly closed: number; readonly batch: number }
  readonly #totals: Totals
  readonly #rollUps: RollUps
  readonly #refusals: Refusals
  readonly #entries: LedgerEntries
  #nextId: number

  /** Throws UnreadableLedger for records of another version, without a change. */
  constructor(records: Records, { now = Date.now, onError = rethrow, keep = KEEP }: LedgerOptions = {}) {
    LedgerFormat.assert(records)
    this.#records = records
    this.#now = now
    this.#keep = keep
    this.#rollUps = new RollUps(records, ENTRIES)
    this.#totals = new Totals(this.#rollUps)
    this.#refusals = new Refusals(records, onError)
    this.#entries = new LedgerEntries(records, this.#totals, ENTRIES)
    const lastId = this.#entries.load(onError)
    // Rolled-up entries are older than the kept ones.
    this.#nextId = Math.max(lastId, this.#refusals.lastId) + 1
  }

  // --- reservations ---------------------------------------------------------------------------------------------------

  /** Evaluates the policies without a reservation or a record. */
  decide(policies: readonly Policy[], input: PolicyInput): Decision {
    const decision = decide(policies, input, (policy) => this.#spent(policy, input))
    if (!decision.isGranted || this.#entries.openCount < OPEN_ENTRIES || this.#openReservation(decision.policy, input) !== undefined)
      return decision
    return refusal('too-many-open', `${OPEN_ENTRIES} reservations are open, which is the limit: wait until some are used or expire`)
  }

  /**
   * Evaluates the policies and reserves the operation's highest cost under the first policy that grants; durable when it returns.
   * Operations of one sender, nonce and policy count once, at the highest cost. Throws RangeError without a cost.
   */
  reserve(policies: readonly Policy[], input: PolicyInput, terms: Terms): Reservation | Refusal {
    const { maxCost } = input
    if (maxCost === null) throw new RangeError('a reservation requires a cost')
    const decision = this.decide(policies, input)
    if (!decision.isGranted) return decision
    const { policy } = decision
    const held = this.#openReservation(policy, input)
    const entry = held === undefined ? this.#entryOf(input, policy, maxCost, terms) : raisedReservation(held, input, maxCost, terms)
    this.#entries.put(entry)
    return { isGranted: true, policy, entry }
  }

  /** Records a refusal. The next `flush` writes it. */
  refuse(input: PolicyInput, stage: Entry['stage'], { reason, message, policy, reasons }: Refusal): Entry {
    const entry: Entry = {
      ...this.#baseEntry(input),
      state: 'refused',
      stage,
      policy,
      maxCost: input.maxCost,
      reason,
      message: message.slice(0, REFUSAL_CHARS),
      reasons: reasons.slice(0, REFUSAL_REASONS).map((each) => ({ ...each, message: each.message.slice(0, REFUSAL_CHARS) })),
    }
    this.#refusals.add(entry)
    return entry
  }

  #entryOf(input: PolicyInput, policy: Policy, maxCost: bigint, terms: Terms): Entry {
    const signed = terms.userOpHash === null ? [] : [terms.userOpHash]
    return { ...this.#baseEntry(input), ...terms, policy: policy.name, signed, maxCost }
  }

  #baseEntry({ chainId, version, entryPoint, sender, nonce, calls, now }: PolicyInput): Entry {
    return {
      ...BLANK,
      id: this.#nextId++,
      at: this.#now(),
      day: dayOf(now),
      chainId,
      version,
      entryPoint,
      sender,
      nonce,
      ...callSummary(calls),
    }
  }

  #spent(policy: Policy, input: PolicyInput): Spent {
    const held = this.#openReservation(policy, input)
    const today = dayOf(input.now)
    const own = held?.maxCost ?? 0n
    return {
      total: this.#totals.total(policy.name) - own,
      today: this.#totals.day(policy.name, today) - (held?.day === today ? own : 0n),
      user: this.#totals.user(policy.name, input.sender) - own,
    }
  }

  #openReservation(policy: Policy, input: PolicyInput): Entry | undefined {
    return this.#entries.of(input).find((entry) => isOpen(entry) && entry.policy === policy.name)
  }

  // --- chain --------------------------------------------------------------------------------------------------------------

  /**
   * Applies all charges of the block under construction and reopens entries that it no longer contains. Not written: a later process reads
   * the block itself. The full reservation is held until the block is sealed.
   */
  include(chainId: number, charges: readonly Charge[]): void {
    const chargeByEntry = new Map<number, Charge>()
    for (const charge of charges) {
      const entry = this.#entryOfCharge(chainId, charge, isOpen)
      if (entry !== undefined) chargeByEntry.set(entry.id, charge)
    }
    for (const entry of this.open()) {
      if (entry.chainId !== chainId) continue
      const charge = chargeByEntry.get(entry.id)
      if (charge !== undefined) this.#entries.hold({ ...charged(entry, charge), state: 'included' })
      else if (entry.state === 'included') this.#entries.hold(reopened(entry))
    }
  }

  /**
   * Applies a charge of a sealed block: settles the reservation of its nonce, or expires it if another operation used the nonce. A charge
   * of our paymaster without a reservation becomes an entry. `isOurs`: paid by one of our paymasters. Idempotent.
   */
  settle(chainId: number, charge: Charge, isOurs: boolean): void {
    const all = this.#entries.of({ chainId, ...charge })
    const meant = isOurs ? this.#entryOfCharge(chainId, charge, isAny) : undefined
    const { place } = charge
    this.atomically(() => {
      if (isOurs && meant === undefined) this.#entries.put(this.#unreservedEntry(chainId, charge))
      if (meant !== undefined && !isSettledBy(meant, charge)) this.#entries.put({ ...charged(meant, charge), state: 'settled' })
      for (const entry of all)
        if (entry.id !== meant?.id && isOpen(entry))
          this.#entries.put({ ...reopened(entry), state: 'expired', reason: 'nonce-used', place })
    })
  }

  /** Reverts all charges of blocks after `after`, for a reorg. */
  retract(chainId: number, after: number): void {
    this.atomically(() => {
      for (const entry of this.#entries.all()) {
        if (entry.chainId !== chainId || entry.place === null || entry.place.blockNumber <= after) continue
        if (entry.state === 'included') this.#entries.hold(reopened(entry))
        else if (isUnreserved(entry)) this.#entries.remove(entry)
        else this.#entries.put(reopened(entry))
      }
    })
  }

  /** Expires reservations that ended before the time of this block; all blocks up to it were processed. */
  expire(chainId: number, { number, hash, timestamp }: ProcessedBlock): void {
    const place = { blockNumber: number, blockHash: hash, transactionHash: null }
    const isOver = ({ validUntil }: Entry) => validUntil !== null && validUntil !== 0 && validUntil < timestamp
    this.atomically(() => {
      for (const entry of this.open())
        if (entry.chainId === chainId && entry.state === 'reserved' && isOver(entry))
          this.#entries.put({ ...entry, state: 'expired', reason: 'ran-out', place })
    })
  }

  /** Returns the entry of a charge: the one with its hash, else an open one, else the newest. */
  #entryOfCharge(chainId: number, charge: Charge, isCandidate: (entry: Entry) => boolean): Entry | undefined {
    const ours = this.#entries.of({ chainId, ...charge }).filter((entry) => entry.paymaster === charge.paymaster && isCandidate(entry))
    return (
      ours.find((entry) => isSettledBy(entry, charge)) ??
      ours.find(({ signed }) => signed.includes(charge.userOpHash)) ??
      ours.find(isOpen) ??
      ours.at(-1)
    )
  }

  /** The entry of a charge without a reservation: it was rolled up, or the records were lost. */
  #unreservedEntry(chainId: number, charge: Charge): Entry {
    const id = this.#nextId++
    const { entryPoint, sender, nonce, paymaster } = charge
    const version = SPONSORED_VERSIONS.find((each) => ENTRY_POINTS[each] === entryPoint) ?? '0.8'
    const frame = { ...BLANK, id, at: this.#now(), chainId, version, entryPoint, sender, nonce, paymaster, maxCost: charge.cost }
    return { ...charged(frame, charge), state: 'settled' }
  }

  // --- queries ----------------------------------------------------------------------------------------------------------

  /** `now`: the chain's clock, Unix seconds. */
  budget(policy: Policy, now: number): BudgetUse {
    const { reserved, settled, users } = this.#totals.use(policy.name)
    const today = this.#totals.day(policy.name, dayOf(now))
    const rooms = [remainingOf(policy.total, reserved + settled), remainingOf(policy.perDay, today)].flatMap((room) => room ?? [])
    const left = rooms.length === 0 ? null : rooms.reduce((a, b) => (a < b ? a : b))
    return { reserved, settled, today, users, left }
  }

  /**
   * Returns the wei that a paymaster may still be charged, without operations in the block under construction. `except` leaves out the
   * reservation of a nonce.
   */
  reservedOf(paymaster: Address, except?: NonceOf): bigint {
    const own =
      except === undefined ? [] : this.#entries.of(except).filter((entry) => entry.state === 'reserved' && entry.paymaster === paymaster)
    return own.reduce((wei, { maxCost }) => wei - (maxCost ?? 0n), this.#totals.waitingFor(paymaster))
  }

  /** in wei over all policies; `settled` was charged by the chain */
  get totals(): { readonly reserved: bigint; readonly settled: bigint } {
    return this.#totals.totals
  }

  /** Counts by state; `refused` counts the kept refusals. */
  get counts(): Readonly<Record<EntryState, number>> {
    return { ...this.#totals.counts, refused: this.#refusals.all.length }
  }

  /** number of entry writes */
  get writes(): number {
    return this.#entries.writes
  }

  get hasOpen(): boolean {
    return this.#entries.openCount > 0
  }

  /** Returns reserved and included entries, in the order of their opening. */
  open(): readonly Entry[] {
    return this.#entries.open()
  }

  /** Returns entries, the newest first. `next` is the `before` of the next page; `null` at the end. */
  entries({ limit = PAGE_ENTRIES, before, sender, state }: EntryQuery = {}): { entries: readonly Entry[]; next: number | null } {
    const pageSize = Math.min(Math.max(Math.trunc(limit), 1), PAGE_ENTRIES)
    const pool = state === 'refused' ? [] : this.#entries.all()
    const refused = state === undefined || state === 'refused' ? this.#refusals.all : []
    const wanted = [...pool, ...refused].filter(
      (entry) =>
        (before === undefined || entry.id < before) &&
        (sender === undefined || entry.sender === sender) &&
        (state === undefined || entry.state === state),
    )
    const sorted = wanted.toSorted((a, b) => b.id - a.id)
    const entries = sorted.slice(0, pageSize)
    return { entries, next: sorted.length > pageSize ? (entries.at(-1)?.id ?? null) : null }
  }

  // --- cursor -----------------------------------------------------------------------------------------------------------

  cursor(chainId: number): Cursor | null {
    const value = JsonRecords.get(this.#records, `${CURSORS}${chainId}`)
    return value === null ? null : (value as Cursor) // only putCursor writes it
  }

  putCursor(chainId: number, cursor: Cursor): void {
    JsonRecords.put(this.#records, `${CURSORS}${chainId}`, cursor)
  }

  /** Writes refusals and rolls up old entries. `Settlement` calls it after each block and at the end. */
  flush(): void {
    this.#refusals.flush()
    const { closed, batch } = this.#keep
    while (this.#entries.closedCount >= closed + batch) this.#rollUp(batch)
  }

  #rollUp(count: number): void {
    const rolledUp = this.#entries.oldestClosed(count)
    this.#rollUps.add(rolledUp)
    for (const entry of rolledUp) {
      this.#entries.release(entry)
      this.#totals.markRolledUp(entry)
    }
  }

  /** Writes all changes of `work` in one transaction. If that fails, no change remains and the error is rethrown. */
  atomically(work: () => void): void {
    this.#entries.atomically(work)
  }
}

const BLANK: Omit<Entry, 'id' | 'at' | 'chainId' | 'version' | 'entryPoint' | 'sender' | 'nonce'> = {
  state: 'reserved',
  stage: 'final',
  day: 0,
  paymaster: null,
  policy: null,
  userOpHash: null,
  signed: [],
  calls: null,
  callCount: 0,
  maxCost: null,
  cost: null,
  maxFeePerGas: null,
  maxPriorityFeePerGas: null,
  gasUsed: null,
  validUntil: null,
  place: null,
  success: null,
  reason: null,
  message: null,
  reasons: [],
}

function callSummary(calls: readonly InnerCall[] | null): Pick<Entry, 'calls' | 'callCount'> {
  return { calls: calls && calls.slice(0, ENTRY_CALLS), callCount: calls?.length ?? 0 }
}

function isAny(): boolean {
  return true
}

/** Found on the chain without a reservation. */
function isUnreserved({ policy, state }: Entry): boolean {
  return policy === null && state === 'settled'
}

function isSettledBy({ state, place, userOpHash }: Entry, charge: Charge): boolean {
  return state === 'settled' && place?.blockHash === charge.place.blockHash && userOpHash === charge.userOpHash
}

/** Either of the signed operations may be used. */
function raisedReservation(held: Entry, { now, calls }: PolicyInput, maxCost: bigint, terms: Terms): Entry {
  const { validUntil, userOpHash, maxFeePerGas, maxPriorityFeePerGas } = terms
  const known = held.maxCost ?? 0n
  return {
    ...held,
    ...callSummary(calls),
    day: dayOf(now),
    maxCost: maxCost > known ? maxCost : known,
    maxFeePerGas,
    maxPriorityFeePerGas,
    validUntil: held.validUntil === 0 || validUntil === 0 ? 0 : Math.max(held.validUntil ?? 0, validUntil),
    userOpHash: held.state === 'included' ? held.userOpHash : (userOpHash ?? held.userOpHash),
    signed: userOpHash === null || held.signed.includes(userOpHash) ? held.signed : [...held.signed, userOpHash].slice(-SIGNED_HASHES),
  }
}

function charged(entry: Entry, { userOpHash, cost, gasUsed, success, place }: Charge): Entry {
  return { ...entry, userOpHash, cost, gasUsed, success, place, reason: null }
}

/** Returns the entry without its charge. */
function reopened(entry: Entry): Entry {
  const userOpHash = entry.signed.at(-1) ?? null
  return { ...entry, state: 'reserved', userOpHash, cost: null, gasUsed: null, success: null, place: null, reason: null }
}

function remainingOf(limit: bigint | null, spent: bigint): bigint | null {
  if (limit === null) return null
  return limit > spent ? limit - spent : 0n
}

function rethrow(error: unknown): void {
  throw error
}
