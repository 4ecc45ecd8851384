import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createPocketchain } from '../../src/index.ts'
import type { Pocketchain, Server } from '../../src/index.ts'
import { callAs, callOver, html, openHostileSite, pointing } from './attacks.fixture.ts'
import type { HostileSite, Reply, Serve } from './attacks.fixture.ts'
import { NO_BROWSER, startBrowser } from './browser.fixture.ts'
import { answer, card } from './stage.fixture.ts'

// Attacks on the credential of the user's browser: by a site on another port of this machine, by its server, by a name that resolves here.

const PATIENCE_MS = 30_000
const TRANSFER = { to: `0x${'ee'.repeat(20)}`, value: '0x1' }

describe.skipIf(NO_BROWSER !== null)(`attacks on the credential of a browser${NO_BROWSER === null ? '' : ` (${NO_BROWSER})`}`, () => {
  let browser: Browser
  let node: Pocketchain
  let server: Server
  let context: BrowserContext
  /** the wallet's page in the browser that followed the link */
  let page: Page
  const sites: HostileSite[] = []

  beforeAll(async () => {
    browser = await startBrowser({ flags: pointing('evil') })
  })
  afterAll(() => browser?.close())
  beforeEach(async () => {
    node = await createPocketchain({ cadence: 'instant', onNote: () => {} })
    server = await node.listen({ tlsFolder: null })
    context = await browser.newContext()
    context.setDefaultTimeout(PATIENCE_MS)
    page = await context.newPage()
    await page.goto(server.wallet!.link()) // the fixture starts it with a wallet
    await isLetIn(page)
  })
  afterEach(async () => {
    await context.close()
    await Promise.all(sites.splice(0).map((site) => site[Symbol.asyncDispose]()))
    await node.close()
  })

  async function hostileSite(serve: Serve): Promise<HostileSite> {
    const site = await openHostileSite(serve)
    sites.push(site)
    return site
  }

  /** Opens a page in the user's browser. */
  async function visit(url: string): Promise<Page> {
    const visitor = await context.newPage()
    await visitor.goto(url)
    return visitor
  }

  function isLetIn(visitor: Page): Promise<void> {
    return visitor.locator('[data-testid="connection"][data-state="open"]').waitFor()
  }

  it('a server on another port that replays the session cookie neither reads the queue nor answers its own question', async () => {
    const received: string[] = []
    const replies: Record<string, readonly Reply[]> = {}
    const site = await hostileSite((request, response) => {
      if (request.url !== '/wallet/x') return html(response, 'a site')
      const { cookie = '' } = request.headers
      received.push(cookie)
      void replay(cookie).then(() => response.end('done'))
    })
    const origin = () => site.origin
    /** Requests by the site's server with the cookie: a program can send the node's own Origin. */
    async function replay(cookie: string): Promise<void> {
      const headers = { origin: server.url, cookie, 'sec-fetch-site': 'same-origin' }
      const wallet = `${server.url}/wallet`
      replies['queue'] = [await callAs(wallet, 'pocketchain_approvals', [], headers)]
      // The id is only in the queue; that the attacker has it anyway makes the attack stronger.
      const id = node.wallet.approvals.pending.find((question) => question.origin === origin())?.id
      replies['socket'] = await callOver(
        wallet,
        [
          ['pocketchain_approvals', []],
          ['pocketchain_approve', [id]],
        ],
        headers,
      )
      replies['guess'] = await callOver(wallet, [['pocketchain_authenticate', [{ page: cookie.split('=')[1] ?? '' }]]], headers)
      replies['policy'] = [await callAs(wallet, 'pocketchain_setApprovalPolicy', ['approve'], headers)]
      replies['approve'] = [await callAs(wallet, 'pocketchain_approve', [id], headers)]
      replies['link'] = [await callAs(wallet, 'pocketchain_walletLink', [], headers)]
      replies['fault'] = [await callAs(server.url, 'pocketchain_sponsorFault', [{ kind: 'refuse' }], headers)]
    }

    const visitor = await visit(site.origin)
    const connected = visitor.evaluate(CONNECT, `${server.url}/wallet`)
    await card(page, 'connect').waitFor()
    expect(await visitor.evaluate(FETCH_TEXT, '/wallet/x')).toBe('done')

    expect(received, 'the browser sends the cookie to every port: the attack is real').toEqual([
      expect.stringMatching(new RegExp(`^pocketchain_wallet_${server.port}=[0-9a-f]{64}$`)),
    ])
    expect(node.wallet.sites.list()).toEqual([])
    expect(node.wallet.approvals.policy).toBe('ask')
    for (const [name, answers] of Object.entries(replies)) {
      expect([name, answers.length > 0, answers.map(({ error }) => error?.code ?? 'done')]).toEqual([name, true, answers.map(() => 4100)])
      for (const { error } of answers) expect(error?.message).toContain('open a ')
    }
    expect(await node.request({ method: 'pocketchain_sponsorStatus' })).toMatchObject({ fault: null })
    // The user still decides.
    await answer(page, 'connect', 'reject')
    expect(await connected).toMatchObject({ error: { code: 4001 } })
  })

  it('a page under a host name without a dot does not count as a page of the node itself', async () => {
    // A real attacker's page was loaded before its name changed its address. Any document of that origin runs the same script.
    const visitor = await visit(`http://evil:${server.port}/health`)
    const [from] = node.accounts
    const transfer = { method: 'eth_sendTransaction', params: [{ from: from?.address, ...TRANSFER }] }
    for (const path of ['/', '/public', '/wallet', '/paymaster', '/session']) {
      const { status, body } = await visitor.evaluate(POST, { path, request: transfer })
      expect([path, status, body]).toEqual([path, 403, expect.stringContaining('--allow-host evil')])
    }
    for (const path of ['/', '/public', '/wallet', '/flashblocks'])
      expect([path, await visitor.evaluate(OPENS, `ws://evil:${server.port}${path}`)]).toEqual([path, false])
    expect(node.chain.head.view.head.header.number).toBe(0)
  })

  it('no script of another origin reads the page secret, nor does a server receive it', async () => {
    const received: string[] = []
    const site = await hostileSite((request, response) => {
      received.push(JSON.stringify([request.url, request.headers]))
      html(response, 'a site')
    })
    const secret = await page.evaluate(STORED)
    expect(secret).toMatch(/^[0-9a-f]{64}$/)
    const visitor = await visit(`${site.origin}/wallet/x`)
    expect(await visitor.evaluate('localStorage.length')).toBe(0)
    const opened = context.waitForEvent('page')
    await visitor.evaluate(`globalThis.popup = open('${server.url}/wallet?popup=1')`)
    await isLetIn(await opened)
    for (const expression of ['popup.localStorage', 'popup.location.hash', 'popup.location.href', 'popup.document', 'popup.history.length'])
      expect([expression, await visitor.evaluate(reading(expression))]).toEqual([expression, 'SecurityError'])
    // The referrer that the browser sends.
    await page.evaluate(`location.href = '${site.origin}/from-the-wallet'`)
    await page.waitForURL(`${site.origin}/from-the-wallet`)
    expect(await page.evaluate('document.referrer')).toBe('')
    expect(received.length).toBeGreaterThan(1)
    expect(received.join('\n')).not.toContain(secret)
  })

  it('a site that opens the page with its own secret does not replace the valid one', async () => {
    const forged = '0'.repeat(64)
    const before = await page.evaluate(STORED)
    for (const path of ['/wallet', '/wallet?popup=1', '/sponsor', `/wallet?key=${forged}`, `/sponsor?key=${forged}`]) {
      const checked = path.includes('key=')
        ? null
        : context.waitForEvent('response', (response) => response.url() === `${server.url}/session`)
      const visitor = await visit(`${server.url}${path}#secret=${forged}`)
      if (checked !== null) expect(await (await checked).json()).toEqual({ isControl: false })
      if (path.startsWith('/wallet')) await isLetIn(visitor)
      expect([path, await visitor.evaluate(STORED), visitor.url().includes('secret')]).toEqual([path, before, false])
      await visitor.close()
    }
    await page.reload()
    await isLetIn(page)
  })

  it('a link is removed from the address, and authorizes every tab of its browser and no other browser', async () => {
    expect(page.url()).toBe(`${server.url}/wallet`)
    expect(await page.evaluate('history.length')).toBe(2) // the empty page and this one
    await isLetIn(await visit(`${server.url}/wallet`))
    const batch = await visit(`${server.wallet?.link()}&batch=0x07`)
    await isLetIn(batch)
    expect(batch.url()).toBe(`${server.url}/wallet#batch=0x07`)
    const other = await browser.newContext()
    const stranger = await other.newPage()
    await stranger.goto(`${server.url}/wallet`)
    await stranger.getByTestId('refused').waitFor()
    expect(await stranger.getByTestId('refused').innerText()).toContain(
      'Open the wallet link from the terminal of the node in this browser',
    )
    await other.close()
  })

  it('an old link does not replace the secret of an authorized browser, and a newer one does', async () => {
    const old = server.wallet!.link()
    const other = await browser.newContext()
    const stranger = await other.newPage()
    await stranger.goto(old)
    await isLetIn(stranger)
    await other.close()
    const before = await page.evaluate(STORED)
    for (const link of [old, old.replace('#', '&sdkName=a#')]) {
      await page.goto(link)
      await isLetIn(page)
      expect(await page.evaluate(STORED)).toBe(before)
      expect(new URL(page.url()).hash).toBe('')
    }
    expect(new URL(page.url()).search).toBe('?sdkName=a')
    const newer = await visit(server.wallet!.link())
    await isLetIn(newer)
    expect(await newer.evaluate(STORED)).not.toBe(before)
    await page.reload()
    await isLetIn(page)
  })

  it('the cookie without the secret opens a page that requires a new link, and works after one is opened', async () => {
    await page.evaluate('localStorage.clear()')
    await page.reload()
    const refused = page.getByTestId('refused')
    await refused.waitFor()
    expect(await refused.innerText()).toMatch(
      /Open the wallet link from the terminal of the node in this browser\. .*pocketchain_walletLink and the control token/s,
    )
    await visit(server.wallet!.link())
    await page.bringToFront()
    await isLetIn(page)
  })

  it('with blocked storage the page is authorized until it is reloaded, and states that', async () => {
    const blocked = await browser.newContext()
    await blocked.addInitScript(BLOCK_STORAGE)
    const visitor = await blocked.newPage()
    visitor.setDefaultTimeout(PATIENCE_MS)
    await visitor.goto(server.wallet!.link())
    await isLetIn(visitor)
    expect(await visitor.getByTestId('not-kept').innerText()).toContain('until this tab is reloaded or closed; then open a new link')
    await visitor.reload()
    await visitor.getByTestId('refused').waitFor()
    await visitor.goto(server.sponsor?.link() ?? '')
    expect(await visitor.getByTestId('not-kept').innerText()).toContain('open a new link')
    await visitor.getByTestId('fault-slow').click()
    await visitor.locator('[data-testid="fault-banner"][data-kind="slow"]').waitFor()
    await blocked.close()
  })

  describe('the page of the sponsor', () => {
    const status = () =>
      node.request({ method: 'pocketchain_sponsorStatus' }) as Promise<{ readonly fault: unknown; readonly paymasters: unknown }>

    it('is read-only without the credential, and explains how to get it', async () => {
      const before = await status()
      const other = await browser.newContext()
      const visitor = await other.newPage()
      visitor.setDefaultTimeout(PATIENCE_MS)
      await visitor.goto(`${server.url}/sponsor`)
      for (const button of ['fault-refuse', 'pay-0.8']) {
        await visitor.getByTestId(button).click()
        const alert = visitor.getByRole('alert').filter({ hasText: button === 'pay-0.8' ? 'sponsorDeposit' : 'sponsorFault' })
        expect(await alert.innerText()).toContain('open a link to /sponsor or /wallet in this browser')
      }
      expect(await status()).toEqual(before)
      await node.request({ method: 'pocketchain_sponsorFault', params: [{ kind: 'slow' }] })
      await visitor.getByTestId('fault-end').click()
      await visitor.getByTestId('fault-banner').getByRole('alert').waitFor()
      expect((await status()).fault).toEqual({ kind: 'slow' })
      await other.close()
    })

    it('accepts changes from a browser that followed a link to either page', async () => {
      const visitor = await visit(`${server.url}/sponsor`)
      await visitor.getByTestId('fault-refuse').click()
      await visitor.locator('[data-testid="fault-banner"][data-kind="refuse"]').waitFor()
      const other = await browser.newContext()
      const second = await other.newPage()
      second.setDefaultTimeout(PATIENCE_MS)
      await second.goto(server.sponsor!.link())
      await second.getByTestId('fault-end').click()
      await second.getByTestId('fault-banner').waitFor({ state: 'detached' })
      expect(second.url()).toBe(`${server.url}/sponsor`)
      await second.goto(`${server.url}/wallet`)
      await isLetIn(second)
      await other.close()
    })

    it('accepts changes if the wallet is switched off', async () => {
      await using alone = await createPocketchain({ wallet: false, onNote: () => {} })
      const { url, wallet, sponsor } = await alone.listen({ tlsFolder: null })
      expect(wallet).toBe(null)
      const visitor = await visit(sponsor!.link())
      await visitor.getByTestId('fault-slow').click()
      await visitor.locator('[data-testid="fault-banner"][data-kind="slow"]').waitFor()
      const again = await visit(`${url}/sponsor`)
      await again.getByTestId('fault-end').click()
      await again.getByTestId('fault-banner').waitFor({ state: 'detached' })
    })

    it('rejects changes from a page of another port, with or without the cookie', async () => {
      const site = await hostileSite((_, response) => html(response, 'a site'))
      const visitor = await visit(site.origin)
      for (const credentials of ['omit', 'include']) {
        const answered = visitor.evaluate(CALL, {
          url: server.url,
          method: 'pocketchain_sponsorFault',
          params: [{ kind: 'refuse' }],
          credentials,
        })
        // With credentials the browser withholds the response from the page, but sends the request.
        if (credentials === 'omit') expect(await answered).toMatchObject({ error: { code: 4100 } })
        else expect(await answered.catch(() => 'kept')).toBe('kept')
      }
      expect((await status()).fault).toBe(null)
    })
  })
})

