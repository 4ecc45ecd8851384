import { KIND, keyOfBytes } from './keys.ts'
import { blockAt, placeOf } from './part.ts'
import type { Part, Postings } from './part.ts'
import { Places } from './places.ts'

/** What an address may be to a transaction: who sent it, or who received it, as which the contract counts that it created. */
export type Role = 'sender' | 'receiver'

/** Where a transaction may stand. */
export interface TransactionPlace {
  readonly block: number
  readonly index: number
}

/** The transactions of a part in which an address may have one of some roles. Blocks are counted from the part's first. */
export class Party {
  readonly #part: Part
  readonly #lists: readonly Postings[]
  /** so many items hold about as many of its transactions as are read at a time */
  readonly #windowItems: number

  constructor(part: Part, address: Uint8Array, roles: readonly Role[], windowPlaces: number) {
    this.#part = part
    this.#lists = roles.map((role) => part.probe(keyOfBytes(KIND[role], address))).filter((list) => list !== null)
    const count = this.#lists.reduce((sum, list) => sum + list.count, 0)
    this.#windowItems = count <= windowPlaces ? Infinity : Math.ceil((part.items / count) * windowPlaces)
  }

  /** The block with which a window begins that ends before block `end`, which is above 0. */
  windowStart(end: number): number {
    const place = placeOf(this.#part, end) - this.#windowItems
    return place <= 0 ? 0 : Math.min(end - 1, blockAt(this.#part, place))
  }

  /** The block before which a window ends that begins with block `start`, which is in the part. */
  windowEnd(start: number): number {
    const place = placeOf(this.#part, start) + this.#windowItems
    return place >= this.#part.items ? this.#part.blocks : Math.max(start + 1, blockAt(this.#part, place))
  }

  /** Places in the blocks from `start` to before `end`, in the order of the chain. */
  within(start: number, end: number): TransactionPlace[] {
    const part = this.#part
    const places = new Places()
    for (const list of this.#lists) part.read(list, placeOf(part, start), placeOf(part, end), places)
    if (this.#lists.length > 1) places.merge()
    const found: TransactionPlace[] = []
    let block = start
    for (const place of places.view()) {
      block = blockAt(part, place, block)
      const index = place - (part.starts[block] as number) - 1 // in range
      // A block or a log may have the key of an address.
      if (index >= 0 && place < (part.logStarts[block] as number)) found.push({ block: part.firstBlock + block, index })
    }
    return found
  }
}
