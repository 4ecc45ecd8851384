import { CADENCES, MAX_BLOCK_TIME_MS, cadenceProblem } from '../../chain/index.ts'
import type { Cadence, CadenceKind } from '../../chain/index.ts'
import type { Compat } from '../../compat.ts'
import { required } from '../method.ts'
import type { Method, Schema } from '../method.ts'
import { BOOLEAN, orNull } from '../../jsonrpc/jsonschema.ts'
import { boolean, integer, refused } from '../../jsonrpc/schema.ts'
import { voidMethods, named } from './named.ts'

/** anvil and ganache take seconds, hardhat takes milliseconds under the same name. Block times of 1,000 s are not used. */
const FIRST_MILLISECONDS = 1_000

const json = {
  title: 'interval',
  oneOf: [
    { type: 'number', minimum: 0 },
    { type: 'string', pattern: '^(0x[0-9a-fA-F]+|[0-9]+)$' },
  ],
}

/** Seconds, also fractions; parses to milliseconds. */
const seconds: Schema<number> = { json, parse: (value, path) => interval(amount(value, path) * 1_000, path) }

/** Seconds below 1,000, otherwise milliseconds; parses to milliseconds. */
const secondsOrMilliseconds: Schema<number> = {
  json,
  parse: (value, path) => {
    const given = amount(value, path)
    return interval(given < FIRST_MILLISECONDS ? given * 1_000 : given, path)
  },
}

interface IntervalRange {
  readonly leastMs: number
  readonly mostMs: number
}

/** One interval, or hardhat's range of milliseconds. */
const intervalOrRange: Schema<IntervalRange> = {
  json: { oneOf: [json, { type: 'array', items: json, minItems: 2, maxItems: 2 }] },
  parse: (value, path) => {
    if (!Array.isArray(value)) {
      const only = secondsOrMilliseconds.parse(value, path)
      return { leastMs: only, mostMs: only }
    }
    if (value.length !== 2) throw refused(path, 'a range is a pair of milliseconds')
    const [leastMs, mostMs] = value.map((item, i) => interval(amount(item, `${path}[${i}]`), `${path}[${i}]`)) as [number, number] // of two items
    if (mostMs < leastMs || leastMs === 0) throw refused(path, 'a range begins with its smaller number, above 0')
    if (mostMs > 2 * leastMs) throw refused(path, `a range ends at twice its beginning, ${2 * leastMs} ms, or before`)
    return { leastMs, mostMs }
  },
}

export const CADENCE_METHODS: readonly Method[] = [
  ...voidMethods(['evm_setAutomine', 'anvil_setAutomine'], {
    doc: 'True seals a block for each transaction on arrival (the instant cadence), false seals on request only (manual); a block time that was set, by a flag or evm_setIntervalMining, stays under false, as in anvil and Hardhat.',
    params: [required('enabled', boolean)],
    example: [true],
    handler: async ({ chain }, [enabled]) => {
      if (enabled) return chain.setCadence(CADENCES.instant)
      if (!hasChosenBlockTime(chain.cadence)) await chain.setCadence(CADENCES.manual)
    },
  }),
  ...voidMethods(['miner_start'], {
    doc: 'As evm_setAutomine with true.',
    params: [],
    example: [],
    handler: ({ chain }) => chain.setCadence(CADENCES.instant),
  }),
  ...voidMethods(['miner_stop'], {
    doc: 'Seals on request only (the manual cadence); ends blocks at an interval, too.',
    params: [],
    example: [],
    handler: ({ chain }) => chain.setCadence(CADENCES.manual),
  }),
  ...named(['anvil_getAutomine', 'hardhat_getAutomine'], {
    doc: 'True if a sent transaction takes effect at `latest` without further commands: instant cadence, or `--latest promised` under another one but manual.',
    params: [],
    result: BOOLEAN,
    example: { params: [], result: false },
    handler: ({ chain, compat }) => takesEffectAtOnce(chain.cadence.kind, compat),
  }),
  ...voidMethods(['evm_setIntervalMining'], {
    doc: 'Seals a block at an interval in seconds (from 1,000 on: milliseconds, as hardhat counts), with flashblocks in between; 0 seals on request only. A pair of milliseconds is a range from which each interval is drawn, up to twice the smaller one.',
    params: [required('interval', intervalOrRange)],
    example: [5],
    handler: async ({ chain }, [{ leastMs, mostMs }]) => {
      await chain.setCadence(every(leastMs))
      if (leastMs > 0) await chain.promises.setPace({ jitter: mostMs / leastMs - 1 })
    },
  }),
  ...voidMethods(['anvil_setIntervalMining'], {
    doc: 'Seals a block at an interval in seconds, with flashblocks in between; 0 seals on request only.',
    params: [required('seconds', seconds)],
    example: [5],
    handler: ({ chain }, [intervalMs]) => chain.setCadence(every(intervalMs)),
  }),
  ...named(['anvil_getIntervalMining'], {
    doc: 'The block time in seconds; null if blocks do not follow the clock.',
    params: [],
    result: orNull({ type: 'number' }),
    example: { params: [], result: 2 },
    handler: ({ chain }) => ('blockTimeMs' in chain.cadence ? chain.cadence.blockTimeMs / 1_000 : null),
  }),
]

/** False under a cadence without a block time, and under the unchanged default, which a client that expects anvil's automine did not choose. */
function hasChosenBlockTime(cadence: Cadence): boolean {
  return 'blockTimeMs' in cadence && cadence !== CADENCES[cadence.kind]
}

function every(blockTimeMs: number): Cadence {
  return blockTimeMs === 0 ? CADENCES.manual : preconfEvery(blockTimeMs)
}

function preconfEvery(blockTimeMs: number): Cadence {
  return { kind: 'preconf', blockTimeMs, flashblockMs: Math.min(blockTimeMs, CADENCES.preconf.flashblockMs) }
}

function amount(value: unknown, path: string): number {
  return typeof value === 'number' && value >= 0 && value <= MAX_BLOCK_TIME_MS ? value : integer.parse(value, path)
}

function interval(milliseconds: number, path: string): number {
  if (milliseconds === 0) return 0
  const whole = Math.round(milliseconds)
  const problem = cadenceProblem(preconfEvery(whole))
  if (problem === null) return whole
  throw refused(path, `${problem}; 0 switches off`)
}

/** Ignition waits for five blocks unless the answer is true, and hardhat-network-helpers mine by hand. */
function takesEffectAtOnce(cadence: CadenceKind, { latestState }: Compat): boolean {
  return cadence === 'instant' || (latestState === 'promised' && cadence !== 'manual')
}
