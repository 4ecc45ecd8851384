import { existsSync, readFileSync } from 'node:fs'
import { brotliDecompressSync } from 'node:zlib'
import { BlockBuilder } from '../../src/chain/index.ts'
import type { BlockAttributes } from '../../src/chain/index.ts'
import { Address, Hash, Header, Hex, Transaction } from '../../src/eth/index.ts'
import type { Block } from '../../src/eth/index.ts'
import type { ChainConfig, OpActivation } from '../../src/evm/index.ts'
import { Witness, blockHashes } from './witness.fixture.ts'
import type { Preimages } from './witness.fixture.ts'

const FILE = new URL('../../../shared/vectors/op-blocks/op-sepolia-blocks.json.br', import.meta.url)

/** One recorded block of OP Sepolia: its inputs, all trie nodes and codes that building it reads, and the expected result. */
export interface Recorded {
  readonly number: number
  readonly rollup_config: Readonly<Record<string, number>> & {
    readonly l2_chain_id: number
    readonly chain_op_config: {
      readonly eip1559Elasticity: number
      readonly eip1559Denominator: number
      readonly eip1559DenominatorCanyon: number
    }
  }
  readonly parent_header: Readonly<Record<string, Hex>>
  readonly payload: {
    readonly timestamp: Hex
    readonly prevRandao: Hex
    readonly suggestedFeeRecipient: Hex
    readonly parentBeaconBlockRoot: Hex
    readonly transactions: readonly Hex[]
    readonly gasLimit: Hex
    readonly eip1559Params: Hex
  }
  readonly expected_block_hash: Hash
  readonly preimages: Readonly<Record<Hash, Hex>>
}

/** Empty without the vectors. */
export const recorded: readonly Recorded[] = existsSync(FILE)
  ? (JSON.parse(brotliDecompressSync(readFileSync(FILE)).toString('utf8')) as Recorded[]) // recorded by ourselves
  : []

/** The block with its receipts, rebuilt from the recording. */
export function rebuilt(block: Recorded): Block {
  const { builder } = builderOf(block)
  builder.begin()
  for (const raw of block.payload.transactions) builder.add(Transaction.decode(Hex.toBytes(raw)))
  return builder.seal().block
}

export function builderOf(block: Recorded): { builder: BlockBuilder; witness: Witness } {
  const preimages: Preimages = new Map(Object.entries(block.preimages).map(([hash, bytes]) => [Hash.from(hash as Hex), Hex.toBytes(bytes)]))
  const parent = headerOf(block.parent_header)
  const witness = new Witness(preimages, parent.stateRoot)
  const config = configOf(block.rollup_config)
  const builder = new BlockBuilder(witness, config, bodiless(parent), attributesOf(block), blockHashes(parent, preimages))
  return { builder, witness }
}

function configOf({ l2_chain_id: chainId, chain_op_config: fees, ...times }: Recorded['rollup_config']): ChainConfig {
  const names = ['regolith', 'canyon', 'delta', 'ecotone', 'fjord', 'granite', 'holocene', 'isthmus', 'jovian'] as const
  const activations: OpActivation[] = [{ fork: 'bedrock', timestamp: 0 }]
  for (const fork of names) {
    const timestamp = times[`${fork}_time`]
    if (timestamp !== undefined) activations.push({ fork, timestamp })
  }
  return {
    chainId,
    l1: [
      { fork: 'paris', block: 0, timestamp: null },
      { fork: 'shanghai', block: null, timestamp: times['canyon_time']! },
      { fork: 'cancun', block: null, timestamp: times['ecotone_time']! },
    ],
    op: {
      activations,
      elasticity: BigInt(fees.eip1559Elasticity),
      denominator: BigInt(fees.eip1559Denominator),
      denominatorCanyon: BigInt(fees.eip1559DenominatorCanyon),
    },
    blobSchedule: {},
    depositContract: null,
    transactionGasCap: null,
    codeSizeLimit: 24_576,
  }
}

/** The header has the parameters of the payload; all zero means the chain's defaults since Canyon. */
export function attributesOf({ payload, rollup_config: { chain_op_config: fees } }: Recorded): BlockAttributes {
  const extraData = new Uint8Array(9)
  extraData.set(Hex.toBytes(payload.eip1559Params), 1)
  if (extraData.every((byte) => byte === 0)) {
    const view = new DataView(extraData.buffer)
    view.setUint32(1, fees.eip1559DenominatorCanyon)
    view.setUint32(5, fees.eip1559Elasticity)
  }
  return {
    timestamp: Number(payload.timestamp),
    timestampMs: null,
    prevRandao: Hash.from(payload.prevRandao),
    feeRecipient: Address.from(payload.suggestedFeeRecipient),
    gasLimit: BigInt(payload.gasLimit),
    extraData,
    parentBeaconBlockRoot: Hash.from(payload.parentBeaconBlockRoot),
    withdrawals: [],
    baseFeePerGas: null,
    difficulty: 0n,
    ommers: [],
  }
}

export function headerOf(fields: Recorded['parent_header']): Header {
  const field = (name: string): Hex => fields[name] ?? '0x'
  return {
    parentHash: Hash.from(field('parentHash')),
    ommersHash: Hash.from(field('sha3Uncles')),
    coinbase: Address.from(field('miner')),
    stateRoot: Hash.from(field('stateRoot')),
    transactionsRoot: Hash.from(field('transactionsRoot')),
    receiptsRoot: Hash.from(field('receiptsRoot')),
    logsBloom: Hex.toBytes(field('logsBloom')),
    difficulty: BigInt(field('difficulty')),
    number: Number(field('number')),
    gasLimit: BigInt(field('gasLimit')),
    gasUsed: BigInt(field('gasUsed')),
    timestamp: Number(field('timestamp')),
    extraData: Hex.toBytes(field('extraData')),
    mixHash: Hash.from(field('mixHash')),
    nonce: Hex.toBytes(field('nonce')),
    baseFeePerGas: BigInt(field('baseFeePerGas')),
    withdrawalsRoot: Hash.from(field('withdrawalsRoot')),
    blobGasUsed: BigInt(field('blobGasUsed')),
    excessBlobGas: BigInt(field('excessBlobGas')),
    parentBeaconBlockRoot: Hash.from(field('parentBeaconBlockRoot')),
    requestsHash: null,
  }
}

function bodiless(header: Header): Block {
  return { header, hash: Header.hash(header), transactions: [], receipts: [], ommers: [], withdrawals: [], timestampMs: null, sizeBytes: 0 }
}
