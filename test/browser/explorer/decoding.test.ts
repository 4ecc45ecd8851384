import type { Browser } from 'playwright-core'
import { encodeErrorResult, encodeFunctionData, encodePacked, numberToHex, parseAbi, zeroHash } from 'viem'
import type { Hex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { compiled } from '../../apps.fixture.ts'
import { layoutFaults } from '../axe.fixture.ts'
import { NO_BROWSER, startBrowser } from '../browser.fixture.ts'
import { openExplorer } from './explorer.fixture.ts'
import type { Scene } from './explorer.fixture.ts'
import { ACCEPTING_ACCOUNT, FAILING_ACCOUNT, openAccount, sendOperation } from './operations.fixture.ts'

// The explorer decodes in transactions and user operations: batches, token movements, creations, delegations, failures of inner calls.

const WETH = '0x4200000000000000000000000000000000000006'
const MULTICALL = '0xcA11bde05977b3631167028862bE2a173976CA11'
const CREATE2 = '0x4e59b44847b379578588920ca78fbf26c0b4956c'
const TOKEN = parseAbi(['function transfer(address to, uint256 amount)', 'function deposit() payable'])
const BATCHES = parseAbi([
  'function aggregate3Value((address target, bool allowFailure, uint256 value, bytes callData)[] calls) payable',
  'function executeBatch((address target, uint256 value, bytes data)[] calls)',
])
const SCENE = parseAbi([
  'function mint(address to, uint256 value)',
  'function move(address to)',
  'function tillAddress() view returns (address)',
  'function buy(uint256 price) view',
])
const HOSTILE = '<img src=x onerror="document.title=1">\u202Eevil'
const GAS = '0x4c4b40'

describe.skipIf(NO_BROWSER !== null)(`the explorer decodes${NO_BROWSER === null ? '' : ` (${NO_BROWSER})`}`, () => {
  let browser: Browser
  let code: Readonly<Record<string, Hex>>
  beforeAll(async () => {
    browser = await startBrowser()
    code = compiled(import.meta.dirname, 'Scene.sol')
  })
  afterAll(() => browser?.close())

  const staged = (scene: Scene, wanted: string) => scene.page.locator(`[data-testid="tx-stage"][data-stage="${wanted}"]`)

  async function deploy(scene: Scene, name: string): Promise<Hex> {
    const hash = await scene.send({ to: undefined, value: '0x0', data: code[name], gas: GAS })
    await scene.seal()
    const { contractAddress } = (await scene.ask('eth_getTransactionReceipt', hash)) as { contractAddress: Hex }
    return contractAddress
  }

  it('the calls of a batch, with their value', async () => {
    await using scene = await openExplorer(browser)
    const { at, page } = scene
    const to = scene.accounts[2] as Hex
    const deposit = encodeFunctionData({ abi: TOKEN, functionName: 'deposit' })
    const transfer = encodeFunctionData({ abi: TOKEN, functionName: 'transfer', args: [to, 42n] })
    const data = encodeFunctionData({
      abi: BATCHES,
      functionName: 'aggregate3Value',
      args: [
        [
          { target: WETH, allowFailure: false, value: 1_000_000_000n, callData: deposit },
          { target: WETH, allowFailure: false, value: 0n, callData: transfer },
        ],
      ],
    })
    const hash = await scene.send({ to: MULTICALL, value: numberToHex(1_000_000_000n), data, gas: GAS })
    await scene.seal()
    await scene.go(`/tx/${hash}`)
    await page.locator('[data-testid="decoded-call"][data-name="aggregate3Value"]').waitFor()
    expect(await at('inner-call').count()).toBe(2)
    expect(await at('inner-call').first().innerText()).toMatch(/^0\s+WETH\s+0\.000000001 ETH\s+deposit\(\)/)
    expect(await at('inner-call').last().getByTestId('argument').last().innerText()).toMatch(/amount uint256\s+42/)
    // The same calls are in the trace.
    await page.locator('[data-testid="call"][data-depth="1"]').nth(1).waitFor()
    expect(scene.broken).toEqual([])
  })

  it('movements of tokens with symbol and decimals, whatever the symbol is', async () => {
    await using scene = await openExplorer(browser)
    const { at, page } = scene
    const to = scene.accounts[2] as Hex
    await scene.send({ to: WETH, value: '0xde0b6b3a7640000', data: encodeFunctionData({ abi: TOKEN, functionName: 'deposit' }) })
    const weth = await scene.send({
      to: WETH,
      value: '0x0',
      data: encodeFunctionData({ abi: TOKEN, functionName: 'transfer', args: [to, 250_000_000_000_000_000n] }),
    })
    const [coin, tickets] = [await deploy(scene, 'Coin'), await deploy(scene, 'Tickets')]
    const minted = await scene.send({
      to: coin,
      value: '0x0',
      data: encodeFunctionData({ abi: SCENE, functionName: 'mint', args: [to, 12_345n] }),
    })
    const moved = await scene.send({
      to: tickets,
      value: '0x0',
      data: encodeFunctionData({ abi: SCENE, functionName: 'move', args: [to] }),
    })
    await scene.seal()
    await scene.go(`/tx/${weth}`)
    await at('transfer').getByText('0.25', { exact: true }).waitFor()
    expect(await at('transfer').innerText()).toMatch(/0x3C44…93BC\s+0\.25\s+WETH$/)
    await scene.go(`/tx/${minted}`)
    await at('transfer').getByText('<b>EVIL</b>\\u{202e}').waitFor()
    expect(await at('transfer').innerText()).toMatch(/^minted[^]*123\.45/)
    expect(await page.locator('main b').count()).toBe(0)
    await scene.go(`/tx/${moved}`)
    await at('transfer').nth(2).waitFor()
    expect((await at('transfer').allInnerTexts()).map((text) => /(\d+ )?#\d+/.exec(text.replaceAll(/\s+/g, ' '))?.[0])).toEqual([
      '#77',
      '50 #5',
      '60 #6',
    ])
    await page.locator('[data-testid="logs"] [data-event="Transfer"]').getByText('tokenId').first().waitFor()
    expect(scene.broken).toEqual([])
  })

  it('a creation, and one by the CREATE2 deployer', async () => {
    await using scene = await openExplorer(browser)
    const { at, page } = scene
    const created = await scene.send({ to: undefined, value: '0x0', data: code['Coin'], gas: GAS })
    const deployed = await scene.send({
      to: CREATE2,
      value: '0x0',
      data: encodePacked(['bytes32', 'bytes'], [zeroHash, code['Coin']!]),
      gas: GAS,
    })
    await scene.seal()
    await scene.go(`/tx/${created}`)
    const { contractAddress } = (await scene.ask('eth_getTransactionReceipt', created)) as { contractAddress: string }
    expect((await at('tx-to').innerText()).toLowerCase()).toContain(contractAddress)
    await at('call')
      .getByText(/Init code and arguments, [\d,]+ bytes/)
      .waitFor()
    await page.locator(`[data-testid="changed-account"][data-address="${contractAddress}"] [data-what="code"]`).waitFor()
    await scene.go(`/tx/${deployed}`)
    await page.locator('[data-testid="decoded-call"][data-name="deploy"]').getByText('salt', { exact: true }).waitFor()
    await page.locator('[data-testid="call"][data-type="CREATE2"]').waitFor()
  })

  it('the L1 attributes of a deposit', async () => {
    await using scene = await openExplorer(browser)
    await scene.seal()
    const { transactions } = (await scene.ask('eth_getBlockByNumber', '0x1', false)) as { transactions: string[] }
    await scene.go(`/tx/${transactions[0]}`)
    await scene
      .at('decoded-call')
      .getByText(/^setL1BlockValues/)
      .waitFor()
    const names = await scene.at('argument').locator('dt bdi').allInnerTexts()
    expect(names.slice(0, 9)).toEqual([
      'baseFeeScalar',
      'blobBaseFeeScalar',
      'sequenceNumber',
      'timestamp',
      'number',
      'baseFee',
      'blobBaseFee',
      'hash',
      'batcherHash',
    ])
    await scene.at('tx-source').waitFor()
  })

  it('a delegation of EIP-7702', async () => {
    await using scene = await openExplorer(browser)
    const { at, page } = scene
    const owner = privateKeyToAccount(generatePrivateKey())
    await scene.ask('anvil_setBalance', owner.address, '0xde0b6b3a7640000')
    const authorization = await owner.signAuthorization({ contractAddress: MULTICALL, chainId: 31_337, nonce: 1 })
    const raw = await owner.signTransaction({
      type: 'eip7702',
      chainId: 31_337,
      nonce: 0,
      to: owner.address,
      gas: 100_000n,
      maxFeePerGas: 20_000_000_000n,
      maxPriorityFeePerGas: 1_000_000n,
      authorizationList: [authorization],
      accessList: [{ address: WETH, storageKeys: [zeroHash] }],
    })
    const hash = String(await scene.ask('eth_sendRawTransaction', raw))
    await scene.seal()
    await scene.go(`/tx/${hash}`)
    expect(await at('tx-type').innerText()).toContain('EIP-7702')
    expect(await at('authorization').innerText()).toMatch(/^delegates to\s+Multicall3\s+nonce 1, chain 31337/)
    expect(await at('access-list').innerText()).toMatch(/WETH\s+1 slots/)
    await page
      .locator('[data-testid="change"][data-what="code"]')
      .getByText(/delegates to 0xca11/i)
      .waitFor()
    expect(scene.broken).toEqual([])
  })

  it('an error of an inner contract by the ABI of that contract, or by one for all addresses', async () => {
    await using scene = await openExplorer(browser)
    const { at, page } = scene
    const shop = await deploy(scene, 'Shop')
    const till = `0x${String(
      await scene.ask('eth_call', { to: shop, data: encodeFunctionData({ abi: SCENE, functionName: 'tillAddress' }) }, 'latest'),
    ).slice(26)}`
    const data = encodeFunctionData({ abi: SCENE, functionName: 'buy', args: [500n] })
    const hash = await scene.send({ to: shop, value: '0x0', data, gas: GAS })
    await scene.seal()
    await scene.go(`/tx/${hash}`)
    await at('reason').waitFor()
    expect(await at('reason').innerText()).toMatch(/^execution reverted/)
    expect((await at('undecoded').getByRole('link').getAttribute('href'))?.toLowerCase()).toBe(`/address/${till}`)
    const item = {
      type: 'error',
      name: 'TooDear',
      inputs: [
        { type: 'uint256', name: 'price' },
        { type: 'uint256', name: 'limit' },
      ],
    }
    await page.evaluate(`localStorage.setItem('pocketchain abis', ${JSON.stringify(JSON.stringify({ [till]: [item] }))})`)
    await page.reload()
    await at('reason').getByText('TooDear(500, 100)', { exact: true }).waitFor()
    expect(await at('undecoded').count()).toBe(0)
    await page.evaluate('localStorage.clear()')
    await page.reload()
    await at('reason')
      .getByText(/^execution reverted/)
      .waitFor()
    await page.getByText('Register an ABI for this address').click()
    await at('abi-text').fill(JSON.stringify({ abi: [item] }))
    await at('abi-for-all').check()
    await at('abi-register').click()
    await at('reason').getByText('TooDear(500, 100)', { exact: true }).waitFor()
    await at('abi-remove-all').click()
    await at('reason')
      .getByText(/^execution reverted/)
      .waitFor()
    expect(scene.broken).toEqual([])
  })

  it('says that the storage of the browser is full, and keeps the ABIs that it has', async () => {
    await using scene = await openExplorer(browser)
    const { at, page } = scene
    await scene.go(`/address/${WETH}`)
    await page.getByText('Register an ABI for this address').click()
    await at('abi-text').fill('function first() view returns (uint256)')
    await at('abi-register').click()
    await page.getByText(/^Registered ABI/).waitFor()
    const kept = await page.evaluate("localStorage.getItem('pocketchain abis')")
    await page.evaluate(
      "for (let size = 2 ** 22, i = 0; size > 0; i++) try { localStorage.setItem('' + i, 'x'.repeat(size)) } catch { size >>= 1 }",
    )
    await at('abi-text').fill('function second() view returns (uint256)')
    await at('abi-for-all').check()
    await at('abi-register').click()
    await at('abi-error').getByText('The storage of this site in the browser is full, so nothing was changed: remove an ABI').waitFor()
    expect(await page.evaluate("localStorage.getItem('pocketchain abis')")).toBe(kept)
    expect(await at('abi-remove-all').count()).toBe(0)
    expect(scene.broken).toEqual([])
  })

  it('refuses what is no ABI with one sentence, and keeps ABIs in memory where storage is blocked', async () => {
    await using scene = await openExplorer(browser)
    const { at, page } = scene
    const hash = await scene.send({ to: WETH, value: '0x0', data: '0x12345678', gas: GAS })
    await scene.seal()
    await page.addInitScript("Storage.prototype.setItem = () => { throw new DOMException('blocked', 'SecurityError') }")
    await scene.go(`/tx/${hash}`)
    await page.getByText('Register an ABI for this address').click()
    for (const [text, sentence] of [
      ['', /^Paste a JSON ABI/],
      ['{"abi": 5}', /^This JSON has no ABI/],
      ['[1, 2]', /^This ABI has no function/],
      ['[{"type":"function"', /^This is not valid JSON/],
      ['[{"type":"function","name":5,"inputs":[]}]', /^Item 0 of this ABI/],
      ['[{"type":"function","name":"a","inputs":"no"}]', /^Item 0 of this ABI/],
      ['[{"type":"function","name":"a","inputs":[{"type":7}]}]', /^Item 0 of this ABI/],
      ['[{"type":"function","name":"a","inputs":[{"type":"tuple"}]}]', /^Item 0 of this ABI/],
      ['x'.repeat(200_001), /^This ABI has 200001 characters; at most 200000 are kept/],
    ] as const) {
      await at('abi-text').fill(text)
      await at('abi-register').click()
      await at('abi-error').getByText(sentence).waitFor()
    }
    await at('abi-text').fill('function pay(address to, uint256 amount)')
    await at('abi-register').click()
    await page.getByText('Registered ABI: 1 functions, 1 items').waitFor()
    expect(scene.broken).toEqual([])
  })

  it('says in one sentence what became of a transaction that was dropped', async () => {
    await using scene = await openExplorer(browser)
    const { at } = scene
    await scene.ask('pocketchain_hold', scene.accounts[0])
    const hash = await scene.send()
    await scene.ask('pocketchain_drop', hash)
    await scene.go(`/tx/${hash}`)
    expect(await at('gone').innerText()).toMatch(/^It was dropped from the pool at [\d:. -]+ UTC, before it was promised\. dropped$/)
    expect(await scene.page.locator('[data-testid="step"][data-step="dropped"]').count()).toBe(1)
    // The same transaction is sent again.
    expect(await scene.send()).toBe(hash)
    await staged(scene, 'pool').waitFor()
    await at('timeline').getByText('in the pool again').waitFor()
  })

  /** Sends an operation of a new account with this code. */
  const operate = async (scene: Scene, code: Hex, callData: Hex) => sendOperation(scene, await openAccount(scene, code), { callData })

  it('a user operation from the mempool of the bundler to the seal of its bundle', async () => {
    await using scene = await openExplorer(browser)
    const { at, page } = scene
    await scene.ask('debug_bundler_setBundlingMode', 'manual')
    const transfer = encodeFunctionData({ abi: TOKEN, functionName: 'transfer', args: [scene.accounts[2] as Hex, 42n] })
    const batch = [
      { target: WETH, value: 0n, data: transfer },
      { target: WETH, value: 5_000_000_000n, data: '0x' },
    ] as const
    const hash = await operate(scene, ACCEPTING_ACCOUNT, encodeFunctionData({ abi: BATCHES, functionName: 'executeBatch', args: [batch] }))
    await scene.go(`/op/${hash}`)
    await page.locator('[data-testid="op-status"][data-status="not_submitted"]').waitFor()
    await scene.ask('debug_bundler_sendBundleNow')
    await page.locator('[data-testid="op-status"][data-status="submitted"]').waitFor()
    await scene.flashblocks()
    await page.locator('[data-testid="op-stage"][data-stage="promised"]').waitFor()
    await scene.seal()
    await page.locator('[data-testid="op-stage"][data-stage="sealed"]').waitFor()
    await page.locator('[data-testid="step"][data-step="sealed"] [data-outcome="kept"]').waitFor()
    expect(await at('op-payer').innerText()).toBe('the sender')
    expect(await page.locator('[data-testid="decoded-call"][data-name="executeBatch"]').count()).toBe(1)
    expect(await at('inner-call').count()).toBe(2)
    expect(await at('inner-call').first().innerText()).toMatch(/WETH\s+transfer\(to, amount\)/)
    await at('bundle').getByRole('link').first().click()
    await staged(scene, 'sealed').waitFor()
    expect(await page.locator(`[data-testid="operation"][data-hash="${hash}"]`).count()).toBe(1)
    // The bundle has the operation, which has the batch.
    await page.locator('[data-testid="inner-call"][data-depth="2"]').first().waitFor()
    expect(scene.broken).toEqual([])
  })

  it('a user operation whose call failed', async () => {
    await using scene = await openExplorer(browser)
    const { at, page } = scene
    await scene.ask('debug_bundler_setBundlingMode', 'manual')
    const errors = parseAbi(['error Error(string)'])
    const data = encodeErrorResult({ abi: errors, errorName: 'Error', args: [HOSTILE] })
    const hash = await operate(scene, FAILING_ACCOUNT, `0x12345678${data.slice(2)}`)
    await scene.ask('debug_bundler_sendBundleNow')
    await scene.seal()
    await scene.go(`/op/${hash}`)
    await at('reason').waitFor()
    expect(await at('reason').innerText()).toBe('reverted: <img src=x onerror="document.title=1">⟨U+202E⟩evil')
    expect(await page.locator('main img').count()).toBe(0)
    await page.locator('[data-testid="logs"] [data-event="UserOperationRevertReason"]').waitFor()
    await page.locator('[data-stage="failed"]').waitFor()
    expect(scene.broken).toEqual([])
  })

  it('and is accessible and fits each width', async () => {
    await using scene = await openExplorer(browser)
    const { at } = scene
    await scene.ask('pocketchain_hold', scene.accounts[3])
    const held = await scene.send({ from: scene.accounts[3] })
    await scene.ask('pocketchain_hold', scene.accounts[4])
    const dropped = await scene.send({ from: scene.accounts[4] })
    await scene.ask('pocketchain_drop', dropped)
    const tickets = await deploy(scene, 'Tickets')
    const data = encodeFunctionData({ abi: SCENE, functionName: 'move', args: [scene.accounts[2] as Hex] })
    const moved = await scene.send({ to: tickets, value: '0x0', data })
    const calls = [{ target: WETH, value: 0n, data }] as const
    const operation = await operate(
      scene,
      ACCEPTING_ACCOUNT,
      encodeFunctionData({ abi: BATCHES, functionName: 'executeBatch', args: [calls] }),
    )
    await scene.seal()
    const { receipt } = (await scene.ask('eth_getUserOperationReceipt', operation)) as { receipt: { transactionHash: string } }
    for (const [path, id] of [
      [`/tx/${held}`, 'timeline-panel'],
      [`/tx/${dropped}`, 'gone'],
      [`/tx/${moved}`, 'transfer'],
      [`/tx/${receipt.transactionHash}`, 'operation'],
      [`/op/${operation}`, 'inner-call'],
      [`/op/0x${'12'.repeat(32)}`, 'unknown'],
      ['/tx/nonsense', 'bad-input'],
    ] as const) {
      await scene.go(path)
      await at(id).first().waitFor()
      await scene.page.waitForLoadState('networkidle')
      expect(await layoutFaults(scene.page), path).toEqual([])
    }
    expect(scene.broken).toEqual([])
  })
})
