import { MIN_OP_GAS_LIMIT } from '../compat.ts'
import { Hash, Hex } from '../eth/index.ts'
import type { Address, Block, Transaction } from '../eth/index.ts'
import { NO_WRITES } from '../evm/index.ts'
import type { ChainConfig, Rules, World, WriteSet } from '../evm/index.ts'
import { openParts } from './chainparts.ts'
import type { ChainParts, ChainStart } from './chainparts.ts'
import { ChainClosed } from './chainclosed.ts'
import { Mining, assertLater, assertSettable } from './mining.ts'
import { OutOfRange } from './outofrange.ts'
import { Submissions } from './submissions.ts'
import { prefetch, withFetches } from './withfetches.ts'
import type { BlockAttributes, BlockBuilder } from './sequencing/builder.ts'
import { cadenceProblem } from './sequencing/cadence.ts'
import type { Cadence } from './sequencing/cadence.ts'
import type { Clock } from './sequencing/clock.ts'
import type { CommitPort, Head } from './view/head.ts'
import { OpenBlockRecord } from './sequencing/openblockrecord.ts'
import type { SimulatedL1 } from './l1.ts'
import { MIN_GAS_LIMIT } from './limits.ts'
import { Mempool } from './pool/mempool.ts'
import type { ReplacementRule } from './pool/mempool.ts'
import { BlockTicker } from './sequencing/blockticker.ts'
import type { InstantBlock } from './sequencing/blockticker.ts'
import type { Replacement } from './sequencing/rewinder.ts'
import type { PoolOrder } from './pool/besttransactions.ts'
import type { SealedChain } from './view/sealedchain.ts'
import { captureWrites } from './state/history.ts'
import type { ExecutionNotes } from './sequencing/executionnotes.ts'
import { ChainTime, timestampMsOf } from './sequencing/chaintime.ts'
import type { DetachedBlock } from './sequencing/sequencer.ts'
import { MissingState } from './state/basestate.ts'
import type { AccessListCall, MissingKey } from './state/basestate.ts'
import { Mutex } from './mutex.ts'
import { Follower } from './replica/follower.ts'
import type { ChainChange } from './replica/follower.ts'
import { PromiseLedger } from './promises/ledger.ts'
import type { LedgerStorage } from './promises/ledgerrecords.ts'
import { PromiseControl } from './promises/control.ts'
import { seededRandom } from './promises/random.ts'

export interface ChainOptions extends ChainStart {
  readonly clock: Clock
  readonly cadence: Cadence
  readonly order: PoolOrder
  /** `tenth` by default */
  readonly replacement?: ReplacementRule
  /** Blocks of the instant cadence when several transactions become executable at once; `each` by default */
  readonly instantBlock?: InstantBlock
  /** Source of all randomness: the same seed and clock give the same block hashes. */
  readonly seed: string
  /** Random per run; differs between two runs of the same genesis. After a reset or a restart the chain has another one. */
  readonly instanceId: Hash
  /** Keeps the records of promises; none by default, which ends them with the process. */
  readonly promiseRecords?: LedgerStorage | null
  /** Commits sealed blocks, edits and rewinds elsewhere before they are announced; none by default. */
  readonly commits?: CommitPort | null
  /** Called with internal errors that do not stop the chain. */
  readonly onBug: (error: unknown) => void
  /** Receives notes about failed transactions and console calls; none by default. */
  readonly notes?: ExecutionNotes
  /** Called while `mine` seals many blocks: after each time slice, and at the end with `mined` equal to `count`. */
  readonly onMining?: (mined: number, count: number) => void
}

/** Operations available to `importBlocks`. */
interface ImportSession {
  readonly sealed: SealedChain
  /** Makes the appended blocks durable. Throws store errors. */
  readonly flush: () => void
  /** Publishes a durable block to the head's listeners. */
  readonly announce: (block: Block, writes: WriteSet) => void
  /** Marks block `number` as imported, and therefore safe and final, when an earlier run already imported it. */
  readonly markKnown: (number: number) => void
}

