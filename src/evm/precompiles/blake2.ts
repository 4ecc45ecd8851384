import { BLAKE2_ROUNDS_PER_CLOCK_CHECK } from './limits.ts'
import { loadNative } from './native.ts'
import type { Precompile } from './precompile.ts'

/** 0x09 (EIP-152): BLAKE2b compression. A round costs 1 gas and takes 13 ns. */
export const BLAKE2F: Precompile = { gas: rounds, run: compress }

/** Rounds (4 bytes, big-endian), state (8 words), message (16 words), offset (2 words), final flag. */
const INPUT_BYTES = 213
const AT = { state: 4, message: 68, offset: 196, final: 212 } as const

const IV = Uint32Array.of(
  ...[0xf3bcc908, 0x6a09e667, 0x84caa73b, 0xbb67ae85, 0xfe94f82b, 0x3c6ef372, 0x5f1d36f1, 0xa54ff53a],
  ...[0xade682d1, 0x510e527f, 0x2b3e6c1f, 0x9b05688c, 0xfb41bd6b, 0x1f83d9ab, 0x137e2179, 0x5be0cd19],
)
const IV_BYTES = new Uint8Array(IV.buffer)

/** 0 for input of the wrong length, which then fails (as in geth). */
function rounds(input: Uint8Array): number {
  return input.length === INPUT_BYTES ? new DataView(input.buffer, input.byteOffset).getUint32(0) : 0
}

function compress(input: Uint8Array, checkDeadline?: () => void): Uint8Array | string {
  if (input.length !== INPUT_BYTES) return 'invalid input length'
  const final = input[AT.final] as number // of 213 bytes
  if (final > 1) return 'invalid final flag'
  const { wasm, bytes } = loadNative()
  const state = wasm.blake2State()
  bytes.set(input.subarray(AT.state, AT.message), state)
  bytes.set(IV_BYTES, state + 64)
  for (let i = 0; i < 16; i++) bytes[state + 96 + i] = byte(bytes, state + 96 + i) ^ byte(input, AT.offset + i)
  if (final === 1) for (let i = 112; i < 120; i++) bytes[state + i] = byte(bytes, state + i) ^ 0xff
  bytes.set(input.subarray(AT.message, AT.offset), wasm.blake2Message())
  const end = rounds(input)
  for (let round = 0; round < end; round += BLAKE2_ROUNDS_PER_CLOCK_CHECK) {
    wasm.blake2Rounds(round, Math.min(end, round + BLAKE2_ROUNDS_PER_CLOCK_CHECK))
    if (round > 0) checkDeadline?.()
  }
  const output = new Uint8Array(64)
  for (let i = 0; i < 64; i++) output[i] = byte(input, AT.state + i) ^ byte(bytes, state + i) ^ byte(bytes, state + 64 + i)
  return output
}

function byte(bytes: Uint8Array, at: number): number {
  return bytes[at] as number // lengths are checked by the callers
}
