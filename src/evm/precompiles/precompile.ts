/** A precompiled contract. Both functions are synchronous and neither keep nor change `input`, a view into the caller's memory. */
export interface Precompile {
  /** Gas for this input: an integer, or Infinity above any gas limit. Never allocates the lengths that the input declares. */
  gas(input: Uint8Array): number
  /**
   * Returns the output, or a string with the error (geth's message if geth has one), which consumes all gas. Called only if the gas
   * suffices. `checkDeadline` is called every few milliseconds; its exceptions propagate.
   * @throws {PrecompileNotLoaded} code that must be loaded asynchronously (in a browser) is not loaded yet
   */
  run(input: Uint8Array, checkDeadline?: () => void): Uint8Array | string
}

/** A precompile with constant gas. */
export function fixedPrice(gas: number, run: Precompile['run']): Precompile {
  return { gas: () => gas, run }
}

/** A precompile with `base` gas plus `word` gas per 32 bytes of input. */
export function pricePerWord(base: number, word: number, run: Precompile['run']): Precompile {
  return { gas: ({ length }) => base + word * Math.ceil(length / 32), run }
}

/** A 32-byte word with this value in its last byte. */
export function word(value: 0 | 1): Uint8Array {
  const bytes = new Uint8Array(32)
  bytes[31] = value
  return bytes
}

/** Returns a copy of `length` bytes from `offset`, padded with zeros. */
export function padded(input: Uint8Array, offset: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  bytes.set(input.subarray(offset, offset + length))
  return bytes
}

/** Returns true if all bytes from `offset` to `end` are zero. */
export function isZero(input: Uint8Array, offset: number, end: number): boolean {
  for (let i = offset; i < end; i++) if (input[i] !== 0) return false
  return true
}

export const EMPTY = new Uint8Array()
