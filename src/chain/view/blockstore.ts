import type { Address, Block, Hash, Header, Log, Receipt } from '../../eth/index.ts'
import type { StateReader, WriteSet } from '../../evm/index.ts'

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

/** Where a sealed transaction stands, without its block. */
export interface Place {
  readonly number: number
  readonly index: number
}

/** What a transaction paid for its gas. */
export type Payment = Pick<Receipt, 'type' | 'gasUsed' | 'effectiveGasPrice'>

/** Sealed blocks to read. Every call is synchronous. Whole blocks may have to be decoded: who needs less asks for less. */
export interface BlockReader {
  byNumber(number: number): Block | null
  byHash(hash: Hash): Block | null
  locate(transactionHash: Hash): Location | null
  /** without the block */
  numberOf(hash: Hash): number | null
  /** without the block */
  placeOf(transactionHash: Hash): Place | null
  /** without what is in the block */
  headerOf(number: number): Header | null
  /** in the order of the transactions, without anything else of them; of a block that is there */
  paymentsOf(number: number): readonly Payment[]
  /** without the block */
  hashOf(number: number): Hash | null
  /** seconds; without the block */
  timestampOf(number: number): number | null
  /**
   * Transactions in blocks below `block` that the address sent, received or was created by, newest first: found one by one, while the chain
   * stays as it is.
   */
  transactionsBefore(address: Address, block: number): Iterable<Place>
  /** The same in blocks from `block` on, oldest first. */
  transactionsFrom(address: Address, block: number): Iterable<Place>
  /** The transaction that an account sent with this nonce. Nonces rise: after a test has set one back, some are not found. */
  sentWith(sender: Address, nonce: bigint): Place | null
  /** Logs of the sealed blocks from…to (both included), in chain order. */
  logs(filter: LogFilter, from: number, to: number): Iterable<PlacedLog>
  /** How many of them there are, at most; nothing is read for it. */
  countLogs(filter: LogFilter, from: number, to: number): number

  // What JSON-RPC shows of them, as bytes of JSON. Of blocks that are there.

  /** The same logs, a list in chunks of which one is held at a time. Throws when blocks of the range are cut off meanwhile. */
  logsText(filter: LogFilter, from: number, to: number): Iterable<Uint8Array>
  /** `full`: its transactions as objects, else as hashes */
  blockText(number: number, full: boolean): Uint8Array
  receiptsText(number: number): Uint8Array
  transactionText(place: Place): Uint8Array
  receiptText(place: Place): Uint8Array
}

/**
 * Where sealed blocks rest. Declared here because sealing commits through it; implemented above, injected by the root.
 * Every call is synchronous. Changes are staged, and nobody reads them, until `flush` makes them durable all together, in this order: what is
 * cut off, the blocks, the edit, the journal.
 */
export interface BlockStore extends BlockReader {
  /** number of the newest block, -1 without any */
  readonly height: number
  /** the state that rests beside the blocks; null: none does */
  readonly kept: KeptState | null
  /** the journal that was found when the store was opened: what a chain had promised and not sealed when it ended */
  readonly promised: Uint8Array | null
  /** `block.header.number` is the next number. `writes` lead from the state before it, with its edits, to the state after; empty when no state is kept. */
  append(block: Block, writes: WriteSet): void
  /** Onto the state of the newest block, of which `stateRoot` is the root then. Empty `writes` say that root alone. */
  edit(writes: WriteSet, stateRoot: () => Hash): void
  /** What is promised from now on, in place of what was before; null: nothing. */
  promise(journal: Uint8Array | null): void
  /** Forgets all blocks above `number`, staged ones too, and all state since; -1: everything, so that the next block is number 0. */
  truncate(number: number): void
  /** What was staged is durable. When it throws, what was staged is gone and nothing has changed. */
  flush(): void
}

/** The state that a store keeps, at every block from the floor to the newest. */
export interface KeptState {
  /** oldest block whose state can be read */
  readonly floor: number
  /** of the newest block's state, with its edits. Throws when the store is empty. */
  readonly stateRoot: Hash
  /** The newest state in pieces, which make it when they are applied to nothing in this order. */
  whole(): Iterable<WriteSet>
  /** The state after a block and its edits. Throws PrunedState below the floor. Wrong once that block is cut off: the chain sees to that. */
  at(number: number): StateReader
  /** What makes the newest state that of `number` again, with the codes. Throws PrunedState below the floor. */
  writesBack(number: number): WriteSet
}
