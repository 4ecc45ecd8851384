import { Hex, INVISIBLE } from '../../eth/index.ts'
import { invalidParams } from '../../jsonrpc/index.ts'
import { SIGNED_BYTES } from '../limits.ts'
import type { Warning } from '../question.ts'
import { gapWarnings } from './gaps.ts'
import { signInWarnings } from './signin.ts'
import type { SignInContext } from './signin.ts'

/** Hex is bytes, anything else UTF-8 text. Throws RpcError -32602. */
export function messageBytes(message: string): Uint8Array {
  const isHex = Hex.isHex(message)
  // Ambiguous: other wallets pad it or sign the digits as text.
  if (isHex && message.length % 2 === 1) throw invalidParams('invalid argument (message): hex string of odd length')
  const bytes = isHex ? Hex.toBytes(message) : new TextEncoder().encode(message)
  assertSize(bytes.length)
  return bytes
}

/** Throws RpcError -32602. */
export function assertSize(sizeBytes: number): void {
  if (sizeBytes <= SIGNED_BYTES) return
  throw invalidParams(`the message is ${sizeBytes} bytes, at most ${SIGNED_BYTES} are signed`, {
    reason: 'message-too-large',
    limit: SIGNED_BYTES,
  })
}

/** The message as text; null if it is not readable UTF-8. */
export function messageText(bytes: Uint8Array): string | null {
  try {
    const text = UTF8.decode(bytes)
    return UNREADABLE.test(text) ? null : text
  } catch {
    return null
  }
}

/** The warnings of a personal_sign message. */
export function messageWarnings(bytes: Uint8Array, context: SignInContext): readonly Warning[] {
  const text = messageText(bytes)
  // Unreadable bytes are checked too, since a verifier may decode them leniently.
  const signIn = signInWarnings(text ?? LENIENT_UTF8.decode(bytes), context)
  if (text === null) return [bytes.length === 32 ? OPAQUE : UNREADABLE_MESSAGE, ...signIn]
  return [...(HIDDEN.test(text) ? [HIDDEN_CHARACTERS] : []), ...gapWarnings([text]), ...signIn]
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const LENIENT_UTF8 = new TextDecoder('utf-8', { ignoreBOM: true })
/** Control characters other than tab and line ends. */
const UNREADABLE = /[^\P{Cc}\t\n\r]/u
const HIDDEN = new RegExp(`(?![\\t\\n\\r])${INVISIBLE.source}`, 'u')
const OPAQUE: Warning = {
  code: 'opaque-message',
  level: 'caution',
  text: 'The message is 32 unreadable bytes; it may be the hash of anything.',
}
const UNREADABLE_MESSAGE: Warning = {
  code: 'unreadable-message',
  level: 'caution',
  text: 'The message is not readable text.',
}
const HIDDEN_CHARACTERS: Warning = {
  code: 'hidden-characters',
  level: 'caution',
  text: 'The message contains invisible characters; its content may differ from what is shown.',
}
