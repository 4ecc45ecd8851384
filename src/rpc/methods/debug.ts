import type { View } from '../../chain/index.ts'
import { Block, Hash, Header, Hex, Receipt } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import type { StateReader } from '../../evm/index.ts'
import { CODE } from '../../jsonrpc/index.ts'
import { computed } from '../execution/computed.ts'
import { needsOfRun, withRun } from '../execution/tracing.ts'
import { STORAGE_RANGE_SLOTS, TRACE_TIME_MS } from '../limits.ts'
import { refForReceipts, requireBlock } from '../blocks.ts'
import { method, required } from '../method.ts'
import type { JsonSchema, Method, Schema } from '../method.ts'
import { BYTES, HASH, listOf, orNull, record } from '../../jsonrpc/jsonschema.ts'
import { address, blockRef, bytes, integer, quantityNumber, refused } from '../../jsonrpc/schema.ts'
import type { BlockRef } from '../../jsonrpc/schema.ts'
import { WETH } from './examples.ts'

/** geth takes a number here, other nodes a quantity. */
const quantityOrInteger: Schema<number> = {
  json: { oneOf: [quantityNumber.json, { type: 'integer', minimum: 0 }] },
  parse: (value, path) => (typeof value === 'number' ? integer.parse(value, path) : quantityNumber.parse(value, path)),
}

/** geth accepts the first bytes of a hash here, and clients send `0x00` for the first slot. */
const hashPrefix: Schema<Hash> = {
  json: { title: '32 bytes or the first of them', type: 'string', pattern: '^0x([0-9a-fA-F]{2}){0,32}$' },
  parse: (value, path) => {
    const prefix = bytes.parse(value, path)
    if (prefix.length > 32) throw refused(path, `${prefix.length} bytes, at most 32 are accepted`)
    return Hash.from(Hex.fromBytes(prefix).padEnd(66, '0'))
  },
}

/** The canonical encodings of blocks; those of transactions are in transactions.ts. */
export const DEBUG_METHODS: readonly Method[] = [
  computed({
    name: 'debug_storageRangeAt',
    doc: 'The slots of an account before a transaction of a block, by the hash of the slot from `start` on, and the next hash, or null at the end; with the number of transactions as the index, after the block. On a fork only slots that were written here.',
    params: [
      required('block', blockRef),
      required('transactionIndex', quantityOrInteger),
      required('address', address),
      required('start', hashPrefix),
      required('limit', quantityOrInteger),
    ],
    result: record('storage range', { storage: { type: 'object' }, nextKey: orNull(HASH) }),
    errors: { [CODE.notFound]: 'there is no such block', [CODE.pruned]: 'the state before it is no longer kept' },
    example: {
      params: ['0x1', 0, WETH, `0x${'0'.repeat(64)}`, 1],
      result: { storage: { [`0x${'29'.repeat(32)}`]: { key: `0x${'0'.repeat(64)}`, value: `0x${'0'.repeat(63)}1` } }, nextKey: null },
    },
    needs: ({ view }, [ref]) => needsOfRun(view, requireBlock(view, ref)),
    compute: ({ view, deadline }, [ref, index, account, start, limit]) => {
      const block = requireBlock(view, ref)
      const read = (state: StateReader) => storageRange(state, account, start, Math.min(limit, STORAGE_RANGE_SLOTS))
      if (index >= block.transactions.length) return read(view.state(block))
      return withRun(view, block, deadline(TRACE_TIME_MS), (run) => {
        run.skipTo(index)
        return read(run.state())
      })
    },
  }),
  encoding('debug_getRawBlock', 'The RLP of a block.', BYTES, '0xf90558…', (block) => Hex.fromBytes(Block.encode(block))),
  encoding('debug_getRawHeader', 'The RLP of a header.', BYTES, '0xf901f7…', ({ header }) => Hex.fromBytes(Header.encode(header))),
  encoding(
    'debug_getRawReceipts',
    'The EIP-2718 receipts of a block.',
    listOf(BYTES),
    ['0xf90128…'],
    ({ receipts }) => receipts.map((receipt) => Hex.fromBytes(Receipt.encode(receipt))),
    (view, ref) => requireBlock(view, refForReceipts(view, ref)),
  ),
  encoding(
    'debug_getRawTransactions',
    'The EIP-2718 envelopes of the transactions of a block.',
    listOf(BYTES),
    ['0x7ef8…'],
    ({ transactions }) => transactions.map(({ raw }) => Hex.fromBytes(raw)),
  ),
]

function encoding(
  name: string,
  doc: string,
  result: JsonSchema,
  example: unknown,
  encode: (block: Block) => unknown,
  find: (view: View, ref: BlockRef) => Block = requireBlock,
): Method {
  return method({
    name,
    doc,
    params: [required('block', blockRef)],
    result,
    errors: { [-32001]: 'there is no such block' },
    example: { params: ['0x3'], result: example },
    handler: ({ chain }, [ref]) => encode(find(chain.head.view, ref)),
  })
}

/** The trie of geth is in the order of the hashes of the slots. */
function storageRange(state: StateReader, account: Address, start: Hash, limit: number) {
  const slots = [...state.slots(account)]
    .map((slot) => ({ slot, hashed: Hash.keccak(Hash.toBytes(slot)) }))
    .filter(({ hashed }) => hashed >= start)
    .toSorted((a, b) => (a.hashed < b.hashed ? -1 : 1))
  const storage = slots.slice(0, limit).map(({ slot, hashed }) => {
    return [hashed, { key: slot, value: Hash.fromBigint(state.storage(account, slot)) }] as const
  })
  return { storage: Object.fromEntries(storage), nextKey: slots[limit]?.hashed ?? null }
}
