import type { Block, Hash, Header } from '../../eth/index.ts'
import type { BlockReader, Payment, Place } from '../view/blockstore.ts'
import { tight } from './trimbuffers.ts'
import type { View } from '../view/view.ts'

/** What somebody looks at, of one View. */
export interface Needs {
  /** whose state, header or environment */
  readonly states: readonly Block[]
  /** whose transactions */
  readonly blocks: readonly Block[]
  /** BLOCKHASH: of the 256 numbers below each of these */
  readonly hashesBelow: readonly number[]
}

/** So much of a View as is needed to make it anew in another thread: plain data. All blocks lack their receipts. */
export interface ViewSlice {
  readonly version: number
  /** without transactions unless they are needed; the same holds for `pending` and `blocks` */
  readonly head: Block
  readonly pending: Block | null
  readonly flashblockIndex: number
  readonly safeNumber: number
  readonly finalizedNumber: number
  /** wei */
  readonly nextBaseFee: bigint | null
  /** sealed ones, besides the head */
  readonly blocks: readonly Block[]
  /** of the state after a block, by the block's number; only for `states` of the needs */
  readonly versions: ReadonlyMap<number, number>
  readonly hashes: ReadonlyMap<number, Hash>
}

const HASHES = 256

/** Throws RewoundState when a block that is needed is gone. */
export function sliceOf(view: View, needs: Needs): ViewSlice {
  const { head, pending } = view
  const form = (block: Block) => (needs.blocks.includes(block) ? whole(block) : bare(block))
  const others = new Set([...needs.states, ...needs.blocks].filter((block) => block !== head && block !== pending))
  return {
    version: view.version,
    head: form(head),
    pending: pending === null ? null : form(pending),
    flashblockIndex: view.flashblockIndex,
    safeNumber: view.safeNumber,
    finalizedNumber: view.finalizedNumber,
    nextBaseFee: view.nextBaseFee,
    blocks: [...others].map(form),
    versions: new Map(needs.states.map((block) => [block.header.number, view.stateVersion(block)])),
    hashes: hashesOf(view, needs),
  }
}

function hashesOf(view: View, { hashesBelow }: Needs): ReadonlyMap<number, Hash> {
  const hashes = new Map<number, Hash>()
  for (const below of hashesBelow) {
    for (let number = Math.max(0, below - HASHES); number < below; number++) {
      const hash = view.blockHash(number)
      if (hash === null) break
      hashes.set(number, hash)
    }
  }
  return hashes
}

function bare(block: Block): Block {
  return tight({ ...block, transactions: [], receipts: [], ommers: [] })
}

function whole(block: Block): Block {
  return tight({ ...block, receipts: [] })
}

/** The blocks of a slice: where a View of it finds them. */
export class SliceStore implements BlockReader {
  readonly #blocks: readonly Block[]

  constructor({ head, blocks }: ViewSlice) {
    this.#blocks = [head, ...blocks]
  }

  byNumber(number: number): Block | null {
    return this.#blocks.find(({ header }) => header.number === number) ?? null
  }

  byHash(hash: Hash): Block | null {
    return this.#blocks.find((block) => block.hash === hash) ?? null
  }

  locate(transactionHash: Hash): { block: Block; index: number } | null {
    for (const block of this.#blocks) {
      const index = block.transactions.findIndex(({ hash }) => hash === transactionHash)
      if (index >= 0) return { block, index }
    }
    return null
  }

  numberOf(hash: Hash): number | null {
    return this.byHash(hash)?.header.number ?? null
  }

  placeOf(transactionHash: Hash): Place | null {
    const found = this.locate(transactionHash)
    return found === null ? null : { number: found.block.header.number, index: found.index }
  }

  paymentsOf(number: number): readonly Payment[] {
    return this.byNumber(number)?.receipts ?? []
  }

  headerOf(number: number): Header | null {
    return this.byNumber(number)?.header ?? null
  }

  hashOf(number: number): Hash | null {
    return this.byNumber(number)?.hash ?? null
  }

  timestampOf(number: number): number | null {
    return this.byNumber(number)?.header.timestamp ?? null
  }

  transactionsBefore(): never {
    throw new Error('a slice of a View has no transactions of an address')
  }

  transactionsFrom(): never {
    return this.transactionsBefore()
  }

  sentWith(): never {
    return this.transactionsBefore()
  }

  logs(): never {
    throw new Error('a slice of a View has no logs')
  }

  countLogs(): never {
    return this.logs()
  }

  logsText(): never {
    return this.logs()
  }

  blockText(): never {
    throw new Error('a slice of a View has no text of its blocks')
  }

  receiptsText(): never {
    return this.blockText()
  }

  transactionText(): never {
    return this.blockText()
  }

  receiptText(): never {
    return this.blockText()
  }
}
