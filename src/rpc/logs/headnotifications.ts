import { logsOfBlock } from '../../chain/index.ts'
import type { Block, Log } from '../../eth/index.ts'
import { blockJson, headerJson, logJson, receiptJson, transactionJson } from '../json.ts'
import type { Json } from '../json.ts'
import type { FeedEvent, Segment } from './feedevent.ts'
import { EVERY_LOG } from './logfilter.ts'

/** One notification about a segment; its JSON is built at the first use. */
export interface Item {
  readonly segment: Segment
  /** index of the log or transaction in the block */
  readonly index: number
  readonly json: () => unknown
}

export interface LogItem extends Item {
  readonly log: Log
}

/** The notifications of one head event. Each part is built once, at its first use. */
export interface HeadNotifications {
  /** the block that was sealed, or null */
  readonly sealed: Block | null
  readonly header: () => Json
  /** the pending block as a flashblock left it, or null when the event is none */
  readonly flashblock: () => Json | null
  readonly sealedLogs: () => readonly LogItem[]
  /** logs of sealed blocks that a rewind removed, oldest first as in geth */
  readonly removedLogs: () => readonly LogItem[]
  /** removed ones with `removed: true`, then new ones */
  readonly pendingLogs: () => readonly LogItem[]
  readonly freshHashes: () => readonly Item[]
  /** removed ones with `removed: true`, then new ones */
  readonly transactions: () => readonly Item[]
  /** one receipt of the sealed block */
  readonly receipt: (index: number) => Json
}

export function notificationsOf({ sealed, pending, gone, fresh }: FeedEvent): HeadNotifications {
  const receipts = new Map<number, Json>()
  const removedLogs = lazy(() => gone.filter(({ blockHash }) => blockHash !== null).flatMap(logsOf))
  const segments = fresh === null ? [] : [fresh]
  return {
    sealed,
    header: lazy(() => (sealed === null ? {} : headerJson(sealed))),
    flashblock: lazy(() => (pending === null ? null : blockJson(pending, true))),
    sealedLogs: lazy(() => (sealed === null ? [] : logsOf(sealedSegment(sealed)))),
    removedLogs,
    pendingLogs: lazy(() => [...removedLogs(), ...[...gone.filter(({ blockHash }) => blockHash === null), ...segments].flatMap(logsOf)]),
    freshHashes: lazy(() => segments.flatMap(hashesOf)),
    transactions: lazy(() => [...gone, ...segments].flatMap(transactionsOf)),
    receipt: (index) => {
      const known = receipts.get(index) ?? (sealed === null ? {} : receiptJson({ block: sealed, index }))
      receipts.set(index, known)
      return known
    },
  }
}

export function logsOf(segment: Segment): LogItem[] {
  const { block, first, end, removed } = segment
  const logs: LogItem[] = []
  for (const placed of logsOfBlock(block, EVERY_LOG, first)) {
    if (placed.transactionIndex >= end) break
    logs.push({ segment, index: placed.logIndex, log: placed.log, json: lazy(() => logJson(placed, removed)) })
  }
  return logs
}

/** Removed ones with `removed: true`. */
export function transactionsOf(segment: Segment): Item[] {
  return indices(segment).map((index) => ({ segment, index, json: lazy(() => executedJson(segment, index)) }))
}

/** A removed segment has none: a hash cannot carry the mark `removed`. */
export function hashesOf(segment: Segment): Item[] {
  if (segment.removed) return []
  return segment.block.transactions
    .slice(segment.first, segment.end)
    .map(({ hash }, i) => ({ segment, index: segment.first + i, json: () => hash }))
}

function sealedSegment(block: Block): Segment {
  const end = block.transactions.length
  return { block, first: 0, end, removed: false, payloadId: null, blockHash: block.hash, isReplacement: false }
}

/** A transaction with the fields of its receipt. */
function executedJson({ block, removed }: Segment, index: number): Json {
  const tx = block.transactions[index]
  if (tx === undefined) throw new Error(`block ${block.header.number} has no transaction ${index}`)
  const { status, logs, gasUsed, cumulativeGasUsed, contractAddress, logsBloom } = receiptJson({ block, index })
  return {
    ...transactionJson(tx, { block, index }),
    status,
    logs: removed ? marked(logs) : logs,
    gasUsed,
    cumulativeGasUsed,
    contractAddress,
    logsBloom,
    ...(removed ? { removed } : {}),
  }
}

function marked(logs: unknown): unknown {
  return Array.isArray(logs) ? logs.map((log: object) => ({ ...log, removed: true })) : logs
}

function indices({ first, end }: Segment): readonly number[] {
  return Array.from({ length: end - first }, (_, i) => first + i)
}

function lazy<T>(build: () => T): () => T {
  let built: { readonly value: T } | null = null
  return () => (built ??= { value: build() }).value
}
