import { Bytes, CELLS_PER_BLOB, sha256 } from '../../eth/index.ts'
import type { BlobSidecar } from '../../eth/index.ts'
import type { Curve } from '../precompiles/curve.ts'
import { areEqual, decompress, kzgSetup, linesOf } from '../precompiles/kzg.ts'
import { Arena, pointAt, scalarAt } from './arena.ts'
import { G2_TAU_64, g1Monomial } from './cellsetup.ts'
import { POINTS_PER_STEP } from './limits.ts'
import { domainOf, ELEMENTS_PER_BLOB, interpolate, reverseBits, writePowers } from './polynomial.ts'
import { REASON } from './reason.ts'

/** Domain separator of consensus-specs, fulu/polynomial-commitments-sampling.md. */
const BATCH_CHALLENGE = Bytes.ofText('RCKZGCBATCH__V1_')
/** FIELD_ELEMENTS_PER_CELL. */
const ELEMENTS_PER_CELL = 64
const POINT_BYTES = 48

/**
 * verify_cell_kzg_proof_batch (EIP-7594) for all cells of each blob. Cell k has the values of the polynomial f at the 64 roots of X⁶⁴ = c for c = c(k), and
 * f mod (X⁶⁴ - c), which is I below, has the same values there. So for the commitment C and the proof P,
 *
 *   e(C - I(τ)·G1 + c·P, G2) = e(P, τ⁶⁴·G2)
 *
 * The equations are added with the powers of a coefficient that depends on all of them. If f is the sum of f_j·X^64j, I is that of c^j·f_j: the cells
 * themselves are not needed. Returns null or the reason; pauses every few points, and after each blob.
 */
export function* verifyCellProofs({ blobs, commitments, proofs }: BlobSidecar): Generator<void, string | null> {
  const setup = kzgSetup()
  const { bls } = setup
  const { wasm } = bls
  const { tauLines, monomial, shifts } = (known ??= prepare(bls))
  const digests: Uint8Array[] = []
  for (const blob of blobs) {
    digests.push(sha256(blob))
    yield
  }
  const arena = new Arena(bls)
  try {
    const [left, right, part] = [arena.points(1), arena.points(1), arena.points(1)]
    const [commitment, points, shifted] = [arena.points(1), arena.points(POINTS_PER_STEP), arena.scalars(POINTS_PER_STEP)]
    const [values, sum, factor] = [arena.scalars(ELEMENTS_PER_BLOB), arena.scalars(ELEMENTS_PER_BLOB), arena.scalars(1)]
    bls.reduceScalar(factor, sha256(Bytes.concat([BATCH_CHALLENGE, ...commitments, ...digests, ...proofs])), 0)
    const powers = powersOf(bls, arena, factor, proofs.length)
    const weights = weightsOf(bls, arena, powers, shifts)
    setZero(bls, sum, ELEMENTS_PER_BLOB)
    yield
    for (const [index, blob] of blobs.entries()) {
      if (!decompress(bls, commitment, commitments[index] as Uint8Array, 0)) return REASON.point('commitment', index)
      if (!bls.readScalars(values, blob)) return REASON.element(index)
      const blobPowers = scalarAt(powers, index * CELLS_PER_BLOB)
      addMultiple(bls, sum, values, blobPowers, factor)
      wasm.mclBnFr_mul(factor, weights, blobPowers)
      wasm.mclBnG1_mul(part, commitment, factor)
      wasm.mclBnG1_add(left, left, part)
      yield
      for (let first = 0; first < CELLS_PER_BLOB; first += POINTS_PER_STEP) {
        const stepPowers = scalarAt(blobPowers, first)
        for (let i = 0; i < POINTS_PER_STEP; i++) {
          const proof = index * CELLS_PER_BLOB + first + i
          if (!decompress(bls, pointAt(points, i), proofs[proof] as Uint8Array, 0)) return REASON.point('proof', proof)
          wasm.mclBnFr_mul(scalarAt(shifted, i), scalarAt(stepPowers, i), scalarAt(shifts, first + i))
        }
        wasm.mclBnG1_mulVec(part, points, shifted, POINTS_PER_STEP)
        wasm.mclBnG1_add(left, left, part)
        wasm.mclBnG1_mulVec(part, points, stepPowers, POINTS_PER_STEP)
        wasm.mclBnG1_add(right, right, part)
        yield
      }
    }
    interpolate(domainOf(bls), sum, factor)
    yield
    negatedRemainder(bls, values, sum, weights, factor)
    yield
    for (let first = 0; first < ELEMENTS_PER_CELL; first += POINTS_PER_STEP) {
      wasm.mclBnG1_mulVec(part, pointAt(monomial, first), scalarAt(values, first), POINTS_PER_STEP)
      wasm.mclBnG1_add(left, left, part)
      yield
    }
    return areEqual(setup, left, right, tauLines) ? null : REASON.proof
  } finally {
    arena.free()
  }
}

