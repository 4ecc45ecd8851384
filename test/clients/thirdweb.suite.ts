import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { NO_BROWSER, startBrowser } from '../browser/browser.fixture.ts'
import { THIRDWEB_FLOW } from '../browser/kits.fixture.ts'
import { openStage } from '../browser/stage.fixture.ts'
import type { Stage } from '../browser/stage.fixture.ts'

// As the flows of test/browser; not among them because the packages are 270 MB.

describe.skipIf(NO_BROWSER !== null)(THIRDWEB_FLOW.app, () => {
  let browser: Browser
  let stage: Stage
  let app: Page
  beforeAll(async () => {
    browser = await startBrowser()
    stage = await openStage(browser)
    app = await THIRDWEB_FLOW.open(stage)
  })
  afterAll(async () => {
    await stage?.[Symbol.asyncDispose]()
    await browser?.close()
  })

  it.each(THIRDWEB_FLOW.steps)('%s', (_, run) => run({ stage, app }))
})
