import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { verifyMessage } from 'viem'
import { BASE_ACCOUNT_BUNDLE } from '../../scripts/browser.mjs'
import { SHOP, until } from './flow.fixture.ts'
import type { Flow, Scene } from './flow.fixture.ts'
import { baseShop } from './sites.fixture.ts'
import { answer, resultOf } from './stage.fixture.ts'

type Hex = `0x${string}`

/** An app that uses the Base Account SDK, which opens the wallet in a separate window. */
export const BASE_ACCOUNT_FLOW: Flow = {
  app: 'an app on the Base Account SDK',
  open: (stage) => {
    if (!existsSync(BASE_ACCOUNT_BUNDLE))
      throw new Error(`${BASE_ACCOUNT_BUNDLE} is missing: npm test installs it, or npm ci in its folder`)
    return stage.open(() => baseShop, `base.html?chain=31337&wallet=${encodeURIComponent(`${stage.url}/wallet`)}`)
  },
  steps: [
    [
      'connects',
      async (scene) => {
        const accounts = (await press(scene, 'connect', 'connect')) as string[]
        assert.equal(accounts[0]?.toLowerCase(), buyer(scene))
      },
    ],
    [
      'signs a message',
      async (scene) => {
        const signature = (await press(scene, 'personal-sign', 'sign')) as Hex
        assert.equal(await verifyMessage({ address: buyer(scene), message: 'Hello', signature }), true)
      },
    ],
    [
      'sends a batch',
      async (scene) => {
        const answered = await press(scene, 'send-calls', 'upgrade', 'batch')
        assert.equal(typeof (answered as { id?: unknown }).id, 'string', JSON.stringify(answered))
      },
    ],
    [
      "reads the batch's status, which the SDK requests from the chain's rpc url",
      async (scene) => {
        const statusRequest = scene.app.waitForRequest((request) => request.postData()?.includes('wallet_getCallsStatus') ?? false)
        const status = await until(
          async () => (await press(scene, 'status')) as { status: number; atomic: boolean },
          ({ status }) => status !== 100,
        )
        assert.deepEqual([status.status, status.atomic], [200, true], JSON.stringify(status))
        assert.equal(new URL((await statusRequest).url()).pathname, '/')
        assert.equal(await scene.stage.node.request({ method: 'eth_getBalance', params: [SHOP, 'pending'] }), '0x3')
      },
    ],
  ],
}

/** All questions of one click appear in one window, which the SDK opens if none is open. */
async function press({ stage, app }: Scene, action: string, ...kinds: string[]): Promise<unknown> {
  const open = popup(stage.context.pages(), app, stage.approvals)
  const opened = open === null && kinds.length > 0 ? stage.context.waitForEvent('page') : null
  await app.locator(`#${action}`).click()
  const window = open ?? (await opened)
  for (const kind of kinds) await answer(window!, kind) // there are none without a window
  return resultOf(app, action)
}

function popup(pages: readonly Page[], ...others: readonly Page[]): Page | null {
  return pages.find((page) => !page.isClosed() && !others.includes(page)) ?? null
}

function buyer({ stage }: Scene): Hex {
  return stage.node.accounts[0]!.address // a stage has ten
}
