import { type Code, WASM } from './encoder.ts'
import { GIVES, TAKES } from './opcodes.ts'
import type { Op } from './parts.ts'
import { GAS, MEMORY_SIZE, type Stack } from './stack.ts'
import { functionOf, globalOf } from './surface.ts'

/** What the runtime does for compiled code: it finds its operands on the stack in memory, and leaves its results there. */
export class RuntimeCalls {
  readonly #code: Code
  readonly #stack: Stack

  constructor(code: Code, stack: Stack) {
    this.#code = code
    this.#stack = stack
  }

  /** The gas goes to where the runtime looks for it … */
  giveGas(): void {
    this.#code.get(GAS).globalSet(globalOf('gasLeft'))
  }

  /** … and comes back. */
  takeGas(): void {
    this.#code.globalGet(globalOf('gasLeft')).set(GAS)
  }

  /** The frame's memory may have grown. */
  takeMemory(): void {
    this.#code.globalGet(globalOf('memorySize')).set(MEMORY_SIZE)
  }

  /** An opcode of the runtime's that may halt the frame. */
  ask(op: Op, name: string, extra: number | null = null): void {
    const [takes, gives] = [TAKES[op.code] as number, GIVES[op.code] as number]
    this.#stack.flush(takes)
    this.giveGas()
    this.#stack.top()
    if (extra !== null) this.#code.i32(extra)
    this.#code.call(functionOf(name)).op(WASM.i32Eqz).if().return().end()
    this.takeGas()
    this.takeMemory()
    this.#stack.drop(takes)
    this.#stack.pushWritten(gives)
  }

  /** One that cannot fail, and works where the top is. */
  change(op: Op, name: string): void {
    const takes = TAKES[op.code] as number
    this.#stack.flush(takes)
    this.#stack.drop(takes)
    this.#stack.address(this.#stack.height)
    this.#code.call(functionOf(name))
    this.#stack.pushWritten(1)
  }

  /** CALL, CREATE and their like: the callee runs to its end meanwhile. */
  call(op: Op, name: string): void {
    this.#stack.flush(TAKES[op.code])
    this.giveGas()
    this.#code.i32(op.code)
    this.#stack.top()
    this.#stack.drop(TAKES[op.code] as number)
    this.#stack.forgetAbove()
    this.#code.call(functionOf(name)).op(WASM.i32Eqz).if().return().end()
    this.takeGas()
    this.takeMemory()
    this.#stack.pushWritten(1)
  }

  /** Arithmetic that the runtime does on words in memory: its result, then its operands from the top down. */
  word(op: Op, name: string): void {
    const takes = TAKES[op.code] as number
    this.#stack.flush(takes)
    const bottom = this.#stack.height - takes
    this.#stack.address(bottom)
    for (let i = 1; i <= takes; i++) this.#stack.address(this.#stack.height - i)
    this.#code.call(functionOf(name))
    this.#stack.drop(takes)
    this.#stack.pushWritten(1)
  }

  /** Pushes an address that stands at a fixed place. */
  address(place: number): void {
    this.#stack.address(this.#stack.height)
    this.#code.i32(place).call(functionOf('pushAddress'))
    this.#stack.pushWritten(1)
  }
}
