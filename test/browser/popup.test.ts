import type { Browser, Page } from 'playwright-core'
import { verifyMessage, verifyTypedData } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { NO_BROWSER, startBrowser } from './browser.fixture.ts'
import { baseShop } from './sites.fixture.ts'
import { card, openStage } from './stage.fixture.ts'
import type { Stage } from './stage.fixture.ts'

// The approval page as the window of the Base Account SDK: special cases of the SDK, and failures. Each test continues from the state of
// the previous one.

type Hex = `0x${string}`

/** Outcome of a request of the app. */
interface Outcome {
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string }
}

const SHOP = '0x00000000000000000000000000000000005eed01'
const MAIL = {
  domain: { name: 'Mail', version: '1', chainId: 31_337 },
  primaryType: 'Letter',
  types: {
    EIP712Domain: [
      { name: 'name', type: 'string' },
      { name: 'version', type: 'string' },
      { name: 'chainId', type: 'uint256' },
    ],
    Letter: [{ name: 'text', type: 'string' }],
  },
  message: { text: 'hello' },
} as const

describe.skipIf(NO_BROWSER !== null)(`the window of the Base Account SDK${NO_BROWSER === null ? '' : ` (${NO_BROWSER})`}`, () => {
  let browser: Browser
  let stage: Stage
  let app: Page
  let alice: Hex

  beforeAll(async () => {
    browser = await startBrowser()
    stage = await openStage(browser)
    app = await stage.open(() => baseShop, `base.html?chain=31337&wallet=${encodeURIComponent(`${stage.url}/wallet`)}`)
    alice = stage.node.accounts[0]!.address // a stage has ten
  })
  afterAll(async () => {
    await stage?.[Symbol.asyncDispose]()
    await browser?.close()
  })

  /** `provider` is the SDK's, on the app's page. */
  function ask(method: string, params: readonly unknown[] = []): Promise<Outcome> {
    const request = JSON.stringify({ method, params })
    const caught = '({ code, message }) => ({ error: { code, message } })'
    return app.evaluate<Outcome>(`provider.request(${request}).then((result) => ({ result }), ${caught})`)
  }

  /** Sends a request, clicks a button for each question in the window that opens, and waits until the window closes. */
  async function press(asking: () => Promise<Outcome>, ...answers: readonly (readonly [kind: string, button: 'approve' | 'reject'])[]) {
    const opened = stage.context.waitForEvent('page')
    const outcome = asking()
    const window = await opened
    const gone = window.waitForEvent('close')
    for (const [kind, button] of answers) await card(window, kind).getByTestId(button).click()
    await gone
    return outcome
  }

  it('returns 4001 to the app when the user rejects the connection', async () => {
    const { error } = await press(() => ask('eth_requestAccounts'), ['connect', 'reject'])
    expect(error?.code).toBe(4001)
    expect(await ask('eth_accounts')).toEqual({ result: [] })
  })

  it('that is closed rejects the request and withdraws its question', async () => {
    const opened = stage.context.waitForEvent('page')
    const outcome = ask('eth_requestAccounts')
    const window = await opened
    await card(window, 'connect').waitFor()
    await window.close({ runBeforeUnload: true })
    expect((await outcome).error?.code).toBe(4001)
    await expect.poll(() => stage.node.wallet.approvals.pending).toEqual([])
  })

  it('connects, and returns the capabilities per chain to the SDK', async () => {
    const { result } = await press(() => ask('eth_requestAccounts'), ['connect', 'approve'])
    expect((result as Hex[]).map((address) => address.toLowerCase())).toEqual([alice])
    expect(await ask('eth_chainId')).toEqual({ result: '0x7a69' })
    expect(await ask('wallet_getCapabilities', [alice])).toMatchObject({ result: { '0x7a69': { atomic: { status: expect.any(String) } } } })
  })

  it('continues its session after a reload of the app', async () => {
    await app.reload()
    const { result } = await press(() => ask('personal_sign', ['0x68656c6c6f', alice]), ['sign', 'approve'])
    expect(await verifyMessage({ address: alice, message: 'hello', signature: result as Hex })).toBe(true)
  })

  it('stays connected after a rejected signature', async () => {
    const { error } = await press(() => ask('personal_sign', ['0x68656c6c6f', alice]), ['sign', 'reject'])
    expect(error?.code).toBe(4001)
    expect((await ask('eth_accounts')).result).toHaveLength(1)
  })

  it('signs typed data', async () => {
    const { result } = await press(() => ask('eth_signTypedData_v4', [alice, JSON.stringify(MAIL)]), ['sign', 'approve'])
    expect(await verifyTypedData({ ...MAIL, domain: { ...MAIL.domain, chainId: 31_337n }, address: alice, signature: result as Hex })).toBe(
      true,
    )
  })

  it("sends a transaction, whose receipt the SDK reads at the chain's rpc url", async () => {
    const { result } = await press(() => ask('eth_sendTransaction', [{ from: alice, to: SHOP, value: '0x1' }]), ['send', 'approve'])
    await expect
      .poll(() => ask('eth_getTransactionReceipt', [result]))
      .toMatchObject({ result: { status: '0x1', transactionHash: result, to: SHOP } })
  })

  it('signs in during the connection if the app requests it', async () => {
    const signInWithEthereum = { nonce: 'abcdef1234', chainId: '0x7a69' }
    const wish = [{ version: '1', capabilities: { signInWithEthereum } }]
    const { result } = await press(() => ask('wallet_connect', wish), ['sign', 'approve'])
    const [account] = (result as { accounts: { capabilities: { signInWithEthereum: { message: string; signature: Hex } } }[] }).accounts
    const { message, signature } = account!.capabilities.signInWithEthereum
    expect(message).toContain(`${new URL(app.url()).host} wants you to sign in`)
    expect(await verifyMessage({ address: alice, message, signature })).toBe(true)
  })

  it('requests approval before it switches to a chain that the SDK selected', async () => {
    const { chainId, url } = stage.second
    const nativeCurrency = { name: 'Pebble', symbol: 'PBL', decimals: 18 }
    stage.node.wallet.chains.add({ chainId, name: 'Second', nativeCurrency, rpcUrls: [url], blockExplorerUrls: [], iconUrls: [] })
    await press(() => ask('personal_sign', ['0x00', alice]), ['sign', 'approve']) // its response includes the chain
    expect(await ask('wallet_switchEthereumChain', [{ chainId: '0x53a' }])).toEqual({ result: null })
    expect(await ask('eth_chainId')).toEqual({ result: '0x53a' })
    const send = () => ask('eth_sendTransaction', [{ from: alice, to: SHOP, value: '0x5' }])
    const { result } = await press(send, ['switchChain', 'approve'], ['send', 'approve'])
    expect(result).toMatch(/^0x[0-9a-f]{64}$/)
    const balance = () => stage.second.node.request({ method: 'eth_getBalance', params: [SHOP, 'pending'] })
    await expect.poll(balance).toBe('0x5')
  })
})
