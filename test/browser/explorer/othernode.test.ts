import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ExplorerServer } from '../../../src/server/index.ts'
import { ANVIL, startAnvil } from '../../anvil.fixture.ts'
import type { RunningAnvil } from '../../anvil.fixture.ts'
import { NO_BROWSER, startBrowser } from '../browser.fixture.ts'

// The explorer of a node of another kind: each page works, or names the method that the node lacks.

const REASON = NO_BROWSER ?? (ANVIL === null ? 'anvil is not installed' : null)

describe.skipIf(REASON !== null)(`the explorer of anvil${REASON === null ? '' : ` (${REASON})`}`, () => {
  let browser: Browser
  let anvil: RunningAnvil
  let server: ExplorerServer
  let page: Page
  let hash: string
  let accounts: readonly string[]
  const broken: string[] = []

  beforeAll(async () => {
    browser = await startBrowser()
    anvil = await startAnvil()
    server = await ExplorerServer.listen({ url: anvil.url, host: '127.0.0.1', port: 0, onError: (error) => broken.push(String(error)) })
    accounts = await anvil.ask<readonly string[]>('eth_accounts')
    hash = await anvil.ask<string>('eth_sendTransaction', { from: accounts[0], to: accounts[1], value: '0xde0b6b3a7640000' })
    await anvil.ask('evm_mine')
    page = await browser.newPage()
    page.on('pageerror', (error) => broken.push(error.message))
  })

  afterAll(async () => {
    await browser?.close()
    await server?.close()
    await anvil?.[Symbol.asyncDispose]()
    expect(broken).toEqual([])
  })

  const go = async (path: string) => {
    await page.goto(`http://127.0.0.1:${server.port}${path}`)
    await page.locator('[data-testid="connection"][data-state="open"]').waitFor()
  }

  it('shows its blocks, and follows new ones by newHeads', async () => {
    await go('/')
    await page.locator('[data-testid="connection"][data-feed="heads"]').waitFor()
    await page.locator('[data-testid="strip-block"][data-number="1"]').waitFor()
    await anvil.ask('evm_mine')
    await page.locator('[data-testid="strip-block"][data-number="3"]').waitFor()
    await page.getByText('this node announces no flashblocks').waitFor()
    expect(await page.getByTestId('connect').count()).toBe(0)
    expect(await page.getByRole('link', { name: 'Wallet' }).count()).toBe(0)
  })

  it('shows a transaction of the newest blocks on the front page', async () => {
    await go('/')
    await page.locator(`[data-testid="transaction"][data-hash="${hash}"]`).waitFor()
  })

  it('shows a block without its flashblocks, naming the method of the ledger', async () => {
    await go('/block/1')
    await page.locator(`[data-testid="transaction"][data-hash="${hash}"]`).waitFor()
    await page.locator('[data-testid="flashblocks"] [data-method="pocketchain_promises"]').waitFor()
  })

  it('shows a transaction with its calls and state changes, without promises', async () => {
    await go(`/tx/${hash}`)
    await page.locator('[data-testid="tx-stage"]').waitFor()
    await page.getByTestId('call-tree').waitFor()
    await page.getByTestId('state-diff').waitFor()
    await page.locator('[data-testid="missing"][data-method="pocketchain_promises"]').waitFor()
    expect(await page.getByTestId('tx-value').innerText()).toBe('1 ETH')
  })

  it('shows an address with its transactions', async () => {
    await go(`/address/${accounts[1]}`)
    expect(await page.getByTestId('balance').innerText()).toBe('10,001 ETH')
    await page.locator(`[data-testid="transaction"][data-hash="${hash}"]`).waitFor()
  })

  it('names the methods of promises and user operations', async () => {
    await go('/promises')
    await page.locator('[data-testid="missing"][data-method="pocketchain_promises"]').waitFor()
    await go('/flashblock/1/0')
    await page.locator('[data-testid="missing"][data-method="pocketchain_promises"]').waitFor()
    await go(`/op/${hash}`)
    await page.locator('[data-testid="missing"][data-method="eth_getUserOperationByHash"]').waitFor()
    await go('/ops')
    await page.locator('[data-testid="missing"][data-method="pocketchain_userOperationPool"]').waitFor()
    await page.getByTestId('no-included').waitFor()
  })

  it('finds blocks, transactions and addresses', async () => {
    for (const [text, path] of [
      [hash, `/tx/${hash}`],
      ['2', '/block/2'],
      [accounts[0]!, `/address/${accounts[0]}`],
    ] as const) {
      await go(`/search?q=${text}`)
      await page.waitForURL((url) => url.pathname.toLowerCase() === path.toLowerCase())
    }
  })
})
