import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { WalletApi } from '../../wallet/index.ts'
import { walletCallerOf } from '../access/caller.ts'
import type { ControlKeys } from '../access/controlkeys.ts'
import { originOf } from '../access/guard.ts'
import type { Guard } from '../access/guard.ts'
import { redeemLink } from '../access/links.ts'
import type { ServerDeps } from '../deps.ts'
import { HTML_TYPE, JSON_TYPE, TEXT_TYPE, text } from '../http/answer.ts'
import type { Answer } from '../http/answer.ts'
import { contentTypeRefusal, readJsonBody } from '../http/body.ts'
import { send } from '../http/response.ts'
import { WALLET_BODY_BYTES } from '../limits.ts'
import { WALLET_PATH, pathOf, searchOf } from '../routes.ts'
import { answerUntilClosed } from './abortable.ts'
import { PageFiles, SCRIPT_TYPE, SECURITY_HEADERS, STYLE_TYPE, pageHeaders } from './pagefiles.ts'

/** The wallet over HTTP: JSON-RPC of sites and of holders of the control credential, the approval page, and one-time links. */
export class WalletEndpoint {
  readonly #deps: ServerDeps
  readonly #wallet: WalletApi
  readonly #keys: ControlKeys
  readonly #guard: Guard
  readonly #files = new PageFiles()

  constructor(deps: ServerDeps, wallet: WalletApi, keys: ControlKeys, guard: Guard) {
    this.#deps = deps
    this.#wallet = wallet
    this.#keys = keys
    this.#guard = guard
  }

  serve(request: IncomingMessage, response: ServerResponse): void {
    const { headers, method = 'GET' } = request
    const refusal = method === 'POST' ? this.#guard.walletRefusal(headers) : this.#guard.refusal(headers)
    if (refusal !== null) return this.#send(response, text(403, refusal, SECURITY_HEADERS), NO_CORS)
    if (method === 'POST') return this.#post(request, response)
    if (method === 'OPTIONS') return this.#send(response, this.#preflight(request), NO_CORS)
    this.#send(response, this.#read(request), this.#cors(headers))
  }

  #post(request: IncomingMessage, response: ServerResponse): void {
    const { headers, url = '' } = request
    const cors = this.#cors(headers)
    const reply = (answer: Answer) => this.#send(response, answer, cors)
    if (pathOf(url) !== WALLET_PATH) return reply(notAllowed())
    const refusal = contentTypeRefusal(request) ?? originRefusal(headers)
    if (refusal !== null) return reply(refusal)
    readJsonBody(request, WALLET_BODY_BYTES, {
      onBody: (body) => {
        const caller = walletCallerOf(headers, this.#keys)
        const handle = async (signal: AbortSignal): Promise<Answer> => {
          const result = await this.#wallet.handle(body, { ...caller, signal })
          return { status: 200, type: JSON_TYPE, body: result ?? '', headers: SECURITY_HEADERS }
        }
        void answerUntilClosed(response, handle, this.#deps.onError).then(reply)
      },
      onRefused: reply,
    })
  }

  #read(request: IncomingMessage): Answer {
    const { method, url = '' } = request
    if (method !== 'GET' && method !== 'HEAD') return notAllowed()
    const path = pathOf(url)
    if (path !== WALLET_PATH) return this.#asset(path)
    const search = searchOf(url)
    if (!search.has('key')) return this.#page(request, search)
    // Only GET redeems a link.
    return method === 'HEAD'
      ? { status: 200, type: HTML_TYPE, body: '', headers: SECURITY_HEADERS }
      : redeemLink(this.#keys, path, search, request)
  }

  #page(request: IncomingMessage, search: URLSearchParams): Answer {
    // An app that opens the page as a popup communicates with it through window.opener.
    const isPopup = POPUP_PARAMETERS.some((name) => search.has(name))
    return this.#files.answer('wallet.html', undefined, pageHeaders(request, isPopup ? 'unsafe-none' : 'same-origin'))
  }

  #asset(path: string): Answer {
    const asset = ASSETS.get(path)
    if (asset === undefined) return text(404, `the wallet has no ${JSON.stringify(path.slice(0, 100))}`, SECURITY_HEADERS)
    return this.#files.answer(asset.file, asset.type, ['cross-origin-resource-policy', asset.policy])
  }

  #preflight({ headers }: IncomingMessage): Answer {
    return { status: 200, type: TEXT_TYPE, body: '', headers: ['allow', METHODS, ...this.#guard.preflightHeaders(headers)] }
  }

  /** No wildcard, and no permission for a site that a program only claims. */
  #cors(headers: IncomingHttpHeaders): readonly string[] {
    return this.#guard.admitsPage(headers) ? this.#guard.corsHeaders(headers.origin) : VARY
  }

  #send(response: ServerResponse, answer: Answer, cors: readonly string[]): void {
    send(response, answer, { cors, onError: this.#deps.onError })
  }
}

/** Parameters of the page's URL in a popup: of the Base Account SDK, and of provider.js. */
const POPUP_PARAMETERS = ['sdkName', 'popup'] as const

/** Pages of any origin may load `provider.js`. */
const ASSETS: ReadonlyMap<string, { readonly file: string; readonly type: string; readonly policy: 'same-origin' | 'cross-origin' }> =
  new Map([
    ['/wallet/app.js', { file: 'app.js', type: SCRIPT_TYPE, policy: 'same-origin' }],
    ['/wallet/app.css', { file: 'app.css', type: STYLE_TYPE, policy: 'same-origin' }],
    ['/wallet/provider.js', { file: 'provider.js', type: SCRIPT_TYPE, policy: 'cross-origin' }],
  ])

/** The user approves requests by their origin, so only a well-formed one is accepted. */
function originRefusal({ origin }: IncomingHttpHeaders): Answer | null {
  if (origin === undefined || origin === 'null' || originOf(origin) !== null) return null
  return text(
    403,
    `the Origin ${JSON.stringify(origin.slice(0, 100))} is not an origin: it is a scheme, a host and a port, such as http://localhost:3000`,
    SECURITY_HEADERS,
  )
}

function notAllowed(): Answer {
  return text(405, 'method not allowed', ['allow', METHODS, ...SECURITY_HEADERS])
}

const METHODS = 'GET, HEAD, POST, OPTIONS'
const NO_CORS: readonly string[] = []
const VARY: readonly string[] = ['vary', 'origin']
