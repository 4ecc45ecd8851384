import type { TransactionLocation } from '../../chain/index.ts'
import type { Address } from '../../eth/index.ts'

/** Blocks `from` to `to`, both included. */
export interface BlockRange {
  readonly from: number
  readonly to: number
}

/**
 * The transactions in whose inner calls an address took part, of the blocks that were searched so far. Above its limit it is emptied, and searches
 * fill it again.
 */
export class InnerCallIndex {
  readonly #limitBytes: number
  /** by address; in any order until they are read */
  readonly #positions = new Map<Address, number[]>()
  readonly #unsorted = new Set<number[]>()
  /** ascending; neither overlapping nor adjacent */
  #searched: BlockRange[] = []
  #bytes = 0

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes
  }

  /** An estimate of the memory in use. */
  get sizeBytes(): number {
    return this.#bytes
  }

  /** Marks blocks without inner calls as searched. None of them may be marked already. */
  addEmpty({ from, to }: BlockRange): void {
    const at = this.#searched.findIndex((range) => range.from > from)
    const index = at < 0 ? this.#searched.length : at
    const [before, after] = [this.#searched[index - 1], this.#searched[index]]
    const joinsBefore = before !== undefined && before.to === from - 1
    const joinsAfter = after !== undefined && after.from === to + 1
    const joined = { from: joinsBefore ? before.from : from, to: joinsAfter ? after.to : to }
    this.#searched.splice(joinsBefore ? index - 1 : index, Number(joinsBefore) + Number(joinsAfter), joined)
  }

  /** Adds a block that is not marked as searched. `parties`: the addresses of each transaction, without repetition. */
  add(number: number, parties: readonly (readonly Address[])[]): void {
    if (this.#bytes > this.#limitBytes) this.clear()
    this.addEmpty({ from: number, to: number })
    // The newest first: a search usually goes down, and a list in order of the search is sorted in linear time.
    for (let index = parties.length - 1; index >= 0; index--) {
      for (const address of parties[index] ?? []) this.#addPosition(address, number * POSITIONS_PER_BLOCK + index)
    }
  }

  /** Returns the range of searched blocks that contains `number`, or null. */
  searchedAround(number: number): BlockRange | null {
    return this.#searched.find(({ from, to }) => from <= number && number <= to) ?? null
  }

  /** Returns the largest range around `number`, within `bounds`, without a block that is marked as searched. */
  unsearchedAround(number: number, bounds: BlockRange): BlockRange {
    let { from, to } = bounds
    for (const range of this.#searched) {
      if (range.to < number) from = Math.max(from, range.to + 1)
      else to = Math.min(to, range.from - 1)
    }
    return { from, to }
  }

  /** Returns the transactions of searched blocks in chain order. */
  transactionsOf(address: Address, { from, to }: BlockRange): readonly TransactionLocation[] {
    const positions = this.#positions.get(address)
    if (positions === undefined) return []
    if (this.#unsorted.delete(positions)) positions.sort((a, b) => a - b)
    return positions.slice(firstAtOrAbove(positions, from), firstAtOrAbove(positions, to + 1)).map(locationOf)
  }

  /** Forgets the blocks above `number`. */
  truncate(number: number): void {
    if ((this.#searched.at(-1)?.to ?? -1) <= number) return
    if (number < (this.#searched[0]?.from ?? 0)) return this.clear()
    this.#searched = this.#searched.flatMap(({ from, to }) => (from > number ? [] : [{ from, to: Math.min(to, number) }]))
    const end = (number + 1) * POSITIONS_PER_BLOCK
    for (const [address, positions] of this.#positions) {
      const kept = positions.filter((position) => position < end)
      if (kept.length === positions.length) continue
      this.#unsorted.delete(positions)
      this.#bytes -= (positions.length - kept.length) * POSITION_BYTES
      if (kept.length === 0) {
        this.#positions.delete(address)
        this.#bytes -= ADDRESS_BYTES
      } else {
        this.#positions.set(address, kept)
        this.#unsorted.add(kept)
      }
    }
  }

  clear(): void {
    this.#positions.clear()
    this.#unsorted.clear()
    this.#searched = []
    this.#bytes = 0
  }

  #addPosition(address: Address, position: number): void {
    this.#bytes += POSITION_BYTES
    const positions = this.#positions.get(address)
    if (positions === undefined) {
      this.#positions.set(address, [position])
      this.#bytes += ADDRESS_BYTES
      return
    }
    positions.push(position)
    this.#unsorted.add(positions)
  }
}

/** Above the number of transactions that fit into a block. A position is exact up to block 2^33. */
const POSITIONS_PER_BLOCK = 2 ** 20

/** An 8-byte number in an array that grows by half. */
const POSITION_BYTES = 12

/** The address as a string, its entries in the map and the set, and an array. */
const ADDRESS_BYTES = 240

function locationOf(position: number): TransactionLocation {
  return { number: Math.floor(position / POSITIONS_PER_BLOCK), index: position % POSITIONS_PER_BLOCK }
}

/** Returns the index of the first position in block `number` or above. */
function firstAtOrAbove(positions: readonly number[], number: number): number {
  let [low, high] = [0, positions.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((positions[middle] as number) < number * POSITIONS_PER_BLOCK) low = middle + 1 // in range
    else high = middle
  }
  return low
}
