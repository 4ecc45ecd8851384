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

/** A block of calls as `eth_simulateV1` takes it. */
export interface SimulationBlock {
  readonly calls: readonly SimulationCall[]
  readonly stateOverrides?: StateOverrides
  readonly blockOverrides?: BlockOverrides
}

/**
 * Simulates the blocks in order on the pending state; the result has the calls of all of them. Throws errors of the connection, and TypeError for
 * a malformed result.
 */
export async function simulate(rpc: Rpc, blocks: readonly SimulationBlock[]): Promise<Simulation> {
  const simulation = { blockStateCalls: blocks, traceTransfers: true, validation: false }
  try {
    const answer = listOf(await rpc.request({ method: 'eth_simulateV1', params: [simulation, 'pending'] }))
    return { kind: 'ran', calls: blocks.flatMap(({ calls }, at) => readBlock(answer[at], calls.length)) }
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    return isUnsupported(error) ? { kind: 'unsupported' } : { kind: 'refused', code: error.code, message: error.message }
  }
}

/** The results of views; null for one without a result. Never throws. */
export async function readAll(rpc: Rpc, reads: readonly Read[]): Promise<readonly (Hex | null)[]> {
  try {
    const simulation = await simulate(rpc, [blockOfReads(reads)])
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

/** Reads in a block of their own, since its calls can detect READER. A read is a STATICCALL, so that no contract can act on it. */
export function blockOfReads(reads: readonly Read[]): SimulationBlock {
  return { calls: reads.map(readCall), stateOverrides: { [READER.address]: { code: READER.code } } }
}

function readCall({ to, input }: Read): SimulationCall {
  const forwarded = `${Hex.fromBytes32(BigInt(to))}${input.slice(2)}` as Hex // begins with 0x
  return { from: Address.zero, to: READER.address, input: forwarded, gas: Hex.fromQuantity(READ_GAS) }
}

/** Calls the address in its first word with the rest of its input by STATICCALL, and returns or reverts with the result. */
const READER = {
  address: '0x77020000000000000000000000000000000000a3' as Address, // 20 bytes
  code: '0x60203603806020600037600060008260006000355afa3d600060003e6023573d6000fd5b3d6000f3',
} as const

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

function readBlock(block: unknown, count: number): readonly SimulatedCall[] {
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
