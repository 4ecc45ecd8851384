import type { Browser, Page } from 'playwright-core'
import { encodeDeployData, encodeFunctionData } from 'viem'
import type { Hex } from 'viem'
import { contracts } from '../../src/wallet/preview/contracts.fixture.ts'
import type { SponsorChoices } from '../../src/index.ts'
import type { Provider } from '../../src/wallet/index.ts'
import { openExplorer } from './explorer/explorer.fixture.ts'
import type { Scene } from './explorer/explorer.fixture.ts'
import { answer, card } from './stage.fixture.ts'
import type { Stage } from './stage.fixture.ts'

/** A view of the approval page, produced by real requests of an app. */
export interface View {
  readonly name: string
  /** width of the window; the width of a popup by default */
  readonly width?: number
  /** height of the image; absent: that of the page */
  readonly height?: number
  /** Opens the view. Returns its page, and the function that closes it. */
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
  /** a token of which the account has a large balance */
  readonly coin: Hex
  /** a contract that takes tokens */
  readonly taker: Hex
}

const ORIGIN = 'http://shop.localhost:3000'
const FRIEND = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
/** Width of a desktop window. */
const WIDE = 1_160
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
  question('sign-permit', 'sign', ({ app, account, coin }) =>
    ask(app, 'eth_signTypedData_v4', account, JSON.stringify(permitOf(account, coin))),
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
    name: 'sponsor-empty',
    width: WIDE,
    show: async ({ stage, browser }) => {
      const { page, end } = await sponsorPage(browser, stage)
      await page.getByTestId('empty').waitFor()
      return { page, end }
    },
  },
  sponsoredQuestion('sponsored-batch', (scene) => ask(scene.app, 'wallet_sendCalls', sponsored(batchOf(scene, true), scene))),
  sponsoredQuestion('sponsor-failed', async (scene) => {
    await scene.stage.node.request({ method: 'pocketchain_sponsorFault', params: [{ kind: 'refuse', times: 1 }] })
    return ask(scene.app, 'wallet_sendCalls', sponsored(batchOf(scene, true), scene, { optional: true }))
  }),
  {
    name: 'sponsor',
    width: WIDE,
    show: async (scene) => {
      const { page, end } = await filledPage(scene)
      await page.locator('[data-testid="entry"][data-state="settled"]').first().waitFor()
      return { page, end }
    },
  },
  {
    name: 'sponsor-details',
    width: WIDE,
    show: async (scene) => {
      const { node } = scene.stage
      const { page, end } = await filledPage(scene)
      await node.request({ method: 'pocketchain_sponsorFault', params: [{ kind: 'wrong-signature' }] })
      await page.locator('[data-testid="entry"][data-state="refused"]').getByTestId('details').first().click()
      await page.locator('[data-testid="entry"][data-state="settled"]').getByTestId('details').first().click()
      await page.getByTestId('fault-banner').waitFor()
      const over = async (): Promise<void> => {
        await node.request({ method: 'pocketchain_sponsorFault', params: [null] })
        await end()
      }
      return { page, end: over }
    },
  },
  {
    name: 'sponsor-phone',
    width: 390,
    show: async (scene) => {
      const { page, end } = await filledPage(scene)
      await page.getByTestId('entry').first().waitFor()
      return { page, end }
    },
  },
  {
    name: 'sponsored-status',
    show: async (scene) => {
      const { stage } = scene
      const id = await sendSponsored(scene, [{ to: FRIEND, data: '0x' }])
      await stage.approvals.goto(`${stage.url}/wallet#batch=${id}`)
      await stage.approvals.getByTestId('batch').getByTestId('operation').waitFor()
      return { page: stage.approvals, end: () => stage.approvals.goto(`${stage.url}/wallet#`) }
    },
  },
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
    name: 'approved',
    show: async (scene) => {
      const { approvals } = scene.stage
      const sent = ask(scene.app, 'eth_sendTransaction', { from: scene.account, to: FRIEND, value: ETHER })
      await answer(approvals, 'send')
      await sent
      await approvals.locator('[data-step="sealed"].good').waitFor()
      return { page: approvals, end: () => approvals.getByTestId('done').click() }
    },
  },
  {
    name: 'failed',
    show: async (scene) => {
      const { approvals } = scene.stage
      const calls = [
        { to: scene.coin, data: called('transfer', [FRIEND, 1n]) },
        { to: scene.coin, data: called('transfer', [FRIEND, 10n ** 60n]) },
      ]
      const batch = { version: '2.0.0', from: scene.account, chainId: '0x7a69', atomicRequired: true, calls }
      const sent = ask(scene.app, 'wallet_sendCalls', batch)
      await answer(approvals, 'batch')
      await sent
      await approvals.locator('[data-step="failed"]').waitFor()
      return { page: approvals, end: () => approvals.getByTestId('done').click() }
    },
  },
  {
    name: 'activity',
    show: async ({ stage: { approvals, url } }) => {
      await approvals.goto(`${url}/wallet#activity`)
      await approvals.getByTestId('activity').first().waitFor()
      return { page: approvals, end: () => approvals.goto(`${url}/wallet#`) }
    },
  },
  {
    name: 'activity-details',
    show: async ({ stage: { approvals, url } }) => {
      await approvals.goto(`${url}/wallet#activity`)
      await approvals.locator('[data-testid="activity"][data-kind="batch"] a').first().click()
      await approvals.getByTestId('activity-details').getByTestId('call-0').waitFor()
      return { page: approvals, end: () => approvals.goto(`${url}/wallet#`) }
    },
  },
  {
    name: 'account',
    show: async ({ stage: { approvals, url }, account }) => {
      await approvals.goto(`${url}/wallet#account=${account}`)
      await approvals.getByTestId('token').first().waitFor()
      return { page: approvals, end: () => approvals.goto(`${url}/wallet#`) }
    },
  },
  {
    name: 'queue',
    show: async ({ stage: { approvals, node }, app, account }) => {
      const outcomes = ['0x6869', '0x6870'].map((message) => ask(app, 'personal_sign', message, account).catch(() => null))
      await approvals.getByTestId('queue-list').click()
      await approvals.getByTestId('queue-item').nth(1).waitFor()
      const end = async (): Promise<void> => {
        for (const { id } of node.wallet.approvals.pending) node.wallet.approvals.reject(id)
        await Promise.all(outcomes)
        await card(approvals, 'sign').waitFor({ state: 'detached' })
      }
      return { page: approvals, end }
    },
  },
  {
    name: 'policy-approve',
    show: async ({ stage: { approvals, node } }) => {
      node.wallet.approvals.setPolicy('approve')
      await approvals.getByTestId('policy-banner').waitFor()
      const end = async (): Promise<void> => {
        node.wallet.approvals.setPolicy('ask')
        await approvals.getByTestId('policy-banner').waitFor({ state: 'detached' })
      }
      return { page: approvals, end }
    },
  },
  {
    name: 'explorer',
    width: 1_120,
    height: 640,
    show: async ({ browser }) => {
      const scene = await openExplorer(browser, { hasManualClock: false, width: 1_120 })
      await fillBlocks(scene)
      return { page: scene.page, end: async () => scene[Symbol.asyncDispose]() }
    },
  },
  {
    name: 'home',
    show: async ({ stage }) => {
      await stage.approvals.goto(`${stage.url}/wallet#`)
      await stage.approvals.getByTestId('outcome').first().waitFor()
      return { page: stage.approvals, end: () => Promise.resolve() }
    },
  },
]

