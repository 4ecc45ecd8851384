import type { Block, Hash } from '../eth/index.ts'
import type { ChainParts } from './chainparts.ts'
import { MINED_BLOCKS, MINE_BLOCKS } from './limits.ts'
import { MiningEnded } from './miningended.ts'
import { OutOfRange } from './outofrange.ts'
import type { Mempool } from './pool/mempool.ts'
import type { Cadence } from './sequencing/cadence.ts'
import type { ChainTime } from './sequencing/chaintime.ts'
import type { Clock } from './sequencing/clock.ts'
import { ColdTransactions } from './sequencing/warmup.ts'
import { TimeSlice } from './timeslice.ts'

interface MiningDeps {
  readonly clock: Clock
  readonly cadence: () => Cadence
  readonly time: ChainTime
  readonly pool: Mempool
  readonly isEnding: () => boolean
  readonly onMining: (mined: number, count: number) => void
}

/** Parameters of Chain.mine. */
interface MiningRequest {
  readonly count: number
  readonly intervalSeconds: number | null
  readonly first: number | 'interval' | null
}

/**
 * One call of `mine`. A run that misses state of a fork throws before it seals the block concerned; the next run, after the fetch, continues
 * with that block. The caller holds the mutex during a run and releases it for the fetch.
 */
export class Mining {
  readonly #deps: MiningDeps
  readonly #request: MiningRequest
  readonly #blocks: Block[] = []
  #left: number
  /** On a fork: the transactions that were submitted before. They are mined when their state is local. */
  #awaited: ReadonlySet<Hash> | null = null
  /** The time of the first try of a block: a slot that it misses may depend on its timestamp. */
  #triedMs: number | null = null

  /** Throws OutOfRange for too many blocks. */
  constructor(deps: MiningDeps, request: MiningRequest) {
    const { count } = request
    if (!Number.isSafeInteger(count) || count < 0 || count > MINE_BLOCKS) {
      throw new OutOfRange(`cannot mine ${count} blocks at once: the limit is ${MINE_BLOCKS}`)
    }
    this.#deps = deps
    this.#request = request
    this.#left = count
  }

