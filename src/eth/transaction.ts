import { Address } from './address.ts'
import { Authorization, authorizationFields } from './authorization.ts'
import { BlobSidecar } from './blobsidecar.ts'
import type { DepositFields } from './deposit.ts'
import { Fields } from './fields.ts'
import type { FieldContext, FieldVisitor } from './fieldvisitor.ts'
import { Hash } from './hash.ts'
import { DecodeError } from './hex.ts'
import { Rlp, type RlpInput, type RlpItem } from './rlp.ts'
import { type PrivateKey, Secp256k1, type Signature } from './secp256k1.ts'
import { isTransactionType, type TransactionType } from './transactiontype.ts'

export interface AccessListItem {
  readonly address: Address
  readonly storageKeys: readonly Hash[]
}

/**
 * One flat shape for all types, so that fee arithmetic needs no branches: a legacy `gasPrice` is both fee fields. Fields that a type lacks
 * are 0n, [] or null.
 */
export interface Transaction {
  readonly type: TransactionType
  readonly hash: Hash
  readonly from: Address
  /** `null` for legacy transactions without EIP-155 and for deposits */
  readonly chainId: number | null
  readonly nonce: bigint
  readonly gas: bigint
  readonly to: Address | null
  readonly value: bigint
  readonly data: Uint8Array
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
  readonly accessList: readonly AccessListItem[]
  readonly maxFeePerBlobGas: bigint
  readonly blobVersionedHashes: readonly Hash[]
  readonly authorizationList: readonly Authorization[]
  /** legacy: v as signed (27, 28 or EIP-155); typed: the y parity */
  readonly v: bigint
  readonly r: bigint
  readonly s: bigint
  readonly deposit: DepositFields | null
  /** The EIP-2718 envelope, or the RLP list of a legacy transaction, as in tries and `eth_getRawTransaction*`. */
  readonly raw: Uint8Array
}

/** The signed fields. Missing ones are 0, empty or null; `type` is 2 by default; a legacy gas price is `maxFeePerGas`. */
export type TransactionFields = Partial<Omit<Transaction, 'type' | 'hash' | 'from' | 'v' | 'r' | 's' | 'deposit' | 'raw'>> & {
  readonly type?: SignedType
}

export type DepositTransactionFields = DepositFields & DepositCall

export interface DecodeOptions {
  /** Also accepts envelopes of `unsigned`. Only for bytes that this chain wrote, because anyone can forge such an envelope. */
  readonly impersonated?: boolean
}

/** A decoded transaction whose sender has yet to be recovered. */
export interface SignedTransaction {
  /** what the sender signed */
  readonly digest: Hash
  readonly signature: Signature
  /** of a blob transaction in its network form; null for an envelope */
  readonly sidecar: BlobSidecar | null
  /** `sender`: as Secp256k1.recover returns it. Throws DecodeError for null. */
  readonly withSender: (sender: Address | null) => Transaction
}

export const Transaction = { decode, decodeSigned, recovered, fromRlp, encode, signingHash, sign, unsigned, deposit }

type SignedType = Exclude<TransactionType, 0x7e>
type DepositCall = Pick<Transaction, 'from' | 'to' | 'value' | 'gas' | 'data'>
type Unsigned = Omit<Transaction, 'hash' | 'from' | 'v' | 'r' | 's' | 'deposit' | 'raw'>
type Body = Unsigned & { readonly type: SignedType }

/** The s of an unsigned envelope; its r is the sender. */
const IMPERSONATED_S = 1n

/**
 * Decodes an envelope, or the network form of a blob transaction, and recovers its sender. The result keeps a view of `raw`.
 * Throws DecodeError for non-canonical integers, a high s (EIP-2), an invalid signature and trailing bytes.
 */
function decode(raw: Uint8Array, options: DecodeOptions = {}): Transaction {
  return recovered(decodeSigned(raw, options))
}

