import { Hex } from '../../eth/index.ts'
import type { Address, Hash } from '../../eth/index.ts'
import type { Executed } from '../message.ts'
import { revertReason } from '../revertreason.ts'
import type { TraceContext } from './trace.ts'
import type { CallKind, FrameEntry, FrameExit, Tracer } from './tracer.ts'

const REVERTED = 'execution reverted'
/** JSON size of a frame without its byte strings. */
const FRAME_BYTES = 300

/** A call, creation or self-destruct, filled in while it is traced. */
export interface CallFrame {
  readonly kind: CallKind
  readonly from: Address
  /** null: a creation that failed */
  to: Address | null
  readonly gas: bigint
  gasUsed: bigint
  readonly input: Uint8Array
  output: Uint8Array
  readonly value: bigint | null
  readonly precompile: boolean
  /** geth's message; null: success */
  error: string | null
  /** message of Error(string) or Panic(uint256) */
  revertReason: string | null
  readonly logs: FrameLog[]
  readonly calls: this[]
}

interface FrameLog {
  readonly address: Address
  readonly topics: readonly Hash[]
  readonly data: Uint8Array
  /** index in the block */
  readonly index: number
  /** number of calls the frame had made before */
  readonly position: number
}

export interface FrameOptions {
  readonly onlyTopCall: boolean
  readonly withLog: boolean
  /** true: the outermost frame has its own gas, as in OpenEthereum; absent or false: that of the transaction, as in geth */
  readonly hasFrameGas?: boolean
}

/** Builds the call tree for callTracer, flatCallTracer and erc7562Tracer. */
export class Frames<F extends CallFrame> implements Tracer {
  readonly #start: TraceContext
  readonly #options: FrameOptions
  /** adds the fields of the tracer to a new frame */
  readonly #extend: (frame: CallFrame) => F
  readonly #open: F[] = []
  /** log count at the start of each open frame, restored when the frame fails */
  readonly #logMarks: number[] = []
  #root: F | null = null
  #logCount: number

  constructor(start: TraceContext, options: FrameOptions, extend: (frame: CallFrame) => F) {
    this.#start = start
    this.#options = options
    this.#extend = extend
    this.#logCount = start.location?.logIndex ?? 0
  }

  /** the current frame; undefined outside of the transaction and in skipped inner frames */
  get current(): F | undefined {
    return this.#logMarks.length > this.#open.length ? undefined : this.#open.at(-1)
  }

  enter(entered: FrameEntry): void {
    this.#logMarks.push(this.#logCount)
    if (this.#options.onlyTopCall && entered.depth > 0) return
    this.#start.budget.take(FRAME_BYTES + entered.input.length * 2)
    const { kind, from, to, input, value, precompile } = entered
    // In geth the outermost frame has the transaction's gas limit, including the intrinsic gas.
    const gas = entered.depth === 0 && this.#options.hasFrameGas !== true ? this.#start.message.gas : entered.gas
    const plain: CallFrame = { kind, from, to, gas, gasUsed: 0n, input, output: EMPTY, value, precompile, ...NO_ERROR, logs: [], calls: [] }
    this.#open.push(this.#extend(plain))
  }

  exit(exit: FrameExit): void {
    const mark = this.#logMarks.pop()
    if (exit.reverted && mark !== undefined) this.#logCount = mark
    if (this.#options.onlyTopCall && exit.depth > 0) return
    const frame = this.#open.pop()
    if (frame === undefined) return
    frame.gasUsed = exit.gasUsed
    this.#end(frame, exit)
    const parent = this.#open.at(-1)
    if (parent === undefined) this.#root = frame
    else parent.calls.push(frame)
  }

  log({ address, topics, data }: { readonly address: Address; readonly topics: readonly Hash[]; readonly data: Uint8Array }): void {
    const index = this.#logCount++
    const frame = this.#options.withLog ? this.current : undefined
    if (frame === undefined) return
    this.#start.budget.take(FRAME_BYTES + data.length * 2)
    frame.logs.push({ address, topics, data, index, position: frame.calls.length })
  }

  /** Returns the outermost frame at the end of the transaction. */
  finish(executed: Executed): F {
    const root = this.#root ?? this.#extend(frameOfFailedDeposit(this.#start, executed))
    if (this.#options.hasFrameGas !== true) root.gasUsed = executed.gasUsed
    if (this.#options.withLog) dropFailedLogs(root, false)
    return root
  }

  #end(frame: F, { output, failure, reverted }: FrameExit): void {
    const error = reverted ? failure : null
    if (error === null || error === REVERTED) {
      this.#start.budget.take(output.length * 2)
      frame.output = output
    }
    if (error === null) return
    frame.error = error
    if (frame.kind === 'CREATE' || frame.kind === 'CREATE2') frame.to = null
    if (error === REVERTED) frame.revertReason = revertReason(output)
  }
}

const EMPTY = new Uint8Array()
const NO_ERROR = { error: null, revertReason: null } as const

/** A failed frame and its inner frames have no logs. */
function dropFailedLogs(frame: CallFrame, inFailed: boolean): void {
  const failed = inFailed || frame.error !== null
  if (failed) frame.logs.length = 0
  for (const call of frame.calls) dropFailedLogs(call, failed)
}

/** A deposit that failed before its first frame is included nevertheless. */
function frameOfFailedDeposit({ message }: TraceContext, { outcome }: Executed): CallFrame {
  const { from, to, gas, data, value } = message
  const kind = to === null ? 'CREATE' : 'CALL'
  const error = outcome.kind === 'halt' ? outcome.reason : null
  return {
    kind,
    from,
    to,
    gas,
    gasUsed: 0n,
    input: data,
    output: EMPTY,
    value,
    precompile: false,
    error,
    revertReason: null,
    logs: [],
    calls: [],
  }
}

/** Common fields of a frame in geth's order; empty ones are omitted. */
export function frameHead(frame: CallFrame): Record<string, unknown> {
  return {
    from: frame.from,
    gas: Hex.fromQuantity(frame.gas),
    gasUsed: Hex.fromQuantity(frame.gasUsed),
    ...(frame.to === null ? undefined : { to: frame.to }),
    input: Hex.fromBytes(frame.input),
    ...(frame.output.length === 0 ? undefined : { output: Hex.fromBytes(frame.output) }),
    ...(frame.error === null ? undefined : { error: frame.error }),
    ...(frame.revertReason === null || frame.revertReason === '' ? undefined : { revertReason: frame.revertReason }),
  }
}

export function logJson({ address, topics, data, index, position }: FrameLog) {
  return { address, topics, data: Hex.fromBytes(data), index: Hex.fromQuantity(index), position: Hex.fromQuantity(position) }
}
