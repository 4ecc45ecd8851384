import { ENTRY_POINTS, Hex } from '../../eth/index.ts'
import type { UserOperation } from '../../eth/index.ts'
import { Outbound, OutboundError, UserOperationJson } from '../../jsonrpc/index.ts'
import type { OutboundReply, RpcError } from '../../jsonrpc/index.ts'
import { invalidSponsorUrl, sponsorFailed } from '../errors.ts'
import { SPONSOR_CONNECTIONS, SPONSOR_MS, SPONSOR_REPLY_BYTES, SPONSOR_URLS } from '../limits.ts'
import { SPONSORED_VERSION } from './availability.ts'
import { errorOf, readFinal, readStub, resultOf } from './reply.ts'
import type { PaymasterFields, StubReply } from './reply.ts'
import { sponsorTarget } from './target.ts'
import type { SponsorSettings, SponsorTarget } from './target.ts'

export type { PaymasterFields, StubReply } from './reply.ts'

/** Parameters of a request to a sponsor. */
export interface SponsorRequest {
  /** unknown gas limits are 0; the signature is not sent */
  readonly operation: UserOperation
  readonly chainId: number
  /** JSON of the app; null: `{}` is sent */
  readonly context: unknown
  readonly signal?: AbortSignal | null
}

/**
 * Client of an ERC-7677 service that an app names. Every failure is an RpcError of interface 7.4: 4200 if the service cannot be reached, 4300 if it refuses
 * or its response is invalid. `data.detail` states the failure and `data.cause` is the service's own error. Neither contains the path or query of the
 * url, since they may contain keys.
 */
export class SponsorClient {
  readonly #target: SponsorTarget
  readonly #cache: SponsorCache
  readonly #outbound: Outbound

  /** Throws RpcError 4200 for a url that may not be fetched. All services of one settings object share a cache. */
  constructor(url: string, settings: SponsorSettings) {
    this.#target = sponsorTarget(url, settings)
    this.#cache = cacheOf(settings)
    this.#outbound = this.#cache.outbound(this.#target, settings)
  }

  /** host name and port of the url, for display */
  get host(): string {
    return this.#target.host
  }

  /** Calls pm_getPaymasterStubData, for gas estimation. Throws RpcError 4200 and 4300, and the reason of `signal`. */
  async stub(request: SponsorRequest): Promise<StubReply> {
    return readStub(await this.#call('pm_getPaymasterStubData', request), this.host)
  }

  /** Calls pm_getPaymasterData, for the final operation. Throws RpcError 4200 and 4300, and the reason of `signal`. */
  async final(request: SponsorRequest): Promise<PaymasterFields> {
    return readFinal(await this.#call('pm_getPaymasterData', request), this.host)
  }

  async #call(method: string, { operation, chainId, context, signal = null }: SponsorRequest): Promise<unknown> {
    // ERC-7677: the sponsor gets the operation without signature.
    const { signature: _, ...unsigned } = UserOperationJson.write(operation, SPONSORED_VERSION)
    const params = [unsigned, ENTRY_POINTS[SPONSORED_VERSION], Hex.fromQuantity(chainId), context ?? {}]
    const body = JSON.stringify({ jsonrpc: '2.0', id: ID, method, params })
    return resultOf(await this.#post(body, signal), ID, this.host)
  }

  /** Tries the url that responded before, then the others; a 404 or 405 leads to the next. */
  async #post(body: string, signal: AbortSignal | null): Promise<OutboundReply> {
    const end = performance.now() + SPONSOR_MS
    const notFound: OutboundReply[] = []
    for (const url of this.#cache.inOrder(this.#target.urls)) {
      const reply = await this.#fetch(url, body, Math.max(1, Math.ceil(end - performance.now())), signal)
      if (reply.status !== 404 && reply.status !== 405) {
        this.#cache.setWorkingUrl(this.#target.urls, url)
        return reply
      }
      notFound.push(reply)
    }
    // Some services return a JSON-RPC error with status 404.
    const [first] = notFound as [OutboundReply, ...OutboundReply[]] // a target has a url
    return notFound.find((reply) => errorOf(reply) !== null) ?? first
  }

  async #fetch(url: string, body: string, timeoutMs: number, signal: AbortSignal | null): Promise<OutboundReply> {
    try {
      return await this.#outbound.fetch(url, { method: 'POST', headers: HEADERS, body, signal, timeoutMs })
    } catch (error) {
      throw error instanceof OutboundError ? this.#refused(error) : error
    }
  }

  /** Before the connection is established the url is at fault, after that the service. */
  #refused({ reason, message, isConnected }: OutboundError): RpcError {
    return isConnected ? sponsorFailed(reason, message, { host: this.host }) : invalidSponsorUrl(reason, message)
  }
}

/** Each body has one request, so the id is constant. */
const ID = 1
const HEADERS = { 'content-type': 'application/json' }

// --- cache ------------------------------------------------------------------------------------------------------------------

/** The candidate url at which each sponsor responds, and the open connections. */
class SponsorCache {
  /** by the first candidate, oldest first */
  readonly #workingUrls = new Map<string, string>()
  readonly #outbounds = new Map<SponsorTarget['reach'], { readonly ca: string | null; readonly outbound: Outbound }>()

  /** Trusts the embedded sponsor's certificate for that sponsor only, and reconnects if it was renewed. */
  outbound({ reach }: SponsorTarget, { sponsor, fetch }: SponsorSettings): Outbound {
    const ca = reach === 'embedded' ? (sponsor?.ca() ?? null) : null
    const kept = this.#outbounds.get(reach)
    if (kept !== undefined && kept.ca === ca) return kept.outbound
    const made = new Outbound({
      reach: reach === 'public' ? 'public' : 'loopback',
      timeoutMs: SPONSOR_MS,
      maxReplyBytes: SPONSOR_REPLY_BYTES,
      connections: SPONSOR_CONNECTIONS,
      ...(ca === null ? {} : { ca }),
      ...(fetch === undefined ? {} : { fetch }),
    })
    this.#outbounds.set(reach, { ca, outbound: made })
    return made
  }

  inOrder(urls: SponsorTarget['urls']): readonly string[] {
    const working = this.#workingUrls.get(urls[0])
    return working === undefined ? urls : [working, ...urls.filter((url) => url !== working)]
  }

  setWorkingUrl(urls: SponsorTarget['urls'], working: string): void {
    const [key] = urls
    this.#workingUrls.delete(key) // inserted again as the newest
    this.#workingUrls.set(key, working)
    const [oldest] = this.#workingUrls.keys()
    if (this.#workingUrls.size > SPONSOR_URLS && oldest !== undefined) this.#workingUrls.delete(oldest)
  }
}

/** One per wallet: its settings are one object. */
const caches = new WeakMap<SponsorSettings, SponsorCache>()

function cacheOf(settings: SponsorSettings): SponsorCache {
  const cache = caches.get(settings) ?? new SponsorCache()
  caches.set(settings, cache)
  return cache
}
