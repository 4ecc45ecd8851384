import type { ViewScope } from '../../chain/index.ts'
import type { Compat } from '../../compat.ts'
import { Hex } from '../../eth/index.ts'
import type { AccessListItem, Address, Hash } from '../../eth/index.ts'
import type { Executed, OnCallResult } from '../../evm/index.ts'
import { requireStateBlock } from '../blocks.ts'
import { runCall, environmentAt, environmentFor, needsOfCalls, withCall } from '../execution/calls.ts'
import type { Call, Overrides } from '../execution/calls.ts'
import { computed } from '../execution/computed.ts'
import { CODE, RpcError, invalidParams } from '../../jsonrpc/index.ts'
import { accessListJson } from '../json.ts'
import { ACCESS_LIST_RUNS, CALL_TIME_MS } from '../limits.ts'
import { optional, required } from '../method.ts'
import type { Method } from '../method.ts'
import { blockOverrides, stateOverrides } from '../execution/overrides.ts'
import type { BlockOverrides } from '../execution/overrides.ts'
import type { ComputeDeps } from '../execution/workerport.ts'
import { assertChain, callRequest } from '../execution/request.ts'
import type { CallRequest } from '../execution/request.ts'
import { failure, failureError } from '../execution/revert.ts'
import { LATEST, address, arrayOf, blockRef, bytes, hash, object, quantity } from '../../jsonrpc/schema.ts'
import type { BlockRef } from '../../jsonrpc/schema.ts'
import { ALICE, BOB, WETH } from './examples.ts'

const REVERT_ERRORS = {
  [CODE.server]: 'the call reverted (`execution reverted`, data: the revert bytes), halted, or cannot be paid for',
  [CODE.notFound]: 'there is no such block',
  [CODE.pruned]: 'the state of that block is no longer kept',
}

const CALL_PARAMS = [
  required('call', callRequest),
  optional('block', blockRef),
  optional('stateOverrides', stateOverrides),
  optional('blockOverrides', blockOverrides),
] as const

const accessListResult = object({
  accessList: arrayOf(object({ address, storageKeys: arrayOf(hash, Infinity) }), Infinity),
  gasUsed: quantity,
})

export const CALL_METHODS: readonly Method[] = [
  computed({
    name: 'eth_call',
    doc: 'Executes a message call on the state after a block, in the environment of that block (`pending`: of the next one), and returns its output; nothing is changed.',
    params: CALL_PARAMS,
    result: bytes.json,
    errors: REVERT_ERRORS,
    example: {
      params: [{ to: WETH, data: '0x313ce567' }, 'latest'],
      result: '0x0000000000000000000000000000000000000000000000000000000000000012',
    },
    needs: (deps, [, block, , env]) => needsOf(deps, block, env),
    callKeyOf: contractAndSelector,
    compute: (deps, [request, block, state, env]) => {
      const { compat } = deps
      requireTarget(request, block, compat)
      return answerAt(deps, request, block, { state, block: env }, (outcome, bytes, at, size, console) => {
        if (console !== null) deps.onConsole?.(console)
        const data = Hex.fromRange(bytes, at, size)
        if (outcome.kind === 'success') return data
        throw failureError(outcome, data, compat)
      })
    },
  }),
  computed({
    name: 'eth_estimateGas',
    doc: 'Finds the least gas limit with which a transaction succeeds (at most 1.5 % above it), on the state after a block (pending unless named).',
    params: CALL_PARAMS,
    result: quantity.json,
    errors: REVERT_ERRORS,
    example: { params: [{ from: ALICE, to: BOB, value: '0x1' }], result: '0x5208' },
    needs: (deps, [, block, , env]) => needsOf(deps, block ?? estimateBlock(deps.compat), env),
    compute: (deps, [request, block, state, env]) => {
      const { compat } = deps
      const at = block ?? estimateBlock(compat)
      return Hex.fromQuantity(callAt(deps, request, at, { state, block: env }, (call) => call.estimate(compat, deps.onConsole)))
    },
    callKeyOf: contractAndSelector,
  }),
  computed({
    name: 'eth_createAccessList',
    doc: 'Returns the EIP-2930 access list of everything that a transaction touches, and its gas with that list.',
    params: [required('call', callRequest), optional('block', blockRef), optional('stateOverrides', stateOverrides)],
    result: accessListResult.json,
    errors: { ...REVERT_ERRORS, [CODE.server]: 'the call cannot be paid for, or what it touches depends on what is warm without end' },
    example: { params: [{ from: ALICE, to: BOB, value: '0x1' }], result: { accessList: [], gasUsed: '0x5208' } },
    needs: (deps, [, block]) => needsOf(deps, block),
    compute: (deps, [request, block, state]) =>
      callAt(deps, request, block, { state }, (call) => createAccessList(call, request, deps.compat), true),
  }),
]

