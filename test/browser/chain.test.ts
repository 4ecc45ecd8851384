import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import type { Rolldown } from 'vite'
import { expect, test } from 'vitest'
import { NO_BROWSER, startBrowser } from './browser.fixture.ts'
import { playChain } from './chainpage/play.ts'
import { serve } from './sites.fixture.ts'

// eth/, evm/ and chain/ run in a browser: the same blocks come out of a page as of Node.

const PAGE = fileURLToPath(new URL('chainpage/', import.meta.url))

async function bundle(): Promise<ReadonlyMap<string, string | Uint8Array>> {
  const built = await build({
    root: PAGE,
    configFile: false,
    envFile: false,
    publicDir: false,
    logLevel: 'silent',
    mode: 'production',
    build: { write: false, modulePreload: false, target: 'esnext' },
  })
  const { output } = built as Rolldown.RolldownOutput // one output, since it is not watched and has one configuration
  return new Map(output.map((file) => [file.fileName, file.type === 'chunk' ? file.code : file.source]))
}

test.skipIf(NO_BROWSER !== null)(
  `a page runs a chain whose blocks are those of Node${NO_BROWSER === null ? '' : ` (skipped: ${NO_BROWSER})`}`,
  { timeout: 120_000 },
  async () => {
    const files = await bundle()
    const site = await serve(async (path) => {
      const file = files.get(path)
      if (file === undefined) throw new Error(`the page has no file ${path}`)
      return file
    })
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
      expect(there).toEqual(here)
    } finally {
      await browser.close()
      await site.close()
    }
  },
)
