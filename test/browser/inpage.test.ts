import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { createPublicClient, http, verifyMessage } from 'viem'
import type { Hex, PublicClient } from 'viem'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPocketchain } from '../../src/index.ts'
import type { Pocketchain } from '../../src/index.ts'
import type { CallsStatus } from '../../src/wallet/index.ts'
import { NO_BROWSER, startBrowser } from './browser.fixture.ts'
import { until } from './flow.fixture.ts'
import { bundlePage, contentOf } from './pagebundle.fixture.ts'
import type { PageFiles } from './pagebundle.fixture.ts'
import { serve } from './sites.fixture.ts'
import type { Site } from './sites.fixture.ts'

// The wallet as a library of a page: bundled with the page, with a node on another port.

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PAGE = fileURLToPath(new URL('inpage/', import.meta.url))
/** Limit for the minified bytes loaded before the wallet responds; two fifths of it is libsecp256k1. */
const BUNDLE_BYTES = 350_000
const SELLER = '0x00000000000000000000000000000000005eed02'

/** Bundles the page with the package's sources instead of its installed files. */
function bundle(): Promise<PageFiles> {
  const source = (room: string): string => fileURLToPath(new URL(`../../src/${room}/index.ts`, import.meta.url))
  return bundlePage(PAGE, { resolve: { alias: [{ find: /^pocketchain\/([a-z]+)$/, replacement: source('$1') }] } })
}

let files: PageFiles

beforeAll(async () => {
  files = await bundle()
})

describe('the bundle', () => {
  it("contains the eth types, the wallet and the node's client, not the node", () => {
    const chunks = files.filter((file) => file.type === 'chunk')
    const rooms = new Set(chunks.flatMap(({ modules }) => Object.entries(modules).flatMap(roomOf)))
    expect([...rooms].toSorted()).toEqual(['eth', 'jsonrpc', 'wallet'])
    expect(chunks.find(({ isEntry }) => isEntry)?.code.length).toBeLessThan(BUNDLE_BYTES)
  })
})

/** Modules of this package that remain after tree shaking. */
function roomOf([id, { renderedLength }]: [string, { renderedLength: number }]): readonly string[] {
  const [top, room] = relative(ROOT, id).split(/[/\\]/)
  return renderedLength > 0 && top === 'src' && room !== undefined ? [room] : []
}

describe.skipIf(NO_BROWSER !== null)(`a wallet in the page${NO_BROWSER === null ? '' : `: ${NO_BROWSER}`}`, () => {
  const key = generatePrivateKey()
  const account = privateKeyToAddress(key).toLowerCase() as Hex // letters only change their case
  let node: Pocketchain
  let url: string
  let client: PublicClient
  let site: Site
  let browser: Browser
  let page: Page
  let batch: string
  /** errors reported by the page */
  const complaints: string[] = []

  beforeAll(async () => {
    node = await createPocketchain()
    ;({ url } = await node.listen())
    client = createPublicClient({ transport: http(url), pollingInterval: 50 })
    await node.request({ method: 'anvil_setBalance', params: [account, '0xde0b6b3a7640000'] })
    site = await serve(contentOf(files))
    browser = await startBrowser()
    page = await browser.newPage()
    page.on('console', (message) => void complaints.push(message.text()))
    page.on('pageerror', (error) => void complaints.push(error.message))
    await open()
  })

  afterAll(async () => {
    await browser.close()
    await Promise.all([site.close(), node.close()])
  })

  async function open(): Promise<void> {
    await page.goto(`${site.origin}/index.html`)
    await call('open', { url, chainId: node.chain.config.chainId, key })
  }

  /** Calls a function of the page. */
  function call(name: string, ...args: readonly unknown[]): Promise<unknown> {
    return page.evaluate(`shop.${name}(${args.map((arg) => JSON.stringify(arg)).join(', ')})`)
  }

  /** The wallet waits for the status for a limited time. */
  function settled(): Promise<CallsStatus> {
    return until(
      async () => (await call('status', batch)) as CallsStatus,
      ({ status }) => status !== 100,
    )
  }

  function balance(): Promise<bigint> {
    return client.getBalance({ address: SELLER, blockTag: 'pending' })
  }

  it('runs without Buffer and process', async () => {
    expect(await page.evaluate('[typeof Buffer, typeof process, typeof shop]')).toEqual(['undefined', 'undefined', 'object'])
  })

  it('is connected by the script that answers its questions', async () => {
    expect(await call('accounts')).toEqual([])
    expect(await call('connect')).toEqual({ origin: site.origin, accounts: [account] })
  })

  it('signs a message with its key', async () => {
    const signature = (await call('sign', 'Grüße aus der Seite ✓')) as Hex
    expect(await verifyMessage({ address: account, message: 'Grüße aus der Seite ✓', signature })).toBe(true)
    expect(await verifyMessage({ address: account, message: 'Grüße aus der Seite', signature })).toBe(false)
  })

  it('signs a transaction that the node accepts', async () => {
    const before = await balance()
    const hash = (await call('send', SELLER, '0x5')) as Hex
    const receipt = await client.waitForTransactionReceipt({ hash })
    expect(receipt).toMatchObject({ status: 'success', from: account, to: SELLER })
    expect((await balance()) - before).toBe(5n)
  })

  it('upgrades its account to a smart account and sends a batch in one transaction', async () => {
    const before = await balance()
    const { id, preview } = (await call('buy', [
      { to: SELLER, value: '0x3' },
      { to: SELLER, value: '0x4' },
    ])) as { id: string; preview: string }
    batch = id
    const { status, atomic, receipts } = await settled()
    expect([preview, status, atomic, receipts?.map(({ status }) => status)]).toEqual(['success', 200, true, ['0x1']])
    expect((await balance()) - before).toBe(7n)
  })

  it('keeps sites and batches after a reload of the page', async () => {
    expect(await call('records')).toContain(`wallet/site/${site.origin}`)
    await open()
    expect(await call('accounts')).toEqual([account])
    expect(await settled()).toMatchObject({ id: batch, status: 200, atomic: true })
  })

  it('causes no browser errors', () => {
    expect(complaints).toEqual([])
  })
})
