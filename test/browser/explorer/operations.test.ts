import { encodeErrorResult, parseAbi } from 'viem'
import type { Hex } from 'viem'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { layoutFaults } from '../axe.fixture.ts'
import { NO_BROWSER, startBrowser } from '../browser.fixture.ts'
import { openExplorer } from './explorer.fixture.ts'
import type { Scene } from './explorer.fixture.ts'
import { ACCEPTING_ACCOUNT, FAILING_ACCOUNT, TIMED_ACCOUNT, openAccount, sendOperation } from './operations.fixture.ts'

// User operations with their bundle, rule warnings and prices, on their page and in the list.

const GWEI = 10n ** 9n
const REVERT = encodeErrorResult({ abi: parseAbi(['error Error(string)']), errorName: 'Error', args: ['no bread left'] })

interface Receipt {
  readonly actualGasCost: Hex
  readonly actualGasUsed: Hex
  readonly receipt: { readonly transactionHash: Hex; readonly from: Hex }
}

describe.skipIf(NO_BROWSER !== null)(`user operations in the explorer${NO_BROWSER === null ? '' : ` (${NO_BROWSER})`}`, () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await startBrowser()
  })
  afterAll(() => browser?.close())

  const standing = (scene: Scene, status: string, waitsFor: string) =>
    scene.page.locator(`[data-testid="op-status"][data-status="${status}"][data-waits-for="${waitsFor}"]`)
  const staged = (scene: Scene, stage: string) => scene.page.locator(`[data-testid="op-stage"][data-stage="${stage}"]`)

  /** Three operations of different accounts in the pool of the bundler, which bundles on request: a plain one, one that reads the time, one that fails. */
  async function three(scene: Scene) {
    await scene.ask('debug_bundler_setBundlingMode', 'manual')
    const plain = await sendOperation(scene, await openAccount(scene, ACCEPTING_ACCOUNT), {
      fees: { maxFeePerGas: 2n * GWEI, maxPriorityFeePerGas: GWEI / 100n },
    })
    const timed = await sendOperation(scene, await openAccount(scene, TIMED_ACCOUNT))
    const failing = await sendOperation(scene, await openAccount(scene, FAILING_ACCOUNT), { callData: `0x12345678${REVERT.slice(2)}` })
    return { plain, timed, failing }
  }

  async function baseFee(scene: Scene): Promise<bigint> {
    return BigInt(((await scene.ask('eth_getBlockByNumber', 'pending', false)) as { baseFeePerGas: Hex }).baseFeePerGas)
  }

  /** Seals a block with this base fee, which that of the next follows. */
  async function setBaseFee(scene: Scene, wei: bigint): Promise<void> {
    await scene.ask('anvil_setNextBlockBaseFeePerGas', `0x${wei.toString(16)}`)
    await scene.seal()
  }

  it('from the pool to a bundle of three, with what each pays', async () => {
    await using scene = await openExplorer(browser)
    const { at, page } = scene
    const { plain, timed, failing } = await three(scene)
    await scene.go(`/op/${plain}`)
    await standing(scene, 'not_submitted', 'request').waitFor()
    expect([await at('op-max-fee').innerText(), await at('op-max-priority-fee').innerText()]).toEqual(['2 gwei per gas', '0.01 gwei'])
    // 600,000 gas in advance
    expect(await at('op-prefund').innerText()).toBe('0.0012 ETH at most, for 600,000 gas')
    expect(await at('op-base-fee').innerText()).toMatch(/^[\d.,≈ ]+ gwei its max fee is [\d,]+ % of that$/)
    expect(await at('op-proposed').innerText()).toMatch(/gwei standard, .* gwei slow, .* gwei fast$/)
    expect(await at('bundler-rules').getAttribute('data-rules')).toBe('relaxed')
    expect(await at('no-rule-warnings').count()).toBe(1)

    const transactionHash = String(await scene.ask('debug_bundler_sendBundleNow'))
    await standing(scene, 'submitted', 'block').waitFor()
    await expect.poll(() => at('op-position').innerText()).toBe('Operation 1 of 3 in its bundle')
    const siblings = () => at('sibling').evaluateAll((items) => items.map((item) => item.getAttribute('data-hash')))
    expect(await siblings()).toEqual([plain, timed, failing])

    await scene.flashblocks()
    await staged(scene, 'promised').waitFor()
    expect(await at('standing').count()).toBe(0)
    expect(await siblings()).toEqual([plain, timed, failing])
    const { actualGasCost, actualGasUsed, receipt } = (await scene.ask('eth_getUserOperationReceipt', plain)) as Receipt
    expect(receipt.transactionHash).toBe(transactionHash)
    const paid = BigInt(actualGasCost) / BigInt(actualGasUsed)
    expect(paid).toBeLessThan(2n * GWEI)
    const amount = (id: string) => at(id).locator('.amount, .price').first().getAttribute('title')
    expect(await amount('op-price')).toBe(`${paid.toLocaleString('en')} wei`)
    expect(await amount('op-cost')).toMatch(new RegExp(` ${BigInt(actualGasCost)} wei$`))
    expect(await at('op-gas').innerText()).toBe(`${BigInt(actualGasUsed).toLocaleString('en')} charged, of 600,000 paid in advance`)
    const used = (BigInt(actualGasCost) * 1000n) / (600_000n * 2n * GWEI)
    expect(await at('op-prefund').innerText()).toContain(`${used / 10n}.${used % 10n} % used`)
    expect(await at('op-payer').innerText()).toBe('the sender')
    expect((await at('op-bundler').locator('a').getAttribute('href'))?.toLowerCase()).toBe(`/address/${receipt.from.toLowerCase()}`)
    const costs = await Promise.all(
      [plain, timed, failing].map(async (hash) =>
        BigInt(((await scene.ask('eth_getUserOperationReceipt', hash)) as Receipt).actualGasCost),
      ),
    )
    const refunded = costs.reduce((sum, cost) => sum + cost, 0n)
    expect(await at('bundle-refund').locator('.amount').getAttribute('title')).toMatch(new RegExp(` ${refunded} wei$`))

    await page.locator(`[data-testid="sibling"][data-hash="${failing}"]`).getByTestId('stage').waitFor()
    await page.locator(`[data-testid="sibling"][data-hash="${failing}"] a`).first().click()
    await at('reason').waitFor()
    expect(await at('reason').innerText()).toBe('reverted: no bread left')
    expect(await at('op-position').innerText()).toBe('Operation 3 of 3 in its bundle')
    expect(scene.broken).toEqual([])
  })

  it('with the rules that a public bundler refuses, before and after its bundle', async () => {
    await using scene = await openExplorer(browser)
    const { at, page } = scene
    const { timed } = await three(scene)
    await scene.go(`/op/${timed}`)
    const warning = page.locator('[data-testid="rule-warning"][data-rule="OP-011"]')
    await warning.waitFor()
    expect(await warning.innerText()).toMatch(
      /^OP-011 account 0x\w{4}…\w{4} uses banned opcode: TIMESTAMP\s+which a validation must not do/,
    )
    expect(await at('rule-warnings').innerText()).toBe('OP-011 warning')
    await scene.ask('debug_bundler_sendBundleNow')
    await scene.seal()
    await staged(scene, 'sealed').waitFor()
    expect(await warning.count()).toBe(1)
    await at('bundle').getByRole('link').first().click()
    // The bundle marks the one of its operations that has a warning.
    await page.locator(`[data-testid="operation"][data-hash="${timed}"]`).getByTestId('rule-warnings').waitFor()
    expect(await at('rule-warnings').count()).toBe(1)

    await scene.ask('pocketchain_bundlerRules', { rules: 'strict' })
    await scene.go(`/op/${timed}`)
    await page.locator('[data-testid="bundler-rules"][data-rules="strict"]').waitFor()
    expect(scene.broken).toEqual([])
  })

  it('that waits because the base fee has risen above its price', async () => {
    await using scene = await openExplorer(browser)
    const { at } = scene
    await scene.ask('debug_bundler_setBundlingMode', 'manual')
    const fees = { maxFeePerGas: 2n * GWEI, maxPriorityFeePerGas: 1n }
    const hash = await sendOperation(scene, await openAccount(scene, ACCEPTING_ACCOUNT), { fees })
    await setBaseFee(scene, 3n * GWEI)
    await scene.go(`/op/${hash}`)
    await standing(scene, 'not_submitted', 'price').waitFor()
    expect(await at('op-max-priority-fee').innerText()).toBe('1 wei')
    expect(await baseFee(scene)).toBeGreaterThan(2n * GWEI)
    expect(await at('op-base-fee').locator('.price').getAttribute('title')).toBe(`${(await baseFee(scene)).toLocaleString('en')} wei`)
    expect(await at('op-base-fee').innerText()).toMatch(/ gwei\s+above its max fee$/)
    await setBaseFee(scene, GWEI)
    await standing(scene, 'not_submitted', 'request').waitFor()
    const percent = (200n * GWEI) / (await baseFee(scene))
    expect(await at('op-base-fee').innerText()).toMatch(new RegExp(` gwei its max fee is ${percent} % of that$`))
    expect(await at('op-below-market').count()).toBe(0)
  })

  it('without fees, for which the bundler pays', async () => {
    await using scene = await openExplorer(browser)
    const { at } = scene
    const fees = { maxFeePerGas: 0n, maxPriorityFeePerGas: 0n }
    const hash = await sendOperation(scene, await openAccount(scene, ACCEPTING_ACCOUNT), { fees, method: 'boost_sendUserOperation' })
    await scene.go(`/op/${hash}`)
    await at('op-payer').waitFor()
    expect([await at('op-payer').innerText(), await at('op-max-fee').innerText()]).toEqual([
      'the bundler: it has no fees',
      '0 gwei per gas',
    ])
    await scene.flashblocks(2)
    await staged(scene, 'promised').waitFor()
    expect([await at('op-price').innerText(), await at('op-cost').innerText()]).toEqual(['0 gwei per gas', '0 ETH'])
    expect(await at('op-prefund').innerText()).toBe('0 ETH')
    expect(scene.broken).toEqual([])
  })

  it('that was replaced, and one that was dropped', async () => {
    await using scene = await openExplorer(browser)
    const { at, page } = scene
    await scene.ask('debug_bundler_setBundlingMode', 'manual')
    const sender = await openAccount(scene, ACCEPTING_ACCOUNT)
    const first = await sendOperation(scene, sender, { fees: { maxFeePerGas: 2n * GWEI, maxPriorityFeePerGas: GWEI } })
    const behind = await sendOperation(scene, sender, { nonce: 1n })
    await scene.go(`/op/${behind}`)
    await standing(scene, 'not_submitted', 'nonce').waitFor()
    await scene.go(`/op/${first}`)
    await standing(scene, 'not_submitted', 'request').waitFor()
    const second = await sendOperation(scene, sender, { fees: { maxFeePerGas: 3n * GWEI, maxPriorityFeePerGas: 2n * GWEI } })
    await standing(scene, 'rejected', '').waitFor()
    expect(await at('op-stage').getAttribute('data-stage')).toBe('dropped')
    await at('standing').getByRole('link').click()
    await page.waitForURL(`**/op/${second}`)
    await standing(scene, 'not_submitted', 'request').waitFor()

    await scene.ask('anvil_setCode', sender, TIMED_ACCOUNT)
    await scene.ask('debug_bundler_sendBundleNow')
    await standing(scene, 'rejected', '').waitFor()
    expect(await at('op-reason').innerText()).toMatch(/^the code of 0x\w{40} has changed since the operation was checked \(COD-010/)
    expect(scene.broken).toEqual([])
  })

  it('are listed with their state, warnings and prices, by page', async () => {
    await using scene = await openExplorer(browser)
    await scene.go('/')
    const { at, page } = scene
    await at('latest-operations').getByRole('link').click()
    await at('no-unincluded').waitFor()
    await at('no-included').waitFor()
    const { plain, timed } = await three(scene)
    await at('unincluded-operation').nth(2).waitFor()
    const waiting = (hash: string) => page.locator(`[data-testid="unincluded-operation"][data-hash="${hash}"]`)
    expect(await waiting(plain).getByTestId('unincluded-why').innerText()).toBe('waits for a request: bundling is manual')
    expect(await waiting(plain).locator('[data-label="Max fee"]').innerText()).toMatch(/2 gwei$/)
    await waiting(timed).getByTestId('rule-warnings').waitFor()
    await at('search').fill(plain)
    await page.keyboard.press('Enter')
    await page.waitForURL(`**/op/${plain}`)
    await scene.go('/ops')
    await at('unincluded-operation').nth(2).waitFor()
    await at('status-rejected').click()
    await at('no-unincluded').waitFor()
    await at('status-not_submitted').click()
    await at('unincluded-operation').nth(2).waitFor()

    await scene.ask('debug_bundler_sendBundleNow')
    await scene.flashblocks()
    const row = page.locator(`[data-testid="operation"][data-hash="${plain}"]`)
    await row.locator('[data-stage="promised"]').waitFor()
    expect(await at('unincluded-operation').count()).toBe(0)
    await scene.seal()
    await row.locator('[data-stage="sealed"]').waitFor()
    expect(await at('operation').count()).toBe(3)
    const { actualGasCost } = (await scene.ask('eth_getUserOperationReceipt', plain)) as Receipt
    expect(await row.locator('[data-label="Cost"] .amount').getAttribute('title')).toMatch(new RegExp(` ${BigInt(actualGasCost)} wei$`))

    // Each nonce key has its own sequence, so that one account fills a page.
    const sender = await openAccount(scene, ACCEPTING_ACCOUNT)
    for (let key = 1n; key <= 26n; key++) await sendOperation(scene, sender, { nonce: key << 64n })
    await at('status-all').click()
    await at('older-unincluded').click()
    await expect.poll(() => at('unincluded-operation').count()).toBe(1)
    await at('newer-unincluded').click()
    await expect.poll(() => at('unincluded-operation').count()).toBe(25)
    await scene.ask('debug_bundler_sendBundleNow')
    await scene.seal()
    await at('no-unincluded').waitFor()
    await expect.poll(() => at('operation').count()).toBe(25)
    await at('older-included').click()
    await expect.poll(() => at('operation').count()).toBe(4)
    expect(scene.broken).toEqual([])
  })

  it('in each state is accessible and fits each width', async () => {
    await using scene = await openExplorer(browser)
    const { page } = scene
    const shown = async (path: string, id: string, name: string) => {
      await scene.go(path)
      await scene.at(id).first().waitFor()
      await page.waitForLoadState('networkidle')
      expect(await layoutFaults(page), name).toEqual([])
    }
    const { plain, timed, failing } = await three(scene)
    await shown(`/op/${timed}`, 'rule-warning', 'pending')
    await scene.ask('debug_bundler_sendBundleNow')
    await shown(`/op/${plain}`, 'sibling', 'sent')
    await scene.seal()
    await shown(`/op/${timed}`, 'bundle-fee', 'included')
    await shown(`/op/${failing}`, 'reason', 'failed')
    const sender = await openAccount(scene, ACCEPTING_ACCOUNT)
    const dear = await sendOperation(scene, sender, { fees: { maxFeePerGas: 2n * GWEI, maxPriorityFeePerGas: 1n } })
    await setBaseFee(scene, 3n * GWEI)
    await shown(`/op/${dear}`, 'op-below-market', 'below the market')
    await scene.ask('anvil_setCode', sender, TIMED_ACCOUNT)
    await setBaseFee(scene, GWEI)
    await scene.ask('debug_bundler_sendBundleNow')
    await shown(`/op/${dear}`, 'op-reason', 'dropped')
    await sendOperation(scene, await openAccount(scene, TIMED_ACCOUNT))
    await shown('/ops', 'rule-warnings', 'list')
    expect(scene.broken).toEqual([])
  })
})
