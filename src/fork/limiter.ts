import { COMPUTE_UNITS_PER_CALL } from './limits.ts'
import { pause } from './pause.ts'

/** The rate grows by this factor after each second without a refusal. */
const GROWTH = 1.1
const STEP_MS = 1_000

/**
 * Spaces the calls to one endpoint. Unlimited until the first refusal; then half of the calls of the last second, growing by a tenth each second.
 * A batch is sent immediately and delays its successors. Refusals in a row count as one: the pauses between attempts are the caller's.
 */
export class Limiter {
  readonly #mode: 'adaptive' | 'fixed' | 'off'
  /** calls per second */
  #rate = Infinity
  #nextMs = 0
  #mayHalve = true
  #changedMs = -Infinity
  /** the calls of the last second: time and number */
  #recent: { readonly atMs: number; readonly calls: number }[] = []

  /** `computeUnitsPerSecond`: a fixed rate; null: adaptive. */
  constructor(computeUnitsPerSecond: number | null, isOff: boolean) {
    this.#mode = isOff ? 'off' : computeUnitsPerSecond === null ? 'adaptive' : 'fixed'
    if (this.#mode === 'fixed') this.#rate = (computeUnitsPerSecond ?? 0) / COMPUTE_UNITS_PER_CALL
  }

  /** Calls per second; Infinity while there is no limit. */
  get rate(): number {
    return this.#rate
  }

  /** Resolves when `calls` may be sent. Rejects with the reason of `signal`. */
  async take(calls: number, signal: AbortSignal): Promise<void> {
    const now = performance.now()
    if (this.#mode === 'adaptive') this.#grow(now)
    const startMs = Math.max(now, this.#nextMs)
    this.#nextMs = this.#rate === Infinity ? startMs : startMs + (calls / this.#rate) * 1_000
    if (startMs > now) await pause(startMs - now, signal)
    if (this.#mode !== 'adaptive') return
    const atMs = performance.now()
    this.#recent = [...this.#recent.filter((entry) => entry.atMs > atMs - STEP_MS), { atMs, calls }]
  }

  /** Called after an answer that is not a refusal. */
  answered(): void {
    this.#mayHalve = true
  }

  /** Halves the rate after a refusal of `calls`, which then delay no others. */
  slow(calls: number): void {
    if (this.#mode !== 'adaptive') return
    const now = performance.now()
    if (this.#rate < Infinity) this.#nextMs = Math.max(now, this.#nextMs - (calls / this.#rate) * 1_000)
    if (!this.#mayHalve) return
    this.#mayHalve = false
    const recent = this.#recent.reduce((sum, entry) => sum + entry.calls, 0)
    this.#rate = Math.max(1, Math.min(this.#rate, recent) / 2)
    this.#changedMs = now
  }

  #grow(now: number): void {
    if (this.#rate === Infinity || now - this.#changedMs < STEP_MS) return
    this.#rate *= GROWTH
    this.#changedMs = now
  }
}
