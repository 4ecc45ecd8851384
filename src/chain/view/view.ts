import type { Address, Block, BlockTag, Hash, Header } from '../../eth/index.ts'
import { NO_WRITES, StateOverlay, rulesAt } from '../../evm/index.ts'
import type { BlockContext, ChainConfig, StateReader, WriteSet } from '../../evm/index.ts'
import type {
  BlockReader,
  PersistedState,
  LocatedTransaction,
  LogFilter,
  GasPayment,
  TransactionLocation,
  LocatedLog,
} from './blockstore.ts'
import { toBlockEnv } from './environment.ts'
import { PersistedStateReader } from '../state/persistedreader.ts'
import { logsOfBlock } from './logs.ts'
import { NextState } from './nextblock.ts'
import type { NextBlock } from './nextblock.ts'
import type { PoolBlock } from './poolblock.ts'
import { mergeWrites } from '../state/writesetbuilder.ts'
import type { AccountProof } from '../state/proof.ts'
import type { MissingKey } from '../state/basestate.ts'
import { PrunedState, RewoundState } from '../state/history.ts'
import type { Roots, StateHistory } from '../state/history.ts'

/** Contents of a View. */
interface ViewParts {
  readonly version: number
  readonly config: ChainConfig
  readonly head: Block
  readonly pending: Block | null
  /** Index of the newest flashblock of `pending`, -1 without one. */
  readonly flashblockIndex: number
  readonly safeNumber: number
  readonly finalizedNumber: number
  readonly blocks: BlockReader
  /** Hash of a sealed block. */
  readonly blockHash: (blockNumber: number) => Hash | null
  readonly history: StateHistory
  readonly headVersion: number
  /** State version after `pending`, or after `head` without a pending block. */
  readonly pendingVersion: number
  /** Wei; the base fee set for the block after `head`, else `null`. */
  readonly nextBaseFee: bigint | null
  /** State version after a sealed block; `null` if it is not in memory. */
  readonly versionAfter: (blockNumber: number) => number | null
  /** Persisted state, also of blocks whose state memory has pruned. */
  readonly persistedState: PersistedState | null
  /** True once sealed blocks of this View may have been removed. */
  readonly isRewound: () => boolean
  /** False once `headVersion` is gone or names another state. */
  readonly isHeadVersionLive: () => boolean
  /** True once the state after `head` was edited. */
  readonly isHeadEdited: () => boolean
  /** True once a sealed block of this View, or the state after it, may differ in `persistedState`. */
  readonly isTruncated: (blockNumber: number) => boolean
  /** True once `pending` was retracted. */
  readonly isRetracted: () => boolean
  /** The block of unpromised pool transactions, if this View is the current one. */
  readonly poolBlockOn: (view: View) => PoolBlock | null
  readonly nextBlockAfter: (head: Block) => NextBlock
}

/**
 * The chain at one moment; immutable. A request takes `head.view` once and uses it throughout: a transaction, its receipt, logs, nonce and
 * balance are all in the same View or all absent.
 */
export class View {
  readonly #parts: ViewParts
  /** Cached: consecutive calls run in the same block, and the engine reuses a context that is the same object. */
  #lastContext: { readonly block: Block; readonly context: BlockContext } | null = null
  #lastNext: { readonly block: NextBlock; readonly context: BlockContext; state: StateReader | null } | null = null
  /** Pool blocks that this View returned, if any: a request may read one after the pool has changed. */
  #poolBlocks: WeakMap<Block, { readonly writes: WriteSet; readonly state: StateReader }> | null = null

  constructor(parts: ViewParts) {
    this.#parts = parts
  }

  /** Returns the View of the same sealed blocks. */
  withoutPending(): View {
    const parts = this.#parts
    return new View({ ...parts, version: parts.version + 1, pending: null, flashblockIndex: -1, pendingVersion: parts.headVersion })
  }

  /** Counts head events. */
  get version(): number {
    return this.#parts.version
  }

  get config(): ChainConfig {
    return this.#parts.config
  }

  /** The last sealed block. */
  get head(): Block {
    return this.#parts.head
  }

  /** Number of the first block: 0, or the block that the chain is forked from. */
  get firstNumber(): number {
    return this.#parts.blocks.firstBlock
  }

  /** Number of the block that the chain is forked from, or `null`. That block and older ones are read from upstream, its state is not. */
  get forkNumber(): number | null {
    return this.#parts.history.base === null ? null : this.firstNumber
  }

  /** Returns the keys of the fork block's state that `work` reads and that are not local. `work` must only read. */
  missingKeysOf(work: () => unknown): readonly MissingKey[] {
    return this.#parts.history.missingKeysOf(work)
  }

