import type { Address, Block, Hash, Transaction } from '../eth/index.ts'
import { World, rulesAt } from '../evm/index.ts'
import type { ChainConfig, WriteSet } from '../evm/index.ts'
import { FINALIZED_EPOCHS, SAFE_EPOCHS } from '../compat.ts'
import { nextBaseFee } from './basefee.ts'
import type { FeeParameters } from './basefee.ts'
import type { BlockStore } from './blocks.ts'
import { BlockBuilder } from './builder.ts'
import type { BlockAttributes } from './builder.ts'
import type { Cadence } from './cadence.ts'
import { RealClock } from './clock.ts'
import type { Clock } from './clock.ts'
import { LEAST_OP_GAS_LIMIT, SYSTEM_DEPOSIT_GAS } from './deposits.ts'
import { genesisBlock } from './genesis.ts'
import type { Genesis } from './genesis.ts'
import { Head } from './head.ts'
import { SimulatedL1 } from './l1.ts'
import type { L1Options } from './l1.ts'
import { LEAST_GAS_LIMIT, MINE_BLOCKS, MINE_BREATH_BLOCKS, REORG_BLOCKS, SNAPSHOTS } from './limits.ts'
import { Mempool } from './mempool.ts'
import type { PoolOrder } from './mempool.ts'
import { SealedChain } from './sealed.ts'
import { Sequencer } from './sequencer.ts'
import type { Knobs } from './sequencer.ts'
import { StateHistory } from './state.ts'
import { ChainTime } from './time.ts'
import type { TimeMark } from './time.ts'
import { Turns } from './turns.ts'
import { assertEnters } from './validation.ts'
import { View } from './view.ts'

export interface ChainOptions {
  readonly genesis: Genesis
  readonly store: BlockStore
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
  /** blocks whose state stays readable */
  readonly historyBlocks: number
  /** tells this run from another one of the same genesis */
  readonly instanceId: Hash
  /** gets what broke inside although the chain lives on */
  readonly onBug: (error: unknown) => void
}

/** The builder leaves this much of a slot to everybody else. */
const BUILD_SHARE = 0.75

const NO_WRITES: WriteSet = { accounts: new Map(), storage: new Map(), codes: new Map() }

interface Snapshot {
  readonly number: number
  readonly version: number
  readonly time: TimeMark
  readonly pool: readonly Transaction[]
  readonly knobs: Knobs
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
  readonly l1: SimulatedL1
  readonly time: ChainTime
  readonly sealed: SealedChain
  readonly instanceId: Hash
  readonly #options: ChainOptions
  readonly #turns = new Turns()
  readonly #sequencer: Sequencer
  readonly #snapshots = new Map<string, Snapshot>()
  #knobs: Knobs
  #cadence: Cadence
  #minGasPrice = 0n
  #snapshotCount = 0
  #viewVersion = 0
  #importedNumber = 0
  #running = false
  #cancelTimer: (() => void) | null = null
  #slotStartMs = 0
  #slotEndMs = Number.POSITIVE_INFINITY

