import { BLAKE2_ROUNDS_PER_SLICE } from './limits.ts'

/** BLAKE2b's initial values, low word first. */
const IV = Uint32Array.of(
  0xf3bcc908,
  0x6a09e667,
  0x84caa73b,
  0xbb67ae85,
  0xfe94f82b,
  0x3c6ef372,
  0x5f1d36f1,
  0xa54ff53a,
  0xade682d1,
  0x510e527f,
  0x2b3e6c1f,
  0x9b05688c,
  0xfb41bd6b,
  0x1f83d9ab,
  0x137e2179,
  0x5be0cd19,
)

/** The message schedule: ten permutations of 16 words, used in turn. */
const SIGMA = Uint8Array.from(
  [
    '0123456789abcdef',
    'ea489fd61c02b753',
    'b8c052fdae367194',
    '7931dcbe265a40f8',
    '905724afe1bc683d',
    '2c6a0b834d75fe19',
    'c51fed4a0763928b',
    'db7ec13950f4862a',
    '6fe9b308c2d714a5',
    'a2847615fb9e3cd0',
  ].join(''),
  (digit) => Number.parseInt(digit, 16),
)

const v = new Uint32Array(32)
const m = new Uint32Array(32)

/**
 * EIP-152: `input` is 213 bytes (rounds, state, message, offsets, final flag), the answer the new state (64 bytes).
 * Null when the length or the flag is wrong.
 */
export function compressBlake2(input: Uint8Array): Uint8Array | null {
  if (!begin(input)) return null
  runRounds(0, blake2Rounds(input))
  return finish(input)
}

/** The same, with `pause` asked every few milliseconds: four billion rounds are one call's right. */
export async function compressBlake2InSlices(input: Uint8Array, pause: () => Promise<void> | null): Promise<Uint8Array | null> {
  if (!begin(input)) return null
  const rounds = blake2Rounds(input)
  for (let round = 0; round < rounds; round += BLAKE2_ROUNDS_PER_SLICE) {
    runRounds(round, Math.min(rounds, round + BLAKE2_ROUNDS_PER_SLICE))
    const pausing = pause()
    if (pausing === null) continue
    // Others may compress meanwhile.
    const [words, message] = [v.slice(), m.slice()]
    await pausing
    v.set(words)
    m.set(message)
  }
  return finish(input)
}

/** Fills the working words; false when the length or the flag is wrong. */
function begin(input: Uint8Array): boolean {
  const final = input[212]
  if (input.length !== 213 || final === undefined || final > 1) return false
  const view = new DataView(input.buffer, input.byteOffset, input.length)
  for (let i = 0; i < 16; i++) v[i] = view.getUint32(4 + 4 * i, true)
  for (let i = 0; i < 32; i++) m[i] = view.getUint32(68 + 4 * i, true)
  v.set(IV, 16)
  for (let i = 0; i < 4; i++) flip(24 + i, view.getUint32(196 + 4 * i, true))
  if (final === 1) for (const i of [28, 29]) flip(i, 0xffffffff)
  return true
}

function finish(input: Uint8Array): Uint8Array {
  const view = new DataView(input.buffer, input.byteOffset, input.length)
  const out = new Uint8Array(64)
  const words = new DataView(out.buffer)
  for (let i = 0; i < 16; i++) words.setUint32(4 * i, view.getUint32(4 + 4 * i, true) ^ at(i) ^ at(i + 16), true)
  return out
}

/** The number of rounds, which is also the gas; 0 for input that has no room for it. */
export function blake2Rounds(input: Uint8Array): number {
  return input.length < 4 ? 0 : new DataView(input.buffer, input.byteOffset).getUint32(0)
}

function runRounds(first: number, end: number): void {
  for (let round = first; round < end; round++) {
    const s = (round % 10) * 16
    mix(0, 8, 16, 24, s)
    mix(2, 10, 18, 26, s + 2)
    mix(4, 12, 20, 28, s + 4)
    mix(6, 14, 22, 30, s + 6)
    mix(0, 10, 20, 30, s + 8)
    mix(2, 12, 22, 24, s + 10)
    mix(4, 14, 16, 26, s + 12)
    mix(6, 8, 18, 28, s + 14)
  }
}

/** G of RFC 7693 on 64-bit words in two halves each. Eight million rounds take 2 s this way, 14 s in the library's. */
function mix(a: number, b: number, c: number, d: number, s: number): void {
  const x = (SIGMA[s] as number) * 2 // the schedule has 160 entries
  const y = (SIGMA[s + 1] as number) * 2
  let al = at(a),
    ah = at(a + 1),
    bl = at(b),
    bh = at(b + 1)
  let cl = at(c),
    ch = at(c + 1),
    dl = at(d),
    dh = at(d + 1)
  let low = (al >>> 0) + (bl >>> 0) + (m[x] as number)
  ah = (ah + bh + (m[x + 1] as number) + carry(low)) | 0
  al = low | 0
  const l1 = dl ^ al
  dl = dh ^ ah
  dh = l1
  low = (cl >>> 0) + (dl >>> 0)
  ch = (ch + dh + carry(low)) | 0
  cl = low | 0
  const l2 = bl ^ cl
  const h2 = bh ^ ch
  bl = (l2 >>> 24) | (h2 << 8)
  bh = (h2 >>> 24) | (l2 << 8)
  low = (al >>> 0) + (bl >>> 0) + (m[y] as number)
  ah = (ah + bh + (m[y + 1] as number) + carry(low)) | 0
  al = low | 0
  const l3 = dl ^ al
  const h3 = dh ^ ah
  dl = (l3 >>> 16) | (h3 << 16)
  dh = (h3 >>> 16) | (l3 << 16)
  low = (cl >>> 0) + (dl >>> 0)
  ch = (ch + dh + carry(low)) | 0
  cl = low | 0
  const l4 = bl ^ cl
  const h4 = bh ^ ch
  bl = (h4 >>> 31) | (l4 << 1)
  bh = (l4 >>> 31) | (h4 << 1)
  v[a] = al
  v[a + 1] = ah
  v[b] = bl
  v[b + 1] = bh
  v[c] = cl
  v[c + 1] = ch
  v[d] = dl
  v[d + 1] = dh
}

/** What a sum of up to three unsigned 32-bit words carries over. */
function carry(sum: number): number {
  return sum > 0x1ffffffff ? 2 : sum > 0xffffffff ? 1 : 0
}

function at(index: number): number {
  return v[index] as number // 32 words
}

function flip(index: number, bits: number): void {
  v[index] = at(index) ^ bits
}
