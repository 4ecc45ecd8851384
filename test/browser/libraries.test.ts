import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { verifyMessage } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { NO_BROWSER, startBrowser } from './browser.fixture.ts'
import { openStage } from './stage.fixture.ts'
import type { Stage } from './stage.fixture.ts'

// The announced provider with libraries and apps that deviate from EIP-1193: their own browser bundles, the
// older methods, a Proxy, methods without their object. Every question is approved by the wallet's policy.

const PACKAGES = fileURLToPath(new URL('../../node_modules/', import.meta.url))
const BUNDLES: Readonly<Record<string, string>> = { 'ethers.js': 'ethers/dist/ethers.umd.min.js', 'web3.js': 'web3/dist/web3.min.js' }
const SHOP = '0x00000000000000000000000000000000005eed01'

describe.skipIf(NO_BROWSER !== null)(`the announced provider${NO_BROWSER === null ? '' : ` (${NO_BROWSER})`}`, () => {
  let browser: Browser
  let stage: Stage
  let page: Page
  let alice: `0x${string}`

  beforeAll(async () => {
    browser = await startBrowser()
    stage = await openStage(browser)
    stage.node.wallet.approvals.setPolicy('approve')
    alice = stage.node.accounts[0]!.address // a stage has ten
    const html = (wallet: string): string => `<!doctype html><title>app</title><link rel="icon" href="data:," />
      <script src="${wallet}" data-ethereum></script><script src="ethers.js"></script><script src="web3.js"></script>`
    page = await stage.open(
      (wallet) => (path) => (BUNDLES[path] === undefined ? Promise.resolve(html(wallet)) : readFile(`${PACKAGES}${BUNDLES[path]}`)),
      'index.html',
    )
  })
  afterAll(async () => {
    await stage?.[Symbol.asyncDispose]()
    await browser?.close()
  })

  /** Runs the body of an async function in the page and returns its value. */
  function run(body: string): Promise<unknown> {
    return page.evaluate(`(async () => { ${body} })()`)
  }

  it('connects by enable() and then has chain and account', async () => {
    expect(await run('return [ethereum.selectedAddress, (await ethereum.request({ method: "eth_accounts" }))]')).toEqual([null, []])
    const accounts = (await run('return ethereum.enable()')) as string[]
    expect(accounts).toContain(alice)
    expect(await run('return [ethereum.chainId, ethereum.networkVersion, ethereum.selectedAddress, ethereum.isConnected()]')).toEqual([
      '0x7a69',
      '31337',
      accounts[0],
      true,
    ])
  })

  it('keeps chain and account after a reload of the page', async () => {
    await page.reload()
    await page.waitForFunction('ethereum.selectedAddress !== null')
    expect(await run('return [ethereum.chainId, ethereum.send({ id: 1, method: "eth_accounts" }).result.length]')).toEqual(['0x7a69', 1])
  })

  it('works with ethers', async () => {
    const result = (await run(`
      const provider = new ethers.BrowserProvider(ethereum)
      const signer = await provider.getSigner('${alice}')
      const sent = await signer.sendTransaction({ to: '${SHOP}', value: 1n })
      const { status } = await sent.wait()
      return { chainId: String((await provider.getNetwork()).chainId), signature: await signer.signMessage('hello'), status }`)) as {
      chainId: string
      signature: `0x${string}`
      status: number
    }
    expect(result).toMatchObject({ chainId: '31337', status: 1 })
    expect(await verifyMessage({ address: alice, message: 'hello', signature: result.signature })).toBe(true)
  })

  it('works with web3.js', async () => {
    const result = (await run(`
      const web3 = new Web3(ethereum)
      const receipt = await web3.eth.sendTransaction({ from: '${alice}', to: '${SHOP}', value: '2' })
      const signature = await web3.eth.personal.sign('0x68656c6c6f', '${alice}', '')
      return { chainId: String(await web3.eth.getChainId()), status: String(receipt.status), signature }`)) as {
      chainId: string
      signature: `0x${string}`
      status: string
    }
    expect(result).toMatchObject({ chainId: '31337', status: '1' })
    expect(await verifyMessage({ address: alice, message: 'hello', signature: result.signature })).toBe(true)
  })

  it('calls callbacks, for one request and for a batch', async () => {
    const [single, refused, batch] = (await run(`
      const sendAsync = (payload) => new Promise((resolve) => ethereum.sendAsync(payload, (error, response) => resolve({ code: error && error.code, response })))
      return [
        await sendAsync({ id: 4, method: 'eth_chainId' }),
        await sendAsync({ id: 5, method: 'eth_sign', params: [] }),
        await sendAsync([{ id: 6, method: 'net_version' }, { id: 7, method: 'eth_sign' }]),
      ]`)) as unknown[]
    expect(single).toEqual({ code: null, response: { id: 4, jsonrpc: '2.0', result: '0x7a69' } })
    expect(refused).toMatchObject({ code: 4200, response: { id: 5, error: { code: 4200 } } })
    expect(batch).toMatchObject({
      code: null,
      response: [
        { id: 6, result: '31337' },
        { id: 7, error: { code: 4200 } },
      ],
    })
    expect(await run('return (await ethereum.send("eth_chainId")).result')).toBe('0x7a69')
  })

  it('names a lost connection to the node as a temporary one, and answers requests of that time after it', async () => {
    await run(`
      globalThis.events = []
      for (const name of ['connect', 'disconnect']) ethereum.on(name, (value) => events.push([name, value]))
      ethereum.once('disconnect', () => { globalThis.answers = Promise.all([ethereum.request({ method: 'eth_accounts' }), ethereum.isConnected()]) })`)
    await stage.restart()
    await page.waitForFunction('events.length === 2')
    expect(await run('const [[lost, { code }], connected] = events; return [lost, code, connected]')).toEqual([
      'disconnect',
      1013,
      ['connect', { chainId: '0x7a69' }],
    ])
    const [accounts, wasConnected] = (await run('return answers')) as [string[], boolean]
    expect([accounts[0], wasConnected]).toEqual([alice, false])
  })

  it('works behind a Proxy and with detached methods', async () => {
    expect(
      await run(`
        const proxy = new Proxy(ethereum, {})
        const { request, on, removeAllListeners } = proxy
        proxy.once('accountsChanged', () => { throw new Error('of this listener alone') })
        const changed = new Promise((resolve) => on('accountsChanged', resolve))
        await request({ method: 'wallet_revokePermissions', params: [{ eth_accounts: {} }] })
        const accounts = await changed
        removeAllListeners('accountsChanged')
        return [accounts, proxy.selectedAddress, await request({ method: 'eth_chainId' })]`),
    ).toEqual([[], null, '0x7a69'])
  })

  it('rejects requests with 4900 when the node stays away', async () => {
    await run(`
      const codeOf = ({ code }) => code
      globalThis.lost = new Promise((resolve) => ethereum.once('disconnect', resolve))
      globalThis.codes = lost.then(async ({ code }) => [code, await ethereum.request({ method: 'eth_chainId' }).catch(codeOf)])`)
    await stage.node.close()
    expect(await run('return codes')).toEqual([1013, 4900])
  })
})
