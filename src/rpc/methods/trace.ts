import type { ViewScope, View } from '../../chain/index.ts'
import { DecodeError, Hash, Rlp } from '../../eth/index.ts'
import type { Block } from '../../eth/index.ts'
import type { Deadline, TraceBudget } from '../../evm/index.ts'
import { environmentAt, environmentFor, needsOfCalls, withCall } from '../execution/calls.ts'
import type { CallEnvironment } from '../execution/calls.ts'
import { computed } from '../execution/computed.ts'
import { CODE, RpcError } from '../../jsonrpc/index.ts'
import { TRACE_BYTES, TRACE_TIME_MS } from '../limits.ts'
import { optional, required } from '../method.ts'
import type { JsonSchema, Method, Param, Schema } from '../method.ts'
import { blockOverrides, stateOverrides } from '../execution/overrides.ts'
import type { ComputeDeps } from '../execution/workerport.ts'
import { assertChain, callRequest } from '../execution/request.ts'
import type { CallRequest } from '../execution/request.ts'
import { HASH, listOf, record } from '../../jsonrpc/jsonschema.ts'
import { blockHash, blockNumber, blockRef, bytes, hash, maybe, mismatch, object, quantityNumber } from '../../jsonrpc/schema.ts'
import type { BlockRef, Infer } from '../../jsonrpc/schema.ts'
import { JsonText } from '../texts.ts'
import { TRACE_OPTION_FIELDS, traceFactory, traceOptions } from '../execution/tracers.ts'
import type { TraceOptions } from '../execution/tracers.ts'
import {
  joinedNeeds,
  locateIncluded,
  needsOfRun,
  requireCallBlock,
  requireTracedBlock,
  traceAt,
  withinBudget,
  withRun,
} from '../execution/tracing.ts'
import { bundles, callsPlace, needsOfBundles, runBundles } from './callmany.ts'
import { ALICE, BLOCK_HASH, BOB, TRANSACTION_HASH } from './examples.ts'

export const traceCallOptions = object({
  ...TRACE_OPTION_FIELDS,
  stateOverrides: maybe(stateOverrides),
  blockOverrides: maybe(blockOverrides),
  txIndex: maybe(quantityNumber),
})

/** As reth's: the context has the index of the transaction, and each bundle its block overrides. */
export const traceManyCallsOptions = object({ ...TRACE_OPTION_FIELDS, stateOverrides: maybe(stateOverrides) })

type CallOptions = Infer<typeof traceCallOptions>

const TRACE: JsonSchema = { title: 'the result of the tracer, by default { gas, failed, returnValue, structLogs }' }

const ERRORS = {
  [CODE.server]: 'there is no such block or transaction, it is the genesis, or the execution took too long (option `timeout`)',
  [CODE.responseTooLarge]: `the trace is larger than ${TRACE_BYTES} bytes`,
  [CODE.pruned]: 'the state before it is no longer kept',
}

const TRANSFER = { gas: 21_000, failed: false, returnValue: '0x', structLogs: [] }
const CALL = { from: ALICE, gas: '0x5208', gasUsed: '0x5208', to: BOB, input: '0x', value: '0x1', type: 'CALL' }

/** The RLP of a block of this chain, found by the hash of its header. */
const encodedBlock: Schema<BlockRef> = {
  json: { title: 'RLP of a block', type: 'string', pattern: '^0x([0-9a-fA-F]{2})+$' },
  parse: (value, path) => {
    const rlp = bytes.parse(value, path)
    try {
      const block = Rlp.decode(rlp)
      const header = block instanceof Uint8Array ? undefined : block[0]
      if (header !== undefined && !(header instanceof Uint8Array))
        return { kind: 'hash', hash: Hash.keccak(Rlp.encode(header)), requireCanonical: false }
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
    }
    throw mismatch(path, 'the RLP of a block', value)
  },
}

