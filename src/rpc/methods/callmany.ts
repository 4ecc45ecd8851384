import type { View, ViewScope } from '../../chain/index.ts'
import { Hex } from '../../eth/index.ts'
import type { Block } from '../../eth/index.ts'
import type { Deadline } from '../../evm/index.ts'
import { CODE, RpcError } from '../../jsonrpc/index.ts'
import { BYTES, STRING, listOf, record } from '../../jsonrpc/jsonschema.ts'
import { LATEST, arrayOf, blockRef, integer, maybe, object } from '../../jsonrpc/schema.ts'
import type { Infer } from '../../jsonrpc/schema.ts'
import { requireStateBlock } from '../blocks.ts'
import { environmentAt, environmentFor, needsOfCalls, withCall } from '../execution/calls.ts'
import type { Call, CallEnvironment } from '../execution/calls.ts'
import { computed } from '../execution/computed.ts'
import { blockOverrides, overriddenState, stateOverrides } from '../execution/overrides.ts'
import type { StateOverrides } from '../execution/overrides.ts'
import { assertChain, callRequest } from '../execution/request.ts'
import { failureError } from '../execution/revert.ts'
import { joinedNeeds, needsOfRun, withRun } from '../execution/tracing.ts'
import type { ComputeDeps } from '../execution/workerport.ts'
import { CALL_TIME_MS, TRACE_BYTES, TRACED_CALLS } from '../limits.ts'
import { optional, required } from '../method.ts'
import type { Method } from '../method.ts'
import { ALICE, BOB } from './examples.ts'

const bundle = object({ transactions: arrayOf(callRequest, TRACED_CALLS), blockOverride: maybe(blockOverrides) })

/** Bundles of calls, in erigon's and reth's form. */
export const bundles = arrayOf(bundle, TRACED_CALLS)

/** erigon's and reth's form. `transactionIndex` -1, the default: after the block. */
export const callsPlace = object({ blockNumber: maybe(blockRef), transactionIndex: maybe(integerOrEnd()) })

type Bundles = Infer<typeof bundles>
/** Erigon requires the context, reth does not. */
type Place = Infer<typeof callsPlace> | undefined

/** The result of a call: `value`, or `error`. */
const OUTCOME = record('outcome', {}, { value: BYTES, error: STRING })

export const CALL_MANY_METHODS: readonly Method[] = [
  computed({
    name: 'eth_callMany',
    doc: 'Executes bundles of calls, each on the state that those before it leave, after a block or before its transaction `transactionIndex`; a call that reverts has an `error` in place of its `value`.',
    params: [required('bundles', bundles), optional('context', callsPlace), optional('stateOverrides', stateOverrides)],
    result: listOf(listOf(OUTCOME)),
    errors: {
      [-32001]: 'there is no such block',
      [CODE.responseTooLarge]: `the values are larger than ${TRACE_BYTES} bytes`,
      4444: 'the state of that block is no longer kept',
    },
    example: {
      params: [[{ transactions: [{ from: ALICE, to: BOB, value: '0x1' }] }], { blockNumber: 'latest' }],
      result: [[{ value: '0x' }]],
    },
    needs: ({ view, compat }, [given, place]) => needsOfBundles(view, requireStateBlock(view, compat, place?.blockNumber), given, place),
    compute: ({ view, compat, deadline }, [given, place, overrides]) => {
      const size = new OutputSize()
      return runBundles(
        { view, compat, deadline: deadline(CALL_TIME_MS) },
        { block: requireStateBlock(view, compat, place?.blockNumber), bundles: given, place, stateOverrides: overrides },
        (call) => {
          const { outcome, output } = call.commit()
          size.take(output.length)
          const data = Hex.fromBytes(output)
          return outcome.kind === 'success' ? { value: data } : { error: failureError(outcome, data, compat).message }
        },
      )
    },
  }),
]

/** Size of the values of one answer, in hex. */
class OutputSize {
  #bytes = 0

  /** Throws RpcError -32003 if the answer becomes too large. */
  take(outputBytes: number): void {
    this.#bytes += 2 * outputBytes
    if (this.#bytes > TRACE_BYTES)
      throw new RpcError(CODE.responseTooLarge, `the values are larger than ${TRACE_BYTES} bytes: send fewer calls in one request`)
  }
}

/** What the bundles read on the state of `block`. */
export function needsOfBundles(view: View, block: Block, given: Bundles, place: Place): ViewScope {
  const calls = needsOfCalls(
    view,
    block,
    place?.blockNumber ?? LATEST,
    given.map(({ blockOverride }) => blockOverride),
  )
  return (place?.transactionIndex ?? -1) === -1 ? calls : joinedNeeds([calls, needsOfRun(view, block)])
}

/** Bundles, the block of `place`, and the state overrides of all of them. */
interface BundleRun {
  readonly block: Block
  readonly bundles: Bundles
  readonly place: Place
  readonly stateOverrides: StateOverrides | undefined
  /** the calls are executed for a tracer; false by default */
  readonly traced?: boolean
}

/** Passes the calls to `work` in order, each on the state that those before it leave, and returns its results by bundle. */
export function runBundles<T>(
  { view, compat, deadline }: Pick<ComputeDeps, 'view' | 'compat'> & { readonly deadline: Deadline },
  { block, bundles: given, place, stateOverrides: overrides, traced = false }: BundleRun,
  work: (call: Call) => T,
): T[][] {
  const run = (base: CallEnvironment) => {
    const { state, precompiles } = overriddenState(base.state, overrides, base.context.rules)
    const environment = { ...base, state, precompiles }
    return given.map(({ transactions, blockOverride }) =>
      transactions.map((request) => {
        assertChain(request.chainId, view.config, 'argument 0 (bundles)')
        return withCall(
          environmentFor(environment, request, compat),
          request,
          { block: blockOverride },
          (call) => {
            const result = work(call)
            state.apply(call.writes())
            return result
          },
          { deadline, traced },
        )
      }),
    )
  }
  const { blockNumber: ref = LATEST, transactionIndex = -1 } = place ?? {}
  if (transactionIndex === -1 || transactionIndex >= block.transactions.length) return run(environmentAt(view, block, ref))
  return withRun(view, block, deadline, (before) => {
    before.skipTo(transactionIndex)
    return run({ state: before.state(), context: view.context(block) })
  })
}

/** A whole number from 0, or -1. */
function integerOrEnd(): typeof integer {
  return {
    json: { type: 'integer', minimum: -1 },
    parse: (value, path) => (value === -1 ? -1 : integer.parse(value, path)),
  }
}
