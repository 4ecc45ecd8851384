import { TimeSlice } from '../timeslice.ts'
import type { Cadence } from './cadence.ts'
import { RealClock } from './clock.ts'
import type { Clock } from './clock.ts'
import type { Mempool } from '../pool/mempool.ts'
import type { CommitPort } from '../view/head.ts'
import type { Sequencer } from './sequencer.ts'
import type { Mutex } from '../mutex.ts'

interface BlockTickerDeps {
  readonly clock: Clock
  readonly mutex: Mutex
  /** A chain that starts again has another one. */
  readonly sequencer: () => Sequencer
  readonly pool: Mempool
  /** Under the instant cadence: a block for each executable transaction, or one for all. */
  readonly instantBlock: InstantBlock
  /** From 0 to below 1. */
  readonly random: () => number
  /** What may be done now: `blocks` unless a fleet's database is unreachable. */
  readonly allowed: () => CommitPort['allowed']
  /** Called with the error of a failed tick. */
  readonly onBug: (error: unknown) => void
}

export type InstantBlock = 'each' | 'all'

type Preconf = Extract<Cadence, { kind: 'preconf' }>
type Native = Extract<Cadence, { kind: 'native' }>

/** Faults of the schedule; they last until they are set again. */
export interface Pace {
  /** Blocks come this many times as often; 1 unless set. */
  readonly speed: number
  /** Each flashblock comes late by a random share, from 0 to this, of its interval; 0 unless set. */
  readonly jitter: number
}

const NO_PACE: Pace = { speed: 1, jitter: 0 }

/** The builder's share of a slot; the rest of the slot serves requests. */
const BUILDER_SLOT_SHARE = 0.75

/**
 * Schedules block production according to the cadence, with one clock alarm at a time. A tick runs under the mutex like any other change. A
 * failed tick does not stop the schedule.
 */
export class BlockTicker {
  readonly #deps: BlockTickerDeps
  #cadence: Cadence
  #isRunning = false
  /** Cancels the pending alarm; `null` without one. */
  #cancelAlarm: (() => void) | null = null
  /** Start of the open block's first slot; preconf only. */
  #blockStartMs = 0
  #slotEndMs = Number.POSITIVE_INFINITY
  #pace = NO_PACE
  #stalledUntilMs = 0
  #missed = 0
  #sealDelayMs = 0
  /** When the open block, whose last flashblock is published, is sealed; `null` before that. */
  #sealAtMs: number | null = null
  /** The next tick, drawn once: a move before it would otherwise draw a later one, and frequent moves prevent every tick. */
  #nextTick: { readonly slot: number; readonly timeMs: number } | null = null

  constructor(deps: BlockTickerDeps, cadence: Cadence) {
    this.#deps = deps
    this.#cadence = cadence
  }

  get cadence(): Cadence {
    return this.#cadence
  }

  /** Call inside `whilePaused`. */
  set cadence(cadence: Cadence) {
    this.#cadence = cadence
    this.#nextTick = null
  }

  get pace(): Pace {
    return this.#pace
  }

  /** Call inside `whilePaused`. */
  set pace(pace: Pace) {
    this.#pace = pace
    this.#nextTick = null
  }

  /** Stops the production of blocks and flashblocks for this time. Call inside `whilePaused`. */
  stall(milliseconds: number): void {
    this.#stalledUntilMs = this.#deps.clock.nowMs() + milliseconds
  }

  /** Leaves out this number of flashblocks from the next one on; the last one of a block is never left out. */
  missFlashblocks(count: number): void {
    this.#missed = count
  }

  /** Delays the seal of the open block to this number of milliseconds after its last flashblock. */
  delaySeal(milliseconds: number): void {
    this.#sealDelayMs = milliseconds
  }

  /** Ends all faults of the schedule. Call inside `whilePaused`. */
  endFaults(): void {
    this.pace = NO_PACE
    this.#stalledUntilMs = 0
    this.#missed = 0
    this.#sealDelayMs = 0
  }

  /** True when each transaction is sealed on arrival. */
  get isInstant(): boolean {
    return this.#isRunning && this.#cadence.kind === 'instant'
  }

  /** False once the builder has used its share of the slot; always true with a manual clock. */
  get isWithinSlot(): boolean {
    return this.#deps.clock.nowMs() < this.#slotEndMs
  }

  start(): Promise<void> {
    this.#isRunning = true
    return this.#deps.mutex.runExclusive(() => this.#resume())
  }

