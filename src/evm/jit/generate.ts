import { Arithmetic } from './arithmetic.ts'
import { type Code, I32, I64, SIMD, V128, WASM, Writer } from './encoder.ts'
import {
  FOLDED,
  fromBigint,
  fromData,
  fromNumber,
  inLocal,
  isConstant,
  isZero,
  type Limb,
  small,
  toBigint,
  type Value,
  valueOf,
  ZERO,
} from './limbs.ts'
import { dataSize, GIVES, type OpcodeRules, seesGas, TAKES } from './opcodes.ts'
import type { Chain } from './chains.ts'
import type { Op } from './parts.ts'
import { AT, BASE, COUNT, FRAME, GAS, MEMORY, MEMORY_SIZE, SP, Stack, VECTOR } from './stack.ts'
import { functionOf, globalOf, IMPORTED_FUNCTIONS } from './surface.ts'
import { F_BASE, F_CALLER, F_INPUT, F_INPUT_SIZE, F_VALUE } from '../runtime/frame.ts'
import {
  BASE_FEE,
  BLOB_BASE_FEE,
  CHAIN_ID,
  COINBASE,
  GAS_LIMIT,
  GAS_PRICE,
  NUMBER,
  ORIGIN,
  OUT_OF_GAS,
  RANDOM,
  REVERT,
  SUCCESS,
  TIMESTAMP,
} from '../runtime/layout.ts'

/** What all functions of one module share. */
export interface Unit {
  readonly code: Uint8Array
  readonly rules: OpcodeRules
  /** by the address of its first op: index of the part, which is that of its function */
  readonly parts: ReadonlyMap<number, number>
  /** one function's code after the other */
  readonly scratch: Code
}

const STACK_BYTES = 32 * 1_024
/** Memory that a constant offset may lie in without a look at the rest of the word; far below what gas buys. */
const NEAR = 1 << 24

/** @returns the body of the function that does what `part` does */
export function generate(part: Chain, unit: Unit): Uint8Array {
  return new Generator(part, unit).run()
}

class Generator {
  readonly #code: Code
  readonly #stack: Stack
  readonly #arithmetic: Arithmetic
  readonly #part: Chain
  readonly #unit: Unit
  /** memory that the frame is known to have */
  #known = 0
  #isOver = false

  constructor(part: Chain, unit: Unit) {
    this.#part = part
    this.#unit = unit
    this.#code = unit.scratch
    this.#code.clear()
    this.#stack = new Stack(this.#code, part.needs)
    this.#arithmetic = new Arithmetic(this.#code, this.#stack)
  }

