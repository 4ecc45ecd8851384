import type { Browser, Page } from 'playwright-core'
import { getAddress } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Address } from '../../src/eth/index.ts'
import type { CallsStatus, Draft } from '../../src/wallet/index.ts'
import { NO_BROWSER, startBrowser } from './browser.fixture.ts'
import { shop } from './sites.fixture.ts'
import { answer, card, openStage } from './stage.fixture.ts'
import type { Stage } from './stage.fixture.ts'
import { SPONSOR } from './views.fixture.ts'

// Sponsored batches on the approval page: an app of another origin sends them, the node's sponsor signs over https, a click approves them.
// Each test continues from the state of the previous one.

type Hex = `0x${string}`

/** Outcome of a request of the app. */
interface Outcome {
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

const SHOP = '0x00000000000000000000000000000000005eed01'
const GIFT = { to: SHOP, value: '0x1' }
const NOTHING = { to: SHOP, data: '0x' }
const PATIENCE = { timeout: 30_000 }
/** A click on a control that was not there for half a second without an input is ignored. */
const CLICKS = { ...PATIENCE, interval: 700 }

describe.skipIf(NO_BROWSER !== null)(`a sponsored batch on the approval page${NO_BROWSER === null ? '' : ` (${NO_BROWSER})`}`, () => {
  let browser: Browser
  let stage: Stage
  let app: Page
  let page: Page
  let alice: Hex
  const broken: string[] = []

  beforeAll(async () => {
    browser = await startBrowser()
    stage = await openStage(browser, {}, { sponsor: SPONSOR })
    page = stage.approvals
    page.on('pageerror', (error) => broken.push(error.message))
    page.on('console', (message) => message.type() === 'error' && broken.push(message.text()))
    alice = stage.node.accounts[0]!.address // a stage has ten
    app = await stage.open(shop, 'shop.html?second=null')
    const connecting = ask('eth_requestAccounts')
    await answer(page, 'connect')
    await connecting
  })
  afterAll(async () => {
    await stage?.[Symbol.asyncDispose]()
    await browser?.close()
  })
  beforeEach(() => page.bringToFront())
  afterEach(async () => {
    await request('pocketchain_sponsorFault', null)
    const { approvals } = stage.node.wallet
    for (const { id } of approvals.pending) approvals.reject(id)
    expect(broken).toEqual([])
  })

  function request(method: string, ...params: readonly unknown[]): Promise<unknown> {
    return stage.node.request({ method, params })
  }

  async function balance(): Promise<bigint> {
    return BigInt((await request('eth_getBalance', alice, 'pending')) as string) // a quantity
  }

  /** Sends a request of the app to the wallet found through EIP-6963. */
  function ask(method: string, ...params: readonly unknown[]): Promise<Outcome> {
    return app.evaluate<Outcome>(`(${ASK})(${JSON.stringify({ method, params })})`)
  }

  /** `more`: further fields of the paymasterService capability. */
  function send(call: object, more: object = {}): Promise<Outcome> {
    const capabilities = { paymasterService: { url: stage.paymaster, ...more } }
    const batch = { version: '2.0.0', from: alice, chainId: '0x7a69', atomicRequired: true, calls: [call], capabilities }
    return ask('wallet_sendCalls', batch)
  }

  /** Returns the status that the app receives once it is no longer pending. */
  async function settled({ result, error }: Outcome): Promise<CallsStatus> {
    expect(error).toBeUndefined()
    const { id } = result as { id: string } // EIP-5792
    const status = async () => (await ask('wallet_getCallsStatus', id)).result as CallsStatus
    await expect.poll(async () => (await status()).status, PATIENCE).not.toBe(100)
    return status()
  }

  async function paymaster(): Promise<Hex> {
    const { paymasters } = (await request('pocketchain_sponsorStatus')) as { paymasters: { version: string; address: Hex }[] }
    return paymasters.find(({ version }) => version === '0.8')!.address // there is one for each
  }

  it('shows who pays, and costs an account without ether nothing', async () => {
    await request('anvil_setBalance', alice, '0x0')
    const result = send(NOTHING)
    await answer(page, 'upgrade')
    const question = card(page, 'batch')
    const sponsor = question.getByTestId('sponsor')
    const host = new URL(stage.paymaster).host
    await expect.poll(() => sponsor.innerText(), PATIENCE).toBe(`Sponsored by Corner Coffee (${host})\nYou pay nothing`)
    const icon = sponsor.getByTestId('sponsor-icon')
    expect([await icon.getAttribute('src'), await icon.getAttribute('alt')]).toEqual([SPONSOR.icon, ''])
    expect(await icon.evaluate(drawnWidth)).toBeGreaterThan(0)
    expect(await question.locator('[data-code^="sponsor-"]').count()).toBe(0)

    const contract = await paymaster()
    await question.getByText('What the sponsor pays').click()
    const facts = await question.getByTestId('fee').innerText()
    expect(facts).toMatch(/At most\s+0\.\d+ ETH\s+Gas\s+[\d,]+ at up to [\d.]+ gwei\s+Paymaster/)
    expect(await question.getByTestId('fee').locator('.copy').getAttribute('title')).toBe(getAddress(contract))
    await question.getByText('Raw request').click()
    const raw = JSON.parse(await question.getByLabel('Raw request').innerText()) as { fee: { sponsor: unknown }; execution: string }
    expect(raw).toMatchObject({
      execution: 'sponsored',
      fee: { expected: '0x0', most: '0x0', sponsor: { ...SPONSOR, host, paymaster: contract.toLowerCase() } },
    })

    await answer(page, 'batch')
    const status = await settled(await result)
    expect(status).toMatchObject({ status: 200, atomic: true, capabilities: { userOperation: { success: true } } })
    expect(await balance()).toBe(0n)
    await expect.poll(() => page.getByTestId('paid').innerText(), PATIENCE).toMatch(/^(≈ )?0\.0\d+ ETH, paid by the sponsor Corner Coffee$/)
  })

  it('is one operation in the overview and on the page of the batch', async () => {
    const [batch] = stage.node.wallet.batches.latest(1)
    await page.getByTestId('done').click()
    await page.getByTestId('batch-sponsored').waitFor()
    expect(await page.getByTestId('batch-sponsored').getAttribute('title')).toBe(`user operation ${batch?.userOpHash}`)
    await page.goto(`${stage.url}/wallet#batch=${batch?.id}`)
    const operation = page.getByTestId('operation')
    expect(await operation.locator('.copy').getAttribute('title')).toBe(batch?.userOpHash)
    expect(await page.getByTestId('batch-status').getAttribute('data-status')).toBe('200')
    await page.goto(`${stage.url}/wallet#`)
  })

  it('fails without a question if its sponsor rejects it, unless the account may pay, which the question states', async () => {
    await request('anvil_setBalance', alice, '0xde0b6b3a7640000')
    await request('pocketchain_sponsorFault', { kind: 'refuse' })
    expect((await send(GIFT)).error?.code).toBe(4300)
    expect(stage.node.wallet.approvals.pending).toEqual([])

    const before = await balance()
    const result = send(GIFT, { optional: true })
    const question = card(page, 'batch')
    const warning = question.locator('[data-code="sponsor-failed"]')
    await warning.waitFor()
    expect(await warning.innerText()).toMatch(
      /^Caution The sponsor does not pay, so the account does: .+ refused it: .+\. The fee is about 0\.\d+ ETH, at most 0\.\d+ ETH\.$/,
    )
    expect(await question.getByTestId('fee').innerText()).toMatch(/Paid by\s+your account, not by the sponsor\s+Expected\s+0\.\d+ ETH/)
    expect(await question.getByTestId('sponsor').count()).toBe(0)
    await answer(page, 'batch')
    expect(await settled(await result)).toMatchObject({ status: 200 })
    expect(await balance()).toBeLessThan(before - 1n)
  })

  it('can be switched off for one site, and on again', async () => {
    const toggle = page.getByTestId('site').getByTestId('site-sponsorship')
    await page.getByTestId('done').click()
    const isOn = () => stage.node.wallet.sites.get(new URL(app.url()).origin).sponsorship
    await click(toggle)
    await expect.poll(isOn, PATIENCE).toBe(false)
    expect((await send(NOTHING)).error).toMatchObject({ code: 4100, data: { reason: 'sponsorship-off-for-site' } })
    expect(stage.node.wallet.approvals.pending).toEqual([])
    expect(await page.getByTestId('approval').count()).toBe(0)
    await click(toggle)
    await expect.poll(isOn, PATIENCE).toBe(true)
  })

  it('can be switched off for all sites, which may still let the account pay', async () => {
    const toggle = page.getByTestId('sponsorship')
    await click(toggle)
    await page.getByTestId('site-sponsorship').waitFor({ state: 'detached' })
    expect((await send(NOTHING)).error).toMatchObject({ code: 4100, data: { reason: 'sponsorship-off' } })
    expect(stage.node.wallet.approvals.pending).toEqual([])
    expect(await page.getByTestId('approval').count()).toBe(0)

    const result = send(NOTHING, { optional: true })
    await card(page, 'batch').getByTestId('fee').waitFor()
    expect(await card(page, 'batch').getByTestId('sponsor').count()).toBe(0)
    await answer(page, 'batch', 'reject')
    expect((await result).error?.code).toBe(4001)

    await click(toggle)
    await page.getByTestId('site-sponsorship').waitFor()
    const again = send(NOTHING)
    await card(page, 'batch').getByTestId('sponsor').waitFor()
    await answer(page, 'batch')
    expect(await settled(await again)).toMatchObject({ status: 200, capabilities: { userOperation: { success: true } } })
  })

  it.each([
    { kind: 'absent', icon: null, images: 0 },
    { kind: 'elsewhere', icon: 'https://evil.example/pixel.png', images: 0 },
    { kind: 'a page', icon: 'data:text/html,<script>alert(1)</script>', images: 0 },
    { kind: 'an image', icon: SPONSOR.icon ?? null, images: 1 },
  ])('shows the host of a sponsor without a name, its icon when it is $kind', async ({ icon, images }) => {
    const outcome = asking({ ...SPONSORED, fee: { ...SPONSORED.fee, sponsor: { name: null, host: 'pays.example:8443', icon } } })
    const question = card(page, 'batch')
    expect(await question.getByTestId('sponsor').innerText()).toBe('Sponsored by pays.example:8443\nYou pay nothing')
    expect(await question.locator('img').count()).toBe(images)
    await answer(page, 'batch', 'reject')
    expect(await outcome).toBe(4001)
  })

  it("marks the sponsor's name as unverified, and requires a second confirmation when the sponsor takes tokens", async () => {
    const name = '<b>You</b>\u202Eknab'
    const sponsor = { name, host: 'pays.example', paymaster: SPENDER }
    const text = 'The sponsor at pays.example pays the fee and takes CAKE from the account for it.'
    const outcome = asking({
      ...SPONSORED,
      fee: { ...SPONSORED.fee, sponsor },
      warnings: [{ code: 'sponsor-takes', level: 'danger', text }],
    })
    const question = card(page, 'batch')
    expect(await question.getByTestId('sponsor').innerText()).toContain('Sponsored by <b>You</b>⟨U+202E⟩knab (pays.example)')
    expect(await question.getByTestId('warning').innerText()).toBe(`Danger ${text}`)
    await question.locator('.approve.armed').waitFor()
    expect(await question.getByTestId('approve').isDisabled()).toBe(true)
    await answer(page, 'batch')
    expect(await outcome).toBe('approved')
  })

  it('cannot be enabled in a wallet started without it, which the page states', async () => {
    await using other = await openStage(browser, {}, { wallet: { sponsorship: false } })
    const toggle = other.approvals.getByTestId('sponsorship')
    await toggle.waitFor()
    expect(await toggle.isChecked()).toBe(false)
    const warning = other.approvals.getByRole('alert').filter({ hasText: 'started without sponsorship' })
    const press = async () => {
      await toggle.click() // does nothing until the overview has been in sight for half a second
      return warning.waitFor({ timeout: 400 }).then(
        () => true,
        () => false,
      )
    }
    await expect.poll(press, PATIENCE).toBe(true)
    await expect.poll(() => toggle.isChecked(), PATIENCE).toBe(false)
  })

  it('does not say that nothing is to pay if the sponsor takes a token', async () => {
    const fee = { ...SPONSORED.fee, sponsor: { name: null, host: 'pays.example', paymaster: SPENDER } }
    const warnings = [{ code: 'sponsor-takes', level: 'danger', text: 'The sponsor at pays.example pays the fee and takes USDC.' }] as const
    const outcome = asking({ ...SPONSORED, fee, warnings })
    expect(await card(page, 'batch').getByTestId('sponsor').innerText()).toBe('Sponsored by pays.example\nYou pay with a token, see above')
    await answer(page, 'batch', 'reject')
    expect(await outcome).toBe(4001)
  })

  /** Returns the outcome of a question that no request produces: `approved`, or the code of its rejection. */
  function asking(draft: Draft): Promise<unknown> {
    return stage.node.wallet.approvals.ask(draft).then(
      () => 'approved',
      ({ code }: { code: number }) => code,
    )
  }
})

/** Waits until the controls of the overview are enabled. */
async function click(toggle: ReturnType<Page['getByTestId']>): Promise<void> {
  await toggle.waitFor()
  const before = await toggle.isChecked()
  await expect
    .poll(async () => {
      await toggle.click()
      return toggle.isChecked()
    }, CLICKS)
    .toBe(!before)
}

/** Runs in the page. Throws if the image cannot be decoded, for example because the page's content security policy forbids it. */
async function drawnWidth(element: unknown): Promise<number> {
  const image = element as { readonly decode: () => Promise<void>; readonly naturalWidth: number } // the element of the locator
  await image.decode()
  return image.naturalWidth
}

const SPENDER = Address.from(`0x${'b2'.repeat(20)}`)

const SPONSORED = {
  kind: 'batch',
  origin: 'https://shop.example',
  method: 'wallet_sendCalls',
  warnings: [],
  account: Address.from(`0x${'a1'.repeat(20)}`),
  chain: { chainId: '0x7a69', name: 'Pocketchain', symbol: 'ETH', decimals: 18, explorerUrl: null },
  calls: [{ to: SPENDER, value: '0x0', data: '0x', gasLimitOverride: null, label: null, signature: null, args: null, summary: null }],
  preview: { status: 'success', error: null, failedCall: null, changes: [], allowances: [] },
  fee: {
    gas: '0x30d40',
    maxFeePerGas: '0x77359400',
    maxPriorityFeePerGas: '0x5f5e100',
    l1Fee: '0x0',
    expected: '0x0',
    most: '0x0',
    sponsor: null,
  },
  batchId: '0x01',
  atomic: true,
  execution: 'sponsored',
} as const

/** Runs in the app's page. */
const ASK = `(request) => new Promise((resolve) => {
  addEventListener('eip6963:announceProvider', ({ detail }) => {
    const failed = ({ code, message, data }) => resolve({ error: { code, message, data } })
    detail.provider.request(request).then((result) => resolve({ result }), failed)
  }, { once: true })
  dispatchEvent(new Event('eip6963:requestProvider'))
})`
