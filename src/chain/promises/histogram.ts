/** Counts of durations by upper bound. */
export class Histogram {
  /** milliseconds, ascending */
  readonly bounds: readonly number[] = [50, 100, 200, 400, 1_000, 2_000, 4_000, 10_000, 60_000]

  readonly #counts = Array.from({ length: this.bounds.length + 1 }, () => 0)
  #sumMs = 0

  get sumMs(): number {
    return this.#sumMs
  }

  /** Per bound, the number of durations that do not exceed it; the last one counts all. */
  get cumulative(): readonly number[] {
    let total = 0
    return this.#counts.map((count) => (total += count))
  }

  add(milliseconds: number): void {
    const index = this.bounds.findIndex((bound) => milliseconds <= bound)
    const place = index < 0 ? this.bounds.length : index
    this.#counts[place] = (this.#counts[place] ?? 0) + 1
    this.#sumMs += milliseconds
  }
}
