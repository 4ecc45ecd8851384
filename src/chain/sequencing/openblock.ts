import { Hash, Header } from '../../eth/index.ts'
import type { Block, Flashblock, Hex, Transaction } from '../../eth/index.ts'
import type { WriteSet } from '../../evm/index.ts'
import type { BlockAttributes, BlockBuilder } from './builder.ts'
import { OpenBlockRecord } from './openblockrecord.ts'

/** A flashblock and the block up to it. `flashblock` holds only the transactions from `firstTransaction` on. */
interface PublishedFlashblock {
  readonly block: Block
  readonly index: number
  readonly flashblock: Flashblock
  readonly firstTransaction: number
  readonly writes: WriteSet
}

/** The block under construction: its builder, and the part that is published. */
export class OpenBlock {
  readonly builder: BlockBuilder
  readonly attributes: BlockAttributes
  readonly #payloadId: Hex
  readonly #depositCount: number
  /** Place of each flashblock's first transaction, by its index; -1: it was missed. */
  readonly #starts: number[] = []
  #publishedCount = 0
  #committed: Block | null = null
  #pending: Block | null = null

  /**
   * `deposits` is the number of system deposits at the start of the block; by default all transactions that the builder holds. The others
   * are users' transactions.
   */
  constructor(builder: BlockBuilder, attributes: BlockAttributes, payloadId: Hex, deposits = builder.transactions.length) {
    this.builder = builder
    this.attributes = attributes
    this.#payloadId = payloadId
    this.#depositCount = deposits
  }

  /** The block as last announced; `null` before the first announcement. */
  get pending(): Block | null {
    return this.#pending
  }

  /** Transactions without the system deposits. */
  get userTransactions(): readonly Transaction[] {
    return this.builder.transactions.slice(this.#depositCount)
  }

  /** The user transactions that flashblock `index` and later ones have promised. */
  promisedFrom(index: number): readonly Transaction[] {
    const first = this.#starts.slice(index).find((start) => start >= 0) ?? this.#publishedCount
    return this.builder.transactions.slice(Math.max(first, this.#depositCount), this.#publishedCount)
  }

  /** The next flashblock's index is left out. */
  miss(): void {
    this.#starts.push(-1)
  }

  /** Encodes the record from which the block can be rebuilt; `null` without user transactions, because nothing is promised. */
  encodeRecord(): Uint8Array | null {
    const committed = this.#committed
    if (committed === null || committed.transactions.length === this.#depositCount) return null
    return OpenBlockRecord.encode({
      parentHash: committed.header.parentHash,
      promisedHash: Header.hash(committed.header),
      attributes: this.attributes,
      transactions: committed.transactions,
      deposits: this.#depositCount,
    })
  }

  /** Call when the last published flashblock is announced. A block discarded before has nothing new to retract. */
  markAnnounced(): void {
    this.#pending = this.#committed
  }

  /** Commits the new transactions to the state and returns the flashblock that contains them. */
  publish(): PublishedFlashblock {
    const writes = this.builder.commit()
    const block = this.builder.pending()
    const firstTransaction = this.#publishedCount
    const index = this.#starts.push(firstTransaction) - 1
    this.#committed = block
    this.#publishedCount = block.transactions.length
    return {
      block,
      index,
      flashblock: flashblockOf(block, { payloadId: this.#payloadId, index, blockHash: this.builder.hash(), firstTransaction }),
      firstTransaction,
      writes,
    }
  }
}

/** A flashblock's place in its block. */
export interface FlashblockPlace {
  readonly payloadId: Hex
  readonly index: number
  /** The hash that the block would have if it were sealed now. */
  readonly blockHash: Hash
  readonly firstTransaction: number
}

/** Returns the flashblock message with the transactions of the pending block from `firstTransaction` on. */
export function flashblockOf(block: Block, { payloadId, index, blockHash, firstTransaction }: FlashblockPlace): Flashblock {
  const { header } = block
  const base = {
    parentBeaconBlockRoot: header.parentBeaconBlockRoot ?? Hash.zero,
    parentHash: header.parentHash,
    feeRecipient: header.coinbase,
    prevRandao: header.mixHash,
    blockNumber: header.number,
    gasLimit: header.gasLimit,
    timestamp: header.timestamp,
    extraData: header.extraData,
    baseFeePerGas: header.baseFeePerGas ?? 0n,
  }
  return {
    payloadId,
    index,
    base: index === 0 ? base : null,
    diff: {
      stateRoot: header.stateRoot,
      receiptsRoot: header.receiptsRoot,
      logsBloom: header.logsBloom,
      gasUsed: header.gasUsed,
      blockHash,
      transactions: block.transactions.slice(firstTransaction).map((tx) => tx.raw),
      withdrawalsRoot: header.withdrawalsRoot ?? Hash.zero,
      blobGasUsed: header.blobGasUsed,
    },
    blockNumber: header.number,
  }
}
