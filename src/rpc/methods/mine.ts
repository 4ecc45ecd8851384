import { LATEST_SECONDS, MINE_BLOCKS } from '../../chain/index.ts'
import type { Chain } from '../../chain/index.ts'
import type { Block } from '../../eth/index.ts'
import { DETAILED_BLOCKS } from '../limits.ts'
import { method, optional } from '../method.ts'
import type { Method, Schema } from '../method.ts'
import { replayedBlockJson } from '../execution/replay.ts'
import { STRING, listOf } from '../../jsonrpc/jsonschema.ts'
import { BLOCK } from '../results.ts'
import { integer, maybe, object } from '../../jsonrpc/schema.ts'
import { atMost, timestamp, tooLate } from './bounds.ts'
import { voidMethods, named } from './named.ts'

const ERRORS = { [-32602]: 'too many blocks, or a timestamp that is not above the head' }

const blockCount = atMost(integer, MINE_BLOCKS, 'blocks')

interface MineOptions {
  readonly blocks: number
  /** timestamp of the first block, in seconds; undefined: the chain's time */
  readonly timestamp: number | undefined
}

/** ganache's object, or hardhat's bare timestamp. */
function mineOptions(count: Schema<number>): Schema<MineOptions> {
  const shape = object({ blocks: maybe(count), timestamp: maybe(timestamp) })
  return {
    json: { oneOf: [{ title: 'timestamp', ...timestamp.json }, shape.json] },
    parse: (value, path) => {
      if (typeof value !== 'object') return { blocks: 1, timestamp: timestamp.parse(value, path) }
      const { blocks = 1, timestamp: first } = shape.parse(value, path)
      return { blocks, timestamp: first }
    },
  }
}

const MINE = {
  params: [optional('blocks', blockCount), optional('intervalSeconds', timestamp)],
  errors: ERRORS,
  timeLimitMs: Infinity,
  example: ['0x2', '0x3c'],
} as const

export const MINE_METHODS: readonly Method[] = [
  method({
    name: 'evm_mine',
    doc: 'Seals one block now, or `blocks` of them; `timestamp` (seconds) is that of the first one.',
    params: [optional('options', mineOptions(blockCount))],
    result: STRING,
    errors: ERRORS,
    timeLimitMs: Infinity,
    example: { params: [{ blocks: 2 }], result: '0x0' },
    handler: async ({ chain }, [options]) => {
      await mine(chain, options)
      return '0x0'
    },
  }),
  ...voidMethods(['anvil_mine'], {
    doc: 'Seals a number of blocks (1 by default). With `intervalSeconds` the time advances by that much before each of them, and promises are sealed before, in a further block.',
    ...MINE,
    handler: ({ chain }, [blocks, interval]) => mineApart(chain, 'interval', blocks, interval),
  }),
  ...voidMethods(['hardhat_mine', 'ganache_mine'], {
    doc: 'Seals a number of blocks (1 by default). With `intervalSeconds` each is that much after the one before it; the first one has the time of the chain, as in Hardhat.',
    ...MINE,
    handler: ({ chain }, [blocks, interval]) => mineApart(chain, null, blocks, interval),
  }),
  ...named(['anvil_mine_detailed', 'evm_mine_detailed'], {
    doc: 'As evm_mine, but returns the new blocks with full transactions, each with its `output` and, if it has one, its `revertReason`.',
    params: [optional('options', mineOptions(atMost(integer, DETAILED_BLOCKS, 'blocks')))],
    result: listOf(BLOCK),
    errors: ERRORS,
    timeLimitMs: Infinity,
    example: { params: [{ blocks: 1 }], result: [{ number: '0x1', transactions: [{ nonce: '0x0', output: '0x' }] }] },
    handler: async ({ chain }, [options]) => {
      const blocks = await mine(chain, options)
      const { view } = chain.head
      return blocks.map((block) => replayedBlockJson(view, block))
    },
  }),
]

function mine(chain: Chain, { blocks, timestamp: first }: MineOptions = ONE): Promise<readonly Block[]> {
  return chain.mine(blocks, null, first ?? null)
}

const ONE: MineOptions = { blocks: 1, timestamp: undefined }

function mineApart(chain: Chain, first: 'interval' | null, blocks = 1, intervalSeconds = 0): Promise<unknown> {
  if (intervalSeconds === 0) return chain.mine(blocks)
  assertReachable(chain, blocks, intervalSeconds)
  return chain.mine(blocks, intervalSeconds, first)
}

function assertReachable(chain: Chain, blocks: number, intervalSeconds: number): void {
  const last = chain.head.view.head.header.timestamp + blocks * intervalSeconds
  if (last > LATEST_SECONDS) throw tooLate('argument 1 (intervalSeconds)', last)
}
