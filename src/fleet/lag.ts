import { LEAST_DELAY_MS } from './limits.ts'

/**
 * How late the messages of a sequencer are. The clocks of two processes have no common origin, so the delay of a message counts from the least one of
 * recent messages, in a window that lasts LEAST_DELAY_MS and the one before it.
 */
export class Lag {
  #epoch = 0
  #windowStartMs = 0
  /** Receipt by the local clock minus sending by the sequencer's: the least of this window, and of the former one. */
  #least = Infinity
  #formerLeast = Infinity
  #lagMs = 0

  /** Milliseconds from the sending of the newest frame or heartbeat to its application. */
  get lagMs(): number {
    return this.#lagMs
  }

  /** A message was received at `nowMs` of the local monotonic clock. Each sequencer has a clock of its own. */
  noticeReceived(epoch: number, sentAtMs: number, nowMs: number): void {
    if (epoch < this.#epoch) return
    if (epoch > this.#epoch) this.#least = this.#formerLeast = Infinity
    else if (nowMs - this.#windowStartMs < LEAST_DELAY_MS) {
      this.#least = Math.min(this.#least, nowMs - sentAtMs)
      return
    } else this.#formerLeast = this.#least
    this.#epoch = epoch
    this.#windowStartMs = nowMs
    this.#least = nowMs - sentAtMs
  }

  /** The replica shows everything that was sent until `sentAtMs`. */
  noticeApplied(sentAtMs: number, nowMs: number): void {
    this.#lagMs = Math.max(0, Math.round(nowMs - sentAtMs - Math.min(this.#least, this.#formerLeast)))
  }
}
