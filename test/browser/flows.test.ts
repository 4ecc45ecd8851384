import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BASE_ACCOUNT_FLOW } from './baseaccount.fixture.ts'
import { NO_BROWSER, startBrowser } from './browser.fixture.ts'
import type { Scene } from './flow.fixture.ts'
import { APPKIT_FLOW, CONNECTKIT_FLOW, ONBOARD_FLOW, RAINBOWKIT_BASE_FLOW, RAINBOWKIT_FLOW } from './kits.fixture.ts'
import { repeat } from './repeat.fixture.ts'
import { SHOP_FLOW } from './shop.fixture.ts'
import { openStage } from './stage.fixture.ts'
import { TEST_DAPP_FLOW } from './testdapp.fixture.ts'
import { WAGMI_ANNOUNCED_FLOW, WAGMI_BASE_FLOW } from './wagmi.fixture.ts'

// Unmodified apps in a real browser, every question answered by a click on the approval page. BROWSER_RUNS: number of runs, 1 by default.

const FLOWS = [
  SHOP_FLOW,
  TEST_DAPP_FLOW,
  BASE_ACCOUNT_FLOW,
  WAGMI_BASE_FLOW,
  WAGMI_ANNOUNCED_FLOW,
  RAINBOWKIT_FLOW,
  RAINBOWKIT_BASE_FLOW,
  CONNECTKIT_FLOW,
  APPKIT_FLOW,
  ONBOARD_FLOW,
]
const RUNS = Number(process.env['BROWSER_RUNS'] ?? '0')

describe.skipIf(NO_BROWSER !== null)(`apps in Chromium${NO_BROWSER === null ? '' : ` (${NO_BROWSER})`}`, () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await startBrowser()
  })
  afterAll(() => browser.close())

  // oxlint-disable-next-line vitest/no-conditional-tests -- a test that never runs would be counted as skipped
  if (RUNS > 0)
    it(`${RUNS} times`, { timeout: 0 }, async () => {
      expect(await repeat(browser, FLOWS, { runs: RUNS, lanes: Number(process.env['BROWSER_LANES'] ?? '1') })).toEqual([])
    })
  else
    describe.each(FLOWS)('$app', ({ open, steps }) => {
      let scene: Scene
      let isBroken = false
      const begin = async (): Promise<void> => {
        const stage = await openStage(browser)
        scene = { stage, app: await open(stage) }
      }
      beforeAll(begin)
      afterAll(() => scene.stage[Symbol.asyncDispose]())

      it.each(steps.map(([does, run], index) => [does, run, index] as const))('%s', async (_, run, index) => {
        // After a failed step the state of its app is unknown, so the next attempt or step begins with a new stage.
        if (isBroken) {
          await scene.stage[Symbol.asyncDispose]()
          await begin()
          for (const [, runEarlier] of steps.slice(0, index)) await runEarlier(scene)
        }
        isBroken = true
        await run(scene)
        isBroken = false
      })
    })
})
