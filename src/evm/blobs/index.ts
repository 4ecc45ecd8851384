import { Hash } from '../../eth/index.ts'
import type { BlobSidecar } from '../../eth/index.ts'
import { versionedHash } from '../precompiles/kzg.ts'
import { verifyBlobProofs } from './blobproofs.ts'
import { verifyCellProofs } from './cellproofs.ts'
import { REASON } from './reason.ts'

/**
 * Verifies that the blobs of a decoded sidecar are those that the versioned hashes commit to. Returns null or the reason; pauses every few milliseconds,
 * so that the caller may yield to the event loop.
 * @throws {PrecompileNotLoaded}
 */
export function* verifyBlobs(hashes: readonly Hash[], sidecar: BlobSidecar): Generator<void, string | null> {
  if (hashes.length === 0) return REASON.none
  for (const [index, commitment] of sidecar.commitments.entries()) {
    const computed = Hash.from(versionedHash(commitment))
    if (computed !== hashes[index]) return REASON.hash(index, computed, hashes[index])
  }
  return yield* sidecar.version === 1 ? verifyCellProofs(sidecar) : verifyBlobProofs(sidecar)
}
