import { closeSync, fstatSync, openSync, readSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
// Default imports: a named import that an old Node lacks would fail before nodeversion.ts reports the version.
import v8 from 'node:v8'
import vm from 'node:vm'
import zlib from 'node:zlib'

// TypeScript declares WebAssembly in its DOM library only, which this project does not include.
declare const WebAssembly: { readonly Memory: new (size: { initial: number }) => { readonly buffer: ArrayBuffer } }

/** There is one for each Node version and set of V8 flags; each has 2.6 MB. The oldest are removed. */
const MAX_CACHES = 3
const EXTENSION = '.cache'
/** V8 frees bytecode that some collections of garbage found unused, of which the start has much. */
const KEEPS_BYTECODE = '--no-flush-bytecode'
const FREES_BYTECODE = '--flush-bytecode'
const CHECKSUM_BYTES = 4

type Bundle = (exports: object, require: NodeJS.Require, __import: (specifier: string) => Promise<unknown>, filename: string) => void

/** the bundle, if V8 compiled its text and the bytecode is still to be saved, and the file for it */
let compiled: { readonly script: vm.Script; readonly cache: string } | null = null

/**
 * Evaluates a bundle (scripts/bundle.mjs: an ASCII file with one function) with the bytecode that an earlier process saved beside it, and returns its
 * exports. Node 20 has no `module.enableCompileCache`.
 */
export function evaluateBundle(bundle: URL): object {
  // V8 accepts bytecode only under the flags under which it was saved.
  v8.setFlagsFromString(KEEPS_BYTECODE)
  const path = fileURLToPath(bundle)
  // Beside the bundle, so that the same permissions protect both. The tag differs by version, flags and CPU, which V8 checks as well.
  const cache = `${path}.${v8.cachedDataVersionTag().toString(16)}${EXTENSION}`
  const cachedData = readChecked(cache)
  const script = new vm.Script(readMapped(path).toString('latin1'), {
    filename: path,
    ...(cachedData === null ? {} : { cachedData }),
  })
  if (script.cachedDataRejected === false) v8.setFlagsFromString(FREES_BYTECODE)
  else compiled = { script, cache }
  const exports = {}
  const evaluate = script.runInThisContext() as Bundle
  evaluate(exports, createRequire(bundle), (specifier) => import(specifier), path)
  return exports
}

/**
 * Saves the bytecode of what has been executed, unless the bundle was evaluated with saved bytecode. Takes 30 ms; never throws. After the last time V8
 * may free the bytecode that is not used.
 */
export function saveBytecode(isLast: boolean): void {
  if (compiled === null) return
  const { script, cache } = compiled
  save(script, cache)
  if (!isLast) return
  compiled = null
  v8.setFlagsFromString(FREES_BYTECODE)
}

function save(script: vm.Script, cache: string): void {
  const fresh = `${cache}.${crypto.randomUUID()}`
  // The folder of the package may be read-only: then nothing is serialised.
  if (!succeeds(() => writeFileSync(fresh, '', { flag: 'wx' }))) return
  const isSaved = succeeds(() => {
    writeFileSync(fresh, withChecksum(script.createCachedData()))
    renameSync(fresh, cache)
  })
  if (!isSaved) succeeds(() => rmSync(fresh))
  succeeds(() => removeOldest(cache))
}

function removeOldest(cache: string): void {
  const folder = dirname(cache)
  const others = readdirSync(folder).filter((name) => name.endsWith(EXTENSION) && name !== basename(cache))
  const ages = others.map((name) => ({ path: join(folder, name), savedMs: statSync(join(folder, name)).mtimeMs }))
  const newestFirst = ages.toSorted((a, b) => b.savedMs - a.savedMs)
  for (const { path } of newestFirst.slice(MAX_CACHES - 1)) rmSync(path)
}

/** Returns the bytecode, or `null` if it is missing or damaged: V8 checks sizes only, and damaged bytecode crashes the process. */
function readChecked(path: string): Buffer | null {
  try {
    const bytes = readMapped(path)
    const code = bytes.subarray(0, -CHECKSUM_BYTES)
    return bytes.length > CHECKSUM_BYTES && zlib.crc32(code) === bytes.readUInt32LE(code.length) ? code : null
  } catch {
    return null
  }
}

/**
 * Reads a file into the buffer of a WebAssembly.Memory, which is unmapped when it is collected. A freed malloc block of 2 MB would raise glibc's trim
 * threshold to 4 MB: the compiler threads would keep 6 MB of free memory after the start.
 */
function readMapped(path: string): Buffer {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    const { buffer } = new WebAssembly.Memory({ initial: Math.ceil(size / WASM_PAGE_BYTES) })
    return Buffer.from(buffer, 0, readSync(file, new Uint8Array(buffer, 0, size)))
  } finally {
    closeSync(file)
  }
}

const WASM_PAGE_BYTES = 65_536

function withChecksum(code: Buffer): Buffer {
  const checksum = Buffer.alloc(CHECKSUM_BYTES)
  checksum.writeUInt32LE(zlib.crc32(code))
  return Buffer.concat([code, checksum])
}

function succeeds(action: () => void): boolean {
  try {
    action()
    return true
  } catch {
    return false
  }
}
