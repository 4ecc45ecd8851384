import { ChainClosed } from '../chain/index.ts'
import type { Chain, ChainStart } from '../chain/index.ts'
import type { Upstream } from '../fork/index.ts'
import { invalidParams, isLoopbackName } from '../jsonrpc/index.ts'
import { CODE, RpcError } from '../rpc/index.ts'
import type { ForkPort, ForkStatus, ForkTarget } from '../rpc/index.ts'
import { MemoryStorage, Store } from '../store/index.ts'
import { chainOptionsOf } from './chainoptions.ts'
import type { Fork } from './fork.ts'
import { firstBlockOf, genesisPartsOf } from './genesis.ts'
import type { DevAccount } from './keys.ts'
import type { ForkOptions, StartOptions } from './options.ts'

interface NodeForkDeps {
  readonly chain: Chain
  readonly accounts: readonly DevAccount[]
  /** options at the start of the node, with the chain id of the chain */
  readonly options: StartOptions
  /** the fork block at the start */
  readonly start: ChainStart
  readonly store: Store
  readonly fork: Fork | null
  /** Called when the chain has started again. */
  readonly onRestart: () => Promise<void>
}

/** The fork of a node, and its replacement by another fork or none. The chain id stays: wallet and apps are connected to it. */
export class NodeFork implements ForkPort {
  /** On which this node listens: a fork of itself would wait for its own answers. */
  readonly ownPorts = new Set<number>()
  readonly #deps: NodeForkDeps
  #current: Fork | null
  /** options of the current fork, or of the last one */
  #options: ForkOptions | null
  /** start of the chain without a fork; null until a node that started with a fork needs it */
  #plain: ChainStart | null
  #store: Store
  /** Former endpoints, whose pending requests end by themselves. */
  readonly #retired: Upstream[] = []
  /** Changes run one after the other. */
  #last: Promise<unknown> = Promise.resolve()
  /** Closes the upstream of the change in progress. */
  #change: AbortController | null = null
  #isClosed = false

  constructor(deps: NodeForkDeps) {
    this.#deps = deps
    this.#current = deps.fork
    this.#options = deps.options.fork ?? null
    this.#plain = deps.fork === null ? deps.start : null
    this.#store = deps.store
  }

  get isFork(): boolean {
    return this.#current !== null
  }

  /** The blocks of the chain. */
  get store(): Store {
    return this.#store
  }

  get status(): ForkStatus | null {
    if (this.#current === null) return null
    const { block, upstream, stats } = this.#current.state
    const { chainId, number, hash } = block
    return { url: upstream.name, chainId, blockNumber: number, blockHash: hash, retryBackoffMs: upstream.backoffMs, ...stats }
  }

  readonly forward = (method: string, params: readonly unknown[]): Promise<unknown> => this.#fork.state.forward(method, params)

  readonly setUrl = (url: string): Promise<void> => this.#inOrder((signal) => this.#setUrl(url, signal))

  readonly restart = (target: ForkTarget | null): Promise<void> =>
    this.#inOrder((signal) => (target === null ? this.#restartPlain() : this.#restartAt(target, signal)))

  /** Ends the change in progress, whose upstream may never answer, with an error; those after it are refused. */
  endChanges(): void {
    this.#isClosed = true
    this.#change?.abort(new ChainClosed())
  }

  /** Ends all requests, and writes the cache. */
  async close(): Promise<void> {
    this.endChanges()
    await this.#last
    for (const upstream of this.#retired) upstream.close()
    await closeFork(this.#current)
  }

  async #setUrl(url: string, signal: AbortSignal): Promise<void> {
    const { state } = this.#fork
    const former = state.upstream
    const { upstreamAt } = await import('./fork.ts')
    const options = this.#optionsAt(url)
    signal.throwIfAborted()
    const upstream = upstreamAt(options, this.#deps.options.onNote)
    signal.addEventListener('abort', () => upstream.close())
    try {
      await state.setUpstream(upstream)
    } catch (error) {
      upstream.close()
      throw error
    }
    this.#retired.push(former)
    this.#options = options
  }

  async #restartPlain(): Promise<void> {
    const { chain } = this.#deps
    if (this.#current === null) return chain.reset()
    const store = this.#newStore(firstBlockOf(this.#deps.options))
    this.#plain ??= await this.#plainStart(store)
    await this.#switchTo({ ...this.#plain, headState: null, store }, null, store)
  }

  async #plainStart(store: Store): Promise<ChainStart> {
    const { accounts, chain } = this.#deps
    const { fork: _, ...rest } = this.#deps.options
    const options = { ...rest, ...(await genesisPartsOf(rest)) }
    return chainOptionsOf(options, accounts, { clock: chain.clock, store, loaded: null, fork: null })
  }

  async #restartAt({ url, blockNumber }: ForkTarget, signal: AbortSignal): Promise<void> {
    const { options, accounts, chain } = this.#deps
    if (options.data !== undefined)
      throw new RpcError(
        CODE.server,
        'a chain in a data directory cannot become a fork: the directory keeps its blocks; start a node without --data',
      )
    const { openUpstream, startFork } = await import('./fork.ts')
    const forkOptions = { ...this.#optionsAt(url), ...(blockNumber === null ? {} : { blockNumber }) }
    const settings = forkedSettings(options, forkOptions)
    const fork = await openUpstream(settings, forkOptions, { signal })
    try {
      const started = await startFork(fork, { ...settings, ...(await genesisPartsOf(settings)) }, accounts)
      const store = this.#newStore(fork.block.header.number)
      await this.#switchTo(chainOptionsOf(options, accounts, { clock: chain.clock, store, loaded: null, fork: started }), fork, store)
    } catch (error) {
      if (this.#current !== fork) await closeFork(fork)
      throw error
    }
    this.#options = forkOptions
  }

  async #switchTo(start: ChainStart, fork: Fork | null, store: Store): Promise<void> {
    const former = this.#current
    await this.#deps.chain.restart(start, () => {
      this.#current = fork
      this.#store = store
    })
    await this.#deps.onRestart()
    await closeFork(former)
  }