/** As `decode`, without the recovery, which takes far longer than the rest. Deposits and impersonated senders come complete. */
function decodeSigned(raw: Uint8Array, options: DecodeOptions = {}): SignedTransaction | Transaction {
  const first = raw[0]
  if (first === undefined) throw new DecodeError('transaction', 'is empty')
  if (first >= 0xc0) return fromList(0, Rlp.decode(raw, 'transaction'), raw, options)
  if (!isTransactionType(first) || first === 0) throw new DecodeError('transaction.type', `is unknown (${first})`)
  const item = Rlp.decode(raw.subarray(1), 'transaction')
  if (first === 0x7e) return fromDeposit(item, raw)
  if (first === 3 && isNetworkForm(item)) return fromNetworkForm(item, options)
  return fromList(first, item, raw, options)
}

/** Recovers the sender, unless the transaction is complete. Throws DecodeError for an invalid signature. */
function recovered(decoded: SignedTransaction | Transaction): Transaction {
  if (!('digest' in decoded)) return decoded
  const { r, s, yParity } = decoded.signature
  return decoded.withSender(Secp256k1.recover(decoded.digest, r, s, yParity))
}

/** Decodes a transaction of a block body: a list if legacy, else the bytes of an envelope. Throws DecodeError. */
function fromRlp(item: RlpItem, options: DecodeOptions = {}): Transaction {
  if (!(item instanceof Uint8Array)) return recovered(fromList(0, item, Rlp.encode(item), options))
  if ((item[0] ?? 0xff) >= 0xc0) throw new DecodeError('transaction', 'is a legacy one in the place of an envelope')
  return decode(item, options)
}

/** EIP-4844: a list of the transaction and the fields of its sidecar. */
function isNetworkForm(item: RlpItem): item is readonly RlpItem[] {
  return !(item instanceof Uint8Array) && item[0] !== undefined && !(item[0] instanceof Uint8Array)
}

function fromNetworkForm(items: readonly RlpItem[], options: DecodeOptions): SignedTransaction | Transaction {
  const fields = new Fields(items, 'transaction.sidecar', 4, 5)
  const body = fields.list('transaction')
  const decoded = fromList(3, body, Rlp.encodeTyped(3, body), options)
  const hashes = readBlob(new Fields(body, 'transaction', FIELD_COUNTS[3])).blobVersionedHashes ?? []
  const sidecar = BlobSidecar.fromFields(fields, hashes.length)
  return 'digest' in decoded ? { ...decoded, sidecar } : decoded
}

function fromList(type: SignedType, item: RlpItem, raw: Uint8Array, options: DecodeOptions): SignedTransaction | Transaction {
  const fields = new Fields(item, 'transaction', FIELD_COUNTS[type])
  const unsignedFields = READERS[type](fields)
  const v = fields.uint('v', 9)
  const r = fields.uint('r', 32)
  const s = fields.uint('s', 32)
  const yParity = type === 0 ? legacyParity(v) : typedParity(v)
  const body = withDefaults(unsignedFields, type === 0 ? legacyChainId(v) : null)
  const from = (sender: Address) => build(body, Hash.keccak(raw), sender, v, r, s, null, raw)
  if (s === IMPERSONATED_S && r >> 160n === 0n) {
    if (options.impersonated === true) return from(Address.fromBigint(r))
    throw new DecodeError('transaction.signature', 'is one that this chain reserves for impersonated senders')
  }
  if (s > Secp256k1.HALF_ORDER) throw new DecodeError('transaction.s', 'is in the upper half of the order (EIP-2)')
  const withSender = (sender: Address | null) => {
    if (sender === null) throw new DecodeError('transaction.signature', 'recovers no sender')
    return from(sender)
  }
  return { digest: signingHash(body), signature: { r, s, yParity }, sidecar: null, withSender }
}

function typedParity(v: bigint): 0 | 1 {
  if (v !== 0n && v !== 1n) throw new DecodeError('transaction.yParity', `must be 0 or 1, not ${v}`)
  return v === 0n ? 0 : 1
}

