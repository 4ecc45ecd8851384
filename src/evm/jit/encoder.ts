// Encoder for the subset of the WebAssembly binary format in use.

/** Value types, and the empty result type. */
export const I32 = 0x7f
export const I64 = 0x7e
export const V128 = 0x7b
const NO_RESULT = 0x40

/** Growable buffer with the number encodings of the format. */
export class Writer {
  #bytes: Uint8Array<ArrayBuffer>
  #length = 0

  constructor(room = 256) {
    this.#bytes = new Uint8Array(room)
  }

  get length(): number {
    return this.#length
  }

  /** A view, valid until the next write. */
  get bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#length)
  }

  clear(): void {
    this.#length = 0
  }

  u8(value: number): this {
    if (this.#length === this.#bytes.length) this.#grow(1)
    this.#bytes[this.#length++] = value
    return this
  }

  raw(bytes: ArrayLike<number>): this {
    if (this.#length + bytes.length > this.#bytes.length) this.#grow(bytes.length)
    this.#bytes.set(bytes, this.#length)
    this.#length += bytes.length
    return this
  }

  /** LEB128, unsigned; `value` below 2^32. */
  u32(value: number): this {
    let left = value
    while (left > 0x7f) {
      this.u8((left & 0x7f) | 0x80)
      left >>>= 7
    }
    return this.u8(left)
  }

  /** LEB128, signed. */
  s32(value: number): this {
    return this.s64(value | 0, value >> 31)
  }

  /** LEB128, signed, of 64 bits in two halves. */
  s64(low: number, high: number): this {
    let [lo, hi] = [low | 0, high | 0]
    for (;;) {
      const byte = lo & 0x7f
      lo = (lo >>> 7) | (hi << 25)
      hi >>= 7
      const sign = byte & 0x40 ? -1 : 0
      if (lo === sign && hi === sign) return this.u8(byte)
      this.u8(byte | 0x80)
    }
  }

  /** Bytes with a length prefix. */
  sized(bytes: Uint8Array): this {
    return this.u32(bytes.length).raw(bytes)
  }

  name(text: string): this {
    return this.sized(new TextEncoder().encode(text))
  }

  #grow(more: number): void {
    const bytes = new Uint8Array(Math.max(2 * this.#bytes.length, this.#length + more))
    bytes.set(this.bytes)
    this.#bytes = bytes
  }
}

/** Instructions, named as in the text format. */
export const WASM = {
  if: 0x04,
  else: 0x05,
  end: 0x0b,
  block: 0x02,
  br: 0x0c,
  brIf: 0x0d,
  return: 0x0f,
  call: 0x10,
  returnCall: 0x12,
  returnCallIndirect: 0x13,
  localGet: 0x20,
  localSet: 0x21,
  localTee: 0x22,
  globalGet: 0x23,
  globalSet: 0x24,
  i32Load: 0x28,
  i64Load: 0x29,
  i32Load16u: 0x2f,
  i64Load32u: 0x35,
  i32Store: 0x36,
  i64Store: 0x37,
  i32Store8: 0x3a,
  i32Const: 0x41,
  i64Const: 0x42,
  i32Eqz: 0x45,
  i32LtS: 0x48,
  i32LtU: 0x49,
  i32GtU: 0x4b,
  i64Eqz: 0x50,
  i64Eq: 0x51,
  i64Ne: 0x52,
  i64LtS: 0x53,
  i64LtU: 0x54,
  i64GtU: 0x56,
  i64GeU: 0x5a,
  i32Add: 0x6a,
  i32Sub: 0x6b,
  i32And: 0x71,
  i32Or: 0x72,
  i32Shl: 0x74,
  i32ShrU: 0x76,
  i64Clz: 0x79,
  i64Popcnt: 0x7b,
  i64Add: 0x7c,
  i64Sub: 0x7d,
  i64Mul: 0x7e,
  i64DivU: 0x80,
  i64RemU: 0x82,
  i64And: 0x83,
  i64Or: 0x84,
  i64Xor: 0x85,
  i64Shl: 0x86,
  i64ShrS: 0x87,
  i64ShrU: 0x88,
  i32Wrap: 0xa7,
  i64ExtendU: 0xad,
} as const

/** Instructions with the prefix 0xfd. */
export const SIMD = {
  load: 0x00,
  store: 0x0b,
  const: 0x0c,
  shuffle: 0x0d,
  splat64: 0x12,
  extract64: 0x1d,
  replace64: 0x1e,
} as const

/** Byte order reversal of a vector. */
const REVERSED = [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]

/** Code of a function. Offsets and addresses are in bytes. */
export class Code extends Writer {
  op(instruction: number): this {
    return this.u8(instruction)
  }

  get(local: number): this {
    return this.u8(WASM.localGet).u32(local)
  }

  set(local: number): this {
    return this.u8(WASM.localSet).u32(local)
  }

  tee(local: number): this {
    return this.u8(WASM.localTee).u32(local)
  }

  globalGet(index: number): this {
    return this.u8(WASM.globalGet).u32(index)
  }

  globalSet(index: number): this {
    return this.u8(WASM.globalSet).u32(index)
  }

  i32(value: number): this {
    return this.u8(WASM.i32Const).s32(value)
  }

  i64(low: number, high = low >> 31): this {
    return this.u8(WASM.i64Const).s64(low, high)
  }

  call(index: number): this {
    return this.u8(WASM.call).u32(index)
  }

  returnCall(index: number): this {
    return this.u8(WASM.returnCall).u32(index)
  }

  /** Load or store with alignment hint 1. */
  memory(instruction: number, offset: number): this {
    return this.u8(instruction).u8(0).u32(offset)
  }

  simd(instruction: number): this {
    return this.u8(0xfd).u32(instruction)
  }

  simdMemory(instruction: number, offset: number): this {
    return this.simd(instruction).u8(0).u32(offset)
  }

  lane(instruction: number, lane: number): this {
    return this.simd(instruction).u8(lane)
  }

  /** Reverses the bytes of the vector on the stack. `scratch`: a local of type v128. */
  reverse(scratch: number): this {
    return this.tee(scratch).get(scratch).simd(SIMD.shuffle).raw(REVERSED)
  }

  if(): this {
    return this.u8(WASM.if).u8(NO_RESULT)
  }

  else(): this {
    return this.u8(WASM.else)
  }

  block(): this {
    return this.u8(WASM.block).u8(NO_RESULT)
  }

  brIf(depth: number): this {
    return this.u8(WASM.brIf).u32(depth)
  }

  end(): this {
    return this.u8(WASM.end)
  }

  return(): this {
    return this.u8(WASM.return)
  }
}

/** Function type. */
export interface Signature {
  readonly parameters: readonly number[]
  readonly results: readonly number[]
}

export type Import =
  | { readonly kind: 'function'; readonly name: string; readonly signature: Signature }
  | { readonly kind: 'global'; readonly name: string; readonly type: number; readonly mutable: boolean }
  | { readonly kind: 'memory'; readonly name: string }

/** A function of another type than the bodies. */
export interface Helper {
  readonly signature: Signature
  readonly body: Uint8Array
}

/** A module whose functions have one type, except helpers, which precede them. Bodies include locals and `end`. */
interface ModuleSpec {
  readonly imports: readonly Import[]
  readonly helpers: readonly Helper[]
  readonly signature: Signature
  readonly bodies: readonly Uint8Array[]
  /** indices into `bodies`: content of the module's table */
  readonly table: readonly number[]
  /** index into `bodies`: function exported as `entry` */
  readonly entry: number
}

const MODULE = 'e'

/** Returns the binary module. All imports come from the module `e`. */
export function encodeModule({ imports, helpers, signature, bodies, table, entry }: ModuleSpec): Uint8Array<ArrayBuffer> {
  const types = new Types()
  const own = types.indexOf(signature)
  const importSection = section(imports, (out, each) => writeImport(out, each, types))
  const first = imports.filter(({ kind }) => kind === 'function').length + helpers.length
  const functions = [
    ...helpers.map((helper) => ({ type: types.indexOf(helper.signature), body: helper.body })),
    ...bodies.map((body) => ({ type: own, body })),
  ]
  const size = bodies.reduce((sum, { length }) => sum + length + 5, 4_096)
  const out = new Writer(size).raw([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0])
  out.u8(1).sized(section(types.all, writeSignature))
  out.u8(2).sized(importSection)
  out.u8(3).sized(section(functions, (each, { type }) => each.u32(type)))
  out.u8(4).sized(new Writer().u32(1).u8(0x70).u8(0).u32(table.length).bytes)
  out.u8(7).sized(
    new Writer()
      .u32(1)
      .name('entry')
      .u8(0)
      .u32(first + entry).bytes,
  )
  const elements = section(table, (each, index) => each.u32(first + index))
  out.u8(9).sized(new Writer().u32(1).u32(0).u8(WASM.i32Const).s32(0).u8(WASM.end).raw(elements).bytes)
  out.u8(10).sized(section(functions, (each, { body }) => each.sized(body)))
  return out.bytes
}

function section<T>(all: readonly T[], write: (out: Writer, each: T) => void): Uint8Array {
  const out = new Writer(1_024).u32(all.length)
  for (const each of all) write(out, each)
  return out.bytes
}

class Types {
  readonly all: Signature[] = []

  indexOf(signature: Signature): number {
    const same = this.all.findIndex((known) => textOf(known) === textOf(signature))
    return same >= 0 ? same : this.all.push(signature) - 1
  }
}

function textOf({ parameters, results }: Signature): string {
  return `${parameters.join()}>${results.join()}`
}

function writeSignature(out: Writer, { parameters, results }: Signature): void {
  out.u8(0x60).sized(Uint8Array.from(parameters)).sized(Uint8Array.from(results))
}

function writeImport(out: Writer, each: Import, types: Types): void {
  out.name(MODULE).name(each.name)
  if (each.kind === 'function') out.u8(0).u32(types.indexOf(each.signature))
  else if (each.kind === 'memory') out.u8(2).u8(0).u32(1)
  else
    out
      .u8(3)
      .u8(each.type)
      .u8(each.mutable ? 1 : 0)
}
