import type { IncomingMessage } from 'node:http'
import type { Answer } from './http/answer.ts'
import { PageFiles, SCRIPT_TYPE, STYLE_TYPE, pageHeaders } from './pagefiles.ts'

/** What a browser loads to answer the wallet's questions. */
export class WalletPages {
  readonly #files = new PageFiles()

  /** The page itself. `search`: what stands behind its path. */
  page(request: IncomingMessage, search: URLSearchParams): Answer {
    // An app that opens the page as a popup speaks with it through window.opener; nobody else keeps a hand on it.
    const isPopup = POPUP_PARAMETERS.some((name) => search.has(name))
    return this.#files.answer('wallet.html', undefined, pageHeaders(request, isPopup ? 'unsafe-none' : 'same-origin'))
  }

  /** null: the wallet has no such file. */
  asset(path: string): Answer | null {
    const asset = ASSETS.get(path)
    return asset === undefined ? null : this.#files.answer(asset.file, asset.type, ['cross-origin-resource-policy', asset.isFor])
  }
}

/** What an app adds to the page's address when it opens it as a popup: the Base Account SDK the first, our own script the second. */
const POPUP_PARAMETERS = ['sdkName', 'popup'] as const

/** `provider.js` is for the pages of apps, whatever their origin. */
const ASSETS: ReadonlyMap<string, { readonly file: string; readonly type: string; readonly isFor: 'same-origin' | 'cross-origin' }> =
  new Map([
    ['/wallet/app.js', { file: 'app.js', type: SCRIPT_TYPE, isFor: 'same-origin' }],
    ['/wallet/app.css', { file: 'app.css', type: STYLE_TYPE, isFor: 'same-origin' }],
    ['/wallet/provider.js', { file: 'provider.js', type: SCRIPT_TYPE, isFor: 'cross-origin' }],
  ])
