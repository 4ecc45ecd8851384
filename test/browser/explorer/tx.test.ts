import type { Browser, Route } from 'playwright-core'
import { encodeErrorResult, encodeFunctionData, encodeFunctionResult, parseAbi } from 'viem'
import type { Hex } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { layoutFaults } from '../axe.fixture.ts'
import { NO_BROWSER, startBrowser } from '../browser.fixture.ts'
import { openExplorer } from './explorer.fixture.ts'
import type { Scene } from './explorer.fixture.ts'

// The pages of a transaction and of a user operation.

const WETH = '0x4200000000000000000000000000000000000006'
const CONSOLE = '0x000000000000000000636f6e736f6c652e6c6f67'
/** Reverts with its call data. */
const REVERTER = '0x00000000000000000000000000000000000e0001'
const REVERTER_CODE = '0x365f5f37365ffd'
/** Passes its call data to console.log and to the reverter, and ends in success. */
const CALLER = '0x00000000000000000000000000000000000e0002'
const CALLER_CODE = `0x365f5f375f5f365f73${CONSOLE.slice(2)}5afa505f5f365f5f73${REVERTER.slice(2)}5af15000`
/** Stores the first word of its call data in slot 1. */
const STORE = '0x00000000000000000000000000000000000e0003'
const STORE_CODE = '0x5f3560015500'
const TOKEN = parseAbi(['function transfer(address to, uint256 amount)', 'function deposit() payable'])
const LOG = parseAbi(['function log(string, uint256)'])
const HOSTILE = '<img src=x onerror="document.title=1">\u202Eevil'
const GAS = '0x30d40'

