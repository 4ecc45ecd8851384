import { chromium as driver } from 'playwright-core'
import type { Browser } from 'playwright-core'
import { chromium, noBrowser, noCertutil } from '../../scripts/browser.mjs'

/** The reason why browser tests are skipped, null if they run. In CI a missing browser is an error. */
export const NO_BROWSER = process.env['CI'] === undefined ? noBrowser() : null
export const NO_CERTUTIL = process.env['CI'] === undefined ? noCertutil() : null

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // No external name resolves, so that no test depends on the network.
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
]

/** Starts headless Chromium with a temporary profile. `home`: the home directory with the trusted CAs. */
export async function startBrowser({
  flags = [],
  home,
}: { readonly flags?: readonly string[]; readonly home?: string } = {}): Promise<Browser> {
  const executablePath = chromium()
  if (executablePath === null) throw new Error(`the tests of pages need a browser, ${noBrowser() ?? ''}`)
  const env = home === undefined ? {} : { env: { ...process.env, HOME: home } }
  return driver.launch({ executablePath, args: [...FLAGS, ...flags], ...env })
}
