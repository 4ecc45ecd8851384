import type { Browser, BrowserContext, Locator, Page, Route } from 'playwright-core'
import { encodeAbiParameters, encodeFunctionData, keccak256, parseAbi } from 'viem'
import type { Hex } from 'viem'
import { entryPoint08Address } from 'viem/account-abstraction'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createPocketchain } from '../../src/index.ts'
import type { Pocketchain, Server, SponsorChoices } from '../../src/index.ts'
import { layoutFaults } from './axe.fixture.ts'
import { NO_BROWSER, startBrowser } from './browser.fixture.ts'
import { ACCEPTING_ACCOUNT, TIMED_ACCOUNT } from './explorer/operations.fixture.ts'

// The sponsor's page of a node whose wallet sends sponsored operations.

const ORIGIN = 'http://shop.localhost:3000'
const FRIEND = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const STRANGER = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'
const WETH = '0x4200000000000000000000000000000000000006'
const ETHER = 10n ** 18n
const TRANSFER = encodeFunctionData({ abi: parseAbi(['function transfer(address,uint256)']), args: [FRIEND, 0n] })
const PATIENCE_MS = 30_000

/** A node with one page that shows its sponsor. */
interface Scene {
  readonly node: Pocketchain
  readonly server: Server
  readonly context: BrowserContext
  readonly page: Page
  readonly account: string
  readonly ask: (method: string, ...params: readonly unknown[]) => Promise<unknown>
  /** Sends a sponsored batch. Resolves once the wallet has sent it; rejects with the app's error. */
  readonly send: (...calls: readonly object[]) => Promise<unknown>
}

