import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { playwrightFixtures } from '../../src/testing/index.ts'
import type { PlaywrightTestFixtures, ServedChain } from '../../src/testing/index.ts'
import { NO_BROWSER, startBrowser } from './browser.fixture.ts'
import { serve } from './sites.fixture.ts'
import type { Site } from './sites.fixture.ts'
import { answer } from './stage.fixture.ts'

// Calls the fixtures of pocketchain/testing as Playwright's runner does, which is not installed here: worker fixtures once, the others for each
// test, each with the fixtures destructured in its first parameter.

const PAGE = `<!doctype html><title>An app</title><script>
  window.found = []
  window.addEventListener('eip6963:announceProvider', ({ detail }) => {
    window.found.push(detail.info.name)
    window.wallet = detail.provider
  })
  window.dispatchEvent(new Event('eip6963:requestProvider'))
</script>`

interface AppWindow {
  readonly found: readonly string[]
  readonly wallet: { request(request: { method: string; params?: unknown }): Promise<unknown> }
  readonly ethereum?: unknown
  readonly document: { readonly currentScript: unknown }
}

describe.skipIf(NO_BROWSER !== null)(`the Playwright fixture${NO_BROWSER === null ? '' : ` (${NO_BROWSER})`}`, () => {
  let browser: Browser
  let site: Site
  let worker: Held<ServedChain>
  const fixtures = playwrightFixtures<BrowserContext>({ ethereum: true })
  beforeAll(async () => {
    browser = await startBrowser()
    site = await serve(() => Promise.resolve(PAGE))
    worker = await hold((use) => fixtures.pocketchain[0]({}, use))
  })
  afterAll(async () => {
    await worker.end()
    await site.close()
    await browser.close()
  })

  /** Runs one test that uses every fixture, as the runner does. */
  async function run(
    test: (given: PlaywrightTestFixtures & { page: Page; context: BrowserContext }) => Promise<void>,
    pocketchain = worker.value,
  ): Promise<void> {
    await fixtures.chain({ pocketchain }, (chain) =>
      fixtures.wallet({ chain }, (wallet) =>
        fixtures.approvalUrl({ pocketchain, wallet }, async (approvalUrl) => {
          const plain = await browser.newContext()
          try {
            await fixtures.context({ context: plain, pocketchain, wallet }, async (context) => {
              const page = await context.newPage()
              await page.goto(`${site.origin}/index.html`)
              await fixtures.expectNoRuleWarnings({ chain }, (expectNoRuleWarnings) =>
                test({ chain, wallet, approvalUrl, expectNoRuleWarnings, context, page }),
              )
            })
          } finally {
            await plain.close()
          }
        }),
      ),
    )
  }

  it('injects the wallet into pages before their own scripts run', () =>
    run(async ({ page }) => {
      expect(await page.evaluate(() => (globalThis as unknown as AppWindow).found)).toEqual(['pocketchain'])
      expect(await page.evaluate(() => typeof (globalThis as unknown as AppWindow).ethereum)).toBe('object')
      expect(await page.evaluate(() => (globalThis as unknown as AppWindow).document.currentScript)).toBe(null)
    }))

  it("a test can answer a page's request", () =>
    run(async ({ page, wallet, chain }) => {
      const accounts = request(page, 'eth_requestAccounts')
      const prompt = await wallet.approvals.next({ kind: 'connect' })
      expect(prompt.question.origin).toBe(site.origin)
      prompt.approve()
      expect(await accounts).toEqual(chain.accounts.map(({ address }) => address))
    }))

  it('a test can answer on the approval page', () =>
    run(async ({ page, context, approvalUrl }) => {
      const approvals = await context.newPage()
      await approvals.goto(approvalUrl)
      expect(await approvals.evaluate(() => 'ethereum' in globalThis)).toBe(false)
      await approvals.getByTestId('empty').or(approvals.getByTestId('account-0')).first().waitFor()
      const outcome = request(page, 'eth_requestAccounts').catch(String)
      await answer(approvals, 'connect', 'reject')
      expect(await outcome).toContain('User rejected the request')
    }))

  it('resets the chain and the wallet for the next test', async () => {
    await run(async ({ page, wallet, chain }) => {
      wallet.approvals.setPolicy('approve')
      const [from] = (await request(page, 'eth_requestAccounts')) as string[]
      await request(page, 'eth_sendTransaction', [{ from, to: from, value: '0x1' }])
      expect(await chain.request({ method: 'eth_blockNumber' })).toBe('0x1')
    })
    await run(async ({ page, wallet, chain }) => {
      expect(await request(page, 'eth_accounts')).toEqual([])
      expect(await chain.request({ method: 'eth_blockNumber' })).toBe('0x0')
      expect(wallet.approvals.policy).toBe('ask')
    })
  })

  it('fails a test that leaves a question unanswered, with an error that states the fix', async () => {
    const impatient = await hold<ServedChain>((use) => playwrightFixtures({ wallet: { answerWithinMs: 500 } }).pocketchain[0]({}, use))
    try {
      const forgetful = run(async ({ page }) => {
        await expect(request(page, 'eth_requestAccounts')).rejects.toThrow(/no answer/)
      }, impatient.value)
      await expect(forgetful).rejects.toThrow(/no answer: eth_requestAccounts of http:\/\/127\.0\.0\.1:\d+ .*wallet\.approvals\.next\(\)/u)
    } finally {
      await impatient.end()
    }
  })
})

function request(page: Page, method: string, params: unknown[] = []): Promise<unknown> {
  return page.evaluate((request) => (globalThis as unknown as AppWindow).wallet.request(request), { method, params })
}

interface Held<T> {
  readonly value: T
  /** Continues the fixture after its `use`. */
  readonly end: () => Promise<void>
}

/** Runs a fixture up to its `use`. */
async function hold<T>(fixture: (use: (value: T) => Promise<void>) => Promise<void>): Promise<Held<T>> {
  let letGo = (): void => {}
  const released = new Promise<void>((resolve) => (letGo = resolve))
  let over: Promise<void> = Promise.resolve()
  const value = await new Promise<T>((resolve, reject) => {
    over = fixture((given) => {
      resolve(given)
      return released
    })
    over.catch(reject)
  })
  return {
    value,
    end: () => {
      letGo()
      return over
    },
  }
}
