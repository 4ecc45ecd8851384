import { logsOfBlock } from '../chain/index.ts'
import type { BlockStore, Location, LogFilter, PlacedLog } from '../chain/index.ts'
import { Bloom } from '../eth/index.ts'
import type { Address, Block, Hash } from '../eth/index.ts'

/** Sealed blocks in memory, all of them. Blocks are shared, never copied. */
export class MemoryStore implements BlockStore {
  readonly #blocks: Block[] = []
  readonly #byHash = new Map<Hash, Block>()
  readonly #places = new Map<Hash, Location>()
  /** rising numbers of the blocks that hold logs: the others cost a query nothing */
  readonly #withLogs: number[] = []

  /** Throws RangeError unless it is the next block. */
  append(block: Block): void {
    const next = this.#blocks.length
    if (block.header.number !== next) throw new RangeError(`block ${block.header.number} is not the next one, ${next}`)
    this.#blocks.push(block)
    this.#byHash.set(block.hash, block)
    for (const [index, tx] of block.transactions.entries()) this.#places.set(tx.hash, { block, index })
    if (block.receipts.some(({ logs }) => logs.length > 0)) this.#withLogs.push(next)
  }

  truncate(number: number): readonly Block[] {
    const removed = this.#blocks.splice(Math.max(0, number + 1)).reverse()
    for (const block of removed) {
      this.#byHash.delete(block.hash)
      for (const tx of block.transactions) this.#places.delete(tx.hash)
    }
    this.#withLogs.splice(this.#firstWithLogs(number + 1))
    return removed
  }

  byNumber(number: number): Block | null {
    return this.#blocks[number] ?? null
  }

  byHash(hash: Hash): Block | null {
    return this.#byHash.get(hash) ?? null
  }

  locate(transactionHash: Hash): Location | null {
    return this.#places.get(transactionHash) ?? null
  }

  /** A scan: the header's bloom passes over most blocks that hold no match. */
  *logs(filter: LogFilter, from: number, to: number): Iterable<PlacedLog> {
    for (let i = this.#firstWithLogs(from); i < this.#withLogs.length; i++) {
      const number = this.#withLogs[i] ?? Infinity
      if (number > to) return
      const block = this.#blocks[number]
      if (block !== undefined && mayHold(block.header.logsBloom, filter)) yield* logsOfBlock(block, filter)
    }
  }

  /** The place in `#withLogs` of the first number that is not below. */
  #firstWithLogs(number: number): number {
    let [low, high] = [0, this.#withLogs.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#withLogs[middle] ?? Infinity) < number) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** False: no log of the block matches. */
function mayHold(bloom: Uint8Array, { addresses, topics }: LogFilter): boolean {
  return mayHoldAny(bloom, addresses) && topics.every((accepted) => mayHoldAny(bloom, accepted))
}

function mayHoldAny(bloom: Uint8Array, accepted: ReadonlySet<Address> | ReadonlySet<Hash> | null): boolean {
  if (accepted === null) return true
  for (const value of accepted) if (Bloom.has(bloom, value)) return true
  return false
}
