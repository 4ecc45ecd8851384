import {
  ADDRESS,
  BLOCK_HASH,
  BLOCK_NUMBER,
  BLOCK_TIMESTAMP,
  BLOCK_TIMESTAMP_MS,
  BLOOM,
  BYTES,
  END,
  HASH,
  HASHES,
  HIDDEN,
  LOGS,
  NULL,
  OBJECTS,
  QUANTITY,
  TRANSACTIONS,
  TRUE,
  TX_FROM,
  TX_HASH,
  TX_INDEX,
  TX_TO,
} from '../writer/layout.ts'

/** What a tag stands for: the name in JSON ('' where JSON shows nothing) and one of the kinds of writer/layout.ts. */
export interface TagRow {
  readonly key: string
  readonly kind: number
}

/** Name, key, kind. A name's place is its tag and rests on disk: rows are added at the end, never moved. At most 127. */
const ROWS = [
  ['end', '', END],
  // a block
  ['hash', 'hash', BLOCK_HASH],
  ['parentHash', 'parentHash', HASH],
  ['sha3Uncles', 'sha3Uncles', HASH],
  ['miner', 'miner', ADDRESS],
  ['stateRoot', 'stateRoot', HASH],
  ['transactionsRoot', 'transactionsRoot', HASH],
  ['receiptsRoot', 'receiptsRoot', HASH],
  ['logsBloom', 'logsBloom', BLOOM],
  ['difficulty', 'difficulty', QUANTITY],
  ['number', 'number', BLOCK_NUMBER],
  ['gasLimit', 'gasLimit', QUANTITY],
  ['gasUsed', 'gasUsed', QUANTITY],
  ['timestamp', 'timestamp', BLOCK_TIMESTAMP],
  ['timestampMs', 'timestampMs', BLOCK_TIMESTAMP_MS],
  ['extraData', 'extraData', BYTES],
  ['mixHash', 'mixHash', HASH],
  ['blockNonce', 'nonce', BYTES],
  ['baseFeePerGas', 'baseFeePerGas', QUANTITY],
  ['withdrawalsRoot', 'withdrawalsRoot', HASH],
  ['blobGasUsed', 'blobGasUsed', QUANTITY],
  ['excessBlobGas', 'excessBlobGas', QUANTITY],
  ['parentBeaconBlockRoot', 'parentBeaconBlockRoot', HASH],
  ['requestsHash', 'requestsHash', HASH],
  ['size', 'size', QUANTITY],
  ['transactions', 'transactions', TRANSACTIONS],
  ['uncles', 'uncles', HASHES],
  /** RLP: the list of the ommers' headers */
  ['ommers', '', HIDDEN],
  ['withdrawals', 'withdrawals', OBJECTS],
  // a withdrawal
  ['index', 'index', QUANTITY],
  ['validatorIndex', 'validatorIndex', QUANTITY],
  ['address', 'address', ADDRESS],
  ['amount', 'amount', QUANTITY],
  // a transaction
  ['blockHash', 'blockHash', BLOCK_HASH],
  ['blockNumber', 'blockNumber', BLOCK_NUMBER],
  ['blockTimestamp', 'blockTimestamp', BLOCK_TIMESTAMP],
  ['blockTimestampMs', 'blockTimestampMs', BLOCK_TIMESTAMP_MS],
  ['transactionIndex', 'transactionIndex', TX_INDEX],
  ['txHash', 'hash', TX_HASH],
  ['type', 'type', QUANTITY],
  ['from', 'from', TX_FROM],
  ['to', 'to', ADDRESS],
  ['noTo', 'to', NULL],
  ['nonce', 'nonce', QUANTITY],
  ['gas', 'gas', QUANTITY],
  ['value', 'value', QUANTITY],
  ['input', 'input', BYTES],
  ['gasPrice', 'gasPrice', QUANTITY],
  ['maxFeePerGas', 'maxFeePerGas', QUANTITY],
  ['maxPriorityFeePerGas', 'maxPriorityFeePerGas', QUANTITY],
  ['chainId', 'chainId', QUANTITY],
  ['accessList', 'accessList', OBJECTS],
  ['storageKeys', 'storageKeys', HASHES],
  ['maxFeePerBlobGas', 'maxFeePerBlobGas', QUANTITY],
  ['blobVersionedHashes', 'blobVersionedHashes', HASHES],
  ['authorizationList', 'authorizationList', OBJECTS],
  /** 20 bytes: who signed the authorization; absent when the signature recovers nobody */
  ['authority', '', HIDDEN],
  ['yParity', 'yParity', QUANTITY],
  ['v', 'v', QUANTITY],
  ['r', 'r', QUANTITY],
  ['s', 's', QUANTITY],
  ['sourceHash', 'sourceHash', HASH],
  ['mint', 'mint', QUANTITY],
  ['isSystemTx', 'isSystemTx', TRUE],
  ['depositReceiptVersion', 'depositReceiptVersion', QUANTITY],
  // a receipt
  ['root', 'root', HASH],
  ['noRoot', 'root', NULL],
  ['status', 'status', QUANTITY],
  ['transactionHash', 'transactionHash', TX_HASH],
  ['contractAddress', 'contractAddress', ADDRESS],
  ['noContractAddress', 'contractAddress', NULL],
  ['cumulativeGasUsed', 'cumulativeGasUsed', QUANTITY],
  ['effectiveGasPrice', 'effectiveGasPrice', QUANTITY],
  ['blobGasPrice', 'blobGasPrice', QUANTITY],
  ['depositNonce', 'depositNonce', QUANTITY],
  ['l1GasPrice', 'l1GasPrice', QUANTITY],
  ['l1GasUsed', 'l1GasUsed', QUANTITY],
  ['l1Fee', 'l1Fee', QUANTITY],
  ['l1BaseFeeScalar', 'l1BaseFeeScalar', QUANTITY],
  ['l1BlobBaseFee', 'l1BlobBaseFee', QUANTITY],
  ['l1BlobBaseFeeScalar', 'l1BlobBaseFeeScalar', QUANTITY],
  ['operatorFeeScalar', 'operatorFeeScalar', QUANTITY],
  ['operatorFeeConstant', 'operatorFeeConstant', QUANTITY],
  /** u8: bit 0 the operator fee's scalar is known, bit 1 its constant; where the shown fields do not tell */
  ['operatorFeeKnown', '', HIDDEN],
  ['daFootprintGasScalar', 'daFootprintGasScalar', QUANTITY],
  ['logs', 'logs', LOGS],
  ['receiver', 'to', TX_TO],
] as const satisfies readonly (readonly [string, string, number])[]

type TagName = (typeof ROWS)[number][0]

/** Indexed by tag. */
export const TAGS: readonly TagRow[] = ROWS.map(([, key, kind]) => ({ key, kind }))

/** The tag of each name. */
export const Tag: Readonly<Record<TagName, number>> = tagsByName()

/**
 * A log's keys in the order of its JSON, which no tags spell out (its parts lie as LOG_HEAD of writer/layout.ts says). The time in milliseconds
 * stands only where the block has one (R_HAS_MS); `removed` is false.
 */
export const LOG_KEYS = [
  'address',
  'topics',
  'data',
  'blockHash',
  'blockNumber',
  'blockTimestamp',
  'blockTimestampMs',
  'transactionHash',
  'transactionIndex',
  'logIndex',
  'removed',
] as const

function tagsByName(): Record<TagName, number> {
  const entries = ROWS.map(([name], tag) => [name, tag])
  return Object.fromEntries(entries) as Record<TagName, number> // every row's name is a key
}
