import { LEAST_OP_GAS_LIMIT, STATE_HISTORY_KEPT_BLOCKS } from '../compat.ts'
import type { Address, Block, Hash, Transaction } from '../eth/index.ts'
import type { ChainConfig, World, WriteSet } from '../evm/index.ts'
import { Admission } from './admission.ts'
import type { FeeParameters } from './basefee.ts'
import type { BlockStore } from './blocks.ts'
import { Breath } from './breath.ts'
import { BlockBuilder } from './builder.ts'
import type { BlockAttributes } from './builder.ts'
import type { Cadence } from './cadence.ts'
import type { Clock } from './clock.ts'
import { foundationOf } from './foundation.ts'
import type { Genesis } from './genesis.ts'
import { Head } from './head.ts'
import { Horizon } from './horizon.ts'
import { freshKnobs } from './knobs.ts'
import { Journal } from './journal.ts'
import type { Knobs } from './knobs.ts'
import { SimulatedL1 } from './l1.ts'
import type { L1Options } from './l1.ts'
import { LEAST_GAS_LIMIT, MINED_BLOCKS, MINE_BLOCKS } from './limits.ts'
import { Mempool } from './mempool.ts'
import { Metronome } from './metronome.ts'
import { Rewinds } from './rewinds.ts'
import type { Replacement } from './rewinds.ts'
import type { PoolOrder } from './selection.ts'
import { SealedChain } from './sealed.ts'
import { Sequencer } from './sequencer.ts'
import { Snapshots } from './snapshots.ts'
import { NO_WRITES, writesOf } from './state.ts'
import { ChainTime, timestampMsOf } from './time.ts'
import { Turns } from './turns.ts'

export interface ChainOptions {
  readonly genesis: Genesis
  readonly store: BlockStore
  /** of the store's newest block, when the store was filled from elsewhere and keeps no state; that of older ones is unknown */
  readonly headState?: WriteSet | null
  readonly clock: Clock
  readonly cadence: Cadence
  readonly l1: L1Options
  /** EIP-1559 parameters that go into the extra data of our own blocks */
  readonly feeParameters: FeeParameters
  /** of our own blocks */
  readonly gasLimit: bigint
  readonly coinbase: Address
  readonly order: PoolOrder
  /** what randomness grows from: same seed and same clock, same block hashes */
  readonly seed: string
  /** blocks whose state stays readable; of a store that keeps state, those that memory holds beside it, at most STATE_HISTORY_KEPT_BLOCKS */
  readonly historyBlocks: number
  /** tells this run from another one of the same genesis */
  readonly instanceId: Hash
  /** gets what broke inside although the chain lives on */
  readonly onBug: (error: unknown) => void
}

/** For who appends blocks that somebody else built. */
export interface Adoption {
  readonly sealed: SealedChain
  /** What was appended becomes durable. Throws what the store throws. */
  readonly settle: () => void
  /** What was appended and is durable becomes visible. */
  readonly announce: (block: Block, writes: WriteSet) => void
  /** The chain held block `number` already: an earlier run took it in, and it is as final as then. */
  readonly recognise: (number: number) => void
}

/** What became of the promises that a chain had not sealed when it ended: hashes of users' transactions. */
export interface Recovered {
  /** sealed, exactly as promised */
  readonly kept: readonly Hash[]
  /** taken back; those that still can be wait in the pool */
  readonly retracted: readonly Hash[]
}

/**
 * The chain as one value: its head, its pool, its clock, and every way to move them. Changes take turns; each ends in
 * an event of the head, and a change that throws has changed nothing.
 */
export class Chain {
  readonly head: Head
  readonly pool: Mempool
  readonly clock: Clock
  readonly config: ChainConfig
  readonly genesis: Block
  /** what `reset` goes back to */
  readonly genesisState: WriteSet
  readonly l1: SimulatedL1
  readonly time: ChainTime
  readonly sealed: SealedChain
  readonly instanceId: Hash
  readonly recovered: Recovered
  readonly #turns = new Turns()
  readonly #knobs: Knobs
  readonly #horizon: Horizon
  readonly #snapshots: Snapshots
  readonly #sequencer: Sequencer
  readonly #metronome: Metronome
  readonly #rewinds: Rewinds
  readonly #admission: Admission

