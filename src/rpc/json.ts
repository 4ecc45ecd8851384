import type { LocatedTransaction, LocatedLog } from '../chain/index.ts'
import { Hash, Header, Hex } from '../eth/index.ts'
import type { AccessListItem, Authorization, Block, L1Cost, Receipt, Transaction, Withdrawal } from '../eth/index.ts'

// The nouns as JSON-RPC shows them (interface 2.2 and 2.4, facts of execution-apis and op-reth). The shapes are what
// clients compare field by field, so an absent key and a null are never exchanged for one another.

/** A JSON-ready object. */
export type Json = Readonly<Record<string, unknown>>

/** A block under construction has no hash yet. */
export function isPending(block: Block): boolean {
  return block.hash === Hash.zero
}

/** `full`: transactions as objects, else as hashes. A pending block has no `size`. */
export function blockJson(block: Block, full: boolean): Json {
  return {
    ...headerJson(block),
    ...(isPending(block) ? undefined : { size: Hex.fromQuantity(block.sizeBytes) }),
    transactions: block.transactions.map((tx, index) => (full ? transactionJson(tx, { block, index }) : tx.hash)),
    uncles: block.ommers.map(Header.hash),
    ...(block.withdrawals === null ? undefined : { withdrawals: block.withdrawals.map(withdrawalJson) }),
  }
}

/** The header alone: newHeads and eth_getHeaderBy*. */
export function headerJson({ header, hash, timestampMs }: Pick<Block, 'header' | 'hash' | 'timestampMs'>): Json {
  return {
    hash,
    parentHash: header.parentHash,
    sha3Uncles: header.ommersHash,
    miner: header.coinbase,
    stateRoot: header.stateRoot,
    transactionsRoot: header.transactionsRoot,
    receiptsRoot: header.receiptsRoot,
    logsBloom: Hex.fromBytes(header.logsBloom),
    difficulty: Hex.fromQuantity(header.difficulty),
    number: Hex.fromQuantity(header.number),
    gasLimit: Hex.fromQuantity(header.gasLimit),
    gasUsed: Hex.fromQuantity(header.gasUsed),
    timestamp: Hex.fromQuantity(header.timestamp),
    ...(timestampMs === null ? undefined : { timestampMs: Hex.fromQuantity(timestampMs) }),
    extraData: Hex.fromBytes(header.extraData),
    mixHash: header.mixHash,
    nonce: Hex.fromBytes(header.nonce),
    ...laterHeaderFields(header),
  }
}

/** An ommer: a header without transactions. */
export function ommerJson(header: Header): Json {
  return { ...headerJson({ header, hash: Header.hash(header), timestampMs: null }), uncles: [] }
}

/** In order: London, Shanghai, Cancun, Prague. Absent before their fork. */
function laterHeaderFields(header: Header): Json {
  const fields: Record<string, unknown> = {}
  if (header.baseFeePerGas !== null) fields['baseFeePerGas'] = Hex.fromQuantity(header.baseFeePerGas)
  if (header.withdrawalsRoot !== null) fields['withdrawalsRoot'] = header.withdrawalsRoot
  if (header.blobGasUsed !== null) fields['blobGasUsed'] = Hex.fromQuantity(header.blobGasUsed)
  if (header.excessBlobGas !== null) fields['excessBlobGas'] = Hex.fromQuantity(header.excessBlobGas)
  if (header.parentBeaconBlockRoot !== null) fields['parentBeaconBlockRoot'] = header.parentBeaconBlockRoot
  if (header.requestsHash !== null) fields['requestsHash'] = header.requestsHash
  return fields
}

function withdrawalJson(withdrawal: Withdrawal): Json {
  return {
    index: Hex.fromQuantity(withdrawal.index),
    validatorIndex: Hex.fromQuantity(withdrawal.validatorIndex),
    address: withdrawal.address,
    amount: Hex.fromQuantity(withdrawal.amount),
  }
}

// --- transactions ---------------------------------------------------------------------------------------------------

/** `place` null: in the pool. Pre-confirmed: `blockHash` is null while number, index and time stand. */
export function transactionJson(tx: Transaction, place: LocatedTransaction | null): Json {
  const shared = {
    ...placeJson(place),
    hash: tx.hash,
    type: Hex.fromQuantity(tx.type),
    from: tx.from,
    to: tx.to,
    nonce: Hex.fromQuantity(tx.nonce),
    gas: Hex.fromQuantity(tx.gas),
    value: Hex.fromQuantity(tx.value),
    input: Hex.fromBytes(tx.data),
  }
  if (tx.deposit !== null) return { ...shared, ...depositJson(tx, place) }
  return { ...shared, ...priceJson(tx, place), ...typedJson(tx), ...signatureJson(tx) }
}

