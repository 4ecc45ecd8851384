// `npm run release`: builds, packs, checks, installs and starts the package, prints the release notes, publishes it to the registry and tags the
// commit. With `-- --dry-run` it publishes and tags nothing. Notes go to stdout, or to a file with `--notes FILE`; steps go to stderr.
import './version.mjs'
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { ROOT, SetUpFailed, npm, setUp } from './setup.mjs'
import { pack, problemsOf } from './tarball.mjs'

/** The lines of the section of a version in the changelog, without its heading; null if there is none. @returns {string | null} */
export function notesOf(/** @type {string} */ changelog, /** @type {string} */ version) {
  const sections = changelog.split(/^(?=## \[)/m)
  const section = sections.find((each) => each.startsWith(`## [${version}]`))
  return section === undefined ? null : section.slice(section.indexOf('\n') + 1).trim()
}

/** The reasons not to release a working tree, one sentence each. @returns {string[]} */
export function refusals(/** @type {string} */ root) {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const changes = git(root, 'status', '--porcelain').split('\n').filter(Boolean)
  const notes = notesOf(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), version)
  const list = `${changes.slice(0, 3).join(', ')}${changes.length > 3 ? ', …' : ''}`
  return [
    ...(changes.length > 0 ? [`the working tree has ${changes.length} uncommitted changes (${list}): commit or remove them`] : []),
    ...(notes === null ? [`CHANGELOG.md has no section "## [${version}]": rename "Unreleased" and put an empty one above it`] : []),
    ...(notes === '' ? [`the section "## [${version}]" of CHANGELOG.md is empty: describe the release there`] : []),
    ...(git(root, 'tag', '--list', `v${version}`) !== ''
      ? [`the tag v${version} exists: raise the version in package.json and src/rpc/version.ts, and run npm run lock`]
      : []),
  ]
}

/** @returns {string} */
function git(/** @type {string} */ root, /** @type {string[]} */ ...args) {
  const { status, stdout, stderr, error } = spawnSync('git', args, { cwd: root, encoding: 'utf8' })
  if (status !== 0) throw new Refused(`git ${args.join(' ')}: ${error?.message ?? stderr.trim()}`)
  return stdout.trim()
}

/** Installs a tarball into an empty folder without install scripts, starts the command, requests the chain id and stops it. */
export async function tryOut(/** @type {string} */ tarball, /** @type {string} */ version) {
  const folder = mkdtempSync(join(tmpdir(), 'pocketchain-install-'))
  try {
    writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n')
    npm(['install', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel', 'error', tarball], folder)
    const command = join(folder, 'node_modules', 'pocketchain', 'dist', 'cli', 'main.js')
    const { stdout } = spawnSync(process.execPath, [command, '--version'], { cwd: folder, encoding: 'utf8' })
    if (stdout.trim() !== version) throw new Refused(`the installed command prints the version ${JSON.stringify(stdout)}, not ${version}`)
    const node = spawn(process.execPath, [command, '--port', '0', '--json'], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
    const ended = new Promise((resolve) => node.once('close', resolve))
    try {
      const [line] = await Promise.race([
        new Promise((resolve) => createInterface(node.stdout).once('line', (text) => resolve([text]))),
        ended.then((code) => [null, code]),
      ])
      if (line === null) throw new Refused('the installed command ended before it was ready')
      const chainId = await chainIdAt(JSON.parse(line).urls.http)
      if (chainId !== '0x7a69') throw new Refused(`the installed node returns the chain id ${JSON.stringify(chainId)}, not "0x7a69"`)
    } finally {
      node.kill('SIGINT')
      await ended
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** @returns {Promise<unknown>} */
async function chainIdAt(/** @type {string} */ url) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId' })
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  const { result } = /** @type {{ result?: unknown }} */ (await response.json())
  return result
}

/** A reason not to release. */
class Refused extends Error {
  /** @override */
  name = 'Refused'
}

async function release(/** @type {{ isDryRun: boolean, notesFile: string | null }} */ { isDryRun, notesFile }) {
  const reasons = refusals(ROOT)
  if (reasons.length > 0) throw new Refused(reasons.join('\n'))
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  setUp()
  const folder = mkdtempSync(join(tmpdir(), 'pocketchain-release-'))
  try {
    const tarball = pack(ROOT, folder)
    const problems = problemsOf(readFileSync(tarball))
    if (problems.length > 0) throw new Refused(problems.join('\n'))
    say(`${basename(tarball)}: ${readFileSync(tarball).length} bytes, contents as expected`)
    await tryOut(tarball, version)
    say('the tarball installs in an empty folder, starts and answers')
    const notes = `${notesOf(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'), version)}\n`
    if (notesFile === null) process.stdout.write(notes)
    else writeFileSync(notesFile, notes)
    if (isDryRun) return say('dry run: nothing was published or tagged')
    npm(['publish', tarball], ROOT)
    git(ROOT, 'tag', '--annotate', `v${version}`, '--message', `pocketchain ${version}`)
    say(`published and tagged; push the tag with: git push origin v${version}`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function say(/** @type {string} */ line) {
  process.stderr.write(`release: ${line}\n`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const args = process.argv.slice(2)
  const at = args.indexOf('--notes')
  try {
    await release({ isDryRun: args.includes('--dry-run'), notesFile: at < 0 ? null : (args[at + 1] ?? null) })
  } catch (error) {
    if (!(error instanceof Refused || error instanceof SetUpFailed)) throw error
    for (const line of error.message.split('\n')) say(line)
    process.exitCode = 1
  }
}
