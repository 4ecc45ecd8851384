import { Hex } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import { invalidParams } from '../../jsonrpc/index.ts'
import { SIGNED_BYTES } from '../limits.ts'
import type { Warning } from '../question.ts'

/** Hex is bytes, anything else UTF-8 text. Throws RpcError -32602. */
export function messageBytes(message: string): Uint8Array {
  const isHex = Hex.isHex(message)
  // Some would pad it, others sign the digits as text: nobody could say what was meant.
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

/** The same as text; null: it is none that a person could read. */
export function messageText(bytes: Uint8Array): string | null {
  try {
    const text = UTF8.decode(bytes)
    return UNREADABLE.test(text) ? null : text
  } catch {
    return null
  }
}

/** What a person should know before they sign it. */
export function messageWarnings(bytes: Uint8Array, asker: { readonly origin: string; readonly account: Address }): readonly Warning[] {
  const text = messageText(bytes)
  if (text === null) return [bytes.length === 32 ? OPAQUE : UNREADABLE_MESSAGE]
  return HIDDEN.test(text) ? [HIDDEN_CHARACTERS, ...signInWarnings(text, asker)] : signInWarnings(text, asker)
}

/** EIP-4361: a message that signs somebody in at `domain` is for nobody else. */
function signInWarnings(text: string, { origin, account }: { readonly origin: string; readonly account: Address }): readonly Warning[] {
  const [, domain, signer] = SIGN_IN.exec(text) ?? []
  if (domain === undefined || signer === undefined) return []
  const warnings: Warning[] = []
  const host = hostOf(origin)
  if (host !== null && domain.toLowerCase() !== host) {
    const told = `The message signs you in at ${domain}, but ${host} asks for it. Whoever has it can act as you there.`
    warnings.push({ code: 'sign-in-domain', level: 'danger', text: told })
  }
  if (signer.toLowerCase() !== account) {
    warnings.push({
      code: 'sign-in-account',
      level: 'caution',
      text: `The message signs in ${signer}, which is not the account that signs it.`,
    })
  }
  return warnings
}

/** With its port, as the message has it; null: the origin is no address, as in the same process. */
function hostOf(origin: string): string | null {
  return URL.canParse(origin) && new URL(origin).host !== '' ? new URL(origin).host : null
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
/** Control characters other than tab and line ends. */
const UNREADABLE = /[^\P{Cc}\t\n\r]/u
/** Change the order of what is read, or are not seen at all. */
const HIDDEN = /[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/u
const SIGN_IN = /^(?:[a-z][a-z0-9+.-]*:\/\/)?([^\s/]+) wants you to sign in with your Ethereum account:\n(0x[0-9a-fA-F]{40})(?:\n|$)/

const OPAQUE: Warning = {
  code: 'opaque-message',
  level: 'caution',
  text: 'The message is 32 bytes that nobody can read; it may stand for anything.',
}
const UNREADABLE_MESSAGE: Warning = {
  code: 'unreadable-message',
  level: 'caution',
  text: 'The message is no text that a person could read.',
}
const HIDDEN_CHARACTERS: Warning = {
  code: 'hidden-characters',
  level: 'caution',
  text: 'The message holds characters that cannot be seen; it may say something else than it seems to.',
}
