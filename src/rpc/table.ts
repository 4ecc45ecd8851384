import type { Chapter } from '../jsonrpc/index.ts'
import type { Method } from './method.ts'
import { method } from './method.ts'
import { BLOCK_METHODS } from './methods/blocks.ts'
import { BUILD_METHODS } from './methods/build.ts'
import { CADENCE_METHODS } from './methods/cadence.ts'
import { CALL_MANY_METHODS } from './methods/callmany.ts'
import { CONDITIONAL_METHODS } from './methods/conditional.ts'
import { CALL_METHODS } from './methods/call.ts'
import { DEBUG_METHODS } from './methods/debug.ts'
import { EDIT_METHODS } from './methods/edits.ts'
import { ERC20_METHODS } from './methods/erc20.ts'
import { FEE_METHODS } from './methods/fees.ts'
import { FILL_METHODS } from './methods/fill.ts'
import { FLAT_TRACE_METHODS } from './methods/flattrace.ts'
import { REWIND_METHODS } from './methods/rewind.ts'
import { IMPERSONATE_METHODS } from './methods/impersonate.ts'
import { LOG_METHODS } from './methods/logs.ts'
import { MINE_METHODS } from './methods/mine.ts'
import { NEXT_BLOCK_METHODS } from './methods/nextblock.ts'
import { NODE_METHODS } from './methods/node.ts'
import { NODE_INFO_METHODS } from './methods/nodeinfo.ts'
import { OTHER_NODE_METHODS } from './methods/othernodes.ts'
import { OTTERSCAN_METHODS } from './methods/otterscan.ts'
import { POCKETCHAIN_METHODS } from './methods/pocketchain.ts'
import { POOL_METHODS } from './methods/pool.ts'
import { PROMISE_METHODS } from './methods/promises.ts'
import { SEND_METHODS } from './methods/send.ts'
import { SIGN_METHODS } from './methods/sign.ts'
import { SIMULATION_METHODS } from './methods/simulate.ts'
import { STATE_METHODS } from './methods/state.ts'
import { STATE_FILE_METHODS } from './methods/statefiles.ts'
import { SUBSCRIPTION_METHODS } from './methods/subscribe.ts'
import { TIME_METHODS } from './methods/time.ts'
import { DEBUG_TRACE_METHODS } from './methods/trace.ts'
import { TRANSACTION_METHODS } from './methods/transactions.ts'
import { TXPOOL_METHODS } from './methods/txpool.ts'
import { ADDRESS, BYTES, HASH, QUANTITY } from '../jsonrpc/jsonschema.ts'

const MODULES = method({
  name: 'rpc_modules',
  doc: 'The prefixes of the methods that this endpoint answers, each with its version.',
  params: [],
  result: { title: 'versions by prefix', type: 'object', additionalProperties: { type: 'string' } },
  example: { params: [], result: { eth: '1.0', net: '1.0', web3: '1.0' } },
  handler: ({ methodNames }, _, { tier }) => Object.fromEntries(methodNames(tier).map((name) => [name.slice(0, name.indexOf('_')), '1.0'])),
})

/** The node's own methods, in the order of the reference. */
export const CHAPTERS: readonly Chapter<Method>[] = [
  { title: 'Node', methods: [...NODE_METHODS, MODULES] },
  { title: 'State', methods: STATE_METHODS },
  { title: 'Blocks', methods: BLOCK_METHODS },
  { title: 'Transactions and receipts', methods: TRANSACTION_METHODS },
  { title: 'Logs and filters', methods: LOG_METHODS },
  { title: 'Calls', methods: [...CALL_METHODS, ...CALL_MANY_METHODS, ...SIMULATION_METHODS, ...BUILD_METHODS] },
  { title: 'Fees', methods: FEE_METHODS },
  { title: 'Sending and signing', methods: [...SEND_METHODS, ...CONDITIONAL_METHODS, ...FILL_METHODS, ...SIGN_METHODS] },
  { title: 'Subscriptions', methods: SUBSCRIPTION_METHODS },
  { title: 'Transaction pool', methods: TXPOOL_METHODS },
  { title: 'Raw bytes', methods: DEBUG_METHODS },
  { title: 'Tracing', methods: [...DEBUG_TRACE_METHODS, ...FLAT_TRACE_METHODS] },
  { title: 'Otterscan', methods: OTTERSCAN_METHODS },
  { title: 'Names of other nodes', methods: OTHER_NODE_METHODS },
  { title: 'Dev methods: blocks', methods: [...MINE_METHODS, ...CADENCE_METHODS, ...NEXT_BLOCK_METHODS] },
  { title: 'Dev methods: time', methods: TIME_METHODS },
  { title: 'Dev methods: state', methods: [...EDIT_METHODS, ...STATE_FILE_METHODS, ...ERC20_METHODS] },
  { title: 'Dev methods: snapshots, reverts and reorgs', methods: REWIND_METHODS },
  { title: 'Dev methods: senders and the pool', methods: [...IMPERSONATE_METHODS, ...POOL_METHODS] },
  { title: 'Dev methods: promises', methods: PROMISE_METHODS },
  { title: 'Dev methods: the node', methods: [...NODE_INFO_METHODS, ...POCKETCHAIN_METHODS] },
]

export const METHODS: ReadonlyMap<string, Method> = new Map(CHAPTERS.flatMap(({ methods }) => methods).map((row) => [row.name, row]))

/** The methods whose results are hex. */
export const HEX_METHODS: ReadonlySet<string> = new Set(
  [...METHODS.values()].filter(({ result }) => [ADDRESS, BYTES, HASH, QUANTITY].includes(result)).map(({ name }) => name),
)
