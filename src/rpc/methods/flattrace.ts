import type { View, ViewScope } from '../../chain/index.ts'
import type { Address, Block, Hex, Transaction } from '../../eth/index.ts'
import {
  InvalidTransaction,
  StateOverlay,
  World,
  callTrace,
  executeTransaction,
  flatCallTrace,
  muxTrace,
  stateDiffTrace,
} from '../../evm/index.ts'
import type { Deadline, StateDiff, TraceBudget, TraceFactory } from '../../evm/index.ts'
import { CODE, RpcError, invalidParams } from '../../jsonrpc/index.ts'
import { BYTES, HASH, INTEGER, NULL, listOf, orNull, record } from '../../jsonrpc/jsonschema.ts'
import {
  LATEST,
  address,
  arrayOf,
  blockNumber,
  blockRef,
  hash,
  integer,
  maybe,
  mismatch,
  object,
  oneOf,
  oneOrMany,
  quantityNumber,
  refused,
} from '../../jsonrpc/schema.ts'
import type { BlockRef, Infer } from '../../jsonrpc/schema.ts'
import { blockAt } from '../blocks.ts'
import { environmentAt, environmentFor, needsOfCalls, withCall } from '../execution/calls.ts'
import { computed } from '../execution/computed.ts'
import { assertChain, callRequest } from '../execution/request.ts'
import type { CallRequest } from '../execution/request.ts'
import {
  joinedNeeds,
  locateIncluded,
  needsOfRun,
  requireCallBlock,
  requireTracedBlock,
  withRun,
  withinBudget,
} from '../execution/tracing.ts'
import type { ComputeDeps } from '../execution/workerport.ts'
import { TRACED_ADDRESSES, TRACED_BLOCKS, TRACED_CALLS, TRACE_BYTES, TRACE_TIME_MS } from '../limits.ts'
import { optional, required } from '../method.ts'
import type { Method, Schema } from '../method.ts'
import { rawTransaction } from '../rawtransaction.ts'
import { JsonText } from '../texts.ts'
import { ALICE, BLOCK_HASH, BOB, RAW_TRANSACTION, TRANSACTION_HASH } from './examples.ts'

// OpenEthereum's `trace_` methods, as anvil and reth have them: flat lists of calls, and replays with state differences.

/** An entry of a flat list, with its place if the transaction is in a block. */
interface FlatEntry {
  readonly action: { readonly from?: Address; readonly to?: Address; readonly address?: Address; readonly refundAddress?: Address }
  readonly result?: { readonly address?: Address }
  readonly traceAddress: readonly number[]
}

const OBJECT = { type: 'object' }
const KINDS = ['trace', 'stateDiff', 'vmTrace'] as const
type Kind = (typeof KINDS)[number]

/** vmTrace has no implementation here: debug_traceTransaction lists the steps in geth's form. */
const kinds: Schema<readonly Kind[]> = {
  json: { type: 'array', items: { enum: ['trace', 'stateDiff'] } },
  parse: (value, path) => {
    const parsed = arrayOf(oneOf(...KINDS), KINDS.length).parse(value, path)
    if (parsed.includes('vmTrace'))
      throw refused(path, 'vmTrace is not computed; debug_traceTransaction and debug_traceCall list the steps')
    return parsed
  },
}

const callAndKinds: Schema<{ readonly call: CallRequest; readonly kinds: readonly Kind[] }> = {
  json: { type: 'array', prefixItems: [callRequest.json, kinds.json] },
  parse: (value, path) => {
    if (!Array.isArray(value) || value.length !== 2) throw mismatch(path, 'a call and a list of trace types', value)
    return { call: callRequest.parse(value[0], `${path}[0]`), kinds: kinds.parse(value[1], `${path}[1]`) }
  },
}

const addresses = oneOrMany(address, TRACED_ADDRESSES)

const filter = object({
  fromBlock: maybe(blockNumber),
  toBlock: maybe(blockNumber),
  fromAddress: maybe(addresses),
  toAddress: maybe(addresses),
  mode: maybe(oneOf('union', 'intersection')),
  after: maybe(integer),
  count: maybe(integer),
})

