/** A growable list of ascending u32 positions. Reused, so that reading long lists allocates nothing. */
export class PositionList {
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

  /** The contents, valid until the next change. */
  view(): Uint32Array {
    return this.#values.subarray(0, this.#size)
  }

  /** Reverses the items from `start` on. */
  reverse(start: number): void {
    this.#values.subarray(start, this.#size).reverse()
  }

  /** Merges concatenated ascending lists into one without duplicates. */
  merge(): void {
    const values = this.view().sort()
    let kept = 0
    for (let i = 0; i < values.length; i++) if (i === 0 || values[i] !== values[i - 1]) values[kept++] = values[i] as number // in range
    this.#size = kept
  }

  /** Keeps the positions that `other` contains too. Both are ascending. */
  intersect(other: PositionList): void {
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
