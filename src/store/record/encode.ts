import { Hash, Header, Rlp } from '../../eth/index.ts'
import type { AccessListItem, Address, Authorization, Block, L1Cost, Log, Receipt, Transaction, Withdrawal } from '../../eth/index.ts'
import * as layout from '../writer/layout.ts'
import { Draft } from './draft.ts'
import { MAGIC } from './record.ts'
import { Tag } from './tags.ts'

/**
 * The record of a sealed block, checksum included; `BlockRecord.decode` makes the block again. The fields of an object are written in the order
 * of rpc/json.ts, and what JSON does not show in hidden ones.
 * Throws RangeError for a block that is pending, lacks receipts, or counts its logs wrongly.
 */
export function encodeBlock(block: Block): Uint8Array {
  own.clear()
  return encodeInto(own, block).slice()
}

/** The same in memory of the draft, where it stays until that is cleared. */
export function encodeInto(into: Draft, block: Block): Uint8Array {
  assertSealed(block)
  draft = into
  const logs = logCount(block)
  const logTable = layout.RECORD_HEAD + block.transactions.length * layout.TX_ROW
  draft.begin(logTable + logs * 4)
  writeHead(block, logs)
  writeLogs(block, logTable)
  writeBlock(block)
  for (let index = 0; index < block.transactions.length; index++) writeRow(block, index)
  return draft.finish()
}

const own = new Draft()

/** What is written to: encoding is synchronous. */
let draft = own

function assertSealed({ header, hash, transactions, receipts }: Block): void {
  if (hash === Hash.zero) throw new RangeError(`block ${header.number} is pending`)
  if (transactions.length !== receipts.length)
    throw new RangeError(`block ${header.number} has ${transactions.length} transactions and ${receipts.length} receipts`)
}

function logCount({ header, receipts }: Block): number {
  let count = 0
  for (const { firstLogIndex, logs } of receipts) {
    if (firstLogIndex !== count)
      throw new RangeError(`block ${header.number} has a receipt that begins at log ${firstLogIndex}, not ${count}`)
    count += logs.length
  }
  return count
}

// --- head, tables and logs ------------------------------------------------------------------------------------------------------------------

function writeHead({ header, hash, transactions, timestampMs }: Block, logs: number): void {
  draft.u32At(layout.R_MAGIC, MAGIC)
  draft.u32At(layout.R_TRANSACTIONS, transactions.length)
  draft.u32At(layout.R_LOGS, logs)
  draft.u32At(layout.R_HAS_MS, timestampMs === null ? 0 : 1)
  draft.u64At(layout.R_NUMBER, header.number)
  draft.u64At(layout.R_TIMESTAMP, header.timestamp)
  draft.u64At(layout.R_TIMESTAMP_MS, timestampMs ?? 0)
  draft.hexAt(layout.R_HASH, hash)
}

/** All logs of the block lie together, so that a search reads on in one piece. */
function writeLogs({ receipts }: Block, logTable: number): void {
  let entry = logTable
  for (let index = 0; index < receipts.length; index++) {
    for (const log of receipts[index]!.logs) {
      draft.u32At(entry, draft.size)
      writeLog(log, index)
      entry += 4
    }
  }
}

function writeLog({ address, topics, data }: Log, transactionIndex: number): void {
  draft.u32(transactionIndex)
  draft.u32(data.length)
  draft.u32(topics.length)
  draft.hex(address)
  for (const topic of topics) draft.hex(topic)
  draft.raw(data)
}

function writeRow(block: Block, index: number): void {
  const row = layout.RECORD_HEAD + index * layout.TX_ROW
  const tx = block.transactions[index]!
  const receipt = block.receipts[index]! // as many as transactions
  draft.hexAt(row + layout.T_HASH, tx.hash)
  draft.hexAt(row + layout.T_FROM, tx.from)
  draft.u32At(row + layout.T_FIRST_LOG, receipt.firstLogIndex)
  draft.u32At(row + layout.T_FIELDS, draft.size)
  writeTransaction(tx, receipt, block, row)
  draft.u32At(row + layout.T_RECEIPT, draft.size)
  writeReceipt(receipt, tx.to, block.timestampMs !== null, row)
}

// --- the block ------------------------------------------------------------------------------------------------------------------------------

function writeBlock(block: Block): void {
  draft.u32At(layout.R_BLOCK, draft.size)
  writeHeader(block)
  writeLaterHeaderFields(block.header)
  draft.quantity(Tag.size, block.sizeBytes)
  draft.mark(Tag.transactions)
  draft.hashes(Tag.uncles, block.ommers.map(Header.hash))
  if (block.ommers.length > 0) draft.bytes(Tag.ommers, Rlp.encode(block.ommers.map(Header.toRlp)))
  if (block.withdrawals !== null) draft.objects(Tag.withdrawals, block.withdrawals, writeWithdrawal)
  draft.end()
}

