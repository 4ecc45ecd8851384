import { Hex } from '../../eth/index.ts'
import type { TypedData } from '../../eth/index.ts'
import { NESTED_MESSAGE_CHARS } from '../limits.ts'
import type { Warning } from '../question.ts'
import { visibleText } from './display.ts'
import { messageText, messageWarnings } from './message.ts'
import type { SignInContext } from './signin.ts'

/**
 * Returns warnings about typed data that wraps other data as bytes or a hash. Smart accounts accept it in place of a
 * signature of that other data: a sign-in, a permit, a user operation.
 */
export function nestedWarnings({ primaryType, message }: TypedData, context: SignInContext): readonly Warning[] {
  if (primaryType === 'PersonalSign') return personalWarnings(message['prefixed'], context)
  return HASH_TYPES.has(primaryType) ? [OPAQUE_DATA] : []
}

/**
 * ERC-7739, `PersonalSign(bytes prefixed)`: the account hashes `prefixed` and accepts the signature for that hash. Meant for the bytes that
 * personal_sign hashes, but 0x1901 with two hashes is as valid, and is then a signature of any typed data.
 */
function personalWarnings(prefixed: unknown, context: SignInContext): readonly Warning[] {
  const bytes = messageIn(prefixed)
  if (bytes === null) return [HIDDEN_DATA]
  const text = messageText(bytes)
  const shown = text === null ? 'not readable text' : `“${visibleText(text, NESTED_MESSAGE_CHARS)}”`
  const nested: Warning = {
    code: 'nested-message',
    level: 'caution',
    text: `The data wraps a message, as if personal_sign had signed it with a smart account (ERC-7739): ${shown}.`,
  }
  return [nested, ...messageWarnings(bytes, context)]
}

/** The message after the prefix of EIP-191, version 0x45; null if there is another prefix or length. */
function messageIn(prefixed: unknown): Uint8Array | null {
  if (!Hex.isHex(prefixed) || prefixed.length % 2 === 1) return null
  const bytes = Hex.toBytes(prefixed)
  const head = new TextDecoder('latin1').decode(bytes.subarray(0, PREFIX.length + LENGTH_DIGITS))
  if (!head.startsWith(PREFIX)) return null
  // The message may begin with digits, so the length is the number that equals the size of the rest.
  for (let digits = 1; digits <= LENGTH_DIGITS; digits++) {
    const length = bytes.length - PREFIX.length - digits
    if (length >= 0 && head.slice(PREFIX.length, PREFIX.length + digits) === String(length)) return bytes.subarray(PREFIX.length + digits)
  }
  return null
}

const PREFIX = '\x19Ethereum Signed Message:\n'
/** Highest number of digits of a length below `SIGNED_BYTES`. */
const LENGTH_DIGITS = 6

/** Typed-data types of the accounts of Coinbase, Kernel, Alchemy and Circle that contain only a hash. */
const HASH_TYPES: ReadonlySet<string> = new Set(['CoinbaseSmartWalletMessage', 'Kernel', 'LightAccountMessage', 'ReplaySafeHash'])

const HIDDEN_DATA: Warning = {
  code: 'nested-data',
  level: 'danger',
  text: 'The data hides what a smart account would sign with it (ERC-7739, PersonalSign without a message): it may be a permit for everything the account has.',
}
const OPAQUE_DATA: Warning = {
  code: 'opaque-message',
  level: 'caution',
  text: 'The data is the hash of something that a smart account of yours would sign with it; its content is not shown.',
}
