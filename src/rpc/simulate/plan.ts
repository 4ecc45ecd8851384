import type { Header, Withdrawal } from '../../eth/index.ts'
import { RpcError } from '../../jsonrpc/index.ts'
import { SIMULATED_BLOCKS, SIMULATED_CALLS, SIMULATED_CALLS_PER_BLOCK, SIMULATED_ROOT_ENTRIES } from '../limits.ts'
import type { BlockOverrides, StateOverrides } from '../execution/overrides.ts'
import type { CallRequest } from '../execution/request.ts'
import { SIMULATION_CODE } from './refusals.ts'

/** One block of an eth_simulateV1 request. */
export interface RequestedBlock {
  readonly blockOverrides: BlockOverrides | undefined
  readonly stateOverrides: StateOverrides | undefined
  readonly calls: readonly CallRequest[] | undefined
}

/** One block that will be simulated: its place in the chain is settled. */
export interface PlannedBlock {
  readonly number: number
  /** seconds */
  readonly timestamp: number
  readonly overrides: BlockOverrides | undefined
  readonly state: StateOverrides | undefined
  readonly calls: readonly CallRequest[]
  readonly withdrawals: readonly Withdrawal[]
}

/**
 * Gives every block its number and time, and fills gaps between numbers with empty blocks. Throws RpcError: numbers or
 * times that do not rise, too many blocks, calls or overrides.
 */
export function planBlocks(base: Header, requested: readonly RequestedBlock[], blockSeconds: number): readonly PlannedBlock[] {
  assertSize(requested)
  const planned: PlannedBlock[] = []
  let { number, timestamp } = base
  for (const block of requested) {
    const target = block.blockOverrides?.number ?? number + 1
    if (target <= number) throw wrong('blockNumber', `block numbers must be in order: ${target} <= ${number}`)
    if (target - base.number > SIMULATED_BLOCKS) throw wrong('limit', 'too many blocks')
    while (number + 1 < target) planned.push(emptyBlock(++number, (timestamp += blockSeconds)))
    const time = block.blockOverrides?.time ?? timestamp + blockSeconds
    if (!Number.isSafeInteger(time)) throw wrong('timestamp', `block timestamps must stay below 2^53: ${time}`)
    if (time <= timestamp) throw wrong('timestamp', `block timestamps must be in order: ${time} <= ${timestamp}`)
    number = target
    timestamp = time
    planned.push(plannedBlock(number, timestamp, block))
  }
  assertEntries(planned)
  return planned
}

function plannedBlock(number: number, timestamp: number, block: RequestedBlock): PlannedBlock {
  return {
    number,
    timestamp,
    overrides: block.blockOverrides,
    state: block.stateOverrides,
    calls: block.calls ?? [],
    withdrawals: block.blockOverrides?.withdrawals ?? [],
  }
}

function emptyBlock(number: number, timestamp: number): PlannedBlock {
  return { number, timestamp, overrides: undefined, state: undefined, calls: [], withdrawals: [] }
}

function assertSize(requested: readonly RequestedBlock[]): void {
  if (requested.length === 0) throw wrong('params', 'empty input: blockStateCalls names no block')
  if (requested.length > SIMULATED_BLOCKS) throw wrong('limit', 'too many blocks')
  let total = 0
  for (const { calls = [] } of requested) {
    total += calls.length
    if (calls.length > SIMULATED_CALLS_PER_BLOCK) {
      throw wrong('limit', `too many calls in block: ${calls.length} > ${SIMULATED_CALLS_PER_BLOCK}`)
    }
  }
  if (total > SIMULATED_CALLS) throw wrong('limit', `too many calls: ${total} > ${SIMULATED_CALLS}`)
}

function assertEntries(planned: readonly PlannedBlock[]): void {
  const overridden = planned.reduce((sum, { state, withdrawals }) => sum + entriesOf(state) + withdrawals.length, 0)
  if (overridden * planned.length <= SIMULATED_ROOT_ENTRIES) return
  const max = Math.floor(SIMULATED_ROOT_ENTRIES / planned.length)
  throw wrong('limit', `too many overrides: ${overridden} accounts, slots and withdrawals, at most ${max} over ${planned.length} blocks`)
}

function entriesOf(overrides: StateOverrides | undefined): number {
  let entries = overrides?.size ?? 0
  for (const { state, stateDiff } of overrides?.values() ?? []) entries += (state?.size ?? 0) + (stateDiff?.size ?? 0)
  return entries
}

function wrong(code: keyof typeof SIMULATION_CODE, message: string): RpcError {
  return new RpcError(SIMULATION_CODE[code], message)
}
