/** The kind of an indexed value; a topic's position is added. A key is a hash of kind and value. */
export const KIND = { block: 1, transaction: 2, address: 3, topic: 4, sender: 8, receiver: 9 } as const

/**
 * A key has 39 bits, so that key, flag and position make one sortable 64-bit row. Rows are pairs of u32, the lower word first:
 * ```
 * high upper 32 bits of the key
 * low lower 7 bits of the key | many (1 bit) | position (24 bits)
 * ```
 */
export const POSITION_MASK = 0xff_ffff
/** The key has several items: the row holds the offset of their list instead of a position. */
export const MANY = 0x100_0000
const LOW_KEY_SHIFT = 25
/** the factor of a key's upper 32 bits */
const HIGH_KEY = 128

/**
 * Writes the row of a value of 20 or 32 bytes. Similar values (consecutive numbers, addresses with zeros) spread evenly. A deliberate
 * collision costs a reader one check of a record.
 */
export function putRow(rows: Uint32Array, at: number, position: number, kind: number, bytes: DataView, from: number, size: number): void {
  let a = Math.imul(kind, 0x9e3779b1)
  let b = kind ^ 0x27d4eb2f
  for (let i = from; i < from + size; i += 4) {
    const word = bytes.getUint32(i, true)
    a = Math.imul(a ^ word, 0x85ebca6b)
    a ^= a >>> 15
    b = Math.imul(((b << 13) | (b >>> 19)) + a, 0xc2b2ae35)
  }
  a = mix(a ^ ((b << 16) | (b >>> 16)))
  b = mix(b + a)
  rows[at] = ((b >>> LOW_KEY_SHIFT) << LOW_KEY_SHIFT) | position
  rows[at + 1] = a
}

/** The finaliser of murmur3: every bit of `h` affects every other. */
function mix(h: number): number {
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return h ^ (h >>> 16)
}

export function keyOfBytes(kind: number, value: Uint8Array): number {
  putRow(row, 0, 0, kind, new DataView(value.buffer, value.byteOffset, value.length), 0, value.length)
  return keyOfRow(row[0] as number, row[1] as number) // it has two
}

const row = new Uint32Array(2)

export function highOf(key: number): number {
  return Math.floor(key / HIGH_KEY)
}

/** The key's bits in a row's lower word. Subtraction, because a remainder of such large numbers is ten times slower. */
export function lowOf(key: number): number {
  return ((key - highOf(key) * HIGH_KEY) << LOW_KEY_SHIFT) >>> 0
}

export function keyOfRow(low: number, high: number): number {
  return high * HIGH_KEY + (low >>> LOW_KEY_SHIFT)
}
