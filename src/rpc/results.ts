import type { JsonSchema } from './method.ts'
import { address, boolean, bytes, hash, quantity, string } from '../jsonrpc/schema.ts'

// JSON Schemas of results. What is listed as required always stands; a fork, a type or a cadence adds the rest.

export const QUANTITY: JsonSchema = quantity.json
export const BYTES: JsonSchema = bytes.json
export const HASH: JsonSchema = hash.json
export const ADDRESS: JsonSchema = address.json
export const BOOLEAN: JsonSchema = boolean.json
export const STRING: JsonSchema = string.json
export const NULL: JsonSchema = { type: 'null' }

export function listOf(item: JsonSchema): JsonSchema {
  return { type: 'array', items: item }
}

export function orNull(schema: JsonSchema): JsonSchema {
  return { oneOf: [schema, NULL] }
}

/** `required` keys first, then those that may be absent. */
export function record(
  title: string,
  required: Readonly<Record<string, JsonSchema>>,
  more: Readonly<Record<string, JsonSchema>> = {},
): JsonSchema {
  return { title, type: 'object', required: Object.keys(required), properties: { ...required, ...more } }
}

const BLOCK_TIME = { blockTimestampMs: QUANTITY }

export const LOG = record(
  'log',
  {
    address: ADDRESS,
    topics: { ...listOf(HASH), maxItems: 4 },
    data: BYTES,
    blockHash: HASH,
    blockNumber: QUANTITY,
    blockTimestamp: QUANTITY,
    transactionHash: HASH,
    transactionIndex: QUANTITY,
    logIndex: QUANTITY,
    removed: BOOLEAN,
  },
  BLOCK_TIME,
)

export const RECEIPT = record(
  'receipt',
  {
    type: QUANTITY,
    transactionHash: HASH,
    transactionIndex: QUANTITY,
    blockHash: HASH,
    blockNumber: QUANTITY,
    from: ADDRESS,
    to: orNull(ADDRESS),
    contractAddress: orNull(ADDRESS),
    gasUsed: QUANTITY,
    cumulativeGasUsed: QUANTITY,
    effectiveGasPrice: QUANTITY,
    logs: listOf(LOG),
    logsBloom: BYTES,
  },
  {
    status: QUANTITY,
    root: HASH,
    ...BLOCK_TIME,
    blobGasUsed: QUANTITY,
    blobGasPrice: QUANTITY,
    depositNonce: QUANTITY,
    depositReceiptVersion: QUANTITY,
    l1GasPrice: QUANTITY,
    l1GasUsed: QUANTITY,
    l1Fee: QUANTITY,
    l1BaseFeeScalar: QUANTITY,
    l1BlobBaseFee: QUANTITY,
    l1BlobBaseFeeScalar: QUANTITY,
    operatorFeeScalar: QUANTITY,
    operatorFeeConstant: QUANTITY,
    daFootprintGasScalar: QUANTITY,
  },
)

const ACCESS_LIST = listOf(record('access list item', { address: ADDRESS, storageKeys: listOf(HASH) }))
const AUTHORIZATION_LIST = listOf(
  record('authorization', { chainId: QUANTITY, address: ADDRESS, nonce: QUANTITY, yParity: QUANTITY, r: QUANTITY, s: QUANTITY }),
)

export const TRANSACTION = record(
  'transaction',
  {
    blockHash: orNull(HASH),
    blockNumber: orNull(QUANTITY),
    blockTimestamp: orNull(QUANTITY),
    transactionIndex: orNull(QUANTITY),
    hash: HASH,
    type: QUANTITY,
    from: ADDRESS,
    to: orNull(ADDRESS),
    nonce: QUANTITY,
    gas: QUANTITY,
    value: QUANTITY,
    input: BYTES,
    gasPrice: QUANTITY,
    v: QUANTITY,
    r: QUANTITY,
    s: QUANTITY,
  },
  {
    ...BLOCK_TIME,
    chainId: QUANTITY,
    yParity: QUANTITY,
    maxFeePerGas: QUANTITY,
    maxPriorityFeePerGas: QUANTITY,
    accessList: ACCESS_LIST,
    maxFeePerBlobGas: QUANTITY,
    blobVersionedHashes: listOf(HASH),
    authorizationList: AUTHORIZATION_LIST,
    sourceHash: HASH,
    mint: QUANTITY,
    isSystemTx: BOOLEAN,
    depositReceiptVersion: QUANTITY,
  },
)

const HEADER_FIELDS = {
  hash: HASH,
  parentHash: HASH,
  sha3Uncles: HASH,
  miner: ADDRESS,
  stateRoot: HASH,
  transactionsRoot: HASH,
  receiptsRoot: HASH,
  logsBloom: BYTES,
  difficulty: QUANTITY,
  number: QUANTITY,
  gasLimit: QUANTITY,
  gasUsed: QUANTITY,
  timestamp: QUANTITY,
  extraData: BYTES,
  mixHash: HASH,
  nonce: BYTES,
}

const FORK_FIELDS = {
  timestampMs: QUANTITY,
  baseFeePerGas: QUANTITY,
  withdrawalsRoot: HASH,
  blobGasUsed: QUANTITY,
  excessBlobGas: QUANTITY,
  parentBeaconBlockRoot: HASH,
  requestsHash: HASH,
}

export const HEADER = record('header', HEADER_FIELDS, FORK_FIELDS)

export const BLOCK = record(
  'block',
  { ...HEADER_FIELDS, transactions: listOf({ oneOf: [HASH, TRANSACTION] }), uncles: listOf(HASH) },
  {
    ...FORK_FIELDS,
    size: QUANTITY,
    withdrawals: listOf(record('withdrawal', { index: QUANTITY, validatorIndex: QUANTITY, address: ADDRESS, amount: QUANTITY })),
  },
)
