import { entryPointVersion } from '../eth/index.ts'
import type { Address, Hash } from '../eth/index.ts'
import { JsonRecords } from '../jsonrpc/index.ts'
import type { Records } from '../jsonrpc/index.ts'
import { Book, isOpen } from './book.ts'
import type { NonceOf } from './book.ts'
import type { InnerCall } from './calls.ts'
import type { Entry, EntryState, Place } from './entry.ts'
import { Folds } from './folds.ts'
import { LedgerFormat } from './format.ts'
import {
  CLOSED_ENTRIES,
  ENTRY_CALLS,
  FOLDED_TOGETHER,
  OPEN_ENTRIES,
  PAGE_ENTRIES,
  REFUSAL_CHARS,
  REFUSAL_REASONS,
  SIGNED_HASHES,
} from './limits.ts'
import { decide, refusal } from './policy.ts'
import type { Ask, Decision, Policy, Refusal, Spent } from './policy.ts'
import { Refusals } from './refusals.ts'
import { Tallies, dayOf } from './tallies.ts'

export type { Entry, EntryState, Place } from './entry.ts'

/** What a final answer is signed with. */
export interface Terms {
  readonly paymaster: Address
  /** Unix seconds, the last second in which the chain takes it; 0: for ever */
  readonly validUntil: number
  /** null: it hangs on what nobody has told (a delegate) */
  readonly userOpHash: Hash | null
}

export interface Reservation {
  readonly isGranted: true
  readonly policy: Policy
  readonly entry: Entry
}

/** What the chain tells of an operation (UserOperationEvent), ours or another's. */
export interface Charge {
  readonly entryPoint: Address
  readonly sender: Address
  readonly nonce: bigint
  /** the zero address: the account itself */
  readonly paymaster: Address
  readonly userOpHash: Hash
  readonly success: boolean
  /** wei (actualGasCost) */
  readonly cost: bigint
  readonly place: Place
}

/** A sealed block up to which the chain was looked at. */
export interface Looked {
  readonly number: number
  readonly hash: Hash
  /** Unix seconds */
  readonly timestamp: number
}

/** How far a chain was looked at, and what it looked like before: numbers and hashes, the newest last. */
export interface Cursor {
  readonly head: Looked
  readonly trail: readonly (readonly [number: number, hash: Hash])[]
}

/** What a policy has given away and holds back. Wei. */
export interface BudgetUse {
  readonly reserved: bigint
  readonly settled: bigint
  /** of both, what belongs to the day */
  readonly today: bigint
  /** accounts that it has paid for, or holds something back for */
  readonly users: number
  /** what total and perDay leave; null: neither is limited */
  readonly left: bigint | null
}

export interface EntryQuery {
  /** 1 … PAGE_ENTRIES, which it is unless given */
  readonly limit?: number
  /** only entries with a lower id */
  readonly before?: number
  readonly sender?: Address
  readonly state?: EntryState
}

export interface LedgerOptions {
  /** Unix time, milliseconds */
  readonly now?: () => number
  /** gets what a record that cannot be read says */
  readonly onError?: (error: unknown) => void
  /** closed entries that are kept whole, and how many beyond them are folded together: CLOSED_ENTRIES, FOLDED_TOGETHER */
  readonly keep?: { readonly closed: number; readonly together: number }
}

const ENTRIES = 'sponsor/entry/'
const CURSORS = 'sponsor/cursor/'
const KEEP = { closed: CLOSED_ENTRIES, together: FOLDED_TOGETHER }

/**
 * What was promised, what the chain charged for it, and what was refused. A promise is kept before it is answered. Everything is synchronous: between
 * a look at a budget and its reservation nobody else comes.
 *
 * Records of an older process are taken over as they are: whoever watches the chain says what has happened since.
 */
export class Ledger {
  readonly #records: Records
  readonly #now: () => number
  readonly #keep: { readonly closed: number; readonly together: number }
  readonly #tallies: Tallies
  readonly #folds: Folds
  readonly #refusals: Refusals
  readonly #book: Book
  #nextId: number

  /** Throws UnreadableLedger for records of another version; then nothing has changed. */
  constructor(records: Records, { now = Date.now, onError = rethrow, keep = KEEP }: LedgerOptions = {}) {
    LedgerFormat.assert(records)
    this.#records = records
    this.#now = now
    this.#keep = keep
    this.#folds = new Folds(records, ENTRIES)
    this.#tallies = new Tallies(this.#folds)
    this.#refusals = new Refusals(records, onError)
    this.#book = new Book(records, this.#tallies, ENTRIES)
    const lastId = this.#book.load(onError)
    // What is folded is older than what is kept.
    this.#nextId = Math.max(lastId, this.#refusals.lastId) + 1
  }

