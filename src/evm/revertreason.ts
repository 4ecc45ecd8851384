import { Hex } from '../eth/index.ts'

const ERROR_STRING = '0x08c379a0'
const PANIC = '0x4e487b71'

/** Keeps a byte order mark, as part of the text. */
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })

/** Solidity's panic codes with geth's messages (accounts/abi). */
const PANICS: ReadonlyMap<bigint, string> = new Map([
  [0x00n, 'generic panic'],
  [0x01n, 'assert(false)'],
  [0x11n, 'arithmetic underflow or overflow'],
  [0x12n, 'division or modulo by zero'],
  [0x21n, 'enum overflow'],
  [0x22n, 'invalid encoded storage byte array accessed'],
  [0x31n, 'out-of-bounds array access; popping on an empty array'],
  [0x32n, 'out-of-bounds access of an array or bytesN'],
  [0x41n, 'out of memory'],
  [0x51n, 'uninitialized function'],
])

/** Returns the message of Error(string) or Panic(uint256); null for other data. */
export function revertReason(output: Uint8Array): string | null {
  const selector = selectorOf(output)
  const words = output.subarray(4)
  if (selector === ERROR_STRING) return errorText(output)
  if (selector !== PANIC || words.length < 32) return null
  const code = word(words, 0)
  return PANICS.get(code) ?? `unknown panic code: ${Hex.fromQuantity(code)}`
}

/** Returns the text of Error(string); `null` for other data. */
export function errorText(output: Uint8Array): string | null {
  if (selectorOf(output) !== ERROR_STRING) return null
  const words = output.subarray(4)
  const at = words.length < 64 ? 0n : word(words, 0)
  if (at !== 32n) return null
  const length = word(words, 32)
  // Solidity pads to whole words, hand-written assembly often does not.
  return length > BigInt(words.length - 64) ? null : utf8.decode(words.subarray(64, 64 + Number(length)))
}

function selectorOf(output: Uint8Array): string {
  return Hex.fromBytes(output.subarray(0, 4))
}

function word(bytes: Uint8Array, at: number): bigint {
  return BigInt(Hex.fromBytes(bytes.subarray(at, at + 32)))
}
