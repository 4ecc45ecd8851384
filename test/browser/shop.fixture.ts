import assert from 'node:assert/strict'
import { verifyMessage, verifyTypedData } from 'viem'
import { SHOP, until } from './flow.fixture.ts'
import type { Flow, Scene } from './flow.fixture.ts'
import { shop } from './sites.fixture.ts'
import { act } from './stage.fixture.ts'

type Hex = `0x${string}`

interface CallsStatus {
  readonly status: number
  readonly atomic: boolean
  readonly receipts: readonly { readonly status: string; readonly transactionHash: Hex }[]
}

/** A page that loads the announcing script from the wallet. */
export const SHOP_FLOW: Flow = {
  app: 'a page with the announcing script',
  open: (stage) => {
    const proposal = {
      chainId: '0x53a',
      chainName: 'The second chain',
      nativeCurrency: { name: 'Pebble', symbol: 'PBL', decimals: 18 },
      rpcUrls: [stage.second.url],
    }
    return stage.open(shop, `shop.html?second=${encodeURIComponent(JSON.stringify(proposal))}`)
  },
  steps: [
    [
      'finds the wallet through EIP-6963',
      async ({ app }) => {
        await app.locator('#wallet').filter({ hasText: 'pocketchain' }).waitFor()
      },
    ],
    [
      'connects',
      async (scene) => {
        const accounts = (await press(scene, 'connect', 'connect')) as string[]
        assert.deepEqual(accounts[0]?.toLowerCase(), buyer(scene))
      },
    ],
    [
      'signs a message',
      async (scene) => {
        const signature = (await press(scene, 'personal-sign', 'sign')) as Hex
        assert.equal(await verifyMessage({ address: buyer(scene), message: 'I am at the shop.', signature }), true)
      },
    ],
    [
      'signs typed data',
      async (scene) => {
        const signature = (await press(scene, 'typed-data', 'sign')) as Hex
        assert.equal(await verifyTypedData({ ...ORDER, address: buyer(scene), signature }), true)
      },
    ],
    [
      'sends a transaction',
      async (scene) => {
        const before = await balance(scene)
        const hash = await press(scene, 'send', 'send')
        await until(
          () => receiptOf(scene, hash),
          (receipt) => receipt?.status === '0x1',
        )
        assert.equal((await balance(scene)) - before, 10n ** 17n)
      },
    ],
    [
      'sends a batch as a transaction for each call',
      async (scene) => {
        const before = await balance(scene)
        await press(scene, 'sequential', 'batch')
        const { atomic, receipts } = await settled(scene, 'sequential-status')
        assert.deepEqual([atomic, receipts.length], [false, 2])
        assert.equal((await balance(scene)) - before, 3n)
      },
    ],
    [
      'sends an atomic batch, after an upgrade of the account to a smart account',
      async (scene) => {
        const before = await balance(scene)
        await press(scene, 'atomic', 'upgrade', 'batch')
        const { atomic, receipts } = await settled(scene, 'atomic-status')
        assert.deepEqual([atomic, receipts.length], [true, 1])
        assert.equal((await balance(scene)) - before, 7n)
      },
    ],
    [
      'adds a chain and switches to it',
      async (scene) => {
        assert.equal(await press(scene, 'add-chain', 'addChain', 'switchChain'), null)
        await scene.app.locator('#chain').filter({ hasText: '0x53a' }).waitFor()
      },
    ],
    [
      'switches back to the first chain',
      async (scene) => {
        assert.equal(await press(scene, 'switch-chain', 'switchChain'), null)
        await scene.app.locator('#chain').filter({ hasText: '0x7a69' }).waitFor()
      },
    ],
    [
      'has a plain account after the owner removes the delegation',
      async (scene) => {
        const { approvals, node } = scene.stage
        const code = () => node.request({ method: 'eth_getCode', params: [buyer(scene), 'pending'] })
        assert.match(String(await code()), /^0xef0100/)
        await approvals.bringToFront()
        await approvals.getByTestId('done').click()
        await approvals.getByTestId('downgrade-0').click()
        await until(code, (now) => now === '0x')
        await approvals.getByTestId('downgrade-0').waitFor({ state: 'detached' })
      },
    ],
  ],
}

/** The data that the page signs, equal to pages/shop.js. */
const ORDER = {
  domain: { name: 'Shop', version: '1', chainId: 31_337, verifyingContract: SHOP },
  primaryType: 'Order',
  types: {
    Order: [
      { name: 'item', type: 'string' },
      { name: 'count', type: 'uint256' },
    ],
  },
  message: { item: 'A pocket', count: 3n },
} as const

function press({ stage, app }: Scene, action: string, ...kinds: string[]): Promise<unknown> {
  return act(app, action, stage.approvals, ...kinds)
}

function buyer({ stage }: Scene): Hex {
  return stage.node.accounts[0]!.address // a stage has ten
}

async function balance({ stage }: Scene): Promise<bigint> {
  return BigInt((await stage.node.request({ method: 'eth_getBalance', params: [SHOP, 'pending'] })) as string) // a quantity
}

async function receiptOf({ stage }: Scene, hash: unknown): Promise<{ status: string } | null> {
  return (await stage.node.request({ method: 'eth_getTransactionReceipt', params: [hash] })) as { status: string } | null
}

/** The wallet waits for the status for a limited time. */
async function settled(scene: Scene, action: string): Promise<CallsStatus> {
  const status = await until(
    async () => (await press(scene, action)) as CallsStatus,
    ({ status }) => status !== 100,
  )
  assert.equal(status.status, 200, JSON.stringify(status))
  return status
}