function legacyParity(v: bigint): 0 | 1 {
  return v % 2n === 1n ? 0 : 1 // 27 and 35 + 2 * chainId are odd
}

function legacyChainId(v: bigint): number | null {
  if (v === 27n || v === 28n) return null
  if (v < 35n) throw new DecodeError('transaction.v', `must be 27, 28 or at least 35, not ${v}`)
  const chainId = Number((v - 35n) / 2n)
  if (!Number.isSafeInteger(chainId)) throw new DecodeError('transaction.v', `names too large a chain id (${v})`)
  return chainId
}

const FIELD_COUNTS: Readonly<Record<SignedType, number>> = { 0: 9, 1: 11, 2: 12, 3: 14, 4: 13 }

const READERS: Readonly<Record<SignedType, (fields: Fields) => TransactionFields>> = {
  0: readLegacy,
  1: readAccessList,
  2: readFeeMarket,
  3: readBlob,
  4: readSetCode,
}

function readLegacy(fields: Fields): TransactionFields {
  const nonce = fields.uint('nonce', 8)
  const maxFeePerGas = fields.uint('gasPrice', 32)
  const { gas, to, value, data } = readCall(fields, false)
  return { type: 0, nonce, maxFeePerGas, gas, to, value, data }
}

function readAccessList(fields: Fields): TransactionFields {
  const chainId = fields.number('chainId')
  const nonce = fields.uint('nonce', 8)
  const maxFeePerGas = fields.uint('gasPrice', 32)
  const { gas, to, value, data } = readCall(fields, false)
  const accessList = fields.list('accessList').map(accessListItem)
  return { type: 1, chainId, nonce, maxFeePerGas, gas, to, value, data, accessList }
}

function readFeeMarket(fields: Fields): TransactionFields {
  return readFees(fields, 2)
}

function readBlob(fields: Fields): TransactionFields {
  const common = readFees(fields, 3)
  const maxFeePerBlobGas = fields.uint('maxFeePerBlobGas', 32)
  const blobVersionedHashes = fields.list('blobVersionedHashes').map((item) => hashItem(item, 'blobVersionedHashes'))
  return { ...common, maxFeePerBlobGas, blobVersionedHashes }
}

function readSetCode(fields: Fields): TransactionFields {
  const common = readFees(fields, 4)
  return { ...common, authorizationList: fields.list('authorizationList').map(Authorization.fromRlp) }
}

/** Reads the fields up to the access list, which types 2, 3 and 4 share. Types 3 and 4 cannot create a contract. */
function readFees(fields: Fields, type: 2 | 3 | 4): TransactionFields {
  const chainId = fields.number('chainId')
  const nonce = fields.uint('nonce', 8)
  const maxPriorityFeePerGas = fields.uint('maxPriorityFeePerGas', 32)
  const maxFeePerGas = fields.uint('maxFeePerGas', 32)
  const { gas, to, value, data } = readCall(fields, type !== 2)
  const accessList = fields.list('accessList').map(accessListItem)
  return { type, chainId, nonce, maxPriorityFeePerGas, maxFeePerGas, gas, to, value, data, accessList }
}

function readCall(fields: Fields, mustCall: boolean) {
  const gas = fields.uint('gas', 8)
  const to = mustCall ? fields.address('to') : fields.addressOrNull('to')
  return { gas, to, value: fields.uint('value', 32), data: fields.bytes('data') }
}

function accessListItem(item: RlpItem): AccessListItem {
  const fields = new Fields(item, 'transaction.accessList', 2)
  const address = fields.address('address')
  return { address, storageKeys: fields.list('storageKeys').map((key) => hashItem(key, 'accessList.storageKeys')) }
}

function hashItem(item: RlpItem, name: string): Hash {
  if (!(item instanceof Uint8Array)) throw new DecodeError(`transaction.${name}`, 'must hold bytes, not RLP lists')
  return Hash.from(item, `transaction.${name}`)
}

