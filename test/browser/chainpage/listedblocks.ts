import type { BlockStore, LocatedTransaction, TransactionLocation } from '../../../src/chain/index.ts'
import type { Block, Hash, Header } from '../../../src/eth/index.ts'

/** The part of a store that building blocks needs, because store/ needs Node. */
export class ListedBlocks implements BlockStore {
  readonly firstBlock = 0
  readonly persistedState = null
  readonly openBlockRecord = null
  readonly #blocks: Block[] = []
  readonly #staged: Block[] = []

  get height(): number {
    return this.#blocks.length - 1
  }

  append(block: Block): void {
    this.#staged.push(block)
  }

  flush(): void {
    this.#blocks.push(...this.#staged.splice(0))
  }

  edit(): void {}

  putOpenBlockRecord(): void {}

  byNumber(number: number): Block | null {
    return this.#blocks[number] ?? null
  }

  byHash(hash: Hash): Block | null {
    return this.#blocks.find((block) => block.hash === hash) ?? null
  }

  hashOf(number: number): Hash | null {
    return this.byNumber(number)?.hash ?? null
  }

  headerOf(number: number): Header | null {
    return this.byNumber(number)?.header ?? null
  }

  timestampOf(number: number): number | null {
    return this.byNumber(number)?.header.timestamp ?? null
  }

  numberOf(hash: Hash): number | null {
    return this.byHash(hash)?.header.number ?? null
  }

  locate(hash: Hash): LocatedTransaction | null {
    for (const block of this.#blocks) {
      const index = block.transactions.findIndex((tx) => tx.hash === hash)
      if (index >= 0) return { block, index }
    }
    return null
  }

  locationOf(hash: Hash): TransactionLocation | null {
    const place = this.locate(hash)
    return place === null ? null : { number: place.block.header.number, index: place.index }
  }

  gasPaymentsOf(number: number): Block['receipts'] {
    return this.byNumber(number)?.receipts ?? []
  }

  readonly truncate = absent
  readonly transactionsBefore = absent
  readonly transactionsFrom = absent
  readonly bySenderAndNonce = absent
  readonly logs = absent
  readonly countLogs = absent
  readonly logsJsonBytes = absent
  readonly blockJsonBytes = absent
  readonly receiptsJsonBytes = absent
  readonly transactionJsonBytes = absent
  readonly receiptJsonBytes = absent
}

function absent(): never {
  throw new Error('this store only keeps blocks')
}
