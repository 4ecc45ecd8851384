import type { CadenceKind, HeadEvent } from '../../chain/index.ts'
import type { Block, Transaction } from '../../eth/index.ts'
import { type Paint, grouped } from '../terminal.ts'

/** An event of the chain, for one line of output. */
export interface LogEntry {
  readonly event: 'flashblock' | 'block' | 'rewind'
  readonly block: number
  /** index of the flashblock in its block */
  readonly index?: number
  readonly hash?: string
  /** hashes of its new transactions of users */
  readonly transactions?: readonly string[]
  readonly gasUsed?: string
  /** number of removed blocks */
  readonly removed?: number
}

/**
 * Turns head events into log entries: one for each flashblock or block with new transactions of users, one for each rewind, and
 * with `everyBlock` one for each sealed block. A transaction is listed once, in the flashblock or block that first contains it.
 */
export class EventLog {
  readonly #everyBlock: boolean
  #number = -1
  /** transactions of block `#number` in earlier entries */
  #logged = 0

  constructor(everyBlock: boolean) {
    this.#everyBlock = everyBlock
  }

  /** Returns null if the event has no entry. Flashblocks have entries under preconf only: elsewhere they coincide with sealed blocks. */
  entry(event: HeadEvent, cadence: CadenceKind): LogEntry | null {
    if (event.kind === 'edit') return null
    if (event.kind === 'block' && !event.sealed && cadence !== 'preconf') return null
    if (event.kind === 'rewind') return this.#rewind(event.view.head.header.number, event.removed.length, event.retracted)
    const { block } = event
    const added = this.#newTransactions(block)
    if (added.length === 0 && !(event.sealed && this.#everyBlock)) return null
    const gasUsed = added.reduce((sum, index) => sum + (block.receipts[index]?.gasUsed ?? 0n), 0n)
    const transactions = added.map((index) => block.transactions[index]!.hash)
    const common = { block: block.header.number, transactions, gasUsed: String(gasUsed) }
    return event.sealed
      ? { event: 'block', ...common, hash: block.hash }
      : { event: 'flashblock', ...common, index: event.flashblock.index }
  }

  /** Returns the indices of the transactions of users that are in no earlier entry. */
  #newTransactions(block: Block): readonly number[] {
    if (block.header.number !== this.#number) {
      this.#number = block.header.number
      this.#logged = 0
    }
    const added = [...block.transactions.keys()].slice(this.#logged).filter((index) => isFromUser(block.transactions[index]!))
    this.#logged = block.transactions.length
    return added
  }

  #rewind(head: number, removed: number, retracted: Block | null): LogEntry | null {
    this.#number = -1
    if (removed === 0 && retracted?.transactions.some(isFromUser) !== true) return null
    return { event: 'rewind', block: head, removed }
  }
}

/** Deposits are created by the chain itself. */
function isFromUser(tx: Transaction): boolean {
  return tx.deposit === null
}

/** Formats an entry as one line of text. */
export function formatEntry(entry: LogEntry, time: string, paint: Paint): string {
  return `${paint.dim(time)}  ${TEXTS[entry.event](entry, paint)}`
}

const TEXTS: Readonly<Record<LogEntry['event'], (entry: LogEntry, paint: Paint) => string>> = {
  flashblock: (entry, paint) => `${paint.good(`flashblock ${entry.block}.${entry.index}`)}  ${contents(entry)}`,
  block: (entry, paint) => `${paint.strong(`block ${entry.block}`)}  ${contents(entry)}  ${paint.dim(entry.hash ?? '')}`,
  rewind: (entry, paint) => paint.bad(`rewind to block ${entry.block}, ${entry.removed} removed`),
}

function contents({ transactions = [], gasUsed = '0' }: LogEntry): string {
  const gas = `${grouped(BigInt(gasUsed))} gas`
  if (transactions.length === 0) return `no transactions, ${gas}`
  const more = transactions.length > MAX_HASHES ? ` and ${transactions.length - MAX_HASHES} more` : ''
  return `${transactions.length} tx, ${gas}  ${transactions.slice(0, MAX_HASHES).join(' ')}${more}`
}

/** Transaction hashes in one line. */
const MAX_HASHES = 2