function placeJson(place: LocatedTransaction | null): Json {
  if (place === null) return { blockHash: null, blockNumber: null, blockTimestamp: null, transactionIndex: null }
  const { block, index } = place
  return {
    blockHash: isPending(block) ? null : block.hash,
    blockNumber: Hex.fromQuantity(block.header.number),
    ...blockTime(block),
    transactionIndex: Hex.fromQuantity(index),
  }
}

/** `blockTimestampMs` exists under the native cadence only. */
function blockTime({ header, timestampMs }: Block): Json {
  const blockTimestamp = Hex.fromQuantity(header.timestamp)
  return timestampMs === null ? { blockTimestamp } : { blockTimestamp, blockTimestampMs: Hex.fromQuantity(timestampMs) }
}

/** `gasPrice` is what was paid per gas once the base fee is known, else the most it may be. */
function priceJson(tx: Transaction, place: LocatedTransaction | null): Json {
  const baseFee = place?.block.header.baseFeePerGas ?? null
  const paid = baseFee === null ? tx.maxFeePerGas : least(tx.maxFeePerGas, baseFee + tx.maxPriorityFeePerGas)
  const gasPrice = Hex.fromQuantity(paid)
  if (tx.type < 2) return { gasPrice }
  return {
    gasPrice,
    maxFeePerGas: Hex.fromQuantity(tx.maxFeePerGas),
    maxPriorityFeePerGas: Hex.fromQuantity(tx.maxPriorityFeePerGas),
  }
}

function typedJson(tx: Transaction): Json {
  const fields: Record<string, unknown> = {}
  if (tx.chainId !== null) fields['chainId'] = Hex.fromQuantity(tx.chainId)
  if (tx.type !== 0) fields['accessList'] = accessListJson(tx.accessList)
  if (tx.type === 3) fields['maxFeePerBlobGas'] = Hex.fromQuantity(tx.maxFeePerBlobGas)
  if (tx.type === 3) fields['blobVersionedHashes'] = tx.blobVersionedHashes
  if (tx.type === 4) fields['authorizationList'] = tx.authorizationList.map(authorizationJson)
  return fields
}

function signatureJson(tx: Transaction): Json {
  const v = Hex.fromQuantity(tx.v)
  const rs = { r: Hex.fromQuantity(tx.r), s: Hex.fromQuantity(tx.s) }
  return tx.type === 0 ? { v, ...rs } : { yParity: v, v, ...rs }
}

/** OP deposits are unsigned and pay nothing; their nonce is known once they ran (`depositNonce`). */
function depositJson(tx: Transaction, place: LocatedTransaction | null): Json {
  const receipt = place?.block.receipts[place.index]
  const nonce = receipt?.depositNonce ?? tx.nonce
  return {
    nonce: Hex.fromQuantity(nonce),
    sourceHash: tx.deposit?.sourceHash,
    mint: Hex.fromQuantity(tx.deposit?.mint ?? 0n),
    ...(tx.deposit?.isSystemTx === true ? { isSystemTx: true } : undefined),
    gasPrice: '0x0',
    ...(typeof receipt?.depositReceiptVersion === 'number'
      ? { depositReceiptVersion: Hex.fromQuantity(receipt.depositReceiptVersion) }
      : undefined),
    yParity: '0x0',
    v: '0x0',
    r: '0x0',
    s: '0x0',
  }
}

export function accessListJson(list: readonly AccessListItem[]): readonly Json[] {
  return list.map(({ address, storageKeys }) => ({ address, storageKeys }))
}

function authorizationJson(authorization: Authorization): Json {
  return {
    chainId: Hex.fromQuantity(authorization.chainId),
    address: authorization.address,
    nonce: Hex.fromQuantity(authorization.nonce),
    yParity: Hex.fromQuantity(authorization.yParity),
    r: Hex.fromQuantity(authorization.r),
    s: Hex.fromQuantity(authorization.s),
  }
}

// --- receipts and logs ----------------------------------------------------------------------------------------------

