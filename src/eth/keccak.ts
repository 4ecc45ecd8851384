import { Hex } from './hex.ts'
import { loadHashes } from './wasm.ts'

// 0.5 us for 32 bytes and 1.4 us for a branch node, against 4.6 and 15 us in plain JavaScript.
const wasm = loadHashes()
const out = wasm.heap
const input = wasm.heap + 32

export function keccak256(bytes: Uint8Array): Uint8Array {
  wasm.exports.keccak256(write(bytes), bytes.length, out)
  return wasm.bytes().slice(out, input)
}

/** The digest as a 0x string. */
export function keccak256Hex(bytes: Uint8Array): Hex {
  wasm.exports.keccak256(write(bytes), bytes.length, out)
  return Hex.fromBytes(wasm.bytes().subarray(out, input))
}

/**
 * For whoever makes what gets hashed: what is written into this memory from `start` on is hashed where it lies, and the digest
 * stands at `digest`, both until the next hash of anything.
 */
export const KeccakPad = { start: input, digest: out, room, hash }

/** The memory, with room for so many bytes from `start` on: another one than before when it had to grow. */
function room(sizeBytes: number): Uint8Array {
  wasm.reserve(32 + sizeBytes)
  return wasm.bytes()
}

function hash(from: number, to: number): void {
  wasm.exports.keccak256(from, to - from, out)
}

export function sha256(bytes: Uint8Array): Uint8Array {
  wasm.exports.sha256(write(bytes), bytes.length, out)
  return wasm.bytes().slice(out, input)
}

export function ripemd160(bytes: Uint8Array): Uint8Array {
  wasm.exports.ripemd160(write(bytes), bytes.length, out)
  return wasm.bytes().slice(out, out + 20)
}

function write(bytes: Uint8Array): number {
  wasm.reserve(32 + bytes.length)
  wasm.bytes().set(bytes, input)
  return input
}