  // --- grants ---------------------------------------------------------------------------------------------------------

  /** What the policies say now. Nothing is reserved and nothing recorded. */
  decide(policies: readonly Policy[], ask: Ask): Decision {
    const decision = decide(policies, ask, (policy) => this.#spent(policy, ask))
    if (!decision.isGranted || this.#book.openCount < OPEN_ENTRIES || this.#heldBy(decision.policy, ask) !== undefined) return decision
    return refusal('too-many-open', `${OPEN_ENTRIES} reservations are open, which is all there may be: wait until some are used or run out`)
  }

  /**
   * Decides, and holds back what the first policy that grants may have to pay: durable when it returns. An operation that was signed before (the same
   * sender, nonce and policy) is held once, at its greatest cost. Throws RangeError without a cost.
   */
  reserve(policies: readonly Policy[], ask: Ask, terms: Terms): Reservation | Refusal {
    const { maxCost } = ask
    if (maxCost === null) throw new RangeError('what is reserved has a cost')
    const decision = this.decide(policies, ask)
    if (!decision.isGranted) return decision
    const { policy } = decision
    const held = this.#heldBy(policy, ask)
    const entry = held === undefined ? this.#entryOf(ask, policy, maxCost, terms) : raised(held, ask, maxCost, terms)
    this.#book.put(entry)
    return { isGranted: true, policy, entry }
  }

  /** A refusal that was answered. It is written with the next `flush`. */
  refuse(ask: Ask, stage: Entry['stage'], { reason, message, policy, reasons }: Refusal): Entry {
    const entry: Entry = {
      ...this.#frame(ask),
      state: 'refused',
      stage,
      policy,
      maxCost: ask.maxCost,
      reason,
      message: message.slice(0, REFUSAL_CHARS),
      reasons: reasons.slice(0, REFUSAL_REASONS).map((each) => ({ ...each, message: each.message.slice(0, REFUSAL_CHARS) })),
    }
    this.#refusals.add(entry)
    return entry
  }

  #entryOf(ask: Ask, policy: Policy, maxCost: bigint, { paymaster, validUntil, userOpHash }: Terms): Entry {
    const signed = userOpHash === null ? [] : [userOpHash]
    return { ...this.#frame(ask), policy: policy.name, paymaster, validUntil, userOpHash, signed, maxCost }
  }

  #frame({ chainId, version, entryPoint, sender, nonce, calls, now }: Ask): Entry {
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
      ...shown(calls),
    }
  }

