// BLAKE2b compression (RFC 7693) with four state words in two vectors. EIP-152 charges 1 gas per round.

/** 16 state words, then 16 message words, little-endian as in the precompile's input. */
const STATE: usize = memory.data(128, 16)
const MESSAGE: usize = memory.data(128, 16)

/** Message schedule: ten permutations of 16 words, repeated cyclically. */
// prettier-ignore
const SCHEDULE: usize = memory.data<u8>([
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
  14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3,
  11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4,
  7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8,
  9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13,
  2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9,
  12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11,
  13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10,
  6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5,
  10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0,
])

/** Address of the state, which the caller fills before and reads after the rounds. */
export function blake2State(): usize {
  return STATE
}

export function blake2Message(): usize {
  return MESSAGE
}

/** Runs rounds `first` up to but excluding `end` on the state. */
export function blake2Rounds(first: u32, end: u32): void {
  let a0 = v128.load(STATE, 0)
  let a1 = v128.load(STATE, 16)
  let b0 = v128.load(STATE, 32)
  let b1 = v128.load(STATE, 48)
  let c0 = v128.load(STATE, 64)
  let c1 = v128.load(STATE, 80)
  let d0 = v128.load(STATE, 96)
  let d1 = v128.load(STATE, 112)
  for (let round = first; round < end; round++) {
    const s: usize = SCHEDULE + ((round % 10) << 4)
    // column step
    a0 = i64x2.add(i64x2.add(a0, b0), pair(s, 0, 2))
    a1 = i64x2.add(i64x2.add(a1, b1), pair(s, 4, 6))
    d0 = rotate32(v128.xor(d0, a0))
    d1 = rotate32(v128.xor(d1, a1))
    c0 = i64x2.add(c0, d0)
    c1 = i64x2.add(c1, d1)
    b0 = rotate24(v128.xor(b0, c0))
    b1 = rotate24(v128.xor(b1, c1))
    a0 = i64x2.add(i64x2.add(a0, b0), pair(s, 1, 3))
    a1 = i64x2.add(i64x2.add(a1, b1), pair(s, 5, 7))
    d0 = rotate16(v128.xor(d0, a0))
    d1 = rotate16(v128.xor(d1, a1))
    c0 = i64x2.add(c0, d0)
    c1 = i64x2.add(c1, d1)
    b0 = rotate63(v128.xor(b0, c0))
    b1 = rotate63(v128.xor(b1, c1))
    // Rotates the rows by 1, 2 and 3 so that the diagonals become columns.
    let turned = v128.shuffle<i64>(b0, b1, 1, 2)
    b1 = v128.shuffle<i64>(b1, b0, 1, 2)
    b0 = turned
    turned = c0
    c0 = c1
    c1 = turned
    turned = v128.shuffle<i64>(d1, d0, 1, 2)
    d1 = v128.shuffle<i64>(d0, d1, 1, 2)
    d0 = turned
    a0 = i64x2.add(i64x2.add(a0, b0), pair(s, 8, 10))
    a1 = i64x2.add(i64x2.add(a1, b1), pair(s, 12, 14))
    d0 = rotate32(v128.xor(d0, a0))
    d1 = rotate32(v128.xor(d1, a1))
    c0 = i64x2.add(c0, d0)
    c1 = i64x2.add(c1, d1)
    b0 = rotate24(v128.xor(b0, c0))
    b1 = rotate24(v128.xor(b1, c1))
    a0 = i64x2.add(i64x2.add(a0, b0), pair(s, 9, 11))
    a1 = i64x2.add(i64x2.add(a1, b1), pair(s, 13, 15))
    d0 = rotate16(v128.xor(d0, a0))
    d1 = rotate16(v128.xor(d1, a1))
    c0 = i64x2.add(c0, d0)
    c1 = i64x2.add(c1, d1)
    b0 = rotate63(v128.xor(b0, c0))
    b1 = rotate63(v128.xor(b1, c1))
    // rotate back
    turned = v128.shuffle<i64>(b1, b0, 1, 2)
    b1 = v128.shuffle<i64>(b0, b1, 1, 2)
    b0 = turned
    turned = c0
    c0 = c1
    c1 = turned
    turned = v128.shuffle<i64>(d0, d1, 1, 2)
    d1 = v128.shuffle<i64>(d1, d0, 1, 2)
    d0 = turned
  }
  v128.store(STATE, a0, 0)
  v128.store(STATE, a1, 16)
  v128.store(STATE, b0, 32)
  v128.store(STATE, b1, 48)
  v128.store(STATE, c0, 64)
  v128.store(STATE, c1, 80)
  v128.store(STATE, d0, 96)
  v128.store(STATE, d1, 112)
}

/** Two message words, at schedule positions `first` and `second`. */
@inline
function pair(schedule: usize, first: usize, second: usize): v128 {
  const low = v128.load64_zero(MESSAGE + (<usize>load<u8>(schedule + first) << 3))
  return v128.load_lane<i64>(MESSAGE + (<usize>load<u8>(schedule + second) << 3), low, 1)
}

@inline
function rotate32(x: v128): v128 {
  return v128.shuffle<i32>(x, x, 1, 0, 3, 2)
}

@inline
function rotate24(x: v128): v128 {
  return v128.shuffle<i8>(x, x, 3, 4, 5, 6, 7, 0, 1, 2, 11, 12, 13, 14, 15, 8, 9, 10)
}

@inline
function rotate16(x: v128): v128 {
  return v128.shuffle<i16>(x, x, 1, 2, 3, 0, 5, 6, 7, 4)
}

@inline
function rotate63(x: v128): v128 {
  return v128.or(i64x2.add(x, x), i64x2.shr_u(x, 63))
}
