import { Block, Header, Hex, Receipt } from '../../eth/index.ts'
import { requireBlock } from '../blocks.ts'
import { method, required } from '../method.ts'
import type { Method } from '../method.ts'
import { BYTES, listOf } from '../../jsonrpc/jsonschema.ts'
import { blockRef } from '../../jsonrpc/schema.ts'

const ERRORS = { [-32001]: 'there is no such block' }

/** The canonical encodings of blocks; those of transactions are in transactions.ts. */
export const DEBUG_METHODS: readonly Method[] = [
  method({
    name: 'debug_getRawBlock',
    doc: 'The RLP of a block.',
    params: [required('block', blockRef)],
    result: BYTES,
    errors: ERRORS,
    example: { params: ['0x3'], result: '0xf90558…' },
    handler: ({ chain }, [ref]) => Hex.fromBytes(Block.encode(requireBlock(chain.head.view, ref))),
  }),
  method({
    name: 'debug_getRawHeader',
    doc: 'The RLP of a header.',
    params: [required('block', blockRef)],
    result: BYTES,
    errors: ERRORS,
    example: { params: ['0x3'], result: '0xf901f7…' },
    handler: ({ chain }, [ref]) => Hex.fromBytes(Header.encode(requireBlock(chain.head.view, ref).header)),
  }),
  method({
    name: 'debug_getRawReceipts',
    doc: 'The EIP-2718 receipts of a block.',
    params: [required('block', blockRef)],
    result: listOf(BYTES),
    errors: ERRORS,
    example: { params: ['0x3'], result: ['0xf90128…'] },
    handler: ({ chain }, [ref]) => requireBlock(chain.head.view, ref).receipts.map((receipt) => Hex.fromBytes(Receipt.encode(receipt))),
  }),
]