// --- the explorer ---------------------------------------------------------------------------------------------------------

/** Sealed blocks, then some whose flashblocks the page sees: each batch of transfers follows the promise of the former. Two promises are retracted. */
async function fillBlocks({ page, accounts, ask: request, send, go }: Scene): Promise<void> {
  const transfers = (count: number) =>
    Promise.all(
      Array.from({ length: count }, (_, i) =>
        send({ from: accounts[i % 4], to: accounts[(i % 4) + 1], value: `0x${(BigInt(i + 1) * 10n ** 15n).toString(16)}` }),
      ),
    )
  for (const count of [12, 25, 18, 30, 22, 26]) {
    await transfers(count)
    await request('evm_mine')
  }
  await go('/')
  const retractions = [9, 28]
  for (let turn = 0; turn < 32; turn++) {
    const hashes = await transfers(1 + ((turn * 5) % 7))
    await page.locator(`[data-testid="transaction"][data-hash="${hashes[0]}"]`).waitFor()
    if (turn < (retractions[0] ?? Infinity)) continue
    // Once the block is sealed the promise cannot be retracted; then one of the next batch is.
    const isRetracted = await request('pocketchain_retract', hashes[0]).then(
      () => true,
      () => false,
    )
    if (isRetracted) retractions.shift()
  }
}

// --- sponsors -----------------------------------------------------------------------------------------------------------

/** Name and icon of the stage's sponsor. */
export const SPONSOR: SponsorChoices = {
  name: 'Corner Coffee',
  icon: `data:image/svg+xml,${encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 96 96"><rect width="96" height="96" fill="#7a4b2b"/><path d="M24 34h40v18a20 20 0 0 1-40 0z" fill="#fff"/><path d="M64 38h5a9 9 0 0 1 0 18h-6" fill="none" stroke="#fff" stroke-width="5"/></svg>',
  )}`,
}

/** In a separate window: the page needs no authorization. */
async function sponsorPage(browser: Browser, stage: Stage): Promise<Shown> {
  const context = await browser.newContext({ bypassCSP: true, reducedMotion: 'reduce' })
  const page = await context.newPage()
  await page.goto(`${stage.url}/sponsor`)
  await page.getByTestId('sponsor-name').waitFor()
  return { page, end: () => context.close() }
}

