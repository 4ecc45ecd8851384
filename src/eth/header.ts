import type { Address } from './address.ts'
import { Fields } from './fields.ts'
import type { FieldVisitor } from './fieldvisitor.ts'
import { Hash } from './hash.ts'
import { Rlp, type RlpInput, type RlpItem } from './rlp.ts'

/** A block header. Fields of a later fork are null before it; the RLP ends at the last field that is not null. */
export interface Header {
  readonly parentHash: Hash
  readonly ommersHash: Hash
  readonly coinbase: Address
  readonly stateRoot: Hash
  readonly transactionsRoot: Hash
  readonly receiptsRoot: Hash
  readonly logsBloom: Uint8Array
  readonly difficulty: bigint
  readonly number: number
  readonly gasLimit: bigint
  readonly gasUsed: bigint
  /** seconds */
  readonly timestamp: number
  readonly extraData: Uint8Array
  readonly mixHash: Hash
  /** 8 bytes */
  readonly nonce: Uint8Array
  readonly baseFeePerGas: bigint | null
  readonly withdrawalsRoot: Hash | null
  readonly blobGasUsed: bigint | null
  readonly excessBlobGas: bigint | null
  readonly parentBeaconBlockRoot: Hash | null
  readonly requestsHash: Hash | null
}

export const Header = { encode, decode, hash, toRlp, fromRlp }

/** Fields of every fork, and of the latest known one. */
const MIN_FIELDS = 15
const MAX_FIELDS = 21

/** Returns the keccak hash of the RLP. */
function hash(header: Header): Hash {
  return Hash.keccak(encode(header))
}

function encode(header: Header): Uint8Array {
  return Rlp.encode(toRlp(header))
}

/** Throws RangeError if a field is null before one that is not. */
function toRlp(header: Header): RlpInput[] {
  const fields: RlpInput[] = [
    header.parentHash,
    header.ommersHash,
    header.coinbase,
    header.stateRoot,
    header.transactionsRoot,
    header.receiptsRoot,
    header.logsBloom,
    header.difficulty,
    header.number,
    header.gasLimit,
    header.gasUsed,
    header.timestamp,
    header.extraData,
    header.mixHash,
    header.nonce,
  ]
  let isComplete = true
  for (const field of laterFields(header)) {
    if (field === null) isComplete = false
    else if (isComplete) fields.push(field)
    else throw new RangeError('a header field is null before one that is not')
  }
  return fields
}

/** In fork order: London, Shanghai, Cancun (3), Prague. */
function laterFields(header: Header): readonly (RlpInput | null)[] {
  return [
    header.baseFeePerGas,
    header.withdrawalsRoot,
    header.blobGasUsed,
    header.excessBlobGas,
    header.parentBeaconBlockRoot,
    header.requestsHash,
  ]
}

/** Throws DecodeError. */
function decode(bytes: Uint8Array): Header {
  return fromRlp(Rlp.decode(bytes, 'header'))
}

/** Throws DecodeError. */
function fromRlp(item: RlpItem): Header {
  const fields = new Fields(item, 'header', MIN_FIELDS, MAX_FIELDS)
  const hashOrNull = (name: string) => (fields.left > 0 ? fields.hash(name) : null)
  const uintOrNull = (name: string, maxBytes: number) => (fields.left > 0 ? fields.uint(name, maxBytes) : null)
  return {
    parentHash: fields.hash('parentHash'),
    ommersHash: fields.hash('ommersHash'),
    coinbase: fields.address('coinbase'),
    stateRoot: fields.hash('stateRoot'),
    transactionsRoot: fields.hash('transactionsRoot'),
    receiptsRoot: fields.hash('receiptsRoot'),
    logsBloom: fields.bytes('logsBloom', 256),
    difficulty: fields.uint('difficulty', 32),
    number: fields.number('number'),
    gasLimit: fields.uint('gasLimit', 8),
    gasUsed: fields.uint('gasUsed', 8),
    timestamp: fields.number('timestamp'),
    extraData: fields.bytes('extraData'),
    mixHash: fields.hash('mixHash'),
    nonce: fields.bytes('nonce', 8),
    baseFeePerGas: uintOrNull('baseFeePerGas', 32),
    withdrawalsRoot: hashOrNull('withdrawalsRoot'),
    blobGasUsed: uintOrNull('blobGasUsed', 8),
    excessBlobGas: uintOrNull('excessBlobGas', 8),
    parentBeaconBlockRoot: hashOrNull('parentBeaconBlockRoot'),
    requestsHash: hashOrNull('requestsHash'),
  }
}

/** Values in a header's JSON that are not in the header. */
export interface HeaderContext {
  readonly hash: Hash
  /** `null` except under the `native` cadence */
  readonly timestampMs: number | null
}

export function headerFields(f: FieldVisitor, header: Header, context: HeaderContext): Header {
  f.blockHash('hash', 1, context.hash)
  const parentHash = f.hash('parentHash', 2, header.parentHash)
  const ommersHash = f.hash('sha3Uncles', 3, header.ommersHash)
  const coinbase = f.address('miner', 4, header.coinbase)
  const stateRoot = f.hash('stateRoot', 5, header.stateRoot)
  const transactionsRoot = f.hash('transactionsRoot', 6, header.transactionsRoot)
  const receiptsRoot = f.hash('receiptsRoot', 7, header.receiptsRoot)
  const logsBloom = f.bloom('logsBloom', 8, header.logsBloom)
  const difficulty = f.quantity('difficulty', 9, header.difficulty)
  const number = f.blockNumber('number', 10, header.number)
  const gasLimit = f.quantity('gasLimit', 11, header.gasLimit)
  const gasUsed = f.quantity('gasUsed', 12, header.gasUsed)
  const timestamp = f.blockTimestamp('timestamp', 13, header.timestamp)
  f.optionalBlockTimestampMs('timestampMs', 14, context.timestampMs)
  return {
    parentHash,
    ommersHash,
    coinbase,
    stateRoot,
    transactionsRoot,
    receiptsRoot,
    logsBloom,
    difficulty,
    number,
    gasLimit,
    gasUsed,
    timestamp,
    extraData: f.bytes('extraData', 15, header.extraData),
    mixHash: f.hash('mixHash', 16, header.mixHash),
    nonce: f.bytes('nonce', 17, header.nonce),
    // London, Shanghai, Cancun, Prague
    baseFeePerGas: f.optionalQuantity('baseFeePerGas', 18, header.baseFeePerGas),
    withdrawalsRoot: f.optionalHash('withdrawalsRoot', 19, header.withdrawalsRoot),
    blobGasUsed: f.optionalQuantity('blobGasUsed', 20, header.blobGasUsed),
    excessBlobGas: f.optionalQuantity('excessBlobGas', 21, header.excessBlobGas),
    parentBeaconBlockRoot: f.optionalHash('parentBeaconBlockRoot', 22, header.parentBeaconBlockRoot),
    requestsHash: f.optionalHash('requestsHash', 23, header.requestsHash),
  }
}