/** Outcome of the promises that were not sealed when the chain was closed, as hashes of user transactions. */
export interface OpenBlockRecovery {
  /** Sealed exactly as promised. */
  readonly kept: readonly Hash[]
  /** Retracted; those that are still valid are back in the pool. */
  readonly retracted: readonly Hash[]
}

/**
 * The chain: head, pool, clock and every operation that changes them. Changes run one at a time; each ends in a head event. A change
 * that throws has undone the block or the edit at which it failed; of a change of several blocks, those before it stay.
 */
export class Chain {
  readonly head: Head
  readonly pool: Mempool
  readonly clock: Clock
  readonly time: ChainTime
  /** Holds, drops, retracts and reorders transactions, and changes the schedule. */
  readonly promises: PromiseControl
  /** The promises and their outcomes. */
  readonly ledger: PromiseLedger
  readonly recovered: OpenBlockRecovery
  readonly #follower = new Follower(
    () => this.#parts,
    () => this.time,
    () => this.pool,
  )
  readonly #mutex: Mutex = new Mutex(() => this.head.release())
  readonly #blockTicker: BlockTicker
  readonly #submissions: Submissions
  readonly #seed: string
  readonly #notes: ExecutionNotes | null
  readonly #onMining: (mined: number, count: number) => void
  #isEnding = false
  #isFetchingForTick = false
  #isClosed = false
  readonly #closeListeners = new Set<(error: ChainClosed) => void>()
  readonly #onBug: (error: unknown) => void
  readonly #commits: CommitPort | null
  #instanceId: Hash
  /** The parts that depend on the first block; `restart` replaces all of them. */
  #parts: ChainParts
  #viewCount = 0
  #snapshotCount = 0

  /**
   * Continues from the store's newest block, if any, after sealing the block that was promised beyond it. Throws GenesisMismatch,
   * StateRootMismatch, CorruptOpenBlockRecord, and store errors.
   */
  constructor(options: ChainOptions) {
    const { clock } = options
    // A timer or a fetch may end when the chain is closed.
    const onBug = (error: unknown) => {
      if (!(error instanceof ChainClosed)) options.onBug(error)
    }
    this.#onMining = options.onMining ?? (() => undefined)
    this.#onBug = onBug
    this.#seed = options.seed
    this.#notes = options.notes ?? null
    this.#commits = options.commits ?? null
    this.clock = clock
    this.#instanceId = options.instanceId
    this.time = new ChainTime(clock)
    this.pool = new Mempool(
      (address) => {
        const { history } = this.sealed
        return history.at(history.version).account(address)?.nonce ?? 0n
      },
      options.order,
      options.replacement,
    )
    this.#blockTicker = new BlockTicker(
      {
        clock,
        mutex: this.#mutex,
        sequencer: () => this.#parts.sequencer,
        pool: this.pool,
        instantBlock: options.instantBlock ?? 'each',
        random: seededRandom(`pace ${options.seed}`),
        allowed: () => this.#commits?.allowed ?? 'blocks',
        onBug: (error) => this.#onTickError(error),
      },
      options.cadence,
    )
    this.#submissions = new Submissions({
      mutex: this.#mutex,
      ticker: this.#blockTicker,
      pool: this.pool,
      parts: () => this.#parts,
      withFetches: (work) => this.#withFetches(work),
      onBug,
    })
    this.promises = new PromiseControl({
      clock,
      pool: this.pool,
      ticker: this.#blockTicker,
      view: () => this.head.view,
      parts: () => this.#parts,
      whilePaused: (work) => this.#withFetches(() => this.#blockTicker.whilePaused(work)),
      ledger: () => this.ledger,
      onBug,
    })
    this.#parts = this.#open(options, null)
    this.head = this.#parts.head
    if (options.startsAtHeadTime === true) this.time.startAt(timestampMsOf(this.sealed.head))
    else if (this.sealed.head !== this.genesis) this.time.onSealed(timestampMsOf(this.sealed.head))
    this.ledger = new PromiseLedger({
      head: this.head,
      pool: this.pool,
      clock,
      storage: options.promiseRecords ?? null,
      onBug,
      onClose: (listener) => this.onClose(listener),
    })
    this.recovered = this.#recover(options.store.openBlockRecord)
    this.ledger.recover(this.recovered, this.sealed.head.header.number + (this.recovered.kept.length > 0 ? 0 : 1))
  }

  get config(): ChainConfig {
    return this.#parts.config
  }

  get genesis(): Block {
    return this.#parts.genesis
  }

  /** True if another version of the program began the stored chain, with other contracts than its genesis has now. */
  get hasOtherContracts(): boolean {
    return this.#parts.hasOtherContracts
  }

  /** False if the state of block 0 is pruned or was edited before block 1, and this program's genesis has another one. */
  get hasGenesisState(): boolean {
    return this.#parts.sealed.hasGenesisState
  }

  /** Target of `reset`. Throws PrunedState for a pruned chain of another version of the program. */
  get genesisState(): WriteSet {
    return this.#parts.sealed.genesisState
  }

  get l1(): SimulatedL1 {
    return this.#parts.l1
  }

  get sealed(): SealedChain {
    return this.#parts.sealed
  }

  get cadence(): Cadence {
    return this.#blockTicker.cadence
  }

  get gasLimit(): bigint {
    return this.#parts.overrides.gasLimit
  }

  get nextRules(): Rules {
    return this.#parts.admission.nextRules
  }

  /** The highest gas limit that a transaction may have in the next block. */
  get maxTransactionGas(): bigint {
    return this.#parts.admission.maxTransactionGas
  }

  /** Identifies the run, and the chain since the last reset in it: tools use it as the key of what they know about deployed contracts. */
  get instanceId(): Hash {
    return this.#instanceId
  }

  get coinbase(): Address {
    return this.#parts.overrides.coinbase
  }

  get minGasPrice(): bigint {
    return this.#parts.admission.minGasPrice
  }

  /** Starts block production. On a fork it first fetches what every block reads. Throws UpstreamError. */
  async start(): Promise<void> {
    await this.#rehearse([])
    await this.#blockTicker.start()
  }

  /** Ends each `mine`, `reorg` and fail-over of several blocks, now and later, after its current block. Without it they may take minutes. Call before `stop`. */
  endMining(): void {
    this.#isEnding = true
  }

  /** Stops block production until the next `start`; resolves when the operation in progress has ended. */
  async stop(): Promise<void> {
    await this.#blockTicker.stop()
    this.promises.endDelays()
  }

  /** As `stop`, for good: a change that is requested from now on rejects with ChainClosed. Only `follow` and its companions still work. */
  async close(): Promise<void> {
    this.#mutex.close(() => new ChainClosed())
    await this.stop()
    this.#isClosed = true
    for (const listener of this.#closeListeners) listener(new ChainClosed())
    this.#closeListeners.clear()
  }

  /** Calls `listener` once when the chain has closed, for what waits for a block; returns the function that unsubscribes it. Throws ChainClosed after that. */
  onClose(listener: (error: ChainClosed) => void): () => void {
    if (this.#isClosed) throw new ChainClosed()
    this.#closeListeners.add(listener)
    return () => this.#closeListeners.delete(listener)
  }

  /** Changes the block cadence after sealing the open block's promises. Throws OutOfRange for times that it cannot keep. */
  async setCadence(cadence: Cadence): Promise<void> {
    const problem = cadenceProblem(cadence)
    if (problem !== null) throw new OutOfRange(problem)
    return this.#betweenBlocks(() => {
      this.#blockTicker.cadence = cadence
    })
  }

  /**
   * Adds a transaction to the pool and returns its hash. A function is called under the mutex, after every earlier submission; on a fork, where it may be
   * called several times, after those of the sender `from`. Under `instant` the promise resolves when the block is sealed, or immediately when the transaction has a nonce gap. Throws PoolError.
   */
  submit(transaction: Transaction | (() => Transaction), from?: Address): Promise<Hash> {
    return this.#submissions.submit(transaction, from)
  }

  /** Calls `remove` after every earlier change, and returns its result: until a block is announced, the pool has its transactions too. */
  removeFromPool<T>(remove: (pool: Mempool) => T): Promise<T> {
    return this.#mutex.runExclusive(() => remove(this.pool))
  }

  /**
   * Seals `count` blocks from the open block and the pool. Returns at most the newest MINED_BLOCKS of them. `setTimestampInterval` takes precedence over
   * `intervalSeconds`. `first` is the timestamp of the first one, or 'interval' for the chain's time plus the interval; the promises of the open block are
   * then sealed before, in a further block. Throws OutOfRange for too many blocks, or a timestamp that is not above the previous block's, and MiningEnded after `endMining`, with the blocks until then sealed.
   */
  async mine(count: number, intervalSeconds: number | null = null, first: number | 'interval' | null = null): Promise<readonly Block[]> {
    const mining = new Mining(
      {
        clock: this.clock,
        cadence: () => this.cadence,
        time: this.time,
        pool: this.pool,
        isEnding: () => this.#isEnding,
        onMining: this.#onMining,
      },
      { count, intervalSeconds, first },
    )
    return this.#withFetches((isLastTry) => this.#blockTicker.whilePaused(() => mining.run(this.#parts, isLastTry)))
  }

  /** Seals a block of these transactions, in this order, with the given time and randomness. Throws InvalidTransaction or BlockFull. */
  sealTransactions(
    transactions: readonly Transaction[],
    { timestamp, prevRandao }: Pick<BlockAttributes, 'timestamp' | 'prevRandao'>,
  ): Promise<Block> {
    return this.#blockTicker.whilePaused(async () => {
      this.#parts.sequencer.discard()
      this.time.setNext(timestamp)
      this.#parts.overrides.nextPrevRandao = prevRandao
      await this.#rehearse(transactions)
      return this.#parts.sequencer.sealOf(transactions)
    })
  }

  /**
   * Builds a block on the head of these transactions, or of the promised ones and those of the pool that fit. The chain, its open block and the pool stay
   * unchanged. A function gets the head. Throws InvalidTransaction or BlockFull for given transactions, and what the function throws.
   */
  async buildDetached(
    attributes: BlockAttributes | ((head: Block) => BlockAttributes),
    transactions: readonly Transaction[] | 'pool',
  ): Promise<DetachedBlock> {
    const build = (add: (builder: BlockBuilder, tx: Transaction) => unknown) =>
      this.#parts.sequencer.buildDetached(typeof attributes === 'function' ? attributes(this.sealed.head) : attributes, transactions, add)
    await prefetch(this.sealed.history, () => build((builder, tx) => builder.tryAdd(tx)))
    return this.#withFetches(() => this.#mutex.runExclusive(() => build((builder, tx) => builder.add(tx))))
  }

  /** Seals the open block's promises, then runs `work` while no block is open. */
  readSealed<T>(work: () => T): Promise<T> {
    return this.#betweenBlocks(work)
  }

  nowSeconds(): number {
    return this.time.nowSeconds()
  }

  /** Advances the chain's time. Returns the total offset from the clock, in seconds. */
  async increaseTime(seconds: number): Promise<number> {
    await this.#betweenBlocks(() => this.time.increase(seconds * 1_000))
    return Math.round(this.time.offsetMs / 1_000)
  }

  /** Sets the chain's time. Returns the offset from the clock, in seconds. */
  async setTime(timestampSeconds: number): Promise<number> {
    await this.#betweenBlocks(() => this.time.set(timestampSeconds * 1_000))
    return Math.round(this.time.offsetMs / 1_000)
  }

  /** Sets the exact timestamp of the next block. Throws OutOfRange unless it is above the previous block's. */
  async setNextTimestamp(timestampSeconds: number): Promise<void> {
    // Checked before as well, so that an invalid timestamp does not seal the open block.
    assertSettable(timestampSeconds, this.#parts)
    return this.#betweenBlocks(() => {
      assertLater(timestampSeconds, this.sealed.head)
      this.time.setNext(timestampSeconds)
    })
  }

  /** Sets the timestamp distance between blocks in seconds; `null` restores the clock's time. */
  setTimestampInterval(seconds: number | null): Promise<void> {
    return this.#betweenBlocks(() => this.time.setInterval(seconds))
  }

  setNextBaseFee(wei: bigint): Promise<void> {
    return this.#betweenBlocks(() => {
      this.#parts.overrides.nextBaseFee = wei
      this.head.announce({ kind: 'edit', view: this.#parts.viewFactory.create(), writes: NO_WRITES })
    })
  }

  setNextPrevRandao(hash: Hash): Promise<void> {
    return this.#betweenBlocks(() => {
      this.#parts.overrides.nextPrevRandao = hash
    })
  }

  /** Throws OutOfRange below the minimum: geth's, or the gas of the system deposits on an OP chain. */
  async setGasLimit(gas: bigint): Promise<void> {
    const min = this.config.op === null ? MIN_GAS_LIMIT : MIN_OP_GAS_LIMIT
    if (gas < min) throw new OutOfRange(`a block gas limit of ${gas} is too low: the least is ${min}`)
    return this.#betweenBlocks(() => {
      this.#parts.overrides.gasLimit = gas
    })
  }

  setCoinbase(address: Address): Promise<void> {
    return this.#betweenBlocks(() => {
      this.#parts.overrides.coinbase = address
    })
  }

  /** Transactions with a lower maxFeePerGas are refused from now on. */
  setMinGasPrice(wei: bigint): void {
    this.#parts.admission.minGasPrice = wei
  }

  /** Changes the state after the head, visible immediately under `latest` and `pending`. Seals the open block's promises first. */
  edit(change: (world: World) => void): Promise<void> {
    return this.#withFetches(() =>
      this.#betweenBlocks(() => {
        const { history } = this.sealed
        const writes = captureWrites(history.at(history.version), change)
        this.sealed.edit(writes)
        for (const address of writes.accounts.keys()) this.pool.pruneSender(address)
        this.head.announce({ kind: 'edit', view: this.#parts.viewFactory.create(), writes })
      }),
    )
  }

  /** Records the chain, its pool and settings after sealing the open block's promises. Returns the snapshot's id. */
  snapshot(): Promise<string> {
    return this.#betweenBlocks(() => this.#parts.snapshots.create())
  }

  /** The next snapshot has an id above `count`. */
  skipSnapshotIds(count: number): void {
    this.#snapshotCount = Math.max(this.#snapshotCount, count)
  }

  /** Ids of the live snapshots, oldest first, each with its block number. */
  get snapshots(): readonly { readonly id: string; readonly number: number }[] {
    return this.#parts.snapshots.list()
  }

  /** Reverts to a snapshot and deletes it and all later ones. Returns false when the id is unknown. */
  revert(id: string): Promise<boolean> {
    return this.#blockTicker.whilePaused(() => this.#parts.rewinder.revert(id))
  }

  /** Removes the last `depth` blocks and the open block; their transactions do not return to the pool. Throws OutOfRange. */
  rollback(depth: number): Promise<void> {
    return this.#blockTicker.whilePaused(() => this.#parts.rewinder.rollback(depth))
  }

  /**
   * Replaces the last `depth` blocks with as many that have the same timestamps. Each replacement goes into the block that its index (from 0)
   * names; the new blocks hold nothing else. A function is called under the mutex. Throws OutOfRange and UpstreamError. Removal and replacement are two store
   * transactions: if the store refuses the second, the chain has only been shortened. Throws MiningEnded after `endMining`, with the replacements until
   * then sealed.
   */
  reorg(depth: number, transactions: readonly Replacement[] | (() => readonly Replacement[]) = []): Promise<void> {
    return this.#withFetches(() =>
      this.#blockTicker.whilePaused(() =>
        this.#parts.rewinder.reorg(depth, typeof transactions === 'function' ? transactions() : transactions),
      ),
    )
  }

  /** Returns to genesis, with an empty pool, the clock's time and the initial settings, without holds and faults of the schedule. */
  reset(): Promise<void> {
    return this.#blockTicker.whilePaused(() => {
      this.#parts.rewinder.reset()
      this.#parts.admission.minGasPrice = 0n
      this.#beginNewInstance()
    })
  }

  /**
   * Starts again with another first block, with an empty pool and without snapshots, holds and faults of the schedule. The first block's state is
   * fetched before anything changes. `onSwitch` is called with the change, before it is announced. Throws UpstreamError.
   */
  async restart(start: ChainStart, onSwitch: () => void): Promise<void> {
    const parts = this.#open(start, this.head)
    await this.#rehearse([], parts)
    await this.#blockTicker.whilePaused(() => {
      const { sealed, sequencer } = this.#parts
      const removed = sealed.blocksAboveGenesis()
      const retracted = sequencer.abandon()
      this.#parts = parts
      this.time.restart(start.startsAtHeadTime === true ? timestampMsOf(parts.sealed.head) : null)
      this.pool.dropAll()
      this.#beginNewInstance()
      onSwitch()
      this.head.announce({ kind: 'rewind', cause: 'restart', view: parts.viewFactory.create(), removed, retracted })
    })
  }

  /** From now on only another process changes the chain, and there are no snapshots: every other change is refused with this error, also those that wait. */
  beginFollowing(refusal: () => Error): void {
    this.#mutex.refuse(refusal)
    this.#parts.snapshots.clear()
  }

  /** Repeats a change of another process; for a chain that was not started. Rejects as Follower.apply throws. */
  follow(change: ChainChange): Promise<void> {
    return this.#mutex.runExclusive(() => this.#follower.apply(change), true)
  }

  /** Resolves when the changes that were requested before have been made, or have failed. */
  idle(): Promise<void> {
    return this.#mutex.idle()
  }

  /** Ends the following: seals the pending block as promised, or announces it as retracted. `start` then continues. Throws store errors. */
  takeOver(): Promise<void> {
    return this.#mutex.runExclusive(() => {
      this.#mutex.refuse(null)
      this.#follower.takeOver()
    }, true)
  }

  /** Drops the pending block of a chain that follows another process, because a part of it is missing. */
  forgetPending(): Promise<void> {
    return this.#mutex.runExclusive(() => this.#follower.forgetPending(), true)
  }

  /** Makes values of the fork block local, with what the access list of `call` names. Throws UpstreamError. */
  async fetch(keys: readonly MissingKey[], call?: AccessListCall): Promise<void> {
    await this.sealed.history.base?.fetch(keys, call)
  }

  /** Runs `work`, which appends externally built blocks, while block production is paused. Afterwards the head is safe and finalized. */
  async importBlocks(work: (session: ImportSession) => Promise<void>): Promise<void> {
    await this.#blockTicker.whilePaused(async () => {
      this.#parts.sequencer.discard()
      await this.#runImport(work, {
        sealed: this.sealed,
        flush: () => {
          this.sealed.flush()
          // Without persisted state the history keeps every version, because a failed import rewinds to the block before it.
          if (this.sealed.persistedState !== null) this.sealed.prune(this.#parts.snapshots.oldestVersion)
        },
        announce: (block, writes) => {
          this.#parts.viewFactory.markImported(block.header.number)
          this.pool.prune(block.transactions, writes.accounts.keys())
          this.head.announce({ kind: 'block', sealed: true, view: this.#parts.viewFactory.create(), block, writes })
        },
        markKnown: (number) => {
          this.#parts.viewFactory.markImported(number)
          this.head.announce({ kind: 'edit', view: this.#parts.viewFactory.create(), writes: NO_WRITES })
        },
      })
    })
  }

  async #runImport(work: (session: ImportSession) => Promise<void>, session: ImportSession): Promise<void> {
    const { rewindCount } = this.sealed
    try {
      await work(session)
    } catch (error) {
      // The store may have restored the View's state under a new version, so subscribers need a new View.
      const hasMoved = this.sealed.persistedState !== null && this.sealed.rewindCount !== rewindCount
      if (hasMoved)
        this.head.announce({ kind: 'rewind', cause: 'import', view: this.#parts.viewFactory.create(), removed: [], retracted: null })
      throw error
    }
  }

  /** After a reset or a restart: the control of promises ends, and another chain begins. */
  #beginNewInstance(): void {
    this.#instanceId = Hash.keccak(Hex.toBytes(this.#instanceId))
    this.promises.endDelays()
    this.pool.holds.releaseAll()
    this.#blockTicker.endFaults()
  }

  #open(start: ChainStart, head: Head | null): ChainParts {
    return openParts(start, {
      head,
      commits: this.#commits,
      pool: this.pool,
      time: this.time,
      mutex: this.#mutex,
      seed: this.#seed,
      notes: this.#notes,
      cadence: () => this.cadence,
      isWithinSlot: () => this.#blockTicker.isWithinSlot,
      nextViewVersion: () => ++this.#viewCount,
      nextSnapshotId: () => ++this.#snapshotCount,
      isEnding: () => this.#isEnding,
      onWarm: () => this.#submissions.sealWarm(),
      onFetchFailure: (reason, tx) => void this.#submissions.onFetchFailure(reason, tx),
      onBug: this.#onBug,
    })
  }

  /** A block that misses state itself, not in one of its transactions, is built again after the fetch. */
  #onTickError(reason: unknown): void {
    if (!(reason instanceof MissingState)) return this.#onBug(reason)
    if (this.#isFetchingForTick) return
    this.#isFetchingForTick = true
    this.fetch(reason.keys)
      .catch(this.#onBug)
      .finally(() => (this.#isFetchingForTick = false))
  }

  /** For `work` that takes the mutex itself: the mutex is free during each fetch. */
  #withFetches<T>(work: (isLastTry: boolean) => Promise<T> | T): Promise<T> {
    return withFetches(() => this.sealed.history, work)
  }

  /** Fetches what a block of these transactions reads. */
  #rehearse(transactions: readonly Transaction[], { sealed, sequencer } = this.#parts): Promise<void> {
    return prefetch(sealed.history, () => sequencer.rehearse(transactions))
  }

  #recover(promised: Uint8Array | null): OpenBlockRecovery {
    if (promised === null) return { kept: [], retracted: [] }
    const record = OpenBlockRecord.decode(promised)
    const users = record.transactions.slice(record.deposits)
    const hashes = users.map(({ hash }) => hash)
    if (this.#parts.sequencer.recover(record)) return { kept: hashes, retracted: [] }
    this.pool.reinsert(users)
    this.sealed.clearOpenBlockRecord()
    return { kept: [], retracted: hashes }
  }

  /** Seals the open block if it has promises, otherwise discards it; then runs `change`. */
  #betweenBlocks<T>(change: () => T): Promise<T> {
    return this.#blockTicker.whilePaused(() => {
      this.#parts.sequencer.closeBlock()
      return change()
    })
  }
}
