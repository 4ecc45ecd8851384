import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { NO_BROWSER, startBrowser } from './browser.fixture.ts'
import { playChain } from './chainpage/play.ts'
import { bundlePage, contentOf } from './pagebundle.fixture.ts'
import { serve } from './sites.fixture.ts'

// eth/, evm/ and chain/ run in a browser, where a chain has the same blocks as in Node.

const PAGE = fileURLToPath(new URL('chainpage/', import.meta.url))

test.skipIf(NO_BROWSER !== null)(
  `a page runs a chain whose blocks are those of Node${NO_BROWSER === null ? '' : ` (skipped: ${NO_BROWSER})`}`,
  async () => {
    const site = await serve(contentOf(await bundlePage(PAGE)))
    const browser = await startBrowser()
    try {
      const page = await browser.newPage()
      await page.goto(site.origin)
      await page.waitForFunction('globalThis.playChain !== undefined')
      expect(await page.evaluate('[typeof Buffer, typeof process, typeof setImmediate]')).toEqual(['undefined', 'undefined', 'undefined'])
      const there = await page.evaluate('globalThis.playChain()')
      const here = await playChain()
      expect(here.statuses).toEqual([1, 1, 1])
      expect(here.accounts[0]).toBe('0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266')
      expect(here.hashes).toHaveLength(301)
      expect(here.reason).toBe('\uFEFFGü')
      expect(here.trace.length).toBeGreaterThan(100_000)
      expect(there).toEqual(here)
    } finally {
      await browser.close()
      await site.close()
    }
  },
)
