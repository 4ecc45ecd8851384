import { Hash, Header } from '../../eth/index.ts'
import type { Block, Flashblock, Hex, Transaction } from '../../eth/index.ts'
import type { WriteSet } from '../../evm/index.ts'
import type { BlockAttributes, BlockBuilder } from './builder.ts'
import { Journal } from './openblockrecord.ts'

/** What one flashblock brings. `flashblock` holds only what is new in `block`, from `firstTransaction` on. */
export interface Growth {
  readonly block: Block
  readonly index: number
  readonly flashblock: Flashblock
  readonly firstTransaction: number
  readonly writes: WriteSet
}

/** The block under construction: its builder, and how much of it is published. */
export class OpenBlock {
  readonly builder: BlockBuilder
  readonly #attributes: BlockAttributes
  readonly #payloadId: Hex
  readonly #deposits: number
  #published = 0
  #index = -1
  #grown: Block | null = null
  #pending: Block | null = null

  /** The builder holds `deposits` that the block opens with: all that it has by now, unless said otherwise. All others are the users'. */
  constructor(builder: BlockBuilder, attributes: BlockAttributes, payloadId: Hex, deposits = builder.transactions.length) {
    this.builder = builder
    this.#attributes = attributes
    this.#payloadId = payloadId
    this.#deposits = deposits
  }

  /** as everybody knows it; null before that */
  get pending(): Block | null {
    return this.#pending
  }

  /** without what the block opened with */
  get userTransactions(): readonly Transaction[] {
    return this.builder.transactions.slice(this.#deposits)
  }

  /** Enough to build the block again as it has grown; null: it promises nothing to anybody. */
  journal(): Uint8Array | null {
    const grown = this.#grown
    if (grown === null || grown.transactions.length === this.#deposits) return null
    return Journal.encode({
      parentHash: grown.header.parentHash,
      promisedHash: Header.hash(grown.header),
      attributes: this.#attributes,
      transactions: grown.transactions,
      deposits: this.#deposits,
    })
  }

  /** What it has grown to is told now. Until then a block that is given up has nothing new to retract. */
  tell(): void {
    this.#pending = this.#grown
  }

  /** Writes what is new into the state; it is published with the answer. */
  publish(): Growth {
    const writes = this.builder.commit()
    const block = this.builder.pending()
    const firstTransaction = this.#published
    const index = ++this.#index
    this.#grown = block
    this.#published = block.transactions.length
    return {
      block,
      index,
      flashblock: message(this.#payloadId, index, block, this.builder.hash(), firstTransaction),
      firstTransaction,
      writes,
    }
  }
}

/** The stream's message for what is new in `block`. */
function message(payloadId: Hex, index: number, block: Block, blockHash: Hash, firstTransaction: number): Flashblock {
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