  /** Resolves when the operation in progress has ended. */
  async stop(): Promise<void> {
    this.#isRunning = false
    this.#pause()
    await this.#deps.mutex.idle()
  }

  /** Runs `work` under the mutex with the schedule paused, and resumes afterwards, also after an error. */
  whilePaused<T>(work: () => Promise<T> | T): Promise<T> {
    return this.#deps.mutex.runExclusive(async () => {
      this.#pause()
      try {
        return await work()
      } finally {
        await this.#resume()
      }
    })
  }

  /** Seals the executable transactions (instant cadence): by default one block for each. */
  async sealExecutable(): Promise<void> {
    const { pool } = this.#deps
    const sequencer = this.#deps.sequencer()
    const timeSlice = new TimeSlice()
    while (sequencer.hasExecutable) {
      const waiting = pool.size
      await this.#sealNext(timeSlice)
      if (pool.size === waiting) return
    }
  }

  /** A group commit, because the transactions are promised and sealed in one step. */
  async #sealNext(timeSlice: TimeSlice): Promise<void> {
    const sequencer = this.#deps.sequencer()
    sequencer.beginGroupCommit()
    try {
      sequencer.openBlock()
      if (sequencer.includeFromPool(this.#deps.instantBlock === 'each' ? 1 : undefined) > 0) {
        sequencer.seal()
      } else {
        sequencer.discard()
        sequencer.dropUnpayable()
      }
    } finally {
      await sequencer.endGroupCommit(timeSlice)
    }
  }

  #pause(): void {
    this.#cancelAlarm?.()
    this.#cancelAlarm = null
    this.#slotEndMs = Number.POSITIVE_INFINITY
  }

  /** Continues the schedule. Never throws. */
  async #resume(): Promise<void> {
    if (!this.#isRunning || this.#cancelAlarm !== null) return
    const cadence = this.#cadence
    try {
      if (cadence.kind === 'instant') await this.sealExecutable()
      if (cadence.kind === 'native') this.#scheduleNative(cadence)
      if (cadence.kind === 'preconf') this.#beginPreconfBlock(cadence, this.#deps.clock.nowMs())
    } catch (error) {
      this.#onTickError(error)
    }
  }

  /** Reports the error and retries one slot later; the sequencer has discarded the open block. */
  #onTickError(error: unknown): void {
    this.#deps.onBug(error)
    this.#pause()
    const slotMs = retryDelayMs(this.#cadence)
    if (slotMs !== null) this.#schedule(this.#deps.clock.nowMs() + slotMs, () => this.#resume())
  }

  /** Schedules the next multiple of the block time since the epoch. */
  #scheduleNative(cadence: Native): void {
    const now = this.#deps.clock.nowMs()
    const blockTimeMs = cadence.blockTimeMs / this.#pace.speed
    if (this.#nextTick === null || this.#nextTick.timeMs < now) {
      const next = now - (now % blockTimeMs) + blockTimeMs
      this.#nextTick = { slot: 0, timeMs: next + this.#lateness(blockTimeMs) }
    }
    this.#schedule(this.#nextTick.timeMs, () => this.#tickNative(cadence))
  }

  /** Seals one block. */
  #tickNative(cadence: Native): void {
    const sequencer = this.#deps.sequencer()
    this.#nextTick = null
    this.#beginSlot(cadence.blockTimeMs / this.#pace.speed)
    sequencer.openBlock()
    sequencer.includeFromPool()
    sequencer.seal()
    this.#scheduleNative(cadence)
  }

  /** Opens a block unless one is open, which keeps its slots. */
  #beginPreconfBlock(cadence: Preconf, startMs: number): void {
    const sequencer = this.#deps.sequencer()
    if (!sequencer.hasOpenBlock) {
      this.#blockStartMs = startMs
      this.#sealAtMs = null
      this.#nextTick = null
      sequencer.openBlock()
    }
    this.#schedulePreconf(cadence)
  }

  /** Schedules the next slot that has not ended; the last one if the block is late; after that one, the seal. */
  #schedulePreconf(cadence: Preconf): void {
    if (this.#sealAtMs !== null) return this.#schedule(this.#sealAtMs, () => this.#sealPreconfBlock(cadence))
    const slots = slotsPerBlock(cadence)
    const slotMs = this.#slotMs(cadence)
    const now = this.#deps.clock.nowMs()
    // The machine's clock was set back. A timer may be early by a millisecond.
    if (now < this.#blockStartMs - slotMs) {
      this.#blockStartMs = now
      this.#nextTick = null
    }
    if (this.#nextTick === null || this.#nextTick.timeMs < now) {
      const passed = Math.floor((now - this.#blockStartMs) / slotMs)
      const slot = Math.min(slots, Math.max(0, passed) + 1)
      this.#nextTick = { slot, timeMs: this.#blockStartMs + slot * slotMs + this.#lateness(slotMs) }
    }
    const { slot, timeMs } = this.#nextTick
    this.#schedule(timeMs, () => this.#tickPreconf(cadence, slot))
  }

  /** Publishes the slot's flashblock. After the last slot, seals the block and opens the next one. */
  #tickPreconf(cadence: Preconf, dueSlot: number): void {
    const { clock, allowed } = this.#deps
    const sequencer = this.#deps.sequencer()
    this.#nextTick = null
    const slots = slotsPerBlock(cadence)
    const slotMs = this.#slotMs(cadence)
    const slot = Math.min(slots, Math.max(dueSlot, Math.floor((clock.nowMs() - this.#blockStartMs) / slotMs)))
    this.#beginSlot(slotMs)
    const isMissed = this.#missed > 0 && slot < slots
    if (isMissed) {
      this.#missed--
      sequencer.missFlashblock()
    } else if (allowed() !== 'nothing') {
      sequencer.publishFlashblock(slot, slots)
    }
    if (slot < slots) return this.#schedulePreconf(cadence)
    const delayMs = this.#sealDelayMs
    this.#sealDelayMs = 0
    if (delayMs === 0) return this.#sealPreconfBlock(cadence)
    this.#sealAtMs = clock.nowMs() + delayMs
    this.#schedulePreconf(cadence)
  }

  #sealPreconfBlock(cadence: Preconf): void {
    const { clock, sequencer, allowed, onBug } = this.#deps
    if (allowed() !== 'blocks') return this.#keepOpen(cadence)
    try {
      sequencer().seal()
    } catch (error) {
      if (!sequencer().hasOpenBlock) throw error
      onBug(error)
      return this.#keepOpen(cadence)
    }
    const blockTimeMs = this.#slotMs(cadence) * slotsPerBlock(cadence)
    const due = this.#blockStartMs + blockTimeMs
    const isFarBehind = clock.nowMs() - due > blockTimeMs
    this.#beginPreconfBlock(cadence, isFarBehind ? clock.nowMs() : due)
  }

  /** The block takes more flashblocks until it can be sealed. */
  #keepOpen(cadence: Preconf): void {
    const { clock, sequencer, allowed } = this.#deps
    const slots = slotsPerBlock(cadence)
    this.#sealAtMs = clock.nowMs() + this.#slotMs(cadence)
    this.#schedule(this.#sealAtMs, () => {
      if (allowed() !== 'nothing') sequencer().publishFlashblock(slots, slots)
      this.#sealPreconfBlock(cadence)
    })
  }

  #slotMs(cadence: Preconf): number {
    return cadence.blockTimeMs / slotsPerBlock(cadence) / this.#pace.speed
  }

  #lateness(intervalMs: number): number {
    const { jitter } = this.#pace
    return jitter === 0 ? 0 : this.#deps.random() * jitter * intervalMs
  }

  #beginSlot(slotMs: number): void {
    const { clock } = this.#deps
    this.#slotEndMs = clock instanceof RealClock ? clock.nowMs() + slotMs * BUILDER_SLOT_SHARE : Number.POSITIVE_INFINITY
  }

  #schedule(timeMs: number, tick: () => Promise<void> | void): void {
    if (!this.#isRunning) return
    const cancel = this.#deps.clock.at(Math.max(timeMs, this.#stalledUntilMs), () =>
      this.#deps.mutex.runExclusive(() => this.#runAlarm(cancel, tick)),
    )
    this.#cancelAlarm = cancel
  }

  /** Ignores an alarm that was cancelled while it waited for the mutex. */
  async #runAlarm(cancel: () => void, tick: () => Promise<void> | void): Promise<void> {
    if (this.#cancelAlarm !== cancel) return
    this.#cancelAlarm = null
    try {
      await tick()
    } catch (error) {
      this.#onTickError(error)
    }
  }
}

function slotsPerBlock({ blockTimeMs, flashblockMs }: Preconf): number {
  return Math.max(1, Math.round(blockTimeMs / flashblockMs))
}

/** Delay before a failed tick is retried; `null` for cadences without a schedule. */
function retryDelayMs(cadence: Cadence): number | null {
  if (cadence.kind === 'preconf') return cadence.flashblockMs
  return cadence.kind === 'native' ? cadence.blockTimeMs : null
}
