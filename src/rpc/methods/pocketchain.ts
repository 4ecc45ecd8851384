import { ManualClock } from '../../chain/index.ts'
import type { Chain, Clock } from '../../chain/index.ts'
import { Hex } from '../../eth/index.ts'
import { tier1ModeOf } from '../../evm/index.ts'
import { CODE, RpcError } from '../../jsonrpc/index.ts'
import type { Json } from '../json.ts'
import { TICK_MS, TICK_STEP_MS } from '../limits.ts'
import { method, required } from '../method.ts'
import type { Method } from '../method.ts'
import { HASH, INTEGER, QUANTITY, STRING, orNull, record } from '../../jsonrpc/jsonschema.ts'
import { integer } from '../../jsonrpc/schema.ts'
import { atMost } from './bounds.ts'
import { BLOCK_HASH } from './examples.ts'
import { VERSION } from '../version.ts'

const CLOCK = record('clock', { kind: { enum: ['real', 'manual'] }, nowMs: INTEGER, chainMs: INTEGER })
const HEAD = record('head', { number: QUANTITY, hash: HASH, timestamp: QUANTITY })
const FORK_STATUS = record('fork status', {
  url: STRING,
  chainId: INTEGER,
  blockNumber: INTEGER,
  blockHash: HASH,
  retryBackoffMs: INTEGER,
  requests: INTEGER,
  keys: INTEGER,
  cacheHits: INTEGER,
  retries: INTEGER,
  rateLimits: INTEGER,
})
const CADENCE = record(
  'cadence',
  { kind: { enum: ['preconf', 'native', 'instant', 'manual'] } },
  { blockTimeMs: INTEGER, flashblockMs: INTEGER },
)

export const POCKETCHAIN_METHODS: readonly Method[] = [
  method({
    name: 'pocketchain_tick',
    doc: 'Advances a manual clock by a number of milliseconds, runs everything that is due and returns the new head.',
    params: [required('milliseconds', atMost(integer, TICK_MS, 'milliseconds'))],
    result: record('tick', { nowMs: INTEGER, blockNumber: QUANTITY, flashblockIndex: INTEGER }),
    errors: { [CODE.server]: 'the clock is the real one' },
    timeLimitMs: Infinity,
    example: { params: [200], result: { nowMs: 1_700_000_000_200, blockNumber: '0x0', flashblockIndex: 1 } },
    handler: async ({ chain }, [milliseconds]) => {
      await advance(manual(chain.clock), milliseconds)
      const { view } = chain.head
      return {
        nowMs: chain.clock.nowMs(),
        blockNumber: Hex.fromQuantity(view.head.header.number),
        flashblockIndex: view.flashblockIndex,
      }
    },
  }),
  method({
    name: 'pocketchain_info',
    doc: 'The version, cadence, clock and head of this node, and how it runs hot code (--tier1).',
    params: [],
    result: record('node', {
      clientVersion: STRING,
      instanceId: HASH,
      chainId: QUANTITY,
      genesisHash: HASH,
      cadence: CADENCE,
      clock: CLOCK,
      head: HEAD,
      flashblockIndex: INTEGER,
      gasLimit: QUANTITY,
      tier1: { enum: ['off', 'on', 'shadow'] },
    }),
    example: {
      params: [],
      result: {
        clientVersion: `pocketchain/${VERSION}/linux-x64/node20.20.2`,
        instanceId: BLOCK_HASH,
        chainId: '0x7a69',
        genesisHash: BLOCK_HASH,
        cadence: { kind: 'preconf', blockTimeMs: 2_000, flashblockMs: 200 },
        clock: { kind: 'real', nowMs: 1_700_000_000_200, chainMs: 1_700_000_000_200 },
        head: { number: '0x1b4', hash: BLOCK_HASH, timestamp: '0x6553f100' },
        flashblockIndex: 3,
        gasLimit: '0x3938700',
        tier1: 'on',
      },
    },
    handler: ({ chain, clientVersion }) => ({ clientVersion, ...infoOf(chain) }),
  }),
  method({
    name: 'pocketchain_forkStatus',
    doc: 'Where the chain is forked from, and what its reads have cost since the start; null for a chain that is not a fork. Keys are accounts, slots and block hashes that were fetched.',
    params: [],
    result: orNull(FORK_STATUS),
    example: {
      params: [],
      result: {
        url: 'https://base.example',
        chainId: 8_453,
        blockNumber: 34_000_000,
        blockHash: BLOCK_HASH,
        retryBackoffMs: 1_000,
        requests: 12,
        keys: 148,
        cacheHits: 0,
        retries: 0,
        rateLimits: 0,
      },
    },
    handler: ({ fork }) => fork?.status ?? null,
  }),
]

function manual(clock: Clock): ManualClock {
  if (clock instanceof ManualClock) return clock
  throw new RpcError(CODE.server, 'the clock of this node is the real one and cannot be moved: start it with --clock manual')
}

async function advance(clock: ManualClock, milliseconds: number): Promise<void> {
  for (let left = milliseconds; left > 0; left -= TICK_STEP_MS) {
    await clock.advance(Math.min(left, TICK_STEP_MS))
    if (left > TICK_STEP_MS) await new Promise<void>((resolve) => setImmediate(resolve))
  }
}

function infoOf(chain: Chain): Json {
  const { view } = chain.head
  const { header, hash } = view.head
  return {
    instanceId: chain.instanceId,
    chainId: Hex.fromQuantity(chain.config.chainId),
    genesisHash: chain.genesis.hash,
    cadence: chain.cadence,
    clock: { kind: chain.clock instanceof ManualClock ? 'manual' : 'real', nowMs: chain.clock.nowMs(), chainMs: chain.time.nowMs() },
    head: { number: Hex.fromQuantity(header.number), hash, timestamp: Hex.fromQuantity(header.timestamp) },
    flashblockIndex: view.flashblockIndex,
    gasLimit: Hex.fromQuantity(chain.gasLimit),
    tier1: tier1ModeOf(chain.config),
  }
}
