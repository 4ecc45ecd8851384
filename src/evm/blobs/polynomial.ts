import { Hex } from '../../eth/index.ts'
import type { Curve } from '../precompiles/curve.ts'
import { Arena, scalarAt } from './arena.ts'

/** FIELD_ELEMENTS_PER_BLOB: a blob has the values of a polynomial at this many roots of unity, in bit-reversed order (consensus-specs). */
export const ELEMENTS_PER_BLOB = 4_096
const PAIRS = ELEMENTS_PER_BLOB / 2

/** 1 / w for the root of unity w = 7^((r - 1) / 4096) of consensus-specs, and 1 / 4096; r is the order of the group. */
const INVERSE_ROOT = '0x391b2856c609b4784ae25ffab9dc59865046d17864183203961a252dd8543362'
const INVERSE_COUNT = '0x73e66878b46ae3705eb6a46a89213de7d3686828bfce5c19400fffff00100001'

/** Constants in mcl's memory. */
export interface Domain {
  readonly bls: Curve
  /** The inverse of the first root of each pair. In bit-reversed order pairs are a root and its negative, and each half-size domain is a prefix. */
  readonly inverseRoots: number
  readonly inverseCount: number
}

let domain: Domain | null = null

/** Returns the constants, always the same object. The first call takes 1 ms. */
export function domainOf(bls: Curve): Domain {
  return (domain ??= makeDomain(bls))
}

function makeDomain(bls: Curve): Domain {
  const arena = new Arena(bls)
  const [inverseRoots, inverseCount, root] = [arena.scalars(PAIRS), arena.scalars(1), arena.scalars(1)]
  bls.readScalar(root, Hex.toBytes(INVERSE_ROOT), 0)
  bls.readScalar(inverseCount, Hex.toBytes(INVERSE_COUNT), 0)
  writePowers(bls, inverseRoots, root, PAIRS)
  return { bls, inverseRoots, inverseCount }
}

/** Writes the first `count` powers of `base` in bit-reversed order. */
export function writePowers({ wasm }: Curve, out: number, base: number, count: number): void {
  let last = out
  wasm.mclBnFr_setInt32(last, 1)
  for (let exponent = 1; exponent < count; exponent++) {
    const next = scalarAt(out, reverseBits(exponent, count))
    wasm.mclBnFr_mul(next, last, base)
    last = next
  }
}

/**
 * Writes the value at `z` of the polynomial with these values, which are overwritten; z becomes another number. Halves the polynomial twelve times:
 * f(X) = g(X²) + X·h(X²), so f(z) is the value of g + z·h at z², and g and h have the values (f(x) + f(-x)) / 2 and (f(x) - f(-x)) / 2x at x². Unlike the
 * barycentric formula this never divides, so z may be a root of unity.
 */
export function evaluate({ bls: { wasm }, inverseRoots, inverseCount }: Domain, out: number, values: number, z: number): void {
  for (let pairs = PAIRS; pairs >= 1; pairs /= 2) {
    for (let i = 0; i < pairs; i++) {
      const [even, odd, half] = [scalarAt(values, 2 * i), scalarAt(values, 2 * i + 1), scalarAt(values, i)]
      wasm.mclBnFr_sub(out, even, odd)
      wasm.mclBnFr_mul(out, out, scalarAt(inverseRoots, i))
      wasm.mclBnFr_mul(out, out, z)
      wasm.mclBnFr_add(half, even, odd)
      wasm.mclBnFr_add(half, half, out)
    }
    wasm.mclBnFr_sqr(z, z)
  }
  wasm.mclBnFr_mul(out, values, inverseCount)
}

/**
 * Replaces values by 4,096 times the coefficients, lowest first. As `evaluate` it splits off the even and the odd coefficients twelve times, which stay at
 * even and odd places.
 */
export function interpolate({ bls: { wasm }, inverseRoots }: Domain, values: number, temporary: number): void {
  for (let stride = 1; stride < ELEMENTS_PER_BLOB; stride *= 2) {
    for (let i = 0; 2 * i * stride < ELEMENTS_PER_BLOB; i++) {
      for (let place = 2 * i * stride; place < (2 * i + 1) * stride; place++) {
        const [even, odd] = [scalarAt(values, place), scalarAt(values, place + stride)]
        wasm.mclBnFr_sub(temporary, even, odd)
        wasm.mclBnFr_add(even, even, odd)
        wasm.mclBnFr_mul(odd, temporary, scalarAt(inverseRoots, i))
      }
    }
  }
}

/** Returns the number below `count`, a power of two, whose bits have the opposite order. */
export function reverseBits(value: number, count: number): number {
  let reversed = 0
  for (let bit = 1; bit < count; bit *= 2) reversed = 2 * reversed + ((value & bit) === 0 ? 0 : 1)
  return reversed
}
