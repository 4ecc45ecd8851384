import { ChangeGap } from '../chain/index.ts'
import type { Chain, ChainChange } from '../chain/index.ts'
import type { Bus } from './bus.ts'
import type { Database, Position } from './database.ts'
import { FleetError } from './errors.ts'
import { readBlocks } from './readblocks.ts'
import { Frame } from './frame.ts'
import type { Heartbeat } from './frame.ts'
import { HEARTBEAT } from './framepublisher.ts'
import { Lag } from './lag.ts'
import { CAPTURE_MS, COMMIT_RETRY_MS, REPAIRED_FRAMES, WAITING_FRAMES } from './limits.ts'

interface FollowerDeps {
  readonly bus: Pick<Bus, 'fetch' | 'subscribe'>
  readonly database: Pick<Database, 'blocks' | 'hashOf' | 'position'>
  /** Receives an internal error; the replica reads the chain from the database again. */
  readonly onError: (error: unknown) => void
}

/** Counters of a replica. */
export interface FollowerCounts {
  /** Frames that were applied. */
  readonly frames: number
  /** Times that frames were missing. */
  readonly gaps: number
  /** Frames that were fetched again. */
  readonly repairedFrames: number
  /** Times that the chain was read from the database while the replica ran. */
  readonly resyncs: number
  /** Frames of a deposed sequencer. */
  readonly staleFrames: number
}

/**
 * Applies the sequencer's frames to a replica's chain, each once and in order. Missing frames are fetched again, and the pending block is dropped until
 * they are there; a replica that is too far behind reads the blocks from the database.
 */
export class FrameFollower {
  readonly #deps: FollowerDeps
  readonly #waiting = new Map<number, { readonly epoch: number; readonly frame: Frame }>()
  readonly #unsubscribe: () => void
  readonly counts = { frames: 0, gaps: 0, repairedFrames: 0, resyncs: 0, staleFrames: 0 }
  readonly #barriers: { readonly epoch: number; readonly frame: number; readonly resolve: () => void }[] = []
  readonly #epochListeners = new Set<() => void>()
  #chain: Chain | null = null
  #epoch = 0
  #next = 1
  /** The first frame of the open block, or the next one without an open block. */
  #openFrame = 1
  /** The commit that the chain was read at: frames of it and of earlier ones are in it. */
  #readCommit = 0
  #work: Promise<void> = Promise.resolve()
  #isWorking = false
  #needsResync = false
  #isFinishing = false
  #isClosed = false
  /** From heartbeats. */
  #newestKnown = 0
  #hasGap = false
  /** Milliseconds by the local clock; of the newest frame or heartbeat. */
  #lastSeenMs = 0
  #seenEpoch = 0
  readonly #lag = new Lag()

  /** Receives frames from now on; they wait for `start`. */
  constructor(deps: FollowerDeps) {
    this.#deps = deps
    this.#unsubscribe = deps.bus.subscribe((epoch, number, bytes) => this.#receive(epoch, number, bytes))
  }

  get epoch(): number {
    return this.#epoch
  }

