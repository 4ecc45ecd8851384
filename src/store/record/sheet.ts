import wasm from '../wasm/sheet.ts'

// Node and browsers have it; the ECMAScript library of TypeScript does not, and the DOM's is not wanted.
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array<ArrayBuffer>) => object
  readonly Instance: new (module: object) => { readonly exports: object }
}

/** Memory that a record is made in, laid out as SHEET_RECORD and its neighbours in writer/layout.ts say, and what is done there at once. */
export interface Sheet {
  readonly memory: {
    readonly buffer: ArrayBuffer
    /** By so many pages of 64 KiB. The buffer is another one then. */
    grow(pages: number): number
  }
  /** The first `count` texts at SHEET_LETTERS become bytes at the places that SHEET_PLACES names. Answers how many letters those should have had. */
  putTexts(count: number): number
  /** The bloom at SHEET_BLOOM becomes a payload at `to`, where there is room for it whole. Answers where that ends. */
  putBloom(to: number): number
}

/** A new one, of 1 MiB and a little: writer/sheet.ts. It needs vectors in WebAssembly, as the EVM does. */
export function newSheet(): Sheet {
  module ??= new WebAssembly.Module(new Uint8Array(Buffer.from(wasm, 'base64')))
  return new WebAssembly.Instance(module).exports as Sheet // made from writer/sheet.ts
}

let module: object | null = null
