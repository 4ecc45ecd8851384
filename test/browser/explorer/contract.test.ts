import type { Browser, Route } from 'playwright-core'
import {
  concatHex,
  encodeAbiParameters,
  encodeFunctionData,
  encodeFunctionResult,
  keccak256,
  parseAbi,
  parseEther,
  stringToHex,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { axeViolations } from '../axe.fixture.ts'
import { NO_BROWSER, startBrowser } from '../browser.fixture.ts'
import { openExplorer, overflow } from './explorer.fixture.ts'
import type { Scene } from './explorer.fixture.ts'

// Contracts, proxies, delegated accounts and their histories on the page of an address.

const WETH = '0x4200000000000000000000000000000000000006'
const IMPLEMENTATION_SLOT = '0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc'
const BEACON_SLOT = '0xa3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50'
const CLONE = '0x00000000000000000000000000000000000e0030'
const PROXY = '0x00000000000000000000000000000000000e0031'
const BEACON = '0x00000000000000000000000000000000000e0032'
const EMITTER = '0x00000000000000000000000000000000000e0033'
/** Emits a log without topics for each call. */
const EMITTER_CODE = '0x5f5fa0'
const HOSTILE = '<img src=x onerror="document.title=1">\u202Eevil'
/** Of the last account of the node's mnemonic. */
const STRANGER = privateKeyToAccount('0x2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6')
const ABI = parseAbi(['function deposit() payable', 'function balanceOf(address account) view returns (uint256)'])

describe.skipIf(NO_BROWSER !== null)(`the page of a contract${NO_BROWSER === null ? '' : ` (${NO_BROWSER})`}`, () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await startBrowser()
  })
  afterAll(() => browser?.close())

  const fn = (scene: Scene, name: string) => scene.page.locator(`[data-testid="function"][data-name="${name}"]`)
  const deposit = (scene: Scene, wei = '0x64') =>
    scene.send({ to: WETH, value: wei, data: encodeFunctionData({ abi: ABI, functionName: 'deposit' }) })

  async function register(scene: Scene, abi: string): Promise<void> {
    await scene.page.getByText('Register an ABI for this address').click()
    await scene.at('abi-text').fill(abi)
    await scene.at('abi-register').click()
    await scene.page.getByText(/^Registered ABI/).waitFor()
  }

  it('offers the well-known functions in its code, and reads with promises', async () => {
    await using scene = await openExplorer(browser)
    await deposit(scene)
    await scene.flashblocks()
    await scene.go(`/address/${WETH}`)
    await fn(scene, 'symbol').locator('summary').click()
    await fn(scene, 'symbol').getByTestId('submit').click()
    expect(await fn(scene, 'symbol').getByTestId('outcome-values').innerText()).toContain('“WETH”')
    const balance = fn(scene, 'balanceOf')
    expect(await balance.locator('summary').innerText()).toContain('well-known')
    await balance.locator('summary').click()
    await balance.getByTestId('input-0').fill(scene.accounts[0]!)
    await balance.getByTestId('submit').click()
    expect(await balance.getByTestId('outcome-values').innerText()).toMatch(/\s100$/)
    expect(await fn(scene, 'ownerOf').count()).toBe(0)
    expect(scene.broken).toEqual([])
  })

  it('writes after the person approves in a second page, and shows a rejection in place', async () => {
    await using scene = await openExplorer(browser)
    const { page, node, context, server } = scene
    const wallet = await context.newPage()
    await wallet.goto(server.wallet!.link()) // the fixture starts it with a wallet
    await scene.go(`/address/${WETH}`)
    const form = fn(scene, 'deposit')
    await form.locator('summary').click()
    await form.getByTestId('value').fill('-1')
    await form.getByTestId('submit').click()
    expect(await form.getByTestId('outcome-error').innerText()).toBe('value: expected an amount of ETH such as 0.5.')
    await form.getByTestId('value').fill('0.25')
    await form.getByTestId('submit').click()
    await form.getByTestId('outcome-waiting').waitFor()
    expect(await form.getByTestId('submit').isDisabled()).toBe(true)
    const question = (kind: string) => wallet.locator(`[data-testid="approval"][data-kind="${kind}"]`)
    for (const kind of ['connect', 'send']) {
      await question(kind).waitFor()
      expect(await question(kind).getByTestId('origin').innerText()).toContain(new URL(server.url).host)
      await expect.poll(() => question(kind).getByTestId('approve').isEnabled()).toBe(true)
      await question(kind).getByTestId('approve').click()
    }
    await form.getByTestId('outcome-sent').locator('a').waitFor()
    await scene.seal()
    expect(await node.request({ method: 'eth_getBalance', params: [WETH, 'latest'] })).toBe(`0x${parseEther('0.25').toString(16)}`)

    await form.getByTestId('submit').click()
    await question('send').waitFor()
    await expect.poll(() => question('send').getByTestId('reject').isEnabled()).toBe(true)
    await question('send').getByTestId('reject').click()
    await form.getByTestId('outcome-error').waitFor()
    expect(await form.getByTestId('outcome-error').innerText()).toMatch(/reject|denied/i)
    await scene.seal()
    expect(await node.request({ method: 'eth_getBalance', params: [WETH, 'latest'] })).toBe(`0x${parseEther('0.25').toString(16)}`)
    expect(await page.title()).toContain('address')
    expect(scene.broken).toEqual([])
  })

  it('shows the reason of a read that reverts, decoded by the ABI of the code behind a proxy', async () => {
    await using scene = await openExplorer(browser)
    const data = encodeAbiParameters([{ type: 'uint256' }], [7n]).slice(2)
    const selector = keccak256(stringToHex('Short(uint256)')).slice(2, 10)
    // Reverts with the error: stores selector and argument, and returns 36 bytes from byte 28.
    await scene.ask('anvil_setCode', EMITTER, `0x63${selector}5f527f${data}6020526024601cfd`)
    await scene.ask('anvil_setCode', CLONE, `0x363d3d373d3d3d363d73${EMITTER.slice(2)}5af43d82803e903d91602b57fd5bf3`)
    await scene.go(`/address/${EMITTER}`)
    await register(scene, 'function need() view returns (uint256)\nerror Short(uint256 need)')
    await scene.go(`/address/${CLONE}`)
    expect(await scene.at('target').innerText()).toContain('EIP-1167 clone')
    await fn(scene, 'need').locator('summary').click()
    await fn(scene, 'need').getByTestId('submit').click()
    expect(await fn(scene, 'need').getByTestId('outcome-error').innerText()).toBe('Short(7)')
  })

  it('names the code behind a beacon proxy, and a target that is no address is none', async () => {
    await using scene = await openExplorer(browser)
    await scene.ask('anvil_setCode', PROXY, '0x00')
    await scene.ask('anvil_setCode', BEACON, `0x73${WETH.slice(2)}5f5260205ff3`)
    await scene.ask('anvil_setStorageAt', PROXY, BEACON_SLOT, `0x${BEACON.slice(2).padStart(64, '0')}`)
    await scene.go(`/address/${PROXY}`)
    expect(await scene.at('target').innerText()).toMatch(/WETH[^]*EIP-1967 beacon proxy/)
    await fn(scene, 'symbol').waitFor()
    await scene.ask('anvil_setStorageAt', PROXY, BEACON_SLOT, `0x${'0'.repeat(64)}`)
    await scene.ask('anvil_setStorageAt', PROXY, IMPLEMENTATION_SLOT, `0x${'f'.repeat(64)}`)
    await scene.go(`/address/${PROXY}`)
    expect(await scene.at('address-title').innerText()).toBe('Contract')
    expect(await scene.at('target').count()).toBe(0)
  })

  it('shows an account that signed a delegation, as soon as it is promised', async () => {
    await using scene = await openExplorer(browser)
    const { accounts, at } = scene
    await scene.go(`/address/${STRANGER.address}`)
    expect(await at('address-title').innerText()).toBe('Account')
    const { r, s, yParity, nonce } = await STRANGER.signAuthorization({ contractAddress: WETH, chainId: 31_337, nonce: 0 })
    const hex = (value: number) => `0x${value.toString(16)}`
    const authorizationList = [{ address: WETH, chainId: hex(31_337), nonce: hex(nonce), yParity: hex(yParity ?? 0), r, s }]
    await scene.send({ to: accounts[1], authorizationList, type: '0x4' })
    await scene.flashblocks(2)
    await at('target').waitFor()
    expect(await at('target').innerText()).toMatch(/WETH[^]*EIP-7702 delegate/)
    expect(await at('address-title').innerText()).toBe('Delegated account')
    expect(await at('nonce').innerText()).toBe('1')
    expect(scene.broken).toEqual([])
  })

  it('names its creator and the transaction that created it', async () => {
    await using scene = await openExplorer(browser)
    const { at, accounts } = scene
    const creation = await scene.send({ to: undefined, value: '0x0', data: '0x6003600c60003960036000f35f5fa000' })
    await scene.seal()
    const receipt = (await scene.ask('eth_getTransactionReceipt', creation)) as { readonly contractAddress: string }
    await scene.go(`/address/${receipt.contractAddress}`)
    await at('creator').locator(`a[href="/tx/${creation}"]`).waitFor()
    expect((await at('creator').locator('a').first().getAttribute('title'))?.toLowerCase()).toBe(accounts[0]!.toLowerCase())
    expect(scene.broken).toEqual([])
  })

  it('says in one sentence each that an address has no history', async () => {
    await using scene = await openExplorer(browser)
    await scene.go(`/address/0x${'ab'.repeat(20)}`)
    expect(await scene.at('no-history').innerText()).toBe('No sealed transaction names this address.')
    expect(await scene.at('balance').innerText()).toBe('0 ETH')
    for (const id of ['contract', 'tokens', 'address-logs', 'address-operations', 'storage', 'code'])
      expect(await scene.at(id).count(), id).toBe(0)
    expect(scene.broken).toEqual([])
  })

  it('pages through logs, from the newest to a first one far back', async () => {
    await using scene = await openExplorer(browser)
    const { at, page } = scene
    await scene.ask('anvil_setCode', EMITTER, EMITTER_CODE)
    const first = await scene.send({ to: EMITTER })
    await scene.seal()
    await scene.ask('anvil_mine', '0x3e8')
    for (let i = 0; i < 30; i++) await scene.send({ to: EMITTER })
    await scene.seal()
    await scene.go(`/address/${EMITTER}`)
    await at('log').first().waitFor()
    expect(await at('log').count()).toBe(25)
    await at('older-logs').click()
    await page.locator(`[data-testid="log"] a[href="/tx/${first}"]`).waitFor()
    expect(await at('log').count()).toBe(6)
    expect(await at('older-logs').isDisabled()).toBe(true)
    await at('newer-logs').click()
    await at('address-logs').getByText('the newest').waitFor()
    expect(await at('log').count()).toBe(25)
    expect(scene.broken).toEqual([])
  })

  it('lists more than a page of tokens, and adds one that arrives', async () => {
    await using scene = await openExplorer(browser)
    const { at, page } = scene
    const holder = scene.accounts[4]!.slice(2).toLowerCase().padStart(64, '0')
    const answer = encodeFunctionResult({ abi: ABI, functionName: 'balanceOf', result: 9n }).slice(2)
    const log = `7f${holder}5f7fddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef5f5fa3`
    const replyAt = (4 + log.length / 2 + 1).toString(16).padStart(2, '0')
    const token = (i: number) => `0x${(0xe1000 + i).toString(16).padStart(40, '0')}`
    const code = `0x3660${replyAt}57${log}005b7f${answer}5f5260205ff3`
    const transfer = async (i: number) => {
      await scene.ask('anvil_setCode', token(i), code)
      await scene.send({ to: token(i), value: '0x0' })
    }
    for (let i = 0; i < 27; i++) await transfer(i)
    await scene.seal()
    await scene.go(`/address/${scene.accounts[4]}`)
    await at('token').first().waitFor()
    expect(await at('token').count()).toBe(25)
    await at('tokens').getByTestId('next').click()
    await page.locator(`[data-testid="token"][data-address="${token(0)}"]`).waitFor()
    expect(await at('token').count()).toBe(2)
    await at('tokens').getByTestId('previous').click()
    await page.locator(`[data-testid="token"][data-address="${token(26)}"]`).waitFor()
    await transfer(27)
    await scene.seal()
    await page.locator(`[data-testid="token"][data-address="${token(27)}"]`).waitFor()
    expect(scene.broken).toEqual([])
  })

  it('reads the slot of a mapping by its key', async () => {
    await using scene = await openExplorer(browser)
    const { at, accounts } = scene
    const slot = keccak256(concatHex([`0x${accounts[0]!.slice(2).padStart(64, '0')}`, `0x${'3'.padStart(64, '0')}`]))
    await deposit(scene)
    await scene.seal()
    await scene.go(`/address/${WETH}`)
    await at('slot').fill('3')
    await at('slot-keys').fill(accounts[0]!)
    await at('read-slot').click()
    await at('slot-value').waitFor()
    expect(await at('slot-value').innerText()).toContain(slot.slice(0, 6))
    expect(await at('slot-value').innerText()).toMatch(/as a number\s+100/)
    await at('slot-keys').fill('owner')
    await at('read-slot').click()
    await at('slot-error').getByText('The key owner is not').waitFor()
    expect(scene.broken).toEqual([])
  })

  it('lists user operations of their sender and of their sponsor', async () => {
    await using scene = await openExplorer(browser, { node: { sponsor: {} } })
    const { node, server, accounts, at, page } = scene
    const app = node.wallet.provider('http://shop.localhost:3000')
    node.wallet.approvals.setPolicy('approve')
    await app.request({ method: 'eth_requestAccounts', params: [] })
    const capabilities = { paymasterService: { url: server.paymaster?.url } }
    const calls = [{ to: accounts[1], value: '0x1' }]
    const batch = { version: '2.0.0', from: accounts[0], chainId: '0x7a69', atomicRequired: true, calls, capabilities }
    const { id } = (await app.request({ method: 'wallet_sendCalls', params: [batch] })) as { readonly id: string }
    expect(id).toMatch(/^0x/)
    const status = async () =>
      ((await app.request({ method: 'wallet_getCallsStatus', params: [id] })) as { readonly status: number }).status
    // A busy bundler may send it after several blocks.
    do await scene.seal()
    while ((await status()) !== 200)
    await scene.go(`/address/${accounts[0]}`)
    await at('operation').waitFor()
    const sponsor = at('operation').locator('td[data-label="Paid by"] a')
    const hash = await at('operation').getAttribute('data-hash')
    await sponsor.click()
    await page.getByTestId('contract').waitFor()
    await page.locator(`[data-testid="operation"][data-hash="${hash}"]`).waitFor()
    expect(scene.broken).toEqual([])
  })

  it('renders names of a hostile ABI as text', async () => {
    await using scene = await openExplorer(browser, { width: 390 })
    const { page } = scene
    await scene.go(`/address/${WETH}`)
    const item = { type: 'function', name: HOSTILE, stateMutability: 'view' }
    const inputs = [{ name: HOSTILE, type: 'uint256' }]
    await register(scene, JSON.stringify([{ ...item, inputs, outputs: inputs }]))
    const form = page.locator('[data-testid="function"]').filter({ hasText: '<img' })
    await form.locator('summary').click()
    await form.getByTestId('submit').click()
    expect(await form.getByTestId('outcome-error').innerText()).toContain(
      '<img src=x onerror="document.title=1">⟨U+202E⟩evil: expected a whole number.',
    )
    expect(await page.locator('main img').count()).toBe(0)
    expect(await page.title()).not.toBe('1')
    expect(await overflow(page)).toBe(0)
    expect(await axeViolations(page)).toEqual([])
    expect(scene.broken).toEqual([])
  })

  it('works with a node that refuses the pending block', async () => {
    await using scene = await openExplorer(browser)
    const { at, page, server } = scene
    await deposit(scene)
    await scene.seal()
    await page.route(`${server.url}/`, async (route: Route) => {
      if (route.request().method() !== 'POST') return route.fallback()
      const response = await route.fetch()
      const calls = route.request().postDataJSON() as readonly { readonly id: number; readonly params: readonly unknown[] }[]
      const refused = new Set(calls.filter(({ params }) => params.includes('pending')).map(({ id }) => id))
      const replies = (await response.json()) as readonly { readonly id: number }[]
      const error = { code: -32_000, message: 'pending state is not available' }
      await route.fulfill({
        response,
        json: replies.map((reply) => (refused.has(reply.id) ? { jsonrpc: '2.0', id: reply.id, error } : reply)),
      })
    })
    await scene.go(`/address/${WETH}`)
    expect(await at('balance').innerText()).toBe('0.0000000000000001 ETH')
    expect(await at('nonce').innerText()).toMatch(/^\d+$/)
    const symbol = fn(scene, 'symbol')
    await symbol.locator('summary').click()
    await symbol.getByTestId('submit').click()
    expect(await symbol.getByTestId('outcome-values').innerText()).toContain('“WETH”')
  })
})
