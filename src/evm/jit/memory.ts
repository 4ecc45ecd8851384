import type { Arithmetic } from './arithmetic.ts'
import { type Code, SIMD, WASM } from './encoder.ts'
import { inLocal, isConstant, isZero, type Limb, type Value, valueOf, ZERO } from './limbs.ts'
import type { RuntimeCalls } from './runtimecalls.ts'
import { AT, BASE, FRAME, MEMORY, MEMORY_SIZE, type Stack, VECTOR } from './stack.ts'
import { functionOf } from './imports.ts'
import { F_CALLER, F_INPUT, F_INPUT_SIZE } from '../runtime/frame.ts'

/** Constant offsets below this skip the check of the upper limbs; far below what gas can pay for. */
const NEAR_OFFSET_MAX = 1 << 24

/** Access to big-endian words in memory, input and frame record. */
export class MemoryAccess {
  readonly #code: Code
  readonly #stack: Stack
  readonly #arithmetic: Arithmetic
  readonly #runtime: RuntimeCalls
  /** memory size guaranteed so far */
  #known = 0

  constructor(code: Code, stack: Stack, arithmetic: Arithmetic, runtime: RuntimeCalls) {
    this.#code = code
    this.#stack = stack
    this.#arithmetic = arithmetic
    this.#runtime = runtime
  }

