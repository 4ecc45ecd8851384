import { Hash, Header } from '../../eth/index.ts'
import type { Address, Block, Hex, Transaction } from '../../eth/index.ts'
import { InvalidTransaction, rulesAt } from '../../evm/index.ts'
import type { BlockContext, ChainConfig, Rules, WriteSet } from '../../evm/index.ts'
import { encodeExtraData, nextBaseFee, nextBlobBaseFee } from './basefee.ts'
import type { FeeParameters } from './basefee.ts'
import type { TimeSlice } from '../timeslice.ts'
import type { BlockAttributes } from './builder.ts'
import { BlockBuilder, BlockFull, initialHeader } from './builder.ts'
import { baseTimeDeposit, l1AttributesDeposit } from './deposits.ts'
import type { ExecutionNotes } from './executionnotes.ts'
import { DetachedState } from './detachedstate.ts'
import { GroupCommit } from './groupcommit.ts'
import type { NextBlock } from '../view/nextblock.ts'
import type { PoolBlock } from '../view/poolblock.ts'
import type { Head, HeadEvent, RewindCause } from '../view/head.ts'
import type { ViewFactory } from '../view/viewfactory.ts'
import type { OpenBlockRecord } from './openblockrecord.ts'
import type { TestOverrides } from './testoverrides.ts'
import type { SimulatedL1 } from '../l1.ts'
import { pays } from '../pool/besttransactions.ts'
import type { BestTransactions } from '../pool/besttransactions.ts'
import { cost } from '../pool/validation.ts'
import type { Mempool } from '../pool/mempool.ts'
import { OpenBlock } from './openblock.ts'
import type { SealedChain } from '../view/sealedchain.ts'
import type { Snapshots } from './snapshots.ts'
import { BLOCK_PROBE_MS } from '../limits.ts'
import { MissingState } from '../state/basestate.ts'
import { timestampMsOf } from './chaintime.ts'
import type { ChainTime } from './chaintime.ts'
import type { Warmup } from './warmup.ts'

interface SequencerDeps {
  readonly config: ChainConfig
  readonly sealed: SealedChain
  readonly snapshots: Snapshots
  readonly pool: Mempool
  readonly l1: SimulatedL1
  readonly time: ChainTime
  readonly overrides: TestOverrides
  readonly seed: string
  /** True under the native cadence: millisecond timestamps, no flashblocks. */
  readonly isNative: () => boolean
  /** False once the builder has used its share of the slot. */
  readonly isWithinSlot: () => boolean
  readonly head: Head
  readonly viewFactory: ViewFactory
  /** null: none are recorded */
  readonly notes: ExecutionNotes | null
  readonly onBug: (error: unknown) => void
  /** Fetches state for transactions; `null` if all state is local. */
  readonly warmup: () => Warmup | null
}

/** A sealed block with the writes made after its last flashblock, or all of the block's. */
interface SealedBlock {
  readonly block: Block
  readonly writes: WriteSet
}

/** A block that is not part of the chain. */
export interface DetachedBlock {
  readonly block: Block
  /** EIP-7685: a type byte, then the requests of that type */
  readonly requests: readonly Uint8Array[]
}

const NO_DATA = new Uint8Array()
const NO_BLOCK_OVERRIDES: Pick<TestOverrides, 'nextBaseFee' | 'nextPrevRandao'> = { nextBaseFee: null, nextPrevRandao: null }

/**
 * Builds flashblocks and sealed blocks from the pool.
 * Published transactions are never reordered: a block only grows until it is sealed, and a discarded one is announced as retracted. A
 * method that throws has discarded the open block; for the exception see `seal`. Callers hold the chain's mutex.
 */
export class Sequencer {
  readonly #deps: SequencerDeps
  #openBlock: OpenBlock | null = null
  /** Set while several blocks share one flush. */
  #groupCommit: GroupCommit | null = null
  #payloadCount = 0
  #lastExtraData: { readonly parameters: FeeParameters; readonly rules: Rules; readonly bytes: Uint8Array } | null = null
  /** Pool transactions that the next blocks include before all others. */
  #preferred: readonly Hash[] = []
  /** Transactions that the open block has refused because their senders could not pay. */
  readonly #unpaid = new Set<Transaction>()

