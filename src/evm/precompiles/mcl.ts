/** mcl (github.com/herumi/mcl) in wasm: 5 to 15 times as fast as the fastest JavaScript implementation. One instance per curve. */
import { Bytes, nodeModule } from '../../eth/index.ts'
import { Curve } from './curve.ts'
import type { CurveName, MclExports, Memory } from './curve.ts'
import { WebAssembly } from '../webassembly.ts'

const FILE = 'mcl-wasm/dist/mcl_c.js'

const curves = new Map<CurveName, Curve>()
let compiled: object | null = null

/**
 * Returns the curve, always the same object. The first call takes 35 ms, the first call for another curve 5 to 8 ms.
 * @throws {PrecompileNotLoaded} files cannot be read synchronously and `loadCurve` was not awaited
 */
export function curve(name: CurveName): Curve {
  const known = curves.get(name)
  if (known !== undefined) return known
  const source = readSource()
  if (compiled === null && source === null) throw new PrecompileNotLoaded(name)
  compiled ??= new WebAssembly.Module(decode(source ?? ''))
  return keep(name, instantiate(compiled))
}

/** Loads a curve before its first use; compiles off the main thread. */
export async function loadCurve(name: CurveName): Promise<void> {
  if (curves.has(name)) return
  const source = compiled === null ? readSource() : ''
  if (source === null) return void keep(name, await viaImport())
  compiled ??= await WebAssembly.compile(decode(source))
  if (!curves.has(name)) keep(name, instantiate(compiled))
}

interface Instance {
  readonly wasm: MclExports
  readonly memory: Memory
}

function keep(name: CurveName, { wasm, memory }: Instance): Curve {
  const made = new Curve(name, wasm, memory)
  curves.set(name, made)
  return made
}

function instantiate(module: object): Instance {
  const memory = new WebAssembly.Memory({ initial: 32 })
  const { exports } = new WebAssembly.Instance(module, { env: { memory } })
  const wasm = exports as MclExports & { __wasm_call_ctors(): void } // the C declarations
  wasm.__wasm_call_ctors()
  return { wasm, memory }
}

/** False without a file system, and in a bundle without the package beside it: `loadCurve` must be awaited before the first use of each curve. */
export function canReadCurves(): boolean {
  return fileOfPackage() !== null
}

/**
 * Source of the package's script, which contains the module as base64; null if it cannot be read. mcl's own loader is asynchronous. The
 * package is pinned; `mcl.test.ts` fails if its format changes.
 */
function readSource(): string | null {
  const file = fileOfPackage()
  return file === null ? null : (nodeModule('fs')?.readFileSync(file, 'latin1') ?? null)
}

function fileOfPackage(): string | null {
  try {
    return (
      nodeModule('module')
        ?.createRequire(import.meta.url)
        .resolve(FILE) ?? null
    )
  } catch {
    return null
  }
}

function decode(source: string): Uint8Array<ArrayBuffer> {
  const start = source.indexOf("'AGFzb") + 1
  const end = source.indexOf("'", start)
  if (start === 0 || end < 0) throw new Error(`${FILE} holds no WebAssembly: another version than the pinned one is installed`)
  return Bytes.ofBase64(source.slice(start, end))
}

/** mcl's own loader, for bundlers. Its functions have a leading underscore. */
async function viaImport(): Promise<Instance> {
  const { default: createModule } = await import('mcl-wasm/dist/mcl_c.js')
  const module = (await createModule({})) as Record<string, unknown> & { wasmMemory: Memory } // untyped in the package
  const wasm = Object.fromEntries(Object.entries(module).map(([name, value]) => [name.replace(/^_/, ''), value]))
  return { wasm: wasm as unknown as MclExports, memory: module.wasmMemory } // the same functions as in `instantiate`
}

/** The code of a precompile is not loaded yet: await `load` and run again. */
export class PrecompileNotLoaded extends Error {
  override readonly name = 'PrecompileNotLoaded'
  readonly #curve: CurveName

  constructor(missing: CurveName) {
    super(`the code for ${missing} is not loaded yet: await load() and run again`)
    this.#curve = missing
  }

  load(): Promise<void> {
    return loadCurve(this.#curve)
  }
}
