import { setTimeout as pause } from 'node:timers/promises'
import { visibleText, isObject } from '../eth/index.ts'
import { RpcError, createRemoteRpc } from '../jsonrpc/index.ts'
import type { Rpc } from '../jsonrpc/index.ts'
import { Connection } from './connection.ts'
import { AuditError } from './endpoints.ts'
import type { Endpoints } from './endpoints.ts'
import { FlashblocksFeed, LogsFeed, StreamFeed, TransactionsFeed } from './feeds.ts'
import type { Feed } from './feeds.ts'
import { Gaps } from './gaps.ts'
import { Heads } from './heads.ts'
import {
  CLIENT_CHARS,
  END_WAIT_MS,
  HEAD_POLL_MAX_MS,
  HEAD_POLL_MS,
  POOL_CHECKS,
  PROBE_MS,
  SINGLE_RECEIPTS,
  SLOW_HEAD_POLL_MS,
} from './limits.ts'
import { Problems } from './problems.ts'
import { PromiseAudit } from './promises.ts'
import { hashOf, quantity } from './receiptjson.ts'
import type { AuditReport, FeedKind } from './report.ts'
import { RpcConnection } from './rpcconnection.ts'
import { SealedReceiptsReader } from './sealedreceipts.ts'

export interface AuditOptions {
  readonly endpoints: Endpoints
  /** ends the watch; the report follows */
  readonly stop: AbortSignal
  /** milliseconds until the watch ends by itself; Infinity: until `stop` */
  readonly durationMs: number
  /** called with one line of plain text when the feed is chosen */
  readonly onStart?: (line: string) => void
  /** called every `PROGRESS_MS` with one line of plain text */
  readonly onProgress?: (line: string) => void
}

const PROGRESS_MS = 2_000
/** The resolution of waiting at the end, and of retractions while nothing is announced. */
const ADVANCE_MS = 25

/** Watches an endpoint and reports the outcomes of its promises. Throws AuditError for an endpoint that cannot be watched. */
export async function audit(options: AuditOptions): Promise<AuditReport> {
  const watch = new Watch(options.endpoints)
  try {
    await watch.start()
    options.onStart?.(watch.title())
    const progress = setInterval(() => options.onProgress?.(watch.progress()), PROGRESS_MS)
    await ended(options)
    clearInterval(progress)
    return await watch.end()
  } finally {
    watch.close()
  }
}

function ended({ stop, durationMs }: AuditOptions): Promise<void> {
  return new Promise((resolve) => {
    if (stop.aborted) return resolve()
    const timer = durationMs === Infinity ? undefined : setTimeout(resolve, durationMs)
    stop.addEventListener(
      'abort',
      () => {
        clearTimeout(timer)
        resolve()
      },
      { once: true },
    )
  })
}

/** The feeds, best first. */
const RANKS: readonly FeedKind[] = ['flashblocks', 'newFlashblocks', 'newFlashblockTransactions', 'pendingLogs']

interface Source {
  readonly kind: FeedKind
  readonly feed: Feed
  readonly url: string
  hasDelivered: boolean
}

class Watch {
  readonly #endpoints: Endpoints
  readonly #rpc: Rpc
  readonly #problems = new Problems()
  readonly #gaps = new Gaps()
  readonly #promises: PromiseAudit
  readonly #heads: Heads
  readonly #reader: SealedReceiptsReader
  readonly #connections: Connection[] = []
  readonly #sources: Source[] = []
  #active: Source | null = null
  #isChoosing = true
  #headSource: 'newHeads' | 'polling' = 'polling'
  #hasPoolFeed = false
  /** answers to `eth_subscribe` that refused a subscription */
  readonly #refused: string[] = []
  #chainId = 0
  #client = ''
  #startedMs = 0
  #isOver = false
  readonly #advancing: ReturnType<typeof setInterval>