  /**
   * Expands memory to `size` bytes at an offset that was popped `above` words ago. Returns the local and offset for memory instructions.
   */
  #ensureMemory(offset: Value, above: number, size: number): { readonly local: number; readonly offset: number } {
    const code = this.#code
    const [low, ...high] = offset.limbs
    const near = isConstant(offset) && high.every(isZero) && low.high === 0 && low.low >= 0 && low.low < NEAR_OFFSET_MAX ? low.low : null
    if (near !== null) {
      if (this.#known < near + size) {
        code
          .get(MEMORY_SIZE)
          .i32(near + size)
          .op(WASM.i32LtU)
          .if()
        this.#grow(offset, above, size)
        code.end()
        this.#known = near + size
      }
      return { local: MEMORY, offset: near }
    }
    if (!high.every(isZero)) this.#arithmetic.pushOr(high)
    this.#stack.pushLimb(low)
    code.i64(32).op(WASM.i64ShrU)
    if (!high.every(isZero)) code.op(WASM.i64Or)
    code.i64(0).op(WASM.i64Ne)
    this.#stack.pushLimb(low)
    code.i64(size).op(WASM.i64Add).get(MEMORY_SIZE).op(WASM.i64ExtendU).op(WASM.i64GtU).op(WASM.i32Or)
    code.if()
    this.#grow(offset, above, size)
    code.end()
    this.#stack.pushLimb(low)
    code.op(WASM.i32Wrap).get(MEMORY).op(WASM.i32Add).set(AT)
    return { local: AT, offset: 0 }
  }

  #grow(offset: Value, above: number, size: number): void {
    const at = this.#stack.height + above
    this.#stack.write(offset, at)
    this.#runtime.storeGas()
    this.#stack.pushAddress(at)
    this.#code.i64(size).call(functionOf('resizeMemoryFixed')).op(WASM.i32Eqz).if().return().end()
    this.#runtime.loadGas()
    this.#runtime.loadMemorySize()
  }

  /** 32 big-endian bytes to limbs. */
  #readBytes(local: number, offset: number): Value {
    const half = (place: number): [Limb, Limb] => {
      this.#code
        .get(local)
        .simdMemory(SIMD.load, offset + place)
        .reverse(VECTOR)
        .set(VECTOR)
      return [this.#lane(0), this.#lane(1)]
    }
    const [low, high] = [half(16), half(0)]
    return valueOf([...low, ...high])
  }

  #lane(lane: number): Limb {
    this.#code.get(VECTOR).lane(SIMD.extract64, lane)
    return this.#stack.popToLocal()
  }

  #writeBytes({ limbs: [a, b, c, d] }: Value, local: number, offset: number): void {
    const half = (low: Limb, high: Limb, place: number) => {
      this.#code.get(local)
      this.#vector(low, high)
      this.#code.simdMemory(SIMD.store, offset + place)
    }
    half(c, d, 0)
    half(a, b, 16)
  }

  /** Two limbs as a vector, most significant byte first. */
  #vector(low: Limb, high: Limb): void {
    if (low.local < 0 && high.local < 0) {
      this.#code.simd(SIMD.const)
      for (const half of [high.high, high.low, low.high, low.low])
        for (let shift = 24; shift >= 0; shift -= 8) this.#code.u8((half >>> shift) & 0xff)
      return
    }
    this.#stack.pushLimb(low)
    this.#code.simd(SIMD.splat64)
    this.#stack.pushLimb(high)
    this.#code.lane(SIMD.replace64, 1).reverse(VECTOR)
  }

  /** MLOAD */
  load(): void {
    const offset = this.#stack.pop()
    const { local, offset: at } = this.#ensureMemory(offset, 0, 32)
    this.#stack.push(this.#readBytes(local, at))
  }

  /** MSTORE */
  store(): void {
    const [offset, value] = [this.#stack.pop(), this.#stack.pop()]
    const { local, offset: at } = this.#ensureMemory(offset, 1, 32)
    this.#writeBytes(value, local, at)
  }

  /** MSTORE8 */
  storeByte(): void {
    const [offset, value] = [this.#stack.pop(), this.#stack.pop()]
    const { local, offset: at } = this.#ensureMemory(offset, 1, 1)
    this.#code.get(local)
    this.#stack.pushLimb(value.limbs[0])
    this.#code.op(WASM.i32Wrap).memory(WASM.i32Store8, at)
  }

  /** CALLDATALOAD; the runtime handles reads across the end of the input. */
  callData(): void {
    const stack = this.#stack
    const code = this.#code
    const offset = stack.pop()
    const at = stack.height
    const [low, ...high] = offset.limbs
    const result = [stack.newLocal(), stack.newLocal(), stack.newLocal(), stack.newLocal()] as const
    if (!high.every(isZero)) this.#arithmetic.pushOr(high)
    stack.pushLimb(low)
    code.i64(32).op(WASM.i64ShrU)
    if (!high.every(isZero)) code.op(WASM.i64Or)
    code.i64(0).op(WASM.i64Ne)
    stack.pushLimb(low)
    code.i64(32).op(WASM.i64Add).get(FRAME).memory(WASM.i64Load32u, F_INPUT_SIZE).op(WASM.i64GtU).op(WASM.i32Or)
    code.if()
    stack.write(offset, at)
    stack.pushAddress(at)
    code.call(functionOf('opCallDataLoad'))
    for (const [index, local] of result.entries())
      code
        .get(BASE)
        .memory(WASM.i64Load, 32 * at + 8 * index)
        .set(local)
    code.else()
    stack.pushLimb(low)
    code.op(WASM.i32Wrap).get(FRAME).memory(WASM.i32Load, F_INPUT).op(WASM.i32Add).set(AT)
    const { limbs } = this.#readBytes(AT, 0)
    for (const [index, local] of result.entries()) {
      stack.pushLimb(limbs[index] as Limb) // same length
      code.set(local)
    }
    code.end()
    const [a, b, c, d] = result
    stack.push(valueOf([inLocal(a), inLocal(b), inLocal(c), inLocal(d)]))
  }

  /** CALLER: the frame record has 20 bytes; bytes read before them are masked. */
  caller(): void {
    this.#code
      .get(FRAME)
      .simdMemory(SIMD.load, F_CALLER + 4)
      .reverse(VECTOR)
      .set(VECTOR)
    const [low, middle] = [this.#lane(0), this.#lane(1)]
    this.#code
      .get(FRAME)
      .simdMemory(SIMD.load, F_CALLER - 12)
      .reverse(VECTOR)
      .lane(SIMD.extract64, 0)
    this.#code.i64(-1, 0).op(WASM.i64And)
    this.#stack.push(valueOf([low, middle, this.#stack.popToLocal(), ZERO]))
  }
}
