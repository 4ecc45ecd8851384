import { Hex } from '../../eth/index.ts'
import type { Address, Hash } from '../../eth/index.ts'
import type { Executed } from '../message.ts'
import { revertReason } from '../revertreason.ts'
import type { TraceStart } from './trace.ts'
import type { CallKind, Entered, Left, Tracer } from './tracer.ts'

const REVERTED = 'execution reverted'
/** What a frame takes besides its bytes, once written down. */
const FRAME_BYTES = 300

/** A call, creation or self-destruction while it is traced, with what happened in it. */
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
  /** in geth's words; null: it succeeded */
  error: string | null
  /** why `error` says so: what Error(string) or Panic(uint256) told */
  revertReason: string | null
  readonly logs: FrameLog[]
  readonly calls: this[]
}

export interface FrameLog {
  readonly address: Address
  readonly topics: readonly Hash[]
  readonly data: Uint8Array
  /** among the logs of the block */
  readonly index: number
  /** calls that the frame had made before */
  readonly position: number
}

export interface FrameOptions {
  readonly onlyTopCall: boolean
  readonly withLog: boolean
}

/** Builds the tree of frames: what callTracer, flatCallTracer and erc7562Tracer have in common. */
export class Frames<F extends CallFrame> implements Tracer {
  readonly #start: TraceStart
  readonly #options: FrameOptions
  /** adds to a new frame what is told of it besides */
  readonly #extend: (frame: CallFrame) => F
  readonly #open: F[] = []
  /** how many logs stood when each open frame began: a failed frame takes its own back */
  readonly #logMarks: number[] = []
  #root: F | null = null
  #logCount: number

  constructor(start: TraceStart, options: FrameOptions, extend: (frame: CallFrame) => F) {
    this.#start = start
    this.#options = options
    this.#extend = extend
    this.#logCount = start.place?.logIndex ?? 0
  }

  /** the frame that runs; undefined outside of the transaction, and in inner frames that nobody asked for */
  get current(): F | undefined {
    return this.#logMarks.length > this.#open.length ? undefined : this.#open.at(-1)
  }

  enter(entered: Entered): void {
    this.#logMarks.push(this.#logCount)
    if (this.#options.onlyTopCall && entered.depth > 0) return
    this.#start.budget.take(FRAME_BYTES + entered.input.length * 2)
    const { kind, from, to, input, value, precompile } = entered
    // The outermost frame has the gas of the transaction in geth, not what is left of it after the intrinsic gas.
    const gas = entered.depth === 0 ? this.#start.message.gas : entered.gas
    const plain: CallFrame = { kind, from, to, gas, gasUsed: 0n, input, output: NOTHING, value, precompile, ...FRESH, logs: [], calls: [] }
    this.#open.push(this.#extend(plain))
  }

  leave(left: Left): void {
    const mark = this.#logMarks.pop()
    if (left.reverted && mark !== undefined) this.#logCount = mark
    if (this.#options.onlyTopCall && left.depth > 0) return
    const frame = this.#open.pop()
    if (frame === undefined) return
    frame.gasUsed = left.gasUsed
    this.#end(frame, left)
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

  /** The outermost frame, when the transaction is over. */
  finish(executed: Executed): F {
    const root = this.#root ?? this.#extend(neverRan(this.#start, executed))
    root.gasUsed = executed.gasUsed
    if (this.#options.withLog) dropFailedLogs(root, false)
    return root
  }

  #end(frame: F, { output, failure, reverted }: Left): void {
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

const NOTHING = new Uint8Array()
const FRESH = { error: null, revertReason: null } as const

/** A failed frame has emitted nothing, and so have the frames in it. */
function dropFailedLogs(frame: CallFrame, inFailed: boolean): void {
  const failed = inFailed || frame.error !== null
  if (failed) frame.logs.length = 0
  for (const call of frame.calls) dropFailedLogs(call, failed)
}

/** A deposit that failed before its first frame: it is included all the same. */
function neverRan({ message }: TraceStart, { outcome }: Executed): CallFrame {
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
    output: NOTHING,
    value,
    precompile: false,
    error,
    revertReason: null,
    logs: [],
    calls: [],
  }
}

/** What geth tells of every frame, in its order; what is empty is left out. */
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
