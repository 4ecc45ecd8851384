import type { Address } from './address.ts'
import { Fields } from './fields.ts'
import type { FieldContext, FieldVisitor } from './fieldvisitor.ts'
import { Hash } from './hash.ts'
import { DecodeError } from './hex.ts'
import { Log } from './log.ts'
import { Rlp, type RlpInput, type RlpItem } from './rlp.ts'
import { isTransactionType, type TransactionType } from './transactiontype.ts'

/** The charges of an OP chain beyond execution gas (specs.optimism.io, Fjord and Isthmus). A deposit's fee is 0n. */
export interface L1Cost {
  readonly gasPrice: bigint
  readonly gasUsed: bigint
  readonly fee: bigint
  readonly baseFeeScalar: bigint
  readonly blobBaseFee: bigint
  readonly blobBaseFeeScalar: bigint
  /** `null` before Isthmus */
  readonly operatorFeeScalar: bigint | null
  readonly operatorFeeConstant: bigint | null
  /** `null` before Jovian */
  readonly daFootprintGasScalar: bigint | null
}

/** A receipt with its derived fields, at the index of its transaction. */
export interface Receipt {
  readonly type: TransactionType
  /** 1 or 0; `null` before Byzantium, when `root` is set */
  readonly status: 0 | 1 | null
  readonly root: Hash | null
  readonly cumulativeGasUsed: bigint
  readonly logsBloom: Uint8Array
  readonly logs: readonly Log[]
  readonly gasUsed: bigint
  readonly effectiveGasPrice: bigint
  readonly contractAddress: Address | null
  /** index in the block of this receipt's first log */
  readonly firstLogIndex: number
  /** type 3: blob gas; OP since Jovian: the data-availability footprint; else `null` */
  readonly blobGasUsed: bigint | null
  /** `null` except for type 3 */
  readonly blobGasPrice: bigint | null
  /** 0x7e: the sender's nonce before execution, and version 1 since Canyon; else `null` */
  readonly depositNonce: bigint | null
  readonly depositReceiptVersion: number | null
  /** `null` except on OP chains */
  readonly l1: L1Cost | null
}

/** The fields of a receipt that are under consensus; the others are derived from the block. */
export type ConsensusReceipt = Pick<
  Receipt,
  'type' | 'status' | 'root' | 'cumulativeGasUsed' | 'logsBloom' | 'logs' | 'depositNonce' | 'depositReceiptVersion'
>

export const Receipt = { encode, encodeView, decode }

/**
 * Returns the EIP-2718 form that the receipts trie and `debug_getRawReceipts` use. It contains a deposit's nonce and version since Canyon,
 * that is if there is a version (op-geth, `DepositReceiptVersion`).
 */
function encode(receipt: ConsensusReceipt): Uint8Array {
  const { type } = receipt
  return type === 0 ? Rlp.encode(toRlp(receipt)) : Rlp.encodeTyped(type, toRlp(receipt))
}

/** As `encode`, in a buffer that the next RLP encoding overwrites. */
function encodeView(receipt: ConsensusReceipt): Uint8Array {
  const { type } = receipt
  return type === 0 ? Rlp.encodeView(toRlp(receipt)) : Rlp.encodeTypedView(type, toRlp(receipt))
}

function toRlp(receipt: ConsensusReceipt): RlpInput[] {
  const { status, root, cumulativeGasUsed, logsBloom, depositNonce, depositReceiptVersion } = receipt
  const fields: RlpInput[] = [root ?? status ?? 0, cumulativeGasUsed, logsBloom, receipt.logs.map(Log.toRlp)]
  if (depositReceiptVersion !== null) fields.push(depositNonce ?? 0n, depositReceiptVersion)
  return fields
}

/** Throws DecodeError. */
function decode(bytes: Uint8Array): ConsensusReceipt {
  const first = bytes[0]
  if (first === undefined) throw new DecodeError('receipt', 'is empty')
  if (first >= 0xc0) return fromRlp(0, Rlp.decode(bytes, 'receipt'))
  if (!isTransactionType(first) || first === 0) throw new DecodeError('receipt.type', `is unknown (${first})`)
  return fromRlp(first, Rlp.decode(bytes.subarray(1), 'receipt'))
}

function fromRlp(type: TransactionType, item: RlpItem): ConsensusReceipt {
  const fields = new Fields(item, 'receipt', 4, type === 0x7e ? 6 : 4)
  const outcome = fields.bytes('status')
  const hasRoot = outcome.length === 32
  if (!hasRoot && (outcome.length > 1 || (outcome.length === 1 && outcome[0] !== 1)))
    throw new DecodeError('receipt.status', 'must be 0, 1 or a state root')
  return {
    type,
    status: hasRoot ? null : outcome.length === 0 ? 0 : 1,
    root: hasRoot ? Hash.from(outcome) : null,
    cumulativeGasUsed: fields.uint('cumulativeGasUsed', 8),
    logsBloom: fields.bytes('logsBloom', 256),
    logs: fields.list('logs').map(Log.fromRlp),
    depositNonce: fields.left > 0 ? fields.uint('depositNonce', 8) : null,
    depositReceiptVersion: fields.left > 0 ? fields.number('depositReceiptVersion') : null,
  }
}

// --- fields ---------------------------------------------------------------------------------------------------------------------------------

