// `npm test [-- filter]`: set-up, every static check, the build, the tests. The last line is the runner's own count.
import './version.mjs'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { prepareBrowser } from './browser.mjs'
import { prepareServers } from './servers.mjs'
import { ROOT, SetUpFailed, binOf, build, buildPages, buildRuntime, install } from './setup.mjs'

const CHECKS = [
  { name: 'lock', command: () => [join(ROOT, 'scripts', 'lock.mjs'), '--check'] },
  { name: 'types', command: () => [binOf('typescript', 'tsc'), '--noEmit', '-p', '.'] },
  { name: 'types of pages', command: () => [binOf('typescript', 'tsc'), '--noEmit', '-p', 'pages'] },
  { name: 'lint', command: () => [binOf('oxlint'), '--type-aware', '--deny-warnings'] },
  { name: 'format', command: () => [binOf('oxfmt'), '--check'], remedy: 'npm run format' },
  { name: 'layers', command: () => [join(ROOT, 'scripts', 'layers.mjs')] },
]

/** @type {string[]} */
const failed = []
setUpStep('install', () => install())
setUpStep('engine', () => buildRuntime())
setUpStep('pages', () => buildPages())
for (const { name, command, remedy } of CHECKS) {
  const seconds = timed(() => runNode(command()) || failed.push(remedy === undefined ? name : `${name} (${remedy})`))
  process.stdout.write(`${name}: ${seconds}\n`)
}
setUpStep('build', () => build())
setUpStep('browser', () => prepareBrowser())
setUpStep('servers', () => prepareServers())
const tally = runTests(process.argv.slice(2))
if (failed.length > 0) process.stdout.write(`\nfailed before the tests: ${failed.join(', ')}\n`)
process.stdout.write(`\n${tally.line}\n`)
process.exitCode = failed.length === 0 && tally.good ? 0 : 1

/** Runs a step that the following ones require. */
function setUpStep(/** @type {string} */ name, /** @type {() => void} */ step) {
  try {
    process.stdout.write(`${name}: ${timed(step)}\n`)
  } catch (error) {
    if (!(error instanceof SetUpFailed)) throw error
    process.stdout.write(`${name} failed, no test was run: ${error.message}\n`)
    process.exit(1)
  }
}

function runTests(/** @type {string[]} */ filters) {
  const folder = mkdtempSync(join(tmpdir(), 'pocketchain-tally-'))
  const file = join(folder, 'tally.json')
  const reporters = ['--reporter=default', `--reporter=${join(ROOT, 'scripts', 'tally.mjs')}`]
  try {
    const exitedWell = runNode([binOf('vitest'), 'run', ...reporters, ...filters], { POCKETCHAIN_TALLY: file })
    const { line, failures } = readTally(file)
    return { line, good: exitedWell && failures === 0 }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** @returns {{ line: string, failures: number }} */
function readTally(/** @type {string} */ file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return { line: 'vitest ended without a count: no test was run', failures: 1 }
  }
}

function runNode(/** @type {string[]} */ args, /** @type {Record<string, string>} */ env = {}) {
  const { status } = spawnSync(process.execPath, args, {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...env },
  })
  return status === 0
}

function timed(/** @type {() => void} */ step) {
  const start = performance.now()
  step()
  return `${((performance.now() - start) / 1000).toFixed(1)} s`
}
