import { expect, it } from 'vitest'
import { valueOf } from './chain.fixture.ts'
import { KIND, highOf, keyOfBytes, keyOfRow, lowOf } from './keys.ts'

const BITS = 39

/** Numbers in order, in the last bytes; in the first bytes, as a string has them; multiples; and as addresses. */
const SERIES: readonly ((n: number) => Uint8Array)[] = [
  (n) => valueOf(n),
  (n) => valueOf(n).reverse(),
  (n) => valueOf(n * 65_536),
  (n) => valueOf(n, 20),
]

it('spreads similar values evenly', () => {
  for (const series of SERIES) {
    for (const unit of [2 ** (BITS - 8), 2 ** 12, 1]) {
      const bins = new Array<number>(256).fill(0)
      for (let n = 0; n < 25_600; n++) bins[Math.floor(keyOfBytes(KIND.topic, series(n)) / unit) % 256]!++
      const chiSquare = bins.reduce((sum, count) => sum + (count - 100) ** 2 / 100, 0)
      expect(chiSquare).toBeLessThan(340) // of 255 degrees of freedom: once in 4,000
    }
  }
})

it('differs by kind, size and value', () => {
  const kinds = [KIND.block, KIND.transaction, KIND.address, ...[0, 1, 2, 3].map((i) => KIND.topic + i)]
  const keys = kinds.flatMap((kind) => Array.from({ length: 1_000 }, (_, n) => keyOfBytes(kind, valueOf(n))))
  expect(new Set([...keys, keyOfBytes(KIND.address, valueOf(5, 20))]).size).toBe(7_001)
})

it("does not depend on the value's offset", () => {
  const bytes = new Uint8Array(100)
  bytes.set(valueOf(77), 33)
  expect(keyOfBytes(KIND.block, bytes.subarray(33, 65))).toBe(keyOfBytes(KIND.block, valueOf(77)))
})

it('converts to a row and back', () => {
  for (let n = 0; n < 1_000; n++) {
    const key = keyOfBytes(KIND.topic, valueOf(n))
    expect(keyOfRow(lowOf(key) | 0xff_ffff, highOf(key))).toBe(key)
  }
})
