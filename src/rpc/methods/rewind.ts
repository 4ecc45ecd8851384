import type { Compat } from '../../compat.ts'
import { Hex } from '../../eth/index.ts'
import { CODE, RpcError, invalidParams } from '../../jsonrpc/index.ts'
import type { ForkTarget } from '../forkport.ts'
import { REORG_TRANSACTIONS } from '../limits.ts'
import { optional, required } from '../method.ts'
import type { Method, Schema } from '../method.ts'
import { reorgTransactions } from '../execution/reorg.ts'
import type { ReorgTransaction } from '../execution/reorg.ts'
import { transactionOrRequest } from '../execution/transactionorrequest.ts'
import { BOOLEAN, QUANTITY } from '../../jsonrpc/jsonschema.ts'
import { anything, arrayOf, bigInteger, integer, maybe, object, refused, string } from '../../jsonrpc/schema.ts'
import { voidMethods, named } from './named.ts'
import { ALICE, BOB } from './examples.ts'

const pair: Schema<ReorgTransaction> = {
  json: { title: '[transaction, block]', type: 'array', minItems: 2, maxItems: 2 },
  parse: (value, path) => {
    if (!Array.isArray(value) || value.length !== 2) throw refused(path, 'expected a pair [transaction, block]')
    return { transaction: transactionOrRequest.parse(value[0], `${path}[0]`), block: integer.parse(value[1], `${path}[1]`) }
  },
}

const pairs = arrayOf(pair, REORG_TRANSACTIONS)
const reorgShape = object({ depth: integer, txBlockPairs: maybe(pairs) })

interface ReorgOptions {
  readonly depth: number
  readonly txBlockPairs?: readonly ReorgTransaction[] | undefined
}

/** anvil takes a depth here; its documentation shows an object with both. */
const depthOrOptions: Schema<ReorgOptions> = {
  json: { oneOf: [integer.json, reorgShape.json] },
  parse: (value, path) => {
    const whole = typeof value === 'object' && value !== null
    return whole ? reorgShape.parse(value, path) : { depth: integer.parse(value, path) }
  },
}

const DEPTH_ERRORS = { [-32602]: '`depth` exceeds the height of the chain, or the state is pruned' }

const forkingShape = object({ jsonRpcUrl: maybe(anything), blockNumber: maybe(anything) })
const resetShape = object({ forking: maybe(forkingShape), jsonRpcUrl: maybe(anything), blockNumber: maybe(anything) })
const FORKING_JSON = { type: 'object', properties: { jsonRpcUrl: string.json, blockNumber: integer.json } } as const

/** Returns the value of `forking`, or null without it. viem sends it with absent values by default, and JSON has null for NaN. anvil also takes it bare. */
const resetOptions: Schema<ForkTarget | null> = {
  json: { title: 'reset options', type: 'object', properties: { forking: FORKING_JSON } },
  parse: (value, path) => {
    const { forking: given, ...bare } = resetShape.parse(value, path)
    const forking = given ?? (isNothing(bare.jsonRpcUrl) && isNothing(bare.blockNumber) ? null : bare)
    if (forking === null) return null
    const read = <T>(key: keyof typeof forking, schema: Schema<T>): T | null =>
      isNothing(forking[key]) ? null : schema.parse(forking[key], `${path}.forking.${key}`)
    return { url: read('jsonRpcUrl', string), blockNumber: read('blockNumber', integer) }
  },
}

/** Whether a reset without `forking` ends a fork, or returns to its fork block. `hasOptions`: the request has an argument, such as `{}`. */
type EndsFork = (compat: Compat, hasOptions: boolean) => boolean

function resets(names: readonly string[], doc: string, endsFork: EndsFork): readonly Method[] {
  return voidMethods(names, {
    doc: `${doc} with an empty pool, the clock's own time and no snapshots; cadence, chain id and impersonated accounts stay. With \`forking\` the chain becomes a fork of that block (a few below the head unless given) of that url (the present one unless given).`,
    params: [optional('options', resetOptions)],
    errors: {
      [CODE.server]: 'upstream does not answer or lacks the block; nothing is changed then',
      [CODE.invalidParams]: '`forking` has a block and no url, and the chain is not a fork',
    },
    timeLimitMs: Infinity,
    example: [],
    handler: async ({ chain, fork, compat }, [options]) => {
      const forking = options ?? null
      const isFork = fork?.isFork === true
      const isEmpty = forking === null || (forking.url === null && forking.blockNumber === null)
      if (isFork ? forking === null && !endsFork(compat, options !== undefined) : isEmpty) return chain.reset()
      if (fork === null) throw new RpcError(CODE.server, 'this node cannot become a fork')
      await fork.restart(forking)
    },
  })
}

/** Snapshots, reverts and reorgs. Subscribers receive removed blocks before the new ones. */
export const REWIND_METHODS: readonly Method[] = [
  ...named(['evm_snapshot', 'anvil_snapshot'], {
    doc: 'Seals the pending block, takes a snapshot of the chain (blocks, state, pool, time) and returns its id.',
    params: [],
    result: QUANTITY,
    example: { params: [], result: '0x1' },
    handler: ({ chain }) => chain.snapshot(),
  }),
  ...named(['evm_revert', 'anvil_revert'], {
    doc: 'Reverts to a snapshot, which removes it and all later ones; false for an unknown snapshot.',
    params: [required('id', bigInteger)],
    result: BOOLEAN,
    example: { params: ['0x1'], result: true },
    handler: ({ chain }, [id]) => chain.revert(Hex.fromQuantity(id)),
  }),
  ...voidMethods(['anvil_reorg'], {
    doc: 'Replaces the last `depth` blocks by as many others that hold only the given transactions, each in the new block of its index (from 0); one that cannot be included is left out.',
    params: [required('depth', depthOrOptions), optional('transactions', pairs)],
    errors: { ...DEPTH_ERRORS, [-32000]: 'unknown account, or a failed gas estimate' },
    timeLimitMs: Infinity,
    example: [2, [[{ from: ALICE, to: BOB, value: '0x1' }, 0]]],
    handler: async (context, [{ depth, txBlockPairs }, positional]) => {
      if (txBlockPairs !== undefined && positional !== undefined)
        throw invalidParams('the transactions are given twice, in argument 0 and in argument 1')
      const placed = positional ?? txBlockPairs ?? []
      await context.chain.reorg(depth, () => reorgTransactions(context, depth, placed))
    },
  }),
  ...voidMethods(['anvil_rollback'], {
    doc: 'Removes the last `depth` blocks (1 by default) and the pending block; their transactions do not return to the pool.',
    params: [optional('depth', integer)],
    errors: DEPTH_ERRORS,
    example: [1],
    handler: ({ chain }, [depth = 1]) => chain.rollback(depth),
  }),
  ...resets(
    ['anvil_reset'],
    'Resets the chain to the genesis or the fork block (`--compat anvil`: without an argument to the genesis, which ends a fork),',
    ({ resetEndsFork }, hasOptions) => resetEndsFork && !hasOptions,
  ),
  ...resets(['ganache_reset'], 'Resets the chain to the genesis or the fork block,', () => false),
  ...resets(['hardhat_reset'], 'Resets the chain to the genesis, which ends a fork,', () => true),
]

function isNothing(value: unknown): boolean {
  return value === undefined || value === null || Number.isNaN(value)
}
