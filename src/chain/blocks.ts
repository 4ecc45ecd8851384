import type { Address, Block, Hash, Log } from '../eth/index.ts'

/** Where a transaction stands. */
export interface Location {
  readonly block: Block
  readonly index: number
}

/** Positions hold the accepted values; null or empty accepts anything. */
export interface LogFilter {
  readonly addresses: ReadonlySet<Address> | null
  readonly topics: readonly (ReadonlySet<Hash> | null)[]
}

/** A log with its place. */
export interface PlacedLog {
  readonly log: Log
  readonly block: Block
  readonly transactionIndex: number
  /** counted over the block */
  readonly logIndex: number
}

/**
 * Where sealed blocks rest. Declared here because sealing commits through it; implemented above, injected by the root.
 * Every call is synchronous and complete when it returns.
 */
export interface BlockStore {
  /** `block.header.number` is the next number */
  append(block: Block): void
  /** Forgets all blocks above `number`; answers them newest first. */
  truncate(number: number): readonly Block[]
  byNumber(number: number): Block | null
  byHash(hash: Hash): Block | null
  locate(transactionHash: Hash): Location | null
  /** Logs of the sealed blocks from…to (both included), in chain order. */
  logs(filter: LogFilter, from: number, to: number): Iterable<PlacedLog>
}
