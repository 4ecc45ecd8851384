import { createContext } from 'preact'
import { useContext, useEffect, useReducer, useState } from 'preact/hooks'
import { Feed, NoConnection, askAll } from './node.ts'
import type { BlockJson, TransactionJson } from './wire.ts'

// The newest blocks of the chain, kept current by subscriptions, or by polling a node without WebSocket.

/** A flashblock, or all transactions of a block that were received together. */
export interface FlashblockCell {
  readonly index: number
  readonly hashes: readonly string[]
  /** how many of `hashes` were retracted since */
  readonly retracted: number
  readonly seenMs: number
}

export interface ShownBlock {
  readonly number: number
  readonly isOpen: boolean
  readonly timestamp: number
  readonly hashes: readonly string[]
  readonly gasUsed: bigint
  readonly cells: readonly FlashblockCell[]
}

/** The state of the node and its newest blocks. */
export interface HeadState {
  readonly connection: 'connecting' | 'open' | 'lost'
  readonly chainId: number | null
  readonly client: string | null
  /** null: the node does not have `pocketchain_info` */
  readonly cadence: { readonly kind: string; readonly blockTimeMs?: number; readonly flashblockMs?: number } | null
  readonly latest: number | null
  readonly safe: number | null
  readonly finalized: number | null
  /** newest first; the open block, if there is one, is the first */
  readonly blocks: readonly ShownBlock[]
  /** The source of new blocks: `newFlashblocks`, `newHeads`, or polling. */
  readonly feed: 'flashblocks' | 'heads' | 'polling'
  /** hashes of retracted transactions, newest first */
  readonly retracted: readonly string[]
}

/** The block numbers of the tags `latest`, `safe` and `finalized`; null if the node does not report them. */
export type TagNumbers = Pick<HeadState, 'latest' | 'safe' | 'finalized'>

/** Blocks in the strip. */
const SHOWN_BLOCKS = 12
const SHOWN_RETRACTIONS = 50
const POLL_MS = 1_000
/** A flashblock that comes later than this many of its periods may have skipped an index. */
const LATE_PERIODS = 1.5

const EMPTY: HeadState = {
  connection: 'connecting',
  chainId: null,
  client: null,
  cadence: null,
  latest: null,
  safe: null,
  finalized: null,
  blocks: [],
  feed: 'polling',
  retracted: [],
}

/** Follows the head of the chain until `close`. */
export class HeadFollower {
  #state = EMPTY
  readonly #listeners = new Set<() => void>()
  readonly feed: Feed
  #isSubscribed = false
  #isReading = false
  #isOutdated = false
  #timer: ReturnType<typeof setTimeout> | undefined
  #isClosed = false
  /** when the last flashblock was announced */
  #flashblockMs = 0

