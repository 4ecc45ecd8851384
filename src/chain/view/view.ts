import type { Address, Block, Hash, Header } from '../../eth/index.ts'
import { rulesAt } from '../../evm/index.ts'
import type { BlockContext, ChainConfig, StateReader, WriteSet } from '../../evm/index.ts'
import type { BlockReader, KeptState, Location, LogFilter, Payment, Place, PlacedLog } from './blockstore.ts'
import { environment } from '../sequencing/environment.ts'
import { KeptReader } from '../state/persistedreader.ts'
import { logsOfBlock } from './logs.ts'
import type { AccountProof } from '../state/proof.ts'
import { PrunedState, RewoundState } from '../state/history.ts'
import type { Roots, StateHistory } from '../state/history.ts'

export type BlockTag = 'latest' | 'pending' | 'safe' | 'finalized' | 'earliest'

/** What a View is made of. */
export interface ViewParts {
  readonly version: number
  readonly config: ChainConfig
  readonly head: Block
  readonly pending: Block | null
  /** index of the newest flashblock of `pending`, -1 without one */
  readonly flashblockIndex: number
  readonly safeNumber: number
  readonly finalizedNumber: number
  readonly blocks: BlockReader
  /** of a sealed block */
  readonly blockHash: (blockNumber: number) => Hash | null
  readonly history: StateHistory
  readonly headVersion: number
  /** the version after `pending`, or after `head` when nothing is pending */
  readonly pendingVersion: number
  /** wei; what a test chose for the block after `head`, else null */
  readonly nextBaseFee: bigint | null
  /** the version after a sealed block; null: memory does not hold it any more */
  readonly versionAfter: (blockNumber: number) => number | null
  /** what stands beside the blocks, also of those that memory has forgotten */
  readonly kept: KeptState | null
  /** true once sealed blocks of this View may be gone */
  readonly isRewound: () => boolean
  /** false once `headVersion` is gone, or names another state */
  readonly isHeadKept: () => boolean
  /** true once the state after `head` was changed without a block */
  readonly isHeadEdited: () => boolean
  /** true once a sealed block of this View, or the state after it, may be another one in `kept` */
  readonly isCut: (blockNumber: number) => boolean
  /** true once `pending` is gone otherwise than by being sealed */
  readonly isRetracted: () => boolean
}

/**
 * Everything a request may know about the chain, at one moment. A method takes `head.view` once and never looks again:
 * a transaction, its receipt, its logs, its nonce and its balance are in the same View or in none.
 */
export class View {
  readonly #parts: ViewParts
  /** one call follows another in the same block, and an engine knows a context that it has met */
  #lastContext: { readonly block: Block; readonly context: BlockContext } | null = null

  constructor(parts: ViewParts) {
    this.#parts = parts
  }

  /** counts head events; a later View has a larger one */
  get version(): number {
    return this.#parts.version
  }

  get config(): ChainConfig {
    return this.#parts.config
  }

  /** the last sealed block */
  get head(): Block {
    return this.#parts.head
  }

  /** the block under construction, its hash 32 zero bytes; null when there is none */
  get pending(): Block | null {
    return this.#parts.pending
  }

  /** wei; what a test chose for the block after the head, else null: it follows from the head */
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