  #spent(policy: Policy, ask: Ask): Spent {
    const held = this.#heldBy(policy, ask)
    const today = dayOf(ask.now)
    const own = held?.maxCost ?? 0n
    return {
      total: this.#tallies.total(policy.name) - own,
      today: this.#tallies.day(policy.name, today) - (held?.day === today ? own : 0n),
      user: this.#tallies.user(policy.name, ask.sender) - own,
    }
  }

  #heldBy(policy: Policy, ask: Ask): Entry | undefined {
    return this.#book.of(ask).find((entry) => isOpen(entry) && entry.policy === policy.name)
  }

  // --- what the chain says ------------------------------------------------------------------------------------------------

  /**
   * All that the block under construction tells of. What it does not tell of any more is reserved again. Not written: the block may be taken back at
   * any moment, and a later process looks for itself. The whole cost stays held until the block is sealed.
   */
  include(chainId: number, charges: readonly Charge[]): void {
    const told = new Map<number, Charge>()
    for (const charge of charges) {
      const entry = this.#meant(chainId, charge, isOpen)
      if (entry !== undefined) told.set(entry.id, charge)
    }
    for (const entry of this.open()) {
      if (entry.chainId !== chainId) continue
      const charge = told.get(entry.id)
      if (charge !== undefined) this.#book.hold({ ...charged(entry, charge), state: 'included' })
      else if (entry.state === 'included') this.#book.hold(reopened(entry))
    }
  }

  /**
   * A sealed block tells of an operation: what was held for its nonce is settled with what it cost, or free again when it was not ours. One that we
   * pay for and know nothing of is entered as it is. `isOurs`: paid by a paymaster of ours. Told again, nothing changes.
   */
  settle(chainId: number, charge: Charge, isOurs: boolean): void {
    const all = this.#book.of({ chainId, ...charge })
    const meant = isOurs ? this.#meant(chainId, charge, anyState) : undefined
    const { place } = charge
    this.together(() => {
      if (isOurs && meant === undefined) this.#book.put(this.#found(chainId, charge))
      if (meant !== undefined && !isSettledBy(meant, charge)) this.#book.put({ ...charged(meant, charge), state: 'settled' })
      for (const entry of all)
        if (entry.id !== meant?.id && isOpen(entry)) this.#book.put({ ...reopened(entry), state: 'expired', reason: 'nonce-used', place })
    })
  }

  /** The chain went back behind `after`, or may have: what it told since is not said. */
  retract(chainId: number, after: number): void {
    this.together(() => {
      for (const entry of this.#book.all()) {
        if (entry.chainId !== chainId || entry.place === null || entry.place.blockNumber <= after) continue
        if (entry.state === 'included') this.#book.hold(reopened(entry))
        else if (isUnknown(entry)) this.#book.remove(entry)
        else this.#book.put(reopened(entry))
      }
    })
  }

  /** No later block takes what ran out before the time of this one; everything up to it was looked at. */
  expire(chainId: number, { number, hash, timestamp }: Looked): void {
    const place = { blockNumber: number, blockHash: hash, transactionHash: null }
    const isOver = ({ validUntil }: Entry) => validUntil !== null && validUntil !== 0 && validUntil < timestamp
    this.together(() => {
      for (const entry of this.open())
        if (entry.chainId === chainId && entry.state === 'reserved' && isOver(entry))
          this.#book.put({ ...entry, state: 'expired', reason: 'ran-out', place })
    })
  }

  /** Which of the entries of a nonce an operation is: the one that was signed with its hash, else an open one, else the newest. */
  #meant(chainId: number, charge: Charge, isAsked: (entry: Entry) => boolean): Entry | undefined {
    const ours = this.#book.of({ chainId, ...charge }).filter((entry) => entry.paymaster === charge.paymaster && isAsked(entry))
    return (
      ours.find((entry) => isSettledBy(entry, charge)) ??
      ours.find(({ signed }) => signed.includes(charge.userOpHash)) ??
      ours.find(isOpen) ??
      ours.at(-1)
    )
  }

  /** Signed by ours, and by nobody that this ledger knows: it was folded, or the records were lost. */
  #found(chainId: number, charge: Charge): Entry {
    const id = this.#nextId++
    const { entryPoint, sender, nonce, paymaster } = charge
    // Another address than the usual ones nobody signs for.
    const version = entryPointVersion(entryPoint) ?? '0.8'
    const frame = { ...BLANK, id, at: this.#now(), chainId, version, entryPoint, sender, nonce, paymaster, maxCost: charge.cost }
    return { ...charged(frame, charge), state: 'settled' }
  }

  // --- questions --------------------------------------------------------------------------------------------------------

  /** `now`: the chain's clock, Unix seconds. */
  budget(policy: Policy, now: number): BudgetUse {
    const { reserved, settled, users } = this.#tallies.use(policy.name)
    const today = this.#tallies.day(policy.name, dayOf(now))
    const rooms = [roomIn(policy.total, reserved + settled), roomIn(policy.perDay, today)].flatMap((room) => room ?? [])
    const left = rooms.length === 0 ? null : rooms.reduce((a, b) => (a < b ? a : b))
    return { reserved, settled, today, users, left }
  }

  /**
   * wei that a paymaster may have to pay beside what the block under construction has taken from its deposit already; `except`: and beside what is
   * held for this nonce
   */
  reservedOf(paymaster: Address, except?: NonceOf): bigint {
    const own =
      except === undefined ? [] : this.#book.of(except).filter((entry) => entry.state === 'reserved' && entry.paymaster === paymaster)
    return own.reduce((wei, { maxCost }) => wei - (maxCost ?? 0n), this.#tallies.waitingFor(paymaster))
  }

  /** wei, of all policies: `settled` is what the chain has charged */
  get totals(): { readonly reserved: bigint; readonly settled: bigint } {
    return this.#tallies.totals
  }

  /** refusals: as far as they are kept */
  get counts(): Readonly<Record<EntryState, number>> {
    return { ...this.#tallies.counts, refused: this.#refusals.all.length }
  }

  /** how often an entry was written */
  get writes(): number {
    return this.#book.writes
  }

  get hasOpen(): boolean {
    return this.#book.openCount > 0
  }

  /** Reserved and included, in the order in which they became that. */
  open(): readonly Entry[] {
    return this.#book.open()
  }

  /** The newest first. `next`: what comes after is asked for with `before`; null: nothing. */
  entries({ limit = PAGE_ENTRIES, before, sender, state }: EntryQuery = {}): { entries: readonly Entry[]; next: number | null } {
    const most = Math.min(Math.max(Math.trunc(limit), 1), PAGE_ENTRIES)
    const pool = state === 'refused' ? [] : this.#book.all()
    const refused = state === undefined || state === 'refused' ? this.#refusals.all : []
    const wanted = [...pool, ...refused].filter(
      (entry) =>
        (before === undefined || entry.id < before) &&
        (sender === undefined || entry.sender === sender) &&
        (state === undefined || entry.state === state),
    )
    const sorted = wanted.toSorted((a, b) => b.id - a.id)
    const entries = sorted.slice(0, most)
    return { entries, next: sorted.length > most ? (entries.at(-1)?.id ?? null) : null }
  }

  // --- where the chain was looked at ------------------------------------------------------------------------------------

  cursor(chainId: number): Cursor | null {
    const value = JsonRecords.get(this.#records, `${CURSORS}${chainId}`)
    return value === null ? null : (value as Cursor) // only putCursor writes it
  }

  putCursor(chainId: number, cursor: Cursor): void {
    JsonRecords.put(this.#records, `${CURSORS}${chainId}`, cursor)
  }

  /** Writes refusals, and folds what is old. Whoever watches the chain calls it now and then, and at the end. */
  flush(): void {
    this.#refusals.flush()
    const { closed, together } = this.#keep
    while (this.#book.closedCount >= closed + together) this.#fold(together)
  }

  #fold(count: number): void {
    const folded = this.#book.oldestClosed(count)
    this.#folds.fold(folded)
    for (const entry of folded) {
      this.#book.release(entry)
      this.#tallies.noteFolded(entry)
    }
  }

  /** All that `work` changes is written in one go. When it cannot be, nothing has changed, and what it throws is thrown on. */
  together(work: () => void): void {
    this.#book.together(work)
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
  validUntil: null,
  place: null,
  success: null,
  reason: null,
  message: null,
  reasons: [],
}

function shown(calls: readonly InnerCall[] | null): Pick<Entry, 'calls' | 'callCount'> {
  return { calls: calls && calls.slice(0, ENTRY_CALLS), callCount: calls?.length ?? 0 }
}

function anyState(): boolean {
  return true
}

/** The chain told of it, nobody had asked. */
function isUnknown({ policy, state }: Entry): boolean {
  return policy === null && state === 'settled'
}

function isSettledBy({ state, place, userOpHash }: Entry, charge: Charge): boolean {
  return state === 'settled' && place?.blockHash === charge.place.blockHash && userOpHash === charge.userOpHash
}

/** Signed once more: either signature may be the one that is used. */
function raised(held: Entry, { now, calls }: Ask, maxCost: bigint, { validUntil, userOpHash }: Terms): Entry {
  const known = held.maxCost ?? 0n
  return {
    ...held,
    ...shown(calls),
    day: dayOf(now),
    maxCost: maxCost > known ? maxCost : known,
    validUntil: held.validUntil === 0 || validUntil === 0 ? 0 : Math.max(held.validUntil ?? 0, validUntil),
    userOpHash: held.state === 'included' ? held.userOpHash : (userOpHash ?? held.userOpHash),
    signed: userOpHash === null || held.signed.includes(userOpHash) ? held.signed : [...held.signed, userOpHash].slice(-SIGNED_HASHES),
  }
}

function charged(entry: Entry, { userOpHash, cost, success, place }: Charge): Entry {
  return { ...entry, userOpHash, cost, success, place, reason: null }
}

/** As it was before the chain said anything. */
function reopened(entry: Entry): Entry {
  return { ...entry, state: 'reserved', userOpHash: entry.signed.at(-1) ?? null, cost: null, success: null, place: null, reason: null }
}

function roomIn(limit: bigint | null, spent: bigint): bigint | null {
  if (limit === null) return null
  return limit > spent ? limit - spent : 0n
}

function rethrow(error: unknown): void {
  throw error
}
