import { Hex } from '../../eth/index.ts'
import { invalidParams } from '../../jsonrpc/index.ts'
import { REORG_TRANSACTIONS } from '../limits.ts'
import { optional, required } from '../method.ts'
import type { Method, Schema } from '../method.ts'
import { rawTransaction } from '../rawtransaction.ts'
import { reorgTransactions } from '../execution/reorg.ts'
import type { Sendable } from '../execution/reorg.ts'
import { callRequest } from '../execution/request.ts'
import { BOOLEAN, QUANTITY } from '../../jsonrpc/jsonschema.ts'
import { anything, arrayOf, bigInteger, integer, maybe, object, refused } from '../../jsonrpc/schema.ts'
import { fitting } from './bounds.ts'
import { commands, familiar, named } from './named.ts'
import { ALICE, BOB } from './examples.ts'

/** A signed transaction as bytes, or the request of one. */
const sendable: Schema<Sendable> = {
  json: { oneOf: [rawTransaction.json, callRequest.json] },
  parse: (value, path) => {
    return typeof value === 'string' ? { tx: rawTransaction.parse(value, path) } : { request: callRequest.parse(value, path) }
  },
}

interface Placed {
  readonly what: Sendable
  /** place among the new blocks, from 0 */
  readonly block: number
}

const pair: Schema<Placed> = {
  json: { title: '[transaction, block]', type: 'array', minItems: 2, maxItems: 2 },
  parse: (value, path) => {
    if (!Array.isArray(value) || value.length !== 2) throw refused(path, 'expected a pair [transaction, block]')
    return { what: sendable.parse(value[0], `${path}[0]`), block: integer.parse(value[1], `${path}[1]`) }
  },
}

const pairs = arrayOf(pair, REORG_TRANSACTIONS)
const reorgShape = object({ depth: integer, txBlockPairs: maybe(pairs) })

interface ReorgOptions {
  readonly depth: number
  readonly txBlockPairs?: readonly Placed[] | undefined
}

/** anvil takes a depth here; its documentation shows an object with both. */
const depthOrOptions: Schema<ReorgOptions> = {
  json: { oneOf: [integer.json, reorgShape.json] },
  parse: (value, path) => {
    const whole = typeof value === 'object' && value !== null
    return whole ? reorgShape.parse(value, path) : { depth: integer.parse(value, path) }
  },
}

const DEPTH_ERRORS = { [-32602]: 'deeper than the chain is high, or than its state is kept' }

const resetShape = object({ forking: maybe(object({ jsonRpcUrl: anything, blockNumber: anything })) })

/** What viem sends when it is told nothing names neither a url nor a block. */
const noFork: Schema<null> = {
  json: { title: 'reset options', ...resetShape.json },
  parse: (value, path) => {
    const { forking } = resetShape.parse(value, path)
    if ([forking?.jsonRpcUrl, forking?.blockNumber].every(isNothing)) return null
    throw refused(`${path}.forking`, 'this chain forks no other one; without it a reset goes back to the genesis')
  },
}

/** Ways back. Subscribers hear what is removed before what comes instead. */
export const HISTORY_METHODS: readonly Method[] = [
  ...named(['evm_snapshot', 'anvil_snapshot'], {
    doc: 'Remembers the chain as it stands (blocks, state, pool, time), seals what is promised first, and returns the id to go back with.',
    params: [],
    result: QUANTITY,
    example: { params: [], result: '0x1' },
    handler: ({ chain }) => chain.snapshot(),
  }),
  ...named(['evm_revert', 'anvil_revert'], {
    doc: 'Goes back to a snapshot, which uses it and all later ones up; false when there is no such snapshot.',
    params: [required('id', bigInteger)],
    result: BOOLEAN,
    example: { params: ['0x1'], result: true },
    handler: ({ chain }, [id]) => chain.revert(Hex.fromQuantity(id)),
  }),
  ...commands(['anvil_reorg'], {
    doc: 'Replaces the last `depth` blocks by as many others that hold only the given transactions, each in the new block whose place it names (from 0); one that cannot be included is left out.',
    params: [required('depth', depthOrOptions), optional('transactions', pairs)],
    errors: { ...DEPTH_ERRORS, [-32000]: 'unknown account, or a failed gas estimate' },
    timeLimitMs: Infinity,
    example: [2, [[{ from: ALICE, to: BOB, value: '0x1' }, 0]]],
    handler: async (context, [{ depth, txBlockPairs }, positional]) => {
      if (txBlockPairs !== undefined && positional !== undefined)
        throw invalidParams('the transactions are given twice, in argument 0 and in argument 1')
      const placed = positional ?? txBlockPairs ?? []
      await fitting(() => context.chain.reorg(depth, () => reorgTransactions(context, depth, placed)))
    },
  }),
  ...commands(['anvil_rollback'], {
    doc: 'Forgets the last `depth` blocks (1 by default) and what is promised; their transactions do not come back.',
    params: [optional('depth', integer)],
    errors: DEPTH_ERRORS,
    example: [1],
    handler: ({ chain }, [depth = 1]) => fitting(() => chain.rollback(depth)),
  }),
  ...commands(familiar('reset'), {
    doc: "Goes back to the genesis with an empty pool, the clock's own time and no snapshots; the cadence and impersonated accounts stay.",
    params: [optional('options', noFork)],
    errors: { [-32602]: 'it asks for a fork' },
    example: [],
    handler: ({ chain }) => chain.reset(),
  }),
]

function isNothing(value: unknown): boolean {
  return value === undefined || value === null || Number.isNaN(value)
}
