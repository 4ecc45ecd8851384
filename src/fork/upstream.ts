import { setMaxListeners } from 'node:events'
import { Endpoint } from './endpoint.ts'
import type { Failure, UpstreamAnswer, UpstreamCall } from './endpoint.ts'
import { UpstreamError } from './errors.ts'
import { forkCalls, otherFork } from './forkblock.ts'
import type { ForkBlock } from './forkblock.ts'
import { BACKOFF_CEILING_MS, BACKOFF_MS, UPSTREAM_CONCURRENCY, UPSTREAM_MS, UPSTREAM_RETRIES } from './limits.ts'
import { pause } from './pause.ts'

export interface UpstreamOptions {
  /** limit of one HTTP request; UPSTREAM_MS by default */
  readonly timeoutMs?: number
  /** further attempts after the first; UPSTREAM_RETRIES by default */
  readonly retries?: number
  /** The first pause is a quarter of it; each further one is twice as long, up to BACKOFF_CEILING_MS. BACKOFF_MS by default */
  readonly backoffMs?: number
  /** sent with each request to the host of the first URL, and to no other host: they may hold a key */
  readonly headers?: Readonly<Record<string, string>>
  /** a fixed rate, at 20 compute units per call; adaptive by default */
  readonly computeUnitsPerSecond?: number | null
  readonly noRateLimit?: boolean
  /** certificates (PEM) that are trusted besides the system's */
  readonly ca?: string
  /** Receives one line about an endpoint that is not used any more. */
  readonly onNote?: (line: string) => void
}

export interface UpstreamStats {
  /** HTTP requests */
  readonly requests: number
  readonly retries: number
  /** refusals for too many requests */
  readonly rateLimits: number
}

/**
 * Reads of the forked chain over JSON-RPC. One to several URLs of the same chain: the next one is used after a failure, if it has the chain id and the fork
 * block.
 */
export class Upstream {
  /** scheme and host of the first URL */
  readonly name: string
  /** pause after the first failed request of all URLs is a quarter of it */
  readonly backoffMs: number
  #endpoints: readonly [Endpoint, ...Endpoint[]]
  readonly #retries: number
  readonly #closed = new AbortController()
  readonly #stats = { requests: 0, retries: 0, rateLimits: 0 }
  readonly #onNote: (line: string) => void
  #current = 0
  /** null: it is not chosen yet */
  #forkBlock: ForkBlock | null = null
  /** Endpoints that have the fork block. */
  readonly #checked = new Set<Endpoint>()

