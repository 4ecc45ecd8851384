import { JsonRecords } from '../../jsonrpc/index.ts'
import type { Records, Rpc } from '../../jsonrpc/index.ts'
import type { ChainInfo, WalletChain } from './chain.ts'
import { CHAINS, CHAIN_URLS, PROBE_BYTES, PROBE_MS } from '../limits.ts'
import { nodeRpc } from './noderpc.ts'

/** How a chain that was added is reached. `limits`: less than an ordinary request may take, for a first look at a url. */
export type Connect = (url: string, chainId: number, limits?: { readonly timeoutMs: number; readonly maxReplyBytes: number }) => Rpc

/**
 * The chains the wallet knows: those its owner gave, which keep their connection whatever is added, and those that were added with
 * somebody's consent, which are kept in the records.
 */
export class Chains {
  readonly default: WalletChain
  readonly #records: Records
  readonly #connect: Connect
  readonly #given: ReadonlySet<number>
  readonly #chains = new Map<number, WalletChain>()

  /**
   * `given`: the first is the one that new sites are on. `onError` gets what is wrong with a record, which is then left out; it is thrown
   * unless somebody wants it. Throws RangeError when there is no chain, or two have one id.
   */
  constructor(records: Records, given: readonly WalletChain[], connect: Connect, onError: (error: unknown) => void = thrown) {
    const [first] = given
    if (first === undefined) throw new RangeError('a wallet needs at least one chain')
    this.default = first
    this.#records = records
    this.#connect = connect
    this.#given = new Set(given.map(({ chainId }) => chainId))
    for (const chain of given) {
      if (this.#chains.has(chain.chainId)) throw new RangeError(`chain ${chain.chainId} was given twice`)
      this.#chains.set(chain.chainId, chain)
    }
    for (const info of keptChains(records, onError)) {
      try {
        this.#keep(info)
      } catch (error) {
        onError(error) // a url that could be reached once and is not fetched any more
      }
    }
  }

  get(chainId: number): WalletChain | null {
    return this.#chains.get(chainId) ?? null
  }

  /** The owner's first, then as they were added. */
  list(): readonly WalletChain[] {
    return [...this.#chains.values()]
  }

  /** True when no further chain fits (limits.ts: CHAINS). */
  get isFull(): boolean {
    return this.#chains.size >= CHAINS
  }

  /**
   * Kept in the records. A chain that is known keeps its name and currency and gets the urls in front of its own: what was consented to last
   * is what is used. The owner's chains keep their connection. Throws RangeError when the wallet is full.
   */
  add(info: ChainInfo): WalletChain {
    if (this.get(info.chainId) === null && this.isFull) throw new RangeError(`the wallet holds ${CHAINS} chains already`)
    const chain = this.#keep(info)
    const place = [...this.#chains.keys()].indexOf(chain.chainId)
    JsonRecords.put(this.#records, `${PREFIX}${chain.chainId}`, { place, info: infoOf(chain) } satisfies Kept)
    return chain
  }

  /** True when adding the chain with this url in front would connect it anew. */
  wouldReconnect(chainId: number, url: string): boolean {
    const known = this.get(chainId)
    return known !== null && !this.#given.has(chainId) && !isSameUrl(known.rpcUrls[0] ?? '', url)
  }

  /** What the rpc at the url says its chain id is, whatever that may be. Throws RpcError or OutboundError when it says nothing. */
  async probe(url: string, chainId: number, signal: AbortSignal | null): Promise<unknown> {
    const rpc = this.#connect(url, chainId, { timeoutMs: PROBE_MS, maxReplyBytes: PROBE_BYTES })
    return within(PROBE_MS, signal, rpc.request({ method: 'eth_chainId' }))
  }

  #keep(info: ChainInfo): WalletChain {
    const known = this.get(info.chainId)
    const chain = known === null ? this.#connected(info) : this.#extended(known, info)
    this.#chains.set(chain.chainId, chain)
    return chain
  }

  #connected(info: ChainInfo): WalletChain {
    const { rpcUrls, chainId } = info
    const [url] = rpcUrls
    if (url === undefined) throw new RangeError(`chain ${chainId} has no rpc url`)
    return { ...infoOf(info), rpcUrls: distinct(rpcUrls), rpc: nodeRpc(this.#connect(url, chainId)), isEmbedded: false }
  }

  #extended(known: WalletChain, { rpcUrls: [url = '', ...more] }: ChainInfo): WalletChain {
    if (!this.wouldReconnect(known.chainId, url)) return { ...known, rpcUrls: distinct([...known.rpcUrls, url, ...more]) }
    return this.#connected({ ...known, rpcUrls: [url, ...more, ...known.rpcUrls] })
  }
}

/** What is kept of a chain; `place` in the list. */
interface Kept {
  readonly place: number
  readonly info: ChainInfo
}

const PREFIX = 'wallet/chains/'

function thrown(error: unknown): never {
  throw error
}

/** In the order in which they were added. */
function keptChains(records: Records, onError: (error: unknown) => void): readonly ChainInfo[] {
  const kept: Kept[] = []
  for (const [key, value] of JsonRecords.entries(records, PREFIX)) {
    if (isKept(value) && key === `${PREFIX}${value.info.chainId}`) kept.push(value)
    else onError(new Error(`the record ${key} is no chain and is left out`))
  }
  return kept.toSorted((a, b) => a.place - b.place).map(({ info }) => info)
}

/** Enough to tell a record of ours from anything else; what stands in it was checked before it was kept. */
function isKept(value: unknown): value is Kept {
  const { place, info } = fieldsOf(value)
  const { chainId, name, nativeCurrency, rpcUrls, blockExplorerUrls, iconUrls } = fieldsOf(info)
  const { symbol, decimals } = fieldsOf(nativeCurrency)
  const numbers = [place, chainId, decimals].every(Number.isSafeInteger)
  return (
    numbers &&
    [name, symbol].every(isText) &&
    [rpcUrls, blockExplorerUrls, iconUrls].every((urls) => Array.isArray(urls) && urls.every(isText))
  )
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {} // any object has this shape
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function infoOf({ chainId, name, nativeCurrency, rpcUrls, blockExplorerUrls, iconUrls }: ChainInfo): ChainInfo {
  return { chainId, name, nativeCurrency, rpcUrls, blockExplorerUrls, iconUrls }
}

/** The first CHAIN_URLS of them, each once. */
function distinct(urls: readonly string[]): readonly string[] {
  return urls.filter((url, i) => url !== '' && urls.findIndex((other) => isSameUrl(other, url)) === i).slice(0, CHAIN_URLS)
}

/** `https://x.org` and `https://x.org/` are one. */
function isSameUrl(a: string, b: string): boolean {
  return a === b || (URL.canParse(a) && URL.canParse(b) && new URL(a).href === new URL(b).href)
}

/** Connections may come from anywhere and keep their own time. */
async function within<T>(timeoutMs: number, signal: AbortSignal | null, promise: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  let stop = (): void => {}
  const ended = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs)
    stop = () => reject(signal?.reason as Error) // what ends a request is an error
    signal?.addEventListener('abort', stop)
  })
  try {
    signal?.throwIfAborted()
    return await Promise.race([promise, ended])
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', stop)
  }
}
