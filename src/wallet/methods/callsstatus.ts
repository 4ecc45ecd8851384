import { defineMethods, jsonSchema, required } from '../../jsonrpc/index.ts'
import type { Batches } from '../batches/batches.ts'
import { batchId } from '../batches/callsrequest.ts'
import { WALLET_CODE } from '../errors.ts'
import { STATUS_WAIT_MS } from '../limits.ts'

// The provider and a node with a wallet implement wallet_getCallsStatus: Base's SDK sends it to the rpc url of the chain.

interface CallsStatusContext {
  readonly batches: Pick<Batches, 'status'>
}

interface CallsStatusCaller {
  readonly origin?: string | null
  readonly signal?: AbortSignal | null
}

export const UNKNOWN_BATCH = { [WALLET_CODE.unknownBatch]: 'the origin has submitted no batch with that id within a day' }

const ID = '0x2c9f1d4be1a0d60d43e0d5b1b0d2c1a5f5a7f4b36e8c2d90a1b7c6d5e4f30211'
const HASH = '0xc9ec3caa78e68e4aab5d188c7fe6c0815e29ad62507fe729dbd32681405715dc'

const { ADDRESS, BOOLEAN, BYTES, HASH: HASH_SCHEMA, QUANTITY, STRING, listOf, orNull, record } = jsonSchema

const RECEIPT = record('receipt', {
  logs: listOf(record('log', { address: ADDRESS, data: BYTES, topics: listOf(HASH_SCHEMA) })),
  status: QUANTITY,
  blockHash: HASH_SCHEMA,
  blockNumber: QUANTITY,
  gasUsed: QUANTITY,
  transactionHash: HASH_SCHEMA,
})

const STATUS_DETAIL = record('status detail', {
  confirmation: { enum: ['none', 'preconfirmed', 'sealed'] },
  reason: { enum: ['reverted', 'partly', 'retracted', 'refused', 'dropped', 'replaced', null] },
  message: orNull(STRING),
  calls: listOf(
    record(
      'call',
      {
        outcome: { enum: ['pending', 'success', 'reverted', 'refused', 'dropped', 'replaced'] },
        transactionHash: orNull(HASH_SCHEMA),
      },
      { failure: record('failure', { reason: STRING, data: BYTES }) },
    ),
  ),
})

const OPERATION_DETAIL = record('user operation', { userOpHash: HASH_SCHEMA, success: orNull(BOOLEAN), reason: orNull(STRING) })

const CALLS_STATUS = record(
  'calls status',
  {
    version: { enum: ['2.0.0'] },
    id: STRING,
    chainId: QUANTITY,
    status: { enum: [100, 200, 400, 500, 600] },
    atomic: BOOLEAN,
    capabilities: record('capabilities', { status: STATUS_DETAIL }, { userOperation: OPERATION_DETAIL }),
  },
  { receipts: listOf(RECEIPT) },
)

export const CALLS_STATUS_METHOD = defineMethods<CallsStatusContext, CallsStatusCaller>()({
  name: 'wallet_getCallsStatus',
  doc: `Returns the status of a batch of calls (EIP-5792), after up to ${STATUS_WAIT_MS} ms if it is pending. It is 200 as soon as the batch is pre-confirmed, unless the wallet is set to sealed blocks. A batch whose id an app chose is visible to that origin only.`,
  params: [required('id', batchId)],
  result: CALLS_STATUS,
  errors: UNKNOWN_BATCH,
  timeLimitMs: Infinity,
  example: {
    params: [ID],
    result: {
      version: '2.0.0',
      id: ID,
      chainId: '0x7a69',
      status: 200,
      atomic: true,
      receipts: [{ logs: [], status: '0x1', blockHash: HASH, blockNumber: '0x1b4', gasUsed: '0xcf08', transactionHash: HASH }],
      capabilities: {
        status: {
          confirmation: 'sealed',
          reason: null,
          message: null,
          calls: [
            { outcome: 'success', transactionHash: HASH },
            { outcome: 'success', transactionHash: HASH },
          ],
        },
      },
    },
  },
  handler: ({ batches }, [id], { origin = null, signal = null }) => batches.status(id, { origin, waitMs: STATUS_WAIT_MS, signal }),
})
