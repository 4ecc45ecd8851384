// The engine's wasm: src/evm/runtime/ (AssemblyScript) to src/evm/wasm/. `node scripts/runtime.mjs` builds what is out of date; the set-up
// and the test runner do the same before they start.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const RUNTIME = 'src/evm/runtime'
const WASM = 'src/evm/wasm'

/**
 * The modules. trace: what the constant TRACE is (when it is false the compiler drops every hook); pages: the memory that one starts with,
 * of those that do not have the engine's.
 * @type {readonly { name: string, entry: string, trace?: boolean, pages?: number }[]}
 */
const MODULES = [
  { name: 'native', entry: 'native.ts', pages: 1 },
  { name: 'fast', entry: 'index.ts', trace: false },
  { name: 'traced', entry: 'index.ts', trace: true },
]

const COMPILER = ['assemblyscript', 'asc'].join('/')

/**
 * @typedef {{
 *   readFile: (name: string, baseDir: string) => string | null
 *   writeFile: (name: string, contents: Uint8Array | string) => void
 *   listFiles: () => string[]
 *   stderr: { write: (chunk: unknown) => void }
 * }} Surroundings
 * @typedef {{ main: (args: string[], surroundings: Surroundings) => Promise<{ error: Error | null }> }} Compiler
 */

const OPTIONS = [
  '-O3',
  '--noAssert',
  ...['--runtime', 'stub'],
  ...['--enable', 'simd,bulk-memory,sign-extension,mutable-globals'],
  '--exportTable', // compiled code puts its entries there
  ...['--use', 'abort='], // a trap says as much, and the module then imports nothing but the hooks
]

/** Builds the modules unless they were made from exactly these sources. Throws an Error with the compiler's messages. */
export async function buildRuntime(root = ROOT) {
  if (runtimeIsCurrent(root)) return
  const stamp = stampOfSources(root)
  mkdirSync(join(root, WASM), { recursive: true })
  for (const { name, entry, ...options } of modulesOf(root)) {
    writeModule(moduleFile(root, name), stamp, await compileRuntime(entry, { ...options, root }))
  }
}

/** True when there is nothing to build (a few milliseconds). */
export function runtimeIsCurrent(root = ROOT) {
  const modules = modulesOf(root)
  if (modules.length === 0) return true
  const line = firstLine(stampOfSources(root))
  return modules.every(({ name }) => {
    const file = moduleFile(root, name)
    return existsSync(file) && readFileSync(file, 'utf8').startsWith(line)
  })
}

/**
 * Compiles one file of the runtime with everything that it imports.
 * @param {string} entry its name in src/evm/runtime/
 * @param {{ trace?: boolean, pages?: number, root?: string }} options pages: the memory that the module starts with
 * @returns {Promise<Uint8Array<ArrayBuffer>>} the module
 */
export async function compileRuntime(entry, { trace = false, root = ROOT, pages = initialPages(root) } = {}) {
  // Loaded when there is something to compile: it takes 0.3 s and needs the packages to be there.
  // Its types declare arrays of their own, which must not become everybody's: so its name is no literal here.
  /** @type {{ default: Compiler }} */
  const { default: asc } = await import(COMPILER)
  /** @type {Uint8Array<ArrayBuffer> | undefined} */
  let wasm
  let messages = ''
  const args = [entry, ...OPTIONS, ...['--initialMemory', String(pages)], ...['--outFile', 'out.wasm']]
  const { error } = await asc.main([...args, ...['--baseDir', join(root, RUNTIME)]], {
    readFile: (name, baseDir) => {
      if (name === 'flags.ts') return `export const TRACE: bool = ${trace}\n`
      const file = join(baseDir, name)
      return existsSync(file) ? readFileSync(file, 'utf8') : null
    },
    writeFile: (name, contents) => {
      if (name === 'out.wasm' && typeof contents !== 'string') wasm = new Uint8Array(contents)
    },
    listFiles: () => [],
    stderr: { write: (chunk) => void (messages += String(chunk)) },
  })
  if (wasm === undefined) throw new Error(`${RUNTIME}/${entry} does not compile\n${messages}`, { cause: error })
  return wasm
}

/** Megabytes that the EVM's memories have before the module's own has to grow. */
const ROOM_MB = 4
const PAGES_PER_MB = 16

/** The memory that a module starts with, in pages: everything that has a fixed place in layout.ts, and that room. @returns {number} */
function initialPages(/** @type {string} */ root) {
  const fixed = /^export const MEMORY: usize = (\d+) \* MB$/m.exec(readFileSync(join(root, RUNTIME, 'layout.ts'), 'utf8'))?.[1]
  if (fixed === undefined) throw new Error(`${RUNTIME}/layout.ts has no line "export const MEMORY: usize = <number> * MB"`)
  return (Number(fixed) + ROOM_MB) * PAGES_PER_MB
}

/** Those whose source is there: not every tree that the set-up builds has an engine. */
function modulesOf(/** @type {string} */ root) {
  return MODULES.filter(({ entry }) => existsSync(join(root, RUNTIME, entry)))
}

/** One string that changes when the sources, the compiler or its options do. */
function stampOfSources(/** @type {string} */ root) {
  const hash = createHash('sha256')
  const names = readdirSync(join(root, RUNTIME)).filter((name) => name.endsWith('.ts'))
  for (const name of names.toSorted()) hash.update(`${name}\0${readFileSync(join(root, RUNTIME, name), 'utf8')}\0`)
  hash.update(readFileSync(fileURLToPath(import.meta.url), 'utf8'))
  return `sha256 ${hash.digest('hex')}, assemblyscript ${compilerVersion(root)}`
}

/** @returns {string} */
function compilerVersion(/** @type {string} */ root) {
  const file = join(root, 'node_modules/assemblyscript/package.json')
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).version : 'absent'
}

/** Written aside and swapped in: test runs that start at the same time all see a whole file. */
function writeModule(/** @type {string} */ file, /** @type {string} */ stamp, /** @type {Uint8Array} */ wasm) {
  const fresh = `${file}.${process.pid}`
  writeFileSync(fresh, `${firstLine(stamp)}\nexport default '${Buffer.from(wasm).toString('base64')}'\n`)
  renameSync(fresh, file)
}

function moduleFile(/** @type {string} */ root, /** @type {string} */ name) {
  return join(root, WASM, `${name}.ts`)
}

function firstLine(/** @type {string} */ stamp) {
  return `// Generated by scripts/runtime.mjs from ${RUNTIME}/ (${stamp}).`
}

/** vitest's globalSetup. A runtime that does not compile is for `npm test` to refuse; here the tests that do without it can still run. */
export async function setup() {
  await buildRuntime().catch((/** @type {Error} */ error) => process.stderr.write(`${error.message}\n`))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildRuntime()
