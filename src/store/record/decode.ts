import type { GasPayment } from '../../chain/index.ts'
import { Header, Rlp, Transaction, isTransactionType } from '../../eth/index.ts'
import type {
  AccessListItem,
  Address,
  Authorization,
  Block,
  DepositFields,
  Hash,
  L1Cost,
  Log,
  Receipt,
  RlpItem,
  TransactionType,
  Withdrawal,
} from '../../eth/index.ts'
import * as layout from '../writer/layout.ts'
import { Fields, addressAt, bytesAt, hashAt, u64At, viewOf } from './fields.ts'
import { Tag } from './tags.ts'

/** The block that `encodeBlock` was given. Its byte blobs lie in the record, uncopied. Throws RangeError for what is no record. */
export function decodeBlock(bytes: Uint8Array): Block {
  return new Decoding(bytes).block()
}

/** Its header alone. */
export function decodeHeader(bytes: Uint8Array): Header {
  return new Decoding(bytes).header()
}

/** What its transactions paid, in their order. */
export function decodePayments(bytes: Uint8Array): readonly GasPayment[] {
  return new Decoding(bytes).payments()
}

/** The log that begins at `at`. */
export function logAt(bytes: Uint8Array, view: DataView, at: number): Log {
  const topics: Hash[] = []
  let end = at + layout.LOG_HEAD
  for (let left = view.getUint32(at + layout.L_TOPICS, true); left > 0; left--, end += 32) topics.push(hashAt(bytes, end))
  const data = bytesAt(bytes, end, view.getUint32(at + layout.L_DATA_SIZE, true))
  return { address: addressAt(bytes, at + layout.L_ADDRESS), topics, data }
}

