import { type Code, WASM } from './encoder.ts'
import { STACK_POPS, STACK_PUSHES } from '../opcodes.ts'
import type { Op } from './basicblocks.ts'
import { GAS, MEMORY_SIZE, type Stack } from './stack.ts'
import { functionOf, globalOf } from './imports.ts'

/** Calls of runtime functions, which read operands from the stack in memory and write results to it. */
export class RuntimeCalls {
  readonly #code: Code
  readonly #stack: Stack

  constructor(code: Code, stack: Stack) {
    this.#code = code
    this.#stack = stack
  }

  storeGas(): void {
    this.#code.get(GAS).globalSet(globalOf('gasLeft'))
  }

  loadGas(): void {
    this.#code.globalGet(globalOf('gasLeft')).set(GAS)
  }

  /** Reloads the memory size after a call that may expand memory. */
  loadMemorySize(): void {
    this.#code.globalGet(globalOf('memorySize')).set(MEMORY_SIZE)
  }

  /** Calls a function that may halt the frame. */
  callFallible(op: Op, name: string, extra: number | null = null): void {
    const [pops, pushes] = [STACK_POPS[op.code] as number, STACK_PUSHES[op.code] as number]
    this.#stack.flush(pops)
    this.storeGas()
    this.#stack.pushTopAddress()
    if (extra !== null) this.#code.i32(extra)
    this.#code.call(functionOf(name)).op(WASM.i32Eqz).if().return().end()
    this.loadGas()
    this.loadMemorySize()
    this.#stack.drop(pops)
    this.#stack.pushInMemory(pushes)
  }

  /** Calls a function that cannot halt and works at the top of the stack. */
  callInfallible(op: Op, name: string): void {
    const pops = STACK_POPS[op.code] as number
    this.#stack.flush(pops)
    this.#stack.drop(pops)
    this.#stack.pushAddress(this.#stack.height)
    this.#code.call(functionOf(name))
    this.#stack.pushInMemory(1)
  }

  /** CALL and CREATE families: the callee runs to its end. */
  call(op: Op, name: string): void {
    this.#stack.flush(STACK_POPS[op.code])
    this.storeGas()
    this.#code.i32(op.code)
    this.#stack.pushTopAddress()
    this.#stack.drop(STACK_POPS[op.code] as number)
    this.#stack.invalidateAbove()
    this.#code.call(functionOf(name)).op(WASM.i32Eqz).if().return().end()
    this.loadGas()
    this.loadMemorySize()
    this.#stack.pushInMemory(1)
  }

  /** Calls an arithmetic function: result, then operands from the top down. */
  callArithmetic(op: Op, name: string): void {
    const pops = STACK_POPS[op.code] as number
    this.#stack.flush(pops)
    const bottom = this.#stack.height - pops
    this.#stack.pushAddress(bottom)
    for (let i = 1; i <= pops; i++) this.#stack.pushAddress(this.#stack.height - i)
    this.#code.call(functionOf(name))
    this.#stack.drop(pops)
    this.#stack.pushInMemory(1)
  }

  /** Pushes an address from a fixed place in memory. */
  pushAddress(place: number): void {
    this.#stack.pushAddress(this.#stack.height)
    this.#code.i32(place).call(functionOf('pushAddress'))
    this.#stack.pushInMemory(1)
  }
}
