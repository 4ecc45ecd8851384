import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { verifyMessage, verifyTypedData } from 'viem'
import { build } from 'vite'
import type { Rolldown } from 'vite'
import { appFolder } from '../apps.fixture.ts'
import { SHOP } from './flow.fixture.ts'
import type { Flow, Scene, Step } from './flow.fixture.ts'
import type { Content } from './sites.fixture.ts'
import { act, answer, resultOf } from './stage.fixture.ts'
import type { Stage } from './stage.fixture.ts'

type Hex = `0x${string}`

interface Connection {
  readonly accounts: readonly Hex[]
  readonly chainId: number
}

/** The data that the page signs, equal to test/apps/wagmi/main.js. */
const ORDER = {
  domain: { name: 'Shop', version: '1', chainId: 31_337 },
  primaryType: 'Order',
  types: { Order: [{ name: 'item', type: 'string' }] },
  message: { item: 'a cake' },
} as const

/**
 * wagmi's connector for the Base Account, which opens the wallet in a separate window. The page has no announcing script: wagmi makes an announced
 * wallet the current one when that wallet emits `connect` and the site is permitted to see accounts, as it is here after the first step.
 */
export const WAGMI_BASE_FLOW: Flow = {
  app: 'an app on wagmi with its baseAccount connector',
  open: (stage) => open(stage, 'baseAccount'),
  steps: stepsWith(pressInWindow),
}

/** wagmi with the wallet announced through EIP-6963. */
export const WAGMI_ANNOUNCED_FLOW: Flow = {
  app: 'an app on wagmi with the announced wallet',
  open: (stage) => open(stage, 'dev.pocketchain'),
  steps: [
    ...stepsWith((scene, action, ...kinds) => act(scene.app, action, scene.stage.approvals, ...kinds)),
    [
      'reconnects after a reload',
      async (scene) => {
        await scene.app.reload()
        assert.deepEqual(await act(scene.app, 'reconnect', scene.stage.approvals), ['dev.pocketchain'])
        const account = (await act(scene.app, 'account', scene.stage.approvals)) as { readonly address: string; readonly status: string }
        assert.deepEqual([account.address.toLowerCase(), account.status], [buyer(scene), 'connected'])
      },
    ],
    [
      'adds the chain that it switches to',
      async ({ app, stage }) => {
        assert.equal(await act(app, 'switch-chain', stage.approvals, 'addChain', 'switchChain'), 1_338)
        await app.locator('#chain').filter({ hasText: '1338' }).waitFor()
      },
    ],
    [
      'disconnects',
      async ({ app, stage }) => {
        await act(app, 'disconnect', stage.approvals)
        assert.deepEqual(await act(app, 'account', stage.approvals), { status: 'disconnected' })
      },
    ],
  ],
}

type Press = (scene: Scene, action: string, ...kinds: string[]) => Promise<unknown>

function stepsWith(press: Press): readonly Step[] {
  return [
    [
      'connects',
      async (scene) => {
        const { accounts, chainId } = (await press(scene, 'connect', 'connect')) as Connection
        assert.deepEqual([accounts[0]?.toLowerCase(), chainId], [buyer(scene), 31_337])
      },
    ],
    [
      'signs a message and typed data',
      async (scene) => {
        const address = buyer(scene)
        const ofMessage = (await press(scene, 'sign-message', 'sign')) as Hex
        assert.equal(await verifyMessage({ address, message: 'I am at the shop.', signature: ofMessage }), true)
        const ofOrder = (await press(scene, 'sign-typed-data', 'sign')) as Hex
        assert.equal(await verifyTypedData({ ...ORDER, address, signature: ofOrder }), true)
      },
    ],
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

/** All questions of one click appear in one window, which the SDK opens if none is open. */
async function pressInWindow({ stage, app }: Scene, action: string, ...kinds: string[]): Promise<unknown> {
  const open = stage.context.pages().find((page) => !page.isClosed() && page !== app && page !== stage.approvals) ?? null
  const opened = open === null && kinds.length > 0 ? stage.context.waitForEvent('page') : null
  await app.locator(`#${action}`).click()
  const window = open ?? (await Promise.race([opened, refusedBefore(app, action)]))
  for (const kind of kinds) await answer(window!, kind) // there are none without a window
  return resultOf(app, action)
}

/** Rejects if the app shows a result although no window was opened for its questions; never resolves. */
async function refusedBefore(app: Page, action: string): Promise<never> {
  const output = app.locator(`#${action}-result`)
  await output.filter({ hasText: /./ }).waitFor({ timeout: 0 })
  throw new Error(`no window was opened, and ${action} came to ${await output.innerText()}`)
}

function open(stage: Stage, connector: string): Promise<Page> {
  const query = new URLSearchParams({ node: stage.url, second: stage.second.url, connector })
  return stage.open(connector === 'baseAccount' ? () => shopFile : announcedShop, `index.html?${query.toString()}`)
}

const shopFile = async (path: string): Promise<string | Uint8Array> => {
  const file = (await bundled()).get(path)
  if (file === undefined) throw new Error(`the app has no file ${path}`)
  return file
}

const announcedShop =
  (providerUrl: string): Content =>
  async (path) => {
    const file = await shopFile(path)
    return path === 'index.html' ? String(file).replace('<script ', `<script src="${providerUrl}"></script>\n    $&`) : file
  }

let files: Promise<ReadonlyMap<string, string | Uint8Array>> | null = null

/** Builds the app with Vite, once, because a build takes some seconds. */
function bundled(): Promise<ReadonlyMap<string, string | Uint8Array>> {
  files ??= bundle()
  return files
}

async function bundle(): Promise<ReadonlyMap<string, string | Uint8Array>> {
  const root = appFolder('wagmi')
  if (root === null) throw new Error('the packages of test/apps/wagmi are missing: npm test installs them, or npm ci in its folder')
  const built = await build({
    root,
    configFile: false,
    envFile: false,
    publicDir: false,
    logLevel: 'silent',
    mode: 'production',
    // wagmi's index imports names from two of the SDKs that package.json replaces; the app does not use their connectors.
    resolve: { alias: [{ find: 'porto/internal', replacement: 'clsx' }] },
    build: { write: false, modulePreload: false, rolldownOptions: { shimMissingExports: true } },
  })
  const { output } = built as Rolldown.RolldownOutput // one output, since it is not watched and has one configuration
  return new Map(output.map((file) => [file.fileName, file.type === 'chunk' ? file.code : file.source]))
}

function buyer({ stage }: Scene): Hex {
  return stage.node.accounts[0]!.address // a stage has ten
}

async function balance({ stage }: Scene): Promise<bigint> {
  return BigInt((await stage.node.request({ method: 'eth_getBalance', params: [SHOP, 'pending'] })) as string) // a quantity
}
