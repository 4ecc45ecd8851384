import { Hash } from '../eth/index.ts'
import type { Block, Header } from '../eth/index.ts'
import { address, bytes, hash, maybe, object, quantity, quantityNumber } from '../jsonrpc/schema.ts'

const HEADER = object({
  hash,
  parentHash: hash,
  sha3Uncles: hash,
  miner: address,
  stateRoot: hash,
  transactionsRoot: hash,
  receiptsRoot: hash,
  logsBloom: bytes,
  difficulty: maybe(quantity),
  number: quantityNumber,
  gasLimit: quantity,
  gasUsed: quantity,
  timestamp: quantityNumber,
  extraData: bytes,
  mixHash: maybe(hash),
  nonce: maybe(bytes),
  baseFeePerGas: maybe(quantity),
  withdrawalsRoot: maybe(hash),
  blobGasUsed: maybe(quantity),
  excessBlobGas: maybe(quantity),
  parentBeaconBlockRoot: maybe(hash),
  requestsHash: maybe(hash),
})

/**
 * Returns the fork block without its transactions, which are read from upstream. The hash is upstream's: the header may have fields of a
 * fork that is not known here. Throws RpcError -32602 that names the first field that cannot be read.
 */
export function forkBlockOf(json: Readonly<Record<string, unknown>>): Block {
  const present = Object.fromEntries(Object.entries(json).filter(([, value]) => value !== null))
  const fields = HEADER.parse(present, 'the fork block')
  const header: Header = {
    parentHash: fields.parentHash,
    ommersHash: fields.sha3Uncles,
    coinbase: fields.miner,
    stateRoot: fields.stateRoot,
    transactionsRoot: fields.transactionsRoot,
    receiptsRoot: fields.receiptsRoot,
    logsBloom: fields.logsBloom,
    difficulty: fields.difficulty ?? 0n,
    number: fields.number,
    gasLimit: fields.gasLimit,
    gasUsed: fields.gasUsed,
    timestamp: fields.timestamp,
    extraData: fields.extraData,
    mixHash: fields.mixHash ?? Hash.zero,
    nonce: fields.nonce ?? new Uint8Array(8),
    baseFeePerGas: fields.baseFeePerGas ?? null,
    withdrawalsRoot: fields.withdrawalsRoot ?? null,
    blobGasUsed: fields.blobGasUsed ?? null,
    excessBlobGas: fields.excessBlobGas ?? null,
    parentBeaconBlockRoot: fields.parentBeaconBlockRoot ?? null,
    requestsHash: fields.requestsHash ?? null,
  }
  return {
    header,
    hash: fields.hash,
    transactions: [],
    receipts: [],
    ommers: [],
    withdrawals: header.withdrawalsRoot === null ? null : [],
    timestampMs: null,
    sizeBytes: 0,
  }
}

/** Returns the call data of an OP block's first transaction, the L1 attributes; `null` on other chains. */
export function l1AttributesOf({ transactions }: Readonly<Record<string, unknown>>): Uint8Array | null {
  const [first] = Array.isArray(transactions) ? (transactions as readonly unknown[]) : []
  if (typeof first !== 'object' || first === null) return null
  const { type, input } = first as Record<string, unknown>
  return type === '0x7e' ? bytes.parse(input, 'the first transaction of the fork block') : null
}