  /** The block under construction, with 32 zero bytes as hash; `null` without one. */
  get pending(): Block | null {
    return this.#parts.pending
  }

  /** Wei; the base fee set for the block after the head, or `null` for the EIP-1559 value. */
  get nextBaseFee(): bigint | null {
    return this.#parts.nextBaseFee
  }

  get flashblockIndex(): number {
    return this.#parts.flashblockIndex
  }

  get safeNumber(): number {
    return this.#parts.safeNumber
  }

  get finalizedNumber(): number {
    return this.#parts.finalizedNumber
  }

  /** Returns the block of a tag. Without a flashblock `pending` is `latest`. */
  byTag(tag: BlockTag): Block {
    return TAGS[tag](this.#parts)
  }

  /**
   * Returns the block under construction; without one, the block that the pool's executable transactions would make; without any, the head. Throws MissingState.
   */
  get pendingWithPool(): Block {
    const { pending, head, poolBlockOn } = this.#parts
    if (pending !== null) return pending
    const poolBlock = poolBlockOn(this)
    if (poolBlock === null) return head
    const { block, writes } = poolBlock
    const poolBlocks = (this.#poolBlocks ??= new WeakMap())
    if (!poolBlocks.has(block)) poolBlocks.set(block, { writes, state: new PoolState(this.state(head), writes) })
    return block
  }

  /** True for a block of pool transactions that `pendingWithPool` returned. */
  isPoolBlock(block: Block): boolean {
    return this.#poolBlocks?.has(block) === true
  }

  /** Returns a sealed block or `null`; also `null` for the pending block's number. */
  byNumber(number: number): Block | null {
    const { head, blocks } = this.#parts
    if (number === head.header.number) return head
    return number < head.header.number ? blocks.byNumber(number) : null
  }

  /** Returns a sealed block's number or `null`, without decoding it. */
  numberOf(hash: Hash): number | null {
    const number = this.#parts.blocks.numberOf(hash)
    return number !== null && number <= this.#parts.head.header.number ? number : null
  }

  /** Returns a sealed transaction's location or `null`, without decoding its block. */
  locationOf(transactionHash: Hash): TransactionLocation | null {
    const place = this.#parts.blocks.locationOf(transactionHash)
    return place !== null && place.number <= this.#parts.head.header.number ? place : null
  }

  /** Returns a sealed block's header or `null`, without decoding its contents. */
  headerOf(number: number): Header | null {
    const { head, blocks } = this.#parts
    if (number === head.header.number) return head.header
    return number < head.header.number ? blocks.headerOf(number) : null
  }

  /**
   * Yields the sealed transactions below `block` that the address sent, received or was created by, newest first. Lazy; consume it
   * synchronously.
   */
  transactionsBefore(address: Address, block: number): Iterable<TransactionLocation> {
    return this.#parts.blocks.transactionsBefore(address, Math.min(block, this.#parts.head.header.number + 1))
  }

  /** Yields the same from `block` on, oldest first. */
  *transactionsFrom(address: Address, block: number): Iterable<TransactionLocation> {
    for (const place of this.#parts.blocks.transactionsFrom(address, block)) {
      if (place.number > this.#parts.head.header.number) return
      yield place
    }
  }

  /** Returns the sealed transaction of `sender` with this nonce, or `null`. May miss some after a test has lowered the nonce. */
  bySenderAndNonce(sender: Address, nonce: bigint): TransactionLocation | null {
    const place = this.#parts.blocks.bySenderAndNonce(sender, nonce)
    return place !== null && place.number <= this.#parts.head.header.number ? place : null
  }

  gasPaymentsOf(number: number): readonly GasPayment[] {
    return this.#parts.blocks.gasPaymentsOf(number)
  }

  /** Returns a sealed block's timestamp in seconds, without decoding the block. */
  timestampOf(number: number): number | null {
    return number <= this.#parts.head.header.number ? this.#parts.blocks.timestampOf(number) : null
  }

  /** Returns a sealed block's hash or `null`; used for BLOCKHASH. */
  blockHash(number: number): Hash | null {
    return number <= this.#parts.head.header.number ? this.#parts.blockHash(number) : null
  }

  byHash(hash: Hash): Block | null {
    if (hash === this.#parts.head.hash) return this.#parts.head
    const block = this.#parts.blocks.byHash(hash)
    return block !== null && block.header.number <= this.#parts.head.header.number ? block : null
  }

  /** Finds a sealed transaction first, then a pre-confirmed one. */
  locate(transactionHash: Hash): LocatedTransaction | null {
    const sealed = this.#parts.blocks.locate(transactionHash)
    if (sealed !== null && sealed.block.header.number <= this.#parts.head.header.number) return sealed
    return this.locatePending(transactionHash)
  }

  /** Finds a transaction of the pending block. */
  locatePending(transactionHash: Hash): LocatedTransaction | null {
    const block = this.#parts.pending
    const index = block === null ? -1 : block.transactions.findIndex((tx) => tx.hash === transactionHash)
    return block === null || index < 0 ? null : { block, index }
  }

  /** Returns the state after a block of this View. Throws PrunedState if its state is gone, RewoundState if the block is. */
  state(block: Block): StateReader {
    const poolBlock = this.#poolBlocks?.get(block)
    if (poolBlock !== undefined) return poolBlock.state
    const version = this.#versionOf(block)
    return version === null ? this.#readPersisted(block) : this.#parts.history.at(version)
  }

  /** True if the state after a block of this View is pruned. Throws RewoundState if the block is gone. */
  isPruned(block: Block): boolean {
    try {
      this.state(block)
      return false
    } catch (error) {
      if (error instanceof PrunedState) return true
      throw error
    }
  }

  /**
   * Returns the state version after a block. Throws RewoundState when it is gone: versions are reused after a rewind, so a remembered one
   * may name another state. Throws PrunedState, or StateNotInMemory if only the store holds the state, and for a pool block.
   */
  stateVersion(block: Block): number {
    if (this.isPoolBlock(block)) throw new StateNotInMemory(block.header.number)
    const version = this.#versionOf(block)
    if (version !== null) return version
    this.#readPersisted(block)
    throw new StateNotInMemory(block.header.number)
  }

  /** Returns a code that an account has at some block whose state is in memory, or `null`. */
  codeByHash(codeHash: Hash): Uint8Array | null {
    return this.#parts.history.codeByHash(codeHash)
  }

  /** Returns the proof of an account and slots after `block`. Throws as `stateVersion` does. */
  proof(block: Block, address: Address, slots: readonly Hash[]): AccountProof {
    const { base, writes } = this.#versionAndWrites(block)
    return this.#parts.history.proofAt(base, address, slots, writes)
  }

  /**
   * Returns the roots that the state after `block` would have with `writes` applied, and the storage root of `owner`. Throws as
   * `stateVersion` does.
   */
  rootsWith(block: Block, writes: WriteSet, owner: Address): Roots {
    const { base, writes: before } = this.#versionAndWrites(block)
    return this.#parts.history.rootsWith(base, mergeWrites(before, writes), owner)
  }

  /** Returns the rules and environment of `block`, for calls executed in it. */
  context(block: Block): BlockContext {
    if (this.#lastContext?.block !== block) this.#lastContext = { block, context: this.#contextOf(block.header) }
    return this.#lastContext.context
  }

  /** The fields of the header after the head that are fixed before its first transaction. */
  get nextHeader(): Header {
    return this.#parts.nextBlockAfter(this.head).header
  }

  /** Rules and environment of the block after the head. */
  get nextContext(): BlockContext {
    return this.#next.context
  }

  /** What the block after the head writes before its first transaction of a user. Throws MissingState. */
  get nextWrites(): WriteSet {
    return this.#parts.nextBlockAfter(this.head).writesOn(this.stateVersion(this.head))
  }

  /** The state after `nextWrites`, on which the first transaction of a user runs in the block after the head. Throws MissingState. */
  get nextState(): StateReader {
    const next = this.#next
    if (next.state !== null) return next.state
    const state = new NextState(this.state(this.head), this.nextWrites)
    if (!this.#parts.history.isGuessing) next.state = state
    return state
  }

  get #next() {
    const block = this.#parts.nextBlockAfter(this.head)
    const last = this.#lastNext
    if (last?.block === block) return last
    return (this.#lastNext = { block, context: this.#contextOf(block.header), state: null })
  }

  /** Logs of the sealed blocks from…to, both included, then those of the pending block if `withPending`. */
  *logs(filter: LogFilter, from: number, to: number, withPending: boolean): Iterable<LocatedLog> {
    yield* this.#parts.blocks.logs(filter, from, Math.min(to, this.#parts.head.header.number))
    if (withPending) yield* this.pendingLogs(filter)
  }

  /** Logs of the pending block. */
  pendingLogs(filter: LogFilter): Iterable<LocatedLog> {
    const { pending } = this.#parts
    return pending === null ? [] : logsOfBlock(pending, filter)
  }

  /** Returns an upper bound of the number of matching sealed logs. */
  countLogs(filter: LogFilter, from: number, to: number): number {
    return this.#parts.blocks.countLogs(filter, from, Math.min(to, this.#parts.head.header.number))
  }

  /** Yields the logs of sealed blocks as JSON, in chunks. */
  logsJsonBytes(filter: LogFilter, from: number, to: number): Iterable<Uint8Array> {
    return this.#parts.blocks.logsJsonBytes(filter, from, Math.min(to, this.#parts.head.header.number))
  }

  /** Returns a sealed block as JSON; `full`: transactions as objects, else as hashes. */
  blockJsonBytes(number: number, full: boolean): Uint8Array {
    return this.#parts.blocks.blockJsonBytes(number, full)
  }

  receiptsJsonBytes(number: number): Uint8Array {
    return this.#parts.blocks.receiptsJsonBytes(number)
  }

  /** Returns a sealed transaction as JSON. */
  transactionJsonBytes(place: TransactionLocation): Uint8Array {
    return this.#parts.blocks.transactionJsonBytes(place)
  }

  receiptJsonBytes(place: TransactionLocation): Uint8Array {
    return this.#parts.blocks.receiptJsonBytes(place)
  }

  /** Returns a state version, and the writes that make it the state after `block`: those of a pool block. */
  #versionAndWrites(block: Block): { readonly base: number; readonly writes: WriteSet } {
    const poolBlock = this.#poolBlocks?.get(block)
    return poolBlock === undefined
      ? { base: this.stateVersion(block), writes: NO_WRITES }
      : { base: this.stateVersion(this.#parts.head), writes: poolBlock.writes }
  }

  /** Returns `null` when memory does not hold the version. */
  #versionOf(block: Block): number | null {
    const { pending, head, pendingVersion, headVersion, history, versionAfter } = this.#parts
    const { number } = block.header
    if (block === pending) {
      if (this.#parts.isRetracted()) throw new RewoundState(pendingVersion)
      return pendingVersion
    }
    const isHead = number === head.header.number
    if (isHead && headVersion < history.oldestVersion) return null
    if (!this.#parts.isRewound()) return isHead ? headVersion : versionAfter(number)
    if (!this.#isCanonical(block)) throw new RewoundState(headVersion)
    if (!isHead) return versionAfter(number)
    // Edits made further versions of the head after this View; only the View's own one is valid.
    if (!this.#parts.isHeadVersionLive()) throw new RewoundState(headVersion)
    return headVersion
  }

  #readPersisted(block: Block): StateReader {
    const { head, headVersion, persistedState, isTruncated, isHeadEdited } = this.#parts
    const { number } = block.header
    if (isTruncated(number)) throw new RewoundState(headVersion)
    // The store holds the state after a block with all edits, so an edited head's earlier state is gone.
    if (persistedState === null || (number === head.header.number && isHeadEdited())) throw new PrunedState(headVersion)
    return new PersistedStateReader(persistedState.at(number), number, isTruncated)
  }

  #isCanonical({ header, hash }: Block): boolean {
    return this.#parts.blocks.hashOf(header.number) === hash
  }

  #contextOf(header: Header): BlockContext {
    const { config } = this.#parts
    const rules = rulesAt(config, header.number, header.timestamp)
    return { config, rules, env: toBlockEnv(header, rules, (number) => this.blockHash(number)) }
  }
}

const TAGS: Record<BlockTag, (parts: ViewParts) => Block> = {
  latest: (parts) => parts.head,
  pending: (parts) => parts.pending ?? parts.head,
  safe: (parts) => storedBlock(parts, parts.safeNumber),
  finalized: (parts) => storedBlock(parts, parts.finalizedNumber),
  earliest: (parts) => storedBlock(parts, parts.blocks.firstBlock),
}

function storedBlock(parts: ViewParts, number: number): Block {
  const block = parts.blocks.byNumber(number)
  if (block === null) throw new Error(`block ${number} is missing from the block store`)
  return block
}

/** The state after a pool block. */
class PoolState extends StateOverlay {
  readonly identity: object

  constructor(base: StateReader, writes: WriteSet) {
    super(base)
    this.apply(writes)
    this.identity = writes
  }
}

/** The state is persisted but not in memory: it can be read, but not proven or sent to a worker thread. */
export class StateNotInMemory extends PrunedState {
  readonly blockNumber: number

  constructor(blockNumber: number) {
    super(blockNumber)
    this.blockNumber = blockNumber
    this.message = `block ${blockNumber} is too far behind the head for this: its state can be read, but only that of newer blocks can be proven`
  }
}
