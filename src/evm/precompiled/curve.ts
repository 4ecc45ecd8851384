import { PAIRS_PER_BATCH } from './limits.ts'

export const CURVES = ['bn254', 'bls12381', 'p256'] as const
export type CurveName = (typeof CURVES)[number]

/** How mcl numbers them. */
const NUMBER: Readonly<Record<CurveName, number>> = { bn254: 4, bls12381: 5, p256: 107 }

/**
 * Bytes that things take in mcl's memory. Numbers of a field are in Montgomery form; a point is three of them (six on a twisted curve),
 * the third, z, being one or, at infinity, zero.
 */
export const SIZE = { field: 48, scalar: 32, g1: 144, g2: 288, gt: 576 } as const

/** Kept apart for functions that are called while the reserved bytes are in use. */
const SPARE_BYTES = 1_024

/** MCLBN_COMPILED_TIME_VAR: 10 times the 64-bit words of a scalar, plus those of a field. */
const COMPILED_FOR = 46
/** Of hash_to_curve in RFC 9380. */
const MAP_TO_CURVE = 5

/** One curve: mcl's functions and the way in and out of its memory. */
export class Curve {
  readonly wasm: MclExports
  readonly #memory: Memory
  readonly #fieldBytes: number
  readonly #transit: number
  #region = 0
  #regionBytes = 0
  #spare = 0
  #view: Uint8Array

  constructor(name: CurveName, wasm: MclExports, memory: Memory) {
    if (wasm.mclBn_init(NUMBER[name], COMPILED_FOR) !== 0) throw new Error(`mcl does not know ${name}: another version than the pinned one`)
    if (name === 'bls12381') wasm.mclBn_setMapToMode(MAP_TO_CURVE)
    // `isValid` is then about the curve only; the order is asked for where it matters.
    wasm.mclBn_verifyOrderG1(0)
    wasm.mclBn_verifyOrderG2(0)
    this.wasm = wasm
    this.#memory = memory
    this.#fieldBytes = name === 'bls12381' ? 48 : 32
    this.#transit = wasm.malloc(SIZE.field)
    this.#view = new Uint8Array(memory.buffer)
  }

