import { logsOfBlock } from '../chain/index.ts'
import type { HeadEvent, RewindEvent } from '../chain/index.ts'
import type { Block, Hash, Log } from '../eth/index.ts'
import { blockJson, headerJson, logJson, receiptJson, transactionJson } from './json.ts'
import type { Json } from './json.ts'
import { EVERY_LOG } from './logfilter.ts'

/** Part of a block: its transactions from `first` on, up to but without `end`. */
export interface Stretch {
  readonly block: Block
  readonly first: number
  readonly end: number
}

/** A log, and how it is told; its JSON is built when somebody wants it. */
export interface ToldLog {
  readonly log: Log
  readonly json: () => Json
}

/** What one head event means for subscribers. Everything is built once, when the first of them asks. */
export interface News {
  /** the block that was sealed, or null */
  readonly sealed: Block | null
  readonly header: () => Json
  /** the pending block as a flashblock left it, or null when the event is none */
  readonly flashblock: () => Json | null
  readonly sealedLogs: () => readonly ToldLog[]
  /** of sealed blocks that a rewind took away, oldest first as geth tells them */
  readonly removedLogs: () => readonly ToldLog[]
  /** of transactions that nobody was told of yet */
  readonly freshLogs: () => readonly ToldLog[]
  readonly freshHashes: () => readonly Hash[]
  readonly freshTransactions: () => readonly Json[]
  /** of transactions that were told and are gone: the sealed ones, then the retracted ones */
  readonly goneLogs: () => readonly ToldLog[]
  /** one receipt of the sealed block */
  readonly receipt: (index: number) => Json
}

/** `fresh`: transactions that nobody was told of. `retracted`: promised ones that are gone. */
export function newsOf(event: HeadEvent, fresh: Stretch | null, retracted: Stretch | null): News {
  const sealed = event.kind === 'block' && event.sealed ? event.block : null
  const removedLogs = lazy(() => (event.kind === 'rewind' ? oldestFirst(event).flatMap((block) => told(whole(block), true)) : []))
  const receipts = new Map<number, Json>()
  return {
    sealed,
    header: lazy(() => (sealed === null ? {} : headerJson(sealed))),
    flashblock: lazy(() => (event.kind === 'block' && !event.sealed ? blockJson(event.block, true) : null)),
    sealedLogs: lazy(() => told(sealed === null ? null : whole(sealed), false)),
    removedLogs,
    freshLogs: lazy(() => told(fresh, false)),
    freshHashes: lazy(() => indices(fresh).flatMap((index) => fresh?.block.transactions[index]?.hash ?? [])),
    freshTransactions: lazy(() => (fresh === null ? [] : indices(fresh).map((index) => executedJson(fresh.block, index)))),
    goneLogs: lazy(() => [...removedLogs(), ...told(retracted, true)]),
    receipt: (index) => {
      const known = receipts.get(index) ?? (sealed === null ? {} : receiptJson({ block: sealed, index }))
      receipts.set(index, known)
      return known
    },
  }
}

export function whole(block: Block): Stretch {
  return { block, first: 0, end: block.transactions.length }
}

function told(stretch: Stretch | null, removed: boolean): readonly ToldLog[] {
  if (stretch === null) return []
  const logs: ToldLog[] = []
  for (const placed of logsOfBlock(stretch.block, EVERY_LOG, stretch.first)) {
    if (placed.transactionIndex >= stretch.end) break
    logs.push({ log: placed.log, json: lazy(() => logJson(placed, removed)) })
  }
  return logs
}

/** A transaction with what its receipt says. */
function executedJson(block: Block, index: number): Json {
  const tx = block.transactions[index]
  if (tx === undefined) throw new Error(`block ${block.header.number} has no transaction ${index}`)
  const { status, logs, gasUsed, cumulativeGasUsed, contractAddress, logsBloom } = receiptJson({ block, index })
  return { ...transactionJson(tx, { block, index }), status, logs, gasUsed, cumulativeGasUsed, contractAddress, logsBloom }
}

function oldestFirst({ removed }: RewindEvent): readonly Block[] {
  return [...removed].reverse()
}

function indices(stretch: Stretch | null): readonly number[] {
  return stretch === null ? [] : Array.from({ length: stretch.end - stretch.first }, (_, i) => stretch.first + i)
}

function lazy<T>(build: () => T): () => T {
  let built: { readonly value: T } | null = null
  return () => (built ??= { value: build() }).value
}
