import type { Address } from './address.ts'
import { Fields } from './fields.ts'
import { Hash } from './hash.ts'
import { DecodeError } from './hex.ts'
import { Log } from './log.ts'
import { Rlp, type RlpInput, type RlpItem } from './rlp.ts'
import { isTransactionType, type TransactionType } from './transactiontype.ts'

/** What an OP chain charged beyond execution gas (specs.optimism.io, Fjord and Isthmus). Deposits: fee 0n. */
export interface L1Cost {
  readonly gasPrice: bigint
  readonly gasUsed: bigint
  readonly fee: bigint
  readonly baseFeeScalar: bigint
  readonly blobBaseFee: bigint
  readonly blobBaseFeeScalar: bigint
  /** Isthmus and later, else null */
  readonly operatorFeeScalar: bigint | null
  readonly operatorFeeConstant: bigint | null
  /** Jovian and later, else null */
  readonly daFootprintGasScalar: bigint | null
}

/** A receipt with its derived fields. It stands at the same index as its transaction. */
export interface Receipt {
  readonly type: TransactionType
  /** 1 or 0; null before Byzantium, when `root` stands */
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
  /** type 3: blob gas; OP Jovian: this transaction's data-availability footprint; else null */
  readonly blobGasUsed: bigint | null
  /** type 3 only */
  readonly blobGasPrice: bigint | null
  /** 0x7e only: the sender's nonce before, and 1 since Canyon */
  readonly depositNonce: bigint | null
  readonly depositReceiptVersion: number | null
  /** OP chains only */
  readonly l1: L1Cost | null
}

/** What of a receipt is under consensus; the rest is derived from its block. */
export type ConsensusReceipt = Pick<
  Receipt,
  'type' | 'status' | 'root' | 'cumulativeGasUsed' | 'logsBloom' | 'logs' | 'depositNonce' | 'depositReceiptVersion'
>

export const Receipt = { encode, lend, decode }

/**
 * The EIP-2718 form that the receipts trie and `debug_getRawReceipts` hold. A deposit's nonce and version are part of it
 * since Canyon, that is when there is a version (op-geth, `DepositReceiptVersion`).
 */
function encode(receipt: ConsensusReceipt): Uint8Array {
  const { type } = receipt
  return type === 0 ? Rlp.encode(toRlp(receipt)) : Rlp.encodeTyped(type, toRlp(receipt))
}

/** The same where it was written, until the next RLP is: for whoever copies it at once. */
function lend(receipt: ConsensusReceipt): Uint8Array {
  const { type } = receipt
  return type === 0 ? Rlp.lend(toRlp(receipt)) : Rlp.lendTyped(type, toRlp(receipt))
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