  /** The start of so many bytes to work in, until the next `reserve`. */
  reserve(sizeBytes: number): number {
    if (sizeBytes <= this.#regionBytes) return this.#region
    if (this.#region !== 0) this.wasm.free(this.#region)
    this.#region = this.wasm.malloc(sizeBytes)
    this.#regionBytes = this.#region === 0 ? 0 : sizeBytes
    if (this.#region === 0) throw new RangeError(`mcl has no ${sizeBytes} bytes`)
    return this.#region
  }

  /** The same, apart from what `reserve` gave. */
  spare(sizeBytes: number): number {
    if (this.#spare === 0) this.#spare = this.wasm.malloc(SPARE_BYTES)
    if (sizeBytes > SPARE_BYTES) throw new RangeError(`${sizeBytes} bytes are more than are kept apart`)
    return this.#spare
  }

  /**
   * True when the product of so many pairings is one. `read` puts a pair at two places in memory, or says what is wrong with it, which
   * is then the answer. Uses what `reserve` gives.
   */
  isProductOne<W>(pairs: number, read: (pair: number, g1: number, g2: number) => W | null, look?: () => void): boolean | W {
    const { wasm } = this
    const part = this.reserve(2 * SIZE.gt + PAIRS_PER_BATCH * (SIZE.g1 + SIZE.g2))
    const product = part + SIZE.gt
    const left = product + SIZE.gt
    const right = left + PAIRS_PER_BATCH * SIZE.g1
    wasm.mclBnGT_setInt32(product, 1)
    for (let start = 0; start < pairs; start += PAIRS_PER_BATCH) {
      let count = 0
      for (let pair = start; pair < Math.min(pairs, start + PAIRS_PER_BATCH); pair++) {
        const [p, q] = [left + count * SIZE.g1, right + count * SIZE.g2]
        const wrong = read(pair, p, q)
        if (wrong !== null) return wrong
        // A pairing with infinity is one.
        if (wasm.mclBnG1_isZero(p) === 0 && wasm.mclBnG2_isZero(q) === 0) count++
      }
      if (count > 0) {
        wasm.mclBn_millerLoopVec(part, left, right, count)
        wasm.mclBnGT_mul(product, product, part)
      }
      look?.()
    }
    if (wasm.mclBnGT_isOne(product) === 1) return true
    wasm.mclBn_finalExp(product, product)
    return wasm.mclBnGT_isOne(product) === 1
  }

  /** A number of the base field from its big-endian bytes; false when it is not below the modulus. */
  readField(out: number, input: Uint8Array, offset: number): boolean {
    this.#reverse(input, offset, this.#fieldBytes)
    return this.wasm.mclBnFp_deserialize(out, this.#transit, this.#fieldBytes) !== 0
  }

  /** The big-endian bytes of a number of the base field. */
  writeField(output: Uint8Array, offset: number, x: number): void {
    this.wasm.mclBnFp_serialize(this.#transit, this.#fieldBytes, x)
    this.#copyReversed(output, offset, this.#fieldBytes)
  }

  /** A scalar from 32 big-endian bytes; false when it is not below the order of the group. */
  readScalar(out: number, input: Uint8Array, offset: number): boolean {
    this.#reverse(input, offset, 32)
    return this.wasm.mclBnFr_deserialize(out, this.#transit, 32) !== 0
  }

  /** The 32 big-endian bytes of a scalar. */
  writeScalar(output: Uint8Array, offset: number, x: number): void {
    this.wasm.mclBnFr_serialize(this.#transit, 32, x)
    this.#copyReversed(output, offset, 32)
  }

  /** A scalar from any 32 big-endian bytes, reduced. */
  reduceScalar(out: number, input: Uint8Array, offset: number): void {
    this.#bytes().set(input.subarray(offset, offset + 32), this.#transit)
    this.wasm.mclBnFr_setBigEndianMod(out, this.#transit, 32)
  }

  #reverse(input: Uint8Array, offset: number, size: number): void {
    const bytes = this.#bytes()
    for (let i = 0; i < size; i++) bytes[this.#transit + size - 1 - i] = input[offset + i] as number // the caller knows the length
  }

  #copyReversed(output: Uint8Array, offset: number, size: number): void {
    const bytes = this.#bytes()
    for (let i = 0; i < size; i++) output[offset + i] = bytes[this.#transit + size - 1 - i] as number // within the memory
  }

  #bytes(): Uint8Array {
    // Growing detaches the old view.
    if (this.#view.length === 0) this.#view = new Uint8Array(this.#memory.buffer)
    return this.#view
  }
}

export interface Memory {
  readonly buffer: ArrayBuffer
}

/** The C functions used here; `at`, `x`, `y`, `out` are places in its memory. Those that can fail return 0 for "worked" unless noted. */
export interface MclExports {
  malloc(sizeBytes: number): number
  free(at: number): void
  mclBn_init(curve: number, compiledFor: number): number
  mclBn_setMapToMode(mode: number): number
  mclBn_verifyOrderG1(check: number): void
  mclBn_verifyOrderG2(check: number): void
  /** little-endian; returns the bytes read, 0 when the number is not below the modulus */
  mclBnFp_deserialize(out: number, bytes: number, sizeBytes: number): number
  /** little-endian; returns the bytes written */
  mclBnFp_serialize(bytes: number, sizeBytes: number, x: number): number
  mclBnFp_setInt32(out: number, value: number): void
  mclBnFp_isZero(x: number): number
  /** 1 when x is above half the modulus */
  mclBnFp_isNegative(x: number): number
  mclBnFp_neg(out: number, x: number): void
  mclBnFp_sqr(out: number, x: number): void
  mclBnFp_mul(out: number, x: number, y: number): void
  mclBnFp_add(out: number, x: number, y: number): void
  mclBnFp_squareRoot(out: number, x: number): number
  mclBnFp_mapToG1(out: number, x: number): number
  mclBnFp2_mapToG2(out: number, x: number): number
  mclBnFp2_mul(out: number, x: number, y: number): void
  mclBnFr_setBigEndianMod(out: number, bytes: number, sizeBytes: number): number
  mclBnFr_deserialize(out: number, bytes: number, sizeBytes: number): number
  mclBnFr_serialize(bytes: number, sizeBytes: number, x: number): number
  mclBnFr_isZero(x: number): number
  mclBnFr_setInt32(out: number, value: number): void
  mclBnFr_neg(out: number, x: number): void
  mclBnFr_inv(out: number, x: number): void
  mclBnFr_mul(out: number, x: number, y: number): void
  mclBnG1_getBasePoint(out: number): void
  mclBnG1_clear(out: number): void
  mclBnG1_isZero(x: number): number
  mclBnG1_isValid(x: number): number
  mclBnG1_isValidOrder(x: number): number
  mclBnG1_add(out: number, x: number, y: number): void
  mclBnG1_mul(out: number, x: number, scalar: number): void
  /** changes the scalars and the points */
  mclBnG1_mulVec(out: number, points: number, scalars: number, count: number): void
  mclBnG1_normalize(out: number, x: number): void
  mclBnG2_clear(out: number): void
  mclBnG2_isZero(x: number): number
  mclBnG2_isEqual(x: number, y: number): number
  mclBnG2_isValid(x: number): number
  mclBnG2_isValidOrder(x: number): number
  mclBnG2_neg(out: number, x: number): void
  mclBnG2_dbl(out: number, x: number): void
  mclBnG2_add(out: number, x: number, y: number): void
  mclBnG2_mulVec(out: number, points: number, scalars: number, count: number): void
  mclBnG2_normalize(out: number, x: number): void
  mclBn_millerLoopVec(out: number, g1: number, g2: number, count: number): void
  mclBn_getUint64NumToPrecompute(): number
  mclBn_precomputeG2(out: number, g2: number): void
  mclBn_precomputedMillerLoop2(out: number, g1: number, lines: number, otherG1: number, otherLines: number): void
  mclBn_finalExp(out: number, x: number): void
  mclBnGT_setInt32(out: number, value: number): void
  mclBnGT_mul(out: number, x: number, y: number): void
  mclBnGT_isOne(x: number): number
}
