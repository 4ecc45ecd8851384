import { Bytes } from './bytes.ts'
import { Hash } from './hash.ts'
import { keccak256 } from './keccak.ts'

/** The fields that only a deposit (0x7e) has. */
export interface DepositFields {
  readonly sourceHash: Hash
  /** wei minted to `from` before execution, even when the call fails */
  readonly mint: bigint
  readonly isSystemTx: boolean
}

/**
 * Makes deposits of equal content distinct: keccak(domain as 32 bytes || keccak(source)) (specs.optimism.io, Deposits, "Source hash
 * computation").
 */
export const SourceHash = { user, l1Attributes, upgrade }

/** A deposit made on L1, by its block and log index. */
function user(l1BlockHash: Hash, logIndex: bigint): Hash {
  return inDomain(0, numbered(l1BlockHash, logIndex))
}

/** The first transaction of each block: the L1 block and the number of L2 blocks since it changed. */
function l1Attributes(l1BlockHash: Hash, sequenceNumber: bigint): Hash {
  return inDomain(1, numbered(l1BlockHash, sequenceNumber))
}

/** A network upgrade, by its intent: `Jovian: L1Block Deployment`. */
function upgrade(intent: string): Hash {
  return inDomain(2, Bytes.ofText(intent))
}

/** `number` has 64 bits. The bytes are valid until the next call. */
function numbered(l1BlockHash: Hash, number: bigint): Uint8Array {
  words.fill(0)
  words.set(Hash.toBytes(l1BlockHash))
  view.setBigUint64(56, number)
  return words
}

function inDomain(domain: number, source: Uint8Array): Hash {
  const inner = keccak256(source)
  words.fill(0)
  words[31] = domain
  words.set(inner, 32)
  return Hash.keccak(words)
}

/** The input of a hash: two words. */
const words = new Uint8Array(64)
const view = new DataView(words.buffer)
