import { Trie } from '../../chain/index.ts'
import {
  Address,
  Authorization,
  Block,
  DecodeError,
  EMPTY_OMMERS,
  Hash,
  Header,
  Receipt,
  Transaction,
  isTransactionType,
} from '../../eth/index.ts'
import type { AccessListItem, Log, TransactionType } from '../../eth/index.ts'
import { GAS_PER_BLOB, effectiveGasPrice } from '../../evm/index.ts'
import { encodeBlock } from '../record/index.ts'
import type { JsonField } from './jsonfield.ts'
import { readHeader } from './header.ts'

/** The chain in anvil's state file. */
export interface AnvilChain {
  /** chain id of its transactions; `null` if none has one */
  readonly chainId: number | null
  /** records of blocks 0, 1, … */
  readonly records: readonly Uint8Array[]
}

/**
 * Reads the blocks up to the best one, with their receipts, and recomputes every hash. Throws StateFileError for invalid values, and
 * IncompleteChain if values are missing.
 */
export function readAnvilChain(file: JsonField): AnvilChain {
  const chain = chainOf(file)
  const receipts = new Map((file.maybe('transactions')?.items() ?? []).map((entry) => [positionOf(entry), entry]))
  const blocks = chain.map((entry) => readBlock(entry, receipts))
  const chainId = blocks.flatMap(({ transactions }) => transactions).find((tx) => tx.chainId !== null)?.chainId ?? null
  return { chainId, records: blocks.map(encodeBlock) }
}

/** A block's entry in the file with its header. */
interface BlockEntry {
  readonly field: JsonField
  readonly header: Header
  readonly hash: Hash
}

/** Returns the blocks from 0 to the best one. The file's list is unordered and may contain blocks of abandoned forks. */
function chainOf(file: JsonField): readonly BlockEntry[] {
  const best = file.maybe('best_block_number')?.number() ?? null
  const entries = (file.maybe('blocks')?.items() ?? []).map(blockEntryOf)
  const byHash = new Map(entries.map((entry) => [entry.hash, entry]))
  const tops = entries.filter(({ header }) => header.number === best)
  const [top] = tops
  if (top === undefined) throw new IncompleteChain(best === null ? 'it names no best block' : `its best block, ${best}, is not there`)
  if (tops.length > 1) throw new IncompleteChain(`it has ${tops.length} blocks ${best}`)
  const chain = [top]
  for (let entry = top; entry.header.number > 0;) {
    const parent = byHash.get(entry.header.parentHash)
    if (parent === undefined || parent.header.number !== entry.header.number - 1) {
      throw new IncompleteChain(`the parent of its block ${entry.header.number} is not there`)
    }
    chain.push((entry = parent))
  }
  return chain.reverse()
}

function blockEntryOf(field: JsonField): BlockEntry {
  const header = readHeader(field.key('header'))
  if (header === null) throw new IncompleteChain('its headers have fields of rules that are not known here')
  if (header.ommersHash !== EMPTY_OMMERS) throw new IncompleteChain(`its block ${header.number} has ommers`)
  try {
    return { field, header, hash: Header.hash(header) }
  } catch (error) {
    // Before Shanghai anvil omits a field that precedes another one, and hashes without it.
    if (error instanceof RangeError)
      throw new IncompleteChain(`the header of its block ${header.number} lacks a field that precedes another one`)
    throw error
  }
}

/** Key of a transaction, by block and index: for impersonated senders anvil computes other transaction hashes. */
function positionOf(entry: JsonField): string {
  return `${entry.key('block_hash').hash()} ${entry.key('info').key('transaction_index').number()}`
}

