import { Arithmetic } from './arithmetic.ts'
import { type Code, I32, I64, V128, WASM, Writer } from './encoder.ts'
import { fromData, fromNumber, isConstant, isZero, small, toBigint, type Value } from './limbs.ts'
import { dataSize, type OpcodeRules, readsGas } from './opcodes.ts'
import type { Superblock } from './superblocks.ts'
import { MemoryAccess } from './memory.ts'
import { Operators } from './operators.ts'
import type { Op } from './basicblocks.ts'
import { RuntimeCalls } from './runtimecalls.ts'
import { AT, BASE, COUNT, FRAME, GAS, MEMORY, MEMORY_SIZE, SP, Stack } from './stack.ts'
import { FIRST_BLOCK, functionOf, globalOf } from './imports.ts'
import { F_BASE, F_INPUT_SIZE, F_VALUE } from '../runtime/frame.ts'
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

/** Data shared by all functions of a module. */
interface CompilationUnit {
  readonly code: Uint8Array
  readonly rules: OpcodeRules
  /** index of a block, equal to the index of its function, by the address of its first op */
  readonly blockIndices: ReadonlyMap<number, number>
  /** buffer for one function at a time */
  readonly scratch: Code
}

const STACK_BYTES = 32 * 1_024

/** Returns the body of the function of `block`. */
export function generateFunction(block: Superblock, unit: CompilationUnit): Uint8Array {
  return new FunctionGenerator(block, unit).run()
}

class FunctionGenerator {
  readonly #code: Code
  readonly #stack: Stack
  readonly #arithmetic: Arithmetic
  readonly #block: Superblock
  readonly #unit: CompilationUnit
  readonly #runtime: RuntimeCalls
  readonly #operators: Operators
  readonly #memory: MemoryAccess
  #hasEnded = false

  constructor(block: Superblock, unit: CompilationUnit) {
    this.#block = block
    this.#unit = unit
    this.#code = unit.scratch
    this.#code.clear()
    this.#stack = new Stack(this.#code, block.stackRequired)
    this.#arithmetic = new Arithmetic(this.#code, this.#stack)
    this.#runtime = new RuntimeCalls(this.#code, this.#stack)
    this.#operators = new Operators(this.#code, this.#stack, this.#arithmetic, this.#runtime)
    this.#memory = new MemoryAccess(this.#code, this.#stack, this.#arithmetic, this.#runtime)
  }

