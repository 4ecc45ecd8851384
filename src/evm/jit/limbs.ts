// Values held outside of memory: four limbs of 64 bits, least significant first, each a constant or a local.

/** `local` is negative for a constant with the signed 32-bit halves `low` and `high`. */
export interface Limb {
  readonly local: number
  readonly low: number
  readonly high: number
}

export interface Value {
  readonly limbs: readonly [Limb, Limb, Limb, Limb]
  /** true: 0 or 1 */
  readonly isBool: boolean
}

export const ZERO: Limb = { local: -1, low: 0, high: 0 }
export const ONES: Limb = { local: -1, low: -1, high: -1 }

export function constant(low: number, high: number): Limb {
  return low === 0 && high === 0 ? ZERO : { local: -1, low: low | 0, high: high | 0 }
}

export function inLocal(local: number): Limb {
  return { local, low: 0, high: 0 }
}

export function isZero(limb: Limb): boolean {
  return limb.local < 0 && limb.low === 0 && limb.high === 0
}

export function isOnes(limb: Limb): boolean {
  return limb.local < 0 && limb.low === -1 && limb.high === -1
}

export function isConstant({ limbs: [a, b, c, d] }: Value): boolean {
  return a.local < 0 && b.local < 0 && c.local < 0 && d.local < 0
}

export function valueOf(limbs: Value['limbs'], isBool = false): Value {
  return { limbs, isBool }
}

/** A value of one limb. */
export function small(limb: Limb, isBool = false): Value {
  return { limbs: [limb, ZERO, ZERO, ZERO], isBool }
}

export function fromNumber(value: number): Value {
  return small(constant(value | 0, Math.floor(value / 2 ** 32)))
}

/** PUSH data, padded with zeros at the end of the code. */
export function fromData(code: Uint8Array, at: number, size: number): Value {
  const half = (index: number): number => {
    let word = 0
    for (let i = 0; i < 4; i++) {
      const place = size - 1 - 4 * index - i
      if (place >= 0) word |= (code[at + place] ?? 0) << (8 * i)
    }
    return word
  }
  return valueOf([constant(half(0), half(1)), constant(half(2), half(3)), constant(half(4), half(5)), constant(half(6), half(7))])
}

const ALL = (1n << 256n) - 1n
const LOW = 0xffff_ffffn

/** `value` must be constant. */
export function toBigint({ limbs }: Value): bigint {
  return limbs.reduceRight((sum, { low, high }) => (((sum << 32n) | BigInt(high >>> 0)) << 32n) | BigInt(low >>> 0), 0n)
}

export function fromBigint(number: bigint): Value {
  const half = (index: number) => Number((number >> BigInt(32 * index)) & LOW) | 0
  return valueOf([constant(half(0), half(1)), constant(half(2), half(3)), constant(half(4), half(5)), constant(half(6), half(7))])
}

const bool = (is: boolean) => (is ? 1n : 0n)

/** Constant folding, top of the stack first. Solidity computes masks as (1 << 160) - 1. */
export const CONSTANT_FOLDS: ReadonlyMap<number, (a: bigint, b: bigint) => bigint> = new Map([
  [0x01, (a, b) => (a + b) & ALL],
  [0x02, (a, b) => (a * b) & ALL],
  [0x03, (a, b) => (a - b) & ALL],
  [0x04, (a, b) => (b === 0n ? 0n : a / b)],
  [0x06, (a, b) => (b === 0n ? 0n : a % b)],
  [0x10, (a, b) => bool(a < b)],
  [0x11, (a, b) => bool(a > b)],
  [0x14, (a, b) => bool(a === b)],
  [0x16, (a, b) => a & b],
  [0x17, (a, b) => a | b],
  [0x18, (a, b) => a ^ b],
  [0x1b, (a, b) => (a > 255n ? 0n : (b << a) & ALL)],
  [0x1c, (a, b) => (a > 255n ? 0n : b >> a)],
])
