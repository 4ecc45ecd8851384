import wasm from '../wasm/native.ts'

// Node and browsers have it; the ECMAScript library of TypeScript does not, and the DOM's is not wanted.
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array<ArrayBuffer>) => object
  readonly Instance: new (module: object) => { readonly exports: object }
}

/** Of src/evm/runtime/native.ts; what takes no argument returns a place in memory. */
export interface NativeExports {
  readonly memory: { readonly buffer: ArrayBuffer }
  blake2State(): number
  blake2Message(): number
  blake2Rounds(first: number, end: number): void
  modexpModulus(): number
  modexpPower(): number
  modexpTable(): number
  modexpExponent(): number
  modexpBegin(limbs: number, odd: number): void
  modexpContinue(sizeBytes: number): void
  modexpEnd(): void
}

interface Native {
  readonly wasm: NativeExports
  /** its memory, which never grows */
  readonly bytes: Uint8Array
}

let native: Native | null = null

/** The wasm of src/evm/runtime/native.ts, instantiated with the first call (0.3 ms). */
export function loadNative(): Native {
  if (native !== null) return native
  const module = new WebAssembly.Module(Uint8Array.from(atob(wasm), (character) => character.charCodeAt(0)))
  const exports = new WebAssembly.Instance(module).exports as NativeExports // as in native.ts; WebAssembly does not carry types
  return (native = { wasm: exports, bytes: new Uint8Array(exports.memory.buffer) })
}
