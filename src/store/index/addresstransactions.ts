import { KIND, keyOfBytes } from './keys.ts'
import { blockAt, positionOf } from './indexpart.ts'
import type { IndexPart, Postings } from './indexpart.ts'
import { PositionList } from './positionlist.ts'

/** An address's role in a transaction. The contract that a transaction created counts as its receiver. */
export type Role = 'sender' | 'receiver'

/** A transaction by block number and index. */
export interface TransactionPosition {
  readonly block: number
  readonly index: number
}

/** Finds the transactions of one part in which an address may have one of several roles. Block arguments count from the part's first block. */
export class AddressTransactions {
  readonly #part: IndexPart
  readonly #lists: readonly Postings[]
  /** items that hold about one window of its transactions */
  readonly #windowItems: number

  constructor(part: IndexPart, address: Uint8Array, roles: readonly Role[], windowPositions: number) {
    this.#part = part
    this.#lists = roles.map((role) => part.probe(keyOfBytes(KIND[role], address))).filter((list) => list !== null)
    const count = this.#lists.reduce((sum, list) => sum + list.count, 0)
    this.#windowItems = count <= windowPositions ? Infinity : Math.ceil((part.items / count) * windowPositions)
  }

  /** Returns the first block of the window that ends before block `end`, which is above 0. */
  windowStart(end: number): number {
    const position = positionOf(this.#part, end) - this.#windowItems
    return position <= 0 ? 0 : Math.min(end - 1, blockAt(this.#part, position))
  }

  /** Returns the block before which the window from block `start` on ends. */
  windowEnd(start: number): number {
    const position = positionOf(this.#part, start) + this.#windowItems
    return position >= this.#part.items ? this.#part.blocks : Math.max(start + 1, blockAt(this.#part, position))
  }

  /** Returns transactions in the blocks from `start` to before `end`, in chain order. */
  within(start: number, end: number): TransactionPosition[] {
    const part = this.#part
    const positions = new PositionList()
    for (const list of this.#lists) part.read(list, positionOf(part, start), positionOf(part, end), positions)
    if (this.#lists.length > 1) positions.merge()
    const found: TransactionPosition[] = []
    let block = start
    for (const position of positions.view()) {
      block = blockAt(part, position, block)
      const index = position - (part.starts[block] as number) - 1 // in range
      // A block or a log may have the same key by collision.
      if (index >= 0 && position < (part.logStarts[block] as number)) found.push({ block: part.firstBlock + block, index })
    }
    return found
  }
}