// The functions below run in pages; tests are type-checked without the DOM library.

const STORED = 'localStorage.getItem(localStorage.key(0) ?? "")'

const BLOCK_STORAGE = `Object.defineProperty(globalThis, 'localStorage', {
  get() { throw new DOMException('Access is denied for this document.', 'SecurityError') },
})`

/** Requests a connection, as any page may. Returns the result. */
async function CONNECT(wallet: string): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_requestAccounts', params: [] })
  const response = await fetch(wallet, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  return response.json()
}

async function FETCH_TEXT(path: string): Promise<string> {
  return (await fetch(path)).text()
}

async function POST({ path, request }: { readonly path: string; readonly request: object }): Promise<{ status: number; body: string }> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, ...request })
  const response = await fetch(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  return { status: response.status, body: await response.text() }
}

interface Call {
  readonly url: string
  readonly method: string
  readonly params: readonly unknown[]
  readonly credentials: string
}

async function CALL({ url, method, params, credentials }: Call): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body, credentials: credentials as 'omit' | 'include' })
  return response.json()
}

function OPENS(url: string): Promise<boolean> {
  const socket = new WebSocket(url)
  return new Promise((resolve) => {
    socket.addEventListener('open', () => resolve(true))
    socket.addEventListener('close', () => resolve(false))
  })
}

/** Returns the name of the error that reading throws; `read` if it succeeds. */
function reading(expression: string): string {
  return `(() => { try { ${expression}; return 'read' } catch (error) { return error.name } })()`
}
