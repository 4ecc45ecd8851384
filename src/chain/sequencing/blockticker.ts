import { Breath } from '../timeslice.ts'
import type { Cadence } from './cadence.ts'
import { RealClock } from './clock.ts'
import type { Clock } from './clock.ts'
import type { Mempool } from '../pool/mempool.ts'
import type { Sequencer } from './sequencer.ts'
import type { Turns } from '../mutex.ts'

export interface MetronomeParts {
  readonly clock: Clock
  readonly turns: Turns
  readonly sequencer: Sequencer
  readonly pool: Mempool
  /** gets what broke in a tick */
  readonly onBug: (error: unknown) => void
}

type Preconf = Extract<Cadence, { kind: 'preconf' }>
type Native = Extract<Cadence, { kind: 'native' }>

/** The builder leaves the rest of a slot to everybody else. */
const BUILD_SHARE = 0.75

/**
 * When blocks come: the slots of each cadence, one alarm of the clock at a time. A tick takes its turn like any change;
 * while a change is under way nothing ticks. A tick that breaks does not end the ticking.
 */
export class Metronome {
  readonly #parts: MetronomeParts
  #cadence: Cadence
  #isRunning = false
  /** of the one alarm that is set, else null */
  #cancelAlarm: (() => void) | null = null
  /** when the first slot of the open block began; preconf only */
  #blockStartMs = 0
  #slotEndMs = Number.POSITIVE_INFINITY

  constructor(parts: MetronomeParts, cadence: Cadence) {
    this.#parts = parts
    this.#cadence = cadence
  }

  get cadence(): Cadence {
    return this.#cadence
  }

  /** For use while halted. */
  set cadence(cadence: Cadence) {
    this.#cadence = cadence
  }

  /** True when a transaction gets its block at once. */
  get isInstant(): boolean {
    return this.#isRunning && this.#cadence.kind === 'instant'
  }

  /** False when the builder has used up its share of the slot; never under the manual clock. */
  get isWithinSlot(): boolean {
    return this.#parts.clock.nowMs() < this.#slotEndMs
  }

  start(): Promise<void> {
    this.#isRunning = true
    return this.#parts.turns.take(() => this.#resume())
  }

  /** Resolves when what was under way has ended. */
  async stop(): Promise<void> {
    this.#isRunning = false
    this.#pause()
    await this.#parts.turns.idle()
  }