  constructor() {
    this.feed = new Feed((connection) => this.#onConnection(connection))
    this.feed.subscribe(['newHeads'], { onItem: () => void this.#read(), onOpen: () => void this.#read() })
    this.feed.subscribe(['newFlashblocks'], {
      onItem: (item) => this.#onFlashblock(item as BlockJson), // the result of this kind
      onOpen: () => this.#set({ feed: 'flashblocks' }),
      onRefused: () => this.#set({ feed: 'heads' }),
    })
    this.feed.subscribe(['newFlashblockTransactions', true], { onItem: (item) => this.#onTransaction(item as TransactionJson) }) // the result of this kind
    void this.#read()
  }

  get state(): HeadState {
    return this.#state
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.feed.close()
  }

  #onConnection(connection: HeadState['connection']): void {
    this.#isSubscribed = connection === 'open'
    if (!this.#isSubscribed) this.#set({ feed: 'polling' })
    void this.#read()
  }

  #onFlashblock(block: BlockJson): void {
    const number = Number(block.number)
    const hashes = block.transactions.map((each) => (typeof each === 'string' ? each : each.hash))
    const known = this.#state.blocks.find((each) => each.number === number)
    const before = known?.isOpen === true ? known : null
    const seen = new Set(before?.hashes ?? [])
    const fresh = hashes.filter((hash) => !seen.has(hash))
    const index = before?.cells.at(-1) === undefined ? 0 : (before.cells.at(-1)?.index ?? 0) + 1
    const nowMs = Date.now()
    const cells = [...(before?.cells ?? []), { index, hashes: fresh, retracted: 0, seenMs: nowMs }]
    const shown = { number, isOpen: true, timestamp: Number(block.timestamp), hashes, gasUsed: BigInt(block.gasUsed), cells }
    this.#set({ blocks: newestFirst([shown, ...this.#state.blocks.filter((each) => each.number !== number)]) })
    const periodMs = this.#state.cadence?.flashblockMs ?? 0
    if (nowMs - this.#flashblockMs > LATE_PERIODS * periodMs) void this.#readIndex(number)
    this.#flashblockMs = nowMs
  }

  /**
   * Reads the index of the newest flashblock. Notifications have no index, so it is counted; counting fails at the first notification, after a
   * gap and after missed flashblocks.
   */
  async #readIndex(number: number): Promise<void> {
    const [info] = await askAll([['pocketchain_info']]).catch(() => [null])
    if (info === null || info instanceof Error) return
    const { head, flashblockIndex } = info as { readonly head: { readonly number: string }; readonly flashblockIndex: number } // the result of the method
    const block = this.#state.blocks.find((each) => each.number === number)
    const newest = block?.cells.at(-1)
    if (block?.isOpen !== true || newest === undefined || Number(head.number) + 1 !== number || newest.index === flashblockIndex) return
    const cells = [...block.cells.slice(0, -1), { ...newest, index: flashblockIndex }]
    this.#set({ blocks: this.#state.blocks.map((each) => (each === block ? { ...block, cells } : each)) })
  }

  #onTransaction({ hash, removed }: TransactionJson): void {
    if (removed !== true) return
    const blocks = this.#state.blocks.map((block) =>
      block.hashes.includes(hash)
        ? { ...block, cells: block.cells.map((cell) => (cell.hashes.includes(hash) ? { ...cell, retracted: cell.retracted + 1 } : cell)) }
        : block,
    )
    const retracted = [hash, ...this.#state.retracted.filter((each) => each !== hash)].slice(0, SHOWN_RETRACTIONS)
    this.#set({ blocks, retracted })
  }

  /** Reads the newest blocks that are not known yet. One read runs at a time. */
  async #read(): Promise<void> {
    this.#isOutdated = this.#isReading
    if (this.#isReading || this.#isClosed) return
    this.#isReading = true
    clearTimeout(this.#timer)
    try {
      if (this.#state.chainId === null) await this.#readNode()
      await this.#readBlocks()
      if (this.#state.connection !== 'open') this.#set({ connection: 'open' })
    } catch {
      this.#set({ connection: 'lost' })
    }
    this.#isReading = false
    if (this.#isClosed) return
    if (this.#isOutdated) void this.#read()
    else if (!this.#isSubscribed || this.#state.connection === 'lost') this.#timer = setTimeout(() => void this.#read(), POLL_MS)
  }

  async #readNode(): Promise<void> {
    const [chainId, client, info] = await askAll([['eth_chainId'], ['web3_clientVersion'], ['pocketchain_info']])
    const known = info instanceof Error || info === null ? null : (info as { clientVersion: string; cadence: HeadState['cadence'] }) // the result of the method
    this.#set({
      chainId: chainId instanceof Error ? null : Number(chainId),
      client: known?.clientVersion ?? (client instanceof Error ? null : String(client)),
      cadence: known?.cadence ?? null,
    })
  }

  async #readBlocks(): Promise<void> {
    const [latest, safe, finalized] = await askAll([
      ['eth_getBlockByNumber', 'latest', false],
      ['eth_getBlockByNumber', 'safe', false],
      ['eth_getBlockByNumber', 'finalized', false],
    ])
    if (latest instanceof Error || latest === null) throw latest ?? new NoConnection('the node has no latest block')
    const newest = latest as BlockJson // the result of the method
    const height = Number(newest.number)
    const parent = this.#state.blocks.find((each) => each.number === height - 1 && !each.isOpen)
    const isNext = parent !== undefined && this.#state.latest === height - 1
    const missing = isNext ? [] : Array.from({ length: Math.min(SHOWN_BLOCKS - 1, height) }, (_, i) => height - 1 - i)
    const older = await askAll(missing.map((number) => ['eth_getBlockByNumber', `0x${number.toString(16)}`, false] as const))
    const found = [newest, ...older.filter((each): each is BlockJson => each !== null && !(each instanceof Error))]
    const byNumber = new Map(this.#state.blocks.map((block) => [block.number, block]))
    if (!isNext) for (const [number, { isOpen }] of byNumber) if (!isOpen) byNumber.delete(number)
    for (const block of found)
      byNumber.set(
        Number(block.number),
        sealed(
          block,
          this.#state.blocks.find((each) => each.number === Number(block.number)),
        ),
      )
    for (const number of byNumber.keys()) if (number > height + 1) byNumber.delete(number)
    this.#set({
      latest: height,
      safe: numberOf(safe),
      finalized: numberOf(finalized),
      blocks: newestFirst([...byNumber.values()]),
    })
  }

  #set(change: Partial<HeadState>): void {
    if (this.#isClosed) return
    this.#state = { ...this.#state, ...change }
    for (const listener of this.#listeners) listener()
  }
}

/** `before`: the block as it was shown before; its cells are kept. */
function sealed(block: BlockJson, before: ShownBlock | undefined): ShownBlock {
  const hashes = block.transactions.map((each) => (typeof each === 'string' ? each : each.hash))
  const cells = before?.cells ?? []
  return { number: Number(block.number), isOpen: false, timestamp: Number(block.timestamp), hashes, gasUsed: BigInt(block.gasUsed), cells }
}

function newestFirst(blocks: readonly ShownBlock[]): readonly ShownBlock[] {
  return blocks.toSorted((a, b) => b.number - a.number).slice(0, SHOWN_BLOCKS)
}

function numberOf(block: unknown): number | null {
  return block === null || block instanceof Error ? null : Number((block as BlockJson).number) // the result of eth_getBlockByNumber
}

const HeadContext = createContext<HeadFollower | null>(null)
export const HeadProvider = HeadContext.Provider

/** Returns the value of `select`, by default the whole state. The component renders again when that value changes. */
export function useHead<T = HeadState>(select: (state: HeadState) => T = (state) => state as unknown as T): T {
  // T is HeadState without `select`
  const follower = useFollower()
  const [, render] = useReducer((count: number) => count + 1, 0)
  const value = select(follower.state)
  useEffect(() => {
    let shown = value
    return follower.subscribe(() => {
      const next = select(follower.state)
      if (Object.is(next, shown)) return
      shown = next
      render(undefined) // the reducer ignores its action
    })
  }, [follower])
  return value
}

/** Returns the block numbers of the tags. The component renders when a block is sealed, not at each flashblock. */
export function useTagNumbers(): TagNumbers {
  const latest = useHead((state) => state.latest)
  const safe = useHead((state) => state.safe)
  const finalized = useHead((state) => state.finalized)
  return { latest, safe, finalized }
}

function useFollower(): HeadFollower {
  const follower = useContext(HeadContext)
  if (follower === null) throw new Error('useHead is used outside of HeadProvider')
  return follower
}

/** The state of a request of a page. */
export type LoadState<T> =
  | { readonly state: 'loading'; readonly value: T | null }
  | { readonly state: 'done'; readonly value: T }
  | { readonly state: 'failed'; readonly error: Error; readonly value: T | null }

/**
 * Runs `load` immediately and after each change of `keys`; the last value stays visible until it ends. The signal is aborted when a newer run starts or
 * the component is removed. With the newest block's number among `keys` the value follows the chain.
 */
export function useLoaded<T>(load: (signal: AbortSignal) => Promise<T>, keys: readonly unknown[]): LoadState<T> {
  const [loaded, setLoaded] = useReducer((_: LoadState<T>, next: LoadState<T>) => next, { state: 'loading', value: null } as LoadState<T>)
  useEffect(() => {
    const aborted = new AbortController()
    load(aborted.signal).then(
      (value) => aborted.signal.aborted || setLoaded({ state: 'done', value }),
      (error: unknown) => {
        if (aborted.signal.aborted) return
        setLoaded({ state: 'failed', error: error instanceof Error ? error : new Error(String(error)), value: null })
      },
    )
    return () => aborted.abort()
  }, keys)
  return loaded
}

/** Returns the current time; the component renders again after each period. */
export function useNow(periodMs: number): number {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), periodMs)
    return () => clearInterval(timer)
  }, [periodMs])
  return now
}
