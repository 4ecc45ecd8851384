import { Abi, Hex } from '../eth/index.ts'
import type { Address, EntryPoint, Hash, UserOperation } from '../eth/index.ts'
import { CODE, RpcError, schema } from '../jsonrpc/index.ts'
import { bundleGas } from './bundlegas.ts'
import { refuse } from './errors.ts'
import { handleOpsFailure } from './failure.ts'
import type { Failure } from './failure.ts'
import { TRACE_ENTRIES } from './limits.ts'
import type { BundlerNode } from './node.ts'
import type { Overrides } from './stateoverrides.ts'

/** An operation's validation by the EntryPoint. */
export interface ValidationTrace {
  /** `null`: the EntryPoint accepts the operation, even if the account's call reverts */
  readonly failure: Failure | null
  /** the EntryPoint's calls to the account, its factory and the paymaster, in order */
  readonly frames: readonly Frame[]
  /** inputs of all hashes that were computed */
  readonly preimages: readonly Uint8Array[]
}

/** A frame of geth's erc7562Tracer, with the fields that the rules need. */
export interface Frame {
  readonly from: Address
  readonly to: Address | null
  readonly type: string
  readonly input: Hex
  readonly output: Hex
  readonly value: bigint
  readonly outOfGas: boolean
  readonly opcodes: ReadonlySet<number>
  readonly slots: ReadonlySet<Hash>
  readonly written: ReadonlySet<Hash>
  readonly codeAccesses: readonly Address[]
  /** addresses that were called or inspected, with the size of their code */
  readonly sizes: ReadonlyMap<Address, number>
  readonly calls: readonly Frame[]
}

/** Traces handleOps of one operation. Throws RpcError -32000 if the node lacks the tracer. */
export async function traceValidation(
  node: BundlerNode,
  entryPoint: EntryPoint,
  operation: UserOperation,
  bundler: Address,
  overrides: Overrides,
): Promise<ValidationTrace> {
  const data = entryPoint.handleOps([operation], bundler)
  const gas = Hex.fromQuantity(bundleGas(entryPoint, [operation], data.length))
  const call = { from: bundler, to: entryPoint.address, data: Hex.fromBytes(data), gas }
  const options = { tracer: 'erc7562Tracer', ...(Object.keys(overrides).length === 0 ? undefined : { stateOverrides: overrides }) }
  const answer = await node.ask('debug_traceCall', call, 'pending', options).catch((error: unknown) => {
    // The block may have been removed by a reorg meanwhile; the caller sends the operation again.
    if (!(error instanceof RpcError) || error.code === CODE.notFound) throw error
    throw cannotTrace(error.message)
  })
  if (typeof answer !== 'object' || answer === null || !('usedOpcodes' in answer)) throw cannotTrace('its result has another format')
  const { error, output, keccak, calls = [] } = ROOT.parse(answer, 'trace')
  // Empty output is left out.
  const revertData = Hex.isHex(output) ? Hex.toBytes(output) : error === 'execution reverted' ? NO_DATA : null
  const failure = error === undefined ? null : handleOpsFailure(revertData, error)
  const frames: Frame[] = []
  for (const [i, value] of calls.entries()) {
    const frame = frameOf(value, `trace.calls[${i}]`)
    if (frame.to === entryPoint.address && frame.type === 'CALL') break // its first call to itself ends the validations
    frames.push(frame)
  }
  return { failure, frames, preimages: keccak ?? [] }
}

const NO_DATA = new Uint8Array()

function cannotTrace(why: string): RpcError {
  return refuse(
    'server',
    `the rules of ERC-7562 cannot be checked: the node has no debug_traceCall with erc7562Tracer (${why}); switch the rules off (--bundler-rules off), or use a node with this tracer`,
    { reason: 'no-tracer' },
  )
}

/** The results of the validations; `null` for one that did not run. */
export function tracedOutputs(
  { frames }: ValidationTrace,
  { sender, paymaster }: UserOperation,
): { readonly account: Uint8Array | null; readonly paymaster: Uint8Array | null } {
  const account = frames.find(({ to }) => to === sender)
  const second = paymaster === null ? undefined : frames.find((frame) => isPaymasterValidation(frame, paymaster))
  const output = (frame: Frame | undefined) => (frame === undefined ? null : Hex.toBytes(frame.output))
  return { account: output(account), paymaster: output(second) }
}

const VALIDATE_PAYMASTER = ['0.6', '0.7'].map((version) =>
  Abi.selector(
    `validatePaymasterUserOp(${version === '0.6' ? '(address,uint256,bytes,bytes,uint256,uint256,uint256,uint256,uint256,bytes,bytes)' : '(address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes)'},bytes32,uint256)`,
  ),
)

/** An account may be its own paymaster. */
export function isPaymasterValidation({ to, input }: Frame, paymaster: Address): boolean {
  return to === paymaster && VALIDATE_PAYMASTER.some((selector) => input.startsWith(selector))
}

// --- trace decoding ---------------------------------------------------------------------------------------------------

const { address, anything, arrayOf, boolean, hash, mapOf, maybe, object, quantity, string } = schema
const COUNTS = mapOf(hash, anything, TRACE_ENTRIES)
const FRAME = object({
  from: address,
  to: maybe(address),
  type: string,
  input: maybe(string),
  output: maybe(string),
  value: maybe(quantity),
  outOfGas: maybe(boolean),
  usedOpcodes: maybe(
    mapOf<Hex, unknown>({ json: string.json, parse: (value, path) => Hex.fromQuantity(quantity.parse(value, path)) }, anything, 256),
  ),
  accessedSlots: maybe(
    object({ reads: maybe(COUNTS), writes: maybe(COUNTS), transientReads: maybe(COUNTS), transientWrites: maybe(COUNTS) }),
  ),
  extCodeAccessInfo: maybe(arrayOf(address, TRACE_ENTRIES)),
  contractSize: maybe(mapOf(address, object({ contractSize: schema.integer }), TRACE_ENTRIES)),
  calls: maybe(arrayOf(anything, TRACE_ENTRIES)),
})

const ROOT = object({
  error: maybe(string),
  output: maybe(string),
  keccak: maybe(arrayOf(schema.bytes, TRACE_ENTRIES)),
  calls: maybe(arrayOf(anything, TRACE_ENTRIES)),
})

/** Throws RpcError for a malformed frame. */
function frameOf(value: unknown, path: string): Frame {
  const read = FRAME.parse(value, path)
  const { reads, writes, transientReads, transientWrites } = read.accessedSlots ?? {}
  const written = new Set([...(writes?.keys() ?? []), ...(transientWrites?.keys() ?? [])])
  return {
    from: read.from,
    to: read.to ?? null,
    type: read.type,
    input: Hex.isHex(read.input) ? read.input : '0x',
    output: Hex.isHex(read.output) ? read.output : '0x',
    value: read.value ?? 0n,
    outOfGas: read.outOfGas ?? false,
    opcodes: new Set([...(read.usedOpcodes?.keys() ?? [])].map(Number)),
    slots: new Set([...(reads?.keys() ?? []), ...(transientReads?.keys() ?? []), ...written]),
    written,
    codeAccesses: read.extCodeAccessInfo ?? [],
    sizes: new Map([...(read.contractSize ?? [])].map(([at, { contractSize }]) => [at, contractSize])),
    calls: (read.calls ?? []).map((call, i) => frameOf(call, `${path}.calls[${i}]`)),
  }
}
