import { logsOfBlock } from '../../chain/index.ts'
import type { HeadEvent, RewindEvent } from '../../chain/index.ts'
import type { Block, Hash, Log } from '../../eth/index.ts'
import { blockJson, headerJson, logJson, receiptJson, transactionJson } from '../json.ts'
import type { Json } from '../json.ts'
import { EVERY_LOG } from './logfilter.ts'

/** Part of a block: its transactions from `first` on, up to but without `end`. */
export interface BlockRange {
  readonly block: Block
  readonly first: number
  readonly end: number
}

/** A log of a notification; its JSON is built at the first use. */
export interface AnnouncedLog {
  readonly log: Log
  readonly json: () => Json
}

/** The notifications of one head event. Each part is built once, at its first use. */
export interface HeadNotifications {
  /** the block that was sealed, or null */
  readonly sealed: Block | null
  readonly header: () => Json
  /** the pending block as a flashblock left it, or null when the event is none */
  readonly flashblock: () => Json | null
  readonly sealedLogs: () => readonly AnnouncedLog[]
  /** of sealed blocks that a rewind removed, oldest first like geth */
  readonly removedLogs: () => readonly AnnouncedLog[]
  /** of transactions that were not announced before */
  readonly freshLogs: () => readonly AnnouncedLog[]
  readonly freshHashes: () => readonly Hash[]
  readonly freshTransactions: () => readonly Json[]
  /** of announced transactions that no longer exist, with `removed: true`: the sealed ones, then the retracted ones */
  readonly goneTransactions: () => readonly Json[]
  /** of announced transactions that no longer exist: the sealed ones, then the retracted ones */
  readonly goneLogs: () => readonly AnnouncedLog[]
  /** one receipt of the sealed block */
  readonly receipt: (index: number) => Json
}

/** `fresh`: transactions that were not announced before. `retracted`: promised transactions that no longer exist. */
export function notificationsOf(event: HeadEvent, fresh: BlockRange | null, retracted: BlockRange | null): HeadNotifications {
  const sealed = event.kind === 'block' && event.sealed ? event.block : null
  const removedLogs = lazy(() => (event.kind === 'rewind' ? oldestFirst(event).flatMap((block) => announced(fullRange(block), true)) : []))
  const receipts = new Map<number, Json>()
  return {
    sealed,
    header: lazy(() => (sealed === null ? {} : headerJson(sealed))),
    flashblock: lazy(() => (event.kind === 'block' && !event.sealed ? blockJson(event.block, true) : null)),
    sealedLogs: lazy(() => announced(sealed === null ? null : fullRange(sealed), false)),
    removedLogs,
    freshLogs: lazy(() => announced(fresh, false)),
    freshHashes: lazy(() => indices(fresh).flatMap((index) => fresh?.block.transactions[index]?.hash ?? [])),
    freshTransactions: lazy(() => (fresh === null ? [] : indices(fresh).map((index) => executedJson(fresh.block, index)))),
    goneTransactions: lazy(() => {
      const removed = event.kind === 'rewind' ? oldestFirst(event).map(fullRange) : []
      return [...removed, ...(retracted === null ? [] : [retracted])].flatMap((range) =>
        indices(range).map((index) => ({ ...executedJson(range.block, index, true), removed: true })),
      )
    }),
    goneLogs: lazy(() => [...removedLogs(), ...announced(retracted, true)]),
    receipt: (index) => {
      const known = receipts.get(index) ?? (sealed === null ? {} : receiptJson({ block: sealed, index }))
      receipts.set(index, known)
      return known
    },
  }
}

export function fullRange(block: Block): BlockRange {
  return { block, first: 0, end: block.transactions.length }
}

function announced(range: BlockRange | null, removed: boolean): readonly AnnouncedLog[] {
  if (range === null) return []
  const logs: AnnouncedLog[] = []
  for (const placed of logsOfBlock(range.block, EVERY_LOG, range.first)) {
    if (placed.transactionIndex >= range.end) break
    logs.push({ log: placed.log, json: lazy(() => logJson(placed, removed)) })
  }
  return logs
}

/** A transaction with the fields of its receipt. */
function executedJson(block: Block, index: number, isRemoved = false): Json {
  const tx = block.transactions[index]
  if (tx === undefined) throw new Error(`block ${block.header.number} has no transaction ${index}`)
  const { status, logs, gasUsed, cumulativeGasUsed, contractAddress, logsBloom } = receiptJson({ block, index })
  return {
    ...transactionJson(tx, { block, index }),
    status,
    logs: isRemoved ? marked(logs) : logs,
    gasUsed,
    cumulativeGasUsed,
    contractAddress,
    logsBloom,
  }
}

function marked(logs: unknown): unknown {
  return Array.isArray(logs) ? logs.map((log: object) => ({ ...log, removed: true })) : logs
}

function oldestFirst({ removed }: RewindEvent): readonly Block[] {
  return [...removed].reverse()
}

function indices(range: BlockRange | null): readonly number[] {
  return range === null ? [] : Array.from({ length: range.end - range.first }, (_, i) => range.first + i)
}

function lazy<T>(build: () => T): () => T {
  let built: { readonly value: T } | null = null
  return () => (built ??= { value: build() }).value
}
