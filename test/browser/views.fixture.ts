import type { Browser, Page } from 'playwright-core'
import { encodeDeployData, encodeFunctionData } from 'viem'
import type { Hex } from 'viem'
import { contracts } from '../../src/wallet/preview/contracts.fixture.ts'
import type { Provider } from '../../src/wallet/index.ts'
import { card } from './stage.fixture.ts'
import type { Stage } from './stage.fixture.ts'

/** Something that the page of the wallet can show, made by real requests of an app. */
export interface View {
  readonly name: string
  /** Brings it up. Answers the page that shows it, and what ends it. */
  readonly show: (scene: ViewScene) => Promise<Shown>
}

export interface Shown {
  readonly page: Page
  readonly end: () => Promise<unknown>
}

export interface ViewScene {
  readonly stage: Stage
  readonly browser: Browser
  readonly app: Provider
  readonly account: Hex
  /** a token of which the account has plenty */
  readonly coin: Hex
  /** a contract that takes tokens */
  readonly taker: Hex
}

const ORIGIN = 'http://shop.localhost:3000'
const FRIEND = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
const ETHER = `0x${(10n ** 18n).toString(16)}`

export const VIEWS: readonly View[] = [
  {
    name: 'refused',
    show: async ({ stage, browser }) => {
      const context = await browser.newContext({ bypassCSP: true })
      const page = await context.newPage()
      await page.goto(`${stage.url}/wallet`)
      await page.getByTestId('refused').waitFor()
      return { page, end: () => context.close() }
    },
  },
  question('connect', 'connect', ({ stage }) => ask(stage.node.wallet.provider('http://bank.localhost:3000'), 'eth_requestAccounts')),
  question('sign-message', 'sign', ({ app, account }) =>
    ask(app, 'personal_sign', hexOf('The shop wants you to sign in.\n\nNonce: 3f9c11'), account),
  ),
  question('sign-typed-data', 'sign', ({ app, account, taker }) =>
    ask(app, 'eth_signTypedData_v4', account, JSON.stringify(orderOf(taker))),
  ),
  question('send', 'send', ({ app, account }) => ask(app, 'eth_sendTransaction', { from: account, to: FRIEND, value: ETHER })),
  question('unlimited-allowance', 'send', ({ app, account, coin, taker }) =>
    ask(app, 'eth_sendTransaction', { from: account, to: coin, data: called('approve', [taker, 2n ** 256n - 1n]) }),
  ),
  question('batch', 'batch', (scene) => ask(scene.app, 'wallet_sendCalls', batchOf(scene, false))),
  question('upgrade', 'upgrade', (scene) => ask(scene.app, 'wallet_sendCalls', batchOf(scene, true))),
  question('add-chain', 'addChain', ({ app, stage }) =>
    ask(app, 'wallet_addEthereumChain', {
      chainId: `0x${stage.second.chainId.toString(16)}`,
      chainName: 'The second chain',
      nativeCurrency: { name: 'Pebble', symbol: 'PBL', decimals: 18 },
      rpcUrls: [stage.second.url],
    }),
  ),
  question('switch-chain', 'switchChain', ({ app, stage: { node, second } }) => {
    const nativeCurrency = { name: 'Pebble', symbol: 'PBL', decimals: 18 }
    const urls = { rpcUrls: [second.url], blockExplorerUrls: [], iconUrls: [] }
    node.wallet.chains.add({ chainId: second.chainId, name: 'The second chain', nativeCurrency, ...urls })
    return ask(app, 'wallet_switchEthereumChain', { chainId: `0x${second.chainId.toString(16)}` })
  }),
  question('watch-asset', 'watchAsset', ({ app, coin }) =>
    ask(app, 'wallet_watchAsset', { type: 'ERC20', options: { address: coin, symbol: 'CAKE', decimals: 6 } }),
  ),
  {
    name: 'batch-status',
    show: async (scene) => {
      const { stage, app } = scene
      stage.node.wallet.approvals.setPolicy('approve')
      const { id } = (await ask(app, 'wallet_sendCalls', batchOf(scene, false))) as { id: string } // EIP-5792
      await stage.node.wallet.batches.status(id, { origin: ORIGIN, waitMs: 10_000 })
      stage.node.wallet.approvals.setPolicy('ask')
      await stage.approvals.goto(`${stage.url}/wallet#batch=${id}`)
      await stage.approvals.getByTestId('batch').getByTestId('batch-status').waitFor()
      return { page: stage.approvals, end: () => stage.approvals.goto(`${stage.url}/wallet#`) }
    },
  },
  {
    name: 'home',
    show: async ({ stage }) => {
      await stage.approvals.getByText('Latest batches').waitFor()
      await stage.approvals.getByTestId('batch-status').first().waitFor()
      return { page: stage.approvals, end: () => Promise.resolve() }
    },
  },
]

