/** The part of the WebAssembly API in use. TypeScript declares it only in the DOM library, which is not loaded. */
interface WebAssemblyApi {
  readonly Module: new (bytes: Uint8Array<ArrayBuffer>) => object
  readonly Instance: new (module: object, imports?: object) => { readonly exports: object }
  readonly Memory: new (options: { readonly initial: number }) => { readonly buffer: ArrayBuffer }
  compile(bytes: Uint8Array<ArrayBuffer>): Promise<object>
}

export const { WebAssembly } = globalThis as unknown as { readonly WebAssembly: WebAssemblyApi } // present in Node.js and browsers
