import type { Address, Hash } from '../../eth/index.ts'
import type { RewindCause } from '../view/head.ts'

/**
 * `kept`: sealed exactly as promised. `changed`: sealed in the promised block, with differences. `retracted`: announced as removed, also after it was sealed.
 * `dropped`: left the pool without a promise.
 */
export type PromiseOutcome = 'open' | 'kept' | 'changed' | 'retracted' | 'dropped'

/** `dropped`: by a request or a limit of the pool. `replaced`: another transaction has used the nonce. `crash`: the node ended before it could seal. */
export type PromiseCause = RewindCause | 'dropped' | 'replaced' | 'crash'

/** One promise: a transaction in the flashblocks of one block, and what became of it. Times are milliseconds of the chain's clock. */
export interface PromiseRecord {
  /** Ascending, from 0; later promises of the same transaction have records of their own. */
  readonly id: number
  readonly hash: Hash
  readonly from: Address | null
  /** `null`: it was never promised. */
  readonly blockNumber: number | null
  /** Of the first promise; `null` if it was never promised, or promised before a restart. */
  readonly flashblockIndex: number | null
  /** When it entered the pool; `null` if it did not, or before a restart. */
  readonly admittedMs: number | null
  readonly promisedMs: number | null
  readonly settledMs: number | null
  readonly outcome: PromiseOutcome
  readonly cause: PromiseCause | null
  /** The fields of the receipt that differ from the promised one. */
  readonly differences: readonly string[]
}

/**
 * What became of a transaction. One that was sealed without a promise, as under each cadence but `preconf`, is `kept`; the ledger has no record of it, so that
 * `id`, the flashblock and all times are `null`.
 */
export interface SettledRecord extends Omit<PromiseRecord, 'id'> {
  readonly id: number | null
}
