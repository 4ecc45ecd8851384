import { Address, Hash, Hex } from '../../eth/index.ts'
import { CODE, RpcError } from '../../jsonrpc/index.ts'
import type { Rpc } from '../../jsonrpc/index.ts'
import { READ_GAS } from '../limits.ts'

/** A call as `eth_simulateV1` takes it. */
export interface SimulationCall {
  readonly from: Address
  readonly to?: Address
  readonly value?: Hex
  readonly input: Hex
  readonly gas?: Hex
  readonly gasPrice?: Hex
  readonly maxFeePerGas?: Hex
  readonly maxPriorityFeePerGas?: Hex
}

/** The result of one call. */
export interface SimulatedCall {
  readonly isSuccess: boolean
  readonly output: Hex
  readonly gasUsed: bigint
  /** with ether transfers as logs of `ETHER` */
  readonly logs: readonly SimulatedLog[]
  /** null if it succeeded */
  readonly failure: { readonly message: string; readonly data: Hex | null } | null
}

export interface SimulatedLog {
  readonly address: Address
  readonly topics: readonly Hash[]
  readonly data: Hex
}

export type Simulation =
  | { readonly kind: 'ran'; readonly calls: readonly SimulatedCall[] }
  /** the node lacks the method */
  | { readonly kind: 'unsupported' }
  /** one call is invalid, such as for lack of funds; then no call has a result */
  | { readonly kind: 'refused'; readonly code: number; readonly message: string }

export type BlockOverrides = { readonly baseFeePerGas?: Hex; readonly prevRandao?: Hex; readonly beaconRoot?: Hex }
export type StateOverrides = Readonly<Record<Address, { readonly code: Hex }>>

/** The pseudo contract of ether `Transfer` logs (execution-apis). */
export const ETHER = Address.from('0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee')

/** Simulates the calls in order on the pending state. Throws errors of the connection, and TypeError for a malformed result. */
export async function simulate(
  rpc: Rpc,
  calls: readonly SimulationCall[],
  stateOverrides: StateOverrides = {},
  blockOverrides: BlockOverrides = {},
): Promise<Simulation> {
  const block = { stateOverrides, blockOverrides, calls }
  const simulation = { blockStateCalls: [block], traceTransfers: true, validation: false }
  try {
    const answer = await rpc.request({ method: 'eth_simulateV1', params: [simulation, 'pending'] })
    return { kind: 'ran', calls: readBlock(answer, calls.length) }
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    return isUnsupported(error) ? { kind: 'unsupported' } : { kind: 'refused', code: error.code, message: error.message }
  }
}

/** The results of views; null for one without a result. Never throws. */
export async function readAll(rpc: Rpc, reads: readonly Read[]): Promise<readonly (Hex | null)[]> {
  try {
    const simulation = await simulate(rpc, reads.map(readCall))
    if (simulation.kind === 'ran') return simulation.calls.map(answerOf)
    return await Promise.all(reads.map(async (read) => plainAnswer(rpc, read)))
  } catch {
    return reads.map(() => null)
  }
}

/** A call of a view. */
export interface Read {
  readonly to: Address
  readonly input: Hex
}

export function readCall({ to, input }: Read): SimulationCall {
  return { from: Address.zero, to, input, gas: Hex.fromQuantity(READ_GAS) }
}

/** null if it reverted, or has no code. */
export function answerOf({ isSuccess, output }: SimulatedCall): Hex | null {
  return isSuccess && output !== '0x' ? output : null
}

async function plainAnswer(rpc: Rpc, { to, input }: Read): Promise<Hex | null> {
  try {
    const answer = await rpc.request({ method: 'eth_call', params: [{ to, input }, 'pending'] })
    return Hex.isHex(answer) && answer !== '0x' ? answer : null
  } catch (error) {
    if (error instanceof RpcError) return null
    throw error
  }
}

/** Nodes have different errors for an unknown method. */
function isUnsupported({ code, message }: RpcError): boolean {
  if (code === CODE.methodNotFound || code === CODE.methodNotSupported) return true
  return /method .*(not|un)[ -]?(found|supported|available|known|exist|whitelisted|allowed)|unknown method|unsupported method/i.test(
    message,
  )
}

// --- reading ------------------------------------------------------------------------------------------------------------

function readBlock(answer: unknown, count: number): readonly SimulatedCall[] {
  const [block] = listOf(answer)
  const calls = listOf(fieldsOf(block)['calls'])
  if (calls.length !== count) throw new TypeError(`the simulation answers ${calls.length} of ${count} calls`)
  return calls.map(readSimulated)
}

function readSimulated(value: unknown): SimulatedCall {
  const { status, returnData, gasUsed, logs, error } = fieldsOf(value)
  const isSuccess = BigInt(hexOf(status)) === 1n
  const failed = isSuccess ? null : fieldsOf(error ?? {})
  return {
    isSuccess,
    output: hexOf(returnData ?? '0x'),
    gasUsed: BigInt(hexOf(gasUsed)),
    logs: isSuccess ? listOf(logs).map(readLog) : [],
    failure: failed === null ? null : { message: textOf(failed['message']), data: revertDataOf(failed['data'], returnData) },
  }
}

/** Most nodes put it into the error, some only into the output. */
function revertDataOf(data: unknown, output: unknown): Hex | null {
  if (Hex.isHex(data)) return data
  return Hex.isHex(output) && output !== '0x' ? output : null
}

function readLog(value: unknown): SimulatedLog {
  const { address, topics, data } = fieldsOf(value)
  return { address: Address.from(hexOf(address)), topics: listOf(topics).map((topic) => Hash.from(hexOf(topic))), data: hexOf(data) }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) throw new TypeError('the result of the simulation is malformed')
  return value as Readonly<Record<string, unknown>> // any object has this shape
}

function listOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new TypeError('the result of the simulation is malformed')
  return value
}

function hexOf(value: unknown): Hex {
  if (!Hex.isHex(value)) throw new TypeError('the result of the simulation has a value that is not hex')
  return value
}
