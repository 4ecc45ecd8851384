// Arithmetic on values in limbs. Each function emits code and returns the resulting value. Locals of limbs are assigned once.
import { type Code, WASM } from './encoder.ts'
import { constant, inLocal, isOnes, isZero, type Limb, ONES, small, type Value, valueOf, ZERO } from './limbs.ts'
import type { Stack } from './stack.ts'

type Limbs = [Limb, Limb, Limb, Limb]

export class Arithmetic {
  readonly #code: Code
  readonly #stack: Stack

  constructor(code: Code, stack: Stack) {
    this.#code = code
    this.#stack = stack
  }

  add(a: Value, b: Value): Value {
    const sum: Limbs = [ZERO, ZERO, ZERO, ZERO]
    let carry: Limb = ZERO
    for (let i = 0; i < 4; i++) {
      const [x, y] = isZero(at(a, i)) ? [at(b, i), at(a, i)] : [at(a, i), at(b, i)]
      if (isZero(y)) {
        if (isZero(carry) || isZero(x)) {
          sum[i] = isZero(x) ? carry : x
          carry = ZERO
          continue
        }
        sum[i] = this.#two(x, carry, WASM.i64Add)
        carry = i === 3 ? ZERO : this.#compare(sum[i] as Limb, carry)
        continue
      }
      const part = this.#two(x, y, WASM.i64Add)
      const over = i === 3 ? ZERO : this.#compare(part, x)
      if (isZero(carry)) {
        sum[i] = part
        carry = over
      } else {
        sum[i] = this.#two(part, carry, WASM.i64Add)
        carry = i === 3 ? ZERO : this.#either(over, this.#compare(sum[i] as Limb, carry))
      }
    }
    return valueOf(sum)
  }

  sub(a: Value, b: Value): Value {
    const difference: Limbs = [ZERO, ZERO, ZERO, ZERO]
    let borrow: Limb = ZERO
    for (let i = 0; i < 4; i++) {
      const [x, y] = [at(a, i), at(b, i)]
      if (isZero(y)) {
        if (isZero(borrow)) {
          difference[i] = x
          continue
        }
        difference[i] = this.#two(x, borrow, WASM.i64Sub)
        borrow = i === 3 ? ZERO : this.#compare(x, borrow)
        continue
      }
      const part = this.#two(x, y, WASM.i64Sub)
      const under = i === 3 ? ZERO : this.#compare(x, y)
      if (isZero(borrow)) {
        difference[i] = part
        borrow = under
      } else {
        difference[i] = this.#two(part, borrow, WASM.i64Sub)
        borrow = i === 3 ? ZERO : this.#either(under, this.#compare(part, borrow))
      }
    }
    return valueOf(difference)
  }

  lessThan(a: Value, b: Value, signed: boolean): Value {
    const code = this.#code
    let isFirst = true
    for (let i = 0; i < 4; i++) {
      const [x, y] = [at(a, i), at(b, i)]
      if (isZero(x) && isZero(y)) continue
      const less = signed && i === 3 ? WASM.i64LtS : WASM.i64LtU
      if (isFirst) {
        this.#pair(x, y).op(less)
        isFirst = false
        continue
      }
      this.#pair(x, y).op(WASM.i64Eq).op(WASM.i32And)
      this.#pair(x, y).op(less).op(WASM.i32Or)
    }
    if (isFirst) return small(ZERO, true)
    return this.#flag(code)
  }

  equal(a: Value, b: Value): Value {
    const code = this.#code
    let isFirst = true
    for (let i = 0; i < 4; i++) {
      const [x, y] = [at(a, i), at(b, i)]
      if (isZero(x) && isZero(y)) continue
      if (isZero(y)) this.#stack.pushLimb(x)
      else if (isZero(x)) this.#stack.pushLimb(y)
      else this.#pair(x, y).op(WASM.i64Xor)
      if (!isFirst) code.op(WASM.i64Or)
      isFirst = false
    }
    if (isFirst) return small(constant(1, 0), true)
    return this.#flag(code.op(WASM.i64Eqz))
  }

  isZero(a: Value): Value {
    this.pushOr(a.limbs)
    return this.#flag(this.#code.op(WASM.i64Eqz))
  }

  /** Pushes the bitwise or of the limbs on the wasm stack. */
  pushOr(limbs: readonly Limb[]): void {
    const some = limbs.filter((limb) => !isZero(limb))
    if (some.length === 0) this.#code.i64(0)
    for (const [index, limb] of some.entries()) {
      this.#stack.pushLimb(limb)
      if (index > 0) this.#code.op(WASM.i64Or)
    }
  }

  /** Pushes a non-zero i32 if the value is non-zero. */
  pushTruth(a: Value): void {
    this.pushOr(a.limbs)
    if (a.isBool) this.#code.op(WASM.i32Wrap)
    else this.#code.i64(0).op(WASM.i64Ne)
  }