  run(): Uint8Array {
    const { ops, continues, next } = this.#part
    this.#begin()
    for (const [index, op] of ops.entries()) {
      if (this.#isOver) break
      this.#stack.settle()
      this.#emit(op)
      if (!this.#isOver && endsSegment(op) && index + 1 < ops.length) this.#pay(index + 1)
    }
    if (continues && !this.#isOver) this.#goTo(next)
    this.#code.end()
    const body = new Writer(this.#code.length + 12)
    body.u32(3).u32(3).u8(I32).u32(1).u8(V128).u32(this.#stack.locals).u8(I64)
    return body.raw(this.#code.bytes).bytes
  }

  // --- gas -----------------------------------------------------------------------------------------------------------------------

  /** At the beginning whoever cannot pay, or whose stack does not fit, is the interpreter's: it halts exactly where it has to. */
  #begin(): void {
    const { needs, grows, pc } = this.#part
    const code = this.#code
    const cost = this.#costFrom(0)
    const looksAtStack = needs > 0 || grows > 0
    const room = STACK_BYTES - 32 * (needs + grows)
    if (room < 0) {
      code.get(SP).get(GAS).i32(pc).call(functionOf('bail')).return()
      this.#isOver = true
      return
    }
    if (looksAtStack) {
      code
        .get(SP)
        .get(FRAME)
        .memory(WASM.i32Load, F_BASE)
        .op(WASM.i32Sub)
        .i32(32 * needs)
        .op(WASM.i32Sub)
      code.i32(room).op(WASM.i32GtU)
    }
    if (cost > 0) {
      code.get(GAS).i64(cost).op(WASM.i64LtS)
      if (looksAtStack) code.op(WASM.i32Or)
    }
    if (looksAtStack || cost > 0) {
      code.if().get(SP).get(GAS).i32(pc).call(functionOf('bail')).return().end()
    }
    if (cost > 0) code.get(GAS).i64(cost).op(WASM.i64Sub).set(GAS)
    code.get(SP)
    if (needs !== 1) code.i32(32 * (needs - 1)).op(WASM.i32Sub)
    code.set(BASE)
  }

  /** Pays for the ops up to the next one that sees the gas, or may leave. */
  #pay(from: number): void {
    const cost = this.#costFrom(from)
    if (cost === 0) return
    this.#code.get(GAS).i64(cost).op(WASM.i64Sub).tee(GAS).i64(0).op(WASM.i64LtS)
    this.#code.if()
    this.#haltWith(OUT_OF_GAS)
    this.#code.end()
  }

  #costFrom(from: number): number {
    const { ops } = this.#part
    const { rules } = this.#unit
    let cost = 0
    for (let i = from; i < ops.length; i++) {
      const op = ops[i] as Op // below its length
      if (this.#isLeftOut(op.code)) break
      cost += rules.gas(op.code)
      if (endsSegment(op)) break
    }
    return cost
  }

  #haltWith(reason: number): void {
    this.#code.get(GAS).globalSet(globalOf('gasLeft')).i32(reason).globalSet(globalOf('halted')).return()
  }

  /** The interpreter does these: what is not defined, and SELFDESTRUCT. */
  #isLeftOut(opcode: number): boolean {
    return opcode === 0xff || !this.#unit.rules.isDefined(opcode)
  }

  /** The interpreter goes on at this op; what was paid for it already comes back. */
  #leave(pc: number, paid: number): void {
    this.#stack.flush()
    this.#stack.top()
    this.#code.get(GAS)
    if (paid > 0) this.#code.i64(paid).op(WASM.i64Add)
    this.#code.i32(pc).call(functionOf('bail')).return()
  }

  // --- jumps -----------------------------------------------------------------------------------------------------------------------

  /** On to another function, with everything on the stack in memory. */
  #goTo(index: number): void {
    this.#stack.flush()
    this.#code.get(FRAME)
    this.#stack.top()
    this.#code
      .get(GAS)
      .get(MEMORY)
      .get(MEMORY_SIZE)
      .returnCall(IMPORTED_FUNCTIONS + index)
  }

