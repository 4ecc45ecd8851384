import { PoolError, TimeSlice } from '../chain/index.ts'
import type { Chain } from '../chain/index.ts'
import type { BlobSidecar, Transaction } from '../eth/index.ts'
import { verifyBlobs } from '../evm/index.ts'

/**
 * Rejects with PoolError unless the sidecar has the blobs of a blob transaction. Blocks do not contain blobs, so only transactions that clients send are
 * checked. Yields to the event loop between slices of a long verification.
 */
export async function requireBlobs({ nextRules }: Chain, tx: Transaction, sidecar: BlobSidecar | null): Promise<void> {
  const { blob } = nextRules
  const hashes = tx.blobVersionedHashes
  // The pool refuses the type or the number.
  if (blob === null || hashes.length > blob.max) return
  if (sidecar === null) throw new PoolError('invalid', MISSING)
  const slice = new TimeSlice()
  const steps = verifyBlobs(hashes, sidecar)
  let step = steps.next()
  while (step.done !== true) {
    const pause = slice.yieldIfExpired()
    if (pause !== null) await pause
    step = steps.next()
  }
  if (step.value !== null) throw new PoolError('invalid', step.value)
}

const MISSING = 'missing sidecar in blob transaction: send its network form, which has the blobs, commitments and proofs (EIP-4844)'
