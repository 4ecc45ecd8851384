import { crc32 } from 'node:zlib'
import { Hash, Hex } from '../eth/index.ts'
import type { Block, Header } from '../eth/index.ts'
import { BEACON_ROOTS, CONSOLIDATION_QUEUE, HISTORY_STORAGE, WITHDRAWAL_QUEUE, rulesAt } from '../evm/index.ts'
import type { ChainConfig, Rules } from '../evm/index.ts'
import type { Json } from './json.ts'

/** EIP-7910: the rules at `head`, those that come next, and the last known ones; null where none are to come. */
export function chainForks(config: ChainConfig, genesis: Block, head: Header): Json {
  const times = activationTimes(config)
  const current = times.findLast((time) => time <= head.timestamp) ?? 0
  const coming = times.filter((time) => time > head.timestamp)
  const show = (time: number | undefined) => (time === undefined ? null : forkJson(config, genesis, head, time))
  return { current: show(current), next: show(coming[0]), last: show(coming.at(-1)) }
}

/** Distinct, rising. */
function activationTimes(config: ChainConfig): readonly number[] {
  const times = [...config.l1, ...(config.op?.activations ?? [])].map(({ timestamp }) => timestamp)
  return distinct(times.filter((time) => time !== null))
}

function forkJson(config: ChainConfig, genesis: Block, head: Header, time: number): Json {
  const rules = rulesAt(config, head.number, Math.max(time, genesis.header.timestamp))
  return {
    activationTime: time,
    blobSchedule: rules.blob === null ? null : { ...rules.blob, baseFeeUpdateFraction: Number(rules.blob.baseFeeUpdateFraction) },
    chainId: Hex.fromQuantity(config.chainId),
    forkId: forkId(config, genesis, head.number, time),
    precompiles: Object.fromEntries(PRECOMPILES.filter(([, , has]) => has(rules)).map(([name, at]) => [name, at])),
    systemContracts: systemContracts(config, rules),
  }
}

/** EIP-6122: CRC-32 over the genesis hash and every activation since, as 8 bytes each. */
function forkId(config: ChainConfig, genesis: Block, number: number, time: number): Hex {
  const blocks = [...config.l1.map(({ block }) => block ?? 0), ...(config.bombDelays ?? [])]
  const passed = [
    ...distinct(blocks.filter((block) => block > 0 && block <= number)),
    ...activationTimes(config).filter((at) => at > genesis.header.timestamp && at <= time),
  ]
  const bytes = new Uint8Array(32 + 8 * passed.length)
  bytes.set(Hash.toBytes(genesis.hash))
  const view = new DataView(bytes.buffer)
  for (const [i, at] of passed.entries()) view.setBigUint64(32 + 8 * i, BigInt(at))
  return `0x${crc32(bytes).toString(16).padStart(8, '0')}`
}

function distinct(numbers: readonly number[]): readonly number[] {
  return [...new Set(numbers)].toSorted((a, b) => a - b)
}

type Precompile = readonly [name: string, address: string, has: (rules: Rules) => boolean]

const always = () => true
const cancun = (rules: Rules) => rules.has('cancun')
const prague = (rules: Rules) => rules.has('prague')
const osaka = (rules: Rules) => rules.has('osaka') || rules.hasOp('fjord')

/** Names of EIP-7910. */
const PRECOMPILES: readonly Precompile[] = [
  ['ECREC', at(0x01), always],
  ['SHA256', at(0x02), always],
  ['RIPEMD160', at(0x03), always],
  ['ID', at(0x04), always],
  ['MODEXP', at(0x05), (rules) => rules.has('byzantium')],
  ['BN254_ADD', at(0x06), (rules) => rules.has('byzantium')],
  ['BN254_MUL', at(0x07), (rules) => rules.has('byzantium')],
  ['BN254_PAIRING', at(0x08), (rules) => rules.has('byzantium')],
  ['BLAKE2F', at(0x09), (rules) => rules.has('istanbul')],
  ['KZG_POINT_EVALUATION', at(0x0a), cancun],
  ['BLS12_G1ADD', at(0x0b), prague],
  ['BLS12_G1MSM', at(0x0c), prague],
  ['BLS12_G2ADD', at(0x0d), prague],
  ['BLS12_G2MSM', at(0x0e), prague],
  ['BLS12_PAIRING_CHECK', at(0x0f), prague],
  ['BLS12_MAP_FP_TO_G1', at(0x10), prague],
  ['BLS12_MAP_FP2_TO_G2', at(0x11), prague],
  ['P256VERIFY', at(0x100), osaka],
]

function at(number: number): string {
  return `0x${number.toString(16).padStart(40, '0')}`
}

/** An OP chain has no execution requests. */
function systemContracts(config: ChainConfig, rules: Rules): Json {
  return {
    ...(rules.has('cancun') ? { BEACON_ROOTS_ADDRESS: BEACON_ROOTS } : undefined),
    ...(rules.has('prague') ? { HISTORY_STORAGE_ADDRESS: HISTORY_STORAGE } : undefined),
    ...(rules.has('prague') && rules.op === null
      ? {
          CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS: CONSOLIDATION_QUEUE,
          ...(config.depositContract === null ? undefined : { DEPOSIT_CONTRACT_ADDRESS: config.depositContract }),
          WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS: WITHDRAWAL_QUEUE,
        }
      : undefined),
  }
}
