import type { Tier1Mode } from './jit/settings.ts'
/** L1 forks in order. bpo1 and bpo2 change blob parameters only. */
export const L1_FORKS = [
  'frontier',
  'homestead',
  'tangerine',
  'spurious',
  'byzantium',
  'constantinople',
  'petersburg',
  'istanbul',
  'berlin',
  'london',
  'paris',
  'shanghai',
  'cancun',
  'prague',
  'osaka',
  'bpo1',
  'bpo2',
] as const
export type L1Fork = (typeof L1_FORKS)[number]

/**
 * OP Stack forks in order. azul is Base's: Osaka execution with the transaction gas cap. karst is that of the other chains; its rules include
 * azul's, and Base does not have it.
 */
export const OP_FORKS = [
  'bedrock',
  'regolith',
  'canyon',
  'delta',
  'ecotone',
  'fjord',
  'granite',
  'holocene',
  'isthmus',
  'jovian',
  'azul',
  'karst',
] as const
export type OpFork = (typeof OP_FORKS)[number]

export interface BlobParameters {
  readonly target: number
  readonly max: number
  readonly baseFeeUpdateFraction: bigint
}

/** Start of a fork: a block number (up to paris) or a timestamp in seconds (later forks). */
export interface Activation {
  readonly fork: L1Fork
  readonly block: number | null
  readonly timestamp: number | null
}

export interface OpActivation {
  readonly fork: OpFork
  readonly timestamp: number
}

/** Chain parameters of a genesis file. */
export interface ChainConfig {
  readonly chainId: number
  readonly l1: readonly Activation[]
  /** null: an L1 chain */
  readonly op: {
    readonly activations: readonly OpActivation[]
    readonly elasticity: bigint
    readonly denominator: bigint
    /** EIP-1559 denominator since Canyon */
    readonly denominatorCanyon: bigint
  } | null
  readonly blobSchedule: Readonly<Partial<Record<L1Fork, BlobParameters>>>
  /** blocks of forks that only delayed the difficulty bomb; part of the fork id (EIP-6122) */
  readonly bombDelays?: readonly number[]
  /** EIP-6110; L1 only */
  readonly depositContract: string | null
  /** EIP-7825; null: no cap */
  readonly transactionGasCap: bigint | null
  /** EIP-170; null: no limit */
  readonly codeSizeLimit: number | null
  /** not a consensus rule: how this chain's process runs code that uses much gas; the setting of `configureTier1` if absent */
  readonly tier1?: Tier1Mode
}

/** The rules of one block. */
export interface Rules {
  readonly l1: L1Fork
  readonly op: OpFork | null
  /** true when `fork` is active */
  readonly has: (fork: L1Fork) => boolean
  readonly hasOp: (fork: OpFork) => boolean
  readonly blob: BlobParameters | null
}

const L1_RANK: ReadonlyMap<L1Fork, number> = new Map(L1_FORKS.map((fork, rank) => [fork, rank]))
const OP_RANK: ReadonlyMap<OpFork, number> = new Map(OP_FORKS.map((fork, rank) => [fork, rank]))

/** L1 fork whose EIPs an OP fork includes (specs.optimism.io, one page per upgrade; Base docs for azul). */
const L1_FORK_OF: Readonly<Partial<Record<OpFork, L1Fork>>> = {
  bedrock: 'paris',
  canyon: 'shanghai',
  ecotone: 'cancun',
  isthmus: 'prague',
  azul: 'osaka',
}

/** EIP-4844, EIP-7691, EIP-7892: used when the genesis has no blob schedule. */
const BLOB_DEFAULTS: Readonly<Partial<Record<L1Fork, BlobParameters>>> = {
  cancun: { target: 3, max: 6, baseFeeUpdateFraction: 3_338_477n },
  prague: { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716n },
  bpo1: { target: 10, max: 15, baseFeeUpdateFraction: 8_346_193n },
  bpo2: { target: 14, max: 21, baseFeeUpdateFraction: 11_684_671n },
}

const cache = new WeakMap<ChainConfig, Map<string, Rules>>()

/** Returns the rules of the block with this number and timestamp (seconds): the same object for the same forks of one config. */
export function rulesAt(config: ChainConfig, number: number, timestamp: number): Rules {
  if (last?.config !== config || !contains(last.blocks, number) || !contains(last.times, timestamp))
    last = periodAt(config, number, timestamp)
  return last.rules
}

/** The blocks and the timestamps between two changes of a config's rules. */
interface Period {
  readonly config: ChainConfig
  readonly rules: Rules
  readonly blocks: Range
  readonly times: Range
}

