import { anything, maybe } from './schema.ts'

/** Fields of a blob transaction (EIP-4844) besides its hashes and fee, in the forms of geth and of viem. */
export const BLOB_FIELDS = {
  blobs: maybe(anything),
  commitments: maybe(anything),
  proofs: maybe(anything),
  sidecars: maybe(anything),
} as const

interface BlobRequest {
  readonly type?: number | undefined
  readonly maxFeePerBlobGas?: unknown
  readonly blobVersionedHashes?: unknown
  readonly blobs?: unknown
  readonly commitments?: unknown
  readonly proofs?: unknown
  readonly sidecars?: unknown
}

/** Returns why a transaction with blobs cannot be sent, and what to do; null if the request has none. Empty lists count as none. */
export function blobRefusal(request: BlobRequest): string | null {
  const { type, maxFeePerBlobGas, blobVersionedHashes, blobs, commitments, proofs, sidecars } = request
  const lists = [blobVersionedHashes, blobs, commitments, proofs, sidecars]
  const isAny = lists.some((list) => (Array.isArray(list) ? list.length > 0 : (list ?? null) !== null))
  return type === 3 || maxFeePerBlobGas !== undefined || isAny ? REFUSAL : null
}

const REFUSAL =
  'blob transactions (EIP-4844) are not signed here: sign it with a local account of your library, which adds the blobs and their proofs, and send it with eth_sendRawTransaction'
