import { Hash, Header } from '../../eth/index.ts'
import type { Address, Block, Hex, Transaction } from '../../eth/index.ts'
import { InvalidTransaction, rulesAt } from '../../evm/index.ts'
import type { ChainConfig, Rules, WriteSet } from '../../evm/index.ts'
import { encodeExtraData, nextBaseFee } from './basefee.ts'
import type { Breath } from '../timeslice.ts'
import { BlockBuilder, BlockFull } from './builder.ts'
import type { BlockAttributes } from './builder.ts'
import { baseTimeDeposit, l1AttributesDeposit } from './deposits.ts'
import { Group } from './groupcommit.ts'
import type { Head, HeadEvent } from '../view/head.ts'
import type { Horizon } from '../view/viewfactory.ts'
import type { Journal } from './openblockrecord.ts'
import type { Knobs } from './testoverrides.ts'
import type { SimulatedL1 } from './l1.ts'
import type { Mempool } from '../pool/mempool.ts'
import { OpenBlock } from './openblock.ts'
import type { SealedChain } from '../view/sealedchain.ts'
import type { Snapshots } from './snapshots.ts'
import { timestampMsOf } from './chaintime.ts'
import type { ChainTime } from './chaintime.ts'

export interface SequencerParts {
  readonly config: ChainConfig
  readonly sealed: SealedChain
  readonly snapshots: Snapshots
  readonly pool: Mempool
  readonly l1: SimulatedL1
  readonly time: ChainTime
  readonly knobs: Knobs
  readonly seed: string
  /** true under the native cadence: millisecond timestamps and no flashblocks */
  readonly native: () => boolean
  /** false when the builder has used up its share of the slot */
  readonly withinSlot: () => boolean
  readonly head: Head
  readonly horizon: Horizon
  readonly onBug: (error: unknown) => void
}

/** A sealed block, and what it wrote beyond its flashblocks. */
interface Closed {
  readonly block: Block
  readonly writes: WriteSet
}

const NOTHING_SET: Pick<Knobs, 'nextBaseFee' | 'nextPrevRandao'> = { nextBaseFee: null, nextPrevRandao: null }

/**
 * Turns pooled transactions into flashblocks and sealed blocks. What it published it never reorders:
 * a block only grows until it is sealed, and a builder that is given up is announced as retracted. Whatever throws here
 * has discarded the open block before.
 * Its callers take turns (the chain's queue).
 */
export class Sequencer {
  readonly #parts: SequencerParts
  #open: OpenBlock | null = null
  /** while several blocks are sealed by one flush */
  #group: Group | null = null
  #payloads = 0

  constructor(parts: SequencerParts) {
    this.#parts = parts
  }

  get isOpen(): boolean {
    return this.#open !== null
  }

  /** True when somebody's transaction was promised in the open block. */
  get hasPromises(): boolean {
    return this.#open !== null && this.#open.userTransactions.length > 0
  }

  /** True when the pool holds something executable that pays the next block's base fee. */
  get hasWork(): boolean {
    const { config, sealed, pool, knobs } = this.#parts
    const { header } = sealed.head
    const rules = rulesAt(config, header.number + 1, header.timestamp + 1)
    return pool.selection(knobs.nextBaseFee ?? nextBaseFee(header, config, rules) ?? 0n).peek() !== null
  }