/** Encodes the envelope from the fields. */
function encode(transaction: Transaction): Uint8Array {
  const { type, v, r, s } = transaction
  if (transaction.deposit !== null) return encodeDeposit(transaction, transaction.deposit)
  if (type === 0x7e) throw new DecodeError('transaction.deposit', 'is missing')
  return envelope(type, [...fieldsOf(transaction), v, r, s])
}

/** Returns the hash that the sender signs: the fields without a signature, with the chain id in its place for legacy (EIP-155). */
function signingHash(fields: TransactionFields): Hash {
  const body = withDefaults(fields)
  const list = fieldsOf(body)
  if (body.type === 0 && body.chainId !== null) list.push(body.chainId, 0, 0)
  return Hash.keccak(envelope(body.type, list))
}

function envelope(type: SignedType, list: readonly RlpInput[]): Uint8Array {
  return type === 0 ? Rlp.encode(list) : Rlp.encodeTyped(type, list)
}

/** `from`: the address of the key, which takes half as long as the signature to compute. Throws DecodeError for an invalid key. */
function sign(fields: TransactionFields, privateKey: PrivateKey, from = Secp256k1.address(privateKey)): Transaction {
  const body = withDefaults(fields)
  const { r, s, yParity } = Secp256k1.sign(signingHash(body), privateKey)
  return complete(body, from, yParity, r, s)
}

/**
 * Returns a transaction without a signature, for impersonated senders. The sender is stored in the signature (r, with s = 1), so that equal
 * transactions of two senders have different hashes. `decode` rejects it by default.
 */
function unsigned(fields: TransactionFields, from: Address): Transaction {
  return complete(withDefaults(fields), from, 0, Address.toBigint(from), IMPERSONATED_S)
}

function complete(body: Body, from: Address, yParity: 0 | 1, r: bigint, s: bigint): Transaction {
  const v = body.type === 0 ? legacyV(body.chainId, yParity) : BigInt(yParity)
  const raw = envelope(body.type, [...fieldsOf(body), v, r, s])
  return build(body, Hash.keccak(raw), from, v, r, s, null, raw)
}

/** Creates every transaction: key by key, because spreading takes 10 us, and in one order, so that all have one hidden class. */
function build(
  body: Unsigned,
  hash: Hash,
  from: Address,
  v: bigint,
  r: bigint,
  s: bigint,
  depositFields: DepositFields | null,
  raw: Uint8Array,
): Transaction {
  return {
    type: body.type,
    hash,
    from,
    chainId: body.chainId,
    nonce: body.nonce,
    gas: body.gas,
    to: body.to,
    value: body.value,
    data: body.data,
    maxFeePerGas: body.maxFeePerGas,
    maxPriorityFeePerGas: body.maxPriorityFeePerGas,
    accessList: body.accessList,
    maxFeePerBlobGas: body.maxFeePerBlobGas,
    blobVersionedHashes: body.blobVersionedHashes,
    authorizationList: body.authorizationList,
    v,
    r,
    s,
    deposit: depositFields,
    raw,
  }
}

function legacyV(chainId: number | null, yParity: 0 | 1): bigint {
  return chainId === null ? 27n + BigInt(yParity) : 35n + 2n * BigInt(chainId) + BigInt(yParity)
}

/** Also drops fields that the type does not have. */
function withDefaults(fields: TransactionFields, signedChainId: number | null = null): Body {
  const type = fields.type ?? 2
  const maxFeePerGas = fields.maxFeePerGas ?? 0n
  return {
    type,
    chainId: fields.chainId ?? (type === 0 ? signedChainId : 0),
    nonce: fields.nonce ?? 0n,
    gas: fields.gas ?? 0n,
    to: fields.to ?? null,
    value: fields.value ?? 0n,
    data: fields.data ?? NO_BYTES,
    maxFeePerGas,
    maxPriorityFeePerGas: type < 2 ? maxFeePerGas : (fields.maxPriorityFeePerGas ?? 0n),
    accessList: (type === 0 ? null : fields.accessList) ?? [],
    maxFeePerBlobGas: (type === 3 ? fields.maxFeePerBlobGas : null) ?? 0n,
    blobVersionedHashes: (type === 3 ? fields.blobVersionedHashes : null) ?? [],
    authorizationList: (type === 4 ? fields.authorizationList : null) ?? [],
  }
}

