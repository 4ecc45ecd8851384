import { spawnSync } from 'node:child_process'
import { X509Certificate, createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPocketchain } from '../../src/index.ts'
import type { Pocketchain } from '../../src/index.ts'
import type { Server } from '../../src/server/index.ts'
import { NO_BROWSER, NO_CERTUTIL, startBrowser } from './browser.fixture.ts'
import { serve, shop } from './sites.fixture.ts'
import { answer } from './stage.fixture.ts'

// Pages over TLS in a browser that trusts the CA, and in one that does not.

describe.skipIf(NO_BROWSER !== null)('over TLS', () => {
  let folder = ''
  let node: Pocketchain
  let server: Server
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'pocketchain-browser-'))
    node = await createPocketchain()
    server = await node.listen({ tlsFolder: join(folder, 'tls') })
    server.ca()
  })
  afterAll(async () => {
    await node.close()
    rmSync(folder, { recursive: true, force: true })
  })

  /** Runs `work` in a page of a separate browser. */
  async function browsing(browser: Browser, work: (page: Page) => Promise<void>): Promise<void> {
    try {
      const context = await browser.newContext({ ignoreHTTPSErrors: false })
      await work(await context.newPage())
    } finally {
      await browser.close()
    }
  }

  /** Chromium flags that trust certificates signed by the CA's key. */
  function trusting(): Promise<Browser> {
    const key = new X509Certificate(server.ca()).publicKey.export({ type: 'spki', format: 'der' })
    const name = createHash('sha256').update(key).digest('base64')
    return startBrowser({ flags: [`--ignore-certificate-errors-spki-list=${name}`] })
  }

  test('a browser that does not trust the authority opens nothing', async () => {
    await browsing(await startBrowser(), async (page) => {
      await expect(page.goto(server.httpsUrl)).rejects.toThrow('ERR_CERT_AUTHORITY_INVALID')
    })
  })

  // Without certutil a CA cannot be added to the browser's trust store.
  test.skipIf(NO_CERTUTIL !== null)('a browser that trusts the CA opens every name of the certificate, and no other', async () => {
    const home = join(folder, 'home')
    const database = join(home, '.pki', 'nssdb')
    mkdirSync(database, { recursive: true })
    const certutil = (...args: readonly string[]) => expect(spawnSync('certutil', ['-d', `sql:${database}`, ...args]).status).toBe(0)
    certutil('-N', '--empty-password')
    certutil('-A', '-t', 'C,,', '-n', 'pocketchain', '-i', join(folder, 'tls', 'ca.pem'))
    await browsing(await startBrowser({ home, flags: ['--host-resolver-rules=MAP evil.example 127.0.0.1'] }), async (page) => {
      for (const name of ['127.0.0.1', 'localhost', 'app.localhost']) {
        await page.goto(`https://${name}:${server.port}`)
        expect(await page.title()).toBe('pocketchain')
      }
      await expect(page.goto(`https://evil.example:${server.port}`)).rejects.toThrow('ERR_CERT_COMMON_NAME_INVALID')
    })
  })

  test('the wallet works as over http: page, cookie, socket and app', async () => {
    await browsing(await trusting(), async (page) => {
      const broken: string[] = []
      page.on('pageerror', (error) => broken.push(error.message))
      page.on('console', (message) => message.type() === 'error' && broken.push(message.text()))
      const sockets: string[] = []
      page.on('websocket', (socket) => sockets.push(socket.url()))
      await page.goto(server.wallet!.link().replace('http:', 'https:')) // the fixture starts it with a wallet
      const [cookie] = await page.context().cookies()
      expect(cookie).toMatchObject({ name: `__Secure-pocketchain_wallet_${server.port}`, secure: true, httpOnly: true, sameSite: 'Strict' })
      const site = await serve(shop(`${server.httpsUrl}/wallet/provider.js`))
      const app = await page.context().newPage()
      await app.goto(`${site.origin}/shop.html`)
      await site.close()
      const asking = app.evaluate(ASK)
      await answer(page, 'connect')
      expect(await asking).toContain(node.accounts[0]?.address)
      expect(sockets).toEqual([`wss://127.0.0.1:${server.port}/wallet`])
      expect(broken).toEqual([])
    })
  })

  test('the sponsor page loads, and its content security policy permits its requests', async () => {
    await browsing(await trusting(), async (page) => {
      const broken: string[] = []
      page.on('pageerror', (error) => broken.push(error.message))
      page.on('console', (message) => message.type() === 'error' && broken.push(message.text()))
      const answered = page.waitForResponse((response) => response.request().method() === 'POST')
      await page.goto(`${server.httpsUrl}/sponsor`)
      expect((await answered).status()).toBe(200)
      expect(broken).toEqual([])
    })
  })
})

/** Runs in the app's page. */
const ASK = `new Promise((resolve, reject) => {
  addEventListener('eip6963:announceProvider', ({ detail }) => {
    detail.provider.request({ method: 'eth_requestAccounts' }).then(resolve, reject)
  }, { once: true })
  dispatchEvent(new Event('eip6963:requestProvider'))
})`
