import { BlockFull } from '../../chain/index.ts'
import type { BlockAttributes, Chain } from '../../chain/index.ts'
import { Hash, Hex } from '../../eth/index.ts'
import type { Block, Transaction } from '../../eth/index.ts'
import { requireBlock } from '../blocks.ts'
import { onView } from '../calls.ts'
import { CODE, RpcError } from '../errors.ts'
import { blockJson } from '../json.ts'
import type { Json } from '../json.ts'
import { SIMULATED_CALLS } from '../limits.ts'
import { method, optional, required } from '../method.ts'
import type { Method } from '../method.ts'
import { blockOverrides, stateOverrides, withdrawal } from '../overrides.ts'
import { callRequest } from '../request.ts'
import { BLOCK, BOOLEAN, BYTES, LOG, QUANTITY, listOf, record } from '../results.ts'
import { address, arrayOf, blockRef, boolean, bytes, hash, maybe, nullable, object, quantityNumber } from '../schema.ts'
import type { Infer } from '../schema.ts'
import { Simulation } from '../simulate/simulation.ts'
import { rawTransaction } from './send.ts'

const ALICE = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'
const BOB = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
const PARENT = '0xd226371d0b1551adb03fb52b71f08e3e11247fe9b1af994768af8cdaa8e7dcd7'

// The numbers of blocks and calls are limited with codes of their own, so the lists themselves are not.
const simulation = object({
  blockStateCalls: arrayOf(
    object({
      blockOverrides: maybe(blockOverrides),
      stateOverrides: maybe(stateOverrides),
      calls: maybe(arrayOf(callRequest, 2 * SIMULATED_CALLS)),
    }),
    2 * SIMULATED_CALLS,
  ),
  validation: maybe(boolean),
  traceTransfers: maybe(boolean),
  returnFullTransactions: maybe(boolean),
})

const CALL_ERROR = record('error', { code: { type: 'integer' }, message: { type: 'string' } }, { data: BYTES })
const CALL_RESULT = record(
  'call result',
  { status: QUANTITY, returnData: BYTES, gasUsed: QUANTITY, maxUsedGas: QUANTITY, logs: listOf(LOG) },
  { error: CALL_ERROR },
)

const payloadAttributes = object({
  timestamp: quantityNumber,
  prevRandao: hash,
  suggestedFeeRecipient: address,
  withdrawals: maybe(arrayOf(withdrawal, SIMULATED_CALLS)),
  parentBeaconBlockRoot: maybe(hash),
})

const PAYLOAD = record(
  'payload',
  { executionPayload: { type: 'object' }, blockValue: QUANTITY, blobsBundle: { type: 'object' }, shouldOverrideBuilder: BOOLEAN },
  { executionRequests: listOf(BYTES) },
)

export const SIMULATION_METHODS: readonly Method[] = [
  method({
    name: 'eth_simulateV1',
    doc: 'Runs calls in blocks of their own on top of a block, with state and block overrides, and returns those blocks; nothing is changed.',
    params: [required('simulation', simulation), optional('block', blockRef)],
    result: listOf({ allOf: [BLOCK, { type: 'object', properties: { calls: listOf(CALL_RESULT) } }] }),
    errors: {
      [-38010]: 'with validation: nonce too low',
      [-38011]: 'with validation: nonce too high',
      [-38012]: 'max fee per gas below the base fee',
      [-38013]: 'intrinsic gas too low',
      [-38014]: 'insufficient funds',
      [-38015]: 'block gas limit reached',
      [-38020]: 'block numbers do not rise',
      [-38021]: 'timestamps do not rise',
      [-38025]: 'init code too large',
      [-38026]: 'too many blocks, calls or overrides',
      [CODE.server]: 'overrides that contradict each other',
    },
    example: {
      params: [{ blockStateCalls: [{ calls: [{ from: ALICE, to: BOB, value: '0x1' }] }] }, 'latest'],
      result: [{ number: '0x2', calls: [{ status: '0x1', returnData: '0x', gasUsed: '0x5208', maxUsedGas: '0x5208', logs: [] }] }],
    },
    handler: ({ chain }, [asked, ref]) => {
      const options = {
        validation: asked.validation ?? false,
        traceTransfers: asked.traceTransfers ?? false,
        fullTransactions: asked.returnFullTransactions ?? false,
      }
      return onView(chain, (view) => new Simulation(view, requireBlock(view, ref), options).run(asked.blockStateCalls))
    },
  }),
  method({
    name: 'testing_buildBlockV1',
    doc: 'Builds a block on the head from the given transactions (null: from the pool) and returns its payload; the chain is not changed.',
    params: [
      required('parentHash', hash),
      required('payloadAttributes', payloadAttributes),
      required('transactions', nullable(arrayOf(rawTransaction, SIMULATED_CALLS))),
      optional('extraData', bytes),
    ],
    result: PAYLOAD,
    errors: { [CODE.server]: 'a transaction cannot be included, or the parent is not the head' },
    example: {
      params: [
        PARENT,
        { timestamp: '0x228', prevRandao: Hash.zero, suggestedFeeRecipient: BOB, withdrawals: [], parentBeaconBlockRoot: Hash.zero },
        [],
        '0x',
      ],
      result: {
        executionPayload: { parentHash: PARENT, blockNumber: '0x37' },
        blockValue: '0x0',
        blobsBundle: {},
        shouldOverrideBuilder: false,
      },
    },
    handler: async ({ chain }, [parentHash, attributes, transactions, extraData]) => {
      const parent = chain.head.view.head
      if (parent.hash !== parentHash) {
        throw new RpcError(CODE.server, `blocks are built on the head only: the head is ${parent.hash}, not ${parentHash}`)
      }
      return payload(await build(chain, blockAttributes(chain, parent, attributes, extraData), transactions ?? 'pool'))
    },
  }),
]

