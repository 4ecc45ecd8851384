// `npm test [-- filter]`: set-up, every static check, the build, the tests. The last line is the runner's own count.
import './version.mjs'
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { ROOT, SetUpFailed, binOf, buildPages, buildRuntime, install } from './setup.mjs'

/**
 * A program that runs beside the others. needed: no test can run without its success; remedy: the command that repairs what it reports.
 * @typedef {{ name: string, command: string[], needed?: boolean, remedy?: string }} Step
 */

/** @type {string[]} */
const failed = []
// Begins first, because it waits for the network most of the time.
const prerequisites = runStep({ name: 'browser and servers', command: [join(ROOT, 'scripts', 'prerequisites.mjs')], needed: true })
setUpStep('install', () => install())
setUpStep('engine', () => buildRuntime())
setUpStep('pages', () => buildPages())
/** @type {readonly Step[]} */
const STEPS = [
  { name: 'lock', command: [join(ROOT, 'scripts', 'lock.mjs'), '--check'] },
  { name: 'types', command: [binOf('typescript', 'tsc'), '--noEmit', '-p', '.'] },
  { name: 'types of pages', command: [binOf('typescript', 'tsc'), '--noEmit', '-p', 'pages'] },
  { name: 'lint', command: [binOf('oxlint'), '--type-aware', '--deny-warnings'] },
  { name: 'format', command: [binOf('oxfmt'), '--check'], remedy: 'npm run format' },
  { name: 'layers', command: [join(ROOT, 'scripts', 'layers.mjs')] },
  { name: 'build', command: [join(ROOT, 'scripts', 'setup.mjs')], needed: true },
]
const stopped = (await Promise.all([prerequisites, ...STEPS.map(runStep)])).find((name) => name !== null)
if (stopped !== undefined) endWithoutTests(`${stopped} failed`)
const tally = runTests(process.argv.slice(2))
if (failed.length > 0) process.stdout.write(`\nfailed before the tests: ${failed.join(', ')}\n`)
process.stdout.write(`\n${tally.line}\n`)
process.exitCode = failed.length === 0 && tally.good ? 0 : 1

/**
 * Prints what the step printed when it has ended. Its messages on stderr appear at once, because some steps take a minute.
 * @param {Step} step
 * @returns {Promise<string | null>} the name of a needed step that failed
 */
async function runStep({ name, command, needed = false, remedy }) {
  const start = performance.now()
  const child = spawn(process.execPath, command, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] })
  process.once('exit', () => child.kill())
  /** @type {Promise<number | null>} */
  const end = new Promise((resolve) => child.once('close', resolve))
  const output = await text(child.stdout)
  const isGood = (await end) === 0
  process.stdout.write(`${output}${name}: ${seconds(start)}\n`)
  if (isGood) return null
  failed.push(remedy === undefined ? name : `${name} (${remedy})`)
  return needed ? name : null
}

/** Runs a step that the following ones require. */
function setUpStep(/** @type {string} */ name, /** @type {() => void} */ step) {
  const start = performance.now()
  try {
    step()
  } catch (error) {
    if (!(error instanceof SetUpFailed)) throw error
    endWithoutTests(`${name} failed: ${error.message}`)
  }
  process.stdout.write(`${name}: ${seconds(start)}\n`)
}

function endWithoutTests(/** @type {string} */ why) {
  process.stdout.write(`${why}; no test was run\n`)
  process.exit(1)
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

function seconds(/** @type {number} */ start) {
  return `${((performance.now() - start) / 1000).toFixed(1)} s`
}
