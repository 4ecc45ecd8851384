import type { Fields } from './fields.ts'
import { DecodeError } from './hex.ts'
import type { RlpItem } from './rlp.ts'

/** What the network form of a blob transaction has beside the transaction, which blocks do not contain. The parts are views of the input. */
export interface BlobSidecar {
  /** 0: a proof per blob (EIP-4844); 1: CELLS_PER_BLOB proofs per blob (EIP-7594) */
  readonly version: 0 | 1
  /** BLOB_BYTES each */
  readonly blobs: readonly Uint8Array[]
  /** compressed points of G1 */
  readonly commitments: readonly Uint8Array[]
  /** compressed points of G1; version 1: those of the first blob's cells, then those of the next */
  readonly proofs: readonly Uint8Array[]
}

export const BlobSidecar = { fromFields }

/** 4,096 field elements of 32 bytes. */
export const BLOB_BYTES = 131_072
/** Cells of an extended blob (EIP-7594), each with a proof. */
export const CELLS_PER_BLOB = 128
const POINT_BYTES = 48

/** Reads the fields after the transaction: blobs, commitments and proofs, after a version since EIP-7594. Throws DecodeError. */
function fromFields(fields: Fields, hashes: number): BlobSidecar {
  const version = fields.left === 4 ? 1 : 0
  if (version === 1 && fields.uint('version', 1) !== 1n) throw new DecodeError('transaction.sidecar.version', 'must be 1')
  return {
    version,
    blobs: parts('blobs', fields.list('blobs'), hashes, BLOB_BYTES),
    commitments: parts('commitments', fields.list('commitments'), hashes, POINT_BYTES),
    proofs: parts('proofs', fields.list('proofs'), version === 1 ? hashes * CELLS_PER_BLOB : hashes, POINT_BYTES),
  }
}

function parts(name: string, items: readonly RlpItem[], count: number, sizeBytes: number): readonly Uint8Array[] {
  if (items.length !== count) throw new DecodeError(`transaction.sidecar.${name}`, `must be ${count}, not ${items.length}`)
  return items.map((item, index) => {
    if (item instanceof Uint8Array && item.length === sizeBytes) return item
    throw new DecodeError(`transaction.sidecar.${name}[${index}]`, `must be ${sizeBytes} bytes`)
  })
}
