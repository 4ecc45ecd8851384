import type { Arithmetic } from './arithmetic.ts'
import { type Code, WASM } from './encoder.ts'
import { CONSTANT_FOLDS, fromBigint, inLocal, isConstant, isZero, type Limb, toBigint, type Value, valueOf, ZERO } from './limbs.ts'
import type { Op } from './basicblocks.ts'
import type { RuntimeCalls } from './runtimecalls.ts'
import { BASE, type Stack } from './stack.ts'
import { functionOf, MULTIPLY } from './imports.ts'

/** Chooses how an operator is computed: at compile time, in limbs, or by the runtime. */
export class Operators {
  readonly #code: Code
  readonly #stack: Stack
  readonly #arithmetic: Arithmetic
  readonly #runtime: RuntimeCalls

  constructor(code: Code, stack: Stack, arithmetic: Arithmetic, runtime: RuntimeCalls) {
    this.#code = code
    this.#stack = stack
    this.#arithmetic = arithmetic
    this.#runtime = runtime
  }

  binary(op: Op, make: (a: Value, b: Value) => Value): void {
    const [a, b] = [this.#stack.pop(), this.#stack.pop()]
    const folded = this.#fold(op, a, b)
    this.#stack.push(folded ?? make(a, b))
  }

  #fold({ code }: Op, a: Value, b: Value): Value | null {
    const fold = CONSTANT_FOLDS.get(code)
    return fold !== undefined && isConstant(a) && isConstant(b) ? fromBigint(fold(toBigint(a), toBigint(b))) : null
  }

  /** Emits inline code if the first operand is constant, else calls the runtime. */
  byConstant(op: Op, name: string, make: (constant: bigint, x: Value) => Value): void {
    const top = this.#stack.peek(0)
    if (!isConstant(top)) return this.#runtime.callArithmetic(op, name)
    this.binary(op, (a, b) => make(toBigint(a), b))
  }

  multiply(op: Op): void {
    const [a, b] = [this.#stack.peek(0), this.#stack.peek(1)]
    const power = log2(a) ?? log2(b)
    if (this.#fold(op, a, b) !== null) return this.binary(op, (x) => x)
    if (power !== null) return this.binary(op, (x, y) => this.#arithmetic.shl(log2(x) === null ? x : y, power))
    this.#stack.drop(2)
    this.#stack.push(this.#product(a, b))
  }

  /** Emits inline code for operands of one limb; for other operands it calls the module's function. */
  #product(a: Value, b: Value): Value {
    const stack = this.#stack
    const code = this.#code
    const result = [stack.newLocal(), stack.newLocal(), stack.newLocal(), stack.newLocal()] as const
    const high = [...a.limbs.slice(1), ...b.limbs.slice(1)]
    const mayBeSmall = high.every((limb) => limb.local >= 0 || isZero(limb))
    const isSmall = high.every(isZero)
    if (mayBeSmall && !isSmall) {
      this.#arithmetic.pushOr(high)
      code.op(WASM.i64Eqz).if()
    }
    if (mayBeSmall) {
      const [x, y] = [a.limbs[0], b.limbs[0]]
      stack.pushLimb(x)
      stack.pushLimb(y)
      code.op(WASM.i64Mul).set(result[0])
      this.#arithmetic.pushUpperProduct(x, y)
      code.set(result[1])
      for (const local of [result[2], result[3]]) code.i64(0).set(local)
    }
    if (mayBeSmall && !isSmall) code.else()
    if (!isSmall) {
      // The function is faster with the shorter operand last.
      for (const { limbs } of lengthOf(a) < lengthOf(b) ? [b, a] : [a, b]) for (const limb of limbs) stack.pushLimb(limb)
      code.call(MULTIPLY)
      for (const local of result.toReversed()) code.set(local)
    }
    if (mayBeSmall && !isSmall) code.end()
    return valueOf([inLocal(result[0]), inLocal(result[1]), isSmall ? ZERO : inLocal(result[2]), isSmall ? ZERO : inLocal(result[3])])
  }

  divide(op: Op): void {
    const [a, b] = [this.#stack.peek(0), this.#stack.peek(1)]
    if (this.#fold(op, a, b) !== null) return this.binary(op, (x) => x)
    const power = log2(b)
    if (power !== null) return this.binary(op, (x) => this.#arithmetic.shr(x, power))
    this.#withSingleLimbPath(op, 'div', (x, y) => this.#limbs(x, y, WASM.i64DivU))
  }

  remainder(op: Op): void {
    const [a, b] = [this.#stack.peek(0), this.#stack.peek(1)]
    if (this.#fold(op, a, b) !== null) return this.binary(op, (x) => x)
    if (log2(b) !== null) return this.binary(op, (x, y) => this.#arithmetic.and(x, fromBigint(toBigint(y) - 1n)))
    this.#withSingleLimbPath(op, 'mod', (x, y) => this.#limbs(x, y, WASM.i64RemU))
  }

  #limbs(x: Limb, y: Limb, op: number): Limb {
    this.#stack.pushLimb(x)
    this.#stack.pushLimb(y)
    this.#code.op(op)
    return this.#stack.popToLocal()
  }

  /** Emits inline code for operands of one limb; for other operands and division by zero it calls the runtime. */
  #withSingleLimbPath(op: Op, name: string, emitSingleLimb: (x: Limb, y: Limb) => Limb): void {
    const stack = this.#stack
    const [a, b] = [stack.peek(0), stack.peek(1)]
    const high = [...a.limbs.slice(1), ...b.limbs.slice(1)]
    if (high.some((limb) => limb.local < 0 && !isZero(limb))) return this.#runtime.callArithmetic(op, name)
    const code = this.#code
    const [divisor] = b.limbs
    const checks = divisor.local >= 0
    if (isZero(divisor)) return this.#runtime.callArithmetic(op, name)
    const result = [stack.newLocal(), stack.newLocal(), stack.newLocal(), stack.newLocal()] as const
    this.#arithmetic.pushOr(high)
    code.i64(0).op(WASM.i64Ne)
    if (checks) {
      stack.pushLimb(divisor)
      code.op(WASM.i64Eqz).op(WASM.i32Or)
    }
    code.if()
    const [top, bottom] = [stack.height - 1, stack.height - 2]
    stack.withRestore(() => {
      stack.flush(2)
      stack.pushAddress(bottom)
      stack.pushAddress(top)
      stack.pushAddress(bottom)
      code.call(functionOf(name))
      for (const [index, local] of result.entries())
        code
          .get(BASE)
          .memory(WASM.i64Load, 32 * bottom + 8 * index)
          .set(local)
    })
    code.else()
    stack.pushLimb(emitSingleLimb(a.limbs[0], divisor))
    code.set(result[0])
    for (const local of result.slice(1)) code.i64(0).set(local)
    code.end()
    stack.drop(2)
    stack.invalidateAbove()
    stack.push(valueOf([inLocal(result[0]), inLocal(result[1]), inLocal(result[2]), inLocal(result[3])]))
  }
}

/** Maximum number of limbs. */
function lengthOf({ limbs }: Value): number {
  return 1 + limbs.findLastIndex((limb) => !isZero(limb))
}

/** The exponent of a constant power of two, else null. */
function log2(value: Value): number | null {
  if (!isConstant(value)) return null
  const number = toBigint(value)
  return number !== 0n && (number & (number - 1n)) === 0n ? number.toString(2).length - 1 : null
}
