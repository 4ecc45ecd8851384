import { PrunedState, TimeSlice } from '../../chain/index.ts'
import type { Chain, HeadEvent, View } from '../../chain/index.ts'
import type { Address, Block } from '../../eth/index.ts'
import { Deadline, OutOfTime } from '../../evm/index.ts'
import type { StateReader } from '../../evm/index.ts'
import { needsOfRun } from '../execution/tracing.ts'
import type { WorkerPort } from '../execution/workerport.ts'
import { CODE, RpcError } from '../../jsonrpc/index.ts'
import { INNER_CALL_BYTES, MAIN_THREAD_MS, SEARCH_TIME_MS, TRACE_TIME_MS } from '../limits.ts'
import { BLOCK_PARTIES, CallScan, partiesOf } from './blockcalls.ts'
import type { BlockParties } from './blockcalls.ts'
import { InnerCallIndex } from './innercallindex.ts'
import type { BlockRange } from './innercallindex.ts'
import { Walk } from './walk.ts'
import type { Found, SearchPath } from './walk.ts'
import { blockAt } from '../blocks.ts'

interface SearchDeps {
  readonly chain: Chain
  readonly workers: WorkerPort | null
}

interface SearchLimits {
  readonly indexBytes?: number
  readonly timeMs?: number
}

interface SearchQuery<T> {
  readonly address: Address
  /** transactions that fill a page */
  readonly size: number
  readonly pathOf: (view: View) => SearchPath
  /** Returns the result, from the View of the path. */
  readonly respond: (view: View, found: Found) => T
}

/**
 * Finds the transactions of an address: those that it sent, received or was created by in the store, and those with its inner calls by executing
 * blocks again, in the direction of the search and only until the page is full. The index of inner calls starts with the first search, in memory.
 * In a turn of the event loop a slice of TIME_SLICE_MS is executed, for one search at a time.
 */
export class TransactionSearch {
  readonly #deps: SearchDeps
  readonly #index: InnerCallIndex
  readonly #timeMs: number
  readonly #codes = new CallScan()
  #unsubscribe: (() => void) | null = null
  /** number of rewinds since the first search */
  #rewinds = 0
  /** the lowest block that the chain returned to since the last search */
  #rewoundTo = Infinity
  #lastTurn: Promise<unknown> = Promise.resolve()

  /** The limits are INNER_CALL_BYTES and SEARCH_TIME_MS unless given. */
  constructor(deps: SearchDeps, { indexBytes = INNER_CALL_BYTES, timeMs = SEARCH_TIME_MS }: SearchLimits = {}) {
    this.#deps = deps
    this.#index = new InnerCallIndex(indexBytes)
    this.#timeMs = timeMs
  }

  /**
   * Responds with the first transactions of a path: `size` of them and the rest of the last block. Throws RpcError -32000 after SEARCH_TIME_MS and at
   * least one block; the blocks that were executed until then are in the index.
   */
  async find<T>({ address, size, pathOf, respond }: SearchQuery<T>): Promise<T> {
    const { chain } = this.#deps
    this.#unsubscribe ??= chain.head.subscribe((event) => this.#onEvent(event))
    const endMs = performance.now() + this.#timeMs
    let hasSearched = false
    // Once, and again after each rewind.
    for (;;) {
      this.#index.truncate(this.#rewoundTo)
      this.#rewoundTo = Infinity
      const rewinds = this.#rewinds
      const { view } = chain.head
      const walk = new Walk(this.#index, address, pathOf(view))
      while (rewinds === this.#rewinds) {
        walk.skipSearched()
        const found = walk.found(view, size)
        if (found !== null) return respond(view, found)
        // After a block, so that every request continues the search.
        if (hasSearched && performance.now() >= endMs) throw outOfTime(walk.rest, this.#timeMs)
        hasSearched = true
        await this.#turn(() => (rewinds === this.#rewinds ? this.#searchSome(walk, view, endMs) : undefined))
      }
    }
  }

  /** Ends the subscription to the chain. */
  close(): void {
    this.#unsubscribe?.()
  }

  #onEvent(event: HeadEvent): void {
    if (event.kind !== 'rewind') return
    const { cause, view, removed } = event
    const isOtherChain = cause === 'restart' || cause === 'import'
    if (!isOtherChain && removed.length === 0) return
    this.#rewinds++
    this.#rewoundTo = isOtherChain ? -1 : Math.min(this.#rewoundTo, view.head.header.number)
  }

  /** Runs `work` after the turns of other searches, in another turn of the event loop. */
  #turn(work: () => Promise<void> | undefined): Promise<void> {
    const before = this.#lastTurn
    const turn = async () => {
      await before
      await new Promise<void>((resolve) => setImmediate(resolve))
      await work()
    }
    const result = turn()
    this.#lastTurn = result.catch(() => undefined)
    return result
  }

