/** What a value is the value of; a topic's position is added. A key is a hash over both. */
export const KIND = { block: 1, transaction: 2, address: 3, topic: 4, sender: 8, receiver: 9 } as const

/**
 * A key is a number of 39 bits, so that a key, a flag and an item's place in its section make one 64-bit row that sorts as it should. Rows are
 * pairs of u32, the lower one first:
 * ```
 * high  the key's upper 32 bits
 * low   the key's lower 7 bits | many (1 bit) | place (24 bits)
 * ```
 */
export const PLACE_MASK = 0xff_ffff
/** The key has many items: where their list is stands in place of the place. */
export const MANY = 0x100_0000
export const LOW_KEY_SHIFT = 25
/** What the upper 32 bits of a key count. */
export const HIGH_KEY = 128

/**
 * Writes the row of a value of 20 or 32 bytes. Values that differ little (numbers in order, addresses with zeros) spread evenly. Whoever makes
 * two values with one key costs a reader one look at a record, no more.
 */
export function putRow(rows: Uint32Array, at: number, place: number, kind: number, bytes: DataView, from: number, size: number): void {
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
  rows[at] = ((b >>> LOW_KEY_SHIFT) << LOW_KEY_SHIFT) | place
  rows[at + 1] = a
}

/** murmur3's finish: every bit of `h` reaches every other */
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

/** The key's part of a row's lower word. A difference, because a remainder of such large numbers is ten times slower. */
export function lowOf(key: number): number {
  return ((key - highOf(key) * HIGH_KEY) << LOW_KEY_SHIFT) >>> 0
}

export function keyOfRow(low: number, high: number): number {
  return high * HIGH_KEY + (low >>> LOW_KEY_SHIFT)
}