/** The receipt of the transaction at `place`. Pre-confirmed: everything but `blockHash`, which is 32 zero bytes. */
export function receiptJson({ block, index }: LocatedTransaction): Json {
  const tx = block.transactions[index]
  const receipt = block.receipts[index]
  if (tx === undefined || receipt === undefined) throw new Error(`block ${block.header.number} has no receipt ${index}`)
  return {
    type: Hex.fromQuantity(receipt.type),
    ...(receipt.status === null ? { root: receipt.root } : { status: Hex.fromQuantity(receipt.status) }),
    transactionHash: tx.hash,
    transactionIndex: Hex.fromQuantity(index),
    blockHash: block.hash,
    blockNumber: Hex.fromQuantity(block.header.number),
    ...(block.timestampMs === null ? undefined : { blockTimestampMs: Hex.fromQuantity(block.timestampMs) }),
    from: tx.from,
    to: tx.to,
    contractAddress: receipt.contractAddress,
    gasUsed: Hex.fromQuantity(receipt.gasUsed),
    cumulativeGasUsed: Hex.fromQuantity(receipt.cumulativeGasUsed),
    effectiveGasPrice: Hex.fromQuantity(receipt.effectiveGasPrice),
    ...extraReceiptFields(receipt),
    logs: receiptLogs(block, index),
    logsBloom: Hex.fromBytes(receipt.logsBloom),
  }
}

/** All receipts of a block, in order. */
export function receiptsJson(block: Block): readonly Json[] {
  return block.receipts.map((_, index) => receiptJson({ block, index }))
}

function receiptLogs(block: Block, transactionIndex: number): readonly Json[] {
  const receipt = block.receipts[transactionIndex]
  return (receipt?.logs ?? []).map((log, i) => logJson({ log, block, transactionIndex, logIndex: (receipt?.firstLogIndex ?? 0) + i }))
}

function extraReceiptFields(receipt: Receipt): Json {
  const fields: Record<string, unknown> = {}
  if (receipt.blobGasUsed !== null) fields['blobGasUsed'] = Hex.fromQuantity(receipt.blobGasUsed)
  if (receipt.blobGasPrice !== null) fields['blobGasPrice'] = Hex.fromQuantity(receipt.blobGasPrice)
  if (receipt.depositNonce !== null) fields['depositNonce'] = Hex.fromQuantity(receipt.depositNonce)
  if (receipt.depositReceiptVersion !== null) {
    fields['depositReceiptVersion'] = Hex.fromQuantity(receipt.depositReceiptVersion)
  }
  return receipt.l1 === null ? fields : { ...fields, ...l1Json(receipt.l1) }
}

/** op-reth shows the operator fee only when it is charged. */
function l1Json(l1: L1Cost): Json {
  const fields: Record<string, unknown> = {
    l1GasPrice: Hex.fromQuantity(l1.gasPrice),
    l1GasUsed: Hex.fromQuantity(l1.gasUsed),
    l1Fee: Hex.fromQuantity(l1.fee),
    l1BaseFeeScalar: Hex.fromQuantity(l1.baseFeeScalar),
    l1BlobBaseFee: Hex.fromQuantity(l1.blobBaseFee),
    l1BlobBaseFeeScalar: Hex.fromQuantity(l1.blobBaseFeeScalar),
  }
  const { operatorFeeScalar, operatorFeeConstant, daFootprintGasScalar } = l1
  if ((operatorFeeScalar ?? 0n) !== 0n || (operatorFeeConstant ?? 0n) !== 0n) {
    fields['operatorFeeScalar'] = Hex.fromQuantity(operatorFeeScalar ?? 0n)
    fields['operatorFeeConstant'] = Hex.fromQuantity(operatorFeeConstant ?? 0n)
  }
  if (daFootprintGasScalar !== null) fields['daFootprintGasScalar'] = Hex.fromQuantity(daFootprintGasScalar)
  return fields
}

/** `removed`: a reorganisation took it away. */
export function logJson({ log, block, transactionIndex, logIndex }: LocatedLog, removed = false): Json {
  return {
    address: log.address,
    topics: log.topics,
    data: Hex.fromBytes(log.data),
    blockHash: block.hash,
    blockNumber: Hex.fromQuantity(block.header.number),
    ...blockTime(block),
    transactionHash: block.transactions[transactionIndex]?.hash,
    transactionIndex: Hex.fromQuantity(transactionIndex),
    logIndex: Hex.fromQuantity(logIndex),
    removed,
  }
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