/** One pass over a record. */
class Decoding {
  readonly #bytes: Uint8Array
  readonly #view: DataView
  /** of the object at hand, and of the objects in a list of it */
  readonly #fields: Fields
  readonly #inner: Fields
  readonly #transactionCount: number
  readonly #logTable: number

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.#view = viewOf(bytes)
    this.#fields = new Fields(bytes)
    this.#inner = new Fields(bytes)
    this.#transactionCount = this.#u32(layout.R_TRANSACTIONS)
    this.#logTable = layout.RECORD_HEAD + this.#transactionCount * layout.TX_ROW
  }

  block(): Block {
    const header = this.header()
    const fields = this.#fields
    const block = {
      header,
      hash: hashAt(this.#bytes, layout.R_HASH),
      ommers: fields.has(Tag.ommers) ? ommers(fields.bytes(Tag.ommers)) : [],
      withdrawals: fields.has(Tag.withdrawals) ? fields.objects(Tag.withdrawals, this.#inner, withdrawal) : null,
      timestampMs: this.#u32(layout.R_HAS_MS) === 0 ? null : u64At(this.#view, layout.R_TIMESTAMP_MS),
      sizeBytes: fields.number(Tag.size),
    }
    const rows = this.#rows()
    return {
      ...block,
      transactions: rows.map((row) => this.#transaction(row)),
      receipts: rows.map((row) => this.#receipt(row)),
    }
  }

  /** The block's object is the one at hand afterwards. */
  header(): Header {
    const fields = this.#fields
    fields.open(this.#u32(layout.R_BLOCK))
    return {
      parentHash: fields.hash(Tag.parentHash),
      ommersHash: fields.hash(Tag.sha3Uncles),
      coinbase: fields.address(Tag.miner),
      stateRoot: fields.hash(Tag.stateRoot),
      transactionsRoot: fields.hash(Tag.transactionsRoot),
      receiptsRoot: fields.hash(Tag.receiptsRoot),
      logsBloom: fields.bloom(Tag.logsBloom),
      difficulty: fields.quantity(Tag.difficulty),
      number: u64At(this.#view, layout.R_NUMBER),
      gasLimit: fields.quantity(Tag.gasLimit),
      gasUsed: fields.quantity(Tag.gasUsed),
      timestamp: u64At(this.#view, layout.R_TIMESTAMP),
      extraData: fields.bytes(Tag.extraData),
      mixHash: fields.hash(Tag.mixHash),
      nonce: fields.bytes(Tag.blockNonce),
      baseFeePerGas: fields.quantityOrNull(Tag.baseFeePerGas),
      withdrawalsRoot: fields.hashOrNull(Tag.withdrawalsRoot),
      blobGasUsed: fields.quantityOrNull(Tag.blobGasUsed),
      excessBlobGas: fields.quantityOrNull(Tag.excessBlobGas),
      parentBeaconBlockRoot: fields.hashOrNull(Tag.parentBeaconBlockRoot),
      requestsHash: fields.hashOrNull(Tag.requestsHash),
    }
  }

  payments(): readonly GasPayment[] {
    const fields = this.#fields
    return this.#rows().map((row) => {
      fields.open(this.#u32(row + layout.T_RECEIPT))
      return { type: typeOf(fields), gasUsed: fields.quantity(Tag.gasUsed), effectiveGasPrice: fields.quantity(Tag.effectiveGasPrice) }
    })
  }

  #rows(): readonly number[] {
    return Array.from({ length: this.#transactionCount }, (_, index) => layout.RECORD_HEAD + index * layout.TX_ROW)
  }

  #transaction(row: number): Transaction {
    this.#fields.open(this.#u32(row + layout.T_FIELDS))
    const hash = hashAt(this.#bytes, row + layout.T_HASH)
    return transaction(this.#fields, this.#inner, hash, addressAt(this.#bytes, row + layout.T_FROM))
  }

  #receipt(row: number): Receipt {
    const fields = this.#fields
    fields.open(this.#u32(row + layout.T_RECEIPT))
    const firstLogIndex = this.#u32(row + layout.T_FIRST_LOG)
    return {
      type: typeOf(fields),
      status: fields.has(Tag.status) ? (fields.number(Tag.status) === 0 ? 0 : 1) : null,
      root: fields.hashOrNull(Tag.root),
      cumulativeGasUsed: fields.quantity(Tag.cumulativeGasUsed),
      logsBloom: fields.bloom(Tag.logsBloom),
      logs: this.#logs(firstLogIndex, this.#logsEnd(row)),
      gasUsed: fields.quantity(Tag.gasUsed),
      effectiveGasPrice: fields.quantity(Tag.effectiveGasPrice),
      contractAddress: fields.addressOrNull(Tag.contractAddress),
      firstLogIndex,
      blobGasUsed: fields.quantityOrNull(Tag.blobGasUsed),
      blobGasPrice: fields.quantityOrNull(Tag.blobGasPrice),
      depositNonce: fields.quantityOrNull(Tag.depositNonce),
      depositReceiptVersion: fields.numberOrNull(Tag.depositReceiptVersion),
      l1: fields.has(Tag.l1GasPrice) ? l1Cost(fields) : null,
    }
  }

  #logs(from: number, to: number): readonly Log[] {
    const logs: Log[] = []
    for (let i = from; i < to; i++) logs.push(logAt(this.#bytes, this.#view, this.#u32(this.#logTable + i * 4)))
    return logs
  }

  /** Behind the last log of the transaction in this row. */
  #logsEnd(row: number): number {
    const next = row + layout.TX_ROW
    return this.#u32(next === this.#logTable ? layout.R_LOGS : next + layout.T_FIRST_LOG)
  }

  #u32(at: number): number {
    return this.#view.getUint32(at, true)
  }
}

function ommers(rlp: Uint8Array): readonly Header[] {
  return (Rlp.decode(rlp, 'ommers') as readonly RlpItem[]).map(Header.fromRlp) // a list was encoded
}

function withdrawal(fields: Fields): Withdrawal {
  return {
    index: fields.quantity(Tag.index),
    validatorIndex: fields.quantity(Tag.validatorIndex),
    address: fields.address(Tag.address),
    amount: fields.quantity(Tag.amount),
  }
}

function typeOf(fields: Fields): TransactionType {
  const type = fields.number(Tag.type)
  if (!isTransactionType(type)) throw new RangeError(`a record holds the transaction type ${type}`)
  return type
}

// --- a transaction --------------------------------------------------------------------------------------------------------------------------

function transaction(fields: Fields, inner: Fields, hash: Hash, from: Address): Transaction {
  const type = typeOf(fields)
  const deposit = fields.has(Tag.sourceHash) ? depositOf(fields) : null
  const gasPrice = deposit === null ? fields.quantity(Tag.gasPrice) : 0n
  const maxFeePerGas = fields.quantityOrNull(Tag.maxFeePerGas) ?? gasPrice
  let raw: Uint8Array | null = null
  const tx: Transaction = {
    type,
    hash,
    from,
    chainId: fields.numberOrNull(Tag.chainId),
    nonce: deposit === null ? fields.quantity(Tag.nonce) : 0n, // what a deposit shows is its receipt's
    gas: fields.quantity(Tag.gas),
    to: fields.addressOrNull(Tag.to),
    value: fields.quantity(Tag.value),
    data: fields.bytes(Tag.input),
    maxFeePerGas,
    maxPriorityFeePerGas: fields.quantityOrNull(Tag.maxPriorityFeePerGas) ?? gasPrice,
    accessList: fields.has(Tag.accessList) ? fields.objects(Tag.accessList, inner, accessListItem) : [],
    maxFeePerBlobGas: fields.quantityOrNull(Tag.maxFeePerBlobGas) ?? 0n,
    blobVersionedHashes: fields.has(Tag.blobVersionedHashes) ? fields.hashes(Tag.blobVersionedHashes) : [],
    authorizationList: fields.has(Tag.authorizationList) ? fields.objects(Tag.authorizationList, inner, authorization) : [],
    v: fields.quantity(Tag.v),
    r: fields.quantity(Tag.r),
    s: fields.quantity(Tag.s),
    deposit,
    /** Encoded when it is asked for, which is seldom: it takes longer than all the rest. */
    get raw() {
      if (raw !== null) return raw
      raw = NO_BYTES // encoding copies the transaction, and asks again
      return (raw = Transaction.encode(tx))
    },
  }
  return tx
}

const NO_BYTES = new Uint8Array(0)

function depositOf(fields: Fields): DepositFields {
  return { sourceHash: fields.hash(Tag.sourceHash), mint: fields.quantity(Tag.mint), isSystemTx: fields.has(Tag.isSystemTx) }
}

function accessListItem(fields: Fields): AccessListItem {
  return { address: fields.address(Tag.address), storageKeys: fields.hashes(Tag.storageKeys) }
}

function authorization(fields: Fields): Authorization {
  return {
    chainId: fields.quantity(Tag.chainId),
    address: fields.address(Tag.address),
    nonce: fields.quantity(Tag.nonce),
    yParity: fields.number(Tag.yParity),
    r: fields.quantity(Tag.r),
    s: fields.quantity(Tag.s),
    authority: fields.has(Tag.authority) ? addressAt(fields.bytes(Tag.authority), 0) : null,
  }
}

// --- a receipt ------------------------------------------------------------------------------------------------------------------------------

function l1Cost(fields: Fields): L1Cost {
  const [operatorFeeScalar, operatorFeeConstant] = operatorFee(fields)
  return {
    gasPrice: fields.quantity(Tag.l1GasPrice),
    gasUsed: fields.quantity(Tag.l1GasUsed),
    fee: fields.quantity(Tag.l1Fee),
    baseFeeScalar: fields.quantity(Tag.l1BaseFeeScalar),
    blobBaseFee: fields.quantity(Tag.l1BlobBaseFee),
    blobBaseFeeScalar: fields.quantity(Tag.l1BlobBaseFeeScalar),
    operatorFeeScalar,
    operatorFeeConstant,
    daFootprintGasScalar: fields.quantityOrNull(Tag.daFootprintGasScalar),
  }
}

/** Parts that are known and not shown are 0. */
function operatorFee(fields: Fields): readonly [bigint | null, bigint | null] {
  const scalar = fields.quantityOrNull(Tag.operatorFeeScalar)
  const constant = fields.quantityOrNull(Tag.operatorFeeConstant)
  if (!fields.has(Tag.operatorFeeKnown)) return [scalar, constant]
  const known = fields.bytes(Tag.operatorFeeKnown)[0] ?? 0
  return [(known & 1) === 0 ? null : (scalar ?? 0n), (known & 2) === 0 ? null : (constant ?? 0n)]
}