/** The fields in JSON and in stored records. `firstLogIndex` is not one of them: it is the position of the logs. */
export function receiptFields(f: FieldVisitor, receipt: Receipt, { block, index, transaction }: FieldContext): Receipt {
  const type = f.transactionType('type', 39, receipt.type)
  const root = f.nullableHash('root', 65, 66, receipt.status === null ? receipt.root : undefined)
  const status = f.optionalNumber('status', 67, receipt.status)
  f.transactionHash('transactionHash', 68, transaction.hash)
  f.transactionIndex('transactionIndex', 37, index)
  f.blockHash('blockHash', 33, block === null ? Hash.zero : block.hash)
  f.blockNumber('blockNumber', 34, block === null ? 0 : block.header.number)
  f.optionalBlockTimestampMs('blockTimestampMs', 36, block === null ? null : block.timestampMs)
  f.sender('from', 40, transaction.from)
  f.receiverReference('to', 86, 42, transaction.to)
  const contractAddress = f.receiver('contractAddress', 69, 70, receipt.contractAddress)
  const gasUsed = f.quantity('gasUsed', 12, receipt.gasUsed)
  const cumulativeGasUsed = f.quantity('cumulativeGasUsed', 71, receipt.cumulativeGasUsed)
  const effectiveGasPrice = f.quantity('effectiveGasPrice', 72, receipt.effectiveGasPrice)
  const blobGasUsed = f.optionalQuantity('blobGasUsed', 20, receipt.blobGasUsed)
  const blobGasPrice = f.optionalQuantity('blobGasPrice', 73, receipt.blobGasPrice)
  const depositNonce = f.optionalQuantity('depositNonce', 74, receipt.depositNonce)
  const depositReceiptVersion = f.optionalNumber('depositReceiptVersion', 64, receipt.depositReceiptVersion)
  const l1 = f.group(75, receipt.l1, l1Fields)
  const logs = f.logs('logs', 85, receipt.logs)
  const logsBloom = f.bloom('logsBloom', 8, receipt.logsBloom)
  if (!f.isDecoder) return receipt
  return {
    type,
    status: status === null ? null : status === 0 ? 0 : 1,
    root,
    cumulativeGasUsed,
    logsBloom,
    logs,
    gasUsed,
    effectiveGasPrice,
    contractAddress,
    firstLogIndex: receipt.firstLogIndex,
    blobGasUsed,
    blobGasPrice,
    depositNonce,
    depositReceiptVersion,
    l1,
  }
}

function l1Fields(f: FieldVisitor, l1: L1Cost): L1Cost {
  const gasPrice = f.quantity('l1GasPrice', 75, l1.gasPrice)
  const gasUsed = f.quantity('l1GasUsed', 76, l1.gasUsed)
  const fee = f.quantity('l1Fee', 77, l1.fee)
  const baseFeeScalar = f.quantity('l1BaseFeeScalar', 78, l1.baseFeeScalar)
  const blobBaseFee = f.quantity('l1BlobBaseFee', 79, l1.blobBaseFee)
  const blobBaseFeeScalar = f.quantity('l1BlobBaseFeeScalar', 80, l1.blobBaseFeeScalar)
  const isCharged = chargesOperatorFee(l1)
  const scalar = f.optionalQuantity('operatorFeeScalar', 81, isCharged ? (l1.operatorFeeScalar ?? 0n) : null)
  const constant = f.optionalQuantity('operatorFeeConstant', 82, isCharged ? (l1.operatorFeeConstant ?? 0n) : null)
  const known = f.hidden(83, knownOperatorFee(l1, isCharged))?.[0] ?? null
  const daFootprintGasScalar = f.optionalQuantity('daFootprintGasScalar', 84, l1.daFootprintGasScalar)
  if (!f.isDecoder) return l1
  return {
    gasPrice,
    gasUsed,
    fee,
    baseFeeScalar,
    blobBaseFee,
    blobBaseFeeScalar,
    operatorFeeScalar: known === null ? scalar : (known & SCALAR_KNOWN) === 0 ? null : (scalar ?? 0n),
    operatorFeeConstant: known === null ? constant : (known & CONSTANT_KNOWN) === 0 ? null : (constant ?? 0n),
    daFootprintGasScalar,
  }
}

/** op-reth shows both parts of the operator fee if it is charged, neither otherwise. */
function chargesOperatorFee({ operatorFeeScalar, operatorFeeConstant }: L1Cost): boolean {
  return (operatorFeeScalar ?? 0n) !== 0n || (operatorFeeConstant ?? 0n) !== 0n
}

const SCALAR_KNOWN = 1
const CONSTANT_KNOWN = 2
/** By value: a new array for each receipt took a tenth of the time of encoding a block. */
const KNOWN_BYTES = [0, 1, 2, 3].map((known) => Uint8Array.of(known))

/** One byte: which parts are not null, if JSON does not determine it. */
function knownOperatorFee({ operatorFeeScalar, operatorFeeConstant }: L1Cost, isShown: boolean): Uint8Array | null {
  if (((operatorFeeScalar ?? null) !== null) === isShown && ((operatorFeeConstant ?? null) !== null) === isShown) return null
  return KNOWN_BYTES[(operatorFeeScalar === null ? 0 : SCALAR_KNOWN) | (operatorFeeConstant === null ? 0 : CONSTANT_KNOWN)]! // both bits: 3
}
