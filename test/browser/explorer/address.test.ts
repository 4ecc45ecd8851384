import type { Browser } from 'playwright-core'
import { encodeFunctionData, encodeFunctionResult, parseAbi } from 'viem'
import type { Hex } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { layoutFaults } from '../axe.fixture.ts'
import { NO_BROWSER, startBrowser } from '../browser.fixture.ts'
import { openExplorer } from './explorer.fixture.ts'
import type { Scene } from './explorer.fixture.ts'

// The page of an address: account, contract, token, and the form that reads and writes by an ABI.

const WETH = '0x4200000000000000000000000000000000000006'
const TOKEN = parseAbi([
  'function transfer(address to, uint256 amount)',
  'function deposit() payable',
  'function symbol() returns (string)',
])
const ABI = [
  'function balanceOf(address account) view returns (uint256 balance)',
  'function symbol() view returns (string)',
  'function deposit() payable',
  'function transfer(address to, uint256 amount) returns (bool)',
].join('\n')
const PROXY = '0x00000000000000000000000000000000000e0010'
const SLOT = '0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc'
const STORE = '0x00000000000000000000000000000000000e0003'
const HOSTILE = '<b>\u202EHTE</b>'

describe.skipIf(NO_BROWSER !== null)(`the page of an address${NO_BROWSER === null ? '' : ` (${NO_BROWSER})`}`, () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await startBrowser()
  })
  afterAll(() => browser?.close())

  const fn = (scene: Scene, name: string) => scene.page.locator(`[data-testid="function"][data-name="${name}"]`)

  async function withWeth(scene: Scene): Promise<void> {
    await scene.send({ to: WETH, value: '0x64', data: encodeFunctionData({ abi: TOKEN, functionName: 'deposit' }) })
    const to = scene.accounts[2] as Hex
    await scene.send({ to: WETH, value: '0x0', data: encodeFunctionData({ abi: TOKEN, functionName: 'transfer', args: [to, 42n] }) })
    await scene.seal()
  }

  async function register(scene: Scene): Promise<void> {
    await scene.page.getByText('Register an ABI for this address').click()
    await scene.at('abi-text').fill(ABI)
    await scene.at('abi-register').click()
    await fn(scene, 'balanceOf').waitFor()
  }

  it('shows the balance with promises, the nonce and the transactions of an account', async () => {
    await using scene = await openExplorer(browser)
    const { at, accounts } = scene
    await scene.go(`/address/${accounts[1]}`)
    await at('no-history').waitFor()
    const hash = await scene.send({ value: '0xde0b6b3a7640000' })
    await scene.flashblocks(2)
    expect(await at('pending-balance').innerText()).toContain('10,001 ETH')
    await scene.seal()
    await scene.page.locator(`[data-testid="transaction"][data-hash="${hash}"]`).waitFor()
    expect(await at('balance').innerText()).toBe('10,001 ETH')
    expect(await at('nonce').innerText()).toBe('0')
    expect(await at('address-title').innerText()).toBe('Account')
    expect(scene.broken).toEqual([])
  })

  it('pages through the transactions of an address', async () => {
    await using scene = await openExplorer(browser)
    const { at, page } = scene
    for (let block = 0; block < 3; block++) {
      for (let i = 0; i < 20; i++) await scene.send()
      await scene.seal()
    }
    await scene.go(`/address/${scene.accounts[0]}`)
    await at('transaction').first().waitFor()
    const newest = await at('transaction').first().getAttribute('data-hash')
    await at('older').click()
    await at('history').getByText('page 2').waitFor()
    await page.locator(`[data-testid="transaction"][data-hash="${newest}"]`).waitFor({ state: 'detached' })
    await at('newer').click()
    await page.locator(`[data-testid="transaction"][data-hash="${newest}"]`).waitFor()
    expect(scene.broken).toEqual([])
  })

  it('lists tokens, and renders the symbol of a hostile one inert', async () => {
    await using scene = await openExplorer(browser)
    await withWeth(scene)
    // A token that answers each call with the hostile symbol; its first word, 32, is the balance.
    const answer = encodeFunctionResult({ abi: TOKEN, functionName: 'symbol', result: HOSTILE })
    const size = (answer.length - 2) / 2
    const hostile = '0x00000000000000000000000000000000000e0020'
    const account = scene.accounts[2]!.slice(2).toLowerCase().padStart(64, '0')
    const log = `7f${account}5f7fddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef5f5fa3`
    // A call without data logs; a call with data answers.
    const replyAt = 4 + log.length / 2 + 1
    const byte = (value: number) => value.toString(16).padStart(2, '0')
    const reply = `5b60${byte(size)}60${byte(replyAt + 11)}5f3960${byte(size)}5ff3`
    await scene.ask('anvil_setCode', hostile, `0x3660${byte(replyAt)}57${log}00${reply}${answer.slice(2)}`)
    await scene.send({ to: hostile, value: '0x0' })
    await scene.seal()
    await scene.go(`/address/${scene.accounts[2]}`)
    const weth = scene.page.locator(`[data-testid="token"][data-address="${WETH}"]`)
    await weth.waitFor()
    expect(await weth.innerText()).toMatch(/WETH\s+WETH\s+0/)
    const token = scene.page.locator(`[data-testid="token"][data-address="${hostile}"]`)
    expect(await token.innerText()).toContain('<b>\\u{202e}HTE</b>')
    expect(await scene.page.locator('main b').count()).toBe(0)
    expect(scene.broken).toEqual([])
  })

  it('reads a contract by its ABI, and explains wrong inputs', async () => {
    await using scene = await openExplorer(browser)
    await withWeth(scene)
    await scene.go(`/address/${WETH}`)
    await register(scene)
    const balance = fn(scene, 'balanceOf')
    await balance.locator('summary').click()
    await balance.getByTestId('input-0').fill('0x12')
    await balance.getByTestId('submit').click()
    expect(await balance.getByTestId('outcome-error').innerText()).toBe('account: expected an address, 0x and 40 hexadecimal digits.')
    await balance.getByTestId('input-0').fill(scene.accounts[2]!)
    await balance.getByTestId('submit').click()
    expect(await balance.getByTestId('outcome-values').innerText()).toMatch(/balance uint256\s+42/)
    const transfer = fn(scene, 'transfer')
    await transfer.locator('summary').click()
    await transfer.getByTestId('input-0').fill(scene.accounts[2]!)
    await transfer.getByTestId('input-1').fill('-1')
    await transfer.getByTestId('submit').click()
    expect(await transfer.getByTestId('outcome-error').innerText()).toBe('amount: -1 is out of the range of uint256.')
    expect(scene.broken).toEqual([])
  })

  it('writes through the wallet, which asks for approval on its own page', async () => {
    await using scene = await openExplorer(browser)
    const { page, node } = scene
    await scene.go(`/address/${WETH}`)
    await register(scene)
    const deposit = fn(scene, 'deposit')
    await deposit.locator('summary').click()
    await deposit.getByTestId('value').fill('0.5')
    await deposit.getByTestId('submit').click()
    await deposit.getByTestId('outcome-waiting').waitFor()
    await expect.poll(() => node.wallet.approvals.pending.map(({ kind }) => kind)).toEqual(['connect'])
    const [connect] = node.wallet.approvals.pending
    expect(connect?.origin).toBe(scene.server.url)
    node.wallet.approvals.approve(connect!.id)
    await expect.poll(() => node.wallet.approvals.pending.length).toBe(1)
    node.wallet.approvals.approve(node.wallet.approvals.pending[0]!.id)
    const link = deposit.getByTestId('outcome-sent').locator('a')
    await link.waitFor()
    await scene.seal()
    await link.click()
    await page.locator('[data-testid="decoded-call"][data-name="deposit"]').waitFor()
    expect(await scene.at('tx-value').innerText()).toBe('0.5 ETH')

    await scene.go(`/address/${WETH}`)
    await deposit.locator('summary').click()
    await deposit.getByTestId('submit').click()
    await expect.poll(() => node.wallet.approvals.pending.length).toBe(1)
    node.wallet.approvals.reject(node.wallet.approvals.pending[0]!.id)
    expect(await deposit.getByTestId('outcome-error').innerText()).toMatch(/reject|denied/i)
    expect(scene.broken).toEqual([])
  })

  it('reads storage and shows the code', async () => {
    await using scene = await openExplorer(browser)
    const { at } = scene
    await scene.ask('anvil_setCode', STORE, '0x5f3560015500')
    await scene.ask('anvil_setStorageAt', STORE, '0x1', `0x${'7'.padStart(64, '0')}`)
    await scene.go(`/address/${STORE}`)
    await at('slot').fill('1')
    await at('read-slot').click()
    await at('slot-value')
      .getByText(`0x${'7'.padStart(64, '0')}`)
      .first()
      .waitFor()
    await at('slot').fill('one')
    await at('read-slot').click()
    await at('slot-error').getByText('A slot is a number').waitFor()
    expect(await at('code').innerText()).toContain('6 bytes')
    expect(await at('creator').innerText()).toBe('with the genesis, or set by a test')
  })

  it('names the target of a proxy and the delegate of an account', async () => {
    await using scene = await openExplorer(browser)
    const { at } = scene
    await scene.ask('anvil_setCode', PROXY, '0x00')
    await scene.ask('anvil_setStorageAt', PROXY, SLOT, `0x${WETH.slice(2).padStart(64, '0')}`)
    await scene.go(`/address/${PROXY}`)
    expect(await at('target').innerText()).toMatch(/WETH[^]*EIP-1967 proxy/)
    expect(await at('address-title').innerText()).toBe('Proxy')
    await scene.ask('anvil_setCode', scene.accounts[3], `0xef0100${WETH.slice(2)}`)
    await scene.go(`/address/${scene.accounts[3]}`)
    expect(await at('target').innerText()).toMatch(/WETH[^]*EIP-7702 delegate/)
    expect(await at('address-title').innerText()).toBe('Delegated account')
  })

  it('says what is malformed', async () => {
    await using scene = await openExplorer(browser)
    await scene.go('/address/0x12%22%3E')
    expect(await scene.at('bad-input').innerText()).toContain('0x12"> is not an address')
  })

  it('is accessible and fits each width', async () => {
    await using scene = await openExplorer(browser)
    await withWeth(scene)
    await scene.go(`/address/${WETH}`)
    await register(scene)
    await fn(scene, 'transfer').locator('summary').click()
    expect(await layoutFaults(scene.page)).toEqual([])
    await scene.go(`/address/${scene.accounts[0]}`)
    await scene.at('transaction').first().waitFor()
    expect(await layoutFaults(scene.page)).toEqual([])
    expect(scene.broken).toEqual([])
  })
})
