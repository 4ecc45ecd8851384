import type { Pocketchain, Wallet } from '../index.ts'
import type { Server } from '../server/index.ts'
import { startChain, useSnapshot, useWallet } from './run.ts'
import type { FixtureOptions, TestFixtures, Use } from './run.ts'

export interface PlaywrightOptions extends FixtureOptions {
  /** where the app under test expects the node; any free port unless said */
  readonly port?: number
  /** true: the wallet is `window.ethereum` in every page, too, for apps that do not look for wallets by EIP-6963 */
  readonly ethereum?: boolean
}

/** A browser context of Playwright, as far as it is used. */
export interface InjectedContext {
  addInitScript(script: { content: string }): Promise<unknown>
}

/** What `test.extend` of Playwright takes, written down so that nothing of Playwright is imported. */
export interface PlaywrightFixtures<Context extends InjectedContext> {
  /** a worker's chain, and the port that pages reach it by */
  readonly pocketchain: [(context: object, use: Use<ServedChain>) => Promise<void>, { scope: 'worker' }]
  readonly chain: (context: { readonly pocketchain: ServedChain }, use: Use<Pocketchain>) => Promise<void>
  readonly wallet: (context: Pick<TestFixtures, 'chain'>, use: Use<Wallet>) => Promise<void>
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

/** What a test of Playwright gets; `context` and `page` are Playwright's own, with the wallet in every page. */
export interface PlaywrightTestFixtures extends TestFixtures {
  /** a link that lets this test's browser approve on the wallet's page, once */
  readonly approvalUrl: string
}

export interface PlaywrightWorkerFixtures {
  readonly pocketchain: ServedChain
}

/**
 * `test.extend<PlaywrightTestFixtures, PlaywrightWorkerFixtures>(playwrightFixtures())` gives each test `{ chain, wallet, approvalUrl }` and puts
 * the wallet into its pages, where apps find it by EIP-6963. The test answers by `wallet.approvals`, or on the page behind `approvalUrl`.
 */
export function playwrightFixtures<Context extends InjectedContext>(options: PlaywrightOptions = {}): PlaywrightFixtures<Context> {
  const { port = 0, ethereum = false, ...chosen } = options
  return {
    pocketchain: [
      // oxlint-disable-next-line no-empty-pattern -- the runner reads the braces to learn what is needed
      async ({}, use) => {
        const chain = await startChain(chosen)
        const server = await chain.listen({ port })
        await use({ chain, server })
        await chain.close()
      },
      { scope: 'worker' },
    ],
    chain: ({ pocketchain }, use) => useSnapshot(pocketchain.chain, use),
    wallet: ({ chain }, use) => useWallet(chain, use),
    approvalUrl: async ({ pocketchain, wallet }, use) => {
      void wallet // answers what is asked there
      await use(linkOf(pocketchain.server))
    },
    context: async ({ context, pocketchain, wallet }, use) => {
      void wallet // is new before a page finds it
      await context.addInitScript({ content: await injected(pocketchain.server, ethereum) })
      await use(context)
    },
  }
}

function linkOf({ wallet }: Server): string {
  if (wallet === null) throw new Error('the chain was started without a wallet (wallet: false), so there is nothing to approve')
  return wallet.link()
}

/**
 * The wallet's own script, run in every page before the page's. It takes the node's address from its script element, so it gets one; in the
 * wallet's own page it stays out.
 */
async function injected({ url }: Server, ethereum: boolean): Promise<string> {
  const source = `${url}/wallet/provider.js`
  const response = await fetch(source)
  if (!response.ok) throw new Error(`${source} answers ${response.status}: ${await response.text()}`)
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