  constructor(options: ChainOptions) {
    const history = new StateHistory(options.genesis.state)
    this.#options = options
    this.config = options.genesis.config
    this.clock = options.clock
    this.instanceId = options.instanceId
    this.genesis = genesisBlock(options.genesis, history)
    this.sealed = new SealedChain(options.store, history, this.genesis, options.historyBlocks)
    this.l1 = new SimulatedL1(options.l1, this.genesis.header.timestamp, options.seed)
    this.time = new ChainTime(options.clock)
    this.#cadence = options.cadence
    this.#knobs = this.#freshKnobs()
    this.pool = new Mempool((address) => history.at(history.version).account(address)?.nonce ?? 0n, options.order)
    this.head = new Head(this.#view(null, -1), options.onBug)
    this.#sequencer = new Sequencer({
      config: this.config,
      sealed: this.sealed,
      pool: this.pool,
      l1: this.l1,
      time: this.time,
      knobs: this.#knobs,
      seed: options.seed,
      native: () => this.#cadence.kind === 'native',
      withinSlot: () => this.clock.nowMs() < this.#slotEndMs,
      head: this.head,
      view: (pending, index) => this.#view(pending, index),
      onBug: options.onBug,
    })
  }

  get cadence(): Cadence {
    return this.#cadence
  }

  get gasLimit(): bigint {
    return this.#knobs.gasLimit
  }

  get coinbase(): Address {
    return this.#knobs.coinbase
  }

  get minGasPrice(): bigint {
    return this.#minGasPrice
  }

  /** Begins to tick. */
  start(): Promise<void> {
    this.#running = true
    return this.#turns.take(() => this.#resume())
  }

  /** Stops ticking; resolves when what was under way has ended. */
  async stop(): Promise<void> {
    this.#running = false
    this.#pause()
    await this.#turns.idle()
  }

  /** Changes when blocks come. What is promised is sealed first. */
  setCadence(cadence: Cadence): Promise<void> {
    return this.#between(() => {
      this.#cadence = cadence
    })
  }

  /**
   * Takes a transaction into the pool. Under `instant` it resolves when its block is sealed, or at once when it waits
   * for an earlier nonce. Throws PoolError.
   */
  submit(tx: Transaction): Promise<void> {
    return this.#turns.take(async () => {
      this.#admit(tx)
      if (this.#cadence.kind !== 'instant' || !this.#running) return
      try {
        await this.#drain()
      } catch (error) {
        this.pool.drop(tx.hash)
        throw error
      }
    })
  }

  /** Seals `count` blocks now, each with what is promised and what the pool holds. Answers them. */
  mine(count: number, intervalSeconds: number | null = null): Promise<readonly Block[]> {
    if (!Number.isSafeInteger(count) || count < 0 || count > MINE_BLOCKS) {
      throw new RangeError(`cannot mine ${count} blocks at once: the limit is ${MINE_BLOCKS}`)
    }
    return this.#halted(async () => {
      const blocks: Block[] = []
      for (let i = 0; i < count; i++) {
        if (i > 0 && intervalSeconds !== null) this.time.setNext(this.sealed.head.header.timestamp + intervalSeconds)
        if (!this.#sequencer.isOpen) await this.#sequencer.open()
        await this.#sequencer.fill()
        blocks.push(await this.#seal())
        // Sealing never waits for anything, so nobody would be answered before the last block.
        if (blocks.length % MINE_BREATH_BLOCKS === 0) await new Promise<void>((resolve) => setImmediate(resolve))
      }
      return blocks
    })
  }

  /** Builds a block of these transactions on the head and forgets it. Throws InvalidTransaction. */
  buildDetached(attributes: BlockAttributes, transactions: readonly Transaction[] | 'pool'): Promise<Block> {
    return this.#halted(async () => {
      const { history, store, head } = this.sealed
      this.#sequencer.discard()
      const version = history.version
      try {
        const builder = new BlockBuilder(history, this.config, head, attributes, (n) => store.byNumber(n)?.hash ?? null)
        await builder.begin()
        const chosen = transactions === 'pool' ? this.#bestOf(builder.baseFeePerGas) : transactions
        for (const tx of chosen) await builder.add(tx)
        return (await builder.seal()).block
      } finally {
        history.rewind(version)
      }
    })
  }

  nowSeconds(): number {
    return Math.floor(this.time.nowMs() / 1_000)
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
      this.head.announce({ kind: 'edit', view: this.#view(null, -1), writes: NO_WRITES })
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
    this.#minGasPrice = wei
  }

  /** Changes the state after the head, visible at once under latest and pending. What is promised is sealed first. */
  edit(change: (world: World) => void): Promise<void> {
    return this.#between(() => {
      const { history } = this.sealed
      const world = new World(history.at(history.version))
      change(world)
      const writes = world.writes()
      history.apply(writes)
      this.sealed.edited()
      for (const address of writes.accounts.keys()) this.pool.pruneSender(address)
      this.head.announce({ kind: 'edit', view: this.#view(null, -1), writes })
    })
  }

  /** Remembers the chain as it stands, with what is promised sealed. Answers the id to go back with. */
  async snapshot(): Promise<string> {
    let id = ''
    await this.#between(() => {
      id = `0x${(++this.#snapshotCount).toString(16)}`
      this.#snapshots.set(id, {
        number: this.sealed.head.header.number,
        version: this.sealed.headVersion,
        time: this.time.mark(),
        pool: this.pool.all(),
        knobs: { ...this.#knobs },
      })
      const oldest = this.#snapshots.keys().next().value
      if (this.#snapshots.size > SNAPSHOTS && oldest !== undefined) this.#snapshots.delete(oldest)
    })
    return id
  }

  /** The ids of the snapshots that one can go back to, oldest first, each with its block's number. */
  get snapshots(): readonly { readonly id: string; readonly number: number }[] {
    return [...this.#snapshots].map(([id, { number }]) => ({ id, number }))
  }

  /** Goes back to a snapshot; it and all later ones are used up. False: there is no such snapshot. */
  revert(id: string): Promise<boolean> {
    return this.#halted(() => {
      const snapshot = this.#snapshots.get(id)
      if (snapshot === undefined) return false
      for (const other of [...this.#snapshots.keys()]) if (BigInt(other) >= BigInt(id)) this.#snapshots.delete(other)
      this.time.restore(snapshot.time)
      Object.assign(this.#knobs, snapshot.knobs)
      this.#rewind(snapshot.number, snapshot.version, () => {
        this.pool.dropAll()
        for (const tx of snapshot.pool) this.pool.add(tx)
      })
      return true
    })
  }

  /** Forgets the last `depth` blocks and all that is promised; their transactions do not come back. Throws RangeError. */
  rollback(depth: number): Promise<void> {
    return this.#halted(() => {
      this.#assertDepth(depth)
      this.#rewindBlocks(depth)
    })
  }

  /**
   * Replaces the last `depth` blocks by as many others with the same timestamps. `transactions` go into the new block
   * whose place, counted from 0, they name; nothing else does. Throws RangeError.
   */
  reorg(depth: number, transactions: readonly { readonly tx: Transaction; readonly block: number }[] = []): Promise<void> {
    return this.#halted(async () => {
      this.#assertDepth(depth)
      for (const { block } of transactions) {
        if (block < 0 || block >= depth) throw new RangeError(`block ${block} is outside a reorg of ${depth} blocks`)
      }
      const removed = this.#rewindBlocks(depth)
      this.#knobs.salt++
      for (const [place, old] of [...removed].reverse().entries()) {
        const chosen = transactions.filter(({ block }) => block === place).map(({ tx }) => tx)
        await this.#sequencer.replace(old.timestampMs ?? old.header.timestamp * 1_000, chosen)
      }
    })
  }

  /** Back to genesis, with an empty pool, the clock's own time and fresh settings. */
  reset(): Promise<void> {
    return this.#halted(() => {
      this.#snapshots.clear()
      this.#minGasPrice = 0n
      this.#importedNumber = 0
      Object.assign(this.#knobs, this.#freshKnobs())
      this.time.set(this.clock.nowMs())
      this.time.setInterval(null)
      this.#goBack(
        0,
        () => this.sealed.restart(this.#options.genesis.state),
        () => this.pool.dropAll(),
      )
    })
  }

  /** Appends blocks that somebody else built; `work` gets the sealed chain to itself. Afterwards the head is safe and final. */
  async adopt(work: (sealed: SealedChain, announce: (block: Block, writes: WriteSet) => void) => Promise<void>): Promise<void> {
    await this.#halted(async () => {
      this.#sequencer.discard()
      await work(this.sealed, (block, writes) => {
        this.#importedNumber = block.header.number
        const view = this.#view(null, -1)
        this.head.announce({ kind: 'block', sealed: true, view, block, writes })
      })
    })
  }

  #admit(tx: Transaction): void {
    const { history } = this.sealed
    const next = this.sealed.head.header.number + 1
    this.pool.assertNew(tx)
    assertEnters(tx, {
      config: this.config,
      rules: rulesAt(this.config, next, Math.max(this.nowSeconds(), this.sealed.head.header.timestamp + 1)),
      state: history.at(history.version),
      gasLimit: this.gasLimit - (this.config.op === null ? 0n : SYSTEM_DEPOSIT_GAS),
      minGasPrice: this.#minGasPrice,
    })
    this.pool.add(tx)
  }

  /** instant: a block for each transaction that can go, one by one */
  async #drain(): Promise<void> {
    while (this.pool.selection(this.#nextBaseFee()).peek() !== null) {
      const waiting = this.pool.size
      await this.#sequencer.open()
      if ((await this.#sequencer.fill(1)) > 0) await this.#seal()
      else this.#sequencer.discard()
      if (this.pool.size === waiting) return
    }
  }

  #nextBaseFee(): bigint {
    const { header } = this.sealed.head
    const rules = rulesAt(this.config, header.number + 1, header.timestamp + 1)
    return this.#knobs.nextBaseFee ?? nextBaseFee(header, this.config, rules) ?? 0n
  }

  #bestOf(baseFee: bigint): Transaction[] {
    const selection = this.pool.selection(baseFee)
    const chosen: Transaction[] = []
    for (let tx = selection.peek(); tx !== null; tx = selection.peek()) {
      chosen.push(tx)
      selection.take()
    }
    return chosen
  }

  /** A change between two blocks: what is promised is sealed, what is only begun is given up, and then work goes on. */
  #between(change: () => void): Promise<void> {
    return this.#halted(async () => {
      if (this.#sequencer.hasPromises) await this.#seal()
      else this.#sequencer.discard()
      change()
    })
  }

  /** A turn during which nothing ticks; however it ends, ticking goes on. */
  #halted<T>(work: () => Promise<T> | T): Promise<T> {
    return this.#turns.take(async () => {
      this.#pause()
      try {
        return await work()
      } finally {
        await this.#resume()
      }
    })
  }

  async #seal(): Promise<Block> {
    const block = await this.#sequencer.seal()
    const oldest = this.#snapshots.values().next().value
    this.sealed.prune(oldest?.version ?? Number.POSITIVE_INFINITY)
    return block
  }

  #rewindBlocks(depth: number): readonly Block[] {
    const number = this.sealed.head.header.number - depth
    for (const [id, snapshot] of this.#snapshots) if (snapshot.number > number) this.#snapshots.delete(id)
    return this.#rewind(number, this.sealed.versionAfter(number), () => undefined)
  }

  #rewind(number: number, version: number, settle: () => void): readonly Block[] {
    return this.#goBack(number, () => this.sealed.rewind(number, version), settle)
  }

  #goBack(number: number, go: () => readonly Block[], settle: () => void): readonly Block[] {
    const retracted = this.#sequencer.forget()
    const removed = go()
    this.#importedNumber = Math.min(this.#importedNumber, number)
    settle()
    this.head.announce({ kind: 'rewind', view: this.#view(null, -1), removed, retracted })
    return removed
  }

  #assertDepth(depth: number): void {
    const height = this.sealed.head.header.number
    if (!Number.isSafeInteger(depth) || depth < 1 || depth > height || depth > REORG_BLOCKS) {
      throw new RangeError(`cannot go back ${depth} blocks: the chain has ${height}, the limit is ${REORG_BLOCKS}`)
    }
    if (height - depth < this.sealed.oldestState()) {
      throw new RangeError(`cannot go back ${depth} blocks: state is kept from block ${this.sealed.oldestState()} on`)
    }
  }

  #pause(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = null
    this.#slotEndMs = Number.POSITIVE_INFINITY
  }

  /** Goes on as the cadence says, from a sealed head. Never throws. */
  async #resume(): Promise<void> {
    if (!this.#running || this.#cancelTimer !== null) return
    try {
      const { kind } = this.#cadence
      if (kind === 'instant') await this.#drain()
      if (kind === 'native') this.#beginNative()
      if (kind === 'preconf') await this.#beginPreconf(this.clock.nowMs())
    } catch (error) {
      this.#recover(error)
    }
  }

  /** A tick broke: it is reported, its block is given up, and the next slot begins another one. */
  #recover(error: unknown): void {
    this.#options.onBug(error)
    this.#pause()
    const slotMs = slotMsOf(this.#cadence)
    if (slotMs !== null) this.#schedule(this.clock.nowMs() + slotMs, () => this.#resume())
  }

  #beginNative(): void {
    if (this.#cadence.kind !== 'native') return
    const { blockTimeMs } = this.#cadence
    const now = this.clock.nowMs()
    const next = now - (now % blockTimeMs) + blockTimeMs
    this.#schedule(next, async () => {
      this.#slotEndMs = this.#deadline(blockTimeMs)
      await this.#sequencer.open()
      await this.#sequencer.fill()
      await this.#seal()
      await this.#resume()
    })
  }

  /** A block that is still open keeps its slots. */
  async #beginPreconf(startMs: number): Promise<void> {
    if (!this.#sequencer.isOpen) {
      this.#slotStartMs = startMs
      await this.#sequencer.open()
    }
    this.#schedulePreconf()
  }

  /** The next slot that is not over yet; of a block that is late, the last. */
  #schedulePreconf(): void {
    if (this.#cadence.kind !== 'preconf') return
    const { blockTimeMs, flashblockMs } = this.#cadence
    const slots = Math.max(1, Math.round(blockTimeMs / flashblockMs))
    const passed = Math.floor(((this.clock.nowMs() - this.#slotStartMs) * slots) / blockTimeMs)
    const slot = Math.min(slots, Math.max(0, passed) + 1)
    this.#schedule(this.#slotStartMs + (slot * blockTimeMs) / slots, () => this.#flashblock(slots, blockTimeMs))
  }

  /** One tick: the flashblock of this slot; after the last one the block is sealed and the next one opens at once. */
  async #flashblock(slots: number, blockTimeMs: number): Promise<void> {
    const slotMs = blockTimeMs / slots
    const slot = Math.min(slots, Math.max(1, Math.round((this.clock.nowMs() - this.#slotStartMs) / slotMs)))
    this.#slotEndMs = this.#deadline(slotMs)
    await this.#sequencer.flash(slot, slots)
    if (slot < slots) return this.#schedulePreconf()
    await this.#seal()
    const due = this.#slotStartMs + blockTimeMs
    await this.#beginPreconf(this.clock.nowMs() - due > blockTimeMs ? this.clock.nowMs() : due)
  }

  #deadline(slotMs: number): number {
    return this.clock instanceof RealClock ? this.clock.nowMs() + slotMs * BUILD_SHARE : Number.POSITIVE_INFINITY
  }

  #schedule(timeMs: number, run: () => Promise<void>): void {
    if (!this.#running) return
    const cancel = this.clock.at(timeMs, () =>
      this.#turns.take(async () => {
        if (this.#cancelTimer !== cancel) return
        this.#cancelTimer = null
        try {
          await run()
        } catch (error) {
          this.#recover(error)
        }
      }),
    )
    this.#cancelTimer = cancel
  }

  #freshKnobs(): Knobs {
    const { gasLimit, coinbase, feeParameters } = this.#options
    return { gasLimit, coinbase, feeParameters, nextBaseFee: null, nextPrevRandao: null, salt: 0 }
  }

  #view(pending: Block | null, flashblockIndex: number): View {
    const { history, head, headVersion, store, rewinds, retractions } = this.sealed
    return new View({
      version: ++this.#viewVersion,
      config: this.config,
      head,
      pending,
      flashblockIndex,
      safeNumber: this.#behind(SAFE_EPOCHS),
      finalizedNumber: this.#behind(FINALIZED_EPOCHS),
      blocks: store,
      history,
      headVersion,
      pendingVersion: history.version,
      nextBaseFee: this.#knobs.nextBaseFee,
      versionAfter: (number) => this.sealed.versionAfter(number),
      isRewound: () => this.sealed.rewinds !== rewinds,
      isRetracted: () => this.sealed.retractions !== retractions,
    })
  }

  /** The newest block whose L1 origin is `epochs` older than the head's; what was imported is final. */
  #behind(epochs: number): number {
    const { head, store } = this.sealed
    const limit = this.l1.epochStart(this.l1.epoch(head.header.timestamp) - epochs + 1)
    let low = this.#importedNumber
    let high = head.header.number
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if (store.byNumber(middle)!.header.timestamp < limit) low = middle
      else high = middle - 1
    }
    return low
  }
}

/** How long a cadence waits before it tries again; null: until somebody asks for a block. */
function slotMsOf(cadence: Cadence): number | null {
  if (cadence.kind === 'preconf') return cadence.flashblockMs
  return cadence.kind === 'native' ? cadence.blockTimeMs : null
}

function assertLater(timestampSeconds: number, { header }: Block): void {
  if (timestampSeconds > header.timestamp) return
  throw new RangeError(`Timestamp error: ${timestampSeconds} is lower than or equal to previous block's timestamp ${header.timestamp}`)
}