const NO_BYTES = new Uint8Array(0)

/** The fields before the signature, in the order of the type's envelope. */
function fieldsOf(body: Unsigned): RlpInput[] {
  const call = [body.gas, body.to ?? NO_BYTES, body.value, body.data]
  if (body.type === 0) return [body.nonce, body.maxFeePerGas, ...call]
  const accessList = body.accessList.map((item) => [item.address, item.storageKeys])
  const chainId = body.chainId ?? 0
  if (body.type === 1) return [chainId, body.nonce, body.maxFeePerGas, ...call, accessList]
  const common: RlpInput[] = [chainId, body.nonce, body.maxPriorityFeePerGas, body.maxFeePerGas, ...call, accessList]
  if (body.type === 3) common.push(body.maxFeePerBlobGas, body.blobVersionedHashes)
  if (body.type === 4) common.push(body.authorizationList.map(Authorization.toRlp))
  return common
}

/** A deposit's nonce is its receipt's `depositNonce`; it has no signature and pays no fee. */
function deposit(fields: DepositTransactionFields): Transaction {
  const raw = encodeDeposit(fields, fields)
  // The encoding ends with the data, which shares its memory: a second array of 178 bytes cost 3 us per block.
  return depositOf(fields, raw.subarray(raw.length - fields.data.length), raw)
}

function encodeDeposit({ from, to, value, gas, data }: DepositCall, { sourceHash, mint, isSystemTx }: DepositFields): Uint8Array {
  return Rlp.encodeTyped(0x7e, [sourceHash, from, to ?? NO_BYTES, mint, value, gas, isSystemTx ? 1 : 0, data])
}

function fromDeposit(item: RlpItem, raw: Uint8Array): Transaction {
  const fields = new Fields(item, 'transaction', 8)
  const read = {
    sourceHash: fields.hash('sourceHash'),
    from: fields.address('from'),
    to: fields.addressOrNull('to'),
    mint: fields.uint('mint', 32),
    value: fields.uint('value', 32),
    gas: fields.uint('gas', 8),
    isSystemTx: fields.bit('isSystemTx') === 1,
    data: fields.bytes('data'),
  }
  return depositOf(read, read.data, raw)
}

function depositOf(fields: DepositTransactionFields, data: Uint8Array, raw: Uint8Array): Transaction {
  const { sourceHash, from, to, mint, value, gas, isSystemTx } = fields
  const body: Unsigned = {
    type: 0x7e,
    chainId: null,
    nonce: 0n,
    gas,
    to,
    value,
    data,
    maxFeePerGas: 0n,
    maxPriorityFeePerGas: 0n,
    accessList: NOTHING,
    maxFeePerBlobGas: 0n,
    blobVersionedHashes: NOTHING,
    authorizationList: NOTHING,
  }
  return build(body, Hash.keccak(raw), from, 0n, 0n, 0n, { sourceHash, mint, isSystemTx }, raw)
}

const NOTHING: readonly never[] = []

// --- fields ---------------------------------------------------------------------------------------------------------------------------------