const ENTRY = record(
  'flat trace',
  { action: OBJECT, subtraces: INTEGER, traceAddress: listOf(INTEGER), type: { enum: ['call', 'create', 'suicide'] } },
  {
    result: OBJECT,
    error: { type: 'string' },
    blockHash: orNull(HASH),
    blockNumber: INTEGER,
    transactionHash: orNull(HASH),
    transactionPosition: INTEGER,
  },
)
const REPLAY = record(
  'replay',
  { output: BYTES, stateDiff: orNull(OBJECT), trace: listOf(ENTRY), vmTrace: NULL },
  { transactionHash: HASH },
)

const ERRORS = {
  [CODE.server]: 'there is no such block or transaction, or the execution took too long',
  [CODE.responseTooLarge]: `the traces are larger than ${TRACE_BYTES} bytes`,
  [CODE.pruned]: 'the state before it is no longer kept',
}

const ACTION = { callType: 'call', from: ALICE, gas: '0x5208', input: '0x', to: BOB, value: '0x1' }
const EXAMPLE_ENTRY = {
  action: ACTION,
  blockHash: BLOCK_HASH,
  blockNumber: 1,
  result: { gasUsed: '0x0', output: '0x' },
  subtraces: 0,
  traceAddress: [],
  transactionHash: TRANSACTION_HASH,
  transactionPosition: 1,
  type: 'call',
}
const { blockHash: _hash, blockNumber: _number, transactionHash: _tx, transactionPosition: _position, ...UNPLACED_ENTRY } = EXAMPLE_ENTRY
const EXAMPLE_REPLAY = { output: '0x', stateDiff: null, trace: [UNPLACED_ENTRY], vmTrace: null }

