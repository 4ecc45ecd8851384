/**
 * A tournament tree that merges several ascending rows of keys. After a replacement only the losers on the winner's path are compared: four
 * comparisons for sixteen rows.
 */
export class LoserTree {
  readonly #size: number
  /** by row: its key combined with its number, which makes ranks unique */
  readonly #ranks: Float64Array
  /** inner nodes from 1: the losing row; 0: the winning row */
  readonly #tree: Uint32Array

  /** @param keys below 2^39, the first of each row; Infinity for an empty row */
  constructor(keys: readonly number[]) {
    this.#size = keys.length
    this.#ranks = Float64Array.from(keys, (key, row) => this.#rank(key, row))
    this.#tree = new Uint32Array(keys.length)
    const winners = [...this.#tree.keys(), ...keys.keys()]
    for (let node = keys.length - 1; node > 0; node--) {
      const [a, b] = [winners[2 * node] as number, winners[2 * node + 1] as number] // in range
      const isFirst = this.#isBefore(a, b)
      winners[node] = isFirst ? a : b
      this.#tree[node] = isFirst ? b : a
    }
    this.#tree[0] = winners[1] as number
  }

  /** The row with the lowest key; among equal keys the lowest row. */
  get winner(): number {
    return this.#tree[0] as number
  }

  /** Replaces the winner's key with its next one, which is higher. */
  replace(key: number): void {
    const tree = this.#tree
    let row = tree[0] as number
    this.#ranks[row] = this.#rank(key, row)
    for (let node = (row + this.#size) >> 1; node > 0; node >>= 1) {
      const other = tree[node] as number // in range
      if (!this.#isBefore(other, row)) continue
      tree[node] = row
      row = other
    }
    tree[0] = row
  }

  /** exact: below 2^53 */
  #rank(key: number, row: number): number {
    return key * this.#size + row
  }

  #isBefore(a: number, b: number): boolean {
    return (this.#ranks[a] as number) < (this.#ranks[b] as number)
  }
}