function writeHeader({ header, timestampMs }: Block): void {
  draft.mark(Tag.hash)
  draft.fixed(Tag.parentHash, header.parentHash)
  draft.fixed(Tag.sha3Uncles, header.ommersHash)
  draft.fixed(Tag.miner, header.coinbase)
  draft.fixed(Tag.stateRoot, header.stateRoot)
  draft.fixed(Tag.transactionsRoot, header.transactionsRoot)
  draft.fixed(Tag.receiptsRoot, header.receiptsRoot)
  draft.bloom(Tag.logsBloom, header.logsBloom)
  draft.quantity(Tag.difficulty, header.difficulty)
  draft.mark(Tag.number)
  draft.quantity(Tag.gasLimit, header.gasLimit)
  draft.quantity(Tag.gasUsed, header.gasUsed)
  draft.mark(Tag.timestamp)
  if (timestampMs !== null) draft.mark(Tag.timestampMs)
  draft.bytes(Tag.extraData, header.extraData)
  draft.fixed(Tag.mixHash, header.mixHash)
  draft.bytes(Tag.blockNonce, header.nonce)
}

function writeLaterHeaderFields(header: Header): void {
  if (header.baseFeePerGas !== null) draft.quantity(Tag.baseFeePerGas, header.baseFeePerGas)
  if (header.withdrawalsRoot !== null) draft.fixed(Tag.withdrawalsRoot, header.withdrawalsRoot)
  if (header.blobGasUsed !== null) draft.quantity(Tag.blobGasUsed, header.blobGasUsed)
  if (header.excessBlobGas !== null) draft.quantity(Tag.excessBlobGas, header.excessBlobGas)
  if (header.parentBeaconBlockRoot !== null) draft.fixed(Tag.parentBeaconBlockRoot, header.parentBeaconBlockRoot)
  if (header.requestsHash !== null) draft.fixed(Tag.requestsHash, header.requestsHash)
}

function writeWithdrawal(withdrawal: Withdrawal): void {
  draft.quantity(Tag.index, withdrawal.index)
  draft.quantity(Tag.validatorIndex, withdrawal.validatorIndex)
  draft.fixed(Tag.address, withdrawal.address)
  draft.quantity(Tag.amount, withdrawal.amount)
  draft.end()
}

// --- a transaction --------------------------------------------------------------------------------------------------------------------------

function writeTransaction(tx: Transaction, receipt: Receipt, { header, timestampMs }: Block, row: number): void {
  draft.mark(Tag.blockHash)
  draft.mark(Tag.blockNumber)
  draft.mark(Tag.blockTimestamp)
  if (timestampMs !== null) draft.mark(Tag.blockTimestampMs)
  draft.mark(Tag.transactionIndex)
  draft.mark(Tag.txHash)
  draft.quantity(Tag.type, tx.type)
  draft.mark(Tag.from)
  writeTo(tx.to, row)
  draft.quantity(Tag.nonce, tx.deposit === null ? tx.nonce : (receipt.depositNonce ?? tx.nonce))
  draft.quantity(Tag.gas, tx.gas)
  draft.quantity(Tag.value, tx.value)
  draft.bytes(Tag.input, tx.data)
  if (tx.deposit === null) {
    writePrice(tx, header.baseFeePerGas)
    writeTyped(tx)
  } else writeDeposit(tx.deposit, receipt)
  writeSignature(tx)
  draft.end()
}

function writeTo(to: Address | null, row: number): void {
  if (to === null) return draft.mark(Tag.noTo)
  draft.fixed(Tag.to, to)
  writeReceiver(row)
}

/** The address that was just written. */
function writeReceiver(row: number): void {
  draft.u32At(row + layout.T_RECEIVER, draft.size - 20)
}

function writePrice({ type, maxFeePerGas, maxPriorityFeePerGas }: Transaction, baseFee: bigint | null): void {
  const offered = baseFee === null ? maxFeePerGas : baseFee + maxPriorityFeePerGas
  draft.quantity(Tag.gasPrice, offered < maxFeePerGas ? offered : maxFeePerGas)
  if (type < 2) return // its priority fee is its price
  draft.quantity(Tag.maxFeePerGas, maxFeePerGas)
  draft.quantity(Tag.maxPriorityFeePerGas, maxPriorityFeePerGas)
}

function writeTyped(tx: Transaction): void {
  if (tx.chainId !== null) draft.quantity(Tag.chainId, tx.chainId)
  if (tx.type !== 0) draft.objects(Tag.accessList, tx.accessList, writeAccessListItem)
  if (tx.type === 3) draft.quantity(Tag.maxFeePerBlobGas, tx.maxFeePerBlobGas)
  if (tx.type === 3) draft.hashes(Tag.blobVersionedHashes, tx.blobVersionedHashes)
  if (tx.type === 4) draft.objects(Tag.authorizationList, tx.authorizationList, writeAuthorization)
}

function writeAccessListItem({ address, storageKeys }: AccessListItem): void {
  draft.fixed(Tag.address, address)
  draft.hashes(Tag.storageKeys, storageKeys)
  draft.end()
}

