/** A growing list of u32: places of items, rising. Used again and again, so that reading long lists makes no garbage. */
export class Places {
  #values = new Uint32Array(16)
  #size = 0

  get size(): number {
    return this.#size
  }

  clear(): void {
    this.#size = 0
  }

  push(value: number): void {
    if (this.#size === this.#values.length) this.#grow()
    this.#values[this.#size++] = value
  }

  /** What is in it, until the next change. */
  view(): Uint32Array {
    return this.#values.subarray(0, this.#size)
  }

  /** Reverses what stands from `start` on. */
  reverse(start: number): void {
    this.#values.subarray(start, this.#size).reverse()
  }

  /** Several lists one behind the other become one that rises and repeats nothing. */
  merge(): void {
    const values = this.view().sort()
    let kept = 0
    for (let i = 0; i < values.length; i++) if (i === 0 || values[i] !== values[i - 1]) values[kept++] = values[i] as number // in range
    this.#size = kept
  }

  /** Keeps what `other` has too. Both rise. */
  intersect(other: Places): void {
    const [mine, others] = [this.view(), other.view()]
    let kept = 0
    for (let i = 0, k = 0; i < mine.length; i++) {
      const value = mine[i] as number // in range
      while (k < others.length && (others[k] as number) < value) k++
      if (k === others.length) break
      if (others[k] === value) mine[kept++] = value
    }
    this.#size = kept
  }

  #grow(): void {
    const values = new Uint32Array(this.#values.length * 2)
    values.set(this.#values)
    this.#values = values
  }
}