  /** Every loop goes back somewhere. */
  #burn(): void {
    this.#code.globalGet(globalOf('fuel')).i32(1).op(WASM.i32Sub).tee(COUNT).globalSet(globalOf('fuel'))
    this.#code.get(COUNT).i32(0).op(WASM.i32LtS).if().call(functionOf('goOn')).op(WASM.i32Eqz).if().return().end().end()
  }

  /** `popped`: what the jump has taken from the stack, the top first. */
  #jump(op: Op, target: Value, popped: readonly Value[]): void {
    if (!isConstant(target)) return this.#jumpAnywhere(op, target, popped)
    const to = toBigint(target)
    const index = to < BigInt(this.#unit.code.length) ? this.#unit.parts.get(Number(to)) : undefined
    if (index === undefined || this.#unit.code[Number(to)] !== 0x5b) return this.#giveBack(op, popped)
    if (Number(to) <= op.pc) this.#burn()
    this.#goTo(index)
  }

  #giveBack(op: Op, popped: readonly Value[]): void {
    for (const value of popped.toReversed()) this.#stack.push(value)
    this.#leave(op.pc, this.#unit.rules.gas(op.code))
  }

  #jumpAnywhere(op: Op, target: Value, popped: readonly Value[]): void {
    const code = this.#code
    const { limbs } = target
    const [low, ...high] = limbs
    this.#stack.flush()
    code.block()
    if (!high.every(isZero)) {
      this.#arithmetic.any(high)
      code.i64(0).op(WASM.i64Ne).brIf(0)
    }
    this.#stack.limb(low)
    code.i64(this.#unit.code.length).op(WASM.i64GeU).brIf(0)
    this.#stack.limb(low)
    code.op(WASM.i32Wrap).i32(6).op(WASM.i32ShrU).set(COUNT)
    code.globalGet(globalOf('jumps')).get(COUNT).i32(3).op(WASM.i32Shl).op(WASM.i32Add).memory(WASM.i64Load, 0)
    const marks = this.#stack.keep()
    this.#stack.limb(marks)
    this.#stack.limb(low)
    code.op(WASM.i64ShrU).op(WASM.i32Wrap).i32(1).op(WASM.i32And).op(WASM.i32Eqz).brIf(0)
    code.get(FRAME)
    this.#stack.top()
    code.get(GAS).get(MEMORY).get(MEMORY_SIZE)
    code.globalGet(globalOf('ranks')).get(COUNT).i32(1).op(WASM.i32Shl).op(WASM.i32Add).memory(WASM.i32Load16u, 0)
    this.#stack.limb(marks)
    code.i64(-1)
    this.#stack.limb(low)
    code.op(WASM.i64Shl).i64(-1).op(WASM.i64Xor).op(WASM.i64And).op(WASM.i64Popcnt).op(WASM.i32Wrap).op(WASM.i32Add)
    this.#burn()
    code.op(WASM.returnCallIndirect).u32(0).u32(0)
    code.end()
    this.#giveBack(op, popped)
  }

  #jumpIf(op: Op): void {
    const [target, condition] = [this.#stack.pop(), this.#stack.pop()]
    const popped = [target, condition]
    if (isConstant(condition)) {
      if (toBigint(condition) === 0n) return
      this.#jump(op, target, popped)
      this.#isOver = true
      return
    }
    this.#arithmetic.truth(condition)
    this.#code.if()
    this.#stack.aside(() => this.#jump(op, target, popped))
    this.#code.end()
  }

  // --- the runtime -------------------------------------------------------------------------------------------------------------------

  #giveGas(): void {
    this.#code.get(GAS).globalSet(globalOf('gasLeft'))
  }

  #takeGas(): void {
    this.#code.globalGet(globalOf('gasLeft')).set(GAS)
  }

  #takeMemory(): void {
    this.#code.globalGet(globalOf('memorySize')).set(MEMORY_SIZE)
  }

  /** An opcode of the runtime's that may halt the frame. */
  #ask(op: Op, name: string, extra: number | null = null): void {
    const [takes, gives] = [TAKES[op.code] as number, GIVES[op.code] as number]
    this.#stack.flush(takes)
    this.#giveGas()
    this.#stack.top()
    if (extra !== null) this.#code.i32(extra)
    this.#code.call(functionOf(name)).op(WASM.i32Eqz).if().return().end()
    this.#takeGas()
    this.#takeMemory()
    this.#stack.drop(takes)
    this.#stack.pushWritten(gives)
  }

  /** One that cannot fail, and works where the top is. */
  #change(op: Op, name: string): void {
    const takes = TAKES[op.code] as number
    this.#stack.flush(takes)
    this.#stack.drop(takes)
    this.#stack.address(this.#stack.height)
    this.#code.call(functionOf(name))
    this.#stack.pushWritten(1)
  }

  #call(op: Op, name: string): void {
    this.#stack.flush(TAKES[op.code])
    this.#giveGas()
    this.#code.i32(op.code)
    this.#stack.top()
    this.#stack.drop(TAKES[op.code] as number)
    this.#stack.forgetAbove()
    this.#code.call(functionOf(name)).op(WASM.i32Eqz).if().return().end()
    this.#takeGas()
    this.#takeMemory()
    this.#stack.pushWritten(1)
  }

  /** Arithmetic that the runtime does on words in memory: its result, then its operands from the top down. */
  #word(op: Op, name: string): void {
    const takes = TAKES[op.code] as number
    this.#stack.flush(takes)
    const bottom = this.#stack.height - takes
    this.#stack.address(bottom)
    for (let i = 1; i <= takes; i++) this.#stack.address(this.#stack.height - i)
    this.#code.call(functionOf(name))
    this.#stack.drop(takes)
    this.#stack.pushWritten(1)
  }

  // --- arithmetic ----------------------------------------------------------------------------------------------------------------------

  #binary(op: Op, make: (a: Value, b: Value) => Value): void {
    const [a, b] = [this.#stack.pop(), this.#stack.pop()]
    const folded = this.#folded(op, a, b)
    this.#stack.push(folded ?? make(a, b))
  }

  #folded({ code }: Op, a: Value, b: Value): Value | null {
    const fold = FOLDED.get(code)
    return fold !== undefined && isConstant(a) && isConstant(b) ? fromBigint(fold(toBigint(a), toBigint(b))) : null
  }

  /** The words to operate on when at most one of them is not a constant that decides how; else the runtime does it. */
  #byConstant(op: Op, name: string, make: (constant: bigint, x: Value) => Value): void {
    const top = this.#stack.peek(0)
    if (!isConstant(top)) return this.#word(op, name)
    this.#binary(op, (a, b) => make(toBigint(a), b))
  }

  #multiply(op: Op): void {
    const [a, b] = [this.#stack.peek(0), this.#stack.peek(1)]
    const power = log2(a) ?? log2(b)
    if (this.#folded(op, a, b) !== null) return this.#binary(op, (x) => x)
    if (power !== null) return this.#binary(op, (x, y) => this.#arithmetic.shl(log2(x) === null ? x : y, power))
    this.#quickly(op, 'mul', false, (x, y) => {
      this.#stack.limb(x)
      this.#stack.limb(y)
      this.#code.op(WASM.i64Mul)
      const low = this.#stack.keep()
      this.#arithmetic.upperProduct(x, y)
      return [low, this.#stack.keep()]
    })
  }

  #divide(op: Op): void {
    const [a, b] = [this.#stack.peek(0), this.#stack.peek(1)]
    if (this.#folded(op, a, b) !== null) return this.#binary(op, (x) => x)
    const power = log2(b)
    if (power !== null) return this.#binary(op, (x) => this.#arithmetic.shr(x, power))
    this.#quickly(op, 'div', true, (x, y) => [this.#limbs(x, y, WASM.i64DivU), ZERO])
  }

  #remainder(op: Op): void {
    const [a, b] = [this.#stack.peek(0), this.#stack.peek(1)]
    if (this.#folded(op, a, b) !== null) return this.#binary(op, (x) => x)
    if (log2(b) !== null) return this.#binary(op, (x, y) => this.#arithmetic.and(x, fromBigint(toBigint(y) - 1n)))
    this.#quickly(op, 'mod', true, (x, y) => [this.#limbs(x, y, WASM.i64RemU), ZERO])
  }

  #limbs(x: Limb, y: Limb, op: number): Limb {
    this.#stack.limb(x)
    this.#stack.limb(y)
    this.#code.op(op)
    return this.#stack.keep()
  }

  /** With numbers of one limb right here; the runtime does the others, and what divides by zero. */
  #quickly(op: Op, name: string, needsDivisor: boolean, quick: (x: Limb, y: Limb) => [Limb, Limb]): void {
    const stack = this.#stack
    const [a, b] = [stack.peek(0), stack.peek(1)]
    const high = [...a.limbs.slice(1), ...b.limbs.slice(1)]
    if (high.some((limb) => limb.local < 0 && !isZero(limb))) return this.#word(op, name)
    const code = this.#code
    const [divisor] = b.limbs
    const checks = needsDivisor && divisor.local >= 0
    if (needsDivisor && isZero(divisor)) return this.#word(op, name)
    const result = [stack.local(), stack.local(), stack.local(), stack.local()] as const
    this.#arithmetic.any(high)
    code.i64(0).op(WASM.i64Ne)
    if (checks) {
      stack.limb(divisor)
      code.op(WASM.i64Eqz).op(WASM.i32Or)
    }
    code.if()
    const [top, bottom] = [stack.height - 1, stack.height - 2]
    stack.aside(() => {
      stack.flush(2)
      stack.address(bottom)
      stack.address(top)
      stack.address(bottom)
      code.call(functionOf(name))
      for (const [index, local] of result.entries())
        code
          .get(BASE)
          .memory(WASM.i64Load, 32 * bottom + 8 * index)
          .set(local)
    })
    code.else()
    const limbs = quick(a.limbs[0], divisor)
    for (const [index, local] of result.entries()) {
      stack.limb(limbs[index] ?? ZERO)
      code.set(local)
    }
    code.end()
    stack.drop(2)
    stack.forgetAbove()
    stack.push(valueOf([inLocal(result[0]), inLocal(result[1]), inLocal(result[2]), inLocal(result[3])]))
  }

  // --- memory ---------------------------------------------------------------------------------------------------------------------------

  /**
   * Makes sure of `size` bytes of memory at an offset that was popped `above` words ago. Answers the local and the offset
   * for instructions to reach them by.
   */
  #reach(offset: Value, above: number, size: number): { readonly local: number; readonly offset: number } {
    const code = this.#code
    const [low, ...high] = offset.limbs
    const near = isConstant(offset) && high.every(isZero) && low.high === 0 && low.low >= 0 && low.low < NEAR ? low.low : null
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
    if (!high.every(isZero)) this.#arithmetic.any(high)
    this.#stack.limb(low)
    code.i64(32).op(WASM.i64ShrU)
    if (!high.every(isZero)) code.op(WASM.i64Or)
    code.i64(0).op(WASM.i64Ne)
    this.#stack.limb(low)
    code.i64(size).op(WASM.i64Add).get(MEMORY_SIZE).op(WASM.i64ExtendU).op(WASM.i64GtU).op(WASM.i32Or)
    code.if()
    this.#grow(offset, above, size)
    code.end()
    this.#stack.limb(low)
    code.op(WASM.i32Wrap).get(MEMORY).op(WASM.i32Add).set(AT)
    return { local: AT, offset: 0 }
  }

  #grow(offset: Value, above: number, size: number): void {
    const at = this.#stack.height + above
    this.#stack.write(offset, at)
    this.#giveGas()
    this.#stack.address(at)
    this.#code.i64(size).call(functionOf('rangeOf')).op(WASM.i32Eqz).if().return().end()
    this.#takeGas()
    this.#takeMemory()
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
    return this.#stack.keep()
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

  /** Two limbs, most significant byte first. */
  #vector(low: Limb, high: Limb): void {
    if (low.local < 0 && high.local < 0) {
      this.#code.simd(SIMD.const)
      for (const half of [high.high, high.low, low.high, low.low])
        for (let shift = 24; shift >= 0; shift -= 8) this.#code.u8((half >>> shift) & 0xff)
      return
    }
    this.#stack.limb(low)
    this.#code.simd(SIMD.splat64)
    this.#stack.limb(high)
    this.#code.lane(SIMD.replace64, 1).reverse(VECTOR)
  }

  #load(): void {
    const offset = this.#stack.pop()
    const { local, offset: at } = this.#reach(offset, 0, 32)
    this.#stack.push(this.#readBytes(local, at))
  }

  #store(): void {
    const [offset, value] = [this.#stack.pop(), this.#stack.pop()]
    const { local, offset: at } = this.#reach(offset, 1, 32)
    this.#writeBytes(value, local, at)
  }

  #storeByte(): void {
    const [offset, value] = [this.#stack.pop(), this.#stack.pop()]
    const { local, offset: at } = this.#reach(offset, 1, 1)
    this.#code.get(local)
    this.#stack.limb(value.limbs[0])
    this.#code.op(WASM.i32Wrap).memory(WASM.i32Store8, at)
  }

  // --- the message ----------------------------------------------------------------------------------------------------------------------

  /** CALLDATALOAD: what lies whole within the input is read here. */
  #callData(): void {
    const stack = this.#stack
    const code = this.#code
    const offset = stack.pop()
    const at = stack.height
    const [low, ...high] = offset.limbs
    const result = [stack.local(), stack.local(), stack.local(), stack.local()] as const
    if (!high.every(isZero)) this.#arithmetic.any(high)
    stack.limb(low)
    code.i64(32).op(WASM.i64ShrU)
    if (!high.every(isZero)) code.op(WASM.i64Or)
    code.i64(0).op(WASM.i64Ne)
    stack.limb(low)
    code.i64(32).op(WASM.i64Add).get(FRAME).memory(WASM.i64Load32u, F_INPUT_SIZE).op(WASM.i64GtU).op(WASM.i32Or)
    code.if()
    stack.write(offset, at)
    stack.address(at)
    code.call(functionOf('opCallDataLoad'))
    for (const [index, local] of result.entries())
      code
        .get(BASE)
        .memory(WASM.i64Load, 32 * at + 8 * index)
        .set(local)
    code.else()
    stack.limb(low)
    code.op(WASM.i32Wrap).get(FRAME).memory(WASM.i32Load, F_INPUT).op(WASM.i32Add).set(AT)
    const { limbs } = this.#readBytes(AT, 0)
    for (const [index, local] of result.entries()) {
      stack.limb(limbs[index] as Limb) // as many
      code.set(local)
    }
    code.end()
    const [a, b, c, d] = result
    stack.push(valueOf([inLocal(a), inLocal(b), inLocal(c), inLocal(d)]))
  }

  /** CALLER: 20 bytes of the frame's record. What is read before them is cut off. */
  #caller(): void {
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
    this.#stack.push(valueOf([low, middle, this.#stack.keep(), ZERO]))
  }

  /** A word at a fixed place. */
  #fixed(address: number): void {
    this.#code.i32(0).set(AT)
    this.#stack.push(this.#stack.readWord(AT, address))
  }

  #address(place: number): void {
    this.#stack.address(this.#stack.height)
    this.#code.i32(place).call(functionOf('pushAddress'))
    this.#stack.pushWritten(1)
  }

  /** Takes a number of 32 bits from wasm's stack. */
  #pushSmall(): void {
    this.#code.op(WASM.i64ExtendU)
    this.#stack.push(small(this.#stack.keep()))
  }

  #return(reason: number): void {
    this.#stack.flush(2)
    this.#giveGas()
    this.#stack.top()
    this.#code.i32(reason).call(functionOf('opReturn')).return()
    this.#isOver = true
  }

  #stop(): void {
    this.#code.i32(0).globalSet(globalOf('returnSize'))
    this.#haltWith(SUCCESS)
    this.#isOver = true
  }

  // --- one op ------------------------------------------------------------------------------------------------------------------------------

  #emit(op: Op): void {
    const { code, pc } = op
    if (this.#isLeftOut(code)) {
      this.#leave(pc, 0)
      this.#isOver = true
    } else if (code >= 0x5f && code <= 0x7f) this.#stack.push(fromData(this.#unit.code, pc + 1, dataSize(code)))
    else if (code >= 0x80 && code <= 0x8f) this.#stack.push(this.#stack.peek(code - 0x80))
    else if (code >= 0x90 && code <= 0x9f) this.#stack.swap(code - 0x8f)
    else if (code >= 0xa0 && code <= 0xa4) this.#ask(op, 'opLog', code - 0xa0)
    else {
      const emit = Generator.#EMITTERS[code]
      if (emit === undefined) throw new RangeError(`no code for opcode ${code}`)
      emit(this, op)
    }
  }

  static readonly #EMITTERS: Readonly<Record<number, (it: Generator, op: Op) => void>> = {
    0x00: (it) => it.#stop(),
    0x01: (it, op) => it.#binary(op, (a, b) => it.#arithmetic.add(a, b)),
    0x02: (it, op) => it.#multiply(op),
    0x03: (it, op) => it.#binary(op, (a, b) => it.#arithmetic.sub(a, b)),
    0x04: (it, op) => it.#divide(op),
    0x05: (it, op) => it.#word(op, 'sdiv'),
    0x06: (it, op) => it.#remainder(op),
    0x07: (it, op) => it.#word(op, 'smod'),
    0x08: (it, op) => it.#word(op, 'addmod'),
    0x09: (it, op) => it.#word(op, 'mulmod'),
    0x0a: (it, op) => it.#ask(op, 'opExp'),
    0x0b: (it, op) => it.#byConstant(op, 'signextend', (k, x) => (k > 30n ? x : it.#arithmetic.signExtend(x, Number(k)))),
    0x10: (it, op) => it.#binary(op, (a, b) => it.#arithmetic.lessThan(a, b, false)),
    0x11: (it, op) => it.#binary(op, (a, b) => it.#arithmetic.lessThan(b, a, false)),
    0x12: (it, op) => it.#binary(op, (a, b) => it.#arithmetic.lessThan(a, b, true)),
    0x13: (it, op) => it.#binary(op, (a, b) => it.#arithmetic.lessThan(b, a, true)),
    0x14: (it, op) => it.#binary(op, (a, b) => it.#arithmetic.equal(a, b)),
    0x15: (it) => it.#stack.push(it.#arithmetic.isZero(it.#stack.pop())),
    0x16: (it, op) => it.#binary(op, (a, b) => it.#arithmetic.and(a, b)),
    0x17: (it, op) => it.#binary(op, (a, b) => it.#arithmetic.or(a, b)),
    0x18: (it, op) => it.#binary(op, (a, b) => it.#arithmetic.xor(a, b)),
    0x19: (it) => it.#stack.push(it.#arithmetic.not(it.#stack.pop())),
    0x1a: (it, op) => it.#byConstant(op, 'byteAt', (i, x) => (i > 31n ? fromNumber(0) : it.#arithmetic.byteAt(x, Number(i)))),
    0x1b: (it, op) => it.#byConstant(op, 'shl', (n, x) => (n > 255n ? fromNumber(0) : it.#arithmetic.shl(x, Number(n)))),
    0x1c: (it, op) => it.#byConstant(op, 'shr', (n, x) => (n > 255n ? fromNumber(0) : it.#arithmetic.shr(x, Number(n)))),
    0x1d: (it, op) => it.#byConstant(op, 'sar', (n, x) => it.#arithmetic.sar(x, n > 255n ? 256 : Number(n))),
    0x1e: (it, op) => it.#word(op, 'clz'),
    0x20: (it, op) => it.#ask(op, 'opKeccak'),
    0x30: (it, op) => it.#change(op, 'pushSelf'),
    0x31: (it, op) => it.#ask(op, 'opBalance'),
    0x32: (it) => it.#address(ORIGIN),
    0x33: (it) => it.#caller(),
    0x34: (it) => it.#stack.push(it.#stack.readWord(FRAME, F_VALUE)),
    0x35: (it) => it.#callData(),
    0x36: (it) => {
      it.#code.get(FRAME).memory(WASM.i32Load, F_INPUT_SIZE)
      it.#pushSmall()
    },
    0x37: (it, op) => it.#ask(op, 'opCallDataCopy'),
    0x38: (it) => it.#stack.push(fromNumber(it.#unit.code.length)),
    0x39: (it, op) => it.#ask(op, 'opCodeCopy'),
    0x3a: (it) => it.#fixed(GAS_PRICE),
    0x3b: (it, op) => it.#ask(op, 'opExtCodeSize'),
    0x3c: (it, op) => it.#ask(op, 'opExtCodeCopy'),
    0x3d: (it) => {
      it.#code.globalGet(globalOf('returnSize'))
      it.#pushSmall()
    },
    0x3e: (it, op) => it.#ask(op, 'opReturnDataCopy'),
    0x3f: (it, op) => it.#ask(op, 'opExtCodeHash'),
    0x40: (it, op) => it.#change(op, 'opBlockHash'),
    0x41: (it) => it.#address(COINBASE),
    0x42: (it) => it.#fixed(TIMESTAMP),
    0x43: (it) => it.#fixed(NUMBER),
    0x44: (it) => it.#fixed(RANDOM),
    0x45: (it) => it.#fixed(GAS_LIMIT),
    0x46: (it) => it.#fixed(CHAIN_ID),
    0x47: (it, op) => it.#change(op, 'pushSelfBalance'),
    0x48: (it) => it.#fixed(BASE_FEE),
    0x49: (it, op) => it.#change(op, 'opBlobHash'),
    0x4a: (it) => it.#fixed(BLOB_BASE_FEE),
    0x50: (it) => it.#stack.drop(1),
    0x51: (it) => it.#load(),
    0x52: (it) => it.#store(),
    0x53: (it) => it.#storeByte(),
    0x54: (it, op) => it.#ask(op, 'opSload'),
    0x55: (it, op) => it.#ask(op, 'opSstore'),
    0x56: (it, op) => {
      if (op.to !== undefined) {
        it.#stack.drop(1)
        if (op.to <= op.pc) it.#burn()
        return
      }
      const target = it.#stack.pop()
      it.#jump(op, target, [target])
      it.#isOver = true
    },
    0x57: (it, op) => it.#jumpIf(op),
    0x58: (it, { pc }) => it.#stack.push(fromNumber(pc)),
    0x59: (it) => {
      it.#code.get(MEMORY_SIZE)
      it.#pushSmall()
    },
    0x5a: (it) => {
      it.#code.get(GAS)
      it.#stack.push(small(it.#stack.keep()))
    },
    0x5b: () => {},
    0x5c: (it, op) => it.#change(op, 'opTload'),
    0x5d: (it, op) => it.#ask(op, 'opTstore'),
    0x5e: (it, op) => it.#ask(op, 'opMcopy'),
    0xf0: (it, op) => it.#call(op, 'createOut'),
    0xf1: (it, op) => it.#call(op, 'callOut'),
    0xf2: (it, op) => it.#call(op, 'callOut'),
    0xf3: (it) => it.#return(SUCCESS),
    0xf4: (it, op) => it.#call(op, 'callOut'),
    0xf5: (it, op) => it.#call(op, 'createOut'),
    0xfa: (it, op) => it.#call(op, 'callOut'),
    0xfd: (it) => it.#return(REVERT),
  }
}

function endsSegment({ code }: Op): boolean {
  return code === 0x57 || seesGas(code)
}

/** Of a constant power of two; null for everything else. */
function log2(value: Value): number | null {
  if (!isConstant(value)) return null
  const number = toBigint(value)
  return number !== 0n && (number & (number - 1n)) === 0n ? number.toString(2).length - 1 : null
}
