// Modular exponentiation for MODEXP (EIP-198) of operands up to 16 limbs of 32 bits, least significant first. For an odd modulus the caller
// passes operands in Montgomery form; without a modulus the result is modulo 2^(32 * limbs).

const LIMBS_MAX: usize = 16
const WIDTH: usize = LIMBS_MAX << 2

const MODULUS: usize = memory.data(64, 16)
const POWER: usize = memory.data(64, 16)
/** Powers 0 to 15 of the base. */
const TABLE: usize = memory.data(1024, 16)
/** Accumulator, one limb longer than the operands. */
const PRODUCT: usize = memory.data(80, 16)
const EXPONENT: usize = memory.data(4096, 16)

let limbs: usize = 0
/** -1 / MODULUS modulo 2^32; 0 without a modulus */
let inverse: u32 = 0

export function modexpModulus(): usize {
  return MODULUS
}

/** Address of the result. */
export function modexpPower(): usize {
  return POWER
}

/** Address of two numbers of WIDTH bytes: one and the base. */
export function modexpTable(): usize {
  return TABLE
}

export function modexpExponent(): usize {
  return EXPONENT
}

/** Starts a computation with the result one. `odd`: there is a modulus. */
export function modexpBegin(count: usize, odd: bool): void {
  limbs = count
  inverse = odd ? minusInverse(load<u32>(MODULUS)) : 0
  memory.copy(POWER, TABLE, WIDTH)
  for (let i: usize = 2; i < 16; i++) multiply(TABLE + i * WIDTH, TABLE + (i - 1) * WIDTH, TABLE + WIDTH)
}

/** Processes `length` bytes of the exponent, most significant first. */
export function modexpContinue(length: usize): void {
  for (let i: usize = 0; i < length; i++) {
    const byte = load<u8>(EXPONENT + i)
    raise(byte >> 4)
    raise(byte & 15)
  }
}

/** Converts the result out of Montgomery form, if there is a modulus. */
export function modexpEnd(): void {
  if (inverse == 0) return
  memory.fill(TABLE, 0, WIDTH)
  store<u32>(TABLE, 1)
  multiply(POWER, POWER, TABLE)
}

@inline
function raise(digit: u8): void {
  multiply(POWER, POWER, POWER)
  multiply(POWER, POWER, POWER)
  multiply(POWER, POWER, POWER)
  multiply(POWER, POWER, POWER)
  if (digit != 0) multiply(POWER, POWER, TABLE + <usize>digit * WIDTH)
}

function multiply(out: usize, a: usize, b: usize): void {
  if (inverse != 0) multiplyMontgomery(out, a, b)
  else multiplyLow(out, a, b)
}

/** a * b / 2^(32 * limbs) modulo MODULUS, with product and reduction interleaved row by row. */
function multiplyMontgomery(out: usize, a: usize, b: usize): void {
  const bytes = limbs << 2
  memory.fill(PRODUCT, 0, bytes + 4)
  for (let i: usize = 0; i < bytes; i += 4) {
    const factor = <u64>load<u32>(a + i)
    let sum = <u64>load<u32>(PRODUCT) + factor * <u64>load<u32>(b)
    const quotient = <u64>(<u32>sum * inverse)
    let carry = sum >> 32
    let reduced = (<u64>(<u32>sum) + quotient * <u64>load<u32>(MODULUS)) >> 32
    for (let j: usize = 4; j < bytes; j += 4) {
      sum = <u64>load<u32>(PRODUCT + j) + factor * <u64>load<u32>(b + j) + carry
      carry = sum >> 32
      reduced += <u64>(<u32>sum) + quotient * <u64>load<u32>(MODULUS + j)
      store<u32>(PRODUCT + j - 4, <u32>reduced)
      reduced >>= 32
    }
    sum = carry + reduced + <u64>load<u32>(PRODUCT + bytes)
    store<u32>(PRODUCT + bytes - 4, <u32>sum)
    store<u32>(PRODUCT + bytes, <u32>(sum >> 32))
  }
  subtractOnce(out)
}

/** PRODUCT, minus MODULUS if it is not smaller. */
function subtractOnce(out: usize): void {
  const bytes = limbs << 2
  let borrow: u64 = 0
  for (let j: usize = 0; j < bytes; j += 4) {
    const difference = <u64>load<u32>(PRODUCT + j) - <u64>load<u32>(MODULUS + j) - borrow
    store<u32>(out + j, <u32>difference)
    borrow = difference >> 63
  }
  if (load<u32>(PRODUCT + bytes) < <u32>borrow) memory.copy(out, PRODUCT, bytes)
}

/** a * b modulo 2^(32 * limbs). */
function multiplyLow(out: usize, a: usize, b: usize): void {
  const bytes = limbs << 2
  memory.fill(PRODUCT, 0, bytes)
  for (let i: usize = 0; i < bytes; i += 4) {
    const factor = <u64>load<u32>(a + i)
    let carry: u64 = 0
    for (let j: usize = 0; i + j < bytes; j += 4) {
      carry += <u64>load<u32>(PRODUCT + i + j) + factor * <u64>load<u32>(b + j)
      store<u32>(PRODUCT + i + j, <u32>carry)
      carry >>= 32
    }
  }
  memory.copy(out, PRODUCT, bytes)
}

/** -1 / x modulo 2^32 for odd x by Newton's method: each step doubles the correct bits, initially three. */
function minusInverse(x: u32): u32 {
  let y = x
  for (let i = 0; i < 4; i++) y *= 2 - x * y
  return 0 - y
}
