import type { DurationSummary } from './durations.ts'
import type { Reorg } from './heads.ts'
import type { AuditedPromise, AuditOutcome, BreakCause } from './promises.ts'
import type { Problem } from './problems.ts'

/** `flashblocks`: the stream. `heads`: nothing is promised before the seal. */
export type FeedKind = 'flashblocks' | 'newFlashblocks' | 'newFlashblockTransactions' | 'pendingLogs' | 'heads'

/** A time without connection. */
export interface Gap {
  readonly source: 'promises' | 'heads'
  readonly fromMs: number
  /** `null`: until the end */
  readonly toMs: number | null
  readonly reason: string
}

/** The result of an audit: plain values, the content of `--json`. Times are milliseconds since the epoch, durations milliseconds. */
export interface AuditReport {
  readonly endpoint: {
    /** URL without path and query, which may contain access keys */
    readonly rpc: string
    readonly promises: string | null
    readonly chainId: number
    /** untrusted text */
    readonly client: string
  }
  readonly feed: {
    readonly kind: FeedKind
    readonly sentence: string
    /** what this feed cannot show */
    readonly limits: readonly string[]
  }
  readonly startedMs: number
  readonly endedMs: number
  /** the blocks that the feed of promises covered; `null` without promises */
  readonly blocks: { readonly first: number; readonly last: number } | null
  readonly totals: Readonly<Record<AuditOutcome, number>>
  readonly causes: Readonly<Record<BreakCause, number>>
  /** transactions of blocks that were announced together with their seal */
  readonly atOnce: number
  /** counted from the feed of the pool; `null` if the endpoint has no such feed */
  readonly pool: {
    /** left the pool without a promise */
    readonly dropped: number
    readonly waiting: number
  } | null
  readonly durations: {
    readonly seenToPromise: DurationSummary
    readonly promiseToSeal: DurationSummary
    readonly betweenHeads: DurationSummary
  }
  readonly heads: { readonly count: number; readonly reorgCount: number; readonly reorgs: readonly Reorg[] }
  /** promises that were changed, retracted or not observed, oldest first; the list is limited, the totals are not */
  readonly broken: readonly AuditedPromise[]
  readonly gaps: { readonly count: number; readonly totalMs: number; readonly list: readonly Gap[] }
  readonly problems: readonly Problem[]
}
