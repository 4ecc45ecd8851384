import type { Address, Hash } from '../eth/index.ts'
import { failureOf } from './halt.ts'
import type { Hooks } from './hooks.ts'
import type { Instance } from './instance.ts'
import { STEPS_PER_LOOK } from './limits.ts'
import { F_CODE_ACCOUNT, F_SELF } from './runtime/frame.ts'
import { CODE_LEFT_OUT, FRAMES, FRAME_SIZE, OPCODES, RETURN, STACK_OVERFLOW, STACK_UNDERFLOW, SUCCESS } from './runtime/layout.ts'
import type { CallKind, Entered, Machine, Tracer } from './trace/tracer.ts'

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

/** Tells a tracer what the module of an instance tells its host, in the tracer's own terms. */
export class TracerHooks implements Hooks {
  readonly #instance: Instance
  readonly #tracer: Tracer
  readonly #machine: InstanceMachine
  readonly #look: () => void
  #steps = 0
  #precompileFailure: string | null = null

  /** `look` at the clock: a tracer takes so much longer than what it listens to that fuel is no measure. It may throw. */
  constructor(instance: Instance, tracer: Tracer, look: () => void) {
    this.#instance = instance
    this.#tracer = tracer
    this.#look = look
    this.#machine = new InstanceMachine(instance)
  }

  /** What the precompile that is about to leave failed for. */
  set precompileFailure(reason: string) {
    this.#precompileFailure = reason
  }

  step(pc: number, op: number, gas: number, depth: number, sp: number, base: number): void {
    if (++this.#steps % STEPS_PER_LOOK === 0) this.#look()
    this.#machine.set(pc, op, gas, depth, sp, base)
    this.#tracer.step?.(this.#machine)
  }

  fault(reason: number, left: number): void {
    const machine = this.#machine
    // The stack is looked at before anything is charged.
    const asked = reason === STACK_UNDERFLOW || reason === STACK_OVERFLOW ? this.#basicGas(machine.op) : 0
    this.#tracer.fault?.(machine, machine.gas - BigInt(left - asked), failureOf(reason, machine, null))
  }

  enter(...[op, depth, from, to, input, size, gas, value, precompile, left]: Parameters<Hooks['enter']>): void {
    const { enter } = this.#tracer
    if (enter === undefined) return
    const instance = this.#instance
    const entered: Entered = {
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

  leave(depth: number, status: number, output: number, size: number, used: bigint): void {
    const failure = status === SUCCESS ? null : failureOf(status, this.#machine, this.#precompileFailure)
    this.#precompileFailure = null
    this.#tracer.leave?.({
      depth,
      output: this.#instance.slice(output, size),
      gasUsed: used,
      failure,
      reverted: status !== SUCCESS && status !== CODE_LEFT_OUT,
    })
  }

  log(at: number): void {
    this.#tracer.log?.(readLog(this.#instance, at))
  }

  #basicGas(op: number): number {
    return this.#instance.u32(OPCODES + 8 * op) & 0xffff
  }
}

/** A log of the buffer, as runtime/opcodes.ts lays it out. */
export function readLog(
  instance: Instance,
  at: number,
): { readonly address: Address; readonly topics: readonly Hash[]; readonly data: Uint8Array } {
  const size = instance.u32(at)
  const count = instance.u32(at + 4)
  const topics = Array.from({ length: count }, (_, index) => instance.hash(at + 16 + 32 * index))
  return { address: instance.addressOf(instance.u32(at + 8)), topics, data: instance.slice(at + 16 + 32 * count, size) }
}

/** One object for all steps: what is asked for is read from memory then. */
class InstanceMachine implements Machine {
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