export const FLAT_TRACE_METHODS: readonly Method[] = [
  computed({
    name: 'trace_transaction',
    doc: 'The calls of a transaction as a flat list; empty for an unknown one.',
    params: [required('hash', hash)],
    result: listOf(ENTRY),
    errors: ERRORS,
    example: { params: [TRANSACTION_HASH], result: [EXAMPLE_ENTRY] },
    needs: ({ view }, [transactionHash]) => needsOfRun(view, locateIncluded(view, transactionHash).block),
    compute: (deps, [transactionHash]) => {
      const place = deps.view.locate(transactionHash)
      if (place === null) return []
      return timed(
        deps,
        (budget, deadline) => new JsonText(tracesOf(deps.view, place.block, [place.index], FLAT, budget, deadline)[0] ?? '[]'),
      )
    },
  }),
  computed({
    name: 'trace_get',
    doc: 'The call of a transaction at a trace address, null if there is none.',
    params: [required('hash', hash), required('traceAddress', arrayOf(quantityNumber, 1_024))],
    result: orNull(ENTRY),
    errors: ERRORS,
    example: { params: [TRANSACTION_HASH, []], result: EXAMPLE_ENTRY },
    needs: ({ view }, [transactionHash]) => needsOfRun(view, locateIncluded(view, transactionHash).block),
    compute: (deps, [transactionHash, wanted]) => {
      const place = deps.view.locate(transactionHash)
      if (place === null) return null
      const entries = timed(deps, (budget, deadline) => flatEntries(deps.view, place.block, [place.index], budget, deadline))
      return entries.find(({ traceAddress }) => String(traceAddress) === String(wanted)) ?? null
    },
  }),
  computed({
    name: 'trace_block',
    doc: 'The calls of all transactions of a block as a flat list.',
    params: [required('block', blockRef)],
    result: listOf(ENTRY),
    errors: ERRORS,
    example: { params: ['0x1'], result: [EXAMPLE_ENTRY] },
    needs: ({ view }, [ref]) => needsOfRun(view, requireTracedBlock(view, ref)),
    compute: (deps, [ref]) => {
      const block = requireTracedBlock(deps.view, ref)
      if (block.header.number === deps.view.firstNumber) return []
      return timed(deps, (budget, deadline) => {
        const lists = tracesOf(deps.view, block, indicesOf(block), FLAT, budget, deadline)
        return new JsonText(`[${lists.map((list) => list.slice(1, -1)).join(',')}]`)
      })
    },
  }),
  computed({
    name: 'trace_filter',
    doc: `The calls in up to ${TRACED_BLOCKS} blocks, by default those of the whole chain (of a fork: after its block), that come from or go to one of some addresses; mode "union" (default): one of both lists matches, "intersection": both. \`after\` skips matches, \`count\` limits them.`,
    params: [required('filter', filter)],
    result: listOf(ENTRY),
    errors: ERRORS,
    example: { params: [{ fromBlock: '0x1', toBlock: '0x1', toAddress: [BOB] }], result: [EXAMPLE_ENTRY] },
    needs: ({ view }, [wanted]) => joinedNeeds(blocksOf(view, wanted).map((block) => needsOfRun(view, block))),
    compute: (deps, [wanted]) => filtered(deps, wanted),
  }),
  computed({
    name: 'trace_replayTransaction',
    doc: 'Executes a transaction again and returns its output, its calls (`trace`) and what it changed (`stateDiff`).',
    params: [required('hash', hash), required('types', kinds)],
    result: REPLAY,
    errors: ERRORS,
    example: { params: [TRANSACTION_HASH, ['trace']], result: EXAMPLE_REPLAY },
    needs: ({ view }, [transactionHash]) => needsOfRun(view, locateIncluded(view, transactionHash).block),
    compute: (deps, [transactionHash, types]) => {
      const { block, index } = locateIncluded(deps.view, transactionHash)
      return timed(deps, (budget, deadline) => replayOf(tracesOf(deps.view, block, [index], replayFactory(types), budget, deadline)[0]))
    },
  }),
  computed({
    name: 'trace_replayBlockTransactions',
    doc: 'As trace_replayTransaction for each transaction of a block.',
    params: [required('block', blockRef), required('types', kinds)],
    result: listOf(REPLAY),
    errors: ERRORS,
    example: { params: ['0x1', ['trace']], result: [{ ...EXAMPLE_REPLAY, transactionHash: TRANSACTION_HASH }] },
    needs: ({ view }, [ref]) => needsOfRun(view, requireTracedBlock(view, ref)),
    compute: (deps, [ref, types]) => {
      const block = requireTracedBlock(deps.view, ref)
      if (block.header.number === deps.view.firstNumber) return []
      return timed(deps, (budget, deadline) =>
        tracesOf(deps.view, block, indicesOf(block), replayFactory(types), budget, deadline).map((text, i) => ({
          ...replayOf(text),
          transactionHash: block.transactions[i]?.hash,
        })),
      )
    },
  }),
  computed({
    name: 'trace_call',
    doc: 'Executes a message call on the state after a block and returns its output, its calls (`trace`) and what it would change (`stateDiff`).',
    params: [required('call', callRequest), required('types', kinds), optional('block', blockRef)],
    result: REPLAY,
    errors: ERRORS,
    example: { params: [{ from: ALICE, to: BOB, value: '0x1', gas: '0x5208' }, ['trace'], 'latest'], result: EXAMPLE_REPLAY },
    needs: (deps, [, , ref]) => needsOfState(deps, ref),
    compute: (deps, [call, types, ref]) => replayedCalls(deps, [{ call, kinds: types }], ref)[0],
  }),
  computed({
    name: 'trace_callMany',
    doc: 'As trace_call for several calls, each on the state that those before it leave.',
    params: [required('calls', arrayOf(callAndKinds, TRACED_CALLS)), optional('block', blockRef)],
    result: listOf(REPLAY),
    errors: ERRORS,
    example: { params: [[[{ from: ALICE, to: BOB, value: '0x1', gas: '0x5208' }, ['trace']]], 'latest'], result: [EXAMPLE_REPLAY] },
    needs: (deps, [, ref]) => needsOfState(deps, ref),
    compute: (deps, [calls, ref]) => replayedCalls(deps, calls, ref),
  }),
  computed({
    name: 'trace_rawTransaction',
    doc: 'As trace_call for a signed transaction, which is not sent: a block would execute it in the same way, so its nonce, prices and balance have to fit the state after the block.',
    params: [required('transaction', rawTransaction), required('types', kinds), optional('block', blockRef)],
    result: REPLAY,
    errors: ERRORS,
    example: { params: [RAW_TRANSACTION, ['trace']], result: EXAMPLE_REPLAY },
    needs: (deps, [, , ref]) => needsOfState(deps, ref),
    compute: (deps, [tx, types, ref]) => executedTransaction(deps, tx, types, ref),
  }),
]

