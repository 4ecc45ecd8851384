import { Bytes } from './bytes.ts'
import hashes from './wasm/hashes.ts'
import keccak from './wasm/keccak.ts'
import secp256k1 from './wasm/secp256k1.ts'

// TypeScript declares WebAssembly in its DOM library only, which this project does not include.
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array<ArrayBuffer>) => object
  readonly Instance: new (module: object, imports: object) => { readonly exports: object }
}

interface WasmExports {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number }
}

/** The exports that every ox module has in addition to its functions: a bump region from `heap_base` on. */
interface OxExports extends WasmExports {
  heap_base(): number
}

export interface KeccakExports extends WasmExports {
  keccak256(input: number, sizeBytes: number, output: number): void
}

export interface HashExports extends OxExports {
  sha256(input: number, sizeBytes: number, output: number): void
  ripemd160(input: number, sizeBytes: number, output: number): void
}

/** The functions return 1 on success. */
export interface Secp256k1Exports extends OxExports {
  secp256k1_init(): number
  secp256k1_randomize(seed: number): number
  secp256k1_get_public_key(privateKey: number, publicKey: number): number
  secp256k1_recover_public_key(signature: number, payload: number, sizeBytes: number, publicKey: number): number
  secp256k1_sign(
    payload: number,
    sizeBytes: number,
    privateKey: number,
    entropy: number,
    entropySizeBytes: number,
    prehash: number,
    signature: number,
  ): number
  zero(at: number, sizeBytes: number): void
}

/** A module with a growing heap. Call `bytes` after each `reserve`, which detaches the previous view. */
export interface Wasm<E extends WasmExports> {
  readonly exports: E
  readonly heap: number
  bytes(): Uint8Array
  reserve(sizeBytes: number): void
}

/** The engine's own keccak, a tenth faster than ox's. Its tables are below `heap`. */
export function loadKeccak(): Wasm<KeccakExports> {
  const exports = exportsOf(keccak) as KeccakExports // as in its source
  return roomOf(exports, 4_096)
}

/**
 * The C libraries that ox ships compiled (libsecp256k1, sha256, ripemd160), copied by the build. ox's loader is asynchronous and its public
 * modules take 36 and 76 ms to import; instantiating the same bytes here takes 1 to 4 ms.
 */
export function loadHashes(): Wasm<HashExports> {
  return loadOx<HashExports>(hashes)
}

export function loadSecp256k1(): Wasm<Secp256k1Exports> {
  return loadOx<Secp256k1Exports>(secp256k1)
}

function loadOx<E extends OxExports>(base64: string): Wasm<E> {
  const exports = exportsOf(base64) as E // the C declarations
  return roomOf(exports, exports.heap_base())
}

function exportsOf(base64: string): object {
  return new WebAssembly.Instance(new WebAssembly.Module(Bytes.ofBase64(base64)), {}).exports
}

function roomOf<E extends WasmExports>(exports: E, heap: number): Wasm<E> {
  let view = new Uint8Array(exports.memory.buffer)
  const bytes = (): Uint8Array => {
    if (view.length === 0) view = new Uint8Array(exports.memory.buffer) // growing detaches views
    return view
  }
  const reserve = (sizeBytes: number): void => {
    const missing = heap + sizeBytes - bytes().length
    if (missing > 0) exports.memory.grow(Math.ceil(missing / 65_536))
  }
  return { exports, heap, bytes, reserve }
}