describe.skipIf(NO_BROWSER !== null)(`the page of a transaction${NO_BROWSER === null ? '' : ` (${NO_BROWSER})`}`, () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await startBrowser()
  })
  afterAll(() => browser?.close())

  const staged = (scene: Scene, wanted: string) => scene.page.locator(`[data-testid="tx-stage"][data-stage="${wanted}"]`)
  const step = (scene: Scene, name: string) => scene.page.locator(`[data-testid="step"][data-step="${name}"]`)

  async function withContracts(scene: Scene): Promise<void> {
    for (const [address, code] of [
      [REVERTER, REVERTER_CODE],
      [CALLER, CALLER_CODE],
      [STORE, STORE_CODE],
    ] as const)
      await scene.ask('anvil_setCode', address, code)
  }

  it('of a transfer shows its parties, value, fee and gas', async () => {
    await using scene = await openExplorer(browser)
    const { at, accounts } = scene
    const hash = await scene.send({ value: '0xde0b6b3a7640000' })
    await scene.seal()
    await scene.go(`/tx/${hash}`)
    await staged(scene, 'sealed').waitFor()
    expect((await at('tx-from').innerText()).toLowerCase()).toContain(accounts[0]!.toLowerCase())
    expect((await at('tx-to').innerText()).toLowerCase()).toContain(accounts[1]!.toLowerCase())
    expect(await at('tx-value').innerText()).toBe('1 ETH')
    expect(await at('tx-gas').innerText()).toContain('21,000 of 100,000')
    const receipt = (await scene.ask('eth_getTransactionReceipt', hash)) as { l1Fee: string }
    expect(BigInt(receipt.l1Fee) > 0n).toBe(await at('l1-fee').isVisible())
    expect(await at('tx-type').innerText()).toContain('EIP-1559')
    await scene.page.locator('[data-testid="changed-account"] [data-what="balance"]').first().waitFor()
    expect(scene.broken).toEqual([])
  })

  it('follows a held transaction to its promise, seal and safety in a timeline of milliseconds', async () => {
    await using scene = await openExplorer(browser)
    await scene.ask('pocketchain_hold', scene.accounts[0])
    const hash = await scene.send()
    await scene.go(`/tx/${hash}`)
    await staged(scene, 'pool').waitFor()
    await scene.ask('pocketchain_release')
    await scene.flashblocks()
    await staged(scene, 'promised').waitFor()
    expect(await step(scene, 'promised').innerText()).toMatch(/\+200 ms[^]*flashblock \d of block 1/)
    await scene.seal()
    await staged(scene, 'sealed').waitFor()
    await step(scene, 'sealed').locator('[data-outcome="kept"]').waitFor()
    for (let i = 0; i < 14; i++) await scene.seal()
    await staged(scene, 'finalized').waitFor()
    await step(scene, 'finalized').waitFor()
    expect(scene.broken).toEqual([])
  })

  it('shows a retraction as it happens, and the second promise', async () => {
    await using scene = await openExplorer(browser)
    const hash = await scene.send()
    await scene.flashblocks(2)
    await scene.go(`/tx/${hash}`)
    await staged(scene, 'promised').waitFor()
    await scene.ask('pocketchain_hold', scene.accounts[0])
    await scene.ask('pocketchain_retract', hash)
    await staged(scene, 'retracted').waitFor()
    expect(await step(scene, 'retracted').innerText()).toContain('by retract')
    await scene.ask('pocketchain_release')
    await scene.flashblocks()
    await staged(scene, 'promised').waitFor()
    expect(await step(scene, 'promised').count()).toBe(2)
  })

  it('says what became of a transaction that is gone, and what is unknown or malformed', async () => {
    await using scene = await openExplorer(browser)
    const { at } = scene
    await scene.ask('pocketchain_hold', scene.accounts[0])
    const hash = await scene.send()
    await scene.go(`/tx/${hash}`)
    await staged(scene, 'pool').waitFor()
    await scene.ask('pocketchain_drop', hash)
    await at('unknown').getByText('This transaction is gone').waitFor()
    await step(scene, 'dropped').waitFor()
    await scene.go(`/tx/0x${'12'.repeat(32)}`)
    await at('unknown').getByText('No such transaction').waitFor()
    await scene.go('/tx/0x12%3Cscript%3E')
    expect(await at('bad-input').innerText()).toContain('0x12<script> is not a hash')
    expect(scene.broken).toEqual([])
  })

  it('decodes a call and its logs by well-known selectors', async () => {
    await using scene = await openExplorer(browser)
    const { at, page } = scene
    await scene.send({ to: WETH, value: '0x64', data: encodeFunctionData({ abi: TOKEN, functionName: 'deposit' }) })
    const to = scene.accounts[2] as Hex
    const data = encodeFunctionData({ abi: TOKEN, functionName: 'transfer', args: [to, 42n] })
    const hash = await scene.send({ to: WETH, value: '0x0', data })
    await scene.seal()
    await scene.go(`/tx/${hash}`)
    await page.locator('[data-testid="decoded-call"][data-name="transfer"]').waitFor()
    expect(await at('decoded-call').getByTestId('argument').last().innerText()).toMatch(/amount uint256\s+42/)
    const log = page.locator('[data-testid="logs"] [data-event="Transfer"]')
    await log.waitFor()
    expect(await log.innerText()).toMatch(/WETH[^]*from address[^]*to address[^]*amount uint256\s+42/)
    expect(await page.locator('[data-testid="tx-to"]').innerText()).toContain('WETH')
    expect(scene.broken).toEqual([])
  })

  it('shows inner calls, console.log lines and an inner failure', async () => {
    await using scene = await openExplorer(browser)
    const { at, page } = scene
    await withContracts(scene)
    const data = encodeFunctionData({ abi: LOG, functionName: 'log', args: ['%d bottles, 100%', 99n] })
    const hash = await scene.send({ to: CALLER, data, gas: GAS })
    await scene.seal()
    await scene.go(`/tx/${hash}`)
    expect(await at('console-line').innerText()).toBe('99 bottles, 100%\n')
    await page.locator('[data-testid="call"][data-depth="1"]').nth(1).waitFor()
    expect(await page.locator('[data-testid="call"][data-depth="1"]').count()).toBe(2)
    await page.locator('[data-testid="call"][data-depth="1"].failed').waitFor()
    await page.locator('[data-testid="call"][data-depth="1"].failed .open').click()
    expect(await at('call-details').innerText()).toContain('Gas limit')
    expect(await staged(scene, 'sealed').count()).toBe(1)
  })

  it('explains a revert with a reason, a panic, and a custom error of a registered ABI', async () => {
    await using scene = await openExplorer(browser)
    const { at, page } = scene
    await withContracts(scene)
    const errors = parseAbi(['error Error(string)', 'error Panic(uint256)', 'error TooLate(uint256 deadline, string note)'])
    const fail = (data: Hex) => scene.send({ to: REVERTER, data, gas: GAS })
    const reason = await fail(encodeErrorResult({ abi: errors, errorName: 'Error', args: ['no funds'] }))
    const panic = await fail(encodeErrorResult({ abi: errors, errorName: 'Panic', args: [0x12n] }))
    const custom = await fail(encodeErrorResult({ abi: errors, errorName: 'TooLate', args: [7n, HOSTILE] }))
    await scene.seal()
    await scene.go(`/tx/${reason}`)
    expect(await at('reason').innerText()).toBe('reverted: no funds')
    await scene.go(`/tx/${panic}`)
    expect(await at('reason').innerText()).toBe('panic 0x12: a division by zero')
    await scene.go(`/tx/${custom}`)
    await at('reason').waitFor()
    await page.getByText('Register an ABI for this address').click()
    await at('abi-text').fill('this is no ABI')
    await at('abi-register').click()
    expect(await at('abi-error').innerText()).toMatch(/^A line is not a signature/)
    await at('abi-text').fill('error TooLate(uint256 deadline, string note)\nfunction pay(uint256 amount)')
    await at('abi-register').click()
    await at('reason')
      .getByText(/^TooLate\(7, <img src=x/)
      .waitFor()
    expect(await at('reason').innerText()).toContain('⟨U+202E⟩evil')
    expect(await page.locator('img').count()).toBe(0)
    await page.reload()
    await at('reason')
      .getByText(/^TooLate\(7/)
      .waitFor()
    await page.getByText(/Registered ABI/).click()
    await at('abi-remove').click()
    await page.getByText('Register an ABI for this address').waitFor()
    expect(scene.broken).toEqual([])
  })

  it('renders names of a registered ABI and logged text inert', async () => {
    await using scene = await openExplorer(browser)
    const { at, page } = scene
    await withContracts(scene)
    const data = encodeFunctionData({ abi: LOG, functionName: 'log', args: [HOSTILE, 1n] })
    const hash = await scene.send({ to: CALLER, data, gas: GAS })
    await scene.seal()
    await scene.go(`/tx/${hash}`)
    expect(await at('console-line').innerText()).toContain('<img src=x onerror="document.title=1">⟨U+202E⟩evil 1')
    const name = '<b onclick=alert(1)>'
    await page.evaluate(
      ([address, item]) =>
        (globalThis as unknown as { localStorage: { setItem: (key: string, value: string) => void } }).localStorage.setItem(
          'pocketchain abis',
          JSON.stringify({ [address]: [item] }),
        ),
      [
        CALLER,
        {
          type: 'function',
          name: 'log',
          stateMutability: 'nonpayable',
          outputs: [],
          inputs: [
            { type: 'string', name },
            { type: 'uint256', name: '\u202Ex' },
          ],
        },
      ] as const,
    )
    await page.reload()
    await at('decoded-call').waitFor()
    expect(await at('decoded-call').innerText()).toContain(name)
    expect(await page.locator('main b, main img').count()).toBe(0)
    expect(scene.broken).toEqual([])
  })

  it('shows changed slots before and after', async () => {
    await using scene = await openExplorer(browser)
    const { page } = scene
    await withContracts(scene)
    for (const value of [5, 9]) await scene.send({ to: STORE, data: `0x${value.toString(16).padStart(64, '0')}`, gas: GAS })
    await scene.seal()
    const block = (await scene.ask('eth_getBlockByNumber', '0x1', false)) as { transactions: string[] }
    await scene.go(`/tx/${block.transactions[2]}`)
    const slot = page.locator(`[data-testid="changed-account"][data-address="${STORE}"] [data-what="slot"]`)
    expect(await slot.innerText()).toMatch(/5\s*→\s*9/)
  })

  it('of a deposit and of an authorization names both', async () => {
    await using scene = await openExplorer(browser)
    const { at, page } = scene
    await scene.seal()
    const block = (await scene.ask('eth_getBlockByNumber', '0x1', false)) as { transactions: string[] }
    await scene.go(`/tx/${block.transactions[0]}`)
    expect(await at('tx-type').innerText()).toContain('deposit')
    expect(await at('tx-from').innerText()).toContain('L1 attributes depositor')
    expect(await at('tx-fee').innerText()).toContain('deposits pay on L1')
    expect(await page.getByTestId('tx-to').innerText()).toContain('L1Block')
  })

  it('names the methods that a node lacks, and shows the rest', async () => {
    await using scene = await openExplorer(browser)
    const hash = await scene.send()
    await scene.seal()
    await scene.page.route(`${scene.server.url}/`, lacking(/^(debug|pocketchain|ots)_/))
    await scene.go(`/tx/${hash}`)
    await staged(scene, 'sealed').waitFor()
    await scene.page.locator('[data-testid="missing"][data-method="debug_traceTransaction"]').first().waitFor()
    await scene.page.locator('[data-testid="missing"][data-method="pocketchain_promises"]').waitFor()
    expect(await scene.at('tx-gas').innerText()).toContain('21,000')
    await scene.go('/promises')
    await scene.page.locator('[data-testid="missing"][data-method="pocketchain_promises"]').waitFor()
    expect(scene.broken).toEqual([])
  })

  it('keeps thousands of calls responsive', async () => {
    await using scene = await openExplorer(browser)
    await withContracts(scene)
    // for (i = 3,000; i > 0; i--) call(STORE)
    const loop = `0x610bb85b5f5f5f5f5f73${STORE.slice(2)}5af150600190038060035700`
    await scene.ask('anvil_setCode', CALLER, loop)
    const hash = await scene.send({ to: CALLER, gas: '0x1c9c380' })
    await scene.seal()
    await scene.go(`/tx/${hash}`)
    await scene.at('calls').getByText('3,001, with their gas').waitFor()
    expect(await scene.page.getByTestId('call').count()).toBe(101)
    await scene.at('more-calls').click()
    await scene.page.getByTestId('call').nth(200).waitFor()
  })

  it('of a user operation shows who paid, its call, its bundle, and why it failed', async () => {
    await using scene = await openExplorer(browser, { node: { cadence: 'instant' }, hasManualClock: false })
    await scene.go('/')
    const { node, server, page, at } = scene
    await withContracts(scene)
    const app = node.wallet.provider('http://shop.localhost:3000')
    node.wallet.approvals.setPolicy('approve')
    await app.request({ method: 'eth_requestAccounts', params: [] })
    const capabilities = { paymasterService: { url: server.paymaster?.url } }
    const batch = (calls: readonly object[]) =>
      app.request({
        method: 'wallet_sendCalls',
        params: [{ version: '2.0.0', from: scene.accounts[0], chainId: '0x7a69', atomicRequired: true, calls, capabilities }],
      })
    await batch([
      { to: WETH, value: '0x0', data: encodeFunctionData({ abi: TOKEN, functionName: 'transfer', args: [scene.accounts[2] as Hex, 0n] }) },
    ])
    await page.getByTestId('operation').locator('a').first().click()
    await page.locator('[data-testid="op-stage"]').waitFor()
    expect((await at('op-sender').innerText()).toLowerCase()).toContain(scene.accounts[0]!.toLowerCase())
    await at('op-sponsor').waitFor()
    expect(await at('op-payer').innerText()).toMatch(/^Pocketchain\s+0x/)
    expect(await at('op-cost').innerText()).toMatch(/ETH/)
    await page.locator('[data-testid="logs"] [data-event="Transfer"]').waitFor()
    await at('bundle').getByRole('link').first().click()
    await page.locator('[data-testid="decoded-call"][data-name="handleOps"]').waitFor()
    await scene.go(`/op/0x${'12'.repeat(32)}`)
    await at('unknown').waitFor()
    await scene.go('/op/nonsense')
    await at('bad-input').waitFor()
    expect(scene.broken).toEqual([])
  })

  it('is accessible and fits each width', async () => {
    await using scene = await openExplorer(browser)
    await withContracts(scene)
    const data = encodeFunctionData({ abi: LOG, functionName: 'log', args: ['%d bottles', 99n] })
    const inner = await scene.send({ to: CALLER, data, gas: GAS })
    const failed = await scene.send({
      to: REVERTER,
      data: encodeFunctionResult({ abi: parseAbi(['function f() returns (uint256)']), result: 1n }),
      gas: GAS,
    })
    await scene.seal()
    const { transactions } = (await scene.ask('eth_getBlockByNumber', '0x1', false)) as { transactions: string[] }
    for (const path of [inner, failed, transactions[0]]) {
      await scene.go(`/tx/${path}`)
      await scene.at('call-tree').waitFor()
      await scene.at('state-diff').waitFor()
      expect(await layoutFaults(scene.page), path).toEqual([])
    }
    expect(scene.broken).toEqual([])
  })
})

/** Answers calls of these methods as a node that does not have them. */
function lacking(methods: RegExp): (route: Route) => Promise<void> {
  return async (route) => {
    const body: unknown = JSON.parse(route.request().postData() ?? 'null')
    if (!Array.isArray(body)) return route.continue()
    const calls = body as readonly { id: number; method: string }[] // the explorer sends batches
    const isMissing = ({ method }: { method: string }) => methods.test(method)
    const response = await route.fetch({ postData: JSON.stringify(calls.filter((call) => !isMissing(call))) })
    const answers = (await response.json()) as readonly object[]
    const errors = calls.filter(isMissing).map(({ id, method }) => ({
      jsonrpc: '2.0',
      id,
      error: { code: -32601, message: `the method ${method} does not exist/is not available` },
    }))
    await route.fulfill({ response, json: [...(Array.isArray(answers) ? answers : []), ...errors] })
  }
}
