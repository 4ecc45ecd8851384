import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { verifyMessage, verifyTypedData } from 'viem'
import { SHOP, until } from './flow.fixture.ts'
import type { Scene, Step } from './flow.fixture.ts'
import { act, answer, resultOf } from './stage.fixture.ts'

type Hex = `0x${string}`

/** Text of an app's button `account`. */
export interface ShownAccount {
  readonly status: string
  readonly address?: string
  readonly chainId?: number
}

/** Clicks a button of the app, approves the resulting questions of these kinds, and returns what the app received. */
export type Press = (scene: Scene, action: string, ...kinds: string[]) => Promise<unknown>

/** The data that the apps sign, equal to test/apps/kits/order.js. */
const MESSAGE = 'I am at the shop.'
const ORDER = {
  domain: { name: 'Shop', version: '1', chainId: 31_337 },
  primaryType: 'Order',
  types: { Order: [{ name: 'item', type: 'string' }] },
  message: { item: 'a cake' },
} as const

export function signingStep(press: Press): Step {
  return ['signs a message and typed data', (scene) => signs(scene, press)]
}

/** The actions of an app after the wallet is connected, with the buttons of test/apps/kits/actions.js. */
export function connectedSteps(press: Press): readonly Step[] {
  return [
    signingStep(press),
    [
      'sends a transaction and waits for its receipt',
      async (scene) => {
        assert.equal(await press(scene, 'send', 'send'), 'success')
        assert.equal(await balance(scene), 1n)
      },
    ],
    [
      'sends an atomic batch, as the capabilities allow, and waits for it',
      async (scene) => {
        assert.notEqual(await press(scene, 'capabilities'), null)
        await press(scene, 'send-calls', 'upgrade', 'batch')
        assert.equal(await press(scene, 'calls-status'), 'success')
        assert.equal(await balance(scene), 6n)
      },
    ],
  ]
}

/** Further actions of an app with the announced wallet. */
export const ANNOUNCED_STEPS: readonly Step[] = [
  [
    'stays connected while the node restarts',
    async (scene) => {
      await scene.stage.restart()
      await signs(scene, pressAnnounced)
      await showsAccount(scene, 31_337)
    },
  ],
  [
    'adds the chain that it switches to',
    async (scene) => {
      assert.equal(await pressAnnounced(scene, 'switch-chain', 'addChain', 'switchChain'), 1_338)
      await showsAccount(scene, 1_338)
    },
  ],
]

export function pressAnnounced({ app, stage }: Scene, action: string, ...kinds: string[]): Promise<unknown> {
  return act(app, action, stage.approvals, ...kinds)
}

/** All questions of one click appear in one window, which the SDK of the Base Account opens if none is open. */
export async function pressInWindow(scene: Scene, action: string, ...kinds: string[]): Promise<unknown> {
  const { app } = scene
  const click = () => app.locator(`#${action}`).click()
  if (kinds.length === 0) await click()
  else await answerInWindow(scene, click, refusedBefore(app, action), ...kinds)
  return resultOf(app, action)
}

/** Approves in the window that `click` opens. `refused` rejects if none will be opened. */
export async function answerInWindow(
  { app, stage }: Scene,
  click: () => Promise<void>,
  refused: Promise<never>,
  ...kinds: string[]
): Promise<void> {
  const open = stage.context.pages().find((page) => !page.isClosed() && page !== app && page !== stage.approvals) ?? null
  const [window] = await Promise.race([Promise.all([open ?? stage.context.waitForEvent('page'), click()]), refused])
  for (const kind of kinds) await answer(window, kind)
}

/** Rejects if the app shows a result although no window was opened for its questions; never resolves. */
async function refusedBefore(app: Page, action: string): Promise<never> {
  const output = app.locator(`#${action}-result`)
  await output.filter({ hasText: /./ }).waitFor({ timeout: 0 })
  throw new Error(`no window was opened, and ${action} came to ${await output.innerText()}`)
}

/** Waits until the app shows the account of the wallet on the chain. */
export async function showsAccount(scene: Scene, chainId: number): Promise<void> {
  const shown = await until(
    async () => (await pressAnnounced(scene, 'account')) as ShownAccount,
    (account) => account.status === 'connected' && account.chainId === chainId,
  )
  assert.equal(shown.address?.toLowerCase(), buyer(scene))
}

export async function showsNoAccount(scene: Scene): Promise<void> {
  await until(
    async () => (await pressAnnounced(scene, 'account')) as ShownAccount,
    ({ status }) => status === 'disconnected',
  )
}

export function buyer({ stage }: Scene): Hex {
  return stage.node.accounts[0]!.address // a stage has ten
}

async function signs(scene: Scene, press: Press): Promise<void> {
  const address = buyer(scene)
  const ofMessage = (await press(scene, 'sign-message', 'sign')) as Hex
  assert.equal(await verifyMessage({ address, message: MESSAGE, signature: ofMessage }), true)
  const ofOrder = (await press(scene, 'sign-typed-data', 'sign')) as Hex
  assert.equal(await verifyTypedData({ ...ORDER, address, signature: ofOrder }), true)
}

async function balance({ stage }: Scene): Promise<bigint> {
  return BigInt((await stage.node.request({ method: 'eth_getBalance', params: [SHOP, 'pending'] })) as string) // a quantity
}
