/**
 * Which of several rising rows of keys comes next. Each key plays against the others once, in a tree; afterwards only those that met the
 * winner play again: four comparisons for sixteen rows.
 */
export class Tournament {
  readonly #size: number
  /** by row: its key and, so that no two are equal, its number */
  readonly #ranks: Float64Array
  /** inner nodes from 1 on: the row that lost there; 0: the row that won */
  readonly #tree: Uint32Array

  /** @param keys below 2^39, the first of each row; Infinity: it has none */
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

  /** The row whose key is the least; of equal ones the first. */
  get winner(): number {
    return this.#tree[0] as number
  }

  /** The winner's next key, which is above. */
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

  /** Exact: below 2^53. */
  #rank(key: number, row: number): number {
    return key * this.#size + row
  }

  #isBefore(a: number, b: number): boolean {
    return (this.#ranks[a] as number) < (this.#ranks[b] as number)
  }
}
