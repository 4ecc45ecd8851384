import { CHAOS_PROFILES, Chaos, NO_CHAOS } from '../chain/index.ts'
import type { Chain, ChaosProfile } from '../chain/index.ts'
import { RpcError } from '../jsonrpc/index.ts'
import { mismatch, refused, strictObject } from '../jsonrpc/schema.ts'
import type { MaybeSchema } from '../jsonrpc/schema.ts'
import { DEFAULT_SEED } from './chainoptions.ts'
import type { StartOptions } from './options.ts'

/** The longest fault: one of more than an hour would end the chain for practical purposes. */
const FAULT_MS = 3_600_000
const FAULT_BLOCKS = 64
const FAULT_FLASHBLOCKS = 18_000

const RATE = atMostOne()

const SHAPE = strictObject({
  delay: RATE,
  delayFlashblocks: length(FAULT_FLASHBLOCKS),
  drop: RATE,
  retract: RATE,
  retractAll: RATE,
  reorder: RATE,
  missFlashblock: RATE,
  stall: RATE,
  stallMs: length(FAULT_MS),
  lateSeal: RATE,
  lateSealMs: length(FAULT_MS),
  failOver: RATE,
  failOverBlocks: length(FAULT_BLOCKS),
  jitter: RATE,
} satisfies Readonly<Record<keyof ChaosProfile, unknown>>)

/** Returns the profile of `chaos`; null: no faults. Throws RangeError that names the key. */
export function chaosProfileOf({ chaos }: StartOptions): ChaosProfile | null {
  if (chaos === undefined) return null
  return typeof chaos === 'string' ? CHAOS_PROFILES[chaos] : parseChaosProfile(chaos)
}

/** Starts the faults of a profile. */
export function startChaos(profile: ChaosProfile, { seed = DEFAULT_SEED, onError }: StartOptions, chain: Chain): Chaos {
  const { head, pool, promises } = chain
  return new Chaos(profile, { head, pool, promises, cadence: () => chain.cadence.kind, seed, onBug: onError })
}

/** Reads rates; absent ones are 0. Throws RangeError that names the key. */
export function parseChaosProfile(value: unknown): ChaosProfile {
  try {
    const given = Object.entries(SHAPE.parse(value, 'chaos profile')).filter(([, rate]) => rate !== undefined)
    return { ...NO_CHAOS, ...Object.fromEntries(given) }
  } catch (error) {
    if (error instanceof RpcError) throw new RangeError(error.message)
    throw error
  }
}

function atMostOne(): MaybeSchema<number> {
  return {
    maybe: true,
    skipped: true,
    json: { type: 'number', minimum: 0, maximum: 1 },
    parse: (value, path) => {
      if (value === undefined) return undefined
      if (typeof value !== 'number') throw mismatch(path, 'a number from 0 to 1', value)
      if (!(value >= 0 && value <= 1)) throw refused(path, `a rate is a number from 0 to 1, not ${value}`)
      return value
    },
  }
}

function length(max: number): MaybeSchema<number> {
  return {
    maybe: true,
    skipped: true,
    json: { type: 'integer', minimum: 1, maximum: max },
    parse: (value, path) => {
      if (value === undefined) return undefined
      if (typeof value !== 'number' || !Number.isInteger(value) || value < 1 || value > max)
        throw mismatch(path, `a whole number from 1 to ${max}`, value)
      return value
    },
  }
}