  constructor(deps: SequencerDeps) {
    this.#deps = deps
  }

  get hasOpenBlock(): boolean {
    return this.#openBlock !== null
  }

  /** User transactions of the open block that a flashblock has announced. */
  get promised(): readonly Transaction[] {
    return this.promisedFrom(0)
  }

  /** As `promised`, from one flashblock on. */
  promisedFrom(index: number): readonly Transaction[] {
    return this.#openBlock?.promisedFrom(index) ?? []
  }

  /** The part of the open block that is announced; `null` without one. */
  get published(): Block | null {
    return this.#openBlock?.pending ?? null
  }

  /** True if the open block contains user transactions. */
  get hasPromises(): boolean {
    return this.#openBlock !== null && this.#openBlock.userTransactions.length > 0
  }

  /** True if the pool has an executable transaction that pays the next block's prices. */
  get hasExecutable(): boolean {
    const { config, sealed, pool, overrides } = this.#deps
    const { header } = sealed.head
    const rules = rulesAt(config, header.number + 1, header.timestamp + 1)
    const baseFeePerGas = overrides.nextBaseFee ?? nextBaseFee(header, config, rules) ?? 0n
    return pool.bestTransactions({ baseFeePerGas, blobBaseFee: nextBlobBaseFee(header, rules) }).peek() !== null
  }

  /** Environment of the open block, or of the next one. */
  get nextContext(): BlockContext {
    if (this.#openBlock !== null) return this.#openBlock.builder.context
    const { config, sealed } = this.#deps
    const builder = new BlockBuilder(sealed.history, config, sealed.head, this.#nextAttributes(), sealed.blockHash)
    builder.release()
    return builder.context
  }

  /** `nextContext`, and those of the blocks after it at their probable times, as far as they differ in number, time and randomness. */
  contextsAhead(count: number, blockTimeMs: number): readonly BlockContext[] {
    const { nextContext } = this
    const { env } = nextContext
    return Array.from({ length: count }, (_, i) => {
      if (i === 0) return nextContext
      const [number, timestamp] = [env.number + i, env.timestamp + Math.floor((i * blockTimeMs) / 1_000)]
      return { ...nextContext, env: { ...env, number, timestamp, prevRandao: this.#randao(number) } }
    })
  }

  #randao(number: number, salt = this.#deps.overrides.salt): Hash {
    return Hash.ofText(`randao ${this.#deps.seed} ${number} ${salt}`)
  }

  /** Returns the beginning of the block after `parent`, which is the sealed head or was. */
  nextBlockAfter(parent: Block): NextBlock {
    const { config } = this.#deps
    const attributes = this.#nextAttributes(null, parent)
    return {
      header: initialHeader(parent, attributes, config, rulesAt(config, parent.header.number + 1, attributes.timestamp)),
      writesOn: (version) => this.#initialWrites(attributes, parent, version),
    }
  }

  #initialWrites(attributes: BlockAttributes, parent: Block, version: number): WriteSet {
    const { config, sealed } = this.#deps
    const state = new DetachedState(sealed.history, version)
    const builder = new BlockBuilder(state, config, parent, attributes, sealed.blockHash)
    try {
      this.#begin(builder, attributes, parent)
      builder.commit()
      return state.writes
    } finally {
      builder.release()
    }
  }

  /** Builds a block of these transactions on the head and discards it. Throws MissingState. */
  rehearse(transactions: readonly Transaction[]): void {
    const { sealed } = this.#deps
    try {
      const builder = this.#beginBuilder(this.#nextAttributes(), null)
      try {
        for (const tx of transactions) builder.tryAdd(tx)
        builder.seal()
      } finally {
        builder.release()
      }
    } finally {
      sealed.revertOpenState()
    }
  }

  /**
   * Builds the blocks that `sealReplacement` would seal after the next change of the salt, and discards them: in place of the sealed blocks from number
   * `first` on, one for each list of transactions. Throws MissingState.
   */
  rehearseReplacements(first: number, blocks: readonly (readonly Transaction[])[]): void {
    const { config, sealed, overrides } = this.#deps
    const version = sealed.versionAfter(first - 1)
    if (version === null) return
    const state = new DetachedState(sealed.history, version)
    const hashes = new Map<number, Hash>()
    const blockHash = (number: number) => hashes.get(number) ?? sealed.blockHash(number)
    let parent = sealed.blockAt(first - 1)
    for (const transactions of blocks) {
      const attributes = this.#nextAttributes(sealed.blockAt(parent.header.number + 1), parent, overrides.salt + 1)
      const builder = new BlockBuilder(state, config, parent, attributes, blockHash)
      try {
        this.#begin(builder, attributes, parent)
        for (const tx of transactions) builder.tryAdd(tx)
        parent = builder.seal().block
        hashes.set(parent.header.number, parent.hash)
      } finally {
        builder.release()
      }
    }
  }

  /** Seals a block of these transactions, in this order. Throws InvalidTransaction or BlockFull. */
  sealOf(transactions: readonly Transaction[]): Block {
    this.openBlock()
    const openBlock = this.#requireOpenBlock()
    return this.#discardOnError(() => {
      transactions.forEach((tx) => openBlock.builder.add(tx))
      return this.seal()
    })
  }

