import type { Method } from './method.ts'
import { method } from './method.ts'
import { BLOCK_METHODS } from './methods/blocks.ts'
import { CALL_METHODS } from './methods/call.ts'
import { DEBUG_METHODS } from './methods/debug.ts'
import { FEE_METHODS } from './methods/fees.ts'
import { LOG_METHODS } from './methods/logs.ts'
import { NODE_METHODS } from './methods/node.ts'
import { SEND_METHODS } from './methods/send.ts'
import { SIMULATION_METHODS } from './methods/simulate.ts'
import { STATE_METHODS } from './methods/state.ts'
import { SUBSCRIPTION_METHODS } from './methods/subscribe.ts'
import { TRANSACTION_METHODS } from './methods/transactions.ts'
import { TXPOOL_METHODS } from './methods/txpool.ts'
import { PUBLIC_METHODS, PUBLIC_REFUSALS } from './public.ts'

/** A chapter of the reference. */
export interface Chapter {
  readonly title: string
  readonly methods: readonly Method[]
}

const MODULES = method({
  name: 'rpc_modules',
  doc: 'The prefixes of the methods that this endpoint answers, each with its version.',
  params: [],
  result: { title: 'versions by prefix', type: 'object', additionalProperties: { type: 'string' } },
  example: { params: [], result: { eth: '1.0', net: '1.0', web3: '1.0' } },
  handler: (_, __, { tier }) => {
    const names = tier === 'public' ? [...METHODS.keys()].filter(isPublic) : [...METHODS.keys()]
    return Object.fromEntries(names.map((name) => [name.slice(0, name.indexOf('_')), '1.0']))
  },
})

/** Every method there is, in the order of the reference. */
export const CHAPTERS: readonly Chapter[] = [
  { title: 'Node', methods: [...NODE_METHODS, MODULES] },
  { title: 'State', methods: STATE_METHODS },
  { title: 'Blocks', methods: BLOCK_METHODS },
  { title: 'Transactions and receipts', methods: TRANSACTION_METHODS },
  { title: 'Logs and filters', methods: LOG_METHODS },
  { title: 'Calls', methods: [...CALL_METHODS, ...SIMULATION_METHODS] },
  { title: 'Fees', methods: FEE_METHODS },
  { title: 'Sending and signing', methods: SEND_METHODS },
  { title: 'Subscriptions', methods: SUBSCRIPTION_METHODS },
  { title: 'Transaction pool', methods: TXPOOL_METHODS },
  { title: 'Raw bytes', methods: DEBUG_METHODS },
]

export const METHODS: ReadonlyMap<string, Method> = new Map(
  CHAPTERS.flatMap(({ methods }) => methods).map((row) => [row.name, row]),
)

/** Answered on the public tier, if only with a refusal of its own. */
export function isPublic(name: string): boolean {
  return PUBLIC_METHODS.has(name) || PUBLIC_REFUSALS.has(name)
}
