import type { Browser, BrowserContext, Locator, Page } from 'playwright-core'
import { createPocketchain } from '../../src/index.ts'
import type { Pocketchain, PocketchainOptions } from '../../src/index.ts'
import { serve } from './sites.fixture.ts'
import type { Content, Site } from './sites.fixture.ts'

/** Maximum wait for an element on a page, milliseconds; long enough for a machine under load. */
const PATIENCE_MS = 30_000

/** A chain with its wallet behind an open port, a second chain to add, and a browser with the approval page in one tab and an app in another. */
export interface Stage extends AsyncDisposable {
  readonly node: Pocketchain
  readonly second: { readonly node: Pocketchain; readonly url: string; readonly chainId: number }
  readonly url: string
  /** URL of the sponsor's service, as used by apps */
  readonly paymaster: string
  readonly context: BrowserContext
  /** the approval page, opened by the one-time link */
  readonly approvals: Page
  /** Serves an app on a separate origin and opens it in a new tab. */
  readonly open: (content: (providerUrl: string, secondUrl: string) => Content, path: string) => Promise<Page>
  /** Closes all connections to the node, then serves it on the same port again. The approval page is opened again too. */
  readonly restart: () => Promise<void>
}

/** The chain id that MetaMask's test dapp adds. */
const SECOND_CHAIN_ID = 1_338

export async function openStage(
  browser: Browser,
  look: Parameters<Browser['newContext']>[0] = {},
  options: PocketchainOptions = {},
): Promise<Stage> {
  const node = await createPocketchain(options)
  let server = await node.listen({ tlsFolder: null })
  const { url } = server
  const second = await createPocketchain({ chainId: SECOND_CHAIN_ID })
  const secondServer = await second.listen({ tlsFolder: null })
  const context = await browser.newContext(look)
  context.setDefaultTimeout(PATIENCE_MS)
  const approvals = await context.newPage()
  await approvals.goto(server.wallet!.link()) // the fixture starts it with a wallet
  const sites: Site[] = []
  return {
    node,
    second: { node: second, url: secondServer.url, chainId: SECOND_CHAIN_ID },
    url,
    paymaster: server.paymaster?.url ?? '',
    context,
    approvals,
    open: async (content, path) => {
      const site = await serve(content(`${url}/wallet/provider.js`, secondServer.url))
      sites.push(site)
      const page = await context.newPage()
      await page.goto(`${site.origin}/${path}`)
      return page
    },
    restart: async () => {
      await server.close()
      server = await node.listen({ port: Number(new URL(url).port), tlsFolder: null })
      await approvals.goto(server.wallet!.link())
    },
    [Symbol.asyncDispose]: async () => {
      await context.close()
      await Promise.all([...sites.map((site) => site.close()), node.close(), second.close()])
    },
  }
}

/** The card of the waiting question, of any kind. */
export function card(page: Page, kind: string): Locator {
  return page.locator(`[data-testid="approval"][data-kind="${kind}"]`)
}

/** Waits for the question and clicks the button once it is enabled. Returns the id of the question. */
export async function answer(page: Page, kind: string, button: 'approve' | 'reject' = 'approve'): Promise<string> {
  // A tab behind another one is painted once a second.
  await page.bringToFront()
  const question = card(page, kind)
  const id = await question.getAttribute('data-id').catch(async (error: unknown) => {
    const pages = await Promise.all(page.context().pages().map(shown))
    throw new Error(`${page.url()} shows no question (${kind}). The pages show:\n${pages.join('\n')}`, { cause: error })
  })
  if (id === null) throw new Error(`the page shows a question (${kind}) without its id`)
  const danger = question.getByTestId('accept-danger')
  if (button === 'approve' && (await danger.count()) > 0) await danger.check()
  // Playwright's click waits too, but polls at increasing intervals.
  await question.getByTestId(button).evaluate(enabled)
  await question.getByTestId(button).click()
  await gone(page, id)
  return id
}

/** The page's address and the beginning of its text, or the reason why there is none. */
async function shown(page: Page): Promise<string> {
  const text = await page.locator('body').innerText({ timeout: 1_000 }).catch(String)
  return `${page.url().slice(0, 200)}: ${JSON.stringify(text.slice(0, 200))}`
}

/** Runs in the page. Resolves when the button is enabled, or after a time limit: the click then fails with the reason. */
function enabled(element: unknown): Promise<void> {
  const button = element as { readonly disabled: boolean } // the element of the locator
  return new Promise((resolve) => {
    const look = (looks: number): void => {
      if (!button.disabled || looks === 0) resolve()
      else setTimeout(look, 20, looks - 1)
    }
    look(100)
  })
}

/** Waits until the answered question disappears; a window opened for it may close. */
async function gone(page: Page, id: string): Promise<void> {
  try {
    await page.locator(`[data-testid="approval"][data-id="${id}"]`).waitFor({ state: 'detached' })
  } catch (error) {
    if (!page.isClosed()) throw error
  }
}

/** Clicks a button of an app, answers the resulting questions, and returns the result that the app received. */
export async function act(app: Page, action: string, wallet: Page, ...kinds: readonly string[]): Promise<unknown> {
  await app.bringToFront()
  await app.locator(`#${action}`).click()
  try {
    for (const kind of kinds) await answer(wallet, kind)
  } catch (error) {
    throw new Error(`the app shows ${JSON.stringify(await app.locator(`#${action}-result`).innerText())} when its questions fail`, {
      cause: error,
    })
  }
  return resultOf(app, action)
}

/** Returns the text below a button of our own pages once there is one. Throws if it is an error. */
export async function resultOf(app: Page, action: string): Promise<unknown> {
  const output = app.locator(`#${action}-result`)
  await output.filter({ hasText: /./ }).waitFor()
  const text = await output.innerText()
  if (text.startsWith('{"error":')) throw new Error(`the app was answered ${text}`)
  return JSON.parse(text)
}
