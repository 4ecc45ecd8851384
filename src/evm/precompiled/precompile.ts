/** A contract that the client runs itself. Both functions are synchronous and neither keeps nor changes `input`, a view into foreign memory. */
export interface Precompile {
  /** Gas for this input: an integer, Infinity when it is beyond any gas limit. Cheap: lengths that the input declares are never allocated. */
  gas(input: Uint8Array): number
  /**
   * The output; a string is the reason why it failed (in geth's words where geth has some): all gas is used. Only called when the gas
   * was there. `look` is called every few milliseconds of a long computation; what it throws ends it.
   * @throws {NotLoaded} where code can only be loaded asynchronously (a browser), until it is
   */
  run(input: Uint8Array, look?: () => void): Uint8Array | string
}

/** A precompile whose gas does not depend on its input. */
export function fixedPrice(gas: number, run: Precompile['run']): Precompile {
  return { gas: () => gas, run }
}

/** So much, and so much more for each word of 32 bytes. */
export function pricePerWord(base: number, word: number, run: Precompile['run']): Precompile {
  return { gas: ({ length }) => base + word * Math.ceil(length / 32), run }
}

/** A 32-byte word with this value in its last byte. */
export function word(value: 0 | 1): Uint8Array {
  const bytes = new Uint8Array(32)
  bytes[31] = value
  return bytes
}

/** `length` bytes from `offset` on, a copy; what lies beyond the input is zero. */
export function padded(input: Uint8Array, offset: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  bytes.set(input.subarray(offset, offset + length))
  return bytes
}

/** True when there is nothing but zeros from `offset` to `end`. */
export function isZero(input: Uint8Array, offset: number, end: number): boolean {
  for (let i = offset; i < end; i++) if (input[i] !== 0) return false
  return true
}

export const NOTHING = new Uint8Array()
