import type { TransactionLocation, View } from '../../chain/index.ts'
import type { Address } from '../../eth/index.ts'
import type { BlockRange, InnerCallIndex } from './innercallindex.ts'

/** Blocks from `start` up or down to `end`, both included; none if `end` is not in that direction. */
export interface SearchPath {
  readonly start: number
  readonly end: number
  readonly direction: 'up' | 'down'
}

export interface Found {
  /** In the direction of the path; whole blocks. */
  readonly places: readonly TransactionLocation[]
  /** False if the page was full before the last block of the path. */
  readonly reachesEnd: boolean
}

/** Walks over the searched blocks of a path and collects the transactions in whose inner calls an address took part. */
export class Walk {
  readonly #index: InnerCallIndex
  readonly #address: Address
  readonly #path: SearchPath
  readonly #isDown: boolean
  /** in the direction of the path */
  readonly #inner: TransactionLocation[] = []
  #next: number

  constructor(index: InnerCallIndex, address: Address, path: SearchPath) {
    this.#index = index
    this.#address = address
    this.#path = path
    this.#isDown = path.direction === 'down'
    this.#next = path.start
  }

  /** The first block of the path that was not walked. */
  get next(): number {
    return this.#next
  }

  get isDone(): boolean {
    return this.#isDown ? this.#next < this.#path.end : this.#next > this.#path.end
  }

  /** The blocks of the path that were not walked. */
  get rest(): BlockRange {
    const { end } = this.#path
    return this.#isDown ? { from: end, to: this.#next } : { from: this.#next, to: end }
  }

  /** Walks to the next block that is not searched. */
  skipSearched(): void {
    while (!this.isDone) {
      const searched = this.#index.searchedAround(this.#next)
      if (searched === null) return
      const { from, to } = this.rest
      const walked = { from: Math.max(from, searched.from), to: Math.min(to, searched.to) }
      const found = this.#index.transactionsOf(this.#address, walked)
      for (const place of this.#isDown ? found.toReversed() : found) this.#inner.push(place)
      this.#next = this.#isDown ? walked.from - 1 : walked.to + 1
    }
  }

  /** Returns a page of `size` transactions and the rest of the last block. Null: it depends on blocks that were not walked. */
  found(view: View, size: number): Found | null {
    const { start, end } = this.#path
    const own = this.#isDown ? view.transactionsBefore(this.#address, start + 1) : view.transactionsFrom(this.#address, start)
    const places = page([...page(this.#walked(own), size), ...page(this.#inner, size)].sort(this.#compare), size)
    if (places.length < size) return this.isDone ? { places, reachesEnd: true } : null
    return { places, reachesEnd: places.at(-1)?.number === end }
  }

  *#walked(places: Iterable<TransactionLocation>): Iterable<TransactionLocation> {
    for (const place of places) {
      if (this.#isDown ? place.number <= this.#next : place.number >= this.#next) return
      yield place
    }
  }

  readonly #compare = (a: TransactionLocation, b: TransactionLocation): number => {
    const ascending = a.number - b.number || a.index - b.index
    return this.#isDown ? -ascending : ascending
  }
}

/** Takes `size` places, without repetition, and the rest of the last block. */
function page(places: Iterable<TransactionLocation>, size: number): TransactionLocation[] {
  const taken: TransactionLocation[] = []
  for (const place of places) {
    const last = taken.at(-1)
    if (last?.number === place.number && last.index === place.index) continue
    if (taken.length >= size && last?.number !== place.number) return taken
    taken.push(place)
  }
  return taken
}
