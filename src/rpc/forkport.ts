import type { Hash } from '../eth/index.ts'

/** Upstream and fork block of a chain, and the counters of its requests. */
export interface ForkStatus {
  /** scheme and host only: path, query and credentials may hold a key */
  readonly url: string
  /** upstream's */
  readonly chainId: number
  readonly blockNumber: number
  readonly blockHash: Hash
  /** the pause after a failed request, milliseconds */
  readonly retryBackoffMs: number
  /** HTTP requests to upstream */
  readonly requests: number
  /** accounts, slots and block hashes that were fetched */
  readonly keys: number
  /** accounts and slots that were read from the cache on disk */
  readonly cacheHits: number
  readonly retries: number
  /** refusals of upstream for too many requests */
  readonly rateLimits: number
}

/** The fork of a node. */
export interface ForkPort {
  readonly isFork: boolean
  /** null: the chain is not a fork */
  readonly status: ForkStatus | null
  /** Returns upstream's result unchanged. Rejects with RpcError. */
  readonly forward: (method: string, params: readonly unknown[]) => Promise<unknown>
  /** Reads from another endpoint of the same chain. Rejects with UpstreamError, and with Error without a fork. */
  readonly setUrl: (url: string) => Promise<void>
  /**
   * Makes the chain a fork of another block, or of another chain, under its own chain id; null: a chain that is not a fork. Pool, snapshots
   * and user operations are dropped. Rejects with UpstreamError and RpcError; nothing is changed then.
   */
  readonly restart: (target: ForkTarget | null) => Promise<void>
}

/** A block to fork. */
export interface ForkTarget {
  /** null: the current endpoints */
  readonly url: string | null
  /** null: a few blocks below the head of upstream */
  readonly blockNumber: number | null
}
