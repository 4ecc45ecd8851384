import { describe, expect, test } from 'vitest'
import { Code, encodeModule, I32, I64, WASM, Writer } from './encoder.ts'
import { WebAssembly } from '../webassembly.ts'

describe('numbers', () => {
  test.each([
    [0, [0]],
    [127, [0x7f]],
    [128, [0x80, 1]],
    [624_485, [0xe5, 0x8e, 0x26]],
    [0xffff_ffff, [0xff, 0xff, 0xff, 0xff, 0x0f]],
  ])('%d unsigned', (value, bytes) => {
    expect([...new Writer().u32(value).bytes]).toEqual(bytes)
  })

  test.each([
    [0, [0]],
    [63, [0x3f]],
    [64, [0xc0, 0]],
    [-1, [0x7f]],
    [-64, [0x40]],
    [-65, [0xbf, 0x7f]],
    [-123_456, [0xc0, 0xbb, 0x78]],
    [2 ** 31 - 1, [0xff, 0xff, 0xff, 0xff, 0x07]],
  ])('%d signed', (value, bytes) => {
    expect([...new Writer().s32(value).bytes]).toEqual(bytes)
  })

  test.each([
    0n,
    1n,
    -1n,
    63n,
    64n,
    -64n,
    -65n,
    0xffff_ffffn,
    1n << 32n,
    -(1n << 32n),
    0x1234_5678_9abc_def0n,
    (1n << 63n) - 1n,
    -(1n << 63n),
  ])('%d of 64 bits in two halves, read back by V8', (value) => {
    const code = new Code().i64(Number(BigInt.asIntN(32, value)), Number(BigInt.asIntN(32, value >> 32n)))
    expect(run([I64], code)).toBe(value)
  })
})

test('the buffer grows', () => {
  const writer = new Writer(1)
  for (let i = 0; i < 1_000; i++) writer.u8(i & 0xff)
  expect(writer.raw(new Uint8Array(5_000)).length).toBe(6_000)
  expect(writer.bytes[999]).toBe(999 & 0xff)
})

test('a module with several functions makes direct and indirect calls', () => {
  const signature = { parameters: [], results: [I32] }
  const entry = new Code().u32(0).returnCall(1).end()
  const second = new Code().u32(0).i32(1).op(WASM.returnCallIndirect).u32(0).u32(0).end()
  const third = new Code().u32(0).i32(42).end()
  const bodies = [entry, second, third].map(({ bytes }) => bytes)
  const wasm = encodeModule({ imports: [], helpers: [], signature, bodies, table: [1, 2], entry: 0 })
  expect(entryOf(wasm)()).toBe(42)
})

function run(results: readonly number[], code: Code): unknown {
  const body = new Writer().u32(0).raw(code.end().bytes).bytes
  return entryOf(encodeModule({ imports: [], helpers: [], signature: { parameters: [], results }, bodies: [body], table: [], entry: 0 }))()
}

function entryOf(wasm: Uint8Array<ArrayBuffer>): () => unknown {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(wasm), { e: {} })
  return (exports as { entry: () => unknown }).entry
}
