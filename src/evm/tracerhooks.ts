import type { Address, Hash } from '../eth/index.ts'
import { haltReason } from './haltreason.ts'
import type { Hooks } from './hooks.ts'
import type { Instance } from './instance.ts'
import { STEPS_PER_CLOCK_CHECK } from './limits.ts'
import { F_CODE_ACCOUNT, F_SELF } from './runtime/frame.ts'
import { CODE_NOT_STORED, FRAMES, FRAME_SIZE, OPCODES, RETURN, STACK_OVERFLOW, STACK_UNDERFLOW, SUCCESS } from './runtime/layout.ts'
import type { CallKind, FrameEntry, OpContext, Tracer } from './trace/tracer.ts'

const KINDS: ReadonlyMap<number, CallKind> = new Map([
  [0x00, 'CALL'],
  [0xf0, 'CREATE'],
  [0xf1, 'CALL'],
  [0xf2, 'CALLCODE'],
  [0xf4, 'DELEGATECALL'],
  [0xf5, 'CREATE2'],
  [0xfa, 'STATICCALL'],
  [0xff, 'SELFDESTRUCT'],
])

/** Translates the hooks of the traced module to `Tracer` events. */
export class TracerHooks implements Hooks {
  readonly #instance: Instance
  readonly #tracer: Tracer
  readonly #op: InstanceOpContext
  readonly #checkDeadline: () => void
  #steps = 0
  #precompileError: string | null = null

  /**
   * `checkDeadline` is called every STEPS_PER_CLOCK_CHECK steps: a tracer takes much longer than the execution, so fuel does not bound it.
   */
  constructor(instance: Instance, tracer: Tracer, checkDeadline: () => void) {
    this.#instance = instance
    this.#tracer = tracer
    this.#checkDeadline = checkDeadline
    this.#op = new InstanceOpContext(instance)
  }

  /** Error of the precompile whose frame exits next. */
  set precompileError(reason: string) {
    this.#precompileError = reason
  }

  step(pc: number, op: number, gas: number, depth: number, sp: number, base: number): void {
    if (++this.#steps % STEPS_PER_CLOCK_CHECK === 0) this.#checkDeadline()
    this.#op.set(pc, op, gas, depth, sp, base)
    this.#tracer.step?.(this.#op)
  }

  fault(reason: number, left: number): void {
    const context = this.#op
    // The stack is checked before the static gas is charged.
    const required = reason === STACK_UNDERFLOW || reason === STACK_OVERFLOW ? this.#staticGas(context.op) : 0
    this.#tracer.fault?.(context, context.gas - BigInt(left - required), haltReason(reason, context, null))
  }

  enter(...[op, depth, from, to, input, size, gas, value, precompile, left]: Parameters<Hooks['enter']>): void {
    const { enter } = this.#tracer
    if (enter === undefined) return
    const instance = this.#instance
    const entered: FrameEntry = {
      kind: KINDS.get(op) ?? 'CALL',
      depth,
      from: instance.address(from),
      to: instance.address(to),
      input: instance.slice(input, size),
      gas,
      value: op === 0xfa ? null : instance.word(value),
      precompile: precompile !== 0,
      callerGas: left,
    }
    this.#tracer.enter?.(entered)
  }

  exit(depth: number, status: number, output: number, size: number, used: bigint): void {
    const failure = status === SUCCESS ? null : haltReason(status, this.#op, this.#precompileError)
    this.#precompileError = null
    this.#tracer.exit?.({
      depth,
      output: this.#instance.slice(output, size),
      gasUsed: used,
      failure,
      reverted: status !== SUCCESS && status !== CODE_NOT_STORED,
    })
  }

  log(at: number): void {
    this.#tracer.log?.(readLog(this.#instance, at))
  }

  #staticGas(op: number): number {
    return this.#instance.u32(OPCODES + 8 * op) & 0xffff
  }
}

/** Reads a log in the layout of runtime/opcodes.ts. */
export function readLog(
  instance: Instance,
  at: number,
): { readonly address: Address; readonly topics: readonly Hash[]; readonly data: Uint8Array } {
  const size = instance.u32(at)
  const count = instance.u32(at + 4)
  const topics = Array.from({ length: count }, (_, index) => instance.hash(at + 16 + 32 * index))
  return { address: instance.addressOf(instance.u32(at + 8)), topics, data: instance.slice(at + 16 + 32 * count, size) }
}

/** Reused for all steps; values are read from memory on access. */
class InstanceOpContext implements OpContext {
  pc = 0
  op = 0
  depth = 1
  readonly #instance: Instance
  #gas = 0
  #sp = 0
  #base = 0

  constructor(instance: Instance) {
    this.#instance = instance
  }

  set(pc: number, op: number, gas: number, depth: number, sp: number, base: number): void {
    this.pc = pc
    this.op = op
    this.depth = depth + 1
    this.#gas = gas
    this.#sp = sp
    this.#base = base
  }

  get gas(): bigint {
    return BigInt(this.#gas)
  }

  get refund(): bigint {
    return this.#instance.runtime.refund.value
  }

  get stackSize(): number {
    return (this.#sp - this.#base) / 32
  }

  stack(fromTop: number): bigint {
    if (fromTop >= this.stackSize) throw new RangeError(`the stack has ${this.stackSize} words, so none is ${fromTop} below its top`)
    return this.#instance.word(this.#sp - 32 * fromTop)
  }

  get memorySize(): number {
    return this.#instance.runtime.memorySize.value
  }

  memory(from: number, to: number): Uint8Array {
    const copy = new Uint8Array(to - from)
    const end = Math.min(to, this.memorySize)
    const base = this.#instance.runtime.memoryBase.value
    if (from < end) copy.set(this.#instance.bytes.subarray(base + from, base + end))
    return copy
  }

  returnData(): Uint8Array {
    return this.#instance.slice(RETURN, this.#instance.runtime.returnSize.value)
  }

  get address(): Address {
    return this.#instance.addressOf(this.#instance.u32(this.#frame + F_SELF))
  }

  get codeAddress(): Address {
    return this.#instance.addressOf(this.#instance.u32(this.#frame + F_CODE_ACCOUNT))
  }

  get #frame(): number {
    return FRAMES + (this.depth - 1) * FRAME_SIZE
  }
}
