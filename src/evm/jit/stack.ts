import { type Code, WASM } from './encoder.ts'
import { inLocal, type Limb, type Value, valueOf } from './limbs.ts'

/** Parameters and fixed locals of each compiled function. */
export const FRAME = 0
export const SP = 1
export const GAS = 2
export const MEMORY = 3
export const MEMORY_SIZE = 4
/** address of position 0, the deepest stack word that the function uses */
export const BASE = 5
/** temporary address */
export const AT = 6
/** temporary number */
export const COUNT = 7
export const VECTOR = 8
const FIRST_WORD = 9

/** Locals for limbs per function. Each takes 8 bytes of the native stack while callees run. */
const LOCALS_MAX = 144
/** Enough for most operations; others allocate more. */
const LOCALS_PER_OP = 12
const MORE_LOCALS = 24

/**
 * The EVM stack at compile time. Positions count up from the deepest word used. A position is either in memory only or has a value that may
 * not have been written to memory.
 */
export class Stack {
  height: number
  readonly #code: Code
  readonly #slots: (Value | undefined)[] = []
  /** values known to be in memory; only compared by identity */
  #memory: (Value | undefined)[] = []
  #free: number[] = []
  #locals = 0
  /** number of locals at which unused ones are searched for */
  #sweepAt = 2 * MORE_LOCALS

  constructor(code: Code, height: number) {
    this.#code = code
    this.height = height
  }

  /** number of locals for limbs */
  get locals(): number {
    return this.#locals
  }

  /** Called between operations: frees locals that no value uses. */
  reclaimLocals(): void {
    if (this.#free.length >= LOCALS_PER_OP || this.#locals < this.#sweepAt) return
    this.#sweep()
    if (this.#free.length >= LOCALS_PER_OP) return
    this.#sweepAt = this.#locals + MORE_LOCALS
    if (this.#sweepAt <= LOCALS_MAX) return
    this.flush()
    this.#slots.fill(undefined)
    this.#sweep()
  }

  /** Allocates a local for a limb. */
  newLocal(): number {
    return this.#free.pop() ?? FIRST_WORD + this.#locals++
  }

  /** Pops the wasm stack into a new local. */
  popToLocal(): Limb {
    const local = this.newLocal()
    this.#code.set(local)
    return inLocal(local)
  }

  push(value: Value): void {
    this.#slots[this.height++] = value
  }

  /** Pushes words that the runtime has written to memory. */
  pushInMemory(count: number): void {
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

  /** Loads four limbs into new locals. */
  readWord(address: number, offset: number): Value {
    const limb = (index: number) => {
      this.#code.get(address).memory(WASM.i64Load, offset + 8 * index)
      return this.popToLocal()
    }
    return valueOf([limb(0), limb(1), limb(2), limb(3)])
  }

  /** Writes the topmost `count` words to memory, except those already there. */
  flush(count = this.height): void {
    for (let at = this.height - count; at < this.height; at++) {
      const value = this.#slots[at]
      if (value === undefined || this.#memory[at] === value) continue
      this.write(value, at)
      this.#memory[at] = value
    }
  }

  /** Writes a value to a position on a path that is not always taken, so memory counts as unknown afterwards. */
  write({ limbs }: Value, at: number): void {
    for (const [index, limb] of limbs.entries()) {
      this.#code.get(BASE)
      this.pushLimb(limb)
      this.#code.memory(WASM.i64Store, 32 * at + 8 * index)
    }
    this.#memory[at] = undefined
  }

  /** Pushes the address of a position on the wasm stack. */
  pushAddress(at: number): void {
    this.#code.get(BASE)
    if (at !== 0) this.#code.i32(32 * at).op(WASM.i32Add)
  }

  /** Pushes the address of the top, `sp` in the runtime. */
  pushTopAddress(): void {
    this.pushAddress(this.height - 1)
  }

  /** Forgets memory above the top, which callees overwrite. */
  invalidateAbove(): void {
    this.#memory.length = Math.min(this.#memory.length, this.height)
  }

  /** Emits a path that ends the function, then restores the compile-time state. */
  withRestore(emit: () => void): void {
    const [height, slots, memory] = [this.height, [...this.#slots], [...this.#memory]]
    emit()
    this.height = height
    this.#slots.splice(0, this.#slots.length, ...slots)
    this.#memory = memory
  }

  /** Pushes a limb on the wasm stack. */
  pushLimb({ local, low, high }: Limb): void {
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
