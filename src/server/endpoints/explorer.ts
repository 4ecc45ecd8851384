import type { IncomingMessage } from 'node:http'
import type { ControlKeys } from '../access/controlkeys.ts'
import { redeemLink } from '../access/links.ts'
import { HTML_TYPE } from '../http/answer.ts'
import type { Answer } from '../http/answer.ts'
import { isExplorerPath, pathOf, searchOf } from '../routes.ts'
import { PageFiles, SCRIPT_TYPE, STYLE_TYPE, pageHeaders } from './pagefiles.ts'

/** Pages of the server that the explorer links. */
type ExplorerFeature = 'wallet' | 'sponsor' | 'tls' | 'node'

/** The explorer: one document for all of its paths, a script and a style. It reads the node by JSON-RPC. */
export class ExplorerEndpoint {
  readonly #features: string
  readonly #keys: ControlKeys | null
  readonly #files = new PageFiles()

  /** `node`: the addresses of this server are a node's. `keys`: null if the server has no control credential. */
  constructor(features: readonly ExplorerFeature[], keys: ControlKeys | null) {
    this.#features = features.join(' ')
    this.#keys = keys
  }

  /** Answers GET and HEAD, or returns null if the path is not the explorer's. */
  read(path: string, request: IncomingMessage): Answer | null {
    const asset = ASSETS.get(path)
    if (asset !== undefined) return this.#files.answer(asset.file, asset.type, ['cross-origin-resource-policy', 'same-origin'])
    return isExplorerPath(path) ? this.page(request) : null
  }

  /** Only GET redeems a link. */
  page(request: IncomingMessage): Answer {
    const { method, url = '/' } = request
    const search = searchOf(url)
    if (method === 'GET' && this.#keys !== null && search.has('key')) return redeemLink(this.#keys, pathOf(url), search, request)
    const answer = this.#files.answer('explorer.html', HTML_TYPE, pageHeaders(request))
    if (answer.status !== 200 || !(answer.body instanceof Uint8Array)) return answer
    const html = new TextDecoder().decode(answer.body)
    return { ...answer, body: html.replace('data-features=""', `data-features="${this.#features}"`) }
  }
}

const ASSETS: ReadonlyMap<string, { readonly file: string; readonly type: string }> = new Map([
  ['/explorer/app.js', { file: 'explorer.js', type: SCRIPT_TYPE }],
  ['/explorer/app.css', { file: 'explorer.css', type: STYLE_TYPE }],
])