  /** Wallet and sponsor keep their records. */
  #newStore(firstBlock: number): Store {
    return new Store(new MemoryStorage(firstBlock, this.#store.records))
  }

  /** Another endpoint gets the headers of the start only on the host of the first URL: they may hold a key. */
  #optionsAt(url: string | null): ForkOptions {
    if (url !== null && this.#isOwn(url)) throw invalidParams('the fork URL is one of this node, which cannot be forked from itself')
    const options = this.#options
    if (options === null) {
      if (url !== null) return { url }
      throw new RpcError(CODE.invalidParams, 'the chain is not a fork, so `forking` needs a jsonRpcUrl')
    }
    const { blockNumber: _number, transactionHash: _hash, chainId: _id, headers, ...kept } = options
    const isSameHost = url === null || hostOf(options.url) === hostOf(url)
    return { ...kept, ...(url === null ? {} : { url }), ...(isSameHost && headers !== undefined ? { headers } : {}) }
  }

  #isOwn(url: string): boolean {
    if (!URL.canParse(url)) return false
    const { hostname, port } = new URL(url)
    return isLoopbackName(hostname) && this.ownPorts.has(Number(port))
  }

  #inOrder<T>(change: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const result = this.#last.then(async () => {
      if (this.#isClosed) throw new ChainClosed()
      this.#change = new AbortController()
      const { signal } = this.#change
      try {
        return await change(signal)
      } catch (error) {
        signal.throwIfAborted() // the request that was ended rejects with an error of its own
        throw error
      } finally {
        this.#change = null
      }
    })
    this.#last = result.catch(() => undefined)
    return result
  }

  get #fork(): Fork {
    if (this.#current === null) throw new RpcError(CODE.server, 'the chain is not a fork')
    return this.#current
  }
}

export async function closeFork(fork: Fork | null): Promise<void> {
  fork?.state.upstream.close()
  await fork?.state.close()
}

/** Options that describe a chain without a fork are left out. */
function forkedSettings(options: StartOptions, fork: ForkOptions): StartOptions {
  const { genesis: _genesis, stateFile: _stateFile, importedChain: _imported, number: _number, timestamp: _timestamp, ...rest } = options
  if (options.fork !== undefined) return { ...rest, fork }
  const { hardfork: _hardfork, chainType: _chainType, ...kept } = rest
  return { ...kept, fork }
}

/** Of the first URL. */
function hostOf(url: ForkOptions['url']): string | null {
  const [first = ''] = typeof url === 'string' ? [url] : url
  return URL.canParse(first) ? new URL(first).host : null
}