async function build(chain: Chain, attributes: BlockAttributes, transactions: readonly Transaction[] | 'pool'): Promise<Block> {
  try {
    return await chain.buildDetached(attributes, transactions)
  } catch (error) {
    if (error instanceof BlockFull) throw new RpcError(CODE.server, error.message)
    throw error
  }
}

function blockAttributes(
  chain: Chain,
  { header }: Block,
  attributes: Infer<typeof payloadAttributes>,
  extraData: Uint8Array | undefined,
): BlockAttributes {
  const rollup = chain.config.op !== null
  return {
    timestamp: attributes.timestamp,
    timestampMs: null,
    prevRandao: attributes.prevRandao,
    feeRecipient: attributes.suggestedFeeRecipient,
    gasLimit: rollup ? chain.gasLimit : gasLimitTowards(chain.gasLimit, header.gasLimit),
    // An OP chain's next block reads its fee parameters here.
    extraData: rollup && (extraData?.length ?? 0) === 0 ? header.extraData : (extraData ?? new Uint8Array()),
    parentBeaconBlockRoot: attributes.parentBeaconBlockRoot ?? null,
    withdrawals: attributes.withdrawals ?? null,
    baseFeePerGas: null,
    difficulty: 0n,
    ommers: [],
  }
}

/** On L1 a block's gas limit differs from its parent's by less than 1/1024. */
function gasLimitTowards(target: bigint, parent: bigint): bigint {
  const step = parent / 1_024n - 1n
  if (target > parent) return target < parent + step ? target : parent + step
  return target > parent - step ? target : parent - step
}

/** As the engine API shows a built block; it holds no blobs and no requests, since nobody deposits here. */
function payload(block: Block): Json {
  const { header } = block
  const baseFee = header.baseFeePerGas ?? 0n
  const value = block.receipts.reduce((sum, { gasUsed, effectiveGasPrice }) => sum + gasUsed * (effectiveGasPrice - baseFee), 0n)
  const shown = blockJson(block, false)
  return {
    executionPayload: {
      parentHash: header.parentHash,
      feeRecipient: header.coinbase,
      stateRoot: header.stateRoot,
      receiptsRoot: header.receiptsRoot,
      logsBloom: shown['logsBloom'],
      prevRandao: header.mixHash,
      blockNumber: shown['number'],
      gasLimit: shown['gasLimit'],
      gasUsed: shown['gasUsed'],
      timestamp: shown['timestamp'],
      extraData: shown['extraData'],
      baseFeePerGas: shown['baseFeePerGas'],
      blockHash: block.hash,
      transactions: block.transactions.map(({ raw }) => Hex.fromBytes(raw)),
      withdrawals: shown['withdrawals'],
      blobGasUsed: shown['blobGasUsed'],
      excessBlobGas: shown['excessBlobGas'],
    },
    blockValue: Hex.fromQuantity(value),
    blobsBundle: { commitments: [], proofs: [], blobs: [] },
    executionRequests: [],
    shouldOverrideBuilder: false,
  }
}
