/** Node has it; the ECMAScript library of TypeScript does not, and the DOM's is not wanted. */
export interface WebAssemblyApi {
  readonly Module: new (bytes: Uint8Array<ArrayBuffer>) => object
  readonly Instance: new (module: object, imports: object) => { readonly exports: object }
}

export const { WebAssembly } = globalThis as unknown as { readonly WebAssembly: WebAssemblyApi } // every engine that runs this has it
