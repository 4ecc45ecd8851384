import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ROOT } from '../../scripts/setup.mjs'
import { axeViolations } from './axe.fixture.ts'
import { NO_BROWSER, startBrowser } from './browser.fixture.ts'
import { overflow } from './explorer/explorer.fixture.ts'
import { openStage } from './stage.fixture.ts'
import type { Stage } from './stage.fixture.ts'
import { SPONSOR, VIEWS, viewScene } from './views.fixture.ts'
import type { ViewScene } from './views.fixture.ts'

// Every view of the pages, in light and dark, checked by axe. `npm run screenshots` also writes the images in docs/screenshots.

const PICTURES = join(ROOT, 'docs', 'screenshots')
const VIEWPORT = { width: 460, height: 640 }
/** The other views are captured in one color scheme only. */
const PAINTED_DARK = new Set(['batch', 'explorer', 'home', 'sponsor', 'sponsored-batch'])
const isPainting = process.env['SCREENSHOTS'] !== undefined

describe.skipIf(NO_BROWSER !== null)(`the views of the pages${NO_BROWSER === null ? '' : ` (${NO_BROWSER})`}`, () => {
  let browser: Browser
  let stage: Stage
  let scene: ViewScene
  beforeAll(async () => {
    browser = await startBrowser()
    stage = await openStage(browser, { viewport: VIEWPORT, reducedMotion: 'reduce', bypassCSP: true }, { sponsor: SPONSOR })
    scene = await viewScene(browser, stage)
    if (isPainting) mkdirSync(PICTURES, { recursive: true })
  })
  afterAll(async () => {
    await stage[Symbol.asyncDispose]()
    await browser.close()
  })

  it.each(VIEWS)(
    '$name has no serious accessibility violation, and fits narrow windows',
    async ({ name, width = VIEWPORT.width, height, show }) => {
      const { page, end } = await show(scene)
      try {
        await page.setViewportSize({ ...VIEWPORT, width })
        for (const colorScheme of isPainting ? (['light', 'dark'] as const) : []) {
          await page.emulateMedia({ colorScheme })
          if (colorScheme === 'light' || PAINTED_DARK.has(name)) await paint(page, `${name}-${colorScheme}`, { width, height })
        }
        expect.soft(await axeViolations(page)).toEqual([])
        for (const narrow of [320, 390]) {
          await page.setViewportSize({ ...VIEWPORT, width: narrow })
          expect.soft(await overflow(page), `${narrow}`).toBe(0)
        }
      } finally {
        await end()
      }
    },
  )
})

/**
 * Resizes the window to the height of the page unless another is given, because a lower window would show the fixed buttons in the middle of the
 * image. Waits until a question can be approved; what became of an approved one has no such button.
 */
async function paint(
  page: Page,
  name: string,
  { width, height }: { readonly width: number; readonly height: number | undefined },
): Promise<void> {
  if ((await page.getByTestId('approve').count()) > 0) await page.locator('.buttons .armed').waitFor()
  const whole = await page.evaluate(() => (globalThis as unknown as InPage).document.documentElement.scrollHeight) // every page has one
  await page.setViewportSize({ width, height: height ?? whole })
  await page.screenshot({ path: join(PICTURES, `${name}.png`), animations: 'disabled' })
  await page.setViewportSize({ ...VIEWPORT, width })
}

/** The DOM members that the functions here use inside a page: tests are type-checked without the DOM library. */
interface InPage {
  readonly document: { readonly documentElement: { readonly scrollHeight: number } }
}