  /** Throws UpstreamError for a url that is never fetched. */
  constructor(urls: readonly string[], options: UpstreamOptions = {}) {
    const { timeoutMs = UPSTREAM_MS, headers = {}, computeUnitsPerSecond = null, noRateLimit = false, ca } = options
    const tls = ca === undefined ? {} : { ca }
    const endpointOf = (url: string) => {
      const ownHeaders = hostOf(url) === hostOf(urls[0]) ? headers : {}
      return new Endpoint(url, { timeoutMs, headers: ownHeaders, computeUnitsPerSecond, noRateLimit, ...tls })
    }
    const [first, ...others] = urls.map(endpointOf)
    if (first === undefined) throw new UpstreamError('unreachable', 'a fork needs at least one URL')
    this.#endpoints = [first, ...others]
    this.name = first.origin
    this.#onNote = options.onNote ?? (() => undefined)
    setMaxListeners(0, this.#closed.signal) // one per request and pause
    this.#retries = options.retries ?? UPSTREAM_RETRIES
    this.backoffMs = options.backoffMs ?? BACKOFF_MS
  }

  get stats(): UpstreamStats {
    return this.#stats
  }

  /** Returns the result. Throws upstream's error as RpcError, UpstreamError if there is no answer. */
  async call(method: string, params: readonly unknown[] = []): Promise<unknown> {
    const [answer] = await this.batch([{ method, params }])
    if (answer === undefined) throw new UpstreamError('malformed', `upstream ${this.name} gave no answer`)
    if ('error' in answer) throw answer.error
    return answer.result
  }

  /**
   * The block was read here, or comes from the cache. Endpoints that may not have answered for it are checked before they are used; a single one is not,
   * because requests name the hash of the block or read its header.
   */
  pin(block: ForkBlock): void {
    this.#forkBlock = block
    const { requests, retries } = this.#stats
    if (this.#endpoints.length === 1 || (requests > 0 && retries === 0)) this.#checked.add(this.#endpoint)
  }

  /** Rejects with UpstreamError if the chain id or the fork block differs. */
  async adopt(block: ForkBlock): Promise<void> {
    this.#forkBlock = block
    this.#checked.clear()
    await this.call('eth_chainId')
  }

  /**
   * Sends the calls in as few HTTP requests as upstream takes; returns the answers in their order. An error about a call itself is its answer.
   * Throws UpstreamError if some call got no answer after all retries.
   */
  async batch(calls: readonly UpstreamCall[]): Promise<readonly UpstreamAnswer[]> {
    for (const { method } of calls) assertReads(method)
    const round = new Round(calls)
    let attempts = 0
    while (round.pending.length > 0) {
      const before = round.pending.length
      const endpoint = this.#endpoint
      const checked = await this.#check(endpoint)
      if (checked === 'removed') continue
      const failure = checked ?? (await this.#attempt(endpoint, round))
      if (failure === null) continue
      if (failure.verdict === 'batch' || failure.verdict === 'batch-size') continue // bounded: each one lowers the batch size, the second refusal for good
      if (round.pending.length < before && failure.verdict === 'rate-limit') attempts = 0 // a rate limit that lets some calls through
      attempts += 1
      await this.#recover(failure, attempts)
    }
    return round.answers
  }

  /** Ends all waits; pending and later calls reject. */
  close(): void {
    this.#closed.abort(new UpstreamError('unreachable', `the connection to upstream ${this.name} is closed`))
  }

  get #endpoint(): Endpoint {
    return this.#endpoints[this.#current] ?? this.#endpoints[0]
  }

  /** Compares chain id and fork block before the first use of an endpoint. One of another chain is removed, unless it is the only one. */
  async #check(endpoint: Endpoint): Promise<Failure | 'removed' | null> {
    const block = this.#forkBlock
    if (block === null || this.#checked.has(endpoint)) return null
    const round = new Round(forkCalls(block.number))
    const failure = await this.#attempt(endpoint, round)
    if (failure !== null) return failure
    const error = otherFork(block, round.answers, endpoint.origin)
    if (error === null) {
      this.#checked.add(endpoint)
      return null
    }
    const [first, ...others] = this.#endpoints.filter((each) => each !== endpoint)
    if (first === undefined) return { verdict: 'fatal', error, retryAfterMs: null }
    if (error.reason !== 'chain' && error.reason !== 'block') return { verdict: 'retry', error, retryAfterMs: null }
    if (this.#endpoints.includes(endpoint)) this.#onNote(`${error.message}. It is not used`)
    const current = this.#endpoint
    this.#endpoints = [first, ...others]
    this.#current = Math.max(0, this.#endpoints.indexOf(current))
    return 'removed'
  }

  /** Sends the pending calls once. Returns the first failure; `batch` and `batch-size` only if there is no other. */
  async #attempt(endpoint: Endpoint, round: Round): Promise<Failure | null> {
    const chunks = chunksOf(round.pending, endpoint.batchSize)
    const failures: Failure[] = []
    const signal = this.#closed.signal
    await inParallel(chunks, UPSTREAM_CONCURRENCY, async (chunk) => {
      await endpoint.limiter.take(chunk.length, signal)
      this.#stats.requests += 1
      const { answers, failure } = await endpoint.send(
        chunk.map((index) => round.call(index)),
        signal,
      )
      for (const [at, answer] of answers) round.accept(chunk[at] ?? 0, answer)
      if (failure === null) return endpoint.limiter.answered()
      if (failure.verdict === 'rate-limit') {
        this.#stats.rateLimits += 1
        endpoint.limiter.slow(chunk.length)
      }
      failures.push(failure)
    })
    const worst = failures.find(({ verdict }) => verdict !== 'batch' && verdict !== 'batch-size') ?? failures[0]
    return worst ?? (round.pending.length > 0 ? round.repeatable(endpoint.origin) : null)
  }

  /** Moves on to the next URL, and waits after each cycle of all of them. Throws the failure after the last attempt. */
  async #recover({ verdict, error, retryAfterMs }: Failure, attempts: number): Promise<void> {
    const count = this.#endpoints.length
    const isLast = verdict === 'fatal' ? attempts >= count : attempts >= (this.#retries + 1) * count
    if (isLast) throw attempts > 1 ? new UpstreamError(error.reason, `${error.message} (${attempts} attempts)`) : error
    this.#stats.retries += 1
    this.#current = (this.#current + 1) % count
    if (attempts % count !== 0) return
    const requestedMs = retryAfterMs ?? 0
    if (count === 1 && requestedMs > UPSTREAM_MS)
      throw new UpstreamError(error.reason, `${error.message}; it accepts requests again in ${Math.ceil(requestedMs / 1_000)} s`)
    const cycle = attempts / count - 1
    const backoffMs = Math.min(BACKOFF_CEILING_MS, (this.backoffMs / 4) * 2 ** cycle * (0.75 + Math.random() / 2))
    await pause(Math.max(backoffMs, Math.min(requestedMs, BACKOFF_CEILING_MS)), this.#closed.signal)
  }
}

function hostOf(url: string | undefined): string | null {
  return url !== undefined && URL.canParse(url) ? new URL(url).host : null
}

/** The calls of one `batch` and their answers. */
class Round {
  readonly #calls: readonly UpstreamCall[]
  readonly #answers = new Map<number, UpstreamAnswer>()
  /** Another node behind the same URL may have the state. */
  readonly #repeated = new Set<number>()

  constructor(calls: readonly UpstreamCall[]) {
    this.#calls = calls
  }

  /** Indices of the calls without an answer. */
  get pending(): readonly number[] {
    return this.#calls.map((_, index) => index).filter((index) => !this.#answers.has(index))
  }

  get answers(): readonly UpstreamAnswer[] {
    return this.#calls.map((_, index) => this.#answers.get(index) as UpstreamAnswer) // all are there when nothing is pending
  }

  call(index: number): UpstreamCall {
    return this.#calls[index] as UpstreamCall // an index of `pending`
  }

  /** Missing state is requested once more. */
  accept(index: number, answer: UpstreamAnswer): void {
    if ('error' in answer && answer.verdict === 'pruned' && !this.#repeated.has(index)) this.#repeated.add(index)
    else this.#answers.set(index, answer)
  }

  repeatable(origin: string): Failure {
    return { verdict: 'pruned', error: new UpstreamError('pruned', `upstream ${origin} lacks the state`), retryAfterMs: null }
  }
}

/** Methods that change nothing upstream. Everything else is refused, also methods that a provider may add. */
const READS =
  /^(eth_(get(?!Filter|Work)\w+|call|callMany|estimateGas|createAccessList|feeHistory|gasPrice|maxPriorityFeePerGas|blobBaseFee|chainId|blockNumber|simulateV1|syncing|config|baseFee)|debug_(get\w+|trace(Transaction|Call|CallMany|Block|BlockByNumber|BlockByHash)|storageRangeAt|accountRange)|trace_\w+|ots_\w+|erigon_getBlockByTimestamp|net_version|web3_clientVersion|optimism_\w+|rollup_\w+)$/

/** Throws UpstreamError for a method that may write. */
function assertReads(method: string): void {
  if (!READS.test(method))
    throw new UpstreamError('method', `${method.slice(0, 100)} is not sent upstream: a fork only reads the forked chain`)
}

function chunksOf(indices: readonly number[], size: number): readonly (readonly number[])[] {
  const chunks: (readonly number[])[] = []
  for (let at = 0; at < indices.length; at += size) chunks.push(indices.slice(at, at + size))
  return chunks
}

async function inParallel<T>(items: readonly T[], limit: number, work: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values()
  const worker = async (): Promise<void> => {
    for (const item of rest) await work(item)
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker))
}