  /**
   * Goes on from the newest block of the store, when it holds any; what was promised beyond it is sealed first. Throws OtherGenesis,
   * StateRootMismatch, UnreadableJournal, and what the store throws.
   */
  constructor(options: ChainOptions) {
    const { clock, onBug, seed, store } = options
    const { config, state } = options.genesis
    const { genesis, history } = foundationOf(options.genesis, store, options.headState)
    const historyBlocks = store.kept === null ? options.historyBlocks : Math.min(options.historyBlocks, STATE_HISTORY_KEPT_BLOCKS)
    this.config = config
    this.clock = clock
    this.instanceId = options.instanceId
    this.genesis = genesis
    this.genesisState = state
    this.sealed = new SealedChain(store, history, genesis, state, historyBlocks)
    this.l1 = new SimulatedL1(options.l1, this.genesis.header.timestamp, seed)
    this.time = new ChainTime(clock)
    if (this.sealed.head !== genesis) this.time.sealed(timestampMsOf(this.sealed.head))
    this.pool = new Mempool((address) => history.at(history.version).account(address)?.nonce ?? 0n, options.order)
    this.#knobs = freshKnobs(options)

    const { sealed, l1, time, pool } = this
    const knobs = this.#knobs
    const horizon = new Horizon({ config, sealed, l1, knobs })
    const head = new Head(horizon.view(), onBug)
    const snapshots = new Snapshots({ sealed, pool, time, knobs })
    const sequencer = new Sequencer({
      config,
      sealed,
      snapshots,
      pool,
      l1,
      time,
      knobs,
      seed,
      native: () => this.cadence.kind === 'native',
      withinSlot: () => this.#metronome.isWithinSlot,
      head,
      horizon,
      onBug,
    })
    this.head = head
    this.#horizon = horizon
    this.#snapshots = snapshots
    this.#sequencer = sequencer
    this.#metronome = new Metronome({ clock, turns: this.#turns, sequencer, pool, onBug }, options.cadence)
    this.#rewinds = new Rewinds({
      sealed,
      sequencer,
      snapshots,
      pool,
      time,
      knobs,
      freshKnobs: freshKnobs(options),
      head,
      horizon,
    })
    this.#admission = new Admission({ config, sealed, pool, time, knobs })
    this.recovered = this.#recover(store.promised)
  }

  get cadence(): Cadence {
    return this.#metronome.cadence
  }

  get gasLimit(): bigint {
    return this.#knobs.gasLimit
  }

  /** the most gas that one transaction may have in the next block */
  get mostTransactionGas(): bigint {
    return this.#admission.mostGas
  }

  get coinbase(): Address {
    return this.#knobs.coinbase
  }

  get minGasPrice(): bigint {
    return this.#admission.minGasPrice
  }

  /** Begins to tick. */
  start(): Promise<void> {
    return this.#metronome.start()
  }

  /** Stops ticking; resolves when what was under way has ended. */
  stop(): Promise<void> {
    return this.#metronome.stop()
  }

  /** Changes when blocks come. What is promised is sealed first. */
  setCadence(cadence: Cadence): Promise<void> {
    return this.#between(() => {
      this.#metronome.cadence = cadence
    })
  }

  /**
   * Takes a transaction into the pool and answers its hash. A function makes it when its turn has come, after whatever was
   * submitted before. Under `instant` it resolves when its block is sealed, or at once when it waits for an earlier nonce.
   * Throws PoolError.
   */
  submit(transaction: Transaction | (() => Transaction)): Promise<Hash> {
    return this.#turns.take(async () => {
      const tx = typeof transaction === 'function' ? transaction() : transaction
      this.#admission.admit(tx)
      if (!this.#metronome.isInstant) return tx.hash
      try {
        await this.#metronome.drain()
        return tx.hash
      } catch (error) {
        this.pool.drop(tx.hash)
        throw error
      }
    })
  }

  /** Seals `count` blocks now, each with what is promised and what the pool holds. Answers the newest MINED_BLOCKS of them. */
  mine(count: number, intervalSeconds: number | null = null): Promise<readonly Block[]> {
    if (!Number.isSafeInteger(count) || count < 0 || count > MINE_BLOCKS) {
      throw new RangeError(`cannot mine ${count} blocks at once: the limit is ${MINE_BLOCKS}`)
    }
    return this.#metronome.halted(async () => {
      const sequencer = this.#sequencer
      const blocks: Block[] = []
      const breath = new Breath()
      let left = count
      // What was announced of a block is not for a group, of which nobody hears before its end.
      if (left > 0 && sequencer.isOpen) {
        const block = this.#mineOne()
        if (left-- <= MINED_BLOCKS) blocks.push(block)
      }
      sequencer.hold()
      try {
        for (; left > 0; left--) {
          if (left < count && intervalSeconds !== null) this.time.setNext(this.sealed.head.header.timestamp + intervalSeconds)
          const block = this.#mineOne()
          if (left <= MINED_BLOCKS) blocks.push(block)
          await sequencer.breathe(breath)
        }
      } finally {
        await sequencer.release(breath)
      }
      return blocks
    })
  }

  /** Builds a block of these transactions on the head and forgets it. Throws InvalidTransaction or BlockFull. */
  buildDetached(attributes: BlockAttributes, transactions: readonly Transaction[] | 'pool'): Promise<Block> {
    return this.#metronome.halted(() => {
      const { history, head, blockHash } = this.sealed
      this.#sequencer.discard()
      const version = history.version
      const builder = new BlockBuilder(history, this.config, head, attributes, blockHash)
      try {
        builder.begin()
        const chosen = transactions === 'pool' ? this.pool.selection(builder.baseFeePerGas) : transactions
        for (const tx of chosen) builder.add(tx)
        return builder.seal().block
      } finally {
        builder.release()
        history.rewind(version)
      }
    })
  }

  /** Seals what is promised; then `work` reads the chain while nothing is open. */
  atRest<T>(work: () => T): Promise<T> {
    return this.#between(work)
  }

  nowSeconds(): number {
    return this.time.nowSeconds()
  }

  /** Moves the chain's time on. Answers the whole offset from the clock, in seconds. */
  async increaseTime(seconds: number): Promise<number> {
    await this.#between(() => this.time.increase(seconds * 1_000))
    return Math.round(this.time.offsetMs / 1_000)
  }

  /** Sets the chain's time. Answers the offset from the clock, in seconds. */
  async setTime(timestampSeconds: number): Promise<number> {
    await this.#between(() => this.time.set(timestampSeconds * 1_000))
    return Math.round(this.time.offsetMs / 1_000)
  }

  /** The next block has exactly this timestamp. Throws RangeError when the one before it is not older. */
  setNextTimestamp(timestampSeconds: number): Promise<void> {
    // Asked before as well, because what is promised gets sealed on the way.
    assertLater(timestampSeconds, this.#sequencer.hasPromises ? this.head.view.tagged('pending') : this.sealed.head)
    return this.#between(() => {
      assertLater(timestampSeconds, this.sealed.head)
      this.time.setNext(timestampSeconds)
    })
  }

  /** Each block comes so many seconds after its parent; null: as the clock says. */
  setTimestampInterval(seconds: number | null): Promise<void> {
    return this.#between(() => this.time.setInterval(seconds))
  }

  setNextBaseFee(wei: bigint): Promise<void> {
    return this.#between(() => {
      this.#knobs.nextBaseFee = wei
      this.head.announce({ kind: 'edit', view: this.#horizon.view(), writes: NO_WRITES })
    })
  }

  setNextPrevRandao(hash: Hash): Promise<void> {
    return this.#between(() => {
      this.#knobs.nextPrevRandao = hash
    })
  }

  /** Throws RangeError when a block could not even hold its deposits. */
  setGasLimit(gas: bigint): Promise<void> {
    const least = this.config.op === null ? LEAST_GAS_LIMIT : LEAST_OP_GAS_LIMIT
    if (gas < least) throw new RangeError(`a block gas limit of ${gas} is too low: the least is ${least}`)
    return this.#between(() => {
      this.#knobs.gasLimit = gas
    })
  }

  setCoinbase(address: Address): Promise<void> {
    return this.#between(() => {
      this.#knobs.coinbase = address
    })
  }

  /** Nothing that offers less enters the pool from now on. */
  setMinGasPrice(wei: bigint): void {
    this.#admission.minGasPrice = wei
  }

  /** Changes the state after the head, visible at once under latest and pending. What is promised is sealed first. */
  edit(change: (world: World) => void): Promise<void> {
    return this.#between(() => {
      const { history } = this.sealed
      const writes = writesOf(history.at(history.version), change)
      this.sealed.edit(writes)
      for (const address of writes.accounts.keys()) this.pool.pruneSender(address)
      this.head.announce({ kind: 'edit', view: this.#horizon.view(), writes })
    })
  }

  /** Remembers the chain as it stands, with what is promised sealed. Answers the id to go back with. */
  async snapshot(): Promise<string> {
    let id = ''
    await this.#between(() => {
      id = this.#snapshots.take()
    })
    return id
  }

  /** The ids of the snapshots that one can go back to, oldest first, each with its block's number. */
  get snapshots(): readonly { readonly id: string; readonly number: number }[] {
    return this.#snapshots.list()
  }

  /** Goes back to a snapshot; it and all later ones are used up. False: there is no such snapshot. */
  revert(id: string): Promise<boolean> {
    return this.#metronome.halted(() => this.#rewinds.revert(id))
  }

  /** Forgets the last `depth` blocks and all that is promised; their transactions do not come back. Throws RangeError. */
  rollback(depth: number): Promise<void> {
    return this.#metronome.halted(() => this.#rewinds.rollback(depth))
  }

  /**
   * Replaces the last `depth` blocks by as many others with the same timestamps. `transactions` go into the new block
   * whose place, counted from 0, they name; nothing else does. A function makes them while the head stands still. Throws
   * RangeError. Going back and going on are two steps of the store: when it refuses the second one, the chain has only gone back.
   */
  reorg(depth: number, transactions: readonly Replacement[] | (() => readonly Replacement[]) = []): Promise<void> {
    return this.#metronome.halted(() => this.#rewinds.reorg(depth, typeof transactions === 'function' ? transactions() : transactions))
  }

  /** Back to genesis, with an empty pool, the clock's own time and fresh settings. */
  reset(): Promise<void> {
    return this.#metronome.halted(() => {
      this.#rewinds.reset()
      this.#admission.minGasPrice = 0n
    })
  }

  /** Appends blocks that somebody else built; `work` gets the sealed chain to itself. Afterwards the head is safe and final. */
  async adopt(work: (adoption: Adoption) => Promise<void>): Promise<void> {
    await this.#metronome.halted(async () => {
      this.#sequencer.discard()
      await this.#adopt(work, {
        sealed: this.sealed,
        settle: () => {
          this.sealed.flush()
          // Memory alone forgets nothing that it may have to go back to.
          if (this.sealed.kept !== null) this.sealed.prune(this.#snapshots.oldestVersion)
        },
        announce: (block, writes) => {
          this.#horizon.imported(block.header.number)
          this.pool.prune(block.transactions, writes.accounts.keys())
          this.head.announce({ kind: 'block', sealed: true, view: this.#horizon.view(), block, writes })
        },
        recognise: (number) => {
          this.#horizon.imported(number)
          this.head.announce({ kind: 'edit', view: this.#horizon.view(), writes: NO_WRITES })
        },
      })
    })
  }

  async #adopt(work: (adoption: Adoption) => Promise<void>, adoption: Adoption): Promise<void> {
    const { rewinds } = this.sealed
    try {
      await work(adoption)
    } catch (error) {
      // What the View stands on may have been forgotten on the way, and come again under another version.
      const hasMoved = this.sealed.kept !== null && this.sealed.rewinds !== rewinds
      if (hasMoved) this.head.announce({ kind: 'rewind', view: this.#horizon.view(), removed: [], retracted: null })
      throw error
    }
  }

  #mineOne(): Block {
    if (!this.#sequencer.isOpen) this.#sequencer.open()
    this.#sequencer.fill()
    return this.#sequencer.seal()
  }

  #recover(promised: Uint8Array | null): Recovered {
    if (promised === null) return { kept: [], retracted: [] }
    const journal = Journal.decode(promised)
    const users = journal.transactions.slice(journal.deposits)
    const hashes = users.map(({ hash }) => hash)
    if (this.#sequencer.recover(journal)) return { kept: hashes, retracted: [] }
    this.pool.putBack(users)
    this.sealed.unpromise()
    return { kept: [], retracted: hashes }
  }

  /** A change between two blocks: what is promised is sealed, what is only begun is given up, and then work goes on. */
  #between<T>(change: () => T): Promise<T> {
    return this.#metronome.halted(() => {
      if (this.#sequencer.hasPromises) this.#sequencer.seal()
      else this.#sequencer.discard()
      return change()
    })
  }
}

function assertLater(timestampSeconds: number, { header }: Block): void {
  if (timestampSeconds > header.timestamp) return
  throw new RangeError(`Timestamp error: ${timestampSeconds} is lower than or equal to previous block's timestamp ${header.timestamp}`)
}
