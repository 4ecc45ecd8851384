import type { LocatedTransaction } from '../../chain/index.ts'
import { Hex } from '../../eth/index.ts'
import type { Block, Transaction } from '../../eth/index.ts'
import { findBlock, findTransaction } from '../blocks.ts'
import { receiptJson, transactionJson } from '../json.ts'
import { method, required } from '../method.ts'
import type { Method } from '../method.ts'
import { BYTES, orNull, record } from '../../jsonrpc/jsonschema.ts'
import { RECEIPT, TRANSACTION } from '../results.ts'
import { blockNumber, hash, quantityNumber } from '../../jsonrpc/schema.ts'
import { JsonBytes } from '../texts.ts'
import { named } from './named.ts'

const HASH_EXAMPLE = '0x205405746564cbcf1dd53fb5ac92c7622d3792d82f03c59d9baddf2443d91864'
const TRANSACTION_EXAMPLE = { hash: HASH_EXAMPLE, type: '0x2', blockNumber: '0x1b4', transactionIndex: '0x1' }

/** Transactions and receipts. A transaction and its receipt come out of the same View, sealed first, then pre-confirmed. */
export const TRANSACTION_METHODS: readonly Method[] = [
  method({
    name: 'eth_getTransactionByHash',
    doc: 'A transaction: sealed, pre-confirmed (`blockHash` null) or in the pool (`blockNumber` null, too).',
    params: [required('hash', hash)],
    result: orNull(TRANSACTION),
    example: { params: [HASH_EXAMPLE], result: TRANSACTION_EXAMPLE },
    handler: ({ chain }, [hash]) => {
      const { view } = chain.head
      const sealed = view.locationOf(hash)
      if (sealed !== null) return new JsonBytes(view.transactionJsonBytes(sealed))
      const found = findTransaction(chain, hash)
      return found === null ? null : transactionJson(found.tx, found.place)
    },
  }),
  method({
    name: 'eth_getTransactionByBlockNumberAndIndex',
    doc: 'The transaction at a place in a block, or null.',
    params: [required('block', blockNumber), required('index', quantityNumber)],
    result: orNull(TRANSACTION),
    example: { params: ['pending', '0x0'], result: TRANSACTION_EXAMPLE },
    handler: ({ chain }, [ref, index]) => show(place(findBlock(chain.head.view, ref), index)),
  }),
  method({
    name: 'eth_getTransactionByBlockHashAndIndex',
    doc: 'The transaction at a place in a sealed block, or null.',
    params: [required('block hash', hash), required('index', quantityNumber)],
    result: orNull(TRANSACTION),
    example: { params: [HASH_EXAMPLE, '0x0'], result: TRANSACTION_EXAMPLE },
    handler: ({ chain }, [hash, index]) => show(place(chain.head.view.byHash(hash), index)),
  }),
  ...named(['eth_getRawTransactionByHash', 'debug_getRawTransaction'], {
    doc: 'The EIP-2718 envelope of a transaction, also of one in the pool.',
    params: [required('hash', hash)],
    result: orNull(BYTES),
    example: { params: [HASH_EXAMPLE], result: '0x02f8…' },
    handler: ({ chain }, [hash]) => {
      const found = findTransaction(chain, hash)
      return found === null ? null : Hex.fromBytes(found.tx.raw)
    },
  }),
  method({
    name: 'eth_getRawTransactionByBlockNumberAndIndex',
    doc: 'The EIP-2718 envelope of the transaction at a place in a block, or null.',
    params: [required('block', blockNumber), required('index', quantityNumber)],
    result: orNull(BYTES),
    example: { params: ['latest', '0x0'], result: '0x7ef8…' },
    handler: ({ chain }, [ref, index]) => raw(place(findBlock(chain.head.view, ref), index)),
  }),
  method({
    name: 'eth_getRawTransactionByBlockHashAndIndex',
    doc: 'The EIP-2718 envelope of the transaction at a place in a sealed block, or null.',
    params: [required('block hash', hash), required('index', quantityNumber)],
    result: orNull(BYTES),
    example: { params: [HASH_EXAMPLE, '0x0'], result: '0x7ef8…' },
    handler: ({ chain }, [hash, index]) => raw(place(chain.head.view.byHash(hash), index)),
  }),
  method({
    name: 'eth_getTransactionReceipt',
    doc: 'The receipt of a transaction, from the moment it is pre-confirmed; until its block is sealed `blockHash` is zero.',
    params: [required('hash', hash)],
    result: orNull(RECEIPT),
    example: { params: [HASH_EXAMPLE], result: { transactionHash: HASH_EXAMPLE, status: '0x1', gasUsed: '0x5208', logs: [] } },
    handler: ({ chain }, [hash]) => {
      const { view } = chain.head
      const sealed = view.locationOf(hash)
      if (sealed !== null) return new JsonBytes(view.receiptJsonBytes(sealed))
      const place = view.locatePending(hash)
      return place === null ? null : receiptJson(place)
    },
  }),
  method({
    name: 'base_transactionStatus',
    doc: 'Whether a transaction is in the pool: `Known` or `Unknown`.',
    params: [required('hash', hash)],
    result: record('status', { status: { enum: ['Known', 'Unknown'] } }),
    example: { params: [HASH_EXAMPLE], result: { status: 'Unknown' } },
    handler: ({ chain }, [hash]) => ({ status: chain.pool.has(hash) ? 'Known' : 'Unknown' }),
  }),
]

function place(block: Block | null, index: number): LocatedTransaction | null {
  return block === null || index >= block.transactions.length ? null : { block, index }
}

function transactionAt({ block, index }: LocatedTransaction): Transaction | null {
  return block.transactions[index] ?? null
}

function show(place: LocatedTransaction | null) {
  const tx = place === null ? null : transactionAt(place)
  return tx === null ? null : transactionJson(tx, place)
}

function raw(place: LocatedTransaction | null): Hex | null {
  const tx = place === null ? null : transactionAt(place)
  return tx === null ? null : Hex.fromBytes(tx.raw)
}