describe.skipIf(NO_BROWSER !== null)(`the page of the sponsor${NO_BROWSER === null ? '' : ` (${NO_BROWSER})`}`, () => {
  let browser: Browser
  let scene: Scene
  const broken: string[] = []
  beforeAll(async () => {
    browser = await startBrowser()
  })
  afterAll(() => browser?.close())

  beforeEach(async () => {
    broken.length = 0
    scene = await open()
  })
  afterEach(async () => {
    await scene.context.close()
    await scene.node.close()
    expect(broken, 'nothing that the policy of the page forbids, and no error').toEqual([])
  })

  async function open(sponsor: SponsorChoices = {}): Promise<Scene> {
    const node = await createPocketchain({ cadence: 'instant', sponsor, onNote: () => {} })
    const server = await node.listen({ tlsFolder: null })
    const context = await browser.newContext()
    context.setDefaultTimeout(PATIENCE_MS)
    const page = await context.newPage()
    page.on('pageerror', (error) => broken.push(error.message))
    page.on('console', (message) => message.type() === 'error' && !isOutage(message.text()) && broken.push(message.text()))
    await page.goto(server.sponsor!.link()) // the fixture starts it with a sponsor
    await page.getByTestId('sponsor-name').waitFor()
    const account = String(node.accounts[0]?.address) // a node has ten
    const app = node.wallet.provider(ORIGIN)
    node.wallet.approvals.setPolicy('approve')
    await app.request({ method: 'eth_requestAccounts', params: [] })
    const ask: Scene['ask'] = (method, ...params) => node.request({ method, params })
    const send: Scene['send'] = (...calls) => {
      const capabilities = { paymasterService: { url: server.paymaster?.url } }
      const batch = { version: '2.0.0', from: account, chainId: '0x7a69', atomicRequired: true, calls, capabilities }
      return app.request({ method: 'wallet_sendCalls', params: [batch] })
    }
    return { node, server, context, page, account, ask, send }
  }

  /** Replaces the scene of the test. */
  async function reopen(sponsor: SponsorChoices): Promise<void> {
    await scene.context.close()
    await scene.node.close()
    scene = await open(sponsor)
  }

  const at = (id: string): Locator => scene.page.getByTestId(id)
  const entries = (state: string): Locator => scene.page.locator(`[data-testid="entry"][data-state="${state}"]`)
  const textOf = (locator: Locator): Promise<string> => locator.innerText()

  it('without entries shows how to use this node, and its certificate authority', async () => {
    const { page, context, server } = scene
    const host = `127.0.0.1:${server.port}`
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    const empty = at('empty')
    expect(await textOf(empty)).toMatch(new RegExp(`paymasterService: \\{\\s+url: 'https://${host}/paymaster/rpc'`))
    expect(await textOf(empty)).toMatch(new RegExp(`createPaymasterClient\\(\\{\\s+transport: http\\('http://${host}/paymaster'\\)`))
    await empty.getByRole('button', { name: 'copy the lines: With a wallet (EIP-5792)' }).click()
    await empty.getByText('copied').waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toContain('client.sendCalls({')
    expect([await textOf(at('url-https')), await textOf(at('url-http'))]).toEqual([
      expect.stringContaining(`https://${host}/paymaster/rpc`),
      expect.stringContaining(`http://${host}/paymaster`),
    ])
    const commands = await textOf(at('service'))
    for (const word of [`curl -so ca.pem http://${host}/ca.pem`, 'NODE_EXTRA_CA_CERTS', 'certutil']) expect(commands).toContain(word)
    const authority = await page.request.get(new URL(String(await at('ca').getAttribute('href')), server.url).href)
    expect(await authority.text()).toBe(server.ca())
  })

  it('shows an operation as reserved and then as settled with its cost', async () => {
    const { page, context, ask, send } = scene
    await ask('pocketchain_sponsorPolicies', [{ name: 'coffee', total: String(ETHER / 100n), perDay: String(ETHER / 200n) }])
    await ask('debug_bundler_setBundlingMode', 'manual')
    await send({ to: WETH, data: TRANSFER }, { to: FRIEND, value: '0x16345785d8a0000' })
    const reserved = entries('reserved')
    await reserved.waitFor()
    const policy = page.locator('[data-testid="policy"][data-name="coffee"]')
    expect(await textOf(reserved)).toMatch(/transfer at\s+0x4200…0006[^]*send 0\.1 ETH to\s+0x7099…79C8/)
    expect(await textOf(at('total-settled'))).toBe('0 ETH')
    expect(await textOf(at('total-reserved'))).not.toBe('0 ETH')
    expect(await policy.locator('rect.held').getAttribute('width')).not.toBe('0')
    await reserved.locator('[data-testid="entry-waits"][data-waits-for="request"]').waitFor()
    const { entries: held } = (await ask('pocketchain_sponsorLedger')) as { entries: readonly Record<'maxFeePerGas' | 'userOpHash', Hex>[] }
    const { maxFeePerGas, userOpHash } = held[0]!
    expect(await reserved.getByTestId('max-fee').locator('.price').getAttribute('title')).toBe(weiText(BigInt(maxFeePerGas)))
    expect(await reserved.getByTestId('operation-link').getAttribute('href')).toBe(`/op/${userOpHash}`)

    await ask('debug_bundler_sendBundleNow')
    const settled = entries('settled')
    await settled.waitFor()
    expect(await reserved.count()).toBe(0)
    const { entries: written } = (await ask('pocketchain_sponsorLedger')) as {
      entries: readonly Record<'cost' | 'gasUsed' | 'transactionHash', Hex>[]
    }
    const { cost, gasUsed, transactionHash } = written[0]!
    const receipt = (await ask('eth_getUserOperationReceipt', userOpHash)) as Record<'actualGasCost' | 'actualGasUsed', Hex>
    expect([cost, gasUsed]).toEqual([receipt.actualGasCost, receipt.actualGasUsed])
    expect(await settled.getByTestId('price-paid').locator('.price').getAttribute('title')).toBe(weiText(BigInt(cost) / BigInt(gasUsed)))
    expect(await settled.getByTestId('entry-bundle').getByRole('link').getAttribute('href')).toBe(`/tx/${transactionHash}`)
    expect(await settled.getByTestId('entry-waits').count()).toBe(0)
    const settledWei = settled.locator('[data-label="Charged"] .amount')
    expect(await settledWei.getAttribute('title')).toBe(`${etherOf(BigInt(cost))} ETH`)
    expect(await at('total-settled').locator('.amount').getAttribute('title')).toBe(`${etherOf(BigInt(cost))} ETH`)
    expect(await textOf(at('total-reserved'))).toBe('0 ETH')
    expect(await policy.locator('rect.held').getAttribute('width')).toBe('0')
    expect(await textOf(policy)).toContain('one account')

    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await settled.getByRole('button', { name: 'copy transaction hash' }).click()
    await settled.getByText('copied').waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(transactionHash)
  })

  it('shows the bundle that an operation was sent in, its rule warnings, and why one was dropped', async () => {
    const { page, ask } = scene
    await ask('debug_bundler_setBundlingMode', 'manual')
    await ask('evm_setAutomine', false)
    const [sent, dropped] = [await sponsored(TIMED_ACCOUNT), await sponsored(ACCEPTING_ACCOUNT)]
    const line = (hash: string) => page.locator('[data-testid="entry"]', { has: page.locator(`a[href="/op/${hash}"]`) })
    const waits = (hash: string, status: string) => line(hash).locator(`[data-testid="entry-waits"][data-status="${status}"]`)
    await waits(sent.hash, 'not_submitted').waitFor()
    expect(await textOf(line(sent.hash).getByTestId('rule-warnings'))).toBe('OP-011 warning')
    expect(await line(dropped.hash).getByTestId('rule-warnings').count()).toBe(0)
    await ask('anvil_setCode', dropped.sender, TIMED_ACCOUNT)
    const bundle = String(await ask('debug_bundler_sendBundleNow'))
    await waits(sent.hash, 'submitted').waitFor()
    expect(await line(sent.hash).getByTestId('entry-bundle').getByRole('link').getAttribute('href')).toBe(`/tx/${bundle}`)
    await waits(dropped.hash, 'rejected').waitFor()
    expect(await textOf(waits(dropped.hash, 'rejected'))).toMatch(/^the code of 0x\w{40} has changed/)

    expect(await textOf(line(dropped.hash).locator('[data-label="State"]'))).toMatch(/^\s*Reserved\s+dropped/)

    await line(sent.hash).getByTestId('details').click()
    const details = at('entry-details')
    expect(await textOf(details.locator('[data-rule="OP-011"]'))).toMatch(/account 0x\w{4}…\w{4} uses banned opcode: TIMESTAMP/)
    expect(await textOf(details)).toMatch(/Max fee\s+[\d.≈ ]+gwei per gas\s+Max priority fee\s+[\d.≈ ]+g?wei per gas/)
    await ask('evm_mine')
    await entries('settled').waitFor()
    await expect.poll(() => textOf(details)).toMatch(/Paid\s+[\d.≈ ]+gwei per gas, for [\d,]+ gas/)
    await line(sent.hash).getByTestId('operation-link').click()
    // The explorer's page of the operation.
    await page.getByTestId('op-sponsor').waitFor()
    await page.locator('[data-testid="rule-warning"][data-rule="OP-011"]').waitFor()
  })

  it('with waiting, sent, settled and dropped operations is accessible and fits each width', async () => {
    const { page, ask } = scene
    await sponsored(TIMED_ACCOUNT)
    await entries('settled').waitFor()
    await ask('debug_bundler_setBundlingMode', 'manual')
    await ask('evm_setAutomine', false)
    const [, dropped] = [await sponsored(TIMED_ACCOUNT), await sponsored(ACCEPTING_ACCOUNT)]
    await ask('anvil_setCode', dropped.sender, TIMED_ACCOUNT)
    await ask('debug_bundler_sendBundleNow')
    await sponsored(ACCEPTING_ACCOUNT)
    for (const status of ['rejected', 'submitted', 'not_submitted'])
      await page.locator(`[data-testid="entry-waits"][data-status="${status}"]`).waitFor()
    await entries('settled').getByTestId('details').click()
    expect(await layoutFaults(page)).toEqual([])
  })

  /** Sends a sponsored operation of a new account with this code. */
  async function sponsored(code: Hex): Promise<{ readonly hash: string; readonly sender: Hex }> {
    const { ask, server } = scene
    const sender = privateKeyToAccount(generatePrivateKey()).address
    await ask('anvil_setCode', sender, code)
    const { standard } = (await ask('pimlico_getUserOperationGasPrice')) as { standard: object }
    const limits = { callGasLimit: '0x30d40', verificationGasLimit: '0x30d40', preVerificationGas: '0x30d40' }
    const operation = { sender, nonce: '0x0', callData: '0x', ...limits, ...standard, signature: '0x12' }
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'pm_getPaymasterData',
      params: [operation, entryPoint08Address, '0x7a69', {}],
    })
    const answer = await fetch(`${server.url}/paymaster`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    const { result } = (await answer.json()) as { result: object }
    const hash = await ask('eth_sendUserOperation', { ...operation, ...result }, entryPoint08Address)
    return { hash: String(hash), sender }
  }

  it('shows the reason of a refusal and the result of each policy', async () => {
    const { ask, send } = scene
    await ask('pocketchain_sponsorPolicies', [
      { name: 'coffee', contracts: [{ address: WETH }] },
      { name: 'crumbs', perOperation: '1' },
    ])
    await expect(send({ to: FRIEND, value: '0x1' })).rejects.toMatchObject({ code: 4300 })
    const refused = entries('refused')
    await refused.waitFor()
    expect(await at('older').count(), 'all of it is in sight').toBe(0)
    expect(await refused.getByTestId('entry-reason').getAttribute('data-reason')).toMatch(/^(contract|per-operation)$/)
    expect(await textOf(refused)).toContain('send 1 wei to')
    const details = refused.getByTestId('details')
    expect(await details.getAttribute('aria-expanded')).toBe('false')
    await details.focus()
    await scene.page.keyboard.press('Enter')
    const facts = await textOf(at('entry-details'))
    expect(facts).toMatch(/coffee[^]*is not sponsored/)
    expect(facts).toContain('crumbs')
    expect(await textOf(at('total-refused'))).toBe('1')
    await scene.page.keyboard.press('Enter')
    await at('entry-details').waitFor({ state: 'detached' })
  })

  it('shows entries of one state, and of one sender', async () => {
    const { account, ask, send } = scene
    await send({ to: FRIEND })
    await ask('pocketchain_sponsorFault', { kind: 'refuse', times: 2 })
    await expect(send({ to: FRIEND })).rejects.toMatchObject({ code: 4300 })
    await refusedStub(scene, STRANGER, 0)
    await entries('settled').waitFor()
    await at('entry').nth(2).waitFor()
    const all = () => at('entry').evaluateAll((rows) => rows.map((row) => row.getAttribute('data-state')))
    await at('state-refused').click()
    await entries('settled').waitFor({ state: 'detached' })
    expect(await all()).toEqual(['refused', 'refused'])
    expect(await at('state-refused').getAttribute('aria-pressed')).toBe('true')

    const sender = at('sender-filter')
    await sender.fill('0x12')
    expect([await sender.getAttribute('aria-invalid'), (await all()).length]).toEqual(['true', 2])
    await sender.fill(STRANGER)
    await at('entry').nth(1).waitFor({ state: 'detached' })
    expect([await sender.getAttribute('aria-invalid'), await all()]).toEqual(['false', ['refused']])
    await at('state-settled').click()
    await at('no-match').waitFor()
    await sender.fill('')
    await entries('settled').waitFor()
    await entries('settled').getByRole('button', { name: 'Only entries of' }).click()
    await expect.poll(() => sender.inputValue()).toBe(account)
    await at('state-all').click()
    await at('entry').nth(1).waitFor()
    expect(await all()).toEqual(['refused', 'settled'])
  })

  it('pages to older entries and back', async () => {
    await scene.ask('pocketchain_sponsorFault', { kind: 'refuse' })
    for (let nonce = 0; nonce < 30; nonce++) await refusedStub(scene, STRANGER, nonce)
    await at('entry').nth(24).waitFor()
    await at('older').waitFor()
    const ids = () => at('entry').evaluateAll((rows) => rows.map((row) => Number(row.getAttribute('data-id'))))
    const newest = await ids()
    expect([newest.length, await at('newer').isDisabled(), await at('older').isDisabled()]).toEqual([25, true, false])
    expect(newest).toEqual(newest.toSorted((a, b) => b - a))
    await at('older').click()
    await at('entry').nth(5).waitFor({ state: 'detached' })
    const older = await ids()
    expect([older.length, await at('newer').isDisabled(), await at('older').isDisabled()]).toEqual([5, false, true])
    expect(Math.max(...older)).toBeLessThan(Math.min(...newest))
    // New entries do not move an older page.
    await refusedStub(scene, STRANGER, 30)
    await at('total-refused').filter({ hasText: '31' }).waitFor()
    expect(await ids()).toEqual(older)
    await at('newer').click()
    await at('entry').nth(24).waitFor()
    expect(await ids()).toEqual([newest[0]! + 1, ...newest.slice(0, -1)])
  })

  it('sets each fault, shows it, and ends it', async () => {
    const { server, page, ask } = scene
    const now = async () => ((await ask('pocketchain_sponsorStatus')) as { fault: { kind: string } | null }).fault?.kind ?? null
    expect([await at('fault-banner').count(), await at('fault-none').getAttribute('aria-pressed')]).toEqual([0, 'true'])
    for (const kind of ['refuse', 'slow', 'wrong-signature', 'expired', 'differ', 'empty-deposit', 'http-500']) {
      await at(`fault-${kind}`).click()
      await page.locator(`[data-testid="fault-banner"][data-kind="${kind}"]`).waitFor()
      expect([await now(), await at(`fault-${kind}`).getAttribute('aria-pressed')]).toEqual([kind, 'true'])
      expect(await page.locator('[data-testid^="fault-"][aria-pressed="true"]').count()).toBe(1)
    }
    expect((await stub(server.url, STRANGER, 0)).status).toBe(500)
    await at('fault-end').click()
    await at('fault-banner').waitFor({ state: 'detached' })
    expect([await now(), (await stub(server.url, STRANGER, 0)).status]).toEqual([null, 200])

    await ask('pocketchain_sponsorFault', { kind: 'refuse', times: 1 })
    await at('fault-banner').filter({ hasText: 'for one more request' }).waitFor()
    await at('fault-none').click()
    await at('fault-banner').waitFor({ state: 'detached' })
    expect(await now()).toBe(null)
  })

  it('marks a low deposit and raises it', async () => {
    const { page, ask } = scene
    const lows = page.locator('[data-testid^="paymaster-"][data-low="true"]')
    expect([await textOf(at('deposit-0.8')), await lows.count()]).toEqual(['100 ETH', 0])
    const { paymasters } = (await ask('pocketchain_sponsorStatus')) as { paymasters: readonly { version: string; address: Hex }[] }
    const address = paymasters.find(({ version }) => version === '0.8')!.address
    // The EntryPoint's first slot is the map of deposits.
    const slot = keccak256(encodeAbiParameters([{ type: 'address' }, { type: 'uint256' }], [address, 0n]))
    await ask('anvil_setStorageAt', entryPoint08Address, slot, encodeAbiParameters([{ type: 'uint256' }], [ETHER / 2n]))
    await ask('evm_mine')
    await lows.waitFor()
    expect(await textOf(at('deposit-0.8'))).toMatch(/low\s+0\.5 ETH/)
    await page.getByRole('button', { name: 'Deposit 10 ETH for the paymaster of EntryPoint 0.8' }).click()
    await lows.waitFor({ state: 'detached' })
    await at('deposit-0.8').filter({ hasText: '10.5 ETH' }).waitFor()
    expect(await textOf(at('paymaster-0.8'))).toMatch(/Paid by\s+0x/)
  })

  it('reports a deposit that the owner cannot pay', async () => {
    const { ask } = scene
    const { owner } = (await ask('pocketchain_sponsorStatus')) as { owner: Hex }
    await ask('anvil_setBalance', owner, '0x1')
    await at('pay-0.7').click()
    await at('paymaster-0.7').getByRole('alert').waitFor()
    expect(await textOf(at('deposit-0.7'))).toBe('100 ETH')
  })

  it('sends one request at a time, each second, and none while hidden', async () => {
    const { page, ask } = scene
    let isHeld = true
    const held: Route[] = []
    const reads: string[] = []
    const count = { open: 0, most: 0 }
    await page.route('**/', async (route) => {
      const sent = route.request().postData() ?? ''
      if (!sent.includes('sponsorStatus')) return route.continue()
      reads.push(sent)
      count.open += 1
      count.most = Math.max(count.most, count.open)
      if (isHeld) return void held.push(route)
      await route.fulfill({ response: await route.fetch() })
      count.open -= 1
    })
    await page.waitForRequest((request) => (request.postData() ?? '').includes('sponsorStatus'))
    // A slow node: two refreshes during a request cause one more request.
    await at('fault-refuse').click()
    await at('fault-slow').click()
    await expect.poll(async () => ((await ask('pocketchain_sponsorStatus')) as { fault: { kind: string } }).fault.kind).toBe('slow')
    expect([reads.length, count.most]).toEqual([1, 1])
    isHeld = false
    for (const route of held) {
      await route.fulfill({ response: await route.fetch() })
      count.open -= 1
    }
    await page.locator('[data-testid="fault-banner"][data-kind="slow"]').waitFor()
    await expect.poll(() => reads.length, { timeout: PATIENCE_MS }).toBeGreaterThan(3)
    expect(count.most).toBe(1)

    await page.evaluate(HIDE)
    await expect.poll(() => count.open).toBe(0)
    const before = reads.length
    await ask('pocketchain_sponsorFault', null)
    await page.evaluate('new Promise((resolve) => setTimeout(resolve, 2500))') // longer than two refresh intervals
    expect(reads.length - before).toBeLessThan(2) // one may have been in flight
    await page.evaluate(SHOW)
    await at('fault-banner').waitFor({ state: 'detached' })
  })

  it('keeps the last known state when the node stops, and marks it', async () => {
    const { node, send } = scene
    await send({ to: FRIEND })
    await entries('settled').waitFor()
    await node.close()
    await at('lost').waitFor()
    expect(await at('connection').getAttribute('data-state')).toBe('lost')
    expect(await entries('settled').count()).toBe(1)
  })

  it('shows external names as text, with control characters named', async () => {
    await reopen({ name: 'Corner\u202EeeffoC <b>', policies: [{ name: '<img src=x onerror=alert(1)>' }] })
    expect(await textOf(at('sponsor-name'))).toBe('Corner⟨U+202E⟩eeffoC <b>')
    expect(await textOf(at('policy'))).toContain('<img src=x onerror=alert(1)>')
    expect(await scene.page.locator('img').count()).toBe(0)
  })

  it('fits the width of a phone', async () => {
    const { page, ask, send } = scene
    const fits = async () => {
      for (const width of [320, 390, 700, 901]) {
        await page.setViewportSize({ width, height: 800 })
        expect(await page.evaluate('document.documentElement.scrollWidth'), `${width}`).toBeLessThanOrEqual(width)
      }
    }
    await at('empty').waitFor()
    await fits()
    await send({ to: WETH, data: TRANSFER }, { to: FRIEND, value: '0x1' })
    await ask('pocketchain_sponsorFault', { kind: 'refuse' })
    await refusedStub(scene, STRANGER, 0)
    await entries('refused').waitFor()
    await entries('settled').getByTestId('details').click()
    await fits()
    await page.setViewportSize({ width: 390, height: 800 })
    // The cards keep the roles of a table.
    expect(await page.getByRole('table', { name: 'Ledger' }).getByRole('row').count()).toBe(4)
    expect(await page.getByRole('columnheader').count()).toBe(7)
  })
})

