import { Hash } from './hash.ts'
import { keccak256 } from './keccak.ts'

/** What only a deposit (0x7e) has. */
export interface DepositFields {
  readonly sourceHash: Hash
  /** wei minted to `from` before execution, even when the call fails */
  readonly mint: bigint
  readonly isSystemTx: boolean
}

/**
 * Identifies where a deposit comes from, so that two of equal content differ:
 * keccak(domain as 32 bytes || keccak(what names the source)) (specs.optimism.io, Deposits, "Source hash computation").
 */
export const SourceHash = { user, l1Attributes, upgrade }

/** A deposit made on L1: its block and the log's index there. */
function user(l1BlockHash: Hash, logIndex: bigint): Hash {
  return inDomain(0n, numbered(l1BlockHash, logIndex))
}

/** The first transaction of each block: the L1 block and the number of L2 blocks since it changed. */
function l1Attributes(l1BlockHash: Hash, sequenceNumber: bigint): Hash {
  return inDomain(1n, numbered(l1BlockHash, sequenceNumber))
}

/** A network upgrade, by its intent, e.g. `Jovian: L1Block Deployment`. */
function upgrade(intent: string): Hash {
  return inDomain(2n, new TextEncoder().encode(intent))
}

function numbered(l1BlockHash: Hash, number: bigint): Uint8Array {
  return concat(Hash.toBytes(l1BlockHash), Hash.toBytes(Hash.fromBigint(number)))
}

function inDomain(domain: bigint, source: Uint8Array): Hash {
  return Hash.keccak(concat(Hash.toBytes(Hash.fromBigint(domain)), keccak256(source)))
}

function concat(left: Uint8Array, right: Uint8Array): Uint8Array {
  const both = new Uint8Array(left.length + right.length)
  both.set(left)
  both.set(right, left.length)
  return both
}