/** Null for a call with overrides or with another block than the latest. */
function contractAndSelector([{ to, data }, block, state, env]: readonly [CallRequest, (BlockRef | undefined)?, unknown?, unknown?]):
  | string
  | null {
  const isPlain = to !== undefined && state === undefined && env === undefined && (block === undefined || block === LATEST)
  return isPlain ? `${to}${data === undefined ? '' : Hex.fromRange(data, 0, Math.min(4, data.length))}` : null
}

/** Runs `work` with the call on one View. */
function callAt<T>(
  { view, compat, deadline }: ComputeDeps,
  request: CallRequest,
  ref: BlockRef | undefined,
  overrides: Overrides,
  work: (call: Call) => T,
  traced = false,
): T {
  assertChain(request.chainId, view.config, 'argument 0 (call)')
  const environment = environmentAt(view, requireStateBlock(view, compat, ref), ref)
  return withCall(environmentFor(environment, request, compat), request, overrides, work, {
    deadline: deadline(CALL_TIME_MS),
    traced,
  })
}

function answerAt<T>(
  { view, compat, deadline }: ComputeDeps,
  request: CallRequest,
  ref: BlockRef | undefined,
  overrides: Overrides,
  onResult: OnCallResult<T>,
): T {
  assertChain(request.chainId, view.config, 'argument 0 (call)')
  const environment = environmentAt(view, requireStateBlock(view, compat, ref), ref)
  return runCall(environmentFor(environment, request, compat), request, overrides, deadline(CALL_TIME_MS), onResult)
}

function needsOf({ view, compat }: ComputeDeps, ref: BlockRef | undefined, overrides?: BlockOverrides): ViewScope {
  return needsOfCalls(view, requireStateBlock(view, compat, ref), ref, [overrides])
}

function estimateBlock({ estimateBlock: tag }: Compat): BlockRef {
  return { kind: 'tag', tag }
}

/** Without `to` the data is creation code (viem's deployless calls); without either there is nothing to execute. */
function requireTarget({ to, data }: CallRequest, block: BlockRef | undefined, compat: Compat): void {
  const path = 'argument 0 (call)'
  const isEmpty = data === undefined && compat.emptyCreation === 'refused'
  if (to === undefined && (isEmpty || compat.callNeedsToAndBlock)) {
    throw invalidParams(`invalid ${path}: missing "to"${compat.callNeedsToAndBlock ? '' : ', and no data to run as creation code'}`)
  }
  if (block === undefined && compat.callNeedsToAndBlock) throw invalidParams('missing value for required argument 1 (block)')
}

/** Runs with the list of the previous run until the list no longer grows, because a warm slot can change the path. Throws RpcError -32000 if it never ends. */
function createAccessList(call: Call, request: CallRequest, compat: Compat) {
  let known = new AccessedSlots()
  for (const item of request.accessList ?? []) known.add(item)
  for (let runs = 0; runs < ACCESS_LIST_RUNS; runs++) {
    const accessList = known.items()
    const executed = call.run(call.gas, { accessList }, { accessList: true })
    const next = new AccessedSlots()
    for (const item of [...accessList, ...(executed.accessList ?? [])]) next.add(item)
    const error = next.size === known.size && compat.failedAccessList === 'error' ? failure(executed, compat) : null
    if (error !== null) throw error
    if (next.size === known.size) return accessListAnswer(accessList, executed.gasUsed, failureText(executed))
    known = next
  }
  throw new RpcError(
    CODE.server,
    `the access list still grew after ${ACCESS_LIST_RUNS} runs: what the call touches depends on what is warm`,
  )
}

function accessListAnswer(list: readonly AccessListItem[], gasUsed: bigint, error: string | null) {
  const answer = { accessList: accessListJson(list), gasUsed: Hex.fromQuantity(gasUsed) }
  return error === null ? answer : { ...answer, error }
}

function failureText({ outcome }: Executed): string | null {
  if (outcome.kind === 'success') return null
  return outcome.kind === 'revert' ? 'execution reverted' : outcome.reason
}

class AccessedSlots {
  readonly #slots = new Map<Address, Set<Hash>>()

  add({ address: target, storageKeys }: AccessListItem): void {
    const slots = this.#slots.get(target) ?? new Set<Hash>()
    for (const key of storageKeys) slots.add(key)
    this.#slots.set(target, slots)
  }

  /** addresses and slots */
  get size(): number {
    let size = this.#slots.size
    for (const slots of this.#slots.values()) size += slots.size
    return size
  }

  items(): readonly AccessListItem[] {
    return [...this.#slots].map(([target, slots]) => ({ address: target, storageKeys: [...slots] }))
  }
}
