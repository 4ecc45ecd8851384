import { Block, Header, Hex, Receipt } from '../../eth/index.ts'
import { refWithReceipts, requireBlock } from '../blocks.ts'
import { method, required } from '../method.ts'
import type { JsonSchema, Method } from '../method.ts'
import { BYTES, listOf } from '../../jsonrpc/jsonschema.ts'
import { blockRef } from '../../jsonrpc/schema.ts'

/** The canonical encodings of blocks; those of transactions are in transactions.ts. */
export const DEBUG_METHODS: readonly Method[] = [
  encoding('debug_getRawBlock', 'The RLP of a block.', BYTES, '0xf90558…', (block) => Hex.fromBytes(Block.encode(block))),
  encoding('debug_getRawHeader', 'The RLP of a header.', BYTES, '0xf901f7…', ({ header }) => Hex.fromBytes(Header.encode(header))),
  encoding('debug_getRawReceipts', 'The EIP-2718 receipts of a block.', listOf(BYTES), ['0xf90128…'], ({ receipts }) =>
    receipts.map((receipt) => Hex.fromBytes(Receipt.encode(receipt))),
  ),
]

function encoding(name: string, doc: string, result: JsonSchema, example: unknown, encode: (block: Block) => unknown): Method {
  return method({
    name,
    doc,
    params: [required('block', blockRef)],
    result,
    errors: { [-32001]: 'there is no such block' },
    example: { params: ['0x3'], result: example },
    handler: ({ chain }, [ref]) => encode(requireBlock(chain.head.view, refWithReceipts(chain.head.view, ref))),
  })
}
