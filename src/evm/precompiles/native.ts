import wasm from '../wasm/native.ts'
import { WebAssembly } from '../webassembly.ts'

/** Exports of src/evm/runtime/native.ts. Functions without arguments return an address. */
interface NativeExports {
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
  /** its memory, which does not grow */
  readonly bytes: Uint8Array
}

let native: Native | null = null

/** Returns the module of src/evm/runtime/native.ts, instantiated at the first call (0.3 ms). */
export function loadNative(): Native {
  if (native !== null) return native
  const module = new WebAssembly.Module(Uint8Array.from(atob(wasm), (character) => character.charCodeAt(0)))
  const exports = new WebAssembly.Instance(module).exports as NativeExports // exports of runtime/native.ts
  return (native = { wasm: exports, bytes: new Uint8Array(exports.memory.buffer) })
}
