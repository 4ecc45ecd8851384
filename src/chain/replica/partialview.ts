import type { Block, Hash, Header } from '../../eth/index.ts'
import { NO_WRITES } from '../../evm/index.ts'
import type { WriteSet } from '../../evm/index.ts'
import type { BlockReader, GasPayment, TransactionLocation } from '../view/blockstore.ts'
import { MissingState } from '../state/basestate.ts'
import { StateNotInMemory } from '../view/view.ts'
import type { View } from '../view/view.ts'

/** Parts of a View that a worker needs. */
export interface ViewScope {
  /** Blocks whose state, header or environment is needed. */
  readonly states: readonly Block[]
  /** Blocks whose transactions are needed. */
  readonly blocks: readonly Block[]
  /** BLOCKHASH: the 256 blocks below each of these numbers are needed. */
  readonly hashesBelow: readonly number[]
}

/** Part of a View as plain data, from which another thread rebuilds it. Blocks come without receipts. */
export interface PartialView {
  readonly version: number
  /** Of the genesis or the fork block. */
  readonly firstNumber: number
  /** Without transactions unless they are in scope; the same holds for `pending` and `blocks`. */
  readonly head: Block
  readonly pending: Block | null
  readonly flashblockIndex: number
  readonly safeNumber: number
  readonly finalizedNumber: number
  /** Wei. */
  readonly nextBaseFee: bigint | null
  /** at the time of the copy */
  readonly nextHeader: Header
  /** What the next block writes before its first transaction of a user; nothing if a block is pending, which calls follow then. */
  readonly nextWrites: WriteSet
  /** Sealed blocks other than the head. */
  readonly blocks: readonly Block[]
  /** State version after a block, by block number; only for the scope's `states`. */
  readonly versions: ReadonlyMap<number, number>
  readonly hashes: ReadonlyMap<number, Hash>
}

const BLOCKHASH_RANGE = 256

/** Copies the parts in scope. Throws RewoundState when a block is gone, and StateNotInMemory for a block of pool transactions. */
export function toPartialView(view: View, scope: ViewScope): PartialView {
  const { head, pending } = view
  for (const block of scope.blocks) if (view.isPoolBlock(block)) throw new StateNotInMemory(block.header.number)
  const copy = (block: Block) => (scope.blocks.includes(block) ? withoutReceipts(block) : headerOnly(block))
  const sealedBlocks = new Set([...scope.states, ...scope.blocks].filter((block) => block !== head && block !== pending))
  return {
    version: view.version,
    firstNumber: view.firstNumber,
    head: copy(head),
    pending: pending === null ? null : copy(pending),
    flashblockIndex: view.flashblockIndex,
    safeNumber: view.safeNumber,
    finalizedNumber: view.finalizedNumber,
    nextBaseFee: view.nextBaseFee,
    nextHeader: trimBuffers(view.nextHeader),
    nextWrites: pending === null ? view.nextWrites : NO_WRITES,
    blocks: [...sealedBlocks].map(copy),
    versions: new Map(scope.states.map((block) => [block.header.number, view.stateVersion(block)])),
    hashes: hashesOf(view, scope),
  }
}

function hashesOf(view: View, { hashesBelow }: ViewScope): ReadonlyMap<number, Hash> {
  const hashes = new Map<number, Hash>()
  for (const below of hashesBelow) {
    for (let number = Math.max(0, below - BLOCKHASH_RANGE); number < below; number++) {
      const hash = localHash(view, number)
      if (hash === null) break
      if (hash !== undefined) hashes.set(number, hash)
    }
  }
  return hashes
}

/** Returns undefined for a hash of the forked chain that was not fetched: the thread requests it if a program reads it. */
function localHash(view: View, number: number): Hash | null | undefined {
  try {
    return view.blockHash(number)
  } catch (error) {
    if (error instanceof MissingState) return undefined
    throw error
  }
}

function headerOnly(block: Block): Block {
  return trimBuffers({ ...block, transactions: [], receipts: [], ommers: [] })
}

function withoutReceipts(block: Block): Block {
  return trimBuffers({ ...block, receipts: [] })
}

/**
 * Copies byte arrays that are part of a larger buffer: structured cloning would copy the whole buffer, for an imported transaction the
 * entire chain file.
 */
function trimBuffers<T>(value: T): T
function trimBuffers(value: unknown): unknown {
  if (value instanceof Uint8Array) return value.byteLength === value.buffer.byteLength ? value : value.slice()
  if (Array.isArray(value)) return value.map((item) => trimBuffers(item))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, trimBuffers(field)]))
}

/** Reads the blocks of a partial view. */
export class PartialBlockReader implements BlockReader {
  readonly firstBlock: number
  readonly #blocks: readonly Block[]

  constructor({ firstNumber, head, blocks }: PartialView) {
    this.firstBlock = firstNumber
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

  locationOf(transactionHash: Hash): TransactionLocation | null {
    const found = this.locate(transactionHash)
    return found === null ? null : { number: found.block.header.number, index: found.index }
  }

  gasPaymentsOf(number: number): readonly GasPayment[] {
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
    throw new Error('a partial view has no transactions of an address')
  }

  transactionsFrom(): never {
    return this.transactionsBefore()
  }

  bySenderAndNonce(): never {
    return this.transactionsBefore()
  }

  logs(): never {
    throw new Error('a partial view has no logs')
  }

  countLogs(): never {
    return this.logs()
  }

  logsJsonBytes(): never {
    return this.logs()
  }

  blockJsonBytes(): never {
    throw new Error('a partial view has no JSON of its blocks')
  }

  receiptsJsonBytes(): never {
    return this.blockJsonBytes()
  }

  transactionJsonBytes(): never {
    return this.blockJsonBytes()
  }

  receiptJsonBytes(): never {
    return this.blockJsonBytes()
  }
}
