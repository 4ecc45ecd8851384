import { Hex } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import { Frames } from './frames.ts'
import type { CallFrame } from './frames.ts'
import type { Trace, TraceContext } from './trace.ts'
import type { CallKind } from './tracer.ts'

interface FlatOptions {
  /** error messages of Parity */
  readonly convertParityErrors: boolean
  /** includes CALL and STATICCALL of precompiles */
  readonly includePrecompiles: boolean
  /** true: as OpenEthereum and anvil write it, with the gas of the outermost frame and a result of null; absent or false: as geth does */
  readonly isParity?: boolean
}

/** geth's flatCallTracer: a flat list of calls in Parity's format. */
export function flatCallTrace(start: TraceContext, options: FlatOptions): Trace {
  const frames = new Frames<CallFrame>(
    start,
    { onlyTopCall: false, withLog: false, hasFrameGas: options.isParity === true },
    (frame) => frame,
  )
  return {
    tracer: { enter: (entered) => frames.enter(entered), exit: (exit) => frames.exit(exit) },
    json: (executed) => JSON.stringify([...flat(frames.finish(executed), [], start, options)]),
  }
}

function* flat(frame: CallFrame, address: readonly number[], start: TraceContext, options: FlatOptions): Iterable<object> {
  const { location, budget } = start
  budget.take(address.length * 8)
  const calls = options.includePrecompiles ? frame.calls : frame.calls.filter((call) => !isHidden(call))
  const { error } = frame
  const result = error === null || error === 'execution reverted' ? RESULTS[frame.kind](frame) : null
  yield {
    action: ACTIONS[frame.kind](frame),
    blockHash: location?.blockHash ?? null,
    blockNumber: location?.blockNumber ?? 0,
    ...(error === null ? undefined : { error: errorText(error, options) }),
    ...(result === null && (error !== null || options.isParity !== true) ? undefined : { result }),
    subtraces: calls.length,
    traceAddress: address,
    transactionHash: location?.transactionHash ?? null,
    transactionPosition: location?.transactionIndex ?? 0,
    type: TYPES[frame.kind],
  }
  for (const [i, call] of calls.entries()) yield* flat(call, [...address, i], start, options)
}

function isHidden({ kind, precompile }: CallFrame): boolean {
  return precompile && (kind === 'CALL' || kind === 'STATICCALL')
}

const TYPES: Record<CallKind, string> = {
  CALL: 'call',
  CALLCODE: 'call',
  DELEGATECALL: 'call',
  STATICCALL: 'call',
  CREATE: 'create',
  CREATE2: 'create',
  SELFDESTRUCT: 'suicide',
}

const ACTIONS: Record<CallKind, (frame: CallFrame) => object> = {
  CALL: callAction,
  CALLCODE: callAction,
  DELEGATECALL: callAction,
  STATICCALL: callAction,
  CREATE: createAction,
  CREATE2: createAction,
  SELFDESTRUCT: ({ from, to, value }) => ({ address: from, balance: Hex.fromQuantity(value ?? 0n), refundAddress: to }),
}

const RESULTS: Record<CallKind, (frame: CallFrame) => object | null> = {
  CALL: callResult,
  CALLCODE: callResult,
  DELEGATECALL: callResult,
  STATICCALL: callResult,
  CREATE: createResult,
  CREATE2: createResult,
  SELFDESTRUCT: () => null,
}

function callAction({ kind, from, to, gas, input, value }: CallFrame) {
  return {
    callType: kind.toLowerCase(),
    from,
    gas: Hex.fromQuantity(gas),
    input: Hex.fromBytes(input),
    to,
    value: Hex.fromQuantity(value ?? 0n),
  }
}

function createAction({ kind, from, gas, input, value }: CallFrame) {
  return {
    creationMethod: kind.toLowerCase(),
    from,
    gas: Hex.fromQuantity(gas),
    init: Hex.fromBytes(input),
    value: Hex.fromQuantity(value ?? 0n),
  }
}

function callResult({ gasUsed, output }: CallFrame) {
  return { gasUsed: Hex.fromQuantity(gasUsed), output: Hex.fromBytes(output) }
}

function createResult({ to, gasUsed, output }: CallFrame): { readonly address?: Address; readonly code: Hex; readonly gasUsed: Hex } {
  return { ...(to === null ? undefined : { address: to }), code: Hex.fromBytes(output), gasUsed: Hex.fromQuantity(gasUsed) }
}

const PARITY_ERRORS: ReadonlyMap<string, string> = new Map([
  ['contract creation code storage out of gas', 'Out of gas'],
  ['out of gas', 'Out of gas'],
  ['gas uint64 overflow', 'Out of gas'],
  ['max code size exceeded', 'Out of gas'],
  ['invalid jump destination', 'Bad jump destination'],
  ['execution reverted', 'Reverted'],
  ['return data out of bounds', 'Out of bounds'],
  ['stack limit reached 1024 (1023)', 'Out of stack'],
  ['precompiled failed', 'Built-in failed'],
  ['invalid input length', 'Built-in failed'],
])

const PARITY_PREFIXES: readonly (readonly [string, string])[] = [
  ['out of gas:', 'Out of gas'],
  ['invalid opcode:', 'Bad instruction'],
  ['stack underflow', 'Stack underflow'],
]

/** anvil names it as revm does. */
const COLLISION = 'contract address collision'

/** geth leaves errors without a counterpart in lower case. */
function errorText(error: string, { convertParityErrors, isParity }: FlatOptions): string {
  if (!convertParityErrors) return error
  const text = parityError(error)
  if (isParity === true && error === COLLISION) return 'CreateCollision'
  return isParity === true ? `${text.charAt(0).toUpperCase()}${text.slice(1)}` : text
}

function parityError(error: string): string {
  return PARITY_ERRORS.get(error) ?? PARITY_PREFIXES.find(([prefix]) => error.startsWith(prefix))?.[1] ?? error
}