/** The fields in JSON and in stored records. `raw` is derived from them. */
export function transactionFields(f: FieldVisitor, tx: Omit<Transaction, 'raw'>, context: FieldContext): Omit<Transaction, 'raw'> {
  const { block, index, receipt } = context
  f.blockHashOrNull('blockHash', 33, block === null || block.hash === Hash.zero ? null : block.hash)
  f.blockNumberOrNull('blockNumber', 34, block === null ? null : block.header.number)
  f.blockTimestampOrNull('blockTimestamp', 35, block === null ? null : block.header.timestamp)
  f.optionalBlockTimestampMs('blockTimestampMs', 36, block === null ? null : block.timestampMs)
  f.transactionIndexOrNull('transactionIndex', 37, block === null ? null : index)
  const hash = f.transactionHash('hash', 38, tx.hash)
  const type = f.transactionType('type', 39, tx.type)
  const from = f.sender('from', 40, tx.from)
  const to = f.receiver('to', 41, 42, tx.to)
  // A deposit has no nonce of its own; JSON has the nonce of its execution.
  const nonce = f.quantity('nonce', 43, tx.deposit === null ? tx.nonce : (receipt?.depositNonce ?? tx.nonce))
  const gas = f.quantity('gas', 44, tx.gas)
  const value = f.quantity('value', 45, tx.value)
  const data = f.bytes('input', 46, tx.data)
  const deposit = f.group(61, tx.deposit, depositFields)
  const gasPrice = f.quantity('gasPrice', 47, tx.deposit === null ? gasPriceOf(tx, block?.header.baseFeePerGas ?? null) : 0n)
  const hasFees = tx.type >= 2 && tx.deposit === null
  const maxFeePerGas = f.optionalQuantity('maxFeePerGas', 48, hasFees ? tx.maxFeePerGas : null) ?? gasPrice
  const maxPriorityFeePerGas = f.optionalQuantity('maxPriorityFeePerGas', 49, hasFees ? tx.maxPriorityFeePerGas : null) ?? gasPrice
  const chainId = f.optionalNumber('chainId', 50, tx.deposit === null ? tx.chainId : null)
  const accessList = f.optionalObjects(
    'accessList',
    51,
    'access list item',
    tx.type === 0 || tx.deposit !== null ? null : tx.accessList,
    accessListFields,
  )
  const maxFeePerBlobGas = f.optionalQuantity('maxFeePerBlobGas', 53, tx.type === 3 ? tx.maxFeePerBlobGas : null)
  const blobVersionedHashes = f.optionalHashes('blobVersionedHashes', 54, tx.type === 3 ? tx.blobVersionedHashes : null)
  const authorizations = f.optionalObjects(
    'authorizationList',
    55,
    'authorization',
    tx.type === 4 ? tx.authorizationList : null,
    authorizationFields,
  )
  f.optionalNumber('depositReceiptVersion', 64, tx.deposit === null ? null : (receipt?.depositReceiptVersion ?? null))
  f.optionalQuantity('yParity', 57, tx.type === 0 ? null : tx.v)
  const v = f.quantity('v', 58, tx.v)
  const r = f.quantity('r', 59, tx.r)
  const s = f.quantity('s', 60, tx.s)
  if (!f.isDecoder) return tx
  return {
    type,
    hash,
    from,
    chainId,
    nonce: deposit === null ? nonce : 0n,
    gas,
    to,
    value,
    data,
    maxFeePerGas,
    maxPriorityFeePerGas,
    accessList: accessList ?? [],
    maxFeePerBlobGas: maxFeePerBlobGas ?? 0n,
    blobVersionedHashes: blobVersionedHashes ?? [],
    authorizationList: authorizations ?? [],
    v,
    r,
    s,
    deposit,
  }
}

function depositFields(f: FieldVisitor, { sourceHash, mint, isSystemTx }: DepositFields): DepositFields {
  return {
    sourceHash: f.hash('sourceHash', 61, sourceHash),
    mint: f.quantity('mint', 62, mint),
    isSystemTx: f.flag('isSystemTx', 63, isSystemTx),
  }
}

function accessListFields(f: FieldVisitor, { address, storageKeys }: AccessListItem): AccessListItem {
  return { address: f.address('address', 31, address), storageKeys: f.hashes('storageKeys', 52, storageKeys) }
}

/** The price paid per gas once the base fee is known, else the highest that may be paid. */
function gasPriceOf({ maxFeePerGas, maxPriorityFeePerGas }: Omit<Transaction, 'raw'>, baseFee: bigint | null): bigint {
  const offered = baseFee === null ? maxFeePerGas : baseFee + maxPriorityFeePerGas
  return offered < maxFeePerGas ? offered : maxFeePerGas
}