  /** Opens a block on the head. Flashblock 0 holds the system deposits; in a group commit, which promises nothing, the user transactions too. */
  openBlock(): void {
    this.#discardOnError(() => {
      this.#openBlock = this.#beginBlock(this.#nextAttributes())
      if (this.#groupCommit === null && !this.#deps.isNative()) this.#publish()
    })
  }

  /** Publishes the next flashblock, filling the block up to `slot`/`slots` of its gas limit. */
  publishFlashblock(slot: number, slots: number): void {
    const openBlock = this.#requireOpenBlock()
    this.#deps.pool.holds.onFlashblock()
    this.#discardOnError(() => {
      this.#includeBest(openBlock, (openBlock.builder.gasLimit * BigInt(slot)) / BigInt(slots))
      this.#publish()
    })
  }

  /** Includes up to `limit` pool transactions that fit, and publishes them if there are any. Returns their number. */
  includeFromPool(limit = Number.POSITIVE_INFINITY): number {
    const openBlock = this.#requireOpenBlock()
    this.#deps.pool.holds.onFlashblock()
    return this.#discardOnError(() => {
      const count = this.#includeBest(openBlock, openBlock.builder.gasLimit, limit)
      if (count > 0 && !this.#deps.isNative()) this.#publish()
      return count
    })
  }

  /**
   * Builds the block that `includeFromPool` would build on the head, without the limit of the slot. Changes neither the chain nor the pool.
   * Returns `null` if no transaction can be included, and while blocks are being built. Throws MissingState for a transaction whose state is not being
   * fetched.
   */
  buildPoolBlock(): PoolBlock | null {
    const { sealed, head, pool, onBug } = this.#deps
    const { history, headVersion } = sealed
    const isAtRest = this.#openBlock === null && this.#groupCommit === null && sealed.head.hash === head.view.head.hash
    if (pool.size === 0 || !isAtRest || history.version !== headVersion) return null
    const builder = this.#beginBuilder(this.#nextAttributes(), null)
    try {
      const include = (tx: Transaction) => this.#isWarm(tx) && includeIfPossible(builder, tx)
      const count = includeBest(pool.bestTransactions(builder.prices), include)
      if (count === 0) return null
      builder.commit()
      return { block: builder.pending(), writes: history.writesBetween(headVersion, history.version) }
    } catch (error) {
      if (error instanceof MissingState) throw error
      onBug(error)
      return null
    } finally {
      builder.release()
      history.rewind(headVersion)
    }
  }

  /**
   * Builds a block on the head that the chain does not get: of these transactions, which `add` adds, or of the promised ones and those of the pool that
   * fit. Throws what `add` throws, and MissingState.
   */
  buildDetached(
    attributes: BlockAttributes,
    transactions: readonly Transaction[] | 'pool',
    add: (builder: BlockBuilder, tx: Transaction) => void,
  ): DetachedBlock {
    const { config, sealed, pool } = this.#deps
    const builder = new BlockBuilder(
      new DetachedState(sealed.history, sealed.headVersion),
      config,
      sealed.head,
      attributes,
      sealed.blockHash,
    )
    try {
      builder.begin()
      if (transactions === 'pool') {
        for (const tx of this.promised) includeIfPossible(builder, tx)
        includeBest(pool.bestTransactions(builder.prices), (tx) => includeIfPossible(builder, tx))
      } else for (const tx of transactions) add(builder, tx)
      return builder.seal()
    } finally {
      builder.release()
    }
  }

  /**
   * Until `endGroupCommit`, sealed blocks are flushed and announced together, at each expired time slice. No announced block may be open.
   */
  beginGroupCommit(): void {
    const { time, overrides } = this.#deps
    this.#groupCommit = new GroupCommit(time, overrides)
  }

  /** Call between two blocks. When it throws, all blocks since the last flush are undone. */
  async flushIfExpired(timeSlice: TimeSlice): Promise<void> {
    if (timeSlice.isExpired) await this.#flushGroup(timeSlice)
  }

  async endGroupCommit(timeSlice: TimeSlice): Promise<void> {
    try {
      await this.#flushGroup(timeSlice)
    } finally {
      this.#groupCommit = null
    }
  }

  /**
   * Seals the block that was promised before a restart, exactly as promised. Returns false and changes nothing when that is impossible.
   * Throws store errors; the record then stays for the next start.
   */
  recover(record: OpenBlockRecord): boolean {
    const { sealed } = this.#deps
    const { history, headVersion } = sealed
    const openBlock = this.#rebuild(record)
    if (openBlock === null) return false
    const { block } = openBlock.builder.seal()
    // The subscribers of this process's stream have not received the block's flashblocks from it.
    const writes = history.writesBetween(headVersion, history.version)
    sealed.append(block)
    sealed.flush()
    this.#finishNextBlock({ block, writes })
    return true
  }

  /** Seals the open block if it has promises, otherwise discards it. */
  closeBlock(): void {
    if (this.hasPromises) this.seal()
    else this.discard()
  }

  /**
   * Seals the open block, advances the time to it, and clears the overrides for one block. Throws MissingState for what the end of the block misses; an
   * announced block then stays open.
   */
  seal(): Block {
    this.#discardOnError(() => {
      if (this.#groupCommit !== null && this.published === null && !this.#deps.isNative()) this.#publish()
    })
    return this.#finishNextBlock(this.#sealOpenBlock())
  }

  /** The next block includes these pool transactions first, in this order; later ones those that did not fit. */
  preferNext(hashes: readonly Hash[]): void {
    this.#preferred = hashes
  }

  /**
   * Discards the open block: its transactions return to the pool, and its announced part is announced as retracted. In a group commit nothing of it is
   * announced, and the pool has its transactions still.
   */
  discard(cause: RewindCause = 'discard'): void {
    const openBlock = this.#openBlock
    if (openBlock === null) return
    this.abandon()
    this.#clearOpenBlockRecord()
    if (this.#groupCommit !== null) return this.#groupCommit.discardBlock()
    this.#deps.pool.reinsert(openBlock.userTransactions)
    if (openBlock.pending === null) return
    this.#announce({ kind: 'rewind', cause, view: this.#deps.viewFactory.create(), removed: [], retracted: openBlock.pending }, [], [])
  }

  /** Leaves out the next flashblock's index; what waits is promised with the flashblock after it. */
  missFlashblock(): void {
    this.#requireOpenBlock().miss()
  }

  /**
   * Replaces the open block with one that has the same attributes and these user transactions, in this order. The former one is announced as
   * retracted, the new one as another payload. Its transactions are in the pool afterwards unless the new one contains them, or `removed` lists them.
   * `required` must be included. Throws its InvalidTransaction, BlockFull or MissingState before anything has changed.
   */
  rebuild(
    cause: RewindCause,
    transactions: readonly Transaction[],
    { removed = [], required = null }: { readonly removed?: readonly Transaction[]; readonly required?: Transaction | null } = {},
  ): void {
    const { attributes } = this.#requireOpenBlock()
    const valid = this.#validOf(attributes, transactions, required)
    const returned = this.promised.filter((tx) => !removed.includes(tx))
    const retracted = this.abandon()
    this.#clearOpenBlockRecord()
    this.#deps.pool.reinsert(returned)
    const repromised = new Set(valid.map(({ hash }) => hash))
    this.#announce({ kind: 'rewind', cause, view: this.#deps.viewFactory.create(), removed: [], retracted, repromised }, [], [])
    this.#discardOnError(() => {
      const openBlock = this.#beginBlock(attributes)
      this.#openBlock = openBlock
      this.#publish()
      for (const tx of valid) openBlock.builder.add(tx)
      if (valid.length > 0) this.#publish()
    })
  }

  /** Returns those that are valid after each other on the head. The chain stays unchanged. */
  #validOf(attributes: BlockAttributes, transactions: readonly Transaction[], required: Transaction | null): readonly Transaction[] {
    const { head, headVersion } = this.#deps.sealed
    const builder = this.#detachedBuilder(attributes, head, headVersion)
    try {
      return transactions.filter((tx) => {
        const refusal = builder.tryAdd(tx)
        if (refusal !== null && tx === required) throw refusal
        return refusal === null
      })
    } finally {
      builder.release()
    }
  }

  /** Returns a builder on the state `version` after `parent` that holds the system deposits. */
  #detachedBuilder(attributes: BlockAttributes, parent: Block, version: number): BlockBuilder {
    const { config, sealed } = this.#deps
    const builder = new BlockBuilder(new DetachedState(sealed.history, version), config, parent, attributes, sealed.blockHash)
    try {
      this.#begin(builder, attributes, parent)
    } catch (error) {
      builder.release()
      throw error
    }
    return builder
  }

  /** Adds the system deposits. */
  #begin(builder: BlockBuilder, attributes: BlockAttributes, parent: Block): void {
    builder.begin()
    for (const deposit of this.#systemDeposits(attributes, parent, builder.context.rules)) builder.add(deposit)
  }

  /** Drops the open block without announcement and returns its published part, for rewinds that announce it themselves. */
  abandon(): Block | null {
    const openBlock = this.#openBlock
    if (openBlock === null) return null
    this.#openBlock = null
    openBlock.builder.release()
    this.#deps.sealed.revertOpenState()
    return openBlock.pending
  }

  /**
   * Seals a block of these transactions in place of `old`, with its timestamp; transactions that cannot be included are left out. The
   * chain's time and the overrides for the next block stay unchanged. `hasFlashblocks`: it is announced in flashblocks first. Throws MissingState, which
   * `rehearseReplacements` prevents.
   */
  sealReplacement(old: Block, transactions: readonly Transaction[], hasFlashblocks: boolean): Block {
    const openBlock = this.#beginBlock(this.#nextAttributes(old))
    this.#openBlock = openBlock
    this.#discardOnError(() => {
      if (hasFlashblocks) this.#publish()
      for (const tx of transactions)
        this.#include(openBlock, tx, (missed) => {
          throw missed
        })
      if (hasFlashblocks && openBlock.userTransactions.length > 0) this.#publish()
    })
    return this.#finishBlock(this.#sealOpenBlock())
  }

  async #flushGroup(timeSlice: TimeSlice): Promise<void> {
    const { sealed, snapshots, pool, head } = this.#deps
    const group = this.#groupCommit
    try {
      sealed.flush()
    } catch (error) {
      sealed.revertOpenState()
      group?.restore()
      throw error
    } finally {
      this.beginGroupCommit()
    }
    for (const event of group?.announcements ?? []) {
      head.announce(event)
      // Between a block's flashblock and its seal clients would find its receipts in a block that `latest` does not have yet.
      if (event.kind === 'block' && !event.sealed) continue
      const pause = timeSlice.yieldIfExpired()
      if (pause !== null) await pause
    }
    if (group !== null) head.afterHeld(() => pool.prune(group.included, group.written, group.unpayable))
    await head.releaseMany()
    sealed.prune(snapshots.oldestVersion)
  }

  #sealOpenBlock(): SealedBlock {
    const { sealed } = this.#deps
    const openBlock = this.#requireOpenBlock()
    try {
      const sealedBlock = openBlock.builder.seal()
      sealed.append(sealedBlock.block)
      if (this.#groupCommit === null) sealed.flush()
      this.#openBlock = null
      return sealedBlock
    } catch (error) {
      const missing = error instanceof MissingState ? this.#missingAtEnd(openBlock, error) : null
      // Promises are kept: the block is sealed when the state is local.
      if (missing === null || openBlock.pending === null || this.#groupCommit !== null) this.discard()
      throw missing ?? error
    }
  }

  /** A request of a queue (EIP-7002, EIP-7251) has several slots, and a block up to 16 requests: all are fetched at once. */
  #missingAtEnd({ builder }: OpenBlock, { keys }: MissingState): MissingState {
    const others = this.#deps.sealed.history.missingKeysOf(() => builder.rehearseEnd(), BLOCK_PROBE_MS)
    return new MissingState([...keys, ...others])
  }

  #finishNextBlock(sealedBlock: SealedBlock): Block {
    const { time, overrides } = this.#deps
    time.onSealed(timestampMsOf(sealedBlock.block))
    Object.assign(overrides, NO_BLOCK_OVERRIDES)
    const block = this.#finishBlock(sealedBlock)
    if (this.#groupCommit === null) this.#fetchForNextBlock()
    return block
  }

  /** On a fork: each block takes other requests out of the queues. A failed fetch is repeated when the block misses the state. */
  #fetchForNextBlock(): void {
    const { history } = this.#deps.sealed
    if (history.base === null) return
    const keys = history.missingKeysOf(() => this.rehearse([]), BLOCK_PROBE_MS)
    if (keys.length > 0) history.base.fetch(keys).catch(() => undefined)
  }

  #finishBlock({ block, writes }: SealedBlock): Block {
    const { sealed, snapshots, viewFactory } = this.#deps
    const event: HeadEvent = { kind: 'block', sealed: true, view: viewFactory.create(), block, writes }
    this.#announce(event, block.transactions, writes.accounts.keys(), this.#takeUnpayable())
    if (this.#groupCommit === null) sealed.prune(snapshots.oldestVersion)
    return block
  }

  /** Announces the event after removing included and outdated transactions from the pool; at the flush if a group commit is active. */
  #announce(event: HeadEvent, included: readonly Transaction[], written: Iterable<Address>, unpayable: readonly Transaction[] = []): void {
    const { pool, head } = this.#deps
    const group = this.#groupCommit
    if (group !== null) {
      group.announcements.push(event)
      group.included.push(...included)
      group.unpayable.push(...unpayable)
      for (const address of written) group.written.add(address)
      return
    }
    head.announce(event, () => pool.prune(included, written, unpayable))
  }

  /**
   * A failing store keeps the stale record until the next successful flush. A restart before that seals the discarded block, which breaks
   * no promise.
   */
  #clearOpenBlockRecord(): void {
    try {
      this.#deps.sealed.clearOpenBlockRecord()
    } catch (error) {
      this.#deps.onBug(error)
    }
  }

  #discardOnError<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      this.discard()
      throw error
    }
  }

  #requireOpenBlock(): OpenBlock {
    if (this.#openBlock === null) throw new Error('no block is open')
    return this.#openBlock
  }

  #beginBlock(attributes: BlockAttributes): OpenBlock {
    const { sealed, notes } = this.#deps
    this.#unpaid.clear()
    this.#groupCommit?.beginBlock()
    return new OpenBlock(this.#beginBuilder(attributes, notes), attributes, this.#payloadId(sealed.head))
  }

  /** Returns a builder on the head that holds the system deposits. */
  #beginBuilder(attributes: BlockAttributes, notes: ExecutionNotes | null): BlockBuilder {
    const { config, sealed } = this.#deps
    const parent = sealed.head
    const builder = new BlockBuilder(sealed.history, config, parent, attributes, sealed.blockHash, notes)
    try {
      this.#begin(builder, attributes, parent)
    } catch (error) {
      builder.release()
      sealed.revertOpenState()
      throw error
    }
    return builder
  }

  /** Returns `null` when the parent is not the head or the rebuilt block has another hash, for example under other rules. */
  #rebuild({ parentHash, promisedHash, attributes, transactions, deposits }: OpenBlockRecord): OpenBlock | null {
    const { config, sealed } = this.#deps
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
      if (!(error instanceof InvalidTransaction) && !(error instanceof BlockFull)) this.#deps.onBug(error)
    }
    builder.release()
    sealed.revertOpenState()
    return null
  }

  /** Deposits at the start of an OP block. */
  #systemDeposits({ timestamp, timestampMs }: BlockAttributes, parent: Block, rules: Rules): readonly Transaction[] {
    const { config, l1 } = this.#deps
    if (config.op === null) return []
    const attributes = l1AttributesDeposit(l1.originAt(timestamp), parent, l1, rules)
    return timestampMs === null ? [attributes] : [attributes, baseTimeDeposit(parent, timestampMs % 1_000)]
  }

  /** Attributes of the next block, or of the replacement for `old` with the same timestamp. */
  #nextAttributes(old: Block | null = null, parent = this.#deps.sealed.head, salt = this.#deps.overrides.salt): BlockAttributes {
    const { config, l1, time, overrides } = this.#deps
    const native = old === null ? this.#deps.isNative() : old.timestampMs !== null
    const timestampMs = old === null ? time.nextTimestampMs(parent, native) : timestampMsOf(old)
    const { nextBaseFee, nextPrevRandao } = old === null ? overrides : NO_BLOCK_OVERRIDES
    const timestamp = Math.floor(timestampMs / 1_000)
    const rules = rulesAt(config, parent.header.number + 1, timestamp)
    return {
      timestamp,
      timestampMs: native ? timestampMs : null,
      prevRandao: nextPrevRandao ?? this.#randao(parent.header.number + 1, salt),
      feeRecipient: overrides.coinbase,
      gasLimit: overrides.gasLimit,
      extraData: config.op === null ? NO_DATA : this.#extraData(overrides.feeParameters, rules),
      parentBeaconBlockRoot: rules.has('cancun') ? l1.beaconRootAt(timestamp) : null,
      withdrawals: rules.has('shanghai') ? [] : null,
      baseFeePerGas: nextBaseFee,
      difficulty: 0n,
      ommers: [],
    }
  }

  /** Equal in nearly all blocks, which share the bytes. */
  #extraData(parameters: FeeParameters, rules: Rules): Uint8Array {
    const last = this.#lastExtraData
    if (last?.parameters === parameters && last.rules === rules) return last.bytes
    this.#lastExtraData = { parameters, rules, bytes: encodeExtraData(parameters, rules) }
    return this.#lastExtraData.bytes
  }

  #includeBest(openBlock: OpenBlock, gasBudget: bigint, limit = Number.POSITIVE_INFINITY): number {
    const { builder } = openBlock
    const { pool, isWithinSlot } = this.#deps
    const included = new Set<Transaction>()
    const mayContinue = () => included.size < limit && isWithinSlot()
    const include = (tx: Transaction) => {
      if (included.has(tx)) return true
      const isIncluded = this.#isWarm(tx) && builder.fits(tx, gasBudget) && this.#include(openBlock, tx)
      if (isIncluded) included.add(tx)
      return isIncluded
    }
    const isExecutable = (tx: Transaction) => !pool.holds.isHeld(tx) && pays(tx, builder.prices)
    for (const hash of this.#preferred) {
      const tx = pool.get(hash)
      if (tx !== null && isExecutable(tx) && mayContinue()) include(tx)
    }
    includeBest(pool.bestTransactions(builder.prices), include, mayContinue)
    this.#preferred = this.#preferred.filter((hash) => {
      const tx = pool.get(hash)
      return tx !== null && !included.has(tx)
    })
    return included.size
  }

  /**
   * Returns false when the transaction was not included. It stays in the pool if it may become valid, or until the seal if its sender cannot
   * pay; otherwise it is dropped, and so is one that fails inside the executor, which would fail every later block. Rethrows when the whole
   * block is lost. A transaction that misses state stays in the pool, and the state is fetched, unless `onMissing` throws.
   */
  #include(
    openBlock: OpenBlock,
    tx: Transaction,
    onMissing = (missed: MissingState) => this.#deps.warmup()?.warmBehind(tx, missed),
  ): boolean {
    try {
      openBlock.builder.add(tx)
      this.#unpaid.delete(tx)
      return true
    } catch (error) {
      if (error instanceof BlockFull) return false
      if (error instanceof MissingState) {
        onMissing(error)
        return false
      }
      if (isUnpaid(error)) this.#unpaid.add(tx)
      else if (!mayBecomeValid(error)) this.#deps.pool.drop(tx.hash)
      if (openBlock.builder.isUnusable) throw error
      if (!(error instanceof InvalidTransaction)) this.#deps.onBug(error)
      return false
    }
  }

  /** Drops the transactions that a discarded block has refused because their senders cannot pay on the head. */
  dropUnpayable(): void {
    for (const { hash } of this.#takeUnpayable()) this.#deps.pool.drop(hash)
  }

  /** Returns the refused transactions whose senders cannot pay on the head either: geth drops them then, anvil and Hardhat at the refusal. */
  #takeUnpayable(): readonly Transaction[] {
    if (this.#unpaid.size === 0) return []
    const { sealed, config } = this.#deps
    const { number, timestamp } = sealed.head.header
    const state = sealed.history.at(sealed.headVersion)
    const rules = rulesAt(config, number, timestamp)
    const refused = [...this.#unpaid]
    this.#unpaid.clear()
    try {
      return refused.filter((tx) => (state.account(tx.from)?.balance ?? 0n) < cost(tx, rules, state))
    } catch (error) {
      // The next block refuses them again.
      if (error instanceof MissingState) return []
      throw error
    }
  }

  #isWarm(tx: Transaction): boolean {
    return this.#deps.warmup()?.isWarm(tx) ?? true
  }

  #publish(): void {
    const { sealed, viewFactory } = this.#deps
    const openBlock = this.#requireOpenBlock()
    const { block, index, flashblock, firstTransaction, writes } = openBlock.publish()
    const included = block.transactions.slice(firstTransaction)
    // In a group commit nothing is promised before it is sealed, so no record is needed.
    const isPromise = this.#groupCommit === null
    if (isPromise && sealed.persistedState !== null && included.length > 0) this.#writeOpenBlockRecord(openBlock)
    openBlock.markAnnounced()
    const view = viewFactory.create(block, index)
    this.#announce(
      { kind: 'block', sealed: false, isPromise, view, block, flashblock, firstTransaction, writes },
      included,
      writes.accounts.keys(),
    )
  }

  #writeOpenBlockRecord(openBlock: OpenBlock): void {
    const record = openBlock.encodeRecord()
    if (record !== null) this.#deps.sealed.putOpenBlockRecord(record)
  }

  #payloadId(parent: Block): Hex {
    return Hash.ofText(`payload ${parent.hash} ${this.#payloadCount++}`).slice(0, 18) as Hex
  }
}