// --- blocks -------------------------------------------------------------------------------------------------------------

/** OpenEthereum's errors and gas; geth's flatCallTracer has the gas of the transaction in the outermost call. */
const FLAT: TraceFactory = (start) => flatCallTrace(start, { convertParityErrors: true, includePrecompiles: true, isParity: true })

/** The traces of the transactions at these indices of a block, ascending, as JSON. */
function tracesOf(
  view: View,
  block: Block,
  indices: readonly number[],
  make: TraceFactory,
  budget: TraceBudget,
  deadline: Deadline,
): readonly string[] {
  return withRun(view, block, deadline, (run) =>
    indices.map((index) => {
      run.skipTo(index)
      return run.trace(make, budget)
    }),
  )
}

function flatEntries(view: View, block: Block, indices: readonly number[], budget: TraceBudget, deadline: Deadline): readonly FlatEntry[] {
  return tracesOf(view, block, indices, FLAT, budget, deadline).flatMap((text) => JSON.parse(text) as readonly FlatEntry[]) // as flatCallTracer writes it
}

function indicesOf({ transactions }: Block): readonly number[] {
  return transactions.map((_, i) => i)
}

function timed<T>({ deadline }: ComputeDeps, work: (budget: TraceBudget, deadline: Deadline) => T): T {
  return withinBudget((budget) => work(budget, deadline(TRACE_TIME_MS)))
}

// --- filters ------------------------------------------------------------------------------------------------------------

type Filter = Infer<typeof filter>

/**
 * By default all blocks of this chain, on a fork those after its block, as in erigon and anvil; with `pending` also the block under construction.
 * Throws RpcError -32602 for too many blocks.
 */
function blocksOf(view: View, { fromBlock, toBlock = LATEST }: Filter): readonly Block[] {
  const numberOf = (ref: BlockRef) => requireTracedBlock(view, ref).header.number
  const last = numberOf(toBlock)
  const first = fromBlock === undefined ? Math.min(view.firstNumber + 1, last) : numberOf(fromBlock)
  if (first > last) throw invalidParams(`invalid argument 0 (filter): fromBlock ${first} is after toBlock ${last}`)
  if (last - first >= TRACED_BLOCKS)
    throw invalidParams(
      `invalid argument 0 (filter): ${last - first + 1} blocks, at most ${TRACED_BLOCKS} are traced at once; set fromBlock and toBlock`,
    )
  const numbers = Array.from({ length: last - first + 1 }, (_, i) => first + i).filter((number) => number > view.firstNumber)
  return numbers.map((number) => (number > view.head.header.number ? view.pendingWithPool : blockAt(view, number)))
}

function filtered(deps: ComputeDeps, wanted: Filter): readonly FlatEntry[] {
  const { after = 0, count = Infinity } = wanted
  const matches = matcherOf(wanted)
  return timed(deps, (budget, deadline) => {
    const entries: FlatEntry[] = []
    let skipped = 0
    for (const block of blocksOf(deps.view, wanted)) {
      for (const entry of flatEntries(deps.view, block, indicesOf(block), budget, deadline)) {
        if (!matches(entry)) continue
        if (skipped++ < after) continue
        if (entries.length >= count) return entries
        entries.push(entry)
      }
    }
    return entries
  })
}

