import { Address, Hash } from '../../../src/eth/index.ts'
import { L1_FORKS, rulesAt } from '../../../src/evm/index.ts'
import type { BlockContext, ChainConfig, L1Fork, OpFork } from '../../../src/evm/index.ts'

export type Fork = L1Fork | OpFork

/** Fee recipient. */
export const COINBASE = Address.fromBigint(0xc0_17n)

const NUMBER = 1_000
const TIMESTAMP = 1_000_000
const HASHES = Array.from({ length: NUMBER }, (_, number) => Hash.keccak(Hash.toBytes(Hash.fromBigint(BigInt(number)))))
const contexts = new Map<string, BlockContext>()

/** The block context of a fork; the same object each time, since engines cache by rule set. */
export function contextOf(fork: Fork, codeSizeLimit: number | null = 24_576): BlockContext {
  const key = `${fork}/${codeSizeLimit}`
  let context = contexts.get(key)
  if (context === undefined) contexts.set(key, (context = makeContext(configOf(fork, codeSizeLimit))))
  return context
}

function makeContext(config: ChainConfig): BlockContext {
  const rules = rulesAt(config, NUMBER, TIMESTAMP)
  return {
    config,
    rules,
    env: {
      number: NUMBER,
      timestamp: TIMESTAMP,
      gasLimit: 30_000_000n,
      coinbase: COINBASE,
      prevRandao: rules.has('paris') ? Hash.keccak(Uint8Array.of(1)) : Hash.zero,
      difficulty: rules.has('paris') ? 0n : 131_072n,
      baseFeePerGas: rules.has('london') ? 7n : null,
      blobBaseFee: rules.has('cancun') ? 3n : null,
      parentBeaconBlockRoot: null,
      blockHash: (number) => HASHES[number] ?? null,
    },
  }
}

function configOf(fork: Fork, codeSizeLimit: number | null): ChainConfig {
  const l1 = L1_FORKS.find((name) => name === fork)
  const activations = l1 === undefined ? [{ fork: fork as OpFork, timestamp: 0 }] : [] // an OP fork
  return {
    chainId: 1_337,
    l1: [{ fork: l1 ?? 'frontier', block: 0, timestamp: null }],
    op: l1 === undefined ? { activations, elasticity: 6n, denominator: 50n, denominatorCanyon: 250n } : null,
    blobSchedule: {},
    depositContract: null,
    transactionGasCap: 16_777_216n,
    codeSizeLimit,
  }
}