  and(a: Value, b: Value): Value {
    return this.#each(a, b, (x, y) => {
      if (isZero(x) || isZero(y)) return ZERO
      if (isOnes(x)) return y
      return isOnes(y) ? x : this.#two(x, y, WASM.i64And)
    })
  }

  or(a: Value, b: Value): Value {
    return this.#each(a, b, (x, y) => {
      if (isOnes(x) || isOnes(y)) return ONES
      if (isZero(x)) return y
      return isZero(y) ? x : this.#two(x, y, WASM.i64Or)
    })
  }

  xor(a: Value, b: Value): Value {
    return this.#each(a, b, (x, y) => {
      if (isZero(x)) return y
      return isZero(y) ? x : this.#two(x, y, WASM.i64Xor)
    })
  }

  not(a: Value): Value {
    return this.#each(a, a, (x) => (x.local < 0 ? constant(~x.low, ~x.high) : this.#two(x, ONES, WASM.i64Xor)))
  }

  /** `bits` below 256 */
  shl({ limbs }: Value, bits: number): Value {
    const [whole, rest] = [bits >> 6, bits & 63]
    const limb = (i: number) => this.#shifted(limbs[i - whole], limbs[i - whole - 1], rest, WASM.i64Shl, WASM.i64ShrU)
    return valueOf([limb(0), limb(1), limb(2), limb(3)])
  }

  shr({ limbs }: Value, bits: number): Value {
    const [whole, rest] = [bits >> 6, bits & 63]
    const limb = (i: number) => this.#shifted(limbs[i + whole], limbs[i + whole + 1], rest, WASM.i64ShrU, WASM.i64Shl)
    return valueOf([limb(0), limb(1), limb(2), limb(3)])
  }

  /** `bits` up to 256: all sign bits */
  sar({ limbs }: Value, bits: number): Value {
    const [whole, rest] = [bits >> 6, bits & 63]
    const sign = this.#by(limbs[3], 63, WASM.i64ShrS)
    const limb = (i: number) => {
      const from = i + whole
      if (from > 3) return sign
      if (rest === 0) return limbs[from] as Limb
      if (from === 3) return this.#by(limbs[3], rest, WASM.i64ShrS)
      return this.#shifted(limbs[from], limbs[from + 1], rest, WASM.i64ShrU, WASM.i64Shl)
    }
    return valueOf([limb(0), limb(1), limb(2), limb(3)])
  }

  /** Byte `index` below 32, counted from the most significant. */
  byteAt({ limbs }: Value, index: number): Value {
    const place = 31 - index
    return small(this.#two(this.#by(limbs[place >> 3] as Limb, 8 * (place & 7), WASM.i64ShrU), constant(0xff, 0), WASM.i64And))
  }

  /** `byte` below 31, counted from the least significant. */
  signExtend({ limbs }: Value, byte: number): Value {
    const [top, unused] = [byte >> 3, 56 - 8 * (byte & 7)]
    const limb = unused === 0 ? (limbs[top] as Limb) : this.#by(this.#by(limbs[top] as Limb, unused, WASM.i64Shl), unused, WASM.i64ShrS)
    const sign = this.#by(limb, 63, WASM.i64ShrS)
    const extended = limbs.map((each, i) => (i < top ? each : i === top ? limb : sign))
    return valueOf(extended as Limbs) // same length
  }

  /** Pushes the upper 64 bits of the product of two limbs. */
  pushUpperProduct(x: Limb, y: Limb): void {
    const LOW = constant(-1, 0)
    const [xl, yl] = [this.#two(x, LOW, WASM.i64And), this.#two(y, LOW, WASM.i64And)]
    const [xh, yh] = [this.#by(x, 32, WASM.i64ShrU), this.#by(y, 32, WASM.i64ShrU)]
    this.#pair(xh, yl).op(WASM.i64Mul)
    this.#pair(xl, yl).op(WASM.i64Mul).i64(32).op(WASM.i64ShrU).op(WASM.i64Add)
    const cross = this.#stack.popToLocal()
    this.#pair(xl, yh).op(WASM.i64Mul)
    this.#pair(cross, LOW).op(WASM.i64And).op(WASM.i64Add)
    const other = this.#stack.popToLocal()
    this.#pair(xh, yh).op(WASM.i64Mul)
    this.#stack.pushLimb(cross)
    this.#code.i64(32).op(WASM.i64ShrU).op(WASM.i64Add)
    this.#stack.pushLimb(other)
    this.#code.i64(32).op(WASM.i64ShrU).op(WASM.i64Add)
  }

  #each(a: Value, b: Value, one: (x: Limb, y: Limb) => Limb): Value {
    const limb = (i: number) => one(at(a, i), at(b, i))
    return valueOf([limb(0), limb(1), limb(2), limb(3)], a.isBool && b.isBool && a !== b)
  }

  #shifted(main: Limb | undefined, other: Limb | undefined, bits: number, op: number, back: number): Limb {
    const [x, y] = [main ?? ZERO, other ?? ZERO]
    if (bits === 0) return x
    const moved = this.#by(x, bits, op)
    if (isZero(y)) return moved
    const filled = this.#by(y, 64 - bits, back)
    return isZero(x) ? filled : this.#two(moved, filled, WASM.i64Or)
  }

  #by(x: Limb, bits: number, op: number): Limb {
    return isZero(x) || bits === 0 ? x : this.#two(x, constant(bits, 0), op)
  }

  #two(x: Limb, y: Limb, op: number): Limb {
    this.#pair(x, y).op(op)
    return this.#stack.popToLocal()
  }

  /** 1 when x < y, as a limb */
  #compare(x: Limb, y: Limb): Limb {
    this.#pair(x, y).op(WASM.i64LtU).op(WASM.i64ExtendU)
    return this.#stack.popToLocal()
  }

  #either(x: Limb, y: Limb): Limb {
    return isZero(x) ? y : isZero(y) ? x : this.#two(x, y, WASM.i64Or)
  }

  #pair(x: Limb, y: Limb): Code {
    this.#stack.pushLimb(x)
    this.#stack.pushLimb(y)
    return this.#code
  }

  #flag(code: Code): Value {
    const local = this.#stack.newLocal()
    code.op(WASM.i64ExtendU).set(local)
    return small(inLocal(local), true)
  }
}

function at({ limbs }: Value, index: number): Limb {
  return limbs[index] as Limb // 0 to 3
}