/** debug_trace… with geth's tracers: callTracer, flatCallTracer, prestateTracer, 4byteTracer, erc7562Tracer, muxTracer, noopTracer and the struct logger. */
export const DEBUG_TRACE_METHODS: readonly Method[] = [
  computed({
    name: 'debug_traceTransaction',
    doc: 'Executes a transaction again at its place, sealed or pre-confirmed, and returns the result of a tracer, by default the struct logger.',
    params: [required('hash', hash), optional('options', traceOptions)],
    result: TRACE,
    errors: ERRORS,
    example: { params: [TRANSACTION_HASH], result: TRANSFER },
    needs: ({ view }, [transactionHash]) => needsOfRun(view, locateIncluded(view, transactionHash).block),
    compute: (deps, [transactionHash, options]) => {
      const place = locateIncluded(deps.view, transactionHash)
      return traced(deps, options, (budget, deadline) => traceAt(deps.view, place, traceFactory(options, PATH), budget, deadline))
    },
  }),
  tracedBlocks('debug_traceBlockByNumber', required('block', blockNumber), '0x1'),
  tracedBlocks('debug_traceBlockByHash', required('hash', blockHash), BLOCK_HASH),
  tracedBlocks('debug_traceBlock', required('block', encodedBlock), '0xc1c0'),
  computed({
    name: 'debug_traceCall',
    doc: 'Executes a message call on the state after a block, or before its transaction `txIndex`, and returns the result of a tracer; nothing is changed.',
    params: [required('call', callRequest), optional('block', blockRef), optional('options', traceCallOptions)],
    result: TRACE,
    errors: ERRORS,
    example: { params: [{ from: ALICE, to: BOB, value: '0x1', gas: '0x5208' }, 'latest', { tracer: 'callTracer' }], result: CALL },
    needs: ({ view, compat }, [, ref, options]) => needsOfCall(view, requireCallBlock(view, compat, ref), ref, options),
    compute: (deps, [request, ref, options]) => tracedCall(deps, request, ref, options),
  }),
  computed({
    name: 'debug_traceCallMany',
    doc: 'Executes bundles of calls as eth_callMany, each on the state that those before it leave, and returns what a tracer recorded of each, by bundle; nothing is changed.',
    params: [required('bundles', bundles), optional('context', callsPlace), optional('options', traceManyCallsOptions)],
    result: listOf(listOf(TRACE)),
    errors: ERRORS,
    example: {
      params: [
        [{ transactions: [{ from: ALICE, to: BOB, value: '0x1', gas: '0x5208' }] }],
        { blockNumber: 'latest' },
        { tracer: 'callTracer' },
      ],
      result: [[CALL]],
    },
    needs: ({ view, compat }, [given, place]) => {
      const block = requireCallBlock(view, compat, place?.blockNumber)
      return needsOfBundles(view, block, given, place)
    },
    compute: (deps, [given, place, options]) => {
      const { view, compat } = deps
      const block = requireCallBlock(view, compat, place?.blockNumber)
      const make = traceFactory(options, 'argument 2 (options)')
      const run = { block, bundles: given, place, stateOverrides: options?.stateOverrides, traced: true }
      return traced(deps, options, (budget, deadline) => {
        const traces = runBundles({ view, compat, deadline }, run, (call) => call.trace(make, budget, compat))
        return `[${traces.map((each) => `[${each.join(',')}]`).join(',')}]`
      })
    },
  }),
]

/** The path of the options, in all methods but debug_traceCall. */
const PATH = 'argument 1 (options)'

function tracedBlocks(name: string, param: Param<BlockRef>, example: string): Method {
  return computed({
    name,
    doc: 'Executes a block again and returns what a tracer recorded of each of its transactions.',
    params: [param, optional('options', traceOptions)],
    result: listOf(record('traced transaction', { txHash: HASH, result: TRACE })),
    errors: ERRORS,
    example: { params: [example, { tracer: 'callTracer' }], result: [{ txHash: TRANSACTION_HASH, result: CALL }] },
    needs: ({ view }, [ref]) => needsOfRun(view, requireTracedBlock(view, ref)),
    compute: (deps, [ref, options]) => tracedBlock(deps, ref, options),
  })
}

function tracedBlock(deps: ComputeDeps, ref: BlockRef, options: TraceOptions | undefined): JsonText {
  const { view, compat } = deps
  const block = requireTracedBlock(view, ref)
  if (block.header.number === view.firstNumber) {
    if (compat.genesisTrace === 'refused') throw new RpcError(CODE.server, 'genesis is not traceable')
    return new JsonText('[]')
  }
  const make = traceFactory(options, PATH)
  return traced(deps, options, (budget, deadline) =>
    withRun(view, block, deadline, (run) => {
      const traces = block.transactions.map((tx) => `{"txHash":"${tx.hash}","result":${run.trace(make, budget)}}`)
      return `[${traces.join(',')}]`
    }),
  )
}

function tracedCall(deps: ComputeDeps, request: CallRequest, ref?: BlockRef, options?: CallOptions): JsonText {
  const { view, compat } = deps
  const block = requireCallBlock(view, compat, ref)
  assertChain(request.chainId, view.config, 'argument 0 (call)')
  const make = traceFactory(options, 'argument 2 (options)')
  const overrides = { state: options?.stateOverrides, block: options?.blockOverrides }
  return traced(deps, options, (budget, deadline) =>
    inEnvironment(view, { block, ref, txIndex: options?.txIndex }, deadline, (environment) =>
      withCall(environmentFor(environment, request, compat), request, overrides, (call) => call.trace(make, budget, compat), {
        deadline,
        traced: true,
      }),
    ),
  )
}

interface TracedPlace {
  readonly block: Block
  /** the parameter that selected it */
  readonly ref: BlockRef | undefined
  readonly txIndex: number | undefined
}

/** Runs `work` on the state after the block or, with `txIndex`, before that transaction. */
function inEnvironment<T>(
  view: View,
  { block, ref, txIndex }: TracedPlace,
  deadline: Deadline,
  work: (environment: CallEnvironment) => T,
): T {
  if (txIndex === undefined) return work(environmentAt(view, block, ref))
  if (txIndex >= block.transactions.length) {
    throw new RpcError(CODE.server, `transaction index ${txIndex} out of range for block ${block.hash}`)
  }
  return withRun(view, block, deadline, (run) => {
    run.skipTo(txIndex)
    return work({ state: run.state(), context: view.context(block) })
  })
}

function needsOfCall(view: View, block: Block, ref: BlockRef | undefined, options: CallOptions | undefined): ViewScope {
  const call = needsOfCalls(view, block, ref, [options?.blockOverrides])
  return options?.txIndex === undefined ? call : joinedNeeds([call, needsOfRun(view, block)])
}

/** Runs `work` with the budget of bytes and time of one answer. */
function traced(
  { deadline }: ComputeDeps,
  options: TraceOptions | undefined,
  work: (budget: TraceBudget, deadline: Deadline) => string,
): JsonText {
  return withinBudget((budget) => new JsonText(work(budget, deadline(options?.timeout ?? TRACE_TIME_MS))))
}
