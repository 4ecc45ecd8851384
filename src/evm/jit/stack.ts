import { type Code, WASM } from './encoder.ts'
import { inLocal, type Limb, type Value, valueOf } from './limbs.ts'

/** Parameters and fixed locals of every compiled function. */
export const FRAME = 0
export const SP = 1
export const GAS = 2
export const MEMORY = 3
export const MEMORY_SIZE = 4
/** address of the stack's deepest word that the function touches: position 0 */
export const BASE = 5
/** an address at hand */
export const AT = 6
/** a number at hand */
export const COUNT = 7
export const VECTOR = 8
const FIRST_WORD = 9

/** Locals for limbs that one function may have: each takes 8 bytes of the native stack for as long as the function's callees run. */
const LOCALS_MAX = 144
/** Operations seldom need more; those that do get new ones. */
const LOCALS_PER_OP = 12
const MORE_LOCALS = 24

/**
 * The stack of a function under compilation: positions count up from the deepest word that it touches. A position either
 * lies in memory, untouched, or has a value of which memory need not know yet.
 */
export class Stack {
  height: number
  readonly #code: Code
  readonly #slots: (Value | undefined)[] = []
  /** what memory is known to hold; only compared with what should be there */
  #memory: (Value | undefined)[] = []
  #free: number[] = []
  #locals = 0
  /** so many are made before any is looked for that is free again */
  #enough = 2 * MORE_LOCALS

  constructor(code: Code, height: number) {
    this.#code = code
    this.height = height
  }

  /** how many locals for limbs there are */
  get locals(): number {
    return this.#locals
  }

  /** Between two operations: locals that no value has any more are free again. */
  settle(): void {
    if (this.#free.length >= LOCALS_PER_OP || this.#locals < this.#enough) return
    this.#sweep()
    if (this.#free.length >= LOCALS_PER_OP) return
    this.#enough = this.#locals + MORE_LOCALS
    if (this.#enough <= LOCALS_MAX) return
    this.flush()
    this.#slots.fill(undefined)
    this.#sweep()
  }

  /** A new local for a limb. */
  local(): number {
    return this.#free.pop() ?? FIRST_WORD + this.#locals++
  }

  /** Takes what is on wasm's stack into a new local. */
  keep(): Limb {
    const local = this.local()
    this.#code.set(local)
    return inLocal(local)
  }

  push(value: Value): void {
    this.#slots[this.height++] = value
  }

  /** Pushes words that stand in memory already: what the runtime has put there. */
  pushWritten(count: number): void {
    for (let i = 0; i < count; i++) {
      this.#slots[this.height] = undefined
      this.#memory[this.height++] = undefined
    }
  }

  pop(): Value {
    const value = this.peek(0)
    this.drop(1)
    return value
  }

  /** Words that nobody wants to know. */
  drop(count: number): void {
    this.height -= count
    this.#slots.length = Math.min(this.#slots.length, this.height)
  }

  /** The word `depth` below the top. */
  peek(depth: number): Value {
    const at = this.height - 1 - depth
    const known = this.#slots[at]
    if (known !== undefined) return known
    const value = this.readWord(BASE, 32 * at)
    this.#slots[at] = value
    this.#memory[at] = value
    return value
  }

  swap(depth: number): void {
    const [top, other] = [this.peek(0), this.peek(depth)]
    this.#slots[this.height - 1] = other
    this.#slots[this.height - 1 - depth] = top
  }

  /** Four limbs from memory, to new locals. */
  readWord(address: number, offset: number): Value {
    const limb = (index: number) => {
      this.#code.get(address).memory(WASM.i64Load, offset + 8 * index)
      return this.keep()
    }
    return valueOf([limb(0), limb(1), limb(2), limb(3)])
  }

  /** Writes to memory what it does not have yet, of the topmost `count` words. */
  flush(count = this.height): void {
    for (let at = this.height - count; at < this.height; at++) {
      const value = this.#slots[at]
      if (value === undefined || this.#memory[at] === value) continue
      this.write(value, at)
      this.#memory[at] = value
    }
  }

  /** Writes a value to a position and forgets that memory has it: for a path that is not always taken. */
  write({ limbs }: Value, at: number): void {
    for (const [index, limb] of limbs.entries()) {
      this.#code.get(BASE)
      this.limb(limb)
      this.#code.memory(WASM.i64Store, 32 * at + 8 * index)
    }
    this.#memory[at] = undefined
  }

  /** Pushes the address of a position onto wasm's stack. */
  address(at: number): void {
    this.#code.get(BASE)
    if (at !== 0) this.#code.i32(32 * at).op(WASM.i32Add)
  }

  /** That of the top: what the runtime calls `sp`. */
  top(): void {
    this.address(this.height - 1)
  }

  /** Above the top memory holds what others put there. */
  forgetAbove(): void {
    this.#memory.length = Math.min(this.#memory.length, this.height)
  }

  /** Runs `emit` for a path that ends the function: what it changes here is taken back. */
  aside(emit: () => void): void {
    const [height, slots, memory] = [this.height, [...this.#slots], [...this.#memory]]
    emit()
    this.height = height
    this.#slots.splice(0, this.#slots.length, ...slots)
    this.#memory = memory
  }

  /** Pushes a limb onto wasm's stack. */
  limb({ local, low, high }: Limb): void {
    if (local >= 0) this.#code.get(local)
    else this.#code.i64(low, high)
  }

  #sweep(): void {
    const used = new Uint8Array(this.#locals)
    for (const value of this.#slots) {
      if (value === undefined) continue
      for (const { local } of value.limbs) if (local >= 0) used[local - FIRST_WORD] = 1
    }
    this.#free = []
    for (let index = this.#locals - 1; index >= 0; index--) if (used[index] === 0) this.#free.push(FIRST_WORD + index)
  }
}
