import type { Browser, BrowserContext, Locator, Page } from 'playwright-core'
import { ManualClock } from '../../../src/chain/index.ts'
import { createPocketchain } from '../../../src/index.ts'
import type { Pocketchain, PocketchainOptions, Server } from '../../../src/index.ts'

const PATIENCE_MS = 30_000
const FLASHBLOCK_MS = 200
const BLOCK_MS = 2_000

/** A node with a manual clock, and one page for its explorer, which `go` opens. */
export interface Scene extends AsyncDisposable {
  readonly node: Pocketchain
  readonly server: Server
  readonly context: BrowserContext
  readonly page: Page
  readonly accounts: readonly string[]
  readonly ask: (method: string, ...params: readonly unknown[]) => Promise<unknown>
  /** Sends a transfer of 1 wei from the first account, or with the values of `fields`, and returns its hash. */
  readonly send: (fields?: object) => Promise<string>
  /** Makes flashblocks; a block is sealed with the last of ten. */
  readonly flashblocks: (count?: number) => Promise<void>
  readonly seal: () => Promise<void>
  readonly go: (path: string) => Promise<void>
  readonly at: (id: string) => Locator
  /** errors of the page, and violations of its content security policy */
  readonly broken: readonly string[]
}

interface SceneOptions {
  readonly node?: PocketchainOptions
  /** false: the clock is real, for cadences that need no flashblocks */
  readonly hasManualClock?: boolean
  readonly width?: number
  /** opens the page of the chain with the control credential */
  readonly isControl?: boolean
}

export async function openExplorer(
  browser: Browser,
  { node: options = {}, hasManualClock = true, width = 1_280, isControl = false }: SceneOptions = {},
): Promise<Scene> {
  const clock = new ManualClock(1_700_000_000_000)
  const node = await createPocketchain({ ...(hasManualClock ? { clock, timestamp: 1_700_000_000 } : {}), onNote: () => {}, ...options })
  const server = await node.listen({ tlsFolder: null })
  const context = await browser.newContext({ viewport: { width, height: 900 } })
  context.setDefaultTimeout(PATIENCE_MS)
  const page = await context.newPage()
  const broken: string[] = []
  page.on('pageerror', (error) => broken.push(error.message))
  page.on('console', (message) => message.type() === 'error' && broken.push(message.text()))
  const ask: Scene['ask'] = (method, ...params) => node.request({ method, params })
  const accounts = node.accounts.map(({ address }) => String(address))
  const at = (id: string) => page.getByTestId(id)
  const open = async (url: string) => {
    await page.goto(url)
    await page.locator('[data-testid="connection"][data-state="open"][data-feed="flashblocks"]').waitFor()
  }
  if (isControl) await open(String(server.explorer?.link()))
  return {
    node,
    server,
    context,
    page,
    accounts,
    ask,
    at,
    broken,
    send: async (fields = {}) =>
      String(await ask('eth_sendTransaction', { from: accounts[0], to: accounts[1], value: '0x1', gas: '0x186a0', ...fields })),
    flashblocks: async (count = 1) => {
      for (let i = 0; i < count; i++) await clock.advance(FLASHBLOCK_MS)
    },
    seal: () => clock.advance(BLOCK_MS),
    go: (path) => open(`${server.url}${path}`),
    [Symbol.asyncDispose]: async () => {
      await page.unrouteAll({ behavior: 'wait' })
      await context.close()
      await node.close()
    },
  }
}

/** Returns by how many pixels the document is wider than the window. */
export function overflow(page: Page): Promise<number> {
  return page.evaluate(() => {
    const { document, innerWidth } = globalThis as unknown as InPage
    return document.documentElement.scrollWidth - innerWidth
  })
}

/** The DOM members that the functions here use inside a page: tests are type-checked without the DOM library. */
interface InPage {
  readonly document: { readonly documentElement: { readonly scrollWidth: number } }
  readonly innerWidth: number
}