  /** The block a tag names. Without a flashblock, `pending` is `latest`. */
  tagged(tag: BlockTag): Block {
    return TAGS[tag](this.#parts)
  }

  /** A sealed block, or null. The pending block's number names nothing until it is sealed. */
  byNumber(number: number): Block | null {
    const { head, blocks } = this.#parts
    if (number === head.header.number) return head
    return number < head.header.number ? blocks.byNumber(number) : null
  }

  /** Of a sealed block, or null; without the whole of it. */
  numberOf(hash: Hash): number | null {
    const number = this.#parts.blocks.numberOf(hash)
    return number !== null && number <= this.#parts.head.header.number ? number : null
  }

  /** Of a sealed transaction, or null; without its block. */
  placeOf(transactionHash: Hash): Place | null {
    const place = this.#parts.blocks.placeOf(transactionHash)
    return place !== null && place.number <= this.#parts.head.header.number ? place : null
  }

  /** Of a sealed block, or null; without what is in it. */
  headerOf(number: number): Header | null {
    const { head, blocks } = this.#parts
    if (number === head.header.number) return head.header
    return number < head.header.number ? blocks.headerOf(number) : null
  }

  /** Sealed transactions in blocks below `block` that the address sent, received or was created by, newest first: found one by one, in one go. */
  transactionsBefore(address: Address, block: number): Iterable<Place> {
    return this.#parts.blocks.transactionsBefore(address, Math.min(block, this.#parts.head.header.number + 1))
  }

  /** The same in blocks from `block` on, oldest first. */
  *transactionsFrom(address: Address, block: number): Iterable<Place> {
    for (const place of this.#parts.blocks.transactionsFrom(address, block)) {
      if (place.number > this.#parts.head.header.number) return
      yield place
    }
  }

  /** The sealed transaction that an account sent with this nonce, or null. Nonces rise: after a test has set one back, some are not found. */
  sentWith(sender: Address, nonce: bigint): Place | null {
    const place = this.#parts.blocks.sentWith(sender, nonce)
    return place !== null && place.number <= this.#parts.head.header.number ? place : null
  }

  paymentsOf(number: number): readonly Payment[] {
    return this.#parts.blocks.paymentsOf(number)
  }

  /** Its header's time, in seconds, without the whole of it. */
  timestampOf(number: number): number | null {
    return number <= this.#parts.head.header.number ? this.#parts.blocks.timestampOf(number) : null
  }

  /** Of a sealed block, or null: what BLOCKHASH answers. */
  blockHash(number: number): Hash | null {
    return number <= this.#parts.head.header.number ? this.#parts.blockHash(number) : null
  }

  byHash(hash: Hash): Block | null {
    if (hash === this.#parts.head.hash) return this.#parts.head
    const block = this.#parts.blocks.byHash(hash)
    return block !== null && block.header.number <= this.#parts.head.header.number ? block : null
  }

  /** Sealed first, then pre-confirmed. */
  locate(transactionHash: Hash): Location | null {
    const sealed = this.#parts.blocks.locate(transactionHash)
    if (sealed !== null && sealed.block.header.number <= this.#parts.head.header.number) return sealed
    return this.locatePending(transactionHash)
  }

  /** Pre-confirmed, and not sealed. */
  locatePending(transactionHash: Hash): Location | null {
    const block = this.#parts.pending
    const index = block === null ? -1 : block.transactions.findIndex((tx) => tx.hash === transactionHash)
    return block === null || index < 0 ? null : { block, index }
  }

  /** State after `block`, which is a block of this View. Throws PrunedState when its history is gone, RewoundState when the block is. */
  state(block: Block): StateReader {
    const version = this.#versionOf(block)
    return version === null ? this.#keptState(block) : this.#parts.history.at(version)
  }

  /**
   * Which version of the state `block` left behind. Throws RewoundState when it is gone: versions are given out anew after a rewind, so one
   * that is remembered may name another state by now. Throws PrunedState; FarState when it is kept, but not among the versions.
   */
  stateVersion(block: Block): number {
    const version = this.#versionOf(block)
    if (version !== null) return version
    this.#keptState(block)
    throw new FarState(block.header.number)
  }

  /** Proof of an account and of some of its slots after `block`. Throws as `stateVersion` does. */
  proof(block: Block, address: Address, slots: readonly Hash[]): AccountProof {
    return this.#parts.history.proofAt(this.stateVersion(block), address, slots)
  }

  /** The roots that the state after `block` would have with `writes` on top, of the storage that of `owner`. Throws as `stateVersion` does. */
  rootsWith(block: Block, writes: WriteSet, owner: Address): Roots {
    return this.#parts.history.rootsWith(this.stateVersion(block), writes, owner)
  }

  /** The rules and the environment that ran in `block`; for calls "in" that block. */
  context(block: Block): BlockContext {
    if (this.#lastContext?.block !== block) this.#lastContext = { block, context: this.#contextOf(block) }
    return this.#lastContext.context
  }

  /** Logs of sealed blocks from…to (both included), then those of the pending block when asked for. */
  *logs(filter: LogFilter, from: number, to: number, withPending: boolean): Iterable<PlacedLog> {
    yield* this.#parts.blocks.logs(filter, from, Math.min(to, this.#parts.head.header.number))
    if (withPending) yield* this.pendingLogs(filter)
  }

  /** Those of the block under construction. */
  pendingLogs(filter: LogFilter): Iterable<PlacedLog> {
    const { pending } = this.#parts
    return pending === null ? [] : logsOfBlock(pending, filter)
  }

  /** How many logs of sealed blocks there are, at most. */
  countLogs(filter: LogFilter, from: number, to: number): number {
    return this.#parts.blocks.countLogs(filter, from, Math.min(to, this.#parts.head.header.number))
  }

  /** The logs of sealed blocks as JSON, in chunks. */
  logsText(filter: LogFilter, from: number, to: number): Iterable<Uint8Array> {
    return this.#parts.blocks.logsText(filter, from, Math.min(to, this.#parts.head.header.number))
  }

  /** A sealed block as JSON-RPC shows it; `full`: its transactions as objects, else as hashes. */
  blockText(number: number, full: boolean): Uint8Array {
    return this.#parts.blocks.blockText(number, full)
  }

  receiptsText(number: number): Uint8Array {
    return this.#parts.blocks.receiptsText(number)
  }

  /** What JSON-RPC shows of a sealed transaction. */
  transactionText(place: Place): Uint8Array {
    return this.#parts.blocks.transactionText(place)
  }

  receiptText(place: Place): Uint8Array {
    return this.#parts.blocks.receiptText(place)
  }

  /** Null: memory has forgotten it. */
  #versionOf(block: Block): number | null {
    const { pending, head, pendingVersion, headVersion, history, versionAfter } = this.#parts
    const { number } = block.header
    if (block === pending) {
      if (this.#parts.isRetracted()) throw new RewoundState(pendingVersion)
      return pendingVersion
    }
    const isHead = number === head.header.number
    if (isHead && headVersion < history.floor) return null
    if (!this.#parts.isRewound()) return isHead ? headVersion : versionAfter(number)
    if (!this.#isStill(block)) throw new RewoundState(headVersion)
    if (!isHead) return versionAfter(number)
    // Edits made versions of the head after this View: only that of its own moment will do.
    if (!this.#parts.isHeadKept()) throw new RewoundState(headVersion)
    return headVersion
  }

  #keptState(block: Block): StateReader {
    const { head, headVersion, kept, isCut, isHeadEdited } = this.#parts
    const { number } = block.header
    if (isCut(number)) throw new RewoundState(headVersion)
    // Of a block that is no head any more, only the state with all its edits is kept.
    if (kept === null || (number === head.header.number && isHeadEdited())) throw new PrunedState(headVersion)
    return new KeptReader(kept.at(number), number, isCut)
  }

  #isStill({ header, hash }: Block): boolean {
    return this.#parts.blocks.hashOf(header.number) === hash
  }

  #contextOf(block: Block): BlockContext {
    const { number, timestamp } = block.header
    const rules = rulesAt(this.#parts.config, number, timestamp)
    return { config: this.#parts.config, rules, env: environment(block.header, rules, (n) => this.blockHash(n)) }
  }
}

const TAGS: Record<BlockTag, (parts: ViewParts) => Block> = {
  latest: (parts) => parts.head,
  pending: (parts) => parts.pending ?? parts.head,
  safe: (parts) => stored(parts, parts.safeNumber),
  finalized: (parts) => stored(parts, parts.finalizedNumber),
  earliest: (parts) => stored(parts, 0),
}

function stored(parts: ViewParts, number: number): Block {
  const block = parts.blocks.byNumber(number)
  if (block === null) throw new Error(`block ${number} is missing from the block store`)
  return block
}

/** The block's state is kept, but far from the newest: it can be read, and neither proven nor handed to another thread. */
export class FarState extends PrunedState {
  readonly blockNumber: number

  constructor(blockNumber: number) {
    super(blockNumber)
    this.blockNumber = blockNumber
    this.message = `block ${blockNumber} is too far behind the head for this: its state can be read, but only that of newer blocks can be proven`
  }
}