  /** A turn during which nothing ticks; however it ends, ticking goes on. */
  halted<T>(work: () => Promise<T> | T): Promise<T> {
    return this.#parts.turns.take(async () => {
      this.#pause()
      try {
        return await work()
      } finally {
        await this.#resume()
      }
    })
  }

  /** instant: a block for each transaction that can go, one by one. */
  async drain(): Promise<void> {
    const { sequencer, pool } = this.#parts
    const breath = new Breath()
    while (sequencer.hasWork) {
      const waiting = pool.size
      await this.#sealOne(breath)
      if (pool.size === waiting) return
    }
  }

  /** What it takes in is promised and sealed in one go. */
  async #sealOne(breath: Breath): Promise<void> {
    const { sequencer } = this.#parts
    sequencer.hold()
    try {
      sequencer.open()
      if (sequencer.fill(1) > 0) sequencer.seal()
      else sequencer.discard()
    } finally {
      await sequencer.release(breath)
    }
  }

  #pause(): void {
    this.#cancelAlarm?.()
    this.#cancelAlarm = null
    this.#slotEndMs = Number.POSITIVE_INFINITY
  }

  /** Goes on as the cadence says. Never throws. */
  async #resume(): Promise<void> {
    if (!this.#isRunning || this.#cancelAlarm !== null) return
    const cadence = this.#cadence
    try {
      if (cadence.kind === 'instant') await this.drain()
      if (cadence.kind === 'native') this.#awaitNative(cadence)
      if (cadence.kind === 'preconf') this.#beginPreconf(cadence, this.#parts.clock.nowMs())
    } catch (error) {
      this.#recover(error)
    }
  }

  /** A tick broke: it is reported, its block was given up, and the next slot begins another one. */
  #recover(error: unknown): void {
    this.#parts.onBug(error)
    this.#pause()
    const slotMs = slotMsOf(this.#cadence)
    if (slotMs !== null) this.#schedule(this.#parts.clock.nowMs() + slotMs, () => this.#resume())
  }

  /** The next slot on the grid: multiples of the block time since the epoch. */
  #awaitNative(cadence: Native): void {
    const now = this.#parts.clock.nowMs()
    const next = now - (now % cadence.blockTimeMs) + cadence.blockTimeMs
    this.#schedule(next, () => this.#native(cadence))
  }

  /** One tick is one block. */
  #native(cadence: Native): void {
    const { sequencer } = this.#parts
    this.#beginSlot(cadence.blockTimeMs)
    sequencer.open()
    sequencer.fill()
    sequencer.seal()
    this.#awaitNative(cadence)
  }

  /** A block that is still open keeps its slots. */
  #beginPreconf(cadence: Preconf, startMs: number): void {
    const { sequencer } = this.#parts
    if (!sequencer.isOpen) {
      this.#blockStartMs = startMs
      sequencer.open()
    }
    this.#awaitPreconf(cadence)
  }

  /** The next slot that is not over yet; of a block that is late, the last. */
  #awaitPreconf(cadence: Preconf): void {
    const slots = slotsOf(cadence)
    const passed = Math.floor(((this.#parts.clock.nowMs() - this.#blockStartMs) * slots) / cadence.blockTimeMs)
    const slot = Math.min(slots, Math.max(0, passed) + 1)
    this.#schedule(this.#blockStartMs + (slot * cadence.blockTimeMs) / slots, () => this.#preconf(cadence))
  }

  /** One tick: the flashblock of this slot; after the last one the block is sealed and the next one opens at once. */
  #preconf(cadence: Preconf): void {
    const { clock, sequencer } = this.#parts
    const slots = slotsOf(cadence)
    const slotMs = cadence.blockTimeMs / slots
    const slot = Math.min(slots, Math.max(1, Math.round((clock.nowMs() - this.#blockStartMs) / slotMs)))
    this.#beginSlot(slotMs)
    sequencer.flash(slot, slots)
    if (slot < slots) return this.#awaitPreconf(cadence)
    sequencer.seal()
    const due = this.#blockStartMs + cadence.blockTimeMs
    const isFarBehind = clock.nowMs() - due > cadence.blockTimeMs
    this.#beginPreconf(cadence, isFarBehind ? clock.nowMs() : due)
  }

  #beginSlot(slotMs: number): void {
    const { clock } = this.#parts
    this.#slotEndMs = clock instanceof RealClock ? clock.nowMs() + slotMs * BUILD_SHARE : Number.POSITIVE_INFINITY
  }

  #schedule(timeMs: number, tick: () => Promise<void> | void): void {
    if (!this.#isRunning) return
    const cancel = this.#parts.clock.at(timeMs, () => this.#parts.turns.take(() => this.#ring(cancel, tick)))
    this.#cancelAlarm = cancel
  }

  /** An alarm went off, which may have been called off while it waited for its turn. */
  async #ring(cancel: () => void, tick: () => Promise<void> | void): Promise<void> {
    if (this.#cancelAlarm !== cancel) return
    this.#cancelAlarm = null
    try {
      await tick()
    } catch (error) {
      this.#recover(error)
    }
  }
}

function slotsOf({ blockTimeMs, flashblockMs }: Preconf): number {
  return Math.max(1, Math.round(blockTimeMs / flashblockMs))
}

/** How long a cadence waits before it tries again; null: until somebody asks for a block. */
function slotMsOf(cadence: Cadence): number | null {
  if (cadence.kind === 'preconf') return cadence.flashblockMs
  return cadence.kind === 'native' ? cadence.blockTimeMs : null
}