  /** Adds the next blocks of a walk to the index, for one time slice and not longer than until `endMs`. */
  async #searchSome(walk: Walk, view: View, endMs: number): Promise<void> {
    const slice = new TimeSlice()
    const rewinds = this.#rewinds
    for (walk.skipSearched(); !walk.isDone; walk.skipSearched()) {
      await this.#searchBlock(view, walk.next, walk.rest)
      if (rewinds !== this.#rewinds || slice.isExpired || performance.now() >= endMs) return
    }
  }

  /** Adds a block to the index, unless the chain is rewound meanwhile. If its state is pruned, blocks of `rest` with it. */
  async #searchBlock(view: View, number: number, rest: BlockRange): Promise<void> {
    const state = stateBefore(view, number)
    if (state === null) return this.#index.addEmpty(this.#prunedAround(view, number, rest))
    const block = blockAt(view, number)
    const first = this.#codes.firstWithCalls(block, state)
    if (first === null) return this.#index.addEmpty({ from: number, to: number })
    const rewinds = this.#rewinds
    try {
      const parties = this.#partiesHere(view, block, first) ?? (await this.#partiesInThread(view, block, first))
      if (rewinds === this.#rewinds) this.#index.add(number, parties)
    } catch (error) {
      // The state was pruned while the block waited for a thread; the next turn finds that.
      if (rewinds === this.#rewinds && !(error instanceof PrunedState)) throw error
    }
  }

  /** Returns null for a block that takes longer than the main thread may; without threads there is none. */
  #partiesHere(view: View, block: Block, first: number): BlockParties | null {
    const { workers } = this.#deps
    if (workers === null) return partiesOf(view, block, first, new Deadline(TRACE_TIME_MS))
    try {
      return partiesOf(view, block, first, new Deadline(Math.min(workers.mainThreadMs, MAIN_THREAD_MS)))
    } catch (error) {
      if (error instanceof OutOfTime) return null
      throw error
    }
  }

  async #partiesInThread(view: View, block: Block, first: number): Promise<BlockParties> {
    const scopedView = { view, needs: needsOfRun(view, block) }
    const answer = await this.#deps.workers?.compute({
      method: BLOCK_PARTIES,
      args: [block.header.number, first],
      scopedView: () => scopedView,
      limitMs: TRACE_TIME_MS,
      spentMs: 0,
      isOffloaded: false,
    })
    if (answer === undefined || answer === null) return partiesOf(view, block, first, new Deadline(TRACE_TIME_MS))
    return JSON.parse(answer.text) as BlockParties // our own text
  }

  /** Returns blocks around `number`, whose state is pruned, that are not searched and whose state is pruned as well: all below, and those above. */
  #prunedAround(view: View, number: number, rest: BlockRange): BlockRange {
    const { from, to } = this.#index.unsearchedAround(number, rest)
    let [low, high] = [number + 1, to + 1]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (stateBefore(view, middle) === null) low = middle + 1
      else high = middle
    }
    return { from, to: low - 1 }
  }
}

/** Returns the state before a block, or null if it is pruned. */
function stateBefore(view: View, number: number): StateReader | null {
  try {
    return view.state(blockAt(view, number - 1))
  } catch (error) {
    if (error instanceof PrunedState) return null
    throw error
  }
}

function outOfTime({ from, to }: BlockRange, timeMs: number): RpcError {
  return new RpcError(
    CODE.server,
    `searching for inner calls took longer than ${timeMs / 1_000} s and blocks ${from} to ${to} are left; repeat the request, which continues there`,
    { fromBlock: from, toBlock: to },
  )
}
