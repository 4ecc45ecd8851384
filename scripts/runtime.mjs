// Builds the AssemblyScript programs: the engine (src/evm/runtime/ to src/evm/wasm/, keccak and hex to src/eth/wasm/) and the JSON and record writer
// (src/store/writer/ to src/store/wasm/); and copies the compiled C libraries of the package ox (to src/eth/wasm/). `node scripts/runtime.mjs` builds
// them if they are out of date, as the set-up and the test runner do.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/**
 * A module. trace: what the constant TRACE is (when it is false the compiler drops every hook); pages: the memory that it starts with, and
 * target: the folder that it goes to, where those are not the ones of its program.
 * @typedef {{ name: string, entry: string, trace?: boolean, pages?: number, target?: string }} Module
 */

/**
 * Sources that are compiled together: where they lie, where their modules go, and how many megabytes of memory those start with beyond
 * `MEMORY` of layout.ts.
 * @typedef {{ source: string, target: string, roomMb: number, modules: readonly Module[] }} Program
 */

/** @type {Program} */
const ENGINE = {
  source: 'src/evm/runtime',
  target: 'src/evm/wasm',
  roomMb: 4, // for the EVM's memories, before the module's own has to grow
  modules: [
    { name: 'keccak', entry: 'keccak.ts', pages: 1, target: 'src/eth/wasm' },
    { name: 'hex', entry: 'hex.ts', pages: 1, target: 'src/eth/wasm' },
    { name: 'native', entry: 'native.ts', pages: 1 },
    { name: 'fast', entry: 'index.ts', trace: false },
    { name: 'traced', entry: 'index.ts', trace: true },
  ],
}

/** @type {Program} */
const WRITER = {
  source: 'src/store/writer',
  target: 'src/store/wasm',
  roomMb: 0,
  modules: [
    { name: 'writer', entry: 'index.ts' },
    { name: 'scratch', entry: 'scratch.ts', pages: 17 },
  ],
}

const PROGRAMS = [ENGINE, WRITER]

/**
 * What `reader` takes from ox: its files carry the modules as text, under paths that the package does not export, and a page in a browser
 * cannot read files. Copied here, they are modules like our own, wherever the program runs.
 */
const OX = {
  source: 'node_modules/ox',
  target: 'src/eth/wasm',
  reader: 'src/eth/wasm.ts',
  modules: ['hashes', 'secp256k1'],
}

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
  ...['--use', 'abort='], // a trap is sufficient, and the module then imports only the hooks
]

/** Builds the modules of every program unless they are up to date. Throws an Error with the compiler's messages. */
export async function buildRuntime(root = ROOT) {
  for (const program of PROGRAMS) if (!isCurrent(root, program)) await buildProgram(root, program)
  if (!oxIsCurrent(root)) copyOx(root)
}

/** True if the modules are up to date (takes a few milliseconds). */
export function runtimeIsCurrent(root = ROOT) {
  return PROGRAMS.every((program) => isCurrent(root, program)) && oxIsCurrent(root)
}

async function buildProgram(/** @type {string} */ root, /** @type {Program} */ program) {
  const line = firstLine(root, program)
  for (const { name, entry, target = program.target, ...options } of modulesOf(root, program)) {
    mkdirSync(join(root, target), { recursive: true })
    writeModule(moduleFile(root, target, name), line, await compile(entry, { ...options, root, program }))
  }
}

function isCurrent(/** @type {string} */ root, /** @type {Program} */ program) {
  const modules = modulesOf(root, program)
  if (modules.length === 0) return true
  const line = firstLine(root, program)
  return modules.every(({ name, target = program.target }) => beginsWith(moduleFile(root, target, name), line))
}

function beginsWith(/** @type {string} */ file, /** @type {string} */ line) {
  return existsSync(file) && readFileSync(file, 'utf8').startsWith(line)
}

/** Copies nothing into a tree without the module that reads it. */
function oxIsCurrent(/** @type {string} */ root) {
  if (!existsSync(join(root, OX.reader))) return true
  const line = oxLine(root)
  return OX.modules.every((name) => beginsWith(moduleFile(root, OX.target, name), line))
}

function copyOx(/** @type {string} */ root) {
  mkdirSync(join(root, OX.target), { recursive: true })
  const licence = readFileSync(join(root, OX.source, 'LICENSE'), 'utf8').trim()
  const notice = `/*!\n${licence}\n\nlibsecp256k1: Copyright (c) 2013 Pieter Wuille, under the same terms.\n*/`
  for (const name of OX.modules) writeModule(moduleFile(root, OX.target, name), `${oxLine(root)}\n${notice}`, oxModule(root, name))
}