  /** The newest epoch of which anything came, also if nothing of it is applied yet. */
  get newestEpoch(): number {
    return Math.max(this.#epoch, this.#seenEpoch)
  }

  /** Milliseconds from the sending of the newest frame to its application, or of a later heartbeat to its receipt. */
  get lagMs(): number {
    return this.#lag.lagMs
  }

  /** Milliseconds since anything came from the sequencer; Infinity before. */
  get silenceMs(): number {
    return this.#lastSeenMs === 0 ? Infinity : performance.now() - this.#lastSeenMs
  }

  /** True while frames are missing. */
  get hasGap(): boolean {
    return this.#hasGap
  }

  /** Begins with a chain that was read from the database at `position`. */
  start(chain: Chain, position: Pick<Position, 'epoch' | 'commit' | 'frame'>): void {
    this.#chain = chain
    this.#continueAt(position)
    this.#schedule()
  }

  /** Calls the listener when another sequencer is followed. Returns the function that ends it. */
  onEpoch(listener: () => void): () => void {
    this.#epochListeners.add(listener)
    return () => this.#epochListeners.delete(listener)
  }

  /** Resolves when the frame, or a later epoch's, is applied. */
  applied(epoch: number, frame: number): Promise<void> {
    if (this.#hasApplied(epoch, frame)) return Promise.resolve()
    return new Promise((resolve) => this.#barriers.push({ epoch, frame, resolve }))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#unsubscribe()
    for (const { resolve } of this.#barriers.splice(0)) resolve()
    await this.#work
  }

  /**
   * Applies what has arrived, reads what else was committed, and ends: the chain is then the database's, with the pending block that followed it. The
   * caller has the lease of `epoch`. Rejects with FleetError and with store errors; then it continues, because another process may take the lease.
   */
  async finish(epoch: number): Promise<Position> {
    while (this.#isWorking) await this.#work
    if (this.#chain === null) throw new Error('the replica was not started')
    this.#isFinishing = true
    try {
      const position = await readBlocks(this.#chain, this.#deps.database)
      if (position.epoch !== epoch) throw new FleetError('deposed', 'another process has taken the lease meanwhile; this one follows it')
      await this.close()
      return position
    } catch (error) {
      this.#needsResync = true
      throw error
    } finally {
      this.#isFinishing = false
      this.#schedule()
    }
  }

  #receive(epoch: number, number: number, bytes: Uint8Array): void {
    if (this.#isClosed) return
    if (epoch < this.#epoch) {
      this.counts.staleFrames++
      return
    }
    this.#lastSeenMs = performance.now()
    this.#seenEpoch = Math.max(this.#seenEpoch, epoch)
    try {
      if (epoch > this.#epoch && this.#chain !== null) this.#needsResync = true
      else if (number === HEARTBEAT) this.#noticeHeartbeat(epoch, Frame.decodeHeartbeat(bytes))
      else if (number >= this.#next || this.#chain === null) this.#keep(number, epoch, Frame.decode(bytes))
    } catch (error) {
      this.#deps.onError(error)
      this.#needsResync = true
    }
    this.#schedule()
  }

  #keep(number: number, epoch: number, frame: Frame): void {
    this.#lag.noticeReceived(epoch, frame.sentAtMs, performance.now())
    if (this.#waiting.size >= WAITING_FRAMES) {
      this.#waiting.clear()
      this.#needsResync = true
    }
    if (epoch >= (this.#waiting.get(number)?.epoch ?? 0)) this.#waiting.set(number, { epoch, frame })
  }

  #noticeHeartbeat(epoch: number, { newest, sentAtMs }: Heartbeat): void {
    this.#lag.noticeReceived(epoch, sentAtMs, performance.now())
    if (newest < this.#next && !this.#hasWork && !this.#isWorking) this.#lag.noticeApplied(sentAtMs, performance.now())
    if (newest >= this.#next && !this.#waiting.has(newest)) this.#newestKnown = Math.max(this.#newestKnown, newest)
  }

  /** One run at a time; its loop also finds the frames that arrive during it. */
  #schedule(): void {
    if (this.#isWorking || this.#isFinishing || this.#chain === null || this.#isClosed) return
    this.#isWorking = true
    this.#work = this.#run(this.#chain)
      .catch((error: unknown) => this.#deps.onError(error))
      .finally(() => {
        this.#isWorking = false
        if (this.#hasWork) this.#schedule()
      })
  }

  get #hasWork(): boolean {
    return this.#needsResync || this.#waiting.size > 0 || this.#newestKnown >= this.#next
  }

  async #run(chain: Chain): Promise<void> {
    while (this.#hasWork && !this.#isClosed) {
      if (this.#needsResync) {
        await this.#resync(chain)
        continue
      }
      const waiting = this.#waiting.get(this.#next)
      if (waiting === undefined) {
        this.#dropOld()
        if (this.#hasWork) await this.#repair(chain)
        continue
      }
      this.#waiting.delete(this.#next)
      await this.#apply(chain, waiting.frame)
    }
  }

  #dropOld(): void {
    for (const [number, { epoch }] of this.#waiting) if (number < this.#next || epoch !== this.#epoch) this.#waiting.delete(number)
  }

  async #apply(chain: Chain, { commit, sentAtMs, change }: Frame): Promise<void> {
    try {
      if (!this.#isRead(commit, change)) await chain.follow(change)
    } catch (error) {
      if (!(error instanceof ChangeGap)) this.#deps.onError(error)
      // A flashblock of a block whose beginning is lost; its seal is read from the database.
      this.#needsResync = !(error instanceof ChangeGap && change.kind === 'flashblock')
      if (this.#needsResync) return
    }
    this.counts.frames++
    this.#lag.noticeApplied(sentAtMs, performance.now())
    if (change.kind !== 'flashblock') this.#openFrame = this.#next + 1
    else if (change.index === 0) this.#openFrame = this.#next
    this.#next++
    this.#resolveBarriers()
  }

  /** True if the blocks that were read from the database contain the change, or followed it. */
  #isRead(commit: number, change: ChainChange): boolean {
    const isDurable = change.kind === 'sealed' || change.kind === 'edit' || (change.kind === 'rewind' && change.isSealedRewound)
    return isDurable ? commit <= this.#readCommit : commit < this.#readCommit
  }

  /** Fetches the missing frames before the next one that is there. Until then the pending block may lack transactions. */
  async #repair(chain: Chain): Promise<void> {
    const to = this.#waiting.size === 0 ? this.#newestKnown : Math.min(...this.#waiting.keys()) - 1
    // The beginning of the open block, after a start, is not a gap.
    if (this.counts.frames > 0) this.counts.gaps++
    this.#hasGap = true
    // The open block is followed again from its first flashblock.
    if (chain.head.view.pending !== null) this.#next = this.#openFrame
    const from = this.#next
    await chain.forgetPending()
    const frames = to - from >= REPAIRED_FRAMES ? [null] : await this.#fetch(from, to)
    if (frames.includes(null)) {
      // The changes of the lost frames were committed before the frames were sent, so the database has them.
      const epoch = this.#epoch
      await this.#resync(chain)
      if (epoch === this.#epoch) this.#next = Math.max(this.#next, to + 1)
      return
    }
    for (const [index, bytes] of frames.entries()) {
      if (bytes === null) continue
      this.#waiting.set(from + index, { epoch: this.#epoch, frame: Frame.decode(bytes) })
      this.counts.repairedFrames++
    }
    this.#hasGap = false
  }

  /** A frame may reach a receiver before JetStream has it, so missing ones are requested again. */
  async #fetch(from: number, to: number): Promise<readonly (Uint8Array | null)[]> {
    const { bus } = this.#deps
    const frames = await bus.fetch(this.#epoch, from, to)
    if (!frames.includes(null)) return frames
    await new Promise((resolve) => setTimeout(resolve, CAPTURE_MS))
    return bus.fetch(this.#epoch, from, to)
  }

  /** Reads the blocks from the database that the chain lacks. */
  async #resync(chain: Chain): Promise<void> {
    this.#needsResync = false
    this.#hasGap = true
    this.counts.resyncs++
    try {
      const position = await readBlocks(chain, this.#deps.database)
      await chain.forgetPending()
      this.#continueAt(position)
      this.#hasGap = false
    } catch (error) {
      this.#needsResync = true
      if (!(error instanceof FleetError)) this.#deps.onError(error)
      await new Promise((resolve) => setTimeout(resolve, COMMIT_RETRY_MS))
    }
  }

  #continueAt({ epoch, commit, frame }: Pick<Position, 'epoch' | 'commit' | 'frame'>): void {
    if (epoch !== this.#epoch) for (const listener of this.#epochListeners) listener()
    this.#epoch = epoch
    this.#readCommit = commit
    this.#next = this.#openFrame = frame
    this.#newestKnown = 0
    this.#dropOld()
    this.#resolveBarriers()
  }

  #hasApplied(epoch: number, frame: number): boolean {
    return this.#epoch > epoch || (this.#epoch === epoch && this.#next > frame)
  }

  #resolveBarriers(): void {
    for (let index = this.#barriers.length - 1; index >= 0; index--) {
      const barrier = this.#barriers[index]!
      if (!this.#hasApplied(barrier.epoch, barrier.frame)) continue
      this.#barriers.splice(index, 1)
      barrier.resolve()
    }
  }
}