  constructor(endpoints: Endpoints) {
    this.#endpoints = endpoints
    this.#rpc = createRemoteRpc(endpoints.rpc, { reach: 'anywhere' })
    const problems = this.#problems
    const { request } = this.#rpc
    this.#reader = new SealedReceiptsReader({ request, problems, promises: () => this.#promises })
    this.#promises = new PromiseAudit({ problems, onWanted: (block) => this.#reader.read(block) })
    this.#heads = new Heads({
      request,
      problems,
      nowMs,
      onSealed: (number, hash, atMs) => this.#promises.onSealed(number, hash, atMs),
      onReplaced: (hashes, atMs) => this.#promises.onReplaced(hashes, atMs),
    })
    this.#advancing = setInterval(() => this.#promises.advance(nowMs()), ADVANCE_MS)
  }

  /** Opens all feeds and chooses one. Throws AuditError. */
  async start(): Promise<void> {
    await this.#readIdentity()
    const probes = this.#endpoints.sockets.map((url, i) => this.#probe(url, i === 0 && this.#endpoints.isGiven))
    const refusal = probes[0]?.catch((error: unknown) => error)
    await Promise.race([Promise.allSettled(probes), pause(PROBE_MS, undefined, { ref: false })])
    const failed = await Promise.race([refusal, pause(0)])
    if (failed instanceof AuditError) throw failed
    this.#isChoosing = false
    this.#choose()
    this.#startedMs = nowMs()
    if (this.#headSource === 'polling') void this.#pollHeads()
    await this.#assertFeed()
  }

  title(): string {
    return `${originOf(this.#endpoints.rpc)}, chain ${this.#chainId}, by ${this.#feedText().sentence}`
  }

  progress(): string {
    const { kept, changed, retracted, unobserved, open } = this.#promises.totals
    const promised =
      this.#active === null
        ? 'no promises'
        : `${kept} kept, ${changed} changed, ${retracted} retracted, ${open} open${unobserved === 0 ? '' : `, ${unobserved} unobserved`}`
    return `block ${this.#heads.tip ?? '–'}: ${promised}, ${this.#heads.reorgCount} reorganisations, ${Math.round((nowMs() - this.#startedMs) / 1_000)} s`
  }

  /** Waits for the blocks of open promises, at most END_WAIT_MS. */
  async end(): Promise<AuditReport> {
    const endedMs = nowMs()
    this.#promises.close()
    while (this.#promises.totals.open > 0 && nowMs() - endedMs < END_WAIT_MS) await pause(ADVANCE_MS)
    await Promise.race([this.#heads.idle(), pause(END_WAIT_MS, undefined, { ref: false })])
    const pool = this.#hasPoolFeed ? await this.#poolOutcomes() : null
    const { firstBlock: first, lastBlock: last } = this.#promises
    return {
      endpoint: {
        rpc: originOf(this.#endpoints.rpc),
        promises: this.#active === null ? null : originOf(this.#active.url),
        chainId: this.#chainId,
        client: this.#client,
      },
      feed: this.#feedText(),
      startedMs: this.#startedMs,
      endedMs,
      blocks: first === null || last === null ? null : { first, last },
      totals: { ...this.#promises.totals },
      causes: { ...this.#promises.causes },
      atOnce: this.#promises.atOnce,
      pool,
      durations: {
        seenToPromise: this.#promises.promiseDelays.summary(),
        promiseToSeal: this.#promises.sealDelays.summary(),
        betweenHeads: this.#heads.intervals.summary(),
      },
      heads: { count: this.#heads.count, reorgCount: this.#heads.reorgCount, reorgs: this.#heads.reorgs },
      broken: this.#promises.broken.map(publicFields),
      gaps: this.#gaps.summary(nowMs()),
      problems: this.#problems.list(),
    }
  }

  close(): void {
    this.#isOver = true
    clearInterval(this.#advancing)
    this.#reader.close()
    for (const connection of this.#connections) connection.close()
  }

  /** Throws AuditError if the node does not answer. */
  async #readIdentity(): Promise<void> {
    try {
      const id = quantity(await this.#rpc.request({ method: 'eth_chainId' }))
      if (id === undefined)
        throw new AuditError(`${originOf(this.#endpoints.rpc)} answers eth_chainId with something that is not a chain id`)
      this.#chainId = Number(id)
    } catch (error) {
      if (error instanceof AuditError) throw error
      throw new AuditError(`no JSON-RPC node at ${originOf(this.#endpoints.rpc)}, which sealed receipts are read from: ${messageOf(error)}`)
    }
    const client = await this.#rpc.request({ method: 'web3_clientVersion' }).catch(() => '')
    this.#client = typeof client === 'string' ? visibleText(client, CLIENT_CHARS) : ''
  }

  /** Opens a WebSocket and identifies its protocol. Rejects with AuditError only for an address that the user gave. */
  async #probe(url: string, isGiven: boolean): Promise<void> {
    let role: 'stream' | 'rpc' | null = null
    let rpc: RpcConnection | null = null
    let settled = (): void => undefined
    const isSettled = new Promise<void>((resolve) => (settled = resolve))
    const source: Source = { kind: 'flashblocks', feed: new StreamFeed(this.#feedDeps), url, hasDelivered: false }
    const connection: Connection = new Connection(url, {
      onOpen: () => {
        if (role === 'stream') this.#gaps.end('promises', nowMs())
        if (role === 'rpc' && rpc !== null) void this.#subscribe(rpc, url).catch(() => undefined) // the connection is lost again
        if (role === null) connection.send(PROBE)
      },
      onMessage: (data, isBinary) => {
        if (role === null) role = roleOf(data, isBinary)
        if (role === 'stream') this.#deliver(source, data)
        if (role === 'rpc') {
          if (rpc === null) {
            rpc = new RpcConnection(connection)
            this.#assertSameChain(data, url, isGiven)
              .then(() => this.#subscribe(rpc!, url))
              .then(settled, (error: unknown) => this.#fail(error, settled))
          } else if (!rpc.accept(data)) this.#problems.add('a message is not JSON-RPC', text(data))
        }
        if (role === null) this.#problems.add('a message is neither JSON-RPC nor a flashblock', text(data))
        if (role === 'stream') settled()
      },
      onLost: (reason) => this.#onLost(role, rpc, source, `${originOf(url)}: ${visibleText(reason, CLIENT_CHARS)}`),
    })
    this.#connections.push(connection)
    try {
      await connection.open()
    } catch (error) {
      connection.close()
      if (isGiven) throw new AuditError(`no WebSocket at ${originOf(url)}: ${visibleText(messageOf(error), CLIENT_CHARS)}; check --ws`)
      return
    }
    await isSettled
    if (this.#failure !== null && isGiven) throw this.#failure
  }

  #failure: AuditError | null = null

  #fail(error: unknown, settled: () => void): void {
    if (error instanceof AuditError) this.#failure = error
    settled()
  }

  async #assertSameChain(data: Uint8Array, url: string, isGiven: boolean): Promise<void> {
    const answer = JSON.parse(text(data)) as unknown // roleOf has parsed it
    const id = isObject(answer) ? quantity(answer['result']) : undefined
    if (isGiven && id !== undefined && Number(id) !== this.#chainId)
      throw new AuditError(
        `${originOf(url)} is chain ${id} and ${originOf(this.#endpoints.rpc)} is chain ${this.#chainId}; name endpoints of one chain`,
      )
  }

  /** Opens the subscriptions of a connection, in the order in which their notifications belong together. */
  async #subscribe(rpc: RpcConnection, url: string): Promise<void> {
    rpc.reset()
    const deps = this.#feedDeps
    const isPrimary = () => this.#active?.kind === 'newFlashblockTransactions'
    const kinds: readonly (readonly [FeedKind, readonly unknown[], () => Feed])[] = [
      ['newFlashblocks', ['newFlashblocks'], () => new FlashblocksFeed(deps)],
      ['newFlashblockTransactions', ['newFlashblockTransactions', true], () => new TransactionsFeed(deps, isPrimary)],
      ['pendingLogs', ['pendingLogs', {}], () => new LogsFeed(deps)],
    ]
    for (const [kind, params, open] of kinds) {
      const known = this.#sources.find((each) => each.kind === kind && each.url === url)
      const source = known ?? { kind, url, feed: open(), hasDelivered: false }
      if ((await this.#opened(rpc, params, (item) => this.#deliver(source, item))) && known === undefined) this.#sources.push(source)
    }
    if (await this.#opened(rpc, ['newHeads'], (header) => this.#heads.accept(header))) this.#headSource = 'newHeads'
    this.#hasPoolFeed =
      (await this.#opened(rpc, ['newPendingTransactions'], (item) => {
        const hash = hashOf(isObject(item) ? item['hash'] : item)
        if (hash !== undefined) this.#promises.onPool(hash, nowMs())
      })) || this.#hasPoolFeed
    this.#gaps.end('heads', nowMs())
    if (this.#active?.url === url) this.#gaps.end('promises', nowMs())
    this.#heads.interrupt()
  }

  async #opened(rpc: RpcConnection, params: readonly unknown[], listener: (item: unknown) => void): Promise<boolean> {
    try {
      await rpc.subscribe(params, listener)
      return true
    } catch (error) {
      if (this.#refused.length < 10) this.#refused.push(`${String(params[0])}: ${messageOf(error)}`)
      return false
    }
  }

  #deliver(source: Source, item: unknown): void {
    if (!source.feed.isPromise(item)) return
    source.hasDelivered = true
    if (!this.#sources.includes(source)) this.#sources.push(source)
    if (this.#active === null && (!this.#isChoosing || source.kind === 'flashblocks')) this.#active = source
    const isReceipts = source.kind === 'newFlashblockTransactions' && this.#active !== null && this.#active.kind !== 'pendingLogs'
    if (this.#active !== source && !isReceipts) return
    try {
      source.feed.accept(item)
    } catch (error) {
      this.#problems.add('a message cannot be read', messageOf(error))
    }
  }

  #choose(): void {
    const delivering = this.#sources.filter(({ hasDelivered }) => hasDelivered)
    const rank = ({ kind }: Source) => RANKS.indexOf(kind)
    this.#active ??= delivering.toSorted((a, b) => rank(a) - rank(b))[0] ?? null
  }

  #onLost(role: 'stream' | 'rpc' | null, rpc: RpcConnection | null, source: Source, reason: string): void {
    const atMs = nowMs()
    rpc?.reset()
    if (role === 'rpc') {
      this.#gaps.begin('heads', reason, atMs)
      for (const each of this.#sources) if (each.url === source.url) each.feed.interrupt()
    }
    source.feed.interrupt()
    if (this.#active?.url !== source.url) return
    this.#gaps.begin('promises', reason, atMs)
    this.#promises.interrupt(atMs)
  }

  async #pollHeads(): Promise<void> {
    let failures = 0
    while (!this.#isOver && this.#headSource === 'polling') {
      try {
        const head = await this.#rpc.request({ method: 'eth_getBlockByNumber', params: ['latest', false] })
        if (failures > 0) this.#gaps.end('heads', nowMs())
        failures = 0
        this.#heads.accept(head)
      } catch (error) {
        failures++
        this.#gaps.begin('heads', visibleText(messageOf(error), CLIENT_CHARS), nowMs())
      }
      const regular = this.#active === null ? HEAD_POLL_MS : SLOW_HEAD_POLL_MS
      await pause(Math.min(HEAD_POLL_MAX_MS, regular * 2 ** failures), undefined, { ref: false })
    }
  }

  /** Throws AuditError if nothing can be watched: neither promises, nor heads by subscription or by polling. */
  async #assertFeed(): Promise<void> {
    if (this.#active !== null || this.#headSource === 'newHeads') return
    const head = await this.#rpc.request({ method: 'eth_getBlockByNumber', params: ['latest', false] }).catch((error: unknown) => error)
    if (isObject(head) && !(head instanceof Error)) return
    const reason = head instanceof Error ? messageOf(head) : 'it returns no block'
    throw new AuditError(
      `${originOf(this.#endpoints.rpc)} has no feed: no WebSocket with subscriptions, and eth_getBlockByNumber fails (${reason}); name a WebSocket with --ws`,
    )
  }

  /** Requests the status of the transactions that were seen in the pool only. */
  async #poolOutcomes(): Promise<NonNullable<AuditReport['pool']>> {
    let dropped = 0
    let waiting = 0
    const hashes = this.#promises.waiting.slice(0, POOL_CHECKS)
    for (let at = 0; at < hashes.length; at += SINGLE_RECEIPTS) {
      const some = hashes.slice(at, at + SINGLE_RECEIPTS)
      const found = await Promise.all(
        some.map((hash) => this.#rpc.request({ method: 'eth_getTransactionByHash', params: [hash] }).catch(() => undefined)),
      )
      for (const tx of found) {
        if (tx === null) dropped++
        else if (isObject(tx) && (tx['blockNumber'] ?? null) === null) waiting++
      }
    }
    return { dropped, waiting }
  }

  get #feedDeps() {
    return { promises: this.#promises, problems: this.#problems, nowMs }
  }

  #feedText(): AuditReport['feed'] {
    const kind = this.#active?.kind ?? 'heads'
    const heads = this.#headSource === 'newHeads' ? 'heads by newHeads' : 'heads by polling'
    const limits: string[] = []
    if (this.#active === null) {
      const { p50 } = this.#heads.intervals.summary()
      limits.push('This endpoint announces no promises: nothing is known of a block before its seal.')
      if (p50 !== null && p50 <= FAST_BLOCK_MS) limits.push('Its sealed blocks take the place of promises; they can only be reorganised.')
      if (this.#refused.length > 0) limits.push(`Refused subscriptions: ${this.#refused.map((each) => visibleText(each, 120)).join('; ')}.`)
    } else {
      const receipts = this.#sources.some((each) => each.kind === 'newFlashblockTransactions' && each.hasDelivered)
      const states = receipts && kind !== 'pendingLogs' ? 'the receipts of its transactions' : this.#active.feed.states()
      limits.push(`The feed states ${states}; other fields are not compared.`)
      limits.push(`Sealed receipts are read with ${this.#reader.source}.`)
    }
    if (!this.#hasPoolFeed)
      limits.push('Without newPendingTransactions the time from sending to the promise is not known, nor are dropped transactions.')
    return { kind, sentence: SENTENCES[kind](heads), limits }
  }
}

/** Chains without pre-confirmation have longer block times. */
const FAST_BLOCK_MS = 500

const SENTENCES: Readonly<Record<FeedKind, (heads: string) => string>> = {
  flashblocks: (heads) => `flashblock stream, ${heads}`,
  newFlashblocks: (heads) => `eth_subscribe newFlashblocks, ${heads}`,
  newFlashblockTransactions: (heads) => `eth_subscribe newFlashblockTransactions, ${heads}`,
  pendingLogs: (heads) => `eth_subscribe pendingLogs, ${heads}`,
  heads: (heads) => `only ${heads}`,
}

const PROBE = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'eth_chainId', params: [] })

/** A stream sends flashblocks and ignores the probe; JSON-RPC answers it. */
function roleOf(data: Uint8Array, isBinary: boolean): 'stream' | 'rpc' | null {
  if (isBinary) return 'stream'
  try {
    const message: unknown = JSON.parse(text(data))
    if (!isObject(message)) return null
    return 'payload_id' in message ? 'stream' : message['jsonrpc'] === '2.0' ? 'rpc' : null
  } catch {
    return null
  }
}

function publicFields(promise: AuditReport['broken'][number]): AuditReport['broken'][number] {
  const { hash, blockNumber, flashblockIndex, seenMs, promisedMs, settledMs, outcome, cause, differences } = promise
  return { hash, blockNumber, flashblockIndex, seenMs, promisedMs, settledMs, outcome, cause, differences }
}

function originOf(url: string): string {
  const { protocol, host } = new URL(url)
  return `${protocol}//${host}`
}

function text(data: Uint8Array): string {
  return new TextDecoder().decode(data)
}

function messageOf(error: unknown): string {
  if (error instanceof RpcError) return error.message.slice(0, CLIENT_CHARS)
  return error instanceof Error ? error.message : String(error)
}

function nowMs(): number {
  return Math.round(performance.timeOrigin + performance.now())
}