function readBlock({ field, header, hash }: BlockEntry, entries: ReadonlyMap<string, JsonField>): Block {
  const transactions: Transaction[] = []
  const receipts: Receipt[] = []
  for (const [index, tx] of field.key('transactions').items().entries()) {
    const entry = entries.get(`${hash} ${index}`)
    if (entry === undefined) throw new IncompleteChain(`transaction ${index} of its block ${header.number} has no receipt`)
    const transaction = readTransaction(tx, entry)
    transactions.push(transaction)
    receipts.push(readReceipt(entry.key('receipt'), transaction, header, receipts.at(-1)))
  }
  const roots = [Trie.orderedRoot(transactions.map(({ raw }) => raw)), Trie.orderedRoot(receipts.map(Receipt.encode))]
  if (roots[0] !== header.transactionsRoot)
    throw new IncompleteChain(`the transactions of its block ${header.number} are not those that its header names`)
  if (roots[1] !== header.receiptsRoot)
    throw new IncompleteChain(`the receipts of its block ${header.number} are not those that its header names`)
  const body = { header, transactions, ommers: [], withdrawals: header.withdrawalsRoot === null ? null : [] }
  return { ...body, hash, receipts, timestampMs: null, sizeBytes: Block.encode(body).length }
}

// --- transactions ---------------------------------------------------------------------------------------------------------------------------

/** Throws StateFileError if the hash does not match the fields. */
function readTransaction(field: JsonField, entry: JsonField): Transaction {
  const fields = field.key('transaction')
  if (fields.maybe('type') === null) throw new IncompleteChain('its transactions have no type')
  const read = fieldsOf(fields)
  const impersonated = field.maybe('impersonated_sender')?.address() ?? null
  const raw = encoded(read, fields)
  const hash = entry.key('info').key('transaction_hash')
  if (impersonated !== null) return { ...read, raw, hash: hash.hash(), from: impersonated }
  const transaction = decoded(raw, fields)
  if (transaction.hash !== hash.hash()) throw hash.wrong(`is not the hash of the transaction's fields, ${transaction.hash}`)
  return transaction
}

function encoded(tx: Transaction, field: JsonField): Uint8Array {
  try {
    return Transaction.encode(tx)
  } catch (error) {
    if (error instanceof DecodeError) throw field.wrong(`is no transaction: ${error.message}`)
    throw error
  }
}

function decoded(raw: Uint8Array, field: JsonField): Transaction {
  try {
    return Transaction.decode(raw)
  } catch (error) {
    if (error instanceof DecodeError) throw field.wrong(`is no transaction: ${error.message}`)
    throw error
  }
}

/** Reads the stored fields; hash, sender and envelope are derived. */
function fieldsOf(field: JsonField): Transaction {
  const type = typeOf(field.key('type'))
  const maxFeePerGas = (field.maybe('maxFeePerGas') ?? field.maybe('gasPrice'))?.quantity() ?? 0n
  const signature = (name: string) => field.maybe(name)?.quantity() ?? 0n
  return {
    type,
    maxFeePerGas,
    hash: Hash.zero,
    from: field.maybe('from')?.address() ?? Address.zero,
    chainId: field.maybe('chainId')?.number() ?? null,
    nonce: field.maybe('nonce')?.quantity(64) ?? 0n,
    gas: (field.maybe('gas') ?? field.key('gasLimit')).quantity(64),
    to: field.key('to').addressOrNull(),
    value: field.key('value').quantity(),
    data: (field.maybe('input') ?? field.key('data')).bytes(),
    maxPriorityFeePerGas: field.maybe('maxPriorityFeePerGas')?.quantity() ?? maxFeePerGas,
    accessList: (field.maybe('accessList')?.items() ?? []).map(accessListItem),
    maxFeePerBlobGas: field.maybe('maxFeePerBlobGas')?.quantity() ?? 0n,
    blobVersionedHashes: (field.maybe('blobVersionedHashes')?.items() ?? []).map((item) => item.hash()),
    authorizationList: (field.maybe('authorizationList')?.items() ?? []).map(authorization),
    v: type === 0 || field.maybe('yParity') === null ? signature('v') : signature('yParity'),
    r: signature('r'),
    s: signature('s'),
    deposit: type === 0x7e ? depositOf(field) : null,
    raw: NO_BYTES,
  }
}

const NO_BYTES = new Uint8Array(0)

