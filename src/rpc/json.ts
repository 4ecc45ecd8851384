import type { LocatedTransaction, LocatedLog } from '../chain/index.ts'
import { Header, JsonObject, blockFields, headerFields, logFields, receiptFields, transactionFields } from '../eth/index.ts'
import type { AccessListItem, Block, FieldContext, Json, Transaction } from '../eth/index.ts'

// The objects of JSON-RPC (execution-apis, op-reth). Their fields, with the rules for absent and null ones, are listed beside each noun in eth/.

export type { Json } from '../eth/index.ts'

/** `full`: transactions as objects, else as hashes. A pending block has no `size`. */
export function blockJson(block: Block, full: boolean): Json {
  const object = new JsonObject((transactions) =>
    full
      ? transactions.map((_, index) => transactionJson(block.transactions[index]!, { block, index }))
      : block.transactions.map(({ hash }) => hash),
  )
  headerFields(object, block.header, block)
  blockFields(object, block)
  return object.json
}

/** The result of newHeads and eth_getHeaderBy*. */
export function headerJson(block: Pick<Block, 'header' | 'hash' | 'timestampMs'>): Json {
  const object = new JsonObject()
  headerFields(object, block.header, block)
  return object.json
}

export function ommerJson(header: Header): Json {
  return { ...headerJson({ header, hash: Header.hash(header), timestampMs: null }), uncles: [] }
}

/** `location` is `null` in the pool. Pre-confirmed: `blockHash` is null; number, index and time are set. */
export function transactionJson(transaction: Transaction, location: LocatedTransaction | null): Json {
  const { block = null, index = 0 } = location ?? {}
  const object = new JsonObject()
  transactionFields(object, transaction, { block, index, transaction, receipt: block?.receipts[index] ?? null })
  return object.json
}

export function accessListJson(list: readonly AccessListItem[]): readonly Json[] {
  return list.map(({ address, storageKeys }) => ({ address, storageKeys }))
}

/** The receipt of the transaction at `location`. Pre-confirmed: `blockHash` is 32 zero bytes. Throws Error if the block has no such receipt. */
export function receiptJson({ block, index }: LocatedTransaction): Json {
  const receipt = block.receipts[index]
  if (receipt === undefined) throw new Error(`block ${block.header.number} has no receipt ${index}`)
  const object = new JsonObject(() =>
    receipt.logs.map((log, i) => logJson({ log, block, transactionIndex: index, logIndex: receipt.firstLogIndex + i })),
  )
  receiptFields(object, receipt, contextOf(block, index))
  return object.json
}

/** All receipts of a block, in order. */
export function receiptsJson(block: Block): readonly Json[] {
  return block.receipts.map((_, index) => receiptJson({ block, index }))
}

/** `isRemoved`: a reorganisation removed the log. */
export function logJson({ log, block, transactionIndex: index, logIndex }: LocatedLog, isRemoved = false): Json {
  const object = new JsonObject()
  logFields(object, log, { block, index, transaction: transactionAt(block, index), receipt: null, logIndex, isRemoved })
  return object.json
}

function contextOf(block: Block, index: number): FieldContext {
  return { block, index, transaction: transactionAt(block, index), receipt: block.receipts[index] ?? null }
}

function transactionAt(block: Block, index: number): Transaction {
  const transaction = block.transactions[index]
  if (transaction === undefined) throw new Error(`block ${block.header.number} has no transaction ${index}`)
  return transaction
}
