import { Block, Header, Hex, Receipt } from '../../eth/index.ts'
import { findTransaction, requireBlock } from '../blocks.ts'
import { method, required } from '../method.ts'
import type { Method } from '../method.ts'
import { BYTES, listOf, orNull } from '../results.ts'
import { blockRef, hash } from '../schema.ts'

const HASH_EXAMPLE = '0x205405746564cbcf1dd53fb5ac92c7622d3792d82f03c59d9baddf2443d91864'
const ERRORS = { [-32001]: 'there is no such block' }

/** Blocks and transactions as the bytes they are hashed from. */
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
  method({
    name: 'debug_getRawTransaction',
    doc: 'The EIP-2718 envelope of a transaction, also of one in the pool.',
    params: [required('hash', hash)],
    result: orNull(BYTES),
    example: { params: [HASH_EXAMPLE], result: '0x02f8…' },
    handler: ({ chain }, [hash]) => {
      const found = findTransaction(chain, hash)
      return found === null ? null : Hex.fromBytes(found.tx.raw)
    },
  }),
]
