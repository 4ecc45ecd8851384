import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { WebAssembly } from '../webassembly.ts'
import { encodeModule } from './encoder.ts'
import { MULTIPLY_TYPE, multiplyBody } from './multiply.ts'

type Limbs = readonly bigint[]

const wasm = encodeModule({ imports: [], helpers: [], signature: MULTIPLY_TYPE, bodies: [multiplyBody()], table: [], entry: 0 })
const { exports } = new WebAssembly.Instance(new WebAssembly.Module(wasm), {})
const { entry } = exports as { readonly entry: (...limbs: bigint[]) => Limbs }

const numberOf = (limbs: Limbs): bigint => limbs.reduceRight((number, limb) => (number << 64n) | BigInt.asUintN(64, limb), 0n)
const product = (a: Limbs, b: Limbs): bigint => numberOf(entry(...a, ...b))
const expected = (a: Limbs, b: Limbs): bigint => BigInt.asUintN(256, numberOf(a) * numberOf(b))

/** Limbs whose products carry or nearly carry, in halves and as a whole. */
const EDGES = [0n, 1n, 0xffff_ffffn, 0x1_0000_0000n, 1n << 63n, (1n << 64n) - 0x1_0000_0000n, (1n << 64n) - 2n, (1n << 64n) - 1n]
const limb = fc.oneof(fc.constantFrom(...EDGES), fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }))
const word = fc.tuple(limb, limb, limb, limb)

test('agrees with BigInt for each number of limbs', () => {
  const short = fc.tuple(word, fc.nat(4)).map(([limbs, count]) => limbs.map((each, i) => (i < count ? each : 0n)))
  fc.assert(
    fc.property(fc.oneof(word, short), fc.oneof(word, short), (a, b) => {
      expect(product(a, b)).toBe(expected(a, b))
    }),
    { numRuns: 20_000 },
  )
})

test('agrees with BigInt for each pair of limbs at each pair of places', () => {
  for (const x of EDGES) {
    for (const y of EDGES) {
      for (let place = 0; place < 16; place++) {
        const a = [0n, 0n, 0n, 0n].with(place >> 2, x)
        const b = [y, y, y, y].with(place & 3, 0n)
        if (product(a, b) !== expected(a, b)) expect({ a, b, product: product(a, b) }).toEqual({ a, b, product: expected(a, b) })
      }
    }
  }
})
