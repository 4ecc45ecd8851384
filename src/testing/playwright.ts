import type { Pocketchain, Wallet } from '../index.ts'
import type { Server } from '../server/index.ts'
import { startChain, useRuleWarnings, useSnapshot, useWallet } from './run.ts'
import type { FixtureOptions, TestFixtures, Use } from './run.ts'

/** Playwright ends a test after 30 s; its tests may answer on the approval page, which loads in this time. */
const ANSWER_WITHIN_MS = 10_000

export interface PlaywrightOptions extends FixtureOptions {
  /** port of the node, any free one by default */
  readonly port?: number
  /** boolean, false by default: the wallet is also `window.ethereum`, for apps without EIP-6963 */
  readonly ethereum?: boolean
}

/** The used part of Playwright's BrowserContext. */
interface InjectedContext {
  addInitScript(script: { content: string }): Promise<unknown>
}

/** Argument of Playwright's `test.extend`, declared here so that Playwright is not imported. */
export interface PlaywrightFixtures<Context extends InjectedContext> {
  /** chain and server of a worker */
  readonly pocketchain: [(context: object, use: Use<ServedChain>) => Promise<void>, { scope: 'worker' }]
  readonly chain: (context: { readonly pocketchain: ServedChain }, use: Use<Pocketchain>) => Promise<void>
  readonly wallet: (context: Pick<TestFixtures, 'chain'>, use: Use<Wallet>) => Promise<void>
  readonly expectNoRuleWarnings: (context: Pick<TestFixtures, 'chain'>, use: Use<TestFixtures['expectNoRuleWarnings']>) => Promise<void>
  readonly approvalUrl: (context: { readonly pocketchain: ServedChain; readonly wallet: Wallet }, use: Use<string>) => Promise<void>
  readonly context: (
    given: { readonly context: Context; readonly pocketchain: ServedChain; readonly wallet: Wallet },
    use: Use<Context>,
  ) => Promise<void>
}

export interface ServedChain {
  readonly chain: Pocketchain
  readonly server: Server
}

/** Fixtures of a Playwright test; `context` and `page` are Playwright's, with the wallet in every page. */
export interface PlaywrightTestFixtures extends TestFixtures {
  /** one-time link to the approval page for the browser of this test */
  readonly approvalUrl: string
}

export interface PlaywrightWorkerFixtures {
  readonly pocketchain: ServedChain
}

/**
 * `test.extend<PlaywrightTestFixtures, PlaywrightWorkerFixtures>(playwrightFixtures())` gives each test `{ chain, wallet, approvalUrl }` and puts
 * the wallet into its pages, where apps discover it by EIP-6963. The test approves by `wallet.approvals`, or on the page of `approvalUrl`.
 */
export function playwrightFixtures<Context extends InjectedContext>(options: PlaywrightOptions = {}): PlaywrightFixtures<Context> {
  const { port = 0, ethereum = false, ...chosen } = options
  return {
    pocketchain: [
      // oxlint-disable-next-line no-empty-pattern -- the runner parses the parameter
      async ({}, use) => {
        const chain = await startChain(chosen, ANSWER_WITHIN_MS)
        const server = await chain.listen({ port })
        await use({ chain, server })
        await chain.close()
      },
      { scope: 'worker' },
    ],
    chain: ({ pocketchain }, use) => useSnapshot(pocketchain.chain, use),
    wallet: ({ chain }, use) => useWallet(chain, use),
    expectNoRuleWarnings: ({ chain }, use) => useRuleWarnings(chain, use),
    approvalUrl: async ({ pocketchain, wallet }, use) => {
      void wallet // a dependency: replaced before the test
      await use(linkOf(pocketchain.server))
    },
    context: async ({ context, pocketchain, wallet }, use) => {
      void wallet // a dependency: replaced before a page loads it
      await context.addInitScript({ content: await injectedScript(pocketchain.server, ethereum) })
      await use(context)
    },
  }
}

function linkOf({ wallet }: Server): string {
  if (wallet === null) throw new Error('the chain was started without a wallet (wallet: false), so there is nothing to approve')
  return wallet.link()
}

/**
 * Returns provider.js wrapped for an init script. provider.js reads the URL of the node from `document.currentScript`, so an element is set. Pages of
 * the node itself do not get it.
 */
async function injectedScript({ url }: Server, ethereum: boolean): Promise<string> {
  const source = `${url}/wallet/provider.js`
  const response = await fetch(source)
  if (!response.ok) throw new Error(`${source} returned status ${response.status}: ${await response.text()}`)
  return `if (location.origin !== ${JSON.stringify(url)} && /^https?:$/.test(location.protocol)) {
  const script = Object.assign(document.createElement('script'), { src: ${JSON.stringify(source)} })
  if (${String(ethereum)}) script.dataset.ethereum = ''
  Object.defineProperty(document, 'currentScript', { configurable: true, value: script })
  try {
    ${await response.text()}
  } finally {
    delete document.currentScript
  }
}`
}
