import { objectFields } from '../../eth/index.ts'
import { JsonRecords } from '../../jsonrpc/index.ts'
import type { Records, Rpc } from '../../jsonrpc/index.ts'
import type { ChainInfo, WalletChain } from './chain.ts'
import { CHAINS, CHAIN_URLS, PROBE_BYTES, PROBE_MS } from '../limits.ts'
import { nodeRpc } from './noderpc.ts'

/** Opens the connection to an added chain. `limits`: reduced limits for a probe. */
export type Connect = (url: string, chainId: number, limits?: { readonly timeoutMs: number; readonly maxReplyBytes: number }) => Rpc

/**
 * The configured chains, whose connection never changes, and the chains added by approval, which are kept in the records.
 */
export class Chains {
  readonly default: WalletChain
  readonly #records: Records
  readonly #connect: Connect
  readonly #configuredIds: ReadonlySet<number>
  readonly #chains = new Map<number, WalletChain>()

  /**
   * `configured`: the first is the default of new sites. `onError` receives the error of an invalid record, which is then skipped; by default
   * it throws. Throws RangeError without a chain, or for a duplicate id.
   */
  constructor(records: Records, configured: readonly WalletChain[], connect: Connect, onError: (error: unknown) => void = rethrow) {
    const [first] = configured
    if (first === undefined) throw new RangeError('a wallet needs at least one chain')
    this.default = first
    this.#records = records
    this.#connect = connect
    this.#configuredIds = new Set(configured.map(({ chainId }) => chainId))
    for (const chain of configured) {
      if (this.#chains.has(chain.chainId)) throw new RangeError(`chain ${chain.chainId} was configured twice`)
      this.#chains.set(chain.chainId, chain)
    }
    for (const info of keptChains(records, onError)) {
      try {
        this.#keep(info)
      } catch (error) {
        onError(error) // a url that is not allowed any more
      }
    }
  }

  get(chainId: number): WalletChain | null {
    return this.#chains.get(chainId) ?? null
  }

  /** The configured ones first, then in the order of their addition. */
  list(): readonly WalletChain[] {
    return [...this.#chains.values()]
  }

  /** True when no further chain fits (limits.ts: CHAINS). */
  get isFull(): boolean {
    return this.#chains.size >= CHAINS
  }

  /**
   * Adds a chain and keeps it in the records. A known chain keeps its name and currency and gets the new urls before its own, so that the
   * latest approval decides which is used. Configured chains keep their connection. Throws RangeError when the wallet is full.
   */
  add(info: ChainInfo): WalletChain {
    if (this.get(info.chainId) === null && this.isFull) throw new RangeError(`the wallet holds ${CHAINS} chains already`)
    const chain = this.#keep(info)
    const place = [...this.#chains.keys()].indexOf(chain.chainId)
    JsonRecords.put(this.#records, `${PREFIX}${chain.chainId}`, { place, info: infoOf(chain) } satisfies Kept)
    return chain
  }

  /** True if adding this url would replace the connection of the chain. */
  wouldReconnect(chainId: number, url: string): boolean {
    const known = this.get(chainId)
    return known !== null && !this.#configuredIds.has(chainId) && !isSameUrl(known.rpcUrls[0] ?? '', url)
  }

  /** The unvalidated `eth_chainId` result of the rpc at `url`. Throws RpcError or OutboundError without an answer. */
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

/** The record of a chain; `place`: index in the list. */
interface Kept {
  readonly place: number
  readonly info: ChainInfo
}

const PREFIX = 'wallet/chains/'

function rethrow(error: unknown): never {
  throw error
}

/** In the order of their addition. */
function keptChains(records: Records, onError: (error: unknown) => void): readonly ChainInfo[] {
  const kept: Kept[] = []
  for (const [key, value] of JsonRecords.entries(records, PREFIX)) {
    if (isKept(value) && key === `${PREFIX}${value.info.chainId}`) kept.push(value)
    else onError(new Error(`the record ${key} is no chain and is left out`))
  }
  return kept.toSorted((a, b) => a.place - b.place).map(({ info }) => info)
}

/** Checks the shape only; the contents were validated before they were kept. */
function isKept(value: unknown): value is Kept {
  const { place, info } = objectFields(value)
  const { chainId, name, nativeCurrency, rpcUrls, blockExplorerUrls, iconUrls } = objectFields(info)
  const { symbol, decimals } = objectFields(nativeCurrency)
  const numbers = [place, chainId, decimals].every(Number.isSafeInteger)
  return (
    numbers &&
    [name, symbol].every(isText) &&
    [rpcUrls, blockExplorerUrls, iconUrls].every((urls) => Array.isArray(urls) && urls.every(isText))
  )
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function infoOf({ chainId, name, nativeCurrency, rpcUrls, blockExplorerUrls, iconUrls }: ChainInfo): ChainInfo {
  return { chainId, name, nativeCurrency, rpcUrls, blockExplorerUrls, iconUrls }
}

/** The first CHAIN_URLS, without duplicates. */
function distinct(urls: readonly string[]): readonly string[] {
  return urls.filter((url, i) => url !== '' && urls.findIndex((other) => isSameUrl(other, url)) === i).slice(0, CHAIN_URLS)
}

/** `https://x.org` equals `https://x.org/`. */
function isSameUrl(a: string, b: string): boolean {
  return a === b || (URL.canParse(a) && URL.canParse(b) && new URL(a).href === new URL(b).href)
}

/** Bounds a probe, since a custom `connect` may ignore the limits. */
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
