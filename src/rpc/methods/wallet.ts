import { CODE, RpcError } from '../errors.ts'
import { method, required } from '../method.ts'
import type { Method } from '../method.ts'
import { BOOLEAN, QUANTITY, STRING, listOf, record } from '../results.ts'
import { string } from '../schema.ts'

const RECEIPTS = listOf({ title: 'receipt of the batch', type: 'object' })
const STATUS = record(
  'status',
  { version: STRING, id: STRING, chainId: QUANTITY, status: { type: 'integer' }, atomic: BOOLEAN },
  { receipts: RECEIPTS, capabilities: { type: 'object' } },
)
const ID = '0x1d8a7e2b6f0c43958e7d2a1b0c9f8e7d6c5b4a39281706f5e4d3c2b1a0f9e8d7'

/** What the wallet beside the node answers where apps ask the node: Base's SDK sends it to the chain's rpc url. */
export const WALLET_METHODS: readonly Method[] = [
  method({
    name: 'wallet_getCallsStatus',
    doc: 'What became of a batch that the wallet of this node has sent (EIP-5792); an id that an app chose is known to pages of its own origin alone.',
    params: [required('id', string)],
    result: STATUS,
    errors: { 5730: 'unknown bundle id', [CODE.methodNotFound]: 'the node runs without a wallet' },
    timeLimitMs: Infinity,
    example: { params: [ID], result: { version: '2.0.0', id: ID, chainId: '0x7a69', status: 100, atomic: true } },
    handler: ({ wallet }, [id], { origin = null }) => {
      if (wallet === null) throw new RpcError(CODE.methodNotFound, 'the method wallet_getCallsStatus is not available: there is no wallet')
      return wallet.callsStatus(id, origin)
    },
  }),
]