/** A connected site, a token and a contract that takes it. */
export async function viewScene(browser: Browser, stage: Stage): Promise<ViewScene> {
  const { wallet, accounts } = stage.node
  const account = accounts[0]!.address // a stage has ten
  const { Coin, Taker } = contracts()
  const coin = await deploy(stage, account, encodeDeployData({ ...Coin, args: ['Cake', 'CAKE', 6] }))
  const taker = await deploy(stage, account, Taker.bytecode)
  const app = wallet.provider(ORIGIN)
  wallet.approvals.setPolicy('approve')
  await ask(app, 'eth_requestAccounts')
  wallet.approvals.setPolicy('ask')
  return { stage, browser, app, account, coin, taker }
}

async function deploy({ node }: Stage, from: Hex, data: Hex): Promise<Hex> {
  const hash = await node.request({ method: 'eth_sendTransaction', params: [{ from, data }] })
  await node.request({ method: 'evm_mine', params: [] })
  const receipt = await node.request({ method: 'eth_getTransactionReceipt', params: [hash] })
  return (receipt as { contractAddress: Hex }).contractAddress // it was mined
}

function question(name: string, kind: string, asked: (scene: ViewScene) => Promise<unknown>): View {
  return {
    name,
    show: async (scene) => {
      const { approvals } = scene.stage
      const outcome = asked(scene).then(
        () => new Error(`${name} was answered, and nobody did`),
        (error: unknown) => error,
      )
      const refusedUnasked = outcome.then((error) => Promise.reject(error as Error)) // what a provider rejects with is one
      refusedUnasked.catch(() => {})
      await Promise.race([card(approvals, kind).waitFor(), refusedUnasked])
      const end = async (): Promise<void> => {
        scene.stage.node.wallet.approvals.reject()
        await outcome
        await card(approvals, kind).waitFor({ state: 'detached' })
      }
      return { page: approvals, end }
    },
  }
}

function ask(app: Provider, method: string, ...params: unknown[]): Promise<unknown> {
  return app.request({ method, params })
}

/** What shopping looks like to a wallet: an allowance, more of it than is used, and payments. */
function batchOf({ account, coin, taker }: ViewScene, atomicRequired: boolean): unknown {
  const calls = [
    { to: coin, data: called('approve', [taker, 5_000_000n]) },
    { to: coin, data: called('transfer', [FRIEND, 2_500_000n]) },
    { to: FRIEND, value: '0x2386f26fc10000' },
  ]
  return { version: '2.0.0', from: account, chainId: '0x7a69', atomicRequired, calls }
}

function called(functionName: string, args: readonly unknown[]): Hex {
  return encodeFunctionData({ abi: contracts().Coin.abi, functionName, args })
}

function hexOf(text: string): Hex {
  return `0x${Buffer.from(text).toString('hex')}`
}

function orderOf(shop: Hex): unknown {
  return {
    domain: { name: 'Shop', version: '1', chainId: 31_337, verifyingContract: shop },
    primaryType: 'Order',
    types: {
      EIP712Domain: [
        { name: 'name', type: 'string' },
        { name: 'version', type: 'string' },
        { name: 'chainId', type: 'uint256' },
        { name: 'verifyingContract', type: 'address' },
      ],
      Order: [
        { name: 'item', type: 'string' },
        { name: 'count', type: 'uint256' },
        { name: 'receiver', type: 'address' },
      ],
    },
    message: { item: 'A pocket', count: '3', receiver: FRIEND },
  }
}
