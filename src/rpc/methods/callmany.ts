import { Hex } from '../../eth/index.ts'
import { BYTES, STRING, listOf, record } from '../../jsonrpc/jsonschema.ts'
import { LATEST, arrayOf, blockRef, integer, maybe, object } from '../../jsonrpc/schema.ts'
import type { BlockRef, Infer } from '../../jsonrpc/schema.ts'
import { requireStateBlock } from '../blocks.ts'
import { environmentAt, environmentFor, needsOfCalls, withCall } from '../execution/calls.ts'
import type { CallEnvironment } from '../execution/calls.ts'
import { computed } from '../execution/computed.ts'
import { blockOverrides, overriddenState, stateOverrides } from '../execution/overrides.ts'
import { assertChain, callRequest } from '../execution/request.ts'
import { failureError } from '../execution/revert.ts'
import { joinedNeeds, needsOfRun, withRun } from '../execution/tracing.ts'
import { CALL_TIME_MS, TRACED_CALLS } from '../limits.ts'
import { optional, required } from '../method.ts'
import type { Method } from '../method.ts'
import { ALICE, BOB } from './examples.ts'

const bundle = object({ transactions: arrayOf(callRequest, TRACED_CALLS), blockOverride: maybe(blockOverrides) })

/** erigon's and reth's form. `transactionIndex` -1, the default: after the block. */
const place = object({ blockNumber: maybe(blockRef), transactionIndex: maybe(integerOrEnd()) })

/** Erigon requires the context, reth does not. */
const AFTER_LATEST: Infer<typeof place> = { blockNumber: LATEST, transactionIndex: -1 }

/** The result of a call: `value`, or `error`. */
const OUTCOME = record('outcome', {}, { value: BYTES, error: STRING })

export const CALL_MANY_METHODS: readonly Method[] = [
  computed({
    name: 'eth_callMany',
    doc: 'Executes bundles of calls, each on the state that those before it leave, after a block or before its transaction `transactionIndex`; a call that reverts has an `error` in place of its `value`.',
    params: [required('bundles', arrayOf(bundle, TRACED_CALLS)), optional('context', place), optional('stateOverrides', stateOverrides)],
    result: listOf(listOf(OUTCOME)),
    errors: { [-32001]: 'there is no such block', 4444: 'the state of that block is no longer kept' },
    example: {
      params: [[{ transactions: [{ from: ALICE, to: BOB, value: '0x1' }] }], { blockNumber: 'latest' }],
      result: [[{ value: '0x' }]],
    },
    needs: ({ view, compat }, [bundles, { blockNumber: ref, transactionIndex = -1 } = AFTER_LATEST]) => {
      const block = requireStateBlock(view, compat, ref)
      const blocks = bundles.map(({ blockOverride }) => blockOverride)
      const calls = needsOfCalls(view, block, ref, blocks)
      return transactionIndex === -1 ? calls : joinedNeeds([calls, needsOfRun(view, block)])
    },
    compute: (
      { view, compat, deadline: deadlineOf },
      [bundles, { blockNumber: ref = LATEST as BlockRef, transactionIndex = -1 } = AFTER_LATEST, overrides],
    ) => {
      const block = requireStateBlock(view, compat, ref)
      const deadline = deadlineOf(CALL_TIME_MS)
      const run = (base: CallEnvironment) => {
        const { state, precompiles } = overriddenState(base.state, overrides, base.context.rules)
        const environment = { ...base, state, precompiles }
        return bundles.map(({ transactions, blockOverride }) =>
          transactions.map((request) => {
            assertChain(request.chainId, view.config, 'argument 0 (bundles)')
            return withCall(
              environmentFor(environment, request, compat),
              request,
              { block: blockOverride },
              (call) => {
                const { outcome, output } = call.commit()
                state.apply(call.writes())
                const data = Hex.fromBytes(output)
                return outcome.kind === 'success' ? { value: data } : { error: failureError(outcome, data, compat).message }
              },
              { deadline },
            )
          }),
        )
      }
      if (transactionIndex === -1 || transactionIndex >= block.transactions.length) return run(environmentAt(view, block, ref))
      return withRun(view, block, deadline, (before) => {
        before.skipTo(transactionIndex)
        return run({ state: before.state(), context: view.context(block) })
      })
    },
  }),
]

/** A whole number from 0, or -1. */
function integerOrEnd(): typeof integer {
  return {
    json: { type: 'integer', minimum: -1 },
    parse: (value, path) => (value === -1 ? -1 : integer.parse(value, path)),
  }
}
