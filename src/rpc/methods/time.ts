import { LATEST_SECONDS } from '../../chain/index.ts'
import type { Chain } from '../../chain/index.ts'
import { MAX_SECONDS_APART } from '../limits.ts'
import { required } from '../method.ts'
import type { Method, Schema } from '../method.ts'
import { BOOLEAN, INTEGER } from '../../jsonrpc/jsonschema.ts'
import { integer, refused } from '../../jsonrpc/schema.ts'
import { timestamp, tooLate } from './bounds.ts'
import { voidMethods, prefixed, named } from './named.ts'

/** ganache takes milliseconds, anvil also seconds: a value after the year 5138 is in milliseconds. */
const moment: Schema<number> = {
  json: integer.json,
  parse: (value, path) => {
    const given = integer.parse(value, path)
    const seconds = given > LATEST_SECONDS ? Math.floor(given / 1_000) : given
    if (seconds > LATEST_SECONDS) throw tooLate(path, seconds)
    return seconds
  },
}

function intervalOf(unitMs: number): Schema<number> {
  return {
    json: integer.json,
    parse: (value, path) => {
      const seconds = (integer.parse(value, path) * unitMs) / 1_000
      if (Number.isInteger(seconds) && seconds >= 1 && seconds <= MAX_SECONDS_APART) return seconds
      throw refused(path, `blocks can be 1 to ${MAX_SECONDS_APART} whole seconds apart, not ${seconds}`)
    },
  }
}

export const TIME_METHODS: readonly Method[] = [
  ...named(['evm_increaseTime', 'anvil_increaseTime'], {
    doc: "Advances the chain's time by a number of seconds and returns its distance from the clock, in seconds.",
    params: [required('seconds', timestamp)],
    result: INTEGER,
    errors: { [-32602]: 'the time would be later than the year 5138' },
    example: { params: [3_600], result: 3_600 },
    handler: ({ chain }, [seconds]) => {
      const then = chain.nowSeconds() + seconds
      if (then > LATEST_SECONDS) throw tooLate('argument 0 (seconds)', then)
      return chain.increaseTime(seconds)
    },
  }),
  ...named(['evm_setTime', 'anvil_setTime'], {
    doc: "Sets the chain's time and returns the seconds by which it jumped ahead; takes seconds or milliseconds since 1970.",
    params: [required('time', moment)],
    result: INTEGER,
    example: { params: [1_900_000_000], result: 104_729_006 },
    handler: ({ chain }, [seconds]) => setTime(chain, seconds),
  }),
  ...voidMethods(['evm_setNextBlockTimestamp', 'anvil_setNextBlockTimestamp'], {
    doc: 'Sets the timestamp of the next block, in seconds; time continues from there.',
    params: [required('timestamp', timestamp)],
    errors: { [-32602]: 'not above the timestamp of the last block' },
    example: [1_900_000_000],
    handler: ({ chain }, [seconds]) => chain.setNextTimestamp(seconds),
  }),
  ...voidMethods(['anvil_setBlockTimestampInterval', 'ganache_setBlockTimestampInterval'], {
    doc: 'Sets the timestamp of every following block to a number of seconds after its parent, also with anvil_mine and hardhat_mine, whose interval is ignored.',
    params: [required('seconds', intervalOf(1_000))],
    example: [12],
    handler: ({ chain }, [seconds]) => chain.setTimestampInterval(seconds),
  }),
  ...voidMethods(['hardhat_setBlockTimestampInterval'], {
    doc: "As anvil_setBlockTimestampInterval, but in milliseconds, as viem's test client sends it in hardhat mode.",
    params: [required('milliseconds', intervalOf(1))],
    example: [12_000],
    handler: ({ chain }, [seconds]) => chain.setTimestampInterval(seconds),
  }),
  ...named(prefixed('removeBlockTimestampInterval'), {
    doc: 'Lets timestamps follow the clock again; false when they already did.',
    params: [],
    result: BOOLEAN,
    example: { params: [], result: true },
    handler: async ({ chain }) => {
      const had = chain.time.intervalSeconds !== null
      await chain.setTimestampInterval(null)
      return had
    },
  }),
  ...named(['anvil_getGenesisTime'], {
    doc: 'The timestamp of the genesis block in seconds.',
    params: [],
    result: INTEGER,
    example: { params: [], result: 1_700_000_000 },
    handler: ({ chain }) => chain.genesis.header.timestamp,
  }),
]

async function setTime(chain: Chain, seconds: number): Promise<number> {
  const before = chain.nowSeconds()
  await chain.setTime(seconds)
  return Math.max(0, seconds - before)
}
