import { PAIRS_PER_BATCH } from './limits.ts'

export const CURVES = ['bn254', 'bls12381', 'p256'] as const
export type CurveName = (typeof CURVES)[number]

/** Curve ids of mcl. */
const MCL_CURVE_ID: Readonly<Record<CurveName, number>> = { bn254: 4, bls12381: 5, p256: 107 }

/**
 * Sizes in mcl's memory in bytes. Field elements are in Montgomery form. A point has three (on a twisted curve six), the last being z: one,
 * or zero at infinity.
 */
export const SIZE = { field: 48, scalar: 32, g1: 144, g2: 288, gt: 576 } as const

/** Separate buffer for functions called while the reserved bytes are in use. */
const SCRATCH_BYTES = 1_024

/** MCLBN_COMPILED_TIME_VAR: 10 times the 64-bit words of a scalar plus those of a field element. */
const COMPILED_TIME_VAR = 46
/** hash_to_curve of RFC 9380. */
const HASH_TO_CURVE_MODE = 5

/** mcl for one curve, with conversions to and from its memory. */
export class Curve {
  readonly wasm: MclExports
  readonly #memory: Memory
  readonly #fieldBytes: number
  readonly #buffer: number
  #region = 0
  #regionBytes = 0
  #scratch = 0
  #view: Uint8Array

  constructor(name: CurveName, wasm: MclExports, memory: Memory) {
    if (wasm.mclBn_init(MCL_CURVE_ID[name], COMPILED_TIME_VAR) !== 0)
      throw new Error(`mclBn_init failed for ${name}: mcl is not the pinned version`)
    if (name === 'bls12381') wasm.mclBn_setMapToMode(HASH_TO_CURVE_MODE)
    // `isValid` then checks the curve equation only; subgroup checks are explicit.
    wasm.mclBn_verifyOrderG1(0)
    wasm.mclBn_verifyOrderG2(0)
    this.wasm = wasm
    this.#memory = memory
    this.#fieldBytes = name === 'bls12381' ? 48 : 32
    this.#buffer = wasm.malloc(SIZE.field)
    this.#view = new Uint8Array(memory.buffer)
  }

