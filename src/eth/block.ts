import { Fields } from './fields.ts'
import type { FieldVisitor } from './fieldvisitor.ts'
import { Hash } from './hash.ts'
import { Header } from './header.ts'
import { DecodeError } from './hex.ts'
import type { Receipt } from './receipt.ts'
import { Rlp, type RlpInput, type RlpItem } from './rlp.ts'
import { type DecodeOptions, Transaction } from './transaction.ts'
import { Withdrawal, withdrawalFields } from './withdrawal.ts'

/** A block with its transactions and receipts. The hash of a pending block is 32 zero bytes. */
export interface Block {
  readonly header: Header
  readonly hash: Hash
  readonly transactions: readonly Transaction[]
  readonly receipts: readonly Receipt[]
  readonly ommers: readonly Header[]
  readonly withdrawals: readonly Withdrawal[] | null
  /** milliseconds since the epoch; `null` except under the `native` cadence */
  readonly timestampMs: number | null
  /** size of the block's RLP; 0 while it is pending */
  readonly sizeBytes: number
}

/** A block decoded from RLP, which has no receipts. */
export type DecodedBlock = Omit<Block, 'receipts' | 'timestampMs'>

type BlockBody = Pick<Block, 'transactions' | 'ommers' | 'withdrawals'>

export const Block = { encode, sizeBytes, transactionBytes, decode, decodeChain }

/** Returns the RLP of [header, transactions, ommers], and withdrawals since Shanghai. */
function encode(block: BlockBody & Pick<Block, 'header'>): Uint8Array {
  return Rlp.encode([Header.toRlp(block.header), ...bodyItems(block)])
}

/** Returns the length of `encode`'s result, given the length of the header and the sum of `transactionBytes`. */
function sizeBytes(block: Omit<BlockBody, 'transactions'>, headerBytes: number, bytesOfTransactions: number): number {
  const others = bodyItems({ ...block, transactions: [] }).slice(1)
  return Rlp.listSize(others.reduce<number>((sum, item) => sum + Rlp.size(item), headerBytes + Rlp.listSize(bytesOfTransactions)))
}

/** Returns the bytes that a transaction takes in `encode`'s result. */
function transactionBytes({ type, raw }: Transaction): number {
  // Strings of more than one byte and lists have headers of equal length.
  return type === 0 ? raw.length : Rlp.listSize(raw.length)
}

/** All items but the header. */
function bodyItems(block: BlockBody): RlpInput[] {
  const items: RlpInput[] = [
    block.transactions.map((transaction) => (transaction.type === 0 ? { encoded: transaction.raw } : transaction.raw)),
    block.ommers.map(Header.toRlp),
  ]
  if (block.withdrawals !== null) items.push(block.withdrawals.map(Withdrawal.toRlp))
  return items
}

/** Recovers every sender. Throws DecodeError, whose message has the transaction's index. */
function decode(rlp: Uint8Array, options: DecodeOptions = {}): DecodedBlock {
  const fields = new Fields(Rlp.decode(rlp, 'block'), 'block', 3, 4)
  const header = Header.fromRlp(fields.list('header'))
  const transactions = fields
    .list('transactions')
    .map((item, index) => located(`transaction ${index}`, () => Transaction.fromRlp(item, options)))
  const ommers = fields.list('ommers').map(Header.fromRlp)
  const withdrawals = fields.left > 0 ? fields.list('withdrawals').map(Withdrawal.fromRlp) : null
  return { header, hash: Header.hash(header), transactions, ommers, withdrawals, sizeBytes: rlp.length }
}

/** Decodes a file of consecutive RLP blocks. Throws DecodeError with the block's index and byte offset. */
function* decodeChain(bytes: Uint8Array, options: DecodeOptions = {}): Generator<DecodedBlock> {
  for (let start = 0, index = 0; start < bytes.length; index++) {
    const from = start
    const [block, end] = located(`block ${index} at byte ${from}`, () => {
      const itemEnd = Rlp.itemEnd(bytes, from, 'block')
      return [decode(bytes.subarray(from, itemEnd), options), itemEnd] as const
    })
    yield block
    start = end
  }
}

/** Adds the position to the DecodeError of `read`. */
function located<T>(place: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw new DecodeError(`${place}: ${error.field}`, error.reason)
  }
}

// --- fields ---------------------------------------------------------------------------------------------------------------------------------

type BodyFields = Pick<Block, 'transactions' | 'ommers' | 'withdrawals' | 'sizeBytes'>

/** The fields of a block after those of its header. */
export function blockFields(f: FieldVisitor, block: BodyFields & Pick<Block, 'hash'>): BodyFields {
  const size = f.optionalNumber('size', 24, block.hash === Hash.zero ? null : block.sizeBytes)
  const transactions = f.transactions('transactions', 25, block.transactions)
  f.hashes('uncles', 26, block.ommers.map(Header.hash))
  const ommers = f.hidden(27, block.ommers.length === 0 ? null : Rlp.encode(block.ommers.map(Header.toRlp)))
  const withdrawals = f.optionalObjects('withdrawals', 28, 'withdrawal', block.withdrawals, withdrawalFields)
  return { transactions, ommers: ommers === null ? [] : decodeOmmers(ommers), withdrawals, sizeBytes: size ?? 0 }
}

function decodeOmmers(rlp: Uint8Array): readonly Header[] {
  return (Rlp.decode(rlp, 'ommers') as readonly RlpItem[]).map(Header.fromRlp) // a list was encoded
}
