import wasm from '../wasm/draft.ts'
import { PlainSheet } from './plainsheet.ts'
import type { Sheet } from './sheet.ts'

// Node and browsers have it; the ECMAScript library of TypeScript does not, and the DOM's is not wanted.
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array<ArrayBuffer>) => object
  readonly Instance: new (module: object) => { readonly exports: object }
  readonly CompileError: new () => Error
}

/** A new one, of 1 MiB and a little: writer/draft.ts, or the plain one where this engine's WebAssembly has no vectors. */
export function newSheet(): Sheet {
  try {
    module ??= new WebAssembly.Module(new Uint8Array(Buffer.from(wasm, 'base64')))
    return new WebAssembly.Instance(module).exports as Sheet // made from writer/draft.ts
  } catch (error) {
    if (error instanceof WebAssembly.CompileError) return new PlainSheet()
    throw error
  }
}

let module: object | null = null
