import type { IncomingMessage, ServerResponse } from 'node:http'
import { JSON_TYPE, text } from './http/answer.ts'
import type { Answer } from './http/answer.ts'
import { readBody } from './http/body.ts'
import { unsuitableContent } from './http/content.ts'
import { PAYMASTER_BODY_BYTES } from './limits.ts'
import { enter } from './links.ts'
import { PageFiles, SCRIPT_TYPE, STYLE_TYPE, pageHeaders } from './pagefiles.ts'
import { CRASHED } from './port.ts'
import type { PaymasterFace } from './port.ts'
import { send } from './http/response.ts'
import { PAYMASTER_PATHS, SPONSOR_PATH, searchOf } from './routes.ts'
import type { WalletKeys } from './walletkeys.ts'

/** The gas sponsor over HTTP: its JSON-RPC, and the page with its ledger. Who may come in at all was decided before. */
export class SponsorDoor {
  readonly #paymaster: PaymasterFace
  readonly #keys: WalletKeys
  readonly #onError: (error: unknown) => void
  readonly #files = new PageFiles()

  constructor(paymaster: PaymasterFace, keys: WalletKeys, onError: (error: unknown) => void) {
    this.#paymaster = paymaster
    this.#keys = keys
    this.#onError = onError
  }

  takes(path: string): boolean {
    return PAYMASTER_PATHS.has(path)
  }

  /** To a path that it takes. */
  post(request: IncomingMessage, response: ServerResponse, cors: readonly string[]): void {
    const unsuitable = unsuitableContent(request)
    if (unsuitable !== null) return this.#send(response, unsuitable, cors)
    readBody(request, PAYMASTER_BODY_BYTES, (body) => {
      if (body === undefined) return
      if (body === null) return this.#send(response, text(413, `request body too large: at most ${PAYMASTER_BODY_BYTES} bytes`), cors)
      void this.#ask(body, apiKeyOf(request), response, cors)
    })
  }

  /** null: it has nothing there */
  read(path: string, request: IncomingMessage): Answer | null {
    if (this.takes(path)) return text(200, GREETING)
    if (path === SPONSOR_PATH) return this.#page(request)
    const asset = ASSETS.get(path)
    return asset === undefined ? null : this.#files.answer(asset.file, asset.type, ['cross-origin-resource-policy', 'same-origin'])
  }

  /** A link is used up by GET alone: not by who looks at the head, nor by a method that is refused. */
  #page(request: IncomingMessage): Answer {
    const search = searchOf(request.url ?? '')
    if (request.method === 'GET' && search.has('key')) return enter(this.#keys, SPONSOR_PATH, search, request)
    return this.#files.answer('sponsor.html', undefined, pageHeaders(request))
  }

  async #ask(body: Uint8Array, apiKey: string | null, response: ServerResponse, cors: readonly string[]): Promise<void> {
    const gone = new AbortController()
    const leave = () => gone.abort()
    response.once('close', leave)
    const answer = await this.#answerTo(body, apiKey, gone.signal)
    response.off('close', leave)
    this.#send(response, answer, cors)
  }

  async #answerTo(body: Uint8Array, apiKey: string | null, signal: AbortSignal): Promise<Answer> {
    try {
      return { type: JSON_TYPE, ...(await this.#paymaster.handle(body, { apiKey, signal })) }
    } catch (error) {
      this.#onError(error)
      return { status: 500, type: JSON_TYPE, body: CRASHED }
    }
  }

  #send(response: ServerResponse, answer: Answer, cors: readonly string[]): void {
    send(response, answer, { cors, onError: this.#onError })
  }
}

/** Services of this kind take it in one of three places; the first that is there counts. */
function apiKeyOf({ headers, url = '' }: IncomingMessage): string | null {
  const bearer = BEARER.exec(headers.authorization ?? '')?.[1]
  const named = headers['x-api-key']
  const key = bearer ?? (typeof named === 'string' ? named : undefined) ?? searchOf(url).get('apikey') ?? ''
  return key === '' ? null : key
}

const BEARER = /^Bearer +([\x21-\x7e]+) *$/i

const GREETING =
  'A gas sponsor (ERC-7677). POST JSON-RPC here: pm_getPaymasterStubData and pm_getPaymasterData; an API key goes into ' +
  'Authorization: Bearer, x-api-key or ?apikey=. What it has paid and refused is at /sponsor.'

const ASSETS: ReadonlyMap<string, { readonly file: string; readonly type: string }> = new Map([
  ['/sponsor/app.js', { file: 'sponsor.js', type: SCRIPT_TYPE }],
  ['/sponsor/app.css', { file: 'sponsor.css', type: STYLE_TYPE }],
])
