/**
 * mcl (github.com/herumi/mcl), elliptic curves compiled to wasm: 5 to 15 times as fast as the best that is written in JavaScript. One
 * instance of it computes on one curve.
 */
import { Curve } from './curve.ts'
import type { CurveName, MclExports, Memory } from './curve.ts'

const FILE = 'mcl-wasm/dist/mcl_c.js'

// Node and browsers have it; the ECMAScript library of TypeScript does not, and the DOM's is not wanted.
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array<ArrayBuffer>) => object
  readonly Instance: new (module: object, imports: object) => { readonly exports: object }
  readonly Memory: new (options: { initial: number }) => Memory
  compile(bytes: Uint8Array<ArrayBuffer>): Promise<object>
}

const curves = new Map<CurveName, Curve>()
let compiled: object | null = null

/**
 * The curve, from then on always the same object. The first call takes 35 ms, another curve's first call 5 to 8 ms.
 * @throws {NotLoaded} where files cannot be read synchronously and `loadCurve` was not awaited
 */
export function curve(name: CurveName): Curve {
  const known = curves.get(name)
  if (known !== undefined) return known
  const source = readSource()
  if (compiled === null && source === null) throw new NotLoaded(name)
  compiled ??= new WebAssembly.Module(decode(source ?? ''))
  return keep(name, instantiate(compiled))
}

/** Loads a curve ahead of its first call; compiles off the thread. */
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
  const wasm = exports as MclExports & { __wasm_call_ctors(): void } // the C declarations, which WebAssembly does not carry
  wasm.__wasm_call_ctors()
  return { wasm, memory }
}

/**
 * The package's script, which holds the module as base64; null where there is no file system. mcl's own loader is asynchronous. The
 * package is pinned to one version; `mcl.test.ts` fails if its insides ever change.
 */
function readSource(): string | null {
  const node = (globalThis as { process?: Partial<NodeJS.Process> }).process // undefined in browsers
  if (node?.getBuiltinModule === undefined) return null
  const path = node
    .getBuiltinModule('module')
    .createRequire(import.meta.url)
    .resolve(FILE)
  return node.getBuiltinModule('fs').readFileSync(path, 'latin1')
}

function decode(source: string): Uint8Array<ArrayBuffer> {
  const start = source.indexOf("'AGFzb") + 1
  const end = source.indexOf("'", start)
  if (start === 0 || end < 0) throw new Error(`${FILE} holds no WebAssembly: another version than the pinned one is installed`)
  return new Uint8Array(Buffer.from(source.slice(start, end), 'base64'))
}

/** mcl's own way, for bundlers: the functions come with an underscore before their names. */
async function viaImport(): Promise<Instance> {
  const { default: createModule } = await import('mcl-wasm/dist/mcl_c.js')
  const module = (await createModule({})) as Record<string, unknown> & { wasmMemory: Memory } // untyped in the package
  const wasm = Object.fromEntries(Object.entries(module).map(([name, value]) => [name.replace(/^_/, ''), value]))
  return { wasm: wasm as unknown as MclExports, memory: module.wasmMemory } // the same functions as in `instantiate`
}

/** A precompile's code is not there yet and cannot be had synchronously: await `load` and run again. */
export class NotLoaded extends Error {
  override readonly name = 'NotLoaded'
  readonly #curve: CurveName

  constructor(missing: CurveName) {
    super(`the code for ${missing} is not loaded yet: await load() and run again`)
    this.#curve = missing
  }

  load(): Promise<void> {
    return loadCurve(this.#curve)
  }
}
