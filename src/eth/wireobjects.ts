import { type Block, blockFields } from './block.ts'
import { FieldList, type FieldRow } from './fieldlist.ts'
import type { FieldContext, FieldVisitor } from './fieldvisitor.ts'
import { Hash } from './hash.ts'
import { type Header, type HeaderContext, headerFields } from './header.ts'
import { type Log, type LogContext, logFields } from './log.ts'
import { type Receipt, receiptFields } from './receipt.ts'
import { type Transaction, transactionFields } from './transaction.ts'

const NOTHING: unknown = Object.freeze({})

/** Arguments for field functions whose visitor reads no values. */
export const BLANK = {
  header: NOTHING as Header,
  headerContext: NOTHING as HeaderContext,
  block: { hash: Hash.zero, transactions: [], ommers: [], withdrawals: null, sizeBytes: 0 } satisfies Partial<Block>,
  transaction: NOTHING as Transaction,
  receipt: NOTHING as Receipt,
  log: NOTHING as Log,
  context: { block: null, index: 0, transaction: NOTHING as Transaction, receipt: null } satisfies FieldContext,
}

/** The fields of each wire object in the order of its JSON; those of `block` follow those of `header`. */
export const WIRE_OBJECTS = {
  header: rowsOf((f) => headerFields(f, BLANK.header, BLANK.headerContext)),
  block: rowsOf((f) => blockFields(f, BLANK.block)),
  transaction: rowsOf((f) => transactionFields(f, BLANK.transaction, BLANK.context)),
  receipt: rowsOf((f) => receiptFields(f, BLANK.receipt, BLANK.context)),
  log: rowsOf((f) => logFields(f, BLANK.log, BLANK.context as unknown as LogContext)),
}

function rowsOf(visit: (visitor: FieldVisitor) => void): readonly FieldRow[] {
  const list = new FieldList()
  visit(list)
  return list.rows
}