function writeAuthorization(entry: Authorization): void {
  draft.quantity(Tag.chainId, entry.chainId)
  draft.fixed(Tag.address, entry.address)
  draft.quantity(Tag.nonce, entry.nonce)
  draft.quantity(Tag.yParity, entry.yParity)
  draft.quantity(Tag.r, entry.r)
  draft.quantity(Tag.s, entry.s)
  if (entry.authority !== null) {
    draft.mark(Tag.authority)
    draft.u32(20)
    draft.hex(entry.authority)
  }
  draft.end()
}

/** A deposit shows zeros for what it does not have. */
function writeDeposit(deposit: NonNullable<Transaction['deposit']>, { depositReceiptVersion }: Receipt): void {
  draft.fixed(Tag.sourceHash, deposit.sourceHash)
  draft.quantity(Tag.mint, deposit.mint)
  if (deposit.isSystemTx) draft.mark(Tag.isSystemTx)
  draft.quantity(Tag.gasPrice, 0)
  if (depositReceiptVersion !== null) draft.quantity(Tag.depositReceiptVersion, depositReceiptVersion)
}

function writeSignature({ type, v, r, s }: Transaction): void {
  if (type !== 0) draft.quantity(Tag.yParity, v)
  draft.quantity(Tag.v, v)
  draft.quantity(Tag.r, r)
  draft.quantity(Tag.s, s)
}

// --- a receipt ------------------------------------------------------------------------------------------------------------------------------

function writeReceipt(receipt: Receipt, to: Address | null, withMs: boolean, row: number): void {
  draft.quantity(Tag.type, receipt.type)
  writeOutcome(receipt)
  draft.mark(Tag.transactionHash)
  draft.mark(Tag.transactionIndex)
  draft.mark(Tag.blockHash)
  draft.mark(Tag.blockNumber)
  if (withMs) draft.mark(Tag.blockTimestampMs)
  draft.mark(Tag.from)
  draft.mark(to === null ? Tag.noTo : Tag.receiver)
  if (receipt.contractAddress === null) draft.mark(Tag.noContractAddress)
  else {
    draft.fixed(Tag.contractAddress, receipt.contractAddress)
    if (to === null) writeReceiver(row)
  }
  draft.quantity(Tag.gasUsed, receipt.gasUsed)
  draft.quantity(Tag.cumulativeGasUsed, receipt.cumulativeGasUsed)
  draft.quantity(Tag.effectiveGasPrice, receipt.effectiveGasPrice)
  writeExtraFields(receipt)
  draft.mark(Tag.logs)
  draft.bloom(Tag.logsBloom, receipt.logsBloom)
  draft.end()
}

function writeOutcome({ status, root }: Receipt): void {
  if (status !== null) draft.quantity(Tag.status, status)
  else if (root === null) draft.mark(Tag.noRoot)
  else draft.fixed(Tag.root, root)
}

function writeExtraFields(receipt: Receipt): void {
  if (receipt.blobGasUsed !== null) draft.quantity(Tag.blobGasUsed, receipt.blobGasUsed)
  if (receipt.blobGasPrice !== null) draft.quantity(Tag.blobGasPrice, receipt.blobGasPrice)
  if (receipt.depositNonce !== null) draft.quantity(Tag.depositNonce, receipt.depositNonce)
  if (receipt.depositReceiptVersion !== null) draft.quantity(Tag.depositReceiptVersion, receipt.depositReceiptVersion)
  if (receipt.l1 !== null) writeL1(receipt.l1)
}

function writeL1(l1: L1Cost): void {
  draft.quantity(Tag.l1GasPrice, l1.gasPrice)
  draft.quantity(Tag.l1GasUsed, l1.gasUsed)
  draft.quantity(Tag.l1Fee, l1.fee)
  draft.quantity(Tag.l1BaseFeeScalar, l1.baseFeeScalar)
  draft.quantity(Tag.l1BlobBaseFee, l1.blobBaseFee)
  draft.quantity(Tag.l1BlobBaseFeeScalar, l1.blobBaseFeeScalar)
  writeOperatorFee(l1)
  if (l1.daFootprintGasScalar !== null) draft.quantity(Tag.daFootprintGasScalar, l1.daFootprintGasScalar)
}

/** Shown only when it is charged, both parts or none; then a part that is not known is shown as 0. */
function writeOperatorFee({ operatorFeeScalar: scalar, operatorFeeConstant: constant }: L1Cost): void {
  const isShown = (scalar ?? 0n) !== 0n || (constant ?? 0n) !== 0n
  if (isShown) {
    draft.quantity(Tag.operatorFeeScalar, scalar ?? 0n)
    draft.quantity(Tag.operatorFeeConstant, constant ?? 0n)
  }
  if ((scalar !== null) === isShown && (constant !== null) === isShown) return
  draft.mark(Tag.operatorFeeKnown)
  draft.u32(1)
  draft.u8((scalar === null ? 0 : 1) | (constant === null ? 0 : 2))
}