  run(): Uint8Array {
    const { ops, fallsThrough, next } = this.#block
    this.#emitPrologue()
    for (const [index, op] of ops.entries()) {
      if (this.#hasEnded) break
      this.#stack.reclaimLocals()
      this.#emit(op)
      if (!this.#hasEnded && endsSegment(op) && index + 1 < ops.length) this.#chargeSegment(index + 1)
    }
    if (fallsThrough && !this.#hasEnded) this.#tailCall(next)
    this.#code.end()
    const body = new Writer(this.#code.length + 12)
    body.u32(3).u32(3).u8(I32).u32(1).u8(V128).u32(this.#stack.locals).u8(I64)
    return body.raw(this.#code.bytes).bytes
  }

  // --- gas -----------------------------------------------------------------------------------------------------------------------

  /** Bails out at the start if gas or stack do not suffice for the first segment; the interpreter then halts at the exact opcode. */
  #emitPrologue(): void {
    const { stackRequired, stackGrowth, pc } = this.#block
    const code = this.#code
    const cost = this.#costFrom(0)
    const looksAtStack = stackRequired > 0 || stackGrowth > 0
    const room = STACK_BYTES - 32 * (stackRequired + stackGrowth)
    if (room < 0) {
      code.get(SP).get(GAS).i32(pc).call(functionOf('bail')).return()
      this.#hasEnded = true
      return
    }
    if (looksAtStack) {
      code
        .get(SP)
        .get(FRAME)
        .memory(WASM.i32Load, F_BASE)
        .op(WASM.i32Sub)
        .i32(32 * stackRequired)
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
    if (stackRequired !== 1) code.i32(32 * (stackRequired - 1)).op(WASM.i32Sub)
    code.set(BASE)
  }

  /** Charges the ops up to the next one that observes the gas or may exit. */
  #chargeSegment(from: number): void {
    const cost = this.#costFrom(from)
    if (cost === 0) return
    this.#code.get(GAS).i64(cost).op(WASM.i64Sub).tee(GAS).i64(0).op(WASM.i64LtS)
    this.#code.if()
    this.#haltWith(OUT_OF_GAS)
    this.#code.end()
  }

  #costFrom(from: number): number {
    const { ops } = this.#block
    const { rules } = this.#unit
    let cost = 0
    for (let i = from; i < ops.length; i++) {
      const op = ops[i] as Op // below its length
      if (this.#isInterpreted(op.code)) break
      cost += rules.gas(op.code)
      if (endsSegment(op)) break
    }
    return cost
  }

  #haltWith(reason: number): void {
    this.#code.get(GAS).globalSet(globalOf('gasLeft')).i32(reason).globalSet(globalOf('frameStatus')).return()
  }

  /** Undefined opcodes and SELFDESTRUCT are left to the interpreter. */
  #isInterpreted(opcode: number): boolean {
    return opcode === 0xff || !this.#unit.rules.isDefined(opcode)
  }

  /** Continues in the interpreter at this op and returns the gas charged for it. */
  #bailOut(pc: number, paid: number): void {
    this.#stack.flush()
    this.#stack.pushTopAddress()
    this.#code.get(GAS)
    if (paid > 0) this.#code.i64(paid).op(WASM.i64Add)
    this.#code.i32(pc).call(functionOf('bail')).return()
  }

  // --- jumps -----------------------------------------------------------------------------------------------------------------------

  /** Calls another function as a tail call, with the stack flushed to memory. */
  #tailCall(index: number): void {
    this.#stack.flush()
    this.#code.get(FRAME)
    this.#stack.pushTopAddress()
    this.#code
      .get(GAS)
      .get(MEMORY)
      .get(MEMORY_SIZE)
      .returnCall(FIRST_BLOCK + index)
  }

  /** Burns as much fuel as the interpreter: 1 per backward jump, plus 1 per 8 bytes of code. */
  #burnFuel(bytes: number): void {
    this.#code
      .globalGet(globalOf('fuel'))
      .i32(1 + (bytes >> 3))
      .op(WASM.i32Sub)
      .tee(COUNT)
      .globalSet(globalOf('fuel'))
    this.#code.get(COUNT).i32(0).op(WASM.i32LtS).if().call(functionOf('refuelOrHalt')).op(WASM.i32Eqz).if().return().end().end()
  }

  /** `popped`: the operands of the jump, top first. */
  #jump(op: Op, target: Value, popped: readonly Value[]): void {
    if (!isConstant(target)) return this.#jumpDynamic(op, target, popped)
    const to = toBigint(target)
    const index = to < BigInt(this.#unit.code.length) ? this.#unit.blockIndices.get(Number(to)) : undefined
    if (index === undefined || this.#unit.code[Number(to)] !== 0x5b) return this.#bailBeforeJump(op, popped)
    if (Number(to) <= op.pc) this.#burnFuel(op.pc - Number(to))
    this.#tailCall(index)
  }

  #bailBeforeJump(op: Op, popped: readonly Value[]): void {
    for (const value of popped.toReversed()) this.#stack.push(value)
    this.#bailOut(op.pc, this.#unit.rules.gas(op.code))
  }

