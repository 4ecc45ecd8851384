// Prepares a fresh clone to run: installs packages, then builds. Uses Node modules only, because node_modules may be absent.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, extname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { withExtraCertificates } from './certificates.mjs'
import { pagesAreCurrent } from './pages.mjs'
import { runtimeIsCurrent } from './runtime.mjs'
import { removeUnreachable } from './unreachable.mjs'

export const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** Installs and builds everything that is missing or out of date; takes a few milliseconds if nothing is. Throws SetUpFailed. */
export function setUp(root = ROOT) {
  install(root)
  build(root)
}

/** Runs `npm ci` without install scripts unless node_modules has the packages of the lock file. */
export function install(root = ROOT) {
  if (installIsCurrent(root)) return
  say('installing packages (npm ci)')
  npm(['ci', '--ignore-scripts', '--no-audit', '--no-fund'], root)
}

/** Compiles src/ to dist/ unless it is up to date. */
export function build(root = ROOT) {
  buildRuntime(root)
  buildPages(root)
  const fingerprint = fingerprintOfSources(root)
  if (readText(join(root, 'dist', FINGERPRINT)) === fingerprint) return
  say('building src/ to dist/')
  // Built in a temporary folder and renamed, so that dist/ never contains part of a build or a file without a source.
  const fresh = join(root, `dist.${process.pid}`)
  try {
    compile(root, fresh)
    copyAssets(join(root, 'src'), fresh)
    finishCommand(root, fresh)
    writeFileSync(join(fresh, FINGERPRINT), fingerprint)
    swapIn(fresh, join(root, 'dist'))
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
}

const BEATEN = new Set(['ENOENT', 'ENOTEMPTY', 'EEXIST'])

/** Replaces a folder atomically. If several processes build concurrently, one of the builds remains. */
function swapIn(/** @type {string} */ from, /** @type {string} */ to) {
  const old = `${from}.old`
  try {
    if (existsSync(to)) renameSync(to, old)
    renameSync(from, to)
  } catch (error) {
    // Another process was first: ENOENT, it removed the old build; ENOTEMPTY or EEXIST, its build is in place.
    if (!(error instanceof Error && 'code' in error && BEATEN.has(String(error.code)))) throw error
  } finally {
    rmSync(old, { recursive: true, force: true })
  }
}

/** Compiles the engine and the writer to src/evm/wasm/ and src/store/wasm/, which src/ imports, so also before a type check. */
export function buildRuntime(root = ROOT) {
  if (runtimeIsCurrent(root)) return
  say('building the wasm modules (src/evm/runtime/, src/store/writer/)')
  run(process.execPath, [join(root, 'scripts', 'runtime.mjs')], root)
}

/** Builds the browser pages to src/server/pages/, from where the server serves them. */
export function buildPages(root = ROOT) {
  if (pagesAreCurrent(root)) return
  say('building the browser pages (pages/)')
  run(process.execPath, [join(root, 'scripts', 'pages.mjs')], root)
}

/** True if every package of the lock file is installed in its version (optional packages of other platforms may be missing). */
export function installIsCurrent(root = ROOT) {
  const wanted = packagesOf(join(root, 'package-lock.json'))
  const present = packagesOf(join(root, 'node_modules', '.package-lock.json')) // npm's own record of what it put there
  if (wanted === undefined || present === undefined) return false
  const right = Object.entries(wanted).every(([path, { version, integrity, optional }]) => {
    if (path === '') return true
    const found = present[path]
    return found === undefined ? optional === true : found.version === version && found.integrity === integrity
  })
  return right && Object.keys(present).every((path) => path in wanted)
}

/** Returns a fingerprint of the files that the build reads. */
export function fingerprintOfSources(root = ROOT) {
  const hash = createHash('sha256')
  const files = [...BUILD_FILES.map((file) => join(root, file)), ...walk(join(root, 'src')).filter(isBuilt)]
  for (const file of files) {
    const { size, mtimeMs } = statSync(file)
    hash.update(`${relative(root, file)}\0${size}\0${mtimeMs}\n`)
  }
  return hash.digest('hex')
}

/** Returns the path of the script that a package installs as the command `name`. */
export function binOf(/** @type {string} */ packageName, name = packageName, root = ROOT) {
  const folder = join(root, 'node_modules', packageName)
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return join(folder, typeof bin === 'string' ? bin : bin[name])
}

/** Runs npm: the one that started this process, else the one in PATH. */
export function npm(/** @type {string[]} */ args, /** @type {string} */ cwd) {
  const own = process.env['npm_execpath']
  if (own !== undefined && own.endsWith('.js')) run(process.execPath, [own, ...args], cwd)
  else run('npm', args, cwd)
}

/** Bundles the command and the exports, makes the command executable, and removes the modules that only its bundle contains. */
function finishCommand(/** @type {string} */ root, /** @type {string} */ dist) {
  const command = join(dist, 'cli', 'main.js')
  if (!existsSync(command)) return
  run(process.execPath, [join(root, 'scripts', 'bundle.mjs'), root, dist], root)
  removeUnreachable(root, dist)
  chmodSync(command, 0o755)
}

const FINGERPRINT = '.fingerprint'
const BUILD_FILES = [
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'scripts/setup.mjs',
  'scripts/bundle.mjs',
  'scripts/unreachable.mjs',
]
const TEST_FILE = /\.(test|fixture)\.[a-z]+$/
/**
 * What the program does not consist of: data of tests, and sources in AssemblyScript. What those compile to (src/evm/wasm/, src/store/wasm/)
 * names their content in its first line, so it represents them in the fingerprint.
 */
const OTHER_FOLDERS = new Set(['fixtures', 'testdata', 'runtime', 'writer'])

/** Copies data files (JSON, snapshots, wasm) to the same path in dist/. */
function copyAssets(/** @type {string} */ from, /** @type {string} */ to) {
  for (const file of walk(from)) {
    if (!isBuilt(file) || ['.ts', '.md'].includes(extname(file))) continue
    const target = join(to, relative(from, file))
    mkdirSync(dirname(target), { recursive: true })
    cpSync(file, target)
  }
}

function isBuilt(/** @type {string} */ file) {
  return !TEST_FILE.test(file)
}

/** @returns {string[]} every file below a folder, in a stable order, without those that only tests read */
function walk(/** @type {string} */ folder) {
  if (!existsSync(folder)) return []
  const entries = readdirSync(folder, { withFileTypes: true }).toSorted((a, b) => (a.name < b.name ? -1 : 1))
  return entries.flatMap((entry) => {
    const path = join(folder, entry.name)
    if (!entry.isDirectory()) return [path]
    return OTHER_FOLDERS.has(entry.name) ? [] : walk(path)
  })
}

/** @returns {Record<string, { version?: string, integrity?: string, optional?: boolean }> | undefined} */
function packagesOf(/** @type {string} */ lockFile) {
  const text = readText(lockFile)
  return text === undefined ? undefined : JSON.parse(text).packages
}

function readText(/** @type {string} */ file) {
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined
}

function run(/** @type {string} */ command, /** @type {string[]} */ args, /** @type {string} */ cwd) {
  // Steps print to stderr: stdout is the output of the program (programs read `npm start -- --json`).
  const shell = process.platform === 'win32' && command === 'npm'
  const { status, error } = spawnSync(command, args, { cwd, shell, stdio: ['ignore', 2, 2], env: withExtraCertificates() })
  if (status !== 0) throw new SetUpFailed(`${command} ${args.join(' ')}: ${error?.message ?? `exit code ${status}`}`)
}

/** Compiles to JavaScript without comments, except licences: the declarations have the docstrings, and comments are a sixth of the text. */
function compile(/** @type {string} */ root, /** @type {string} */ outDir) {
  const withoutComments = `${outDir}.js`
  try {
    compileTo(root, outDir, [])
    compileTo(root, withoutComments, ['--declaration', 'false', '--removeComments', '--noCheck']) // the line above has checked them
    for (const path of readdirSync(withoutComments, { recursive: true, encoding: 'utf8' }).filter((name) => extname(name) === '.js')) {
      const [file, target] = [join(withoutComments, path), join(outDir, path)]
      if (!readFileSync(target, 'utf8').includes(LICENCE)) renameSync(file, target)
    }
  } finally {
    rmSync(withoutComments, { recursive: true, force: true })
  }
}

/** Begins a comment with a licence. */
const LICENCE = '/*!'

function compileTo(/** @type {string} */ root, /** @type {string} */ outDir, /** @type {string[]} */ options) {
  const args = [binOf('typescript', 'tsc', root), '-p', 'tsconfig.build.json', '--outDir', outDir, ...options]
  const { status, error, stdout } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
  if (status !== 0) throw new SetUpFailed(`src/ does not compile\n${error?.message ?? stdout}`)
}

function say(/** @type {string} */ line) {
  process.stderr.write(`pocketchain: ${line}\n`)
}

export class SetUpFailed extends Error {
  /** @override */
  name = 'SetUpFailed'
}

if (process.argv[1] === fileURLToPath(import.meta.url)) setUp()
