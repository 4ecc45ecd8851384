import type { CadenceKind, HeadEvent } from '../chain/index.ts'
import type { Block, Transaction } from '../eth/index.ts'
import type { Paint } from './terminal.ts'

/** What happened on the chain, for one line of output. */
export interface Entry {
  readonly event: 'flashblock' | 'block' | 'rewind'
  readonly block: number
  /** of a flashblock */
  readonly index?: number
  readonly hash?: string
  /** hashes of the users' transactions that are new in it */
  readonly transactions?: readonly string[]
  readonly gasUsed?: string
  /** blocks that are gone */
  readonly removed?: number
}

/**
 * Turns head events into entries: one for each flashblock or block that brings transactions of users, one for each rewind, and
 * with `everyBlock` one for each sealed block. A transaction is named once, where it was first promised.
 */
export class Journal {
  readonly #everyBlock: boolean
  #number = -1
  #shown = 0

  constructor(everyBlock: boolean) {
    this.#everyBlock = everyBlock
  }

  /** Null: nothing to say. Where blocks come at once or when told, flashblocks are no news: the sealed block is. */
  entry(event: HeadEvent, cadence: CadenceKind): Entry | null {
    if (event.kind === 'edit') return null
    if (event.kind === 'block' && !event.sealed && cadence !== 'preconf') return null
    if (event.kind === 'rewind') return this.#rewind(event.view.head.header.number, event.removed.length, event.retracted)
    const { block } = event
    const fresh = this.#fresh(block)
    if (fresh.length === 0 && !(event.sealed && this.#everyBlock)) return null
    const gasUsed = fresh.reduce((sum, index) => sum + (block.receipts[index]?.gasUsed ?? 0n), 0n)
    const transactions = fresh.map((index) => block.transactions[index]!.hash)
    const shared = { block: block.header.number, transactions, gasUsed: String(gasUsed) }
    return event.sealed
      ? { event: 'block', ...shared, hash: block.hash }
      : { event: 'flashblock', ...shared, index: event.flashblock.index }
  }

  /** Where in the block the users' transactions stand that were not yet spoken of. */
  #fresh(block: Block): readonly number[] {
    if (block.header.number !== this.#number) {
      this.#number = block.header.number
      this.#shown = 0
    }
    const fresh = [...block.transactions.keys()].slice(this.#shown).filter((index) => isUsers(block.transactions[index]!))
    this.#shown = block.transactions.length
    return fresh
  }

  #rewind(head: number, removed: number, retracted: Block | null): Entry | null {
    this.#number = -1
    if (removed === 0 && retracted?.transactions.some(isUsers) !== true) return null
    return { event: 'rewind', block: head, removed }
  }
}

/** Deposits are the chain's own. */
function isUsers(tx: Transaction): boolean {
  return tx.deposit === null
}

/** One line for people. */
export function lineOf(entry: Entry, time: string, paint: Paint): string {
  return `${paint.dim(time)}  ${TEXTS[entry.event](entry, paint)}`
}

const TEXTS: Readonly<Record<Entry['event'], (entry: Entry, paint: Paint) => string>> = {
  flashblock: (entry, paint) => `${paint.good(`flashblock ${entry.block}.${entry.index}`)}  ${contents(entry)}`,
  block: (entry, paint) => `${paint.strong(`block ${entry.block}`)}  ${contents(entry)}  ${paint.dim(entry.hash ?? '')}`,
  rewind: (entry, paint) => paint.bad(`back to block ${entry.block}, ${entry.removed} removed`),
}

function contents({ transactions = [], gasUsed = '0' }: Entry): string {
  const gas = `${Number(gasUsed).toLocaleString('en-US')} gas`
  if (transactions.length === 0) return `no transactions, ${gas}`
  const more = transactions.length > SHOWN ? ` and ${transactions.length - SHOWN} more` : ''
  return `${transactions.length} tx, ${gas}  ${transactions.slice(0, SHOWN).join(' ')}${more}`
}

/** hashes on one line */
const SHOWN = 2
