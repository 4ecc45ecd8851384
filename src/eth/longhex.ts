import { type HexExports, loadHex } from './wasm.ts'

/** Long hex strings by vector instructions, in Node. */
export const LongHex = { encode, decode }

/** Bytes per call, which limits the memory of the module. */
const CHUNK_BYTES = 64 * 1_024
/** What the functions may overwrite after a text. */
const PADDING_BYTES = 32

interface Pad {
  readonly exports: HexExports
  /** the memory, and in it the places of a text and of bytes to encode */
  readonly memory: Buffer
  readonly text: number
  readonly bytes: number
}

let pad: Pad | null = null

/** Made on first use. */
function loadPad(): Pad {
  const { exports, heap, reserve, bytes } = loadHex()
  reserve(3 * CHUNK_BYTES + 2 * PADDING_BYTES)
  const memory = Buffer.from(bytes().buffer)
  return { exports, memory, text: heap, bytes: heap + 2 * CHUNK_BYTES + PADDING_BYTES }
}

/** Returns the digits without prefix. */
function encode(bytes: Uint8Array, from: number, size: number): string {
  const { exports, memory, text, bytes: source } = (pad ??= loadPad())
  let digits = ''
  for (let at = 0; at < size; at += CHUNK_BYTES) {
    const count = Math.min(CHUNK_BYTES, size - at)
    memory.set(bytes.subarray(from + at, from + at + count), source)
    exports.encodeHex(source, count, text)
    digits += memory.toString('latin1', text, text + 2 * count)
  }
  return digits
}

/** Decodes the digits after a prefix of two characters, twice as many as `out` has bytes. Returns false if one of them is not a digit. */
function decode(hex: string, out: Uint8Array): boolean {
  const { exports, memory, text } = (pad ??= loadPad())
  for (let at = 0; at < out.length; at += CHUNK_BYTES) {
    const count = Math.min(CHUNK_BYTES, out.length - at)
    const digits = hex.slice(2 + 2 * at, 2 + 2 * (at + count))
    // As UTF-8: no byte of another character than a digit is one.
    if (memory.write(digits, text, digits.length) !== digits.length || exports.decodeHex(text, digits.length) === 0) return false
    out.set(memory.subarray(text, text + count), at)
  }
  return true
}
