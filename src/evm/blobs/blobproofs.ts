import { Bytes, sha256 } from '../../eth/index.ts'
import type { BlobSidecar } from '../../eth/index.ts'
import { areEqual, decompress, kzgSetup } from '../precompiles/kzg.ts'
import { Arena } from './arena.ts'
import { domainOf, ELEMENTS_PER_BLOB, evaluate } from './polynomial.ts'
import { REASON } from './reason.ts'

/** Domain separators of consensus-specs, deneb/polynomial-commitments.md. */
const CHALLENGE = Bytes.ofText('FSBLOBVERIFY_V1_')
const BATCH_CHALLENGE = Bytes.ofText('RCKZGBATCH___V1_')
/** ELEMENTS_PER_BLOB as 16 bytes, big-endian. */
const DEGREE = Uint8Array.from({ length: 16 }, (_, index) => (index === 14 ? ELEMENTS_PER_BLOB >> 8 : 0))

/**
 * verify_blob_kzg_proof_batch (EIP-4844): for each blob f with commitment C and proof P, e(C - f(z)·G1 + z·P, G2) = e(P, τ·G2) at the challenge z. The
 * equations are added with the powers of a coefficient that depends on all of them. Returns null or the reason; pauses after each blob.
 */
export function* verifyBlobProofs({ blobs, commitments, proofs }: BlobSidecar): Generator<void, string | null> {
  const setup = kzgSetup()
  const { bls, generator, tauLines } = setup
  const { wasm } = bls
  const domain = domainOf(bls)
  const challenges: Uint8Array[] = []
  for (const [index, blob] of blobs.entries()) {
    challenges.push(sha256(Bytes.concat([CHALLENGE, DEGREE, blob, commitments[index] as Uint8Array]))) // one per blob
    yield
  }
  const arena = new Arena(bls)
  try {
    const [left, right, part] = [arena.points(1), arena.points(1), arena.points(1)]
    const [commitment, proof, values] = [arena.points(1), arena.points(1), arena.scalars(ELEMENTS_PER_BLOB)]
    const [z, y, ySum, coefficient, power] = [arena.scalars(1), arena.scalars(1), arena.scalars(1), arena.scalars(1), arena.scalars(1)]
    bls.reduceScalar(coefficient, sha256(Bytes.concat([BATCH_CHALLENGE, ...challenges, ...proofs])), 0)
    wasm.mclBnFr_setInt32(power, 1)
    wasm.mclBnFr_setInt32(ySum, 0)
    for (const [index, blob] of blobs.entries()) {
      if (!decompress(bls, commitment, commitments[index] as Uint8Array, 0)) return REASON.point('commitment', index)
      if (!decompress(bls, proof, proofs[index] as Uint8Array, 0)) return REASON.point('proof', index)
      if (!bls.readScalars(values, blob)) return REASON.element(index)
      bls.reduceScalar(z, challenges[index] as Uint8Array, 0)
      // right += power·P, left += power·(C + z·P)
      wasm.mclBnG1_mul(part, proof, power)
      wasm.mclBnG1_add(right, right, part)
      wasm.mclBnG1_mul(part, part, z)
      wasm.mclBnG1_add(left, left, part)
      wasm.mclBnG1_mul(part, commitment, power)
      wasm.mclBnG1_add(left, left, part)
      evaluate(domain, y, values, z)
      wasm.mclBnFr_mul(y, y, power)
      wasm.mclBnFr_add(ySum, ySum, y)
      wasm.mclBnFr_mul(power, power, coefficient)
      yield
    }
    wasm.mclBnFr_neg(ySum, ySum)
    wasm.mclBnG1_mul(part, generator, ySum)
    wasm.mclBnG1_add(left, left, part)
    return areEqual(setup, left, right, tauLines) ? null : REASON.proof
  } finally {
    arena.free()
  }
}
