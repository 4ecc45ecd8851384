// Prerequisites of the browser tests: Chromium, certutil (for its trust store), and the packages of the apps. `npm test` checks them first.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { installPackages } from './packages.mjs'
import { ROOT, binOf, install } from './setup.mjs'

/** Chromium without a window: a page takes a quarter of the CPU time that it takes in the full browser. */
const HEADLESS_SHELL = '/usr/bin/chromium-headless-shell'
const PLACES = [HEADLESS_SHELL, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome', '/usr/bin/google-chrome-stable']
const BASE_ACCOUNT = join(ROOT, 'test', 'apps', 'base-account')
const KITS = join(ROOT, 'test', 'apps', 'kits')

/** The browser bundle in the SDK's package. */
export const BASE_ACCOUNT_BUNDLE = join(BASE_ACCOUNT, 'node_modules', '@base-org', 'account', 'dist', 'base-account.min.js')

/** @returns {string | null} `POCKETCHAIN_CHROMIUM`, or the path of a distribution */
export function chromium() {
  const named = process.env['POCKETCHAIN_CHROMIUM']
  return named ?? PLACES.find((place) => existsSync(place)) ?? null
}

/** Returns the reason why the browser tests cannot run, or null. */
export function noBrowser() {
  if (chromium() !== null) return null
  return 'skipped: no Chromium is installed (apt-get install chromium-headless-shell, or name one in POCKETCHAIN_CHROMIUM)'
}

/** Returns the reason why Chromium cannot trust the node's certificates, or null. */
export function noCertutil() {
  const isThere = spawnSync('certutil', ['--version']).error === undefined
  return isThere ? null : 'skipped: no certutil is installed (apt-get install libnss3-tools)'
}

/** Installs missing prerequisites: npm packages always, Debian packages in CI only. */
export function prepareBrowser() {
  install(BASE_ACCOUNT)
  install(KITS)
  const hasShell = process.env['POCKETCHAIN_CHROMIUM'] !== undefined || existsSync(HEADLESS_SHELL)
  // One by one: apt-get installs none of several of which it does not know one.
  if (!hasShell) installPackages(['chromium-headless-shell'])
  if (chromium() === null) installPackages(['chromium'])
  if (noCertutil() !== null) installPackages(['libnss3-tools'])
  if (chromium() === null) process.stdout.write(`browser tests ${noBrowser()}\n`)
  else if (noCertutil() !== null) process.stdout.write(`one browser test ${noCertutil()}\n`)
}

/** `npm run test:browser -- --runs 200 --lanes 3`: runs the browser flow many times, in parallel lanes. Prints every failure and the durations. */
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({ options: { runs: { type: 'string', default: '10' }, lanes: { type: 'string', default: '2' } } })
  install()
  prepareBrowser()
  const args = [binOf('vitest'), 'run', 'test/browser/flows.test.ts', '--disable-console-intercept', '--reporter=default']
  const env = { ...process.env, BROWSER_RUNS: values.runs, BROWSER_LANES: values.lanes }
  process.exitCode = spawnSync(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'], env }).status ?? 1
}
