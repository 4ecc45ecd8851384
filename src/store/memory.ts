import { Bloom, Hex } from '../eth/index.ts'
import type { Block, Hash } from '../eth/index.ts'
import { logsOfBlock } from '../chain/index.ts'
import type { BlockStore, Location, LogFilter, PlacedLog } from '../chain/index.ts'

/** Blocks in the process's memory, for tests, browsers and every chain without a directory. */
export class MemoryStore implements BlockStore {
  readonly #blocks: Block[] = []
  readonly #byHash = new Map<Hash, Block>()
  readonly #locations = new Map<Hash, Location>()

  append(block: Block): void {
    const first = this.#blocks[0]?.header.number ?? block.header.number
    if (block.header.number !== first + this.#blocks.length) {
      throw new RangeError(`block ${block.header.number} does not follow the ${this.#blocks.length} blocks from ${first} on`)
    }
    this.#blocks.push(block)
    this.#byHash.set(block.hash, block)
    for (const [index, tx] of block.transactions.entries()) this.#locations.set(tx.hash, { block, index })
  }

  truncate(number: number): readonly Block[] {
    const keep = Math.max(0, number - this.#first() + 1)
    const removed = this.#blocks.splice(keep).reverse()
    for (const block of removed) {
      this.#byHash.delete(block.hash)
      for (const tx of block.transactions) this.#locations.delete(tx.hash)
    }
    return removed
  }

  byNumber(number: number): Block | null {
    return this.#blocks[number - this.#first()] ?? null
  }

  byHash(hash: Hash): Block | null {
    return this.#byHash.get(hash) ?? null
  }

  locate(transactionHash: Hash): Location | null {
    return this.#locations.get(transactionHash) ?? null
  }

  *logs(filter: LogFilter, from: number, to: number): Iterable<PlacedLog> {
    const mayHold = bloomTest(filter)
    for (let number = Math.max(from, this.#first()); number <= to; number++) {
      const block = this.byNumber(number)
      if (block === null) return
      if (mayHold(block)) yield* logsOfBlock(block, filter)
    }
  }

  #first(): number {
    return this.#blocks[0]?.header.number ?? 0
  }
}

/** A block whose bloom lacks every accepted value of some position holds no match. */
function bloomTest(filter: LogFilter): (block: Block) => boolean {
  const positions = [filter.addresses, ...filter.topics]
    .filter((accepted) => accepted !== null)
    .map((accepted) => [...accepted].map((value) => Hex.toBytes(value)))
  return ({ header }) => positions.every((values) => values.some((value) => Bloom.has(header.logsBloom, value)))
}