/** The account is upgraded too, so the upgrade question comes first. */
function sponsoredQuestion(name: string, send: (scene: ViewScene) => Promise<unknown>): View {
  const { show } = question(name, 'batch', (scene) => {
    const outcome = send(scene)
    answer(scene.stage.approvals, 'upgrade').catch(() => {}) // a missing question fails below
    return outcome
  })
  return { name, show }
}

function sponsored(batch: object, { stage }: ViewScene, more: object = {}): object {
  return { ...batch, capabilities: { paymasterService: { url: stage.paymaster, ...more } } }
}

/** Returns the id of a completed batch. */
async function sendSponsored(scene: ViewScene, calls: readonly object[]): Promise<string> {
  const { approvals, batches } = scene.stage.node.wallet
  approvals.setPolicy('approve')
  try {
    const batch = { version: '2.0.0', from: scene.account, chainId: '0x7a69', atomicRequired: true, calls }
    const { id } = (await ask(scene.app, 'wallet_sendCalls', sponsored(batch, scene))) as { id: string } // EIP-5792
    await batches.status(id, { origin: ORIGIN, waitMs: 10_000 })
    return id
  } finally {
    approvals.setPolicy('ask')
  }
}

/** The sponsor page with entries. */
async function filledPage(scene: ViewScene): Promise<Shown> {
  const filling = filled.get(scene) ?? fillLedger(scene)
  filled.set(scene, filling)
  await filling
  return sponsorPage(scene.browser, scene.stage)
}

const filled = new WeakMap<ViewScene, Promise<void>>()

/** A decision of every kind, under policies with budgets. */
async function fillLedger(scene: ViewScene): Promise<void> {
  const { node } = scene.stage
  const request = (method: string, ...params: readonly unknown[]) => node.request({ method, params })
  const POLICIES = [
    {
      name: 'coffee',
      total: '5000000000000000',
      perDay: '2000000000000000',
      perUser: '1000000000000000',
      contracts: [{ address: scene.coin }],
    },
    { name: 'friends', total: '1000000000000000000', until: '2036-01-01T00:00:00Z' },
  ]
  await request('pocketchain_sponsorPolicies', POLICIES)
  await sendSponsored(scene, [
    { to: scene.coin, data: called('approve', [scene.taker, 5_000_000n]) },
    { to: scene.coin, data: called('transfer', [FRIEND, 2_500_000n]) },
  ])
  await sendSponsored(scene, [{ to: FRIEND, value: '0x2386f26fc10000' }])
  const refused = () =>
    sendSponsored(scene, [
      { to: FRIEND, value: '0x1' },
      { to: scene.taker, data: '0xdeadbeef' },
    ]).catch(() => null)
  await request('pocketchain_sponsorFault', { kind: 'refuse', times: 1 })
  await refused()
  await request('pocketchain_sponsorPolicies', POLICIES.slice(0, 1))
  await refused()
  await request('pocketchain_sponsorPolicies', POLICIES)
  await request('evm_mine')
  await node.sponsor.settled()
}

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

function question(name: string, kind: string, send: (scene: ViewScene) => Promise<unknown>): View {
  return {
    name,
    show: async (scene) => {
      const { approvals } = scene.stage
      const outcome = send(scene).then(
        () => new Error(`${name} was answered without an approval`),
        (error: unknown) => error,
      )
      const refusedUnasked = outcome.then((error) => Promise.reject(error as Error)) // a provider rejects with an Error
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

/** A typical purchase: an allowance that exceeds the payment, and payments. */
function batchOf({ account, coin, taker }: ViewScene, atomicRequired: boolean): object {
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

const DOMAIN = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
]

/** An unlimited allowance for an externally owned account. */
function permitOf(owner: Hex, coin: Hex): unknown {
  const uint = (name: string) => ({ name, type: 'uint256' })
  const address = (name: string) => ({ name, type: 'address' })
  return {
    domain: { name: 'Cake', version: '1', chainId: 31_337, verifyingContract: coin },
    primaryType: 'Permit',
    types: { EIP712Domain: DOMAIN, Permit: [address('owner'), address('spender'), uint('value'), uint('nonce'), uint('deadline')] },
    message: { owner, spender: FRIEND, value: (2n ** 256n - 1n).toString(), nonce: '0', deadline: '2000000000' },
  }
}

function orderOf(shop: Hex): unknown {
  return {
    domain: { name: 'Shop', version: '1', chainId: 31_337, verifyingContract: shop },
    primaryType: 'Order',
    types: {
      EIP712Domain: DOMAIN,
      Order: [
        { name: 'item', type: 'string' },
        { name: 'count', type: 'uint256' },
        { name: 'receiver', type: 'address' },
      ],
    },
    message: { item: 'A pocket', count: '3', receiver: FRIEND },
  }
}