function typeOf(field: JsonField): TransactionType {
  const type = field.number()
  if (!isTransactionType(type)) throw field.wrong(`is unknown (${type})`)
  return type
}

function accessListItem(field: JsonField): AccessListItem {
  return {
    address: field.key('address').address(),
    storageKeys: field
      .key('storageKeys')
      .items()
      .map((key) => key.hash()),
  }
}

function authorization(field: JsonField): Authorization {
  const signed = {
    chainId: field.key('chainId').quantity(),
    address: field.key('address').address(),
    nonce: field.key('nonce').quantity(64),
    yParity: (field.maybe('yParity') ?? field.key('v')).number(),
    r: field.key('r').quantity(),
    s: field.key('s').quantity(),
  }
  return { ...signed, authority: Authorization.recover(signed) }
}

function depositOf(field: JsonField): NonNullable<Transaction['deposit']> {
  return {
    sourceHash: field.key('sourceHash').hash(),
    mint: field.maybe('mint')?.quantity(128) ?? 0n,
    isSystemTx: (field.maybe('isSystemTx') ?? field.maybe('isSystemTransaction'))?.boolean() ?? false,
  }
}

// --- receipts -------------------------------------------------------------------------------------------------------------------------------

/** Reads the consensus fields and derives the others. `before`: the previous transaction's receipt. */
function readReceipt(field: JsonField, tx: Transaction, header: Header, before: Receipt | undefined): Receipt {
  const status = field.maybe('status')
  if (status === null || field.maybe('cumulativeGasUsed') === null)
    throw new IncompleteChain('its receipts are of a kind that is not known here')
  const cumulativeGasUsed = field.key('cumulativeGasUsed').quantity(64)
  const gasUsed = cumulativeGasUsed - (before?.cumulativeGasUsed ?? 0n)
  if (gasUsed < 0n) throw field.key('cumulativeGasUsed').wrong('is less than that of the transaction before')
  const isDeposit = tx.deposit !== null
  return {
    type: tx.type,
    status: statusOf(status),
    root: null,
    cumulativeGasUsed,
    gasUsed,
    logsBloom: field.key('logsBloom').bytes(256),
    logs: field.key('logs').items().map(logOf),
    effectiveGasPrice: isDeposit ? 0n : effectiveGasPrice(tx, header.baseFeePerGas),
    contractAddress: tx.to === null ? Address.create(tx.from, tx.nonce) : null,
    firstLogIndex: (before?.firstLogIndex ?? 0) + (before?.logs.length ?? 0),
    ...blobGasOf(tx, header),
    depositNonce: isDeposit ? (field.maybe('depositNonce')?.quantity(64) ?? null) : null,
    depositReceiptVersion: isDeposit ? (field.maybe('depositReceiptVersion')?.number() ?? null) : null,
    l1: null,
  }
}

function statusOf(field: JsonField): 0 | 1 {
  if (typeof field.value === 'boolean') return field.value ? 1 : 0
  const status = field.number()
  if (status !== 0 && status !== 1) throw field.wrong(`must be 0 or 1, not ${status}`)
  return status
}

function logOf(field: JsonField): Log {
  return {
    address: field.key('address').address(),
    topics: field
      .key('topics')
      .items()
      .map((topic) => topic.hash()),
    data: field.key('data').bytes(),
  }
}

/** The file does not name the fork whose price rule applies; without excess blob gas the price is the minimum under all of them. */
function blobGasOf(tx: Transaction, { number, excessBlobGas }: Header): Pick<Receipt, 'blobGasUsed' | 'blobGasPrice'> {
  if (tx.type !== 3) return { blobGasUsed: null, blobGasPrice: null }
  if (excessBlobGas !== 0n) throw new IncompleteChain(`the price of blobs in its block ${number} is missing`)
  return { blobGasUsed: BigInt(tx.blobVersionedHashes.length) * GAS_PER_BLOB, blobGasPrice: 1n }
}

/** The file lacks values that its blocks need; the message continues "its blocks are left out: ". */
export class IncompleteChain extends Error {
  override readonly name = 'IncompleteChain'
}