function powersOf({ wasm }: Curve, arena: Arena, base: number, count: number): number {
  const powers = arena.scalars(count)
  wasm.mclBnFr_setInt32(powers, 1)
  for (let i = 1; i < count; i++) wasm.mclBnFr_mul(scalarAt(powers, i), scalarAt(powers, i - 1), base)
  return powers
}

/** Returns the sums of power·c^j over the cells of the first blob, for j below 64. Those of another blob are multiplied by its first power. */
function weightsOf(bls: Curve, arena: Arena, powers: number, shifts: number): number {
  const { wasm } = bls
  const [weights, terms] = [arena.scalars(ELEMENTS_PER_CELL), arena.scalars(CELLS_PER_BLOB)]
  setZero(bls, weights, ELEMENTS_PER_CELL)
  for (let j = 0; j < ELEMENTS_PER_CELL; j++) {
    const weight = scalarAt(weights, j)
    for (let k = 0; k < CELLS_PER_BLOB; k++) {
      const term = scalarAt(j === 0 ? powers : terms, k)
      wasm.mclBnFr_add(weight, weight, term)
      wasm.mclBnFr_mul(scalarAt(terms, k), term, scalarAt(shifts, k))
    }
  }
  return weights
}

/** sum += factor·values */
function addMultiple({ wasm }: Curve, sum: number, values: number, factor: number, temporary: number): void {
  for (let i = 0; i < ELEMENTS_PER_BLOB; i++) {
    wasm.mclBnFr_mul(temporary, scalarAt(values, i), factor)
    wasm.mclBnFr_add(scalarAt(sum, i), scalarAt(sum, i), temporary)
  }
}

/** Writes the 64 coefficients of -I, the sum of weight(j)·f_j, from 4,096 times those of f. */
function negatedRemainder(bls: Curve, out: number, coefficients: number, weights: number, temporary: number): void {
  const { wasm } = bls
  setZero(bls, out, ELEMENTS_PER_CELL)
  for (let i = 0; i < ELEMENTS_PER_CELL; i++) {
    const remainder = scalarAt(out, i)
    for (let j = 0; j < ELEMENTS_PER_CELL; j++) {
      wasm.mclBnFr_mul(temporary, scalarAt(coefficients, ELEMENTS_PER_CELL * j + i), scalarAt(weights, j))
      wasm.mclBnFr_sub(remainder, remainder, temporary)
    }
    wasm.mclBnFr_mul(remainder, remainder, domainOf(bls).inverseCount)
  }
}

function setZero({ wasm }: Curve, scalars: number, count: number): void {
  for (let i = 0; i < count; i++) wasm.mclBnFr_setInt32(scalarAt(scalars, i), 0)
}

/** Constants in mcl's memory. */
interface CellSetup {
  /** of τ⁶⁴·G2 */
  readonly tauLines: number
  /** G1 multiplied by the first 64 powers of τ */
  readonly monomial: number
  /** c(k) for each cell k: the 128th roots of unity in bit-reversed order */
  readonly shifts: number
}

let known: CellSetup | null = null

function prepare(bls: Curve): CellSetup {
  const { wasm } = bls
  const arena = new Arena(bls) // never freed
  const monomial = arena.points(ELEMENTS_PER_CELL)
  const bytes = g1Monomial()
  for (let i = 0; i < ELEMENTS_PER_CELL; i++) decompress(bls, pointAt(monomial, i), bytes, POINT_BYTES * i)
  const [shifts, root] = [arena.scalars(CELLS_PER_BLOB), arena.scalars(1)]
  // The inverse of w^-32, which has the order 128.
  const { inverseRoots } = domainOf(bls)
  wasm.mclBnFr_inv(root, scalarAt(inverseRoots, reverseBits(ELEMENTS_PER_BLOB / CELLS_PER_BLOB, ELEMENTS_PER_BLOB / 2)))
  writePowers(bls, shifts, root, CELLS_PER_BLOB)
  return { tauLines: linesOf(bls, G2_TAU_64), monomial, shifts }
}