  /** Returns the address of a work area, valid until the next `reserve`. */
  reserve(sizeBytes: number): number {
    if (sizeBytes <= this.#regionBytes) return this.#region
    if (this.#region !== 0) this.wasm.free(this.#region)
    this.#region = this.wasm.malloc(sizeBytes)
    this.#regionBytes = this.#region === 0 ? 0 : sizeBytes
    if (this.#region === 0) throw new RangeError(`mcl has no ${sizeBytes} bytes`)
    return this.#region
  }

  /** Returns the address of a second work area. */
  scratch(sizeBytes: number): number {
    if (this.#scratch === 0) this.#scratch = this.wasm.malloc(SCRATCH_BYTES)
    if (sizeBytes > SCRATCH_BYTES) throw new RangeError(`${sizeBytes} bytes are more than are kept apart`)
    return this.#scratch
  }

  /**
   * Returns true if the product of `pairs` pairings is one. `read` writes a pair to two addresses or returns an error, which is then
   * returned. Uses `reserve`.
   */
  isProductOne<W>(pairs: number, read: (pair: number, g1: number, g2: number) => W | null, checkDeadline?: () => void): boolean | W {
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
        // A pairing with the point at infinity is one.
        if (wasm.mclBnG1_isZero(p) === 0 && wasm.mclBnG2_isZero(q) === 0) count++
      }
      if (count > 0) {
        wasm.mclBn_millerLoopVec(part, left, right, count)
        wasm.mclBnGT_mul(product, product, part)
      }
      checkDeadline?.()
    }
    if (wasm.mclBnGT_isOne(product) === 1) return true
    wasm.mclBn_finalExp(product, product)
    return wasm.mclBnGT_isOne(product) === 1
  }

  /** Reads a big-endian base field element. Returns false if it is not below the modulus. */
  readField(out: number, input: Uint8Array, offset: number): boolean {
    this.#reverse(input, offset, this.#fieldBytes)
    return this.wasm.mclBnFp_deserialize(out, this.#buffer, this.#fieldBytes) !== 0
  }

  /** Writes a base field element as big-endian bytes. */
  writeField(output: Uint8Array, offset: number, x: number): void {
    this.wasm.mclBnFp_serialize(this.#buffer, this.#fieldBytes, x)
    this.#copyReversed(output, offset, this.#fieldBytes)
  }

  /** Reads a scalar from 32 big-endian bytes. Returns false if it is not below the group order. */
  readScalar(out: number, input: Uint8Array, offset: number): boolean {
    this.#reverse(input, offset, 32)
    return this.wasm.mclBnFr_deserialize(out, this.#buffer, 32) !== 0
  }

  /** Reads consecutive scalars of 32 big-endian bytes each. Returns false if one is not below the group order. Uses `reserve`. */
  readScalars(out: number, input: Uint8Array): boolean {
    const at = this.reserve(input.length)
    // Reversed as a whole: the last scalar comes first, each in little-endian.
    this.#bytes()
      .subarray(at, at + input.length)
      .set(input)
    this.#bytes()
      .subarray(at, at + input.length)
      .reverse()
    for (let end = input.length; end > 0; end -= 32, out += SIZE.scalar)
      if (this.wasm.mclBnFr_deserialize(out, at + end - 32, 32) === 0) return false
    return true
  }

  /** Writes a scalar as 32 big-endian bytes. */
  writeScalar(output: Uint8Array, offset: number, x: number): void {
    this.wasm.mclBnFr_serialize(this.#buffer, 32, x)
    this.#copyReversed(output, offset, 32)
  }

  /** Reads a scalar from 32 big-endian bytes and reduces it. */
  reduceScalar(out: number, input: Uint8Array, offset: number): void {
    this.#bytes().set(input.subarray(offset, offset + 32), this.#buffer)
    this.wasm.mclBnFr_setBigEndianMod(out, this.#buffer, 32)
  }

  #reverse(input: Uint8Array, offset: number, size: number): void {
    const bytes = this.#bytes()
    for (let i = 0; i < size; i++) bytes[this.#buffer + size - 1 - i] = input[offset + i] as number // length checked by the caller
  }

  #copyReversed(output: Uint8Array, offset: number, size: number): void {
    const bytes = this.#bytes()
    for (let i = 0; i < size; i++) output[offset + i] = bytes[this.#buffer + size - 1 - i] as number // within the memory
  }

  #bytes(): Uint8Array {
    // Memory growth detaches the old view.
    if (this.#view.length === 0) this.#view = new Uint8Array(this.#memory.buffer)
    return this.#view
  }
}

export interface Memory {
  readonly buffer: ArrayBuffer
}

/**
 * The C functions in use. `at`, `x`, `y` and `out` are addresses in mcl's memory. Functions that can fail return 0 on success unless noted.
 */
export interface MclExports {
  malloc(sizeBytes: number): number
  free(at: number): void
  mclBn_init(curve: number, compiledFor: number): number
  mclBn_setMapToMode(mode: number): number
  mclBn_verifyOrderG1(check: number): void
  mclBn_verifyOrderG2(check: number): void
  /** little-endian; returns the number of bytes read, 0 if the number is not below the modulus */
  mclBnFp_deserialize(out: number, bytes: number, sizeBytes: number): number
  /** little-endian; returns the number of bytes written */
  mclBnFp_serialize(bytes: number, sizeBytes: number, x: number): number
  mclBnFp_setInt32(out: number, value: number): void
  mclBnFp_isZero(x: number): number
  /** 1 if x is above half the modulus */
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
  mclBnFr_add(out: number, x: number, y: number): void
  mclBnFr_sub(out: number, x: number, y: number): void
  mclBnFr_sqr(out: number, x: number): void
  mclBnFr_inv(out: number, x: number): void
  mclBnFr_mul(out: number, x: number, y: number): void
  mclBnG1_getBasePoint(out: number): void
  mclBnG1_clear(out: number): void
  mclBnG1_isZero(x: number): number
  mclBnG1_isValid(x: number): number
  mclBnG1_isValidOrder(x: number): number
  mclBnG1_add(out: number, x: number, y: number): void
  mclBnG1_mul(out: number, x: number, scalar: number): void
  /** modifies scalars and points */
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
