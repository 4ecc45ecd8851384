import { SAMPLES } from './limits.ts'

/** Percentiles of durations in milliseconds; `null` without any. */
export interface DurationSummary {
  readonly count: number
  readonly p50: number | null
  readonly p90: number | null
  readonly p99: number | null
  readonly max: number | null
  /** ascending upper bounds; `null` is without bound */
  readonly histogram: readonly { readonly upToMs: number | null; readonly count: number }[]
}

const BOUNDS_MS = [25, 50, 100, 200, 300, 400, 600, 1_000, 1_500, 2_000, 3_000, 5_000, 10_000, 60_000]

/** Collects durations. */
export class Durations {
  readonly #samples: number[] = []
  readonly #counts = Array.from({ length: BOUNDS_MS.length + 1 }, () => 0)
  #count = 0
  #max = 0

  /** Durations below 0, of two connections, count as 0. */
  add(milliseconds: number): void {
    const duration = Math.max(0, milliseconds)
    this.#count++
    this.#max = Math.max(this.#max, duration)
    const place = BOUNDS_MS.findIndex((bound) => duration <= bound)
    const bucket = place < 0 ? BOUNDS_MS.length : place
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1
    // Reservoir sampling (Vitter's algorithm R): each duration stays with the same probability.
    const at = this.#samples.length < SAMPLES ? this.#samples.length : Math.floor(Math.random() * this.#count)
    if (at < SAMPLES) this.#samples[at] = duration
  }

  summary(): DurationSummary {
    const sorted = this.#samples.toSorted((a, b) => a - b)
    const at = (share: number) => (sorted.length === 0 ? null : rounded(sorted[Math.ceil(share * sorted.length) - 1] ?? 0))
    const histogram = this.#counts.map((count, i) => ({ upToMs: BOUNDS_MS[i] ?? null, count }))
    const max = this.#count === 0 ? null : rounded(this.#max)
    return { count: this.#count, p50: at(0.5), p90: at(0.9), p99: at(0.99), max, histogram }
  }
}

function rounded(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10
}
