import wasm from '../wasm/scratch.ts'

// TypeScript declares WebAssembly in its DOM library only, which this project does not include.
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array<ArrayBuffer>) => object
  readonly Instance: new (module: object) => { readonly exports: object }
}

/** Wasm memory for writing a record (SCRATCH_RECORD and the constants after it in writer/layout.ts), with two SIMD conversions. */
export interface ScratchMemory {
  readonly memory: {
    readonly buffer: ArrayBuffer
    /** Grows by `pages` of 64 KiB, which replaces `buffer`. */
    grow(pages: number): number
  }
  /** Converts the first `count` texts at SCRATCH_HEX to bytes at their SCRATCH_TARGETS. Returns the length that the texts must have had. */
  decodeHex(count: number): number
  /** Encodes the bloom at SCRATCH_BLOOM to `to`, where 257 bytes must be free. Returns its end. */
  encodeBloom(to: number): number
}

/** Starts with 1 MiB for the record. Requires wasm SIMD, as the EVM does. */
export function newScratchMemory(): ScratchMemory {
  module ??= new WebAssembly.Module(new Uint8Array(Buffer.from(wasm, 'base64')))
  return new WebAssembly.Instance(module).exports as ScratchMemory // compiled from writer/scratch.ts
}

let module: object | null = null