  #jumpDynamic(op: Op, target: Value, popped: readonly Value[]): void {
    const code = this.#code
    const { limbs } = target
    const [low, ...high] = limbs
    this.#stack.flush()
    code.block()
    if (!high.every(isZero)) {
      this.#arithmetic.pushOr(high)
      code.i64(0).op(WASM.i64Ne).brIf(0)
    }
    this.#stack.pushLimb(low)
    code.i64(this.#unit.code.length).op(WASM.i64GeU).brIf(0)
    this.#stack.pushLimb(low)
    code.op(WASM.i32Wrap).i32(6).op(WASM.i32ShrU).set(COUNT)
    code.globalGet(globalOf('jumps')).get(COUNT).i32(3).op(WASM.i32Shl).op(WASM.i32Add).memory(WASM.i64Load, 0)
    const bitmap = this.#stack.popToLocal()
    this.#stack.pushLimb(bitmap)
    this.#stack.pushLimb(low)
    code.op(WASM.i64ShrU).op(WASM.i32Wrap).i32(1).op(WASM.i32And).op(WASM.i32Eqz).brIf(0)
    code.get(FRAME)
    this.#stack.pushTopAddress()
    code.get(GAS).get(MEMORY).get(MEMORY_SIZE)
    code.globalGet(globalOf('ranks')).get(COUNT).i32(1).op(WASM.i32Shl).op(WASM.i32Add).memory(WASM.i32Load16u, 0)
    this.#stack.pushLimb(bitmap)
    code.i64(-1)
    this.#stack.pushLimb(low)
    code.op(WASM.i64Shl).i64(-1).op(WASM.i64Xor).op(WASM.i64And).op(WASM.i64Popcnt).op(WASM.i32Wrap).op(WASM.i32Add)
    // The distance of a dynamic jump is unknown; the size of this block is charged instead.
    this.#burnFuel(this.#block.ops.length)
    code.op(WASM.returnCallIndirect).u32(0).u32(0)
    code.end()
    this.#bailBeforeJump(op, popped)
  }

  #jumpIf(op: Op): void {
    const [target, condition] = [this.#stack.pop(), this.#stack.pop()]
    const popped = [target, condition]
    if (isConstant(condition)) {
      if (toBigint(condition) === 0n) return
      this.#jump(op, target, popped)
      this.#hasEnded = true
      return
    }
    this.#arithmetic.pushTruth(condition)
    this.#code.if()
    this.#stack.withRestore(() => this.#jump(op, target, popped))
    this.#code.end()
  }

  // --- the message ----------------------------------------------------------------------------------------------------------------------

