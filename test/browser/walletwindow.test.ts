import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createPocketchain } from '../../src/index.ts'
import type { Pocketchain, Server } from '../../src/index.ts'
import { NO_BROWSER, startBrowser } from './browser.fixture.ts'
import { serve } from './sites.fixture.ts'
import type { Site } from './sites.fixture.ts'
import { answer, card } from './stage.fixture.ts'

// The window of the wallet that provider.js opens for the requests of a page, and what its end does to them.

const SHOP = '0x00000000000000000000000000000000005eed03'
const CONNECT = { method: 'eth_requestAccounts' }

describe.skipIf(NO_BROWSER !== null)(`the wallet's window of an app${NO_BROWSER === null ? '' : ` (${NO_BROWSER})`}`, () => {
  let browser: Browser
  let node: Pocketchain
  let server: Server
  let site: Site
  let context: BrowserContext
  let app: Page

  beforeAll(async () => {
    browser = await startBrowser()
    node = await createPocketchain()
    server = await node.listen({ tlsFolder: null })
    site = await serve(async () => PAGE(server.url))
  })
  afterAll(async () => {
    await browser?.close()
    await Promise.all([site?.close(), node?.close()])
  })
  beforeEach(async () => {
    context = await browser.newContext()
    context.setDefaultTimeout(30_000)
    await authorize()
    app = await openApp()
  })
  afterEach(async () => {
    await context.close()
    node.wallet.approvals.reset()
    for (const { origin } of node.wallet.sites.list()) node.wallet.sites.disconnect(origin)
  })

  /** The browser may then approve; its page is closed again. */
  async function authorize(): Promise<void> {
    const page = await context.newPage()
    await page.goto(server.wallet!.link()) // the node has a wallet
    await page.getByTestId('account-0').waitFor()
    await page.close()
  }

  async function openApp(origin = site.origin): Promise<Page> {
    const page = await context.newPage()
    await page.goto(`${origin}/app.html`)
    return page
  }

  /** Clicks the button of the app, which sends this request. */
  async function click(request: { method: string; params?: readonly unknown[] }, page = app): Promise<void> {
    await page.evaluate((text) => void Object.assign(globalThis, { next: text }), JSON.stringify(request))
    await page.bringToFront()
    await page.locator('#send').click()
  }

  /** Clicks, and returns the window that opens. */
  async function open(request: { method: string; params?: readonly unknown[] } = CONNECT, page = app): Promise<Page> {
    const opened = context.waitForEvent('page')
    await click(request, page)
    return opened
  }

  /** The outcomes so far: a result, or the code of an error. */
  async function outcomes(page = app): Promise<unknown> {
    return page.evaluate('outcomes')
  }

  /** The user closes it, after the app's page has seen the wallet in it. */
  async function close(window: Page, kind: string): Promise<void> {
    await card(window, kind).waitFor()
    await window.close()
  }

  /** The accounts that the user shares with the app: the one that is selected first. */
  const accounts = () => [node.accounts[0]!.address] // a node has ten
  const pending = () => node.wallet.approvals.pending.map(({ kind }) => kind)
  const transfer = () => ({ method: 'eth_sendTransaction', params: [{ from: accounts()[0], to: SHOP, value: '0x1' }] })

  it('that the user closes rejects the request with 4001 and withdraws its question, and the next request opens another one', async () => {
    await close(await open(), 'connect')
    await expect.poll(outcomes).toEqual([4001])
    expect(pending()).toEqual([])
    await answer(await open(), 'connect')
    await expect.poll(outcomes).toEqual([4001, accounts()])
  })

  it('that the user closes cancels a payment: the next one is paid once', async () => {
    node.wallet.sites.connect(site.origin, accounts())
    await close(await open(transfer()), 'send')
    const again = await open(transfer()) // at once: the first one is rejected before the window opens
    await expect.poll(outcomes).toEqual([4001])
    await card(again, 'send').waitFor()
    expect(pending()).toEqual(['send'])
    await answer(again, 'send')
    await expect.poll(outcomes).toEqual([4001, expect.stringMatching(/^0x/)])
    const [, hash] = (await outcomes()) as readonly unknown[]
    await expect.poll(() => node.request({ method: 'eth_getTransactionReceipt', params: [hash] })).toMatchObject({ status: '0x1' })
    expect(await node.request({ method: 'eth_getBalance', params: [SHOP, 'pending'] })).toBe('0x1')
  })

  it('that the user closes rejects all requests of the page, and none that is sent afterwards', async () => {
    node.wallet.sites.connect(site.origin, accounts())
    const window = await open(transfer())
    await card(window, 'send').waitFor()
    for (const kinds of [2, 3]) {
      await click(transfer())
      await expect.poll(pending).toHaveLength(kinds)
    }
    await close(window, 'send')
    await expect.poll(outcomes).toEqual([4001, 4001, 4001])
    expect(pending()).toEqual([])
  })

  it('that is closed after the answer rejects nothing', async () => {
    const window = await open()
    await answer(window, 'connect')
    await window.close()
    await click({ method: 'personal_sign', params: ['0x6869', accounts()[0]] })
    await expect.poll(pending).toEqual(['sign'])
    await expect.poll(() => context.pages().length).toBe(2)
    await answer(context.pages()[1]!, 'sign')
    await expect.poll(outcomes).toEqual([accounts(), expect.stringMatching(/^0x/)])
  })

  it('leaves the question to another page of the wallet', async () => {
    const window = await open()
    const other = await context.newPage()
    await other.goto(`${server.url}/wallet`)
    await card(other, 'connect').waitFor()
    await close(window, 'connect')
    await settle()
    expect(await outcomes()).toEqual([])
    await answer(other, 'connect')
    await expect.poll(outcomes).toEqual([accounts()])
  })

  it('may be reloaded', async () => {
    const window = await open()
    await card(window, 'connect').waitFor()
    await window.reload()
    await card(window, 'connect').waitFor()
    await settle()
    await answer(window, 'connect')
    await expect.poll(outcomes).toEqual([accounts()])
  })

  it('of a browser that may not approve yet rejects when it is closed, and continues when the link is opened in it', async () => {
    await context.clearCookies()
    const window = await open()
    await window.getByTestId('refused').waitFor()
    await window.close()
    await expect.poll(outcomes).toEqual([4001])
    const next = await open()
    await next.getByTestId('refused').waitFor()
    await next.goto(server.wallet!.link())
    await card(next, 'connect').waitFor()
    await settle()
    await answer(next, 'connect')
    await expect.poll(outcomes).toEqual([4001, accounts()])
  })

  it('opens for a repeated request that waits for the same question, such as after a blocked window', async () => {
    await app.evaluate('open_ = open; open = () => null')
    await click(CONNECT)
    await expect.poll(pending).toEqual(['connect'])
    await settle()
    await app.evaluate('open = open_')
    const window = await open()
    expect(pending()).toEqual(['connect'])
    await answer(window, 'connect')
    await expect.poll(outcomes).toEqual([accounts(), accounts()])
  })

  it('comes to the front for a further request', async () => {
    await app.evaluate(`open_ = open; open = (...args) => {
      const window = open_(...args)
      const focus = () => outcomes.push('focus')
      return { get closed() { return window.closed }, get location() { return window.location }, focus }
    }`)
    await card(await open(), 'connect').waitFor()
    await click(CONNECT)
    await expect.poll(outcomes).toEqual(['focus'])
    expect(context.pages()).toHaveLength(2)
  })

  it('of another tab of the app rejects the requests of that tab only', async () => {
    const window = await open()
    await card(window, 'connect').waitFor()
    const second = await openApp()
    await click({ method: 'wallet_requestPermissions', params: [{ eth_accounts: {} }] }, second)
    await expect.poll(pending).toHaveLength(2)
    await window.close()
    await expect.poll(outcomes).toEqual([4001])
    expect(await outcomes(second)).toEqual([])
    const next = await open({ method: 'wallet_requestPermissions', params: [{ eth_accounts: {} }] }, second)
    await answer(next, 'connect')
    await expect.poll(async () => ((await outcomes(second)) as unknown[]).length).toBe(2)
  })

  it('of a page that is isolated from its windows rejects nothing, as its end is not visible there', async () => {
    const isolated = await serve(async () => PAGE(server.url), { 'cross-origin-opener-policy': 'same-origin' })
    try {
      const page = await openApp(isolated.origin)
      const window = await open(CONNECT, page)
      await card(window, 'connect').waitFor()
      await settle()
      expect(await outcomes(page)).toEqual([])
      await answer(window, 'connect')
      await expect.poll(() => outcomes(page)).toEqual([accounts()])
    } finally {
      await isolated.close()
    }
  })

  it('of the explorer, a page of the same server, rejects when it is closed', async () => {
    const page = await context.newPage()
    await page.goto(server.url)
    await page.addScriptTag({ url: `${server.url}/wallet/provider.js` })
    await page.evaluate(SCRIPT)
    await page.evaluate('document.body.prepend(Object.assign(document.createElement("button"), { id: "send", onclick: send }))')
    await close(await open(CONNECT, page), 'connect')
    await expect.poll(() => outcomes(page)).toEqual([4001])
  })

  /** Waits for longer than a request of a closed window waits. */
  async function settle(): Promise<void> {
    await app.evaluate('new Promise((resolve) => setTimeout(resolve, 1500))')
  }
})

const SCRIPT = `
  var outcomes = [], provider, next
  addEventListener('eip6963:announceProvider', (event) => { provider = event.detail.provider })
  dispatchEvent(new Event('eip6963:requestProvider'))
  function send() {
    provider.request(JSON.parse(next)).then((result) => outcomes.push(result), ({ code }) => outcomes.push(code))
  }
`
const PAGE = (node: string): string =>
  `<!doctype html><title>app</title><button id="send">send</button><script src="${node}/wallet/provider.js"></script><script>${SCRIPT}
   document.getElementById('send').onclick = send</script>`