/** @returns {Uint8Array} */
function oxModule(/** @type {string} */ root, /** @type {string} */ name) {
  const file = join(OX.source, 'dist/wasm/internal', `${name}.wasm.js`)
  const base64 = /wasmBase64 = '([^']+)'/.exec(readFileSync(join(root, file), 'utf8'))?.[1]
  if (base64 === undefined) throw new Error(`${file} contains no module in base64 (ox ${versionOf(root, 'ox')})`)
  return Buffer.from(base64, 'base64')
}

/** Returns the first line of a copied module, a fingerprint of the package and this script. */
function oxLine(/** @type {string} */ root) {
  const hash = createHash('sha256').update(readFileSync(fileURLToPath(import.meta.url), 'utf8'))
  return `// Generated by scripts/runtime.mjs (sha256 ${hash.digest('hex')}) from ox ${versionOf(root, 'ox')}.`
}

/**
 * Compiles one file of the engine's runtime with everything that it imports.
 * @param {string} entry its name in src/evm/runtime/
 * @param {{ trace?: boolean, pages?: number, root?: string }} options pages: the memory that the module starts with
 * @returns {Promise<Uint8Array<ArrayBuffer>>} the module
 */
export async function compileRuntime(entry, options = {}) {
  return compile(entry, options)
}

/**
 * @param {string} entry
 * @param {{ trace?: boolean, root?: string, program?: Program, pages?: number }} options
 * @returns {Promise<Uint8Array<ArrayBuffer>>}
 */
async function compile(entry, { trace = false, root = ROOT, program = ENGINE, pages = initialPages(root, program) }) {
  // Loaded for a build only: it takes 0.3 s and requires installed packages. Its types declare global arrays that would apply to every file, so its
  // name is not a literal here.
  /** @type {{ default: Compiler }} */
  const { default: asc } = await import(COMPILER)
  /** @type {Uint8Array<ArrayBuffer> | undefined} */
  let wasm
  let messages = ''
  const args = [entry, ...OPTIONS, ...['--initialMemory', String(pages)], ...['--outFile', 'out.wasm']]
  const { error } = await asc.main([...args, ...['--baseDir', join(root, program.source)]], {
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
  if (wasm === undefined) throw new Error(`${program.source}/${entry} does not compile\n${messages}`, { cause: error })
  return wasm
}

const PAGES_PER_MB = 16

/** Initial memory of a module in pages: the fixed regions of layout.ts, and a reserve. @returns {number} */
function initialPages(/** @type {string} */ root, /** @type {Program} */ { source, roomMb }) {
  const fixed = /^export const MEMORY: usize = (\d+) \* MB$/m.exec(readFileSync(join(root, source, 'layout.ts'), 'utf8'))?.[1]
  if (fixed === undefined) throw new Error(`${source}/layout.ts has no line "export const MEMORY: usize = <number> * MB"`)
  return (Number(fixed) + roomMb) * PAGES_PER_MB
}

/** Programs whose source exists: not every tree that the set-up builds has an engine. */
function modulesOf(/** @type {string} */ root, /** @type {Program} */ { source, modules }) {
  return modules.filter(({ entry }) => existsSync(join(root, source, entry)))
}

/** Returns the first line of a module, a fingerprint of the sources, the compiler and its options. */
function firstLine(/** @type {string} */ root, /** @type {Program} */ { source }) {
  const hash = createHash('sha256')
  const names = readdirSync(join(root, source)).filter((name) => name.endsWith('.ts'))
  for (const name of names.toSorted()) hash.update(`${name}\0${readFileSync(join(root, source, name), 'utf8')}\0`)
  hash.update(readFileSync(fileURLToPath(import.meta.url), 'utf8'))
  return `// Generated by scripts/runtime.mjs from ${source}/ (sha256 ${hash.digest('hex')}, assemblyscript ${versionOf(root, 'assemblyscript')}).`
}

/** @returns {string} */
function versionOf(/** @type {string} */ root, /** @type {string} */ name) {
  const file = join(root, 'node_modules', name, 'package.json')
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).version : 'absent'
}

/**
 * Written aside and swapped in: test runs that start at the same time all see a whole file. Its type is just text: the compiler would repeat
 * the literal in the declaration.
 */
function writeModule(/** @type {string} */ file, /** @type {string} */ head, /** @type {Uint8Array} */ wasm) {
  const fresh = `${file}.${process.pid}`
  writeFileSync(fresh, `${head}\nexport default '${Buffer.from(wasm).toString('base64')}' as string\n`)
  renameSync(fresh, file)
}

function moduleFile(/** @type {string} */ root, /** @type {string} */ target, /** @type {string} */ name) {
  return join(root, target, `${name}.ts`)
}

/** vitest's globalSetup. A failed build is reported by `npm test`; tests without the runtime can still run. */
export async function setup() {
  await buildRuntime().catch((/** @type {Error} */ error) => process.stderr.write(`${error.message}\n`))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildRuntime()
