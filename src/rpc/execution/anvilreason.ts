import { Bytes, Hex } from '../../eth/index.ts'
import { errorText } from '../../evm/index.ts'

// The texts for revert data in anvil 1.7.1's messages of eth_call and eth_estimateGas, measured.

const PANIC = '0x4e487b71'
const PANICS: ReadonlyMap<bigint, string> = new Map([
  [0x00n, 'generic/unspecified error'],
  [0x01n, 'assertion failed'],
  [0x11n, 'arithmetic underflow or overflow'],
  [0x12n, 'division or modulo by zero'],
  [0x21n, 'failed to convert value into enum type'],
  [0x22n, 'storage byte array incorrectly encoded'],
  [0x31n, 'called `.pop()` on an empty array'],
  [0x32n, 'array out-of-bounds access'],
  [0x41n, 'memory allocation error'],
  [0x51n, 'called an invalid internal function'],
])

/** Returns the reason: text, panic, or custom error with its arguments as text or hex; `null` for no data. */
export function anvilReason(output: Uint8Array): string | null {
  if (output.length === 0) return null
  const selector = Hex.fromBytes(output.subarray(0, 4))
  const values = output.subarray(4)
  if (selector === PANIC && values.length === 32) return panic(BigInt(Hex.fromBytes(values)))
  const text = errorText(output) ?? errorText(Bytes.concat([ERROR, output])) ?? ascii(output)
  if (text !== null) return text
  if (output.length < 4) return `custom error bytes ${Hex.fromBytes(output)}`
  if (values.length === 0) return `custom error ${selector}`
  return `custom error ${selector}: ${utf8(values) ?? Hex.fromBytes(values).slice(2)}`
}

/** anvil's names (revm's InstructionResult) by the beginning of the engine's reason; the first that fits. */
const HALTS: readonly (readonly [reason: string, name: string])[] = [
  ['out of gas: not enough gas for reentrancy sentry', 'ReentrancySentryOOG'],
  ['out of gas', 'OutOfGas'],
  ['contract creation code storage out of gas', 'OutOfGas'],
  ['invalid opcode: INVALID', 'InvalidFEOpcode'],
  ['invalid opcode', 'OpcodeNotFound'],
  ['invalid jump destination', 'InvalidJump'],
  ['stack underflow', 'StackUnderflow'],
  ['stack limit reached', 'StackOverflow'],
  ['return data out of bounds', 'OutOfOffset'],
  ['max code size exceeded', 'CreateContractSizeLimit'],
  ['invalid code', 'CreateContractStartingWithEF'],
  ['contract address collision', 'CreateCollision'],
]

/** Returns anvil's message for a call that halted; an engine's reason that the outermost frame of a call rarely has stays as it is. */
export function anvilHaltReason(reason: string): string {
  return `EVM error ${HALTS.find(([start]) => reason.startsWith(start))?.[1] ?? reason}`
}

/** A string that is encoded without the selector of Error(string) counts as text too. */
const ERROR = Hex.toBytes('0x08c379a0')

function panic(code: bigint): string {
  return `panic: ${PANICS.get(code) ?? 'unknown code'} (0x${code.toString(16).padStart(2, '0')})`
}

function ascii(bytes: Uint8Array): string | null {
  return bytes.every((byte) => byte < 0x80) ? DECODER.decode(bytes) : null
}

function utf8(bytes: Uint8Array): string | null {
  try {
    return DECODER.decode(bytes)
  } catch {
    return null
  }
}

const DECODER = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
