import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { start } from '../../src/cli/cli.fixture.ts'
import { NO_BROWSER, startBrowser } from './browser.fixture.ts'
import { answer } from './stage.fixture.ts'

// `pocketchain demo` with its questions answered by a user on the approval page, in Chromium.

describe.skipIf(NO_BROWSER !== null)('the demo in a browser', () => {
  let browser: Browser
  let folder = ''
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'pocketchain-demo-'))
    browser = await startBrowser()
  })
  afterAll(async () => {
    await browser.close()
    rmSync(folder, { recursive: true, force: true })
  })

  test('completes if its questions are approved on the page', async () => {
    const command = start(['demo', '--tls-folder', join(folder, 'tls')])
    const [, link = ''] = /answer here: (\S+)\n/.exec(await command.waitForOutput(/answer here: \S+\n/)) ?? []
    const page = await browser.newPage()
    await page.goto(link)
    for (const kind of ['connect', 'upgrade', 'batch']) await answer(page, kind)
    await page.locator('[data-step="sealed"].good').waitFor()
    await command.waitForOutput(/runs until Ctrl-C/)
    const [, sponsorPage = ''] = /^ *(http:\S+\/sponsor) +#/m.exec(command.out()) ?? []
    await page.goto(sponsorPage)
    await page.locator('[data-testid="entry"][data-state="settled"]').waitFor()
    command.stop()
    expect([await command.exit, command.err()]).toEqual([0, ''])
    expect(command.out()).toMatch(/ {2}paid +[\d,]+ ms {2}customer 0 wei\n/)
  }, 60_000)
})