  /** Pushes a word at a fixed address. */
  #pushWordAt(address: number): void {
    this.#code.i32(0).set(AT)
    this.#stack.push(this.#stack.readWord(AT, address))
  }

  /** Pushes an i32 on the wasm stack as a word. */
  #pushSmall(): void {
    this.#code.op(WASM.i64ExtendU)
    this.#stack.push(small(this.#stack.popToLocal()))
  }

  #return(reason: number): void {
    this.#stack.flush(2)
    this.#runtime.storeGas()
    this.#stack.pushTopAddress()
    this.#code.i32(reason).call(functionOf('opReturn')).return()
    this.#hasEnded = true
  }

  #stop(): void {
    this.#code.i32(0).globalSet(globalOf('returnSize'))
    this.#haltWith(SUCCESS)
    this.#hasEnded = true
  }

  // --- one op ------------------------------------------------------------------------------------------------------------------------------

  #emit(op: Op): void {
    const { code, pc } = op
    if (this.#isInterpreted(code)) {
      this.#bailOut(pc, 0)
      this.#hasEnded = true
    } else if (code >= 0x5f && code <= 0x7f) this.#stack.push(fromData(this.#unit.code, pc + 1, dataSize(code)))
    else if (code >= 0x80 && code <= 0x8f) this.#stack.push(this.#stack.peek(code - 0x80))
    else if (code >= 0x90 && code <= 0x9f) this.#stack.swap(code - 0x8f)
    else if (code >= 0xa0 && code <= 0xa4) this.#runtime.callFallible(op, 'opLog', code - 0xa0)
    else {
      const emit = FunctionGenerator.#EMITTERS[code]
      if (emit === undefined) throw new RangeError(`no code for opcode ${code}`)
      emit(this, op)
    }
  }

  static readonly #EMITTERS: Readonly<Record<number, (it: FunctionGenerator, op: Op) => void>> = {
    0x00: (it) => it.#stop(),
    0x01: (it, op) => it.#operators.binary(op, (a, b) => it.#arithmetic.add(a, b)),
    0x02: (it, op) => it.#operators.multiply(op),
    0x03: (it, op) => it.#operators.binary(op, (a, b) => it.#arithmetic.sub(a, b)),
    0x04: (it, op) => it.#operators.divide(op),
    0x05: (it, op) => it.#runtime.callArithmetic(op, 'sdiv'),
    0x06: (it, op) => it.#operators.remainder(op),
    0x07: (it, op) => it.#runtime.callArithmetic(op, 'smod'),
    0x08: (it, op) => it.#runtime.callArithmetic(op, 'addmod'),
    0x09: (it, op) => it.#runtime.callArithmetic(op, 'mulmod'),
    0x0a: (it, op) => it.#runtime.callFallible(op, 'opExp'),
    0x0b: (it, op) => it.#operators.byConstant(op, 'signextend', (k, x) => (k > 30n ? x : it.#arithmetic.signExtend(x, Number(k)))),
    0x10: (it, op) => it.#operators.binary(op, (a, b) => it.#arithmetic.lessThan(a, b, false)),
    0x11: (it, op) => it.#operators.binary(op, (a, b) => it.#arithmetic.lessThan(b, a, false)),
    0x12: (it, op) => it.#operators.binary(op, (a, b) => it.#arithmetic.lessThan(a, b, true)),
    0x13: (it, op) => it.#operators.binary(op, (a, b) => it.#arithmetic.lessThan(b, a, true)),
    0x14: (it, op) => it.#operators.binary(op, (a, b) => it.#arithmetic.equal(a, b)),
    0x15: (it) => it.#stack.push(it.#arithmetic.isZero(it.#stack.pop())),
    0x16: (it, op) => it.#operators.binary(op, (a, b) => it.#arithmetic.and(a, b)),
    0x17: (it, op) => it.#operators.binary(op, (a, b) => it.#arithmetic.or(a, b)),
    0x18: (it, op) => it.#operators.binary(op, (a, b) => it.#arithmetic.xor(a, b)),
    0x19: (it) => it.#stack.push(it.#arithmetic.not(it.#stack.pop())),
    0x1a: (it, op) => it.#operators.byConstant(op, 'byteAt', (i, x) => (i > 31n ? fromNumber(0) : it.#arithmetic.byteAt(x, Number(i)))),
    0x1b: (it, op) => it.#operators.byConstant(op, 'shl', (n, x) => (n > 255n ? fromNumber(0) : it.#arithmetic.shl(x, Number(n)))),
    0x1c: (it, op) => it.#operators.byConstant(op, 'shr', (n, x) => (n > 255n ? fromNumber(0) : it.#arithmetic.shr(x, Number(n)))),
    0x1d: (it, op) => it.#operators.byConstant(op, 'sar', (n, x) => it.#arithmetic.sar(x, n > 255n ? 256 : Number(n))),
    0x1e: (it, op) => it.#runtime.callArithmetic(op, 'clz'),
    0x20: (it, op) => it.#runtime.callFallible(op, 'opKeccak'),
    0x30: (it, op) => it.#runtime.callInfallible(op, 'pushSelf'),
    0x31: (it, op) => it.#runtime.callFallible(op, 'opBalance'),
    0x32: (it) => it.#runtime.pushAddress(ORIGIN),
    0x33: (it) => it.#memory.caller(),
    0x34: (it) => it.#stack.push(it.#stack.readWord(FRAME, F_VALUE)),
    0x35: (it) => it.#memory.callData(),
    0x36: (it) => {
      it.#code.get(FRAME).memory(WASM.i32Load, F_INPUT_SIZE)
      it.#pushSmall()
    },
    0x37: (it, op) => it.#runtime.callFallible(op, 'opCallDataCopy'),
    0x38: (it) => it.#stack.push(fromNumber(it.#unit.code.length)),
    0x39: (it, op) => it.#runtime.callFallible(op, 'opCodeCopy'),
    0x3a: (it) => it.#pushWordAt(GAS_PRICE),
    0x3b: (it, op) => it.#runtime.callFallible(op, 'opExtCodeSize'),
    0x3c: (it, op) => it.#runtime.callFallible(op, 'opExtCodeCopy'),
    0x3d: (it) => {
      it.#code.globalGet(globalOf('returnSize'))
      it.#pushSmall()
    },
    0x3e: (it, op) => it.#runtime.callFallible(op, 'opReturnDataCopy'),
    0x3f: (it, op) => it.#runtime.callFallible(op, 'opExtCodeHash'),
    0x40: (it, op) => it.#runtime.callInfallible(op, 'opBlockHash'),
    0x41: (it) => it.#runtime.pushAddress(COINBASE),
    0x42: (it) => it.#pushWordAt(TIMESTAMP),
    0x43: (it) => it.#pushWordAt(NUMBER),
    0x44: (it) => it.#pushWordAt(RANDOM),
    0x45: (it) => it.#pushWordAt(GAS_LIMIT),
    0x46: (it) => it.#pushWordAt(CHAIN_ID),
    0x47: (it, op) => it.#runtime.callInfallible(op, 'pushSelfBalance'),
    0x48: (it) => it.#pushWordAt(BASE_FEE),
    0x49: (it, op) => it.#runtime.callInfallible(op, 'opBlobHash'),
    0x4a: (it) => it.#pushWordAt(BLOB_BASE_FEE),
    0x50: (it) => it.#stack.drop(1),
    0x51: (it) => it.#memory.load(),
    0x52: (it) => it.#memory.store(),
    0x53: (it) => it.#memory.storeByte(),
    0x54: (it, op) => it.#runtime.callFallible(op, 'opSload'),
    0x55: (it, op) => it.#runtime.callFallible(op, 'opSstore'),
    0x56: (it, op) => {
      if (op.to !== undefined) {
        it.#stack.drop(1)
        if (op.to <= op.pc) it.#burnFuel(op.pc - op.to)
        return
      }
      const target = it.#stack.pop()
      it.#jump(op, target, [target])
      it.#hasEnded = true
    },
    0x57: (it, op) => it.#jumpIf(op),
    0x58: (it, { pc }) => it.#stack.push(fromNumber(pc)),
    0x59: (it) => {
      it.#code.get(MEMORY_SIZE)
      it.#pushSmall()
    },
    0x5a: (it) => {
      it.#code.get(GAS)
      it.#stack.push(small(it.#stack.popToLocal()))
    },
    0x5b: () => {},
    0x5c: (it, op) => it.#runtime.callInfallible(op, 'opTload'),
    0x5d: (it, op) => it.#runtime.callFallible(op, 'opTstore'),
    0x5e: (it, op) => it.#runtime.callFallible(op, 'opMcopy'),
    0xf0: (it, op) => it.#runtime.call(op, 'createFromCompiled'),
    0xf1: (it, op) => it.#runtime.call(op, 'callFromCompiled'),
    0xf2: (it, op) => it.#runtime.call(op, 'callFromCompiled'),
    0xf3: (it) => it.#return(SUCCESS),
    0xf4: (it, op) => it.#runtime.call(op, 'callFromCompiled'),
    0xf5: (it, op) => it.#runtime.call(op, 'createFromCompiled'),
    0xfa: (it, op) => it.#runtime.call(op, 'callFromCompiled'),
    0xfd: (it) => it.#return(REVERT),
  }
}

function endsSegment({ code }: Op): boolean {
  return code === 0x57 || readsGas(code)
}