  /**
   * Seals the blocks that are left. The last try does not wait for transactions whose state is not local, and neither does one shortly before the
   * schedule's blocks reach the timestamp of the first block. Throws ColdTransactions and MissingState.
   */
  async run(parts: ChainParts, isLastTry: boolean): Promise<readonly Block[]> {
    try {
      return await this.#run(parts, isLastTry || this.#leftMs <= 0)
    } catch (error) {
      if (!(error instanceof ColdTransactions) || this.#leftMs === Number.POSITIVE_INFINITY) throw error
      throw new ColdTransactions(this.#inTime(error.settled))
    }
  }

  async #run(parts: ChainParts, isLastTry: boolean): Promise<readonly Block[]> {
    const timeSlice = new TimeSlice()
    const { sequencer, warmup } = parts
    this.#awaited ??= new Set(warmup === null ? [] : this.#deps.pool.all().map(({ hash }) => hash))
    if (isLastTry) this.#awaited = new Set()
    if (this.#left === 0) return this.#sealRest(parts, timeSlice, null)
    const { first, count } = this.#request
    const isFirst = first !== null && this.#left === count
    if (isFirst && first !== 'interval') assertSettable(first, parts)
    warmup?.assertWarm(this.#awaited)
    if (isFirst) sequencer.closeBlock()
    const { time } = this.#deps
    this.#triedMs ??= time.nowMs()
    const firstTimestamp = first === 'interval' ? time.asOf(this.#triedMs, () => this.#timeAfterInterval(parts)) : first
    // The open block's flashblocks are announced already, so it is sealed and flushed on its own, before the group commit.
    if (sequencer.hasOpenBlock) this.#seal(parts, null)
    return this.#sealRest(parts, timeSlice, firstTimestamp)
  }

  /** The time until the open block may have the timestamp of the first block; Infinity without such a timestamp, and without a schedule. */
  get #leftMs(): number {
    const { time, cadence } = this.#deps
    const schedule = cadence()
    const { first, count } = this.#request
    if (typeof first !== 'number' || this.#left < count || schedule.kind === 'manual') return Number.POSITIVE_INFINITY
    // The submission seals the transaction itself, at the time when its state is local.
    if (schedule.kind === 'instant') return 0
    return (first - 1) * 1_000 - schedule.blockTimeMs - time.nowMs()
  }

  #inTime(settled: Promise<unknown>): Promise<unknown> {
    const { clock } = this.#deps
    let cancel = (): void => undefined
    const due = new Promise<void>((resolve) => (cancel = clock.at(clock.nowMs() + this.#leftMs, resolve)))
    return Promise.race([due, settled.finally(cancel)])
  }

  /** Seals the blocks as a group commit. */
  async #sealRest(parts: ChainParts, timeSlice: TimeSlice, firstTimestamp: number | null): Promise<readonly Block[]> {
    const { sequencer, sealed } = parts
    const { isEnding, onMining } = this.#deps
    const { count } = this.#request
    const apartSeconds = this.#apartSeconds
    let isReported = false
    sequencer.beginGroupCommit()
    try {
      while (this.#left > 0) {
        if (isEnding() && count > 1)
          throw new MiningEnded(`${count - this.#left} of ${count} blocks were mined: mine the rest when it runs again`)
        this.#seal(parts, this.#left === count ? firstTimestamp : timestampAfter(sealed.head, apartSeconds))
        if (!timeSlice.isExpired) continue
        await sequencer.flushIfExpired(timeSlice)
        if (this.#left === 0) continue
        onMining(count - this.#left, count)
        isReported = true
      }
    } finally {
      // A block that misses state is mined after the fetch.
      sequencer.discard()
      await sequencer.endGroupCommit(timeSlice)
      if (isReported) onMining(count - this.#left, count - this.#left)
    }
    return this.#blocks
  }

  /** Seals the next block. `null`: at the chain's time. */
  #seal(parts: ChainParts, timestampSeconds: number | null): void {
    const { time } = this.#deps
    this.#triedMs ??= time.nowMs()
    const block = timestampSeconds === null ? this.#sealAsOf(parts, this.#triedMs) : this.#sealAt(parts, timestampSeconds)
    this.#triedMs = null
    if (this.#left-- <= MINED_BLOCKS) this.#blocks.push(block)
  }

  /** Keeps the time settings if no block is sealed. */
  #sealAt(parts: ChainParts, timestampSeconds: number): Block {
    const { time } = this.#deps
    const restoreTime = time.checkpoint()
    time.setNext(timestampSeconds)
    try {
      return this.#sealAsOf(parts, time.nowMs())
    } catch (error) {
      restoreTime()
      throw error
    }
  }

  /** Throws ColdTransactions, before the seal, if the block leaves out some of those awaited because they missed state. */
  #sealAsOf({ sequencer, warmup }: ChainParts, nowMs: number): Block {
    if (!sequencer.hasOpenBlock) this.#deps.time.asOf(nowMs, () => sequencer.openBlock())
    sequencer.includeFromPool()
    if (this.#awaited !== null) warmup?.assertWarm(this.#awaited)
    return sequencer.seal()
  }

  /** `null` if an interval is set for all blocks of the chain. */
  get #apartSeconds(): number | null {
    return this.#deps.time.intervalSeconds === null ? this.#request.intervalSeconds : null
  }

  /** The chain's time plus the interval; `null` without one, and if the next block's timestamp is set. */
  #timeAfterInterval({ sealed }: ChainParts): number | null {
    const { time } = this.#deps
    const seconds = this.#apartSeconds
    if (seconds === null || time.snapshot().nextSeconds !== null) return null
    return Math.max(time.nowSeconds(), sealed.head.header.timestamp) + seconds
  }
}

/** Throws OutOfRange for a timestamp that the next block cannot have. */
export function assertSettable(timestampSeconds: number, { sequencer, head, sealed }: ChainParts): void {
  assertLater(timestampSeconds, sequencer.hasPromises ? head.view.byTag('pending') : sealed.head)
}

/** Throws OutOfRange unless the timestamp is above that of the block. */
export function assertLater(timestampSeconds: number, { header }: Block): void {
  if (timestampSeconds > header.timestamp) return
  throw new OutOfRange(`Timestamp error: ${timestampSeconds} is lower than or equal to previous block's timestamp ${header.timestamp}`)
}

function timestampAfter({ header }: Block, intervalSeconds: number | null): number | null {
  return intervalSeconds === null ? null : header.timestamp + intervalSeconds
}