/** Browsers log failed requests themselves. */
function isOutage(text: string): boolean {
  return text.startsWith('Failed to load resource')
}

function weiText(wei: bigint): string {
  return `${wei.toLocaleString('en')} wei`
}

function etherOf(wei: bigint): string {
  return `0.${String(wei).padStart(18, '0').replace(/0+$/, '')}`
}

async function stub(url: string, sender: string, nonce: number): Promise<Response> {
  const operation = { sender, nonce: `0x${nonce.toString(16)}`, callData: '0x', maxFeePerGas: '0x1', maxPriorityFeePerGas: '0x1' }
  const params = [operation, entryPoint08Address, '0x7a69', {}]
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'pm_getPaymasterStubData', params })
  return fetch(`${url}/paymaster`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
}

async function refusedStub({ server }: Scene, sender: string, nonce: number): Promise<void> {
  const answer = await stub(server.url, sender, nonce)
  expect(await answer.json()).toMatchObject({ error: { data: { reason: 'fault' } } })
}

/** Runs in the page: simulates hiding and showing it. */
const [HIDE, SHOW] = ['hidden', 'visible'].map(
  (state) => `{
  Object.defineProperty(document, 'visibilityState', { configurable: true, value: '${state}' })
  document.dispatchEvent(new Event('visibilitychange'))
}`,
) as [string, string] // of two names
