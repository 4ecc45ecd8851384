import type { Address, Block, Hash } from '../eth/index.ts'
import { rulesAt } from '../evm/index.ts'
import type { BlockContext, ChainConfig, StateReader, WriteSet } from '../evm/index.ts'
import type { BlockStore, Location, LogFilter, PlacedLog } from './blocks.ts'
import { environment } from './environment.ts'
import { logsOfBlock } from './logs.ts'
import type { AccountProof } from './proof.ts'
import { RewoundState } from './state.ts'
import type { Roots, StateHistory } from './state.ts'

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
  readonly blocks: BlockStore
  /** of a sealed block */
  readonly blockHash: (blockNumber: number) => Hash | null
  readonly history: StateHistory
  readonly headVersion: number
  /** the version after `pending`, or after `head` when nothing is pending */
  readonly pendingVersion: number
  /** wei; what a test chose for the block after `head`, else null */
  readonly nextBaseFee: bigint | null
  /** the version after a sealed block */
  readonly versionAfter: (blockNumber: number) => number
  /** true once sealed blocks of this View may be gone */
  readonly isRewound: () => boolean
  /** false once `headVersion` is gone, or names another state */
  readonly isHeadKept: () => boolean
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

  /** The block a tag names. Without a flashblock, `pending` is `latest`. */
  tagged(tag: BlockTag): Block {
    return TAGS[tag](this.#parts)
  }

  /** A sealed block, or null. The pending block's number names nothing until it is sealed. */
  byNumber(number: number): Block | null {
    return number <= this.#parts.head.header.number ? this.#parts.blocks.byNumber(number) : null
  }

  /** Of a sealed block, or null: what BLOCKHASH answers. */
  blockHash(number: number): Hash | null {
    return number <= this.#parts.head.header.number ? this.#parts.blockHash(number) : null
  }

  byHash(hash: Hash): Block | null {
    const block = this.#parts.blocks.byHash(hash)
    return block !== null && block.header.number <= this.#parts.head.header.number ? block : null
  }

  /** Sealed first, then pre-confirmed. */
  locate(transactionHash: Hash): Location | null {
    const sealed = this.#parts.blocks.locate(transactionHash)
    if (sealed !== null && sealed.block.header.number <= this.#parts.head.header.number) return sealed
    const block = this.#parts.pending
    const index = block === null ? -1 : block.transactions.findIndex((tx) => tx.hash === transactionHash)
    return block === null || index < 0 ? null : { block, index }
  }

  /** State after `block`, which is a block of this View. Throws PrunedState when its history is gone, RewoundState when the block is. */
  state(block: Block): StateReader {
    return this.#parts.history.at(this.stateVersion(block))
  }

  /**
   * Which version of the state `block` left behind. Throws RewoundState when it is gone: versions are given out anew after a rewind, so one
   * that is remembered may name another state by now.
   */
  stateVersion(block: Block): number {
    const { pending, head, pendingVersion, headVersion, blocks, versionAfter } = this.#parts
    const { number } = block.header
    if (block === pending) {
      if (this.#parts.isRetracted()) throw new RewoundState(pendingVersion)
      return pendingVersion
    }
    if (!this.#parts.isRewound()) return number === head.header.number ? headVersion : versionAfter(number)
    if (blocks.byNumber(number)?.hash !== block.hash) throw new RewoundState(headVersion)
    if (number !== head.header.number) return versionAfter(number)
    // Edits made versions of the head after this View: only that of its own moment will do.
    if (!this.#parts.isHeadKept()) throw new RewoundState(headVersion)
    return headVersion
  }

  /** Proof of an account and of some of its slots after `block`. Throws PrunedState. */
  proof(block: Block, address: Address, slots: readonly Hash[]): AccountProof {
    return this.#parts.history.proofAt(this.stateVersion(block), address, slots)
  }

  /** The roots that the state after `block` would have with `writes` on top; nothing is kept. Throws PrunedState. */
  rootsWith(block: Block, writes: WriteSet): Roots {
    return this.#parts.history.rootsWith(this.stateVersion(block), writes)
  }

  /** The rules and the environment that ran in `block`; for calls "in" that block. */
  context(block: Block): BlockContext {
    if (this.#lastContext?.block !== block) this.#lastContext = { block, context: this.#contextOf(block) }
    return this.#lastContext.context
  }

  /** Logs of sealed blocks from…to (both included), then those of the pending block when asked for. */
  *logs(filter: LogFilter, from: number, to: number, withPending: boolean): Iterable<PlacedLog> {
    yield* this.#parts.blocks.logs(filter, from, Math.min(to, this.#parts.head.header.number))
    if (withPending && this.#parts.pending !== null) yield* logsOfBlock(this.#parts.pending, filter)
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
