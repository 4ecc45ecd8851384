// What the browser tests need beyond the packages: a Chromium, certutil to tell it whom to trust, the Base Account SDK's bundle, and wagmi. `npm test` looks for them before its tests.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { ROOT, binOf, install } from './setup.mjs'

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome', '/usr/bin/google-chrome-stable']
const BASE_ACCOUNT = join(ROOT, 'test', 'apps', 'base-account')
const WAGMI = join(ROOT, 'test', 'apps', 'wagmi')

/** The file in the SDK's package that a page loads. */
export const BASE_ACCOUNT_BUNDLE = join(BASE_ACCOUNT, 'node_modules', '@base-org', 'account', 'dist', 'base-account.min.js')

/** @returns {string | null} `POCKETCHAIN_CHROMIUM`, or where Debian and others put it */
export function chromium() {
  const named = process.env['POCKETCHAIN_CHROMIUM']
  return named ?? PLACES.find((place) => existsSync(place)) ?? null
}

/** Why the browser tests cannot run, as a sentence; null: they can. */
export function noBrowser() {
  if (chromium() !== null) return null
  return 'skipped: no Chromium is installed (apt-get install chromium, or name one in POCKETCHAIN_CHROMIUM)'
}

/** Why Chromium cannot be told to trust our certificates, as a sentence; null: it can. */
export function noCertutil() {
  const isThere = spawnSync('certutil', ['--version']).error === undefined
  return isThere ? null : 'skipped: no certutil is installed (apt-get install libnss3-tools)'
}

/** Fetches what is missing: the packages of apps always, Debian's packages in CI only, where a machine may be changed. */
export function prepareBrowser() {
  install(BASE_ACCOUNT)
  install(WAGMI)
  const missing = [...(chromium() === null ? ['chromium'] : []), ...(noCertutil() === null ? [] : ['libnss3-tools'])]
  if (missing.length > 0 && mayInstall()) installPackages(missing)
  if (chromium() === null) process.stdout.write(`browser tests ${noBrowser()}\n`)
  else if (noCertutil() !== null) process.stdout.write(`one browser test ${noCertutil()}\n`)
}

/** Root on a Debian, in CI: nobody's own machine. */
function mayInstall() {
  return process.env['CI'] !== undefined && process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')
}

function installPackages(/** @type {readonly string[]} */ names) {
  process.stderr.write(`pocketchain: installing ${names.join(', ')} (apt-get)\n`)
  const options = { stdio: /** @type {['ignore', 2, 2]} */ (['ignore', 2, 2]), env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } }
  const packages = ['install', '-y', '--no-install-recommends', ...names]
  if (spawnSync('apt-get', packages, options).status === 0) return
  // A fresh image carries no lists of packages.
  spawnSync('apt-get', ['update'], options)
  spawnSync('apt-get', packages, options)
}

/** `npm run test:browser -- --runs 200 --lanes 3`: the browser flow many times, some at once. Prints every failure, and the times. */
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({ options: { runs: { type: 'string', default: '10' }, lanes: { type: 'string', default: '2' } } })
  install()
  prepareBrowser()
  const args = [binOf('vitest'), 'run', 'test/browser/flows.test.ts', '--disable-console-intercept', '--reporter=default']
  const env = { ...process.env, BROWSER_RUNS: values.runs, BROWSER_LANES: values.lanes }
  process.exitCode = spawnSync(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'], env }).status ?? 1
}