/** A list that is absent or empty matches everything. */
function matcherOf({ fromAddress = [], toAddress = [], mode = 'union' }: Filter): (entry: FlatEntry) => boolean {
  const [senders, receivers] = [new Set(fromAddress), new Set(toAddress)]
  const isFrom = ({ action }: FlatEntry) => isIn(senders, action.from ?? action.address)
  const isTo = ({ action, result }: FlatEntry) => isIn(receivers, action.to ?? result?.address ?? action.refundAddress)
  if (senders.size === 0) return receivers.size === 0 ? () => true : isTo
  if (receivers.size === 0) return isFrom
  return mode === 'union' ? (entry) => isFrom(entry) || isTo(entry) : (entry) => isFrom(entry) && isTo(entry)
}

function isIn(wanted: ReadonlySet<Address>, found: Address | undefined): boolean {
  return found !== undefined && wanted.has(found)
}

// --- replays ------------------------------------------------------------------------------------------------------------

interface Replay {
  readonly output: Hex
  readonly stateDiff: StateDiff | null
  readonly trace: readonly unknown[]
  readonly vmTrace: null
}

/** One execution under all tracers that the types need. */
function replayFactory(types: readonly Kind[]): TraceFactory {
  return (start) =>
    muxTrace([
      ['callTracer', callTrace(start, { onlyTopCall: true, withLog: false })],
      ...(types.includes('trace') ? [['flatCallTracer', FLAT(start)] as const] : []),
      ...(types.includes('stateDiff') ? [['stateDiff', stateDiffTrace(start)] as const] : []),
    ])
}

interface MuxResult {
  readonly callTracer: { readonly output?: Hex }
  readonly flatCallTracer?: readonly (FlatEntry & Readonly<Record<string, unknown>>)[]
  readonly stateDiff?: StateDiff
}

/** `text`: the result of `replayFactory`. */
function replayOf(text: string | undefined): Replay {
  const { callTracer, flatCallTracer = [], stateDiff = null } = JSON.parse(text ?? '{}') as MuxResult // as muxTracer writes it
  return {
    output: callTracer.output ?? '0x',
    stateDiff,
    trace: flatCallTracer.map(({ action, result, error, subtraces, traceAddress, type }) => ({
      action,
      ...(error === undefined ? {} : { error }),
      ...(result === undefined ? {} : { result }),
      subtraces,
      traceAddress,
      type,
    })),
    vmTrace: null,
  }
}

function needsOfState({ view, compat }: ComputeDeps, ref: BlockRef = LATEST): ViewScope {
  return needsOfCalls(view, requireCallBlock(view, compat, ref), ref)
}

/** Each call runs on the state that those before it leave. */
function replayedCalls(
  deps: ComputeDeps,
  calls: readonly { readonly call: CallRequest; readonly kinds: readonly Kind[] }[],
  ref: BlockRef = LATEST,
): readonly Replay[] {
  const { view, compat } = deps
  const environment = environmentAt(view, requireCallBlock(view, compat, ref), ref)
  return timed(deps, (budget, deadline) => {
    const state = new StateOverlay(environment.state)
    return calls.map(({ call: request, kinds: types }) => {
      assertChain(request.chainId, view.config, 'argument 0 (call)')
      const text = withCall(
        environmentFor({ ...environment, state }, request, compat),
        request,
        {},
        (call) => {
          const traced = call.trace(replayFactory(types), budget, compat)
          state.apply(call.writes())
          return traced
        },
        { deadline, traced: true },
      )
      return replayOf(text)
    })
  })
}

/** Throws RpcError for a transaction that no block could include there. */
function executedTransaction(deps: ComputeDeps, tx: Transaction, types: readonly Kind[], ref: BlockRef = LATEST): Replay {
  const { view, compat } = deps
  const { state, context } = environmentAt(view, requireCallBlock(view, compat, ref), ref)
  return timed(deps, (budget, deadline) => {
    const world = new World(state, { traced: true })
    const { tracer, json } = replayFactory(types)({ message: tx, context, stateBefore: state, state: world, location: null, budget })
    try {
      return replayOf(json(executeTransaction(tx, context, world, { tracer, deadline })))
    } catch (error) {
      if (error instanceof InvalidTransaction) throw new RpcError(CODE.server, `tracing failed: ${error.message}`)
      throw error
    } finally {
      world.release()
    }
  })
}
