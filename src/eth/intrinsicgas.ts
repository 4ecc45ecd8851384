/** The gas of a transaction before its first operation. Numbers, because data of several megabytes costs far less than 2^53. */
export const IntrinsicGas = {
  TRANSACTION: 21_000,
  /** added for a contract creation */
  CREATION: 32_000,
  /** EIP-3860, per 32 bytes of init code */
  INIT_CODE_WORD: 2,
  /** per token of data: a zero byte is one, any other byte four (EIP-2028) */
  TOKEN: 4,
  /** EIP-7623, the minimum per token */
  FLOOR_TOKEN: 10,
  /** EIP-2930 */
  ACCESS_LIST_ADDRESS: 2_400,
  ACCESS_LIST_KEY: 1_900,
  /** EIP-7702, per authorization */
  AUTHORIZATION: 25_000,
  tokens,
} as const

/** Below this size making the view takes longer than it saves. */
const BY_WORDS_BYTES = 256

/** Four bytes at a time: 10 us for 22 KB of call data, against 30 to 50 with a branch per byte. */
function tokens(data: Uint8Array): number {
  const { length } = data
  if (length < BY_WORDS_BYTES) return 4 * length - 3 * zerosIn(data, 0, length)
  const start = -data.byteOffset & 3
  const words = new Int32Array(data.buffer, data.byteOffset + start, (length - start) >> 2)
  let zeros = zerosIn(data, 0, start) + zerosIn(data, start + 4 * words.length, length)
  for (let i = 0; i < words.length; i++) {
    const word = words[i] as number // below its length
    // the top bit of each byte that is not zero
    const marks = ((word & 0x7f7f7f7f) + 0x7f7f7f7f) | word
    zeros += Math.imul((~marks & 0x80808080) >>> 7, 0x01010101) >>> 24
  }
  return 4 * length - 3 * zeros
}

function zerosIn(data: Uint8Array, from: number, to: number): number {
  let zeros = 0
  for (let i = from; i < to; i++) if (data[i] === 0) zeros++
  return zeros
}
