import type { Knobs } from './testoverrides.ts'
import type { ChainTime } from './chaintime.ts'

/** Blocks that become durable together: what is to be announced of them then, and what was set before the first. */
export class Group {
  /** in order */
  readonly announcements: (() => void)[] = []
  readonly #knobs: Knobs
  readonly #knobsBefore: Knobs
  readonly #restoreTime: () => void

  constructor(time: ChainTime, knobs: Knobs) {
    this.#knobs = knobs
    this.#knobsBefore = { ...knobs }
    this.#restoreTime = time.checkpoint()
  }

  /** The blocks are not durable, and never were. */
  undo(): void {
    this.#restoreTime()
    Object.assign(this.#knobs, this.#knobsBefore)
  }
}
