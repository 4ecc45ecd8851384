import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createPocketchain } from '../../../src/index.ts'
import { ExplorerServer } from '../../../src/server/index.ts'
import { ANVIL, startAnvil } from '../../anvil.fixture.ts'
import { axeViolations } from '../axe.fixture.ts'
import { NO_BROWSER, startBrowser } from '../browser.fixture.ts'

// `--explorer-of` in front of nodes that come and go.

const WETH = '0x4200000000000000000000000000000000000006'
const FORWARDER = '0x00000000000000000000000000000000000e0040'
const PATIENCE_MS = 30_000

describe.skipIf(NO_BROWSER !== null)(`the explorer in front of another node${NO_BROWSER === null ? '' : ` (${NO_BROWSER})`}`, () => {
  let browser: Browser
  const closings: (() => Promise<unknown>)[] = []
  beforeAll(async () => {
    browser = await startBrowser()
  })
  afterAll(() => browser?.close())
  afterEach(async () => {
    for (const close of closings.splice(0).toReversed()) await close()
  })

  async function startNode(port: number) {
    const node = await createPocketchain({ onNote: () => {} })
    closings.push(() => node.close())
    return { node, server: await node.listen({ port, tlsFolder: null }) }
  }

  async function explore(url: string): Promise<{ readonly page: Page; readonly origin: string; readonly broken: readonly string[] }> {
    const server = await ExplorerServer.listen({ url, host: '127.0.0.1', port: 0, onError: (error) => expect.fail(String(error)) })
    closings.push(() => server.close())
    const page = await browser.newPage()
    page.setDefaultTimeout(PATIENCE_MS)
    closings.push(() => page.close())
    const broken: string[] = []
    page.on('pageerror', (error) => broken.push(error.message))
    return { page, origin: `http://127.0.0.1:${server.port}`, broken }
  }

  const connection = (page: Page, state: string) => page.locator(`[data-testid="connection"][data-state="${state}"]`)

  it('follows the flashblocks of a pocketchain node', async () => {
    const { server } = await startNode(0)
    const { page, origin, broken } = await explore(server.url)
    await page.goto(`${origin}/`)
    await page.locator('[data-testid="connection"][data-feed="flashblocks"]').waitFor()
    // A busy machine may show several cells in one update.
    const open = page.locator('[data-testid="strip-block"][data-open="true"]')
    await expect.poll(async () => Number(await open.getAttribute('data-cells')), { interval: 50 }).toBeGreaterThan(3)
    expect(broken).toEqual([])
  })

  it('starts without a connection, and shows the node once it answers, and again after it was away', async () => {
    const port = await freePort()
    const { page, origin, broken } = await explore(`http://127.0.0.1:${port}`)
    await page.goto(`${origin}/address/${WETH}`)
    await connection(page, 'lost').waitFor()
    expect(await connection(page, 'lost').innerText()).toBe('no connection')
    const { node } = await startNode(port)
    await connection(page, 'open').waitFor()
    await page.locator('[data-testid="connection"][data-feed="flashblocks"]').waitFor()
    await node.close()
    await connection(page, 'lost').waitFor()
    await startNode(port)
    await page.locator('[data-testid="connection"][data-feed="flashblocks"]').waitFor()
    expect(broken).toEqual([])
  })

  it('reads contracts, and has no wallet to write with', async () => {
    const { server } = await startNode(0)
    const { page, origin, broken } = await explore(server.url)
    await page.goto(`${origin}/address/${WETH}`)
    const form = (name: string) => page.locator(`[data-testid="function"][data-name="${name}"]`)
    await form('symbol').locator('summary').click()
    await form('symbol').getByTestId('submit').click()
    expect(await form('symbol').getByTestId('outcome-values').innerText()).toContain('“WETH”')
    await form('deposit').locator('summary').click()
    await form('deposit').getByText('This server has no wallet to send with.').waitFor()
    expect(await form('deposit').getByTestId('submit').count()).toBe(0)
    expect(await axeViolations(page)).toEqual([])
    expect(broken).toEqual([])
  })

  it.skipIf(ANVIL === null)('marks transactions of anvil that reach an address only from inside', async () => {
    const anvil = await startAnvil()
    closings.push(() => anvil.stop())
    const receiver = `0x${'cd'.repeat(20)}`
    const [from] = await anvil.ask<readonly string[]>('eth_accounts')
    // Passes its value on.
    await anvil.ask('anvil_setCode', FORWARDER, `0x5f5f5f5f3473${receiver.slice(2)}5af100`)
    const inner = await anvil.ask<string>('eth_sendTransaction', { from, to: FORWARDER, value: '0x5', gas: '0x30d40' })
    await anvil.ask('evm_mine')
    const outer = await anvil.ask<string>('eth_sendTransaction', { from, to: receiver, value: '0x1' })
    await anvil.ask('evm_mine')
    const { page, origin, broken } = await explore(anvil.url)
    await page.goto(`${origin}/address/${receiver}`)
    const row = (hash: string) => page.locator(`[data-testid="transaction"][data-hash="${hash}"]`)
    await row(inner).getByTestId('internal').waitFor()
    await row(outer).waitFor()
    expect(await row(outer).getByTestId('internal').count()).toBe(0)
    expect(await page.getByTestId('balance').innerText()).toContain('ETH')
    expect(broken).toEqual([])
  })
})

async function freePort(): Promise<number> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // listens on TCP
  server.close()
  await once(server, 'close')
  return port
}
