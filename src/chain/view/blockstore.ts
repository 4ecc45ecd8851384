import type { Address, Block, Hash, Header, Log, Receipt } from '../../eth/index.ts'
import type { StateReader, WriteSet } from '../../evm/index.ts'

/** A transaction's block, and its index in the block. */
export interface LocatedTransaction {
  readonly block: Block
  readonly index: number
}

/** Accepted addresses, and accepted topics per position; `null` accepts anything. */
export interface LogFilter {
  readonly addresses: ReadonlySet<Address> | null
  readonly topics: readonly (ReadonlySet<Hash> | null)[]
}

/** A log with its block and indices. */
export interface LocatedLog {
  readonly log: Log
  readonly block: Block
  readonly transactionIndex: number
  /** Index within the block. */
  readonly logIndex: number
}

/** A sealed transaction's block number and index. */
export interface TransactionLocation {
  readonly number: number
  readonly index: number
}

/** Fields of a receipt that determine the fee paid for gas. */
export type GasPayment = Pick<Receipt, 'type' | 'gasUsed' | 'effectiveGasPrice'>

/** Sealed blocks, read synchronously. Methods that return whole blocks may have to decode them; the others do not. */
export interface BlockReader {
  /** Number of the chain's first block: 0, or the block that it is forked from. */
  readonly firstBlock: number
  byNumber(number: number): Block | null
  byHash(hash: Hash): Block | null
  locate(transactionHash: Hash): LocatedTransaction | null
  /** Does not decode the block. */
  numberOf(hash: Hash): number | null
  /** Does not decode the block. */
  locationOf(transactionHash: Hash): TransactionLocation | null
  /** Does not decode the block's contents. */
  headerOf(number: number): Header | null
  /** In transaction order. The block must exist. */
  gasPaymentsOf(number: number): readonly GasPayment[]
  /** Does not decode the block. */
  hashOf(number: number): Hash | null
  /** Seconds. Does not decode the block. */
  timestampOf(number: number): number | null
  /**
   * Yields the transactions below `block` that the address sent, received or was created by, newest first. Lazy; valid while the chain does
   * not change.
   */
  transactionsBefore(address: Address, block: number): Iterable<TransactionLocation>
  /** Yields the same from `block` on, oldest first. */
  transactionsFrom(address: Address, block: number): Iterable<TransactionLocation>
  /** Finds the transaction of `sender` with this nonce by binary search; may miss some after a test has lowered an account's nonce. */
  bySenderAndNonce(sender: Address, nonce: bigint): TransactionLocation | null
  /** Logs of the sealed blocks from…to, both included, in chain order. */
  logs(filter: LogFilter, from: number, to: number): Iterable<LocatedLog>
  /** Returns an upper bound of the number of matching logs, read from the index only. */
  countLogs(filter: LogFilter, from: number, to: number): number

  // JSON-RPC representations as UTF-8 JSON. The blocks must exist.

  /** Yields the logs as one JSON array in chunks, one at a time in memory. Throws if blocks of the range are removed meanwhile. */
  logsJsonBytes(filter: LogFilter, from: number, to: number): Iterable<Uint8Array>
  /** `full`: transactions as objects, else as hashes. */
  blockJsonBytes(number: number, full: boolean): Uint8Array
  receiptsJsonBytes(number: number): Uint8Array
  transactionJsonBytes(place: TransactionLocation): Uint8Array
  receiptJsonBytes(place: TransactionLocation): Uint8Array
}

/**
 * Port for storing sealed blocks, implemented by store/.
 * Every call is synchronous. Changes are staged and invisible until `flush` commits them atomically, in this order: truncation, blocks,
 * edit, open-block record.
 */
export interface BlockStore extends BlockReader {
  /** Number of the newest block, `firstBlock` - 1 for an empty store. */
  readonly height: number
  /** The state persisted with the blocks; `null` if the store keeps none. */
  readonly persistedState: PersistedState | null
  /** Record found when the store was opened: the promises that were not sealed when the chain was closed. */
  readonly openBlockRecord: Uint8Array | null
  /**
   * Stages the next block. `writes` lead from the state before it (edits included) to the state after it; empty if no state is persisted.
   */
  append(block: Block, writes: WriteSet): void
  /** Stages writes to the state after the newest block, whose root is then `stateRoot`. Empty `writes` store the root only. */
  edit(writes: WriteSet, stateRoot: () => Hash): void
  /** Stages the record of the open block's promises; `null` removes it. */
  putOpenBlockRecord(record: Uint8Array | null): void
  /** Stages the removal of all blocks above `number` and of all state since; `firstBlock` - 1 removes everything. */
  truncate(number: number): void
  /** Commits what was staged. When it throws, the staged changes are dropped and the store is unchanged. */
  flush(): void
}

/** The state that a store persists, at every block from the oldest to the newest. */
export interface PersistedState {
  /** Oldest block whose state can be read. */
  readonly oldestBlock: number
  /** Root of the newest block's state, edits included. Throws for an empty store. */
  readonly stateRoot: Hash
  /** Yields the newest state in chunks, to be applied in this order to an empty state. */
  dump(): Iterable<WriteSet>
  /** Returns the state after a block and its edits. Throws PrunedState below the oldest block. The caller must check for truncation. */
  at(number: number): StateReader
  /** Returns the writes, codes included, that turn the newest state into that of `number`. Throws PrunedState below the oldest block. */
  writesToRevertTo(number: number): WriteSet
}