/** From the first value up to, but without, the second. */
type Range = readonly [number, number]

/** Of the last lookup: nearly all are for the newest block or the next one. */
let last: Period | null = null

function periodAt(config: ChainConfig, number: number, timestamp: number): Period {
  return {
    config,
    rules: findRules(config, number, timestamp),
    blocks: rangeAround(
      number,
      config.l1.map(({ block }) => block),
    ),
    times: rangeAround(
      timestamp,
      [...config.l1, ...(config.op?.activations ?? [])].map((activation) => activation.timestamp),
    ),
  }
}

/** Returns the range around `value` without a bound inside: from the last one reached up to the next one. */
function rangeAround(value: number, bounds: readonly (number | null)[]): Range {
  const set = bounds.filter((bound) => bound !== null)
  return [
    Math.max(Number.NEGATIVE_INFINITY, ...set.filter((bound) => bound <= value)),
    Math.min(Number.POSITIVE_INFINITY, ...set.filter((bound) => bound > value)),
  ]
}

function contains([from, to]: Range, value: number): boolean {
  return from <= value && value < to
}

function findRules(config: ChainConfig, number: number, timestamp: number): Rules {
  const op = opForkAt(config, timestamp)
  const l1 = l1ForkAt(config, op, number, timestamp)
  const key = `${l1}/${op}`
  let known = cache.get(config)
  if (known === undefined) cache.set(config, (known = new Map()))
  let rules = known.get(key)
  if (rules === undefined) known.set(key, (rules = makeRules(config, l1, op)))
  return rules
}

/**
 * Checks that blocks under these rules can be executed: OP chains since Fjord. Earlier data fees are not implemented.
 * @throws {UnsupportedFork}
 */
export function requireSupported(rules: Rules): void {
  if (rules.op !== null && !rules.hasOp('fjord')) throw new UnsupportedFork(rules.op)
}

function opForkAt(config: ChainConfig, timestamp: number): OpFork | null {
  if (config.op === null) return null
  let rank = 0
  for (const activation of config.op.activations) {
    if (activation.timestamp <= timestamp) rank = Math.max(rank, OP_RANK.get(activation.fork) ?? 0)
  }
  return OP_FORKS[rank] ?? 'bedrock'
}

function l1ForkAt(config: ChainConfig, op: OpFork | null, number: number, timestamp: number): L1Fork {
  let rank = 0
  for (const { fork, block, timestamp: time } of config.l1) {
    if ((block !== null && block <= number) || (time !== null && time <= timestamp)) {
      rank = Math.max(rank, L1_RANK.get(fork) ?? 0)
    }
  }
  if (op !== null) rank = Math.max(rank, impliedRank(op))
  return L1_FORKS[rank] ?? 'frontier'
}

/** Returns the L1 fork whose rules an OP fork includes. */
export function impliedL1Fork(op: OpFork): L1Fork {
  return L1_FORKS[impliedRank(op)] ?? 'frontier'
}

function impliedRank(op: OpFork): number {
  let rank = 0
  for (const fork of OP_FORKS) {
    rank = Math.max(rank, L1_RANK.get(L1_FORK_OF[fork] ?? 'frontier') ?? 0)
    if (fork === op) break
  }
  return rank
}

function makeRules(config: ChainConfig, l1: L1Fork, op: OpFork | null): Rules {
  const l1Rank = L1_RANK.get(l1) ?? 0
  const opRank = op === null ? -1 : (OP_RANK.get(op) ?? -1)
  return {
    l1,
    op,
    has: (fork) => (L1_RANK.get(fork) ?? Infinity) <= l1Rank,
    hasOp: (fork) => (OP_RANK.get(fork) ?? Infinity) <= opRank,
    blob: op === null ? blobParameters(config, l1Rank) : null,
  }
}

/** The newest schedule entry up to the fork. A fork without an entry keeps its predecessor's. */
function blobParameters(config: ChainConfig, l1Rank: number): BlobParameters | null {
  for (let rank = l1Rank; rank >= 0; rank--) {
    const fork = L1_FORKS[rank]
    const found = fork === undefined ? undefined : (config.blobSchedule[fork] ?? BLOB_DEFAULTS[fork])
    if (found !== undefined) return found
  }
  return null
}

/** The chain is under an OP fork whose fee rules are not implemented. */
export class UnsupportedFork extends Error {
  override readonly name = 'UnsupportedFork'

  constructor(fork: OpFork) {
    super(`blocks of an OP chain before Fjord are not supported: this block is under ${fork}`)
  }
}