/** Includes transactions while `mayContinue`; one that `include` refuses ends its sender's. Returns the number of included ones. */
function includeBest(candidates: BestTransactions, include: (tx: Transaction) => boolean, mayContinue: () => boolean = () => true): number {
  let count = 0
  for (let tx = candidates.peek(); tx !== null && mayContinue(); tx = candidates.peek()) {
    if (include(tx)) {
      count++
      candidates.shift()
    } else {
      candidates.pop()
    }
  }
  return count
}

/** Adds a transaction that fits and is valid, and does not fail inside the executor. Throws MissingState, and when the whole block is lost. */
function includeIfPossible(builder: BlockBuilder, tx: Transaction): boolean {
  try {
    return builder.fits(tx, builder.gasLimit) && builder.tryAdd(tx) === null
  } catch (error) {
    if (builder.isUnusable || error instanceof MissingState) throw error
    return false
  }
}

/** An earlier transaction of the sender may have been left out, so the transaction stays in the pool. */
function mayBecomeValid(error: unknown): boolean {
  return error instanceof InvalidTransaction && error.code === 'nonce-too-high'
}

/** Another transaction of the same block may pay the sender. */
function isUnpaid(error: unknown): boolean {
  return error instanceof InvalidTransaction && error.code === 'insufficient-funds'
}