  /** Begins a block on the head and publishes index 0: the deposits, at once. */
  open(): void {
    this.#orDiscard(() => {
      this.#open = this.#begin(this.#attributes())
      if (!this.#parts.native()) this.#publish()
    })
  }

  /** The next flashblock. It may fill the block up to `slot`/`slots` of its gas. */
  flash(slot: number, slots: number): void {
    const open = this.#opened()
    this.#orDiscard(() => {
      this.#fill(open, (open.builder.gasLimit * BigInt(slot)) / BigInt(slots))
      this.#publish()
    })
  }

  /** Takes in what the pool holds as far as the block has room; publishes it when there was something. */
  fill(most = Number.POSITIVE_INFINITY): number {
    const open = this.#opened()
    return this.#orDiscard(() => {
      const count = this.#fill(open, open.builder.gasLimit, most)
      if (count > 0 && !this.#parts.native()) this.#publish()
      return count
    })
  }

  /**
   * From now on until `release`, blocks are made together: what is sealed is durable and announced when a breath is due, and not one by one.
   * Nothing is open now, or what is open has not been announced.
   */
  hold(): void {
    const { time, knobs } = this.#parts
    this.#group = new Group(time, knobs)
  }

  /** Between two of them. When it throws, all since it was done last is as if it had never been. */
  async breathe(breath: Breath): Promise<void> {
    if (breath.isDue) await this.#commit(breath)
  }

  async release(breath: Breath): Promise<void> {
    try {
      await this.#commit(breath)
    } finally {
      this.#group = null
    }
  }

  /**
   * Seals the block that was promised before the chain was opened, exactly as it was promised. False: that cannot be done, and nothing has changed.
   * Throws what the store throws, which then keeps the promise for another time.
   */
  recover(journal: Journal): boolean {
    const { sealed } = this.#parts
    const open = this.#rebuilt(journal)
    if (open === null) return false
    const closed = open.builder.seal()
    sealed.append(closed.block)
    sealed.flush()
    this.#sealedNext(closed)
    return true
  }

  /** Closes the open block for good. Time goes on from it, and what was set for one block is used up. */
  seal(): Block {
    return this.#sealedNext(this.#close())
  }

  /**
   * Gives the open block up, as if it had never been begun: its transactions wait in the pool again, and what was published
   * of it is announced as retracted.
   */
  discard(): void {
    const open = this.#open
    if (open === null) return
    this.forget()
    this.#unpromise()
    this.#parts.pool.putBack(open.userTransactions)
    if (open.pending === null) return
    this.#announce({ kind: 'rewind', view: this.#parts.horizon.view(), removed: [], retracted: open.pending }, [], [])
  }

  /** Drops the open block without a word and answers what was published of it; for rewinds that announce more than that. */
  forget(): Block | null {
    const open = this.#open
    if (open === null) return null
    this.#open = null
    open.builder.release()
    this.#parts.sealed.retract()
    return open.pending
  }

  /**
   * Seals a block of exactly these transactions with the timestamp of `old`, whose place it takes; those that cannot be
   * included are left out. The chain's time has been there before: it stays as it is, and so does what was set for the
   * next block.
   */
  replace(old: Block, transactions: readonly Transaction[]): Block {
    const open = this.#begin(this.#attributes(old))
    this.#open = open
    this.#orDiscard(() => transactions.forEach((tx) => this.#include(open, tx)))
    return this.#sealed(this.#close())
  }

  async #commit(breath: Breath): Promise<void> {
    const { sealed, snapshots } = this.#parts
    const group = this.#group
    try {
      sealed.flush()
    } catch (error) {
      sealed.retract()
      group?.undo()
      throw error
    } finally {
      this.hold()
    }
    for (const announce of group?.announcements ?? []) {
      announce()
      await breath.take()
    }
    sealed.prune(snapshots.oldestVersion)
  }

  #close(): Closed {
    const open = this.#opened()
    return this.#orDiscard(() => {
      const closed = open.builder.seal()
      this.#parts.sealed.append(closed.block)
      if (this.#group === null) this.#parts.sealed.flush()
      this.#open = null
      return closed
    })
  }

  #sealedNext(closed: Closed): Block {
    const { time, knobs } = this.#parts
    time.sealed(timestampMsOf(closed.block))
    Object.assign(knobs, NOTHING_SET)
    return this.#sealed(closed)
  }

  #sealed({ block, writes }: Closed): Block {
    const { sealed, snapshots, horizon } = this.#parts
    this.#announce({ kind: 'block', sealed: true, view: horizon.view(), block, writes }, block.transactions, writes.accounts.keys())
    if (this.#group === null) sealed.prune(snapshots.oldestVersion)
    return block
  }

  /** The pool forgets what is announced, and whatever can no longer be. */
  #announce(event: HeadEvent, included: readonly Transaction[], written: Iterable<Address>): void {
    const { pool, head } = this.#parts
    const tell = () => {
      pool.prune(included, written)
      head.announce(event)
    }
    if (this.#group === null) tell()
    else this.#group.announcements.push(tell)
  }

  /** A store that fails keeps a journal that the next success replaces; until then a restart would seal what was given up, and break no promise. */
  #unpromise(): void {
    try {
      this.#parts.sealed.unpromise()
    } catch (error) {
      this.#parts.onBug(error)
    }
  }

  #orDiscard<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      this.discard()
      throw error
    }
  }

  #opened(): OpenBlock {
    if (this.#open === null) throw new Error('no block is open')
    return this.#open
  }

  #begin(attributes: BlockAttributes): OpenBlock {
    const { config, sealed } = this.#parts
    const parent = sealed.head
    const builder = new BlockBuilder(sealed.history, config, parent, attributes, sealed.blockHash)
    try {
      builder.begin()
      for (const deposit of this.#deposits(attributes, parent, builder.context.rules)) builder.add(deposit)
    } catch (error) {
      builder.release()
      throw error
    }
    return new OpenBlock(builder, attributes, this.#payloadId(parent))
  }

  /** Null: the block's parent is not the head, or other rules are in force than when it was promised. */
  #rebuilt({ parentHash, promisedHash, attributes, transactions, deposits }: Journal): OpenBlock | null {
    const { config, sealed } = this.#parts
    const { head: parent, history, blockHash } = sealed
    if (parent.hash !== parentHash) return null
    const builder = new BlockBuilder(history, config, parent, attributes, blockHash)
    try {
      builder.begin()
      for (const tx of transactions) builder.add(tx)
      builder.commit()
      if (Header.hash(builder.pending().header) === promisedHash) {
        return new OpenBlock(builder, attributes, this.#payloadId(parent), deposits)
      }
    } catch (error) {
      if (!(error instanceof InvalidTransaction) && !(error instanceof BlockFull)) this.#parts.onBug(error)
    }
    builder.release()
    sealed.retract()
    return null
  }

  /** What a block of an OP chain opens with. */
  #deposits({ timestamp, timestampMs }: BlockAttributes, parent: Block, rules: Rules): readonly Transaction[] {
    const { config, l1 } = this.#parts
    if (config.op === null) return []
    const attributes = l1AttributesDeposit(l1.at(timestamp), parent, l1.options, rules)
    return timestampMs === null ? [attributes] : [attributes, baseTimeDeposit(parent, timestampMs % 1_000)]
  }

  /** Of the next block; or of one that takes the place of `old`, which has its time, with or without milliseconds. */
  #attributes(old: Block | null = null): BlockAttributes {
    const { config, sealed, l1, time, knobs, seed } = this.#parts
    const parent = sealed.head
    const native = old === null ? this.#parts.native() : old.timestampMs !== null
    const timestampMs = old === null ? time.next(parent, native) : timestampMsOf(old)
    const { nextBaseFee, nextPrevRandao } = old === null ? knobs : NOTHING_SET
    const timestamp = Math.floor(timestampMs / 1_000)
    const rules = rulesAt(config, parent.header.number + 1, timestamp)
    return {
      timestamp,
      timestampMs: native ? timestampMs : null,
      prevRandao: nextPrevRandao ?? digest(`randao ${seed} ${parent.header.number + 1} ${knobs.salt}`),
      feeRecipient: knobs.coinbase,
      gasLimit: knobs.gasLimit,
      extraData: config.op === null ? new Uint8Array(0) : encodeExtraData(knobs.feeParameters, rules),
      parentBeaconBlockRoot: rules.has('cancun') ? digest(`beacon ${l1.at(timestamp).hash}`) : null,
      withdrawals: rules.has('shanghai') ? [] : null,
      baseFeePerGas: nextBaseFee,
      difficulty: 0n,
      ommers: [],
    }
  }

  #fill(open: OpenBlock, gasBudget: bigint, most = Number.POSITIVE_INFINITY): number {
    const { builder } = open
    const selection = this.#parts.pool.selection(builder.baseFeePerGas)
    let count = 0
    for (let tx = selection.peek(); tx !== null && count < most; tx = selection.peek()) {
      if (!this.#parts.withinSlot()) break
      if (builder.fits(tx, gasBudget) && this.#include(open, tx)) {
        count++
        selection.take()
      } else {
        selection.skipSender()
      }
    }
    return count
  }

  /**
   * False when the transaction could not be included: it waits for another block, or is dropped when it never can be. One
   * that breaks the executor is dropped as well, or it would break every block to come. One that takes the block with it
   * is thrown on, so that the others wait for the next block.
   */
  #include(open: OpenBlock, tx: Transaction): boolean {
    try {
      open.builder.add(tx)
      return true
    } catch (error) {
      if (error instanceof BlockFull) return false
      if (!mayStillBe(error)) this.#parts.pool.drop(tx.hash)
      if (open.builder.isLost) throw error
      if (!(error instanceof InvalidTransaction)) this.#parts.onBug(error)
      return false
    }
  }

  #publish(): void {
    const { sealed, horizon } = this.#parts
    const open = this.#opened()
    const { block, index, flashblock, firstTransaction, writes } = open.publish()
    const included = block.transactions.slice(firstTransaction)
    // Of a group, nothing is promised that is not sealed.
    if (this.#group === null && sealed.kept !== null && included.length > 0) this.#journal(open)
    open.tell()
    const view = horizon.view(block, index)
    this.#announce({ kind: 'block', sealed: false, view, block, flashblock, firstTransaction, writes }, included, writes.accounts.keys())
  }

  #journal(open: OpenBlock): void {
    const journal = open.journal()
    if (journal !== null) this.#parts.sealed.promise(journal)
  }

  #payloadId(parent: Block): Hex {
    return digest(`payload ${parent.hash} ${this.#payloads++}`).slice(0, 18) as Hex
  }
}

/** An earlier transaction of the sender took the money: more may come, so it waits, as in geth's pool. */
function mayStillBe(error: unknown): boolean {
  return error instanceof InvalidTransaction && error.code === 'insufficient-funds'
}

function digest(text: string): Hash {
  return Hash.ofText(text)
}
