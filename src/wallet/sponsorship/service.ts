import type { Address, EntryPointVersion, UserOperation } from '../../eth/index.ts'
import { Hex } from '../../eth/index.ts'
import { Outbound, OutboundError, UserOperationJson } from '../../jsonrpc/index.ts'
import type { OutboundReply, RpcError } from '../../jsonrpc/index.ts'
import { invalidSponsorUrl, sponsorFailed } from '../errors.ts'
import { SPONSOR_CONNECTIONS, SPONSOR_MS, SPONSOR_REPLY_BYTES, SPONSOR_URLS } from '../limits.ts'
import { errorIn, readFinal, readStub, resultIn } from './reply.ts'
import type { PaymasterFields, StubReply } from './reply.ts'
import { sponsorTarget } from './target.ts'
import type { SponsorSettings, SponsorTarget } from './target.ts'

export type { PaymasterFields, StubReply } from './reply.ts'

/** What a sponsor is asked about. */
export interface SponsorRequest {
  /** gas that is not known yet is 0; its signature is not sent */
  readonly operation: UserOperation
  readonly entryPoint: Address
  readonly version: EntryPointVersion
  readonly chainId: number
  /** JSON of the app's own; null: `{}` is sent */
  readonly context: unknown
  readonly signal?: AbortSignal | null
}

/**
 * An ERC-7677 service, as an app has named it. Every failure is an RpcError in the words of interface 7.4: 4200 for what cannot be reached, 4300 for what
 * answers otherwise than it should. `data.detail` says what went wrong and `data.cause` is the service's own error; neither holds the path or query of the url.
 */
export class SponsorService {
  readonly #target: SponsorTarget
  readonly #memory: Memory
  readonly #outbound: Outbound

  /** Throws RpcError 4200 for a url that is never fetched. Of one settings object all services share what was learnt about urls. */
  constructor(url: string, settings: SponsorSettings) {
    this.#target = sponsorTarget(url, settings)
    this.#memory = memoryOf(settings)
    this.#outbound = this.#memory.outbound(this.#target, settings)
  }

  /** name and port of the url, for a person to see */
  get host(): string {
    return this.#target.host
  }

  /** pm_getPaymasterStubData: stand-ins of the right length, to estimate with. Throws RpcError 4200, 4300; what `signal` says. */
  async stub(request: SponsorRequest): Promise<StubReply> {
    return readStub(await this.#ask('pm_getPaymasterStubData', request), request.version, this.host)
  }

  /** pm_getPaymasterData: what the operation is sent with. Throws RpcError 4200, 4300; what `signal` says. */
  async final(request: SponsorRequest): Promise<PaymasterFields> {
    return readFinal(await this.#ask('pm_getPaymasterData', request), request.version, this.host)
  }

  async #ask(method: string, { operation, entryPoint, version, chainId, context, signal = null }: SponsorRequest): Promise<unknown> {
    // ERC-7677: a signature is nothing that a sponsor could want to see.
    const { signature: _, ...unsigned } = UserOperationJson.write(operation, version)
    const params = [unsigned, entryPoint, Hex.fromQuantity(chainId), context ?? {}]
    const body = JSON.stringify({ jsonrpc: '2.0', id: ID, method, params })
    return resultIn(await this.#post(body, signal), ID, this.host)
  }

  /** At the place that answered before, else at the first one; where there is no such place, at the other. */
  async #post(body: string, signal: AbortSignal | null): Promise<OutboundReply> {
    const end = performance.now() + SPONSOR_MS
    const misses: OutboundReply[] = []
    for (const url of this.#memory.inOrder(this.#target.urls)) {
      const reply = await this.#fetch(url, body, Math.max(1, Math.ceil(end - performance.now())), signal)
      if (reply.status !== 404 && reply.status !== 405) {
        this.#memory.remember(this.#target.urls, url)
        return reply
      }
      misses.push(reply)
    }
    // Some services put an error of JSON-RPC into a 404.
    const [first] = misses as [OutboundReply, ...OutboundReply[]] // a target has a url
    return misses.find((reply) => errorIn(reply) !== null) ?? first
  }

  async #fetch(url: string, body: string, timeoutMs: number, signal: AbortSignal | null): Promise<OutboundReply> {
    try {
      return await this.#outbound.fetch(url, { method: 'POST', headers: HEADERS, body, signal, timeoutMs })
    } catch (error) {
      throw error instanceof OutboundError ? this.#refused(error) : error
    }
  }

  /** Before it was reached the url is at fault, after that the service. */
  #refused({ reason, message, isConnected }: OutboundError): RpcError {
    return isConnected ? sponsorFailed(reason, message, { host: this.host }) : invalidSponsorUrl(reason, message)
  }
}

/** One request at a time on its own: any id does. */
const ID = 1
const HEADERS = { 'content-type': 'application/json' }

// --- what is learnt -------------------------------------------------------------------------------------------------------

/** Which of its places each url was answered at, and the connections that are kept. */
class Memory {
  /** by the first place, oldest first */
  readonly #places = new Map<string, string>()
  readonly #outbounds = new Map<SponsorTarget['reach'], { readonly ca: string | null; readonly outbound: Outbound }>()

  /** The embedded sponsor's certificate is trusted for nobody else. It is another one when it has been renewed. */
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
    const place = this.#places.get(urls[0])
    return place === undefined ? urls : [place, ...urls.filter((url) => url !== place)]
  }

  remember(urls: SponsorTarget['urls'], place: string): void {
    const [key] = urls
    this.#places.delete(key) // to be the newest
    this.#places.set(key, place)
    const [oldest] = this.#places.keys()
    if (this.#places.size > SPONSOR_URLS && oldest !== undefined) this.#places.delete(oldest)
  }
}

/** Of a wallet, whose settings are one object. */
const memories = new WeakMap<SponsorSettings, Memory>()

function memoryOf(settings: SponsorSettings): Memory {
  const memory = memories.get(settings) ?? new Memory()
  memories.set(settings, memory)
  return memory
}
