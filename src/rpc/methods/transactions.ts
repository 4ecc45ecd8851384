import { Hex } from '../../eth/index.ts'
import { findTransaction } from '../blocks.ts'
import { receiptJson, transactionJson } from '../json.ts'
import { method, required } from '../method.ts'
import type { Method } from '../method.ts'
import { BYTES, orNull, record } from '../../jsonrpc/jsonschema.ts'
import { RECEIPT, TRANSACTION } from '../results.ts'
import { hash, quantityNumber } from '../../jsonrpc/schema.ts'
import { JsonBytes } from '../texts.ts'
import { byNumberAndHash } from './byblock.ts'
import { TRANSACTION_HASH } from './examples.ts'
import { named } from './named.ts'

const TRANSACTION_EXAMPLE = { hash: TRANSACTION_HASH, type: '0x2', blockNumber: '0x1b4', transactionIndex: '0x1' }

/** A transaction and its receipt come from the same View, sealed first, then pre-confirmed. */
export const TRANSACTION_METHODS: readonly Method[] = [
  method({
    name: 'eth_getTransactionByHash',
    doc: 'A transaction: sealed, pre-confirmed (`blockHash` null) or in the pool (`blockNumber` null, too).',
    params: [required('hash', hash)],
    result: orNull(TRANSACTION),
    example: { params: [TRANSACTION_HASH], result: TRANSACTION_EXAMPLE },
    handler: ({ chain }, [hash]) => {
      const { view } = chain.head
      const sealed = view.locationOf(hash)
      if (sealed !== null) return new JsonBytes(view.transactionJsonBytes(sealed))
      const found = findTransaction(chain, hash)
      return found === null ? null : transactionJson(found.tx, found.place)
    },
  }),
  ...byNumberAndHash({
    byNumber: 'eth_getTransactionByBlockNumberAndIndex',
    byHash: 'eth_getTransactionByBlockHashAndIndex',
    doc: 'The transaction at a place in a block, or null.',
    params: [required('index', quantityNumber)],
    result: TRANSACTION,
    example: { params: ['0x0'], result: TRANSACTION_EXAMPLE },
    read: (block, [index]) => {
      const tx = block.transactions[index]
      return tx === undefined ? null : transactionJson(tx, { block, index })
    },
  }),
  ...named(['eth_getRawTransactionByHash', 'debug_getRawTransaction'], {
    doc: 'The EIP-2718 envelope of a transaction, also of one in the pool.',
    params: [required('hash', hash)],
    result: orNull(BYTES),
    example: { params: [TRANSACTION_HASH], result: '0x02f8…' },
    handler: ({ chain }, [hash]) => {
      const found = findTransaction(chain, hash)
      return found === null ? null : Hex.fromBytes(found.tx.raw)
    },
  }),
  ...byNumberAndHash({
    byNumber: 'eth_getRawTransactionByBlockNumberAndIndex',
    byHash: 'eth_getRawTransactionByBlockHashAndIndex',
    doc: 'The EIP-2718 envelope of the transaction at a place in a block, or null.',
    params: [required('index', quantityNumber)],
    result: BYTES,
    example: { params: ['0x0'], result: '0x7ef8…' },
    read: ({ transactions }, [index]) => {
      const tx = transactions[index]
      return tx === undefined ? null : Hex.fromBytes(tx.raw)
    },
  }),
  method({
    name: 'eth_getTransactionReceipt',
    doc: 'The receipt of a transaction, from the moment it is pre-confirmed; until its block is sealed `blockHash` is zero.',
    params: [required('hash', hash)],
    result: orNull(RECEIPT),
    example: { params: [TRANSACTION_HASH], result: { transactionHash: TRANSACTION_HASH, status: '0x1', gasUsed: '0x5208', logs: [] } },
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
    example: { params: [TRANSACTION_HASH], result: { status: 'Unknown' } },
    handler: ({ chain }, [hash]) => ({ status: chain.pool.has(hash) ? 'Known' : 'Unknown' }),
  }),
]
