import { chromium as driver } from 'playwright-core'
import type { Browser } from 'playwright-core'
import { chromium, noBrowser, noCertutil } from '../../scripts/browser.mjs'

/** A sentence when the tests of pages are to be skipped; in CI they are not, but fail with it. */
export const NO_BROWSER = process.env['CI'] === undefined ? noBrowser() : null
export const NO_CERTUTIL = process.env['CI'] === undefined ? noCertutil() : null

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // Nothing that a page asks of the world is answered, so that no test hangs on it or depends on it.
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
]

/** Chromium without a window, with a profile of its own that ends with it. `home`: where it looks whom its user trusts. */
export async function startBrowser({
  flags = [],
  home,
}: { readonly flags?: readonly string[]; readonly home?: string } = {}): Promise<Browser> {
  const executablePath = chromium()
  if (executablePath === null) throw new Error(`the tests of pages need a browser, ${noBrowser() ?? ''}`)
  const env = home === undefined ? {} : { env: { ...process.env, HOME: home } }
  return driver.launch({ executablePath, args: [...FLAGS, ...flags], ...env })
}
