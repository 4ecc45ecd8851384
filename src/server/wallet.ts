import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { WalletApi } from '../wallet/index.ts'
import { HTML_TYPE, JSON_TYPE, TEXT_TYPE, text } from './http/answer.ts'
import type { Answer } from './http/answer.ts'
import { readBody } from './http/body.ts'
import { unsuitableContent } from './http/content.ts'
import { isOwnPage, originOf } from './guard.ts'
import type { Guard } from './guard.ts'
import { WALLET_BODY_BYTES } from './limits.ts'
import { enter } from './links.ts'
import { CRASHED } from './port.ts'
import type { Served } from './port.ts'
import { ALWAYS } from './pagefiles.ts'
import { send } from './http/response.ts'
import { WALLET_PATH, pathOf, searchOf } from './routes.ts'
import type { WalletKeys } from './walletkeys.ts'
import { WalletPages } from './walletpages.ts'

/** Who asks something of the wallet. */
export interface WalletVisitor {
  /** the site; null: none is named, or `null` is */
  readonly origin: string | null
  /** may approve */
  readonly isControl: boolean
  /** message of the 4100 for a page of our own without the control credential; null for other clients */
  readonly refusal: string | null
}

/** The wallet over HTTP: requests of sites and of those who approve, the page, and the links to it. */
export class WalletDoor {
  readonly #served: Served
  readonly #wallet: WalletApi
  readonly #keys: WalletKeys
  readonly #guard: Guard
  readonly #pages = new WalletPages()

  constructor(served: Served, wallet: WalletApi, keys: WalletKeys, guard: Guard) {
    this.#served = served
    this.#wallet = wallet
    this.#keys = keys
    this.#guard = guard
  }

  serve(request: IncomingMessage, response: ServerResponse): void {
    const { headers, method = 'GET' } = request
    const refusal = method === 'POST' ? this.#guard.walletRefusal(headers) : this.#guard.refusal(headers)
    if (refusal !== null) return this.#send(response, text(403, refusal, ALWAYS), NO_CORS)
    if (method === 'POST') return this.#post(request, response)
    if (method === 'OPTIONS') return this.#send(response, this.#preflight(request), NO_CORS)
    this.#send(response, this.#read(request), this.#cors(headers))
  }

  #post(request: IncomingMessage, response: ServerResponse): void {
    const { headers, url = '' } = request
    const cors = this.#cors(headers)
    if (pathOf(url) !== WALLET_PATH) return this.#send(response, notAllowed(), cors)
    const unsuitable = unsuitableContent(request) ?? unreadableOrigin(headers)
    if (unsuitable !== null) return this.#send(response, unsuitable, cors)
    readBody(request, WALLET_BODY_BYTES, (body) => {
      if (body === undefined) return
      if (body === null) return this.#send(response, text(413, `request body too large: at most ${WALLET_BODY_BYTES} bytes`), cors)
      void this.#ask(body, visitorOf(headers, this.#keys), response, cors)
    })
  }

  /** May wait for a person, as long as the one who asks does: no time limit of ours, and whoever goes takes the question along. */
  async #ask(body: Uint8Array, visitor: WalletVisitor, response: ServerResponse, cors: readonly string[]): Promise<void> {
    const gone = new AbortController()
    const leave = () => gone.abort()
    response.once('close', leave)
    const answer = await this.#answerTo(body, visitor, gone.signal)
    response.off('close', leave)
    this.#send(response, answer, cors)
  }

  async #answerTo(body: Uint8Array, visitor: WalletVisitor, signal: AbortSignal): Promise<Answer> {
    try {
      const reply = await this.#wallet.handle(body, { ...visitor, signal })
      return { status: 200, type: JSON_TYPE, body: reply ?? '', headers: ALWAYS }
    } catch (error) {
      this.#served.onError(error)
      return { status: 500, type: JSON_TYPE, body: CRASHED }
    }
  }

  #read(request: IncomingMessage): Answer {
    const { method, url = '' } = request
    if (method !== 'GET' && method !== 'HEAD') return notAllowed()
    const path = pathOf(url)
    if (path !== WALLET_PATH) return this.#pages.asset(path) ?? text(404, `the wallet has no ${JSON.stringify(path.slice(0, 100))}`, ALWAYS)
    const search = searchOf(url)
    if (!search.has('key')) return this.#pages.page(request, search)
    // Whoever only looks at the head of a link must not use it up.
    return method === 'HEAD' ? { status: 200, type: HTML_TYPE, body: '', headers: ALWAYS } : enter(this.#keys, path, search, request)
  }

  #preflight({ headers }: IncomingMessage): Answer {
    return { status: 200, type: TEXT_TYPE, body: '', headers: ['allow', METHODS, ...this.#guard.preflightHeaders(headers)] }
  }

  /** Never for everybody, and never for a site that a program merely names. */
  #cors(headers: IncomingHttpHeaders): readonly string[] {
    return this.#guard.admitsPage(headers) ? this.#guard.corsHeaders(headers.origin) : VARY
  }

  #send(response: ServerResponse, answer: Answer, cors: readonly string[]): void {
    send(response, answer, { cors, onError: this.#served.onError })
  }
}

/**
 * The site stands in the Origin, which a page cannot choose. To approve takes the control token, or, from a page of our own, the cookie and the
 * page secret of one session: servers on other ports of this host receive the cookie, too, and may name any Origin.
 */
export function visitorOf(headers: IncomingHttpHeaders, keys: WalletKeys): WalletVisitor {
  const { origin } = headers
  const isControl = keys.isControl(headers)
  const refusal = isControl || !isOwnPage(headers) ? null : NO_PAGE_SECRET
  return { origin: origin === undefined || origin === 'null' ? null : originOf(origin), isControl, refusal }
}

/** The 4100 for a page of our own without the cookie, or without the page secret of that session. */
export const NO_PAGE_SECRET =
  'this page lacks the session cookie or the page secret that belongs to it; open a new link in this browser: the terminal prints one at start, ' +
  'and pocketchain_walletLink with the control token returns another'

/** An origin is what is shown to the person who approves, so nothing else may pass for one. */
function unreadableOrigin({ origin }: IncomingHttpHeaders): Answer | null {
  if (origin === undefined || origin === 'null' || originOf(origin) !== null) return null
  return text(
    403,
    `the Origin ${JSON.stringify(origin.slice(0, 100))} is none: it is a scheme, a host and a port, such as http://localhost:3000`,
    ALWAYS,
  )
}

function notAllowed(): Answer {
  return text(405, 'method not allowed', ['allow', METHODS, ...ALWAYS])
}

const METHODS = 'GET, HEAD, POST, OPTIONS'
const NO_CORS: readonly string[] = []
const VARY: readonly string[] = ['vary', 'origin']
