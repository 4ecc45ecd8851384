import { BlockFull } from '../../chain/index.ts'
import type { BlockAttributes, Chain, DetachedBlock } from '../../chain/index.ts'
import { Hash, Hex } from '../../eth/index.ts'
import type { Block } from '../../eth/index.ts'
import { CODE, RpcError } from '../../jsonrpc/index.ts'
import { blockJson } from '../json.ts'
import type { Json } from '../json.ts'
import { SIMULATED_CALLS } from '../limits.ts'
import { method, optional, required } from '../method.ts'
import type { Method } from '../method.ts'
import { withdrawal } from '../execution/overrides.ts'
import { rawTransaction } from '../rawtransaction.ts'
import { BOOLEAN, BYTES, QUANTITY, listOf, record } from '../../jsonrpc/jsonschema.ts'
import { address, arrayOf, bytes, hash, maybe, nullable, object, quantityNumber } from '../../jsonrpc/schema.ts'
import type { Infer } from '../../jsonrpc/schema.ts'
import { BLOCK_HASH, BOB } from './examples.ts'

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

export const BUILD_METHODS: readonly Method[] = [
  method({
    name: 'testing_buildBlockV1',
    doc: 'Builds a block on the head from the given transactions (null: from the promised ones and the pool) and returns its payload; the chain is not changed.',
    params: [
      required('parentHash', hash),
      required('payloadAttributes', payloadAttributes),
      required('transactions', nullable(arrayOf(rawTransaction, SIMULATED_CALLS))),
      optional('extraData', bytes),
    ],
    result: PAYLOAD,
    errors: { [CODE.server]: 'a transaction cannot be included, the parent is not the head, or the timestamp is not above its' },
    example: {
      params: [
        BLOCK_HASH,
        {
          timestamp: '0x228',
          prevRandao: Hash.zero,
          suggestedFeeRecipient: BOB,
          withdrawals: [],
          parentBeaconBlockRoot: Hash.zero,
        },
        [],
        '0x',
      ],
      result: {
        executionPayload: { parentHash: BLOCK_HASH, blockNumber: '0x37' },
        blockValue: '0x0',
        blobsBundle: {},
        shouldOverrideBuilder: false,
      },
    },
    handler: async ({ chain }, [parentHash, attributes, transactions, extraData]) => {
      const attributesAfter = (head: Block): BlockAttributes => {
        assertParent(head, parentHash, attributes.timestamp)
        return blockAttributes(chain, head, attributes, extraData)
      }
      return payload(await build(chain, attributesAfter, transactions ?? 'pool'))
    },
  }),
]

async function build(chain: Chain, ...[attributes, transactions]: Parameters<Chain['buildDetached']>): Promise<DetachedBlock> {
  try {
    return await chain.buildDetached(attributes, transactions)
  } catch (error) {
    if (error instanceof BlockFull) throw new RpcError(CODE.server, error.message)
    throw error
  }
}

function assertParent({ hash, header }: Block, parentHash: Hash, timestamp: number): void {
  if (hash !== parentHash) throw new RpcError(CODE.server, `blocks are built on the head only: the head is ${hash}, not ${parentHash}`)
  if (timestamp <= header.timestamp) {
    throw new RpcError(CODE.server, `invalid timestamp, parent ${header.timestamp} given ${timestamp}`)
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

/** As engine_getPayload returns it, without blobs. */
function payload({ block, requests }: DetachedBlock): Json {
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
    executionRequests: requests.map(Hex.fromBytes),
    shouldOverrideBuilder: false,
  }
}
