import type { IncomingMessage, ServerResponse } from 'node:http'
import { bearerOf } from '../access/controlkeys.ts'
import type { ControlKeys } from '../access/controlkeys.ts'
import { redeemLink } from '../access/links.ts'
import type { PaymasterApi } from '../deps.ts'
import { JSON_TYPE, text } from '../http/answer.ts'
import type { Answer } from '../http/answer.ts'
import { readJsonBody } from '../http/body.ts'
import { send } from '../http/response.ts'
import { PAYMASTER_BODY_BYTES } from '../limits.ts'
import { PAYMASTER_PATHS, SPONSOR_PATH, searchOf } from '../routes.ts'
import { answerUntilClosed } from './abortable.ts'
import { PageFiles, SCRIPT_TYPE, STYLE_TYPE, pageHeaders } from './pagefiles.ts'

/** The gas sponsor over HTTP: its JSON-RPC, and the page with its ledger. The Guard has admitted the requests. */
export class SponsorEndpoint {
  readonly #paymaster: PaymasterApi
  readonly #keys: ControlKeys
  readonly #onError: (error: unknown) => void
  readonly #files = new PageFiles()

  constructor(paymaster: PaymasterApi, keys: ControlKeys, onError: (error: unknown) => void) {
    this.#paymaster = paymaster
    this.#keys = keys
    this.#onError = onError
  }

  /** Answers a POST to one of PAYMASTER_PATHS. */
  post(request: IncomingMessage, response: ServerResponse, cors: readonly string[]): void {
    const reply = (answer: Answer) => send(response, answer, { cors, onError: this.#onError })
    readJsonBody(request, PAYMASTER_BODY_BYTES, {
      onBody: (body) => {
        const handle = async (signal: AbortSignal): Promise<Answer> => ({
          type: JSON_TYPE,
          ...(await this.#paymaster.handle(body, { apiKey: apiKeyOf(request), signal })),
        })
        void answerUntilClosed(response, handle, this.#onError).then(reply)
      },
      onRefused: reply,
    })
  }

  /** Answers GET and HEAD, or returns null if the path is not the sponsor's. */
  read(path: string, request: IncomingMessage): Answer | null {
    if (PAYMASTER_PATHS.has(path)) return text(200, DESCRIPTION)
    if (path === SPONSOR_PATH) return this.#page(request)
    const asset = ASSETS.get(path)
    return asset === undefined ? null : this.#files.answer(asset.file, asset.type, ['cross-origin-resource-policy', 'same-origin'])
  }

  /** Only GET redeems a link. */
  #page(request: IncomingMessage): Answer {
    const search = searchOf(request.url ?? '')
    if (request.method === 'GET' && search.has('key')) return redeemLink(this.#keys, SPONSOR_PATH, search, request)
    return this.#files.answer('sponsor.html', undefined, pageHeaders(request))
  }
}

/** Clients of ERC-7677 services send the API key in one of three places; the first one counts. */
function apiKeyOf(request: IncomingMessage): string | null {
  const header = request.headers['x-api-key']
  const key = bearerOf(request.headers) ?? (typeof header === 'string' ? header : undefined) ?? searchOf(request.url ?? '').get('apikey')
  return key === '' ? null : key
}

const DESCRIPTION =
  'A gas sponsor (ERC-7677). POST JSON-RPC here: pm_getPaymasterStubData and pm_getPaymasterData; an API key goes into ' +
  'Authorization: Bearer, x-api-key or ?apikey=. Its payments and refusals are at /sponsor.'

const ASSETS: ReadonlyMap<string, { readonly file: string; readonly type: string }> = new Map([
  ['/sponsor/app.js', { file: 'sponsor.js', type: SCRIPT_TYPE }],
  ['/sponsor/app.css', { file: 'sponsor.css', type: STYLE_TYPE }],
])
