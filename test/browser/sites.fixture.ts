import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BASE_ACCOUNT_BUNDLE } from '../../scripts/browser.mjs'

/** A web site with a separate origin; the wallet identifies apps by origin. */
export interface Site {
  /** such as `http://127.0.0.1:41234` */
  readonly origin: string
  readonly close: () => Promise<void>
}

/** Returns the response to a path; null: 404. */
export type Content = (path: string) => Promise<string | Uint8Array> | null

const PAGES = fileURLToPath(new URL('pages/', import.meta.url))
const TEST_DAPP = fileURLToPath(new URL('../../node_modules/@metamask/test-dapp/dist/', import.meta.url))

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
}

/** Serves on a free port of the loopback interface, with these headers. */
export async function serve(content: Content, headers: Readonly<Record<string, string>> = {}): Promise<Site> {
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '/', 'http://site').pathname.replace(/\/$/, '/index.html').slice(1)
    const body = path.includes('..') ? null : content(path)
    const refuse = (): void => void response.writeHead(404).end()
    if (body === null) return refuse()
    const type = TYPES[extname(path)] ?? 'application/octet-stream'
    body.then((bytes) => response.writeHead(200, { ...headers, 'content-type': type }).end(bytes), refuse)
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo // a TCP server's
  return {
    origin: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** A page that loads the wallet's announcing script from `providerUrl`, as an app developed with pocketchain does. */
export const shop =
  (providerUrl: string): Content =>
  (path) =>
    path === 'shop.html'
      ? readPage('shop.html').then((html) => html.replace('<script ', `<script src="${providerUrl}"></script>\n    $&`))
      : readPage(path)

/** The page on the Base Account SDK, with the SDK's browser bundle beside it. */
export const baseShop: Content = (path) => (path === 'base-account.min.js' ? readFile(BASE_ACCOUNT_BUNDLE) : readPage(path))

/**
 * MetaMask's test dapp as published, except for two lines: it loads the announcing script (`data-metamask`: the dapp signs only with a provider
 * that has `isMetaMask`; `data-ethereum`: MetaMask's SDK reads `window.ethereum`), and the chain it adds, by default on port 8546, is at `secondUrl`.
 */
export const testDapp =
  (providerUrl: string, secondUrl: string): Content =>
  (path) => {
    if (path === 'index.html')
      return readText(TEST_DAPP, path).then((html) =>
        html.replace('</head>', `<script src="${providerUrl}" data-metamask data-ethereum></script>$&`),
      )
    if (path === 'main.js') return readText(TEST_DAPP, path).then((code) => code.replace('http://127.0.0.1:8546', secondUrl))
    return readFile(join(TEST_DAPP, path))
  }

function readPage(path: string): Promise<string> {
  return readText(PAGES, path)
}

function readText(folder: string, path: string): Promise<string> {
  return readFile(join(folder, path), 'utf8')
}
