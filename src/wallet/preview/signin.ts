import { Address } from '../../eth/index.ts'
import { visibleText } from './display.ts'
import { SIGN_IN_CHARS, SIGN_IN_WARNINGS } from '../limits.ts'
import type { Warning } from '../question.ts'
import { LINE_END } from './blanks.ts'

export interface SignInContext {
  readonly origin: string
  readonly account: Address
  /** the origin's current chain */
  readonly chainId: number
  /** Unix time, milliseconds */
  readonly now: number
}

/**
 * Returns warnings about a sign-in message (ERC-4361, Sign-In with Ethereum). It is parsed as leniently as any verifier may
 * parse it: with any line ends, spaces and letter case, text before the first line, fields in any order and more than once. A message that
 * differs from the standard's form gets a separate warning, because two verifiers can parse it differently.
 */
export function signInWarnings(text: string, context: SignInContext): readonly Warning[] {
  if (!PHRASE.test(text.normalize('NFKC').replaceAll(FORMAT, ''))) return []
  const lines = text.split(LINE_END)
  const headers = lines.flatMap((line, at) => headerOf(line).map((domain) => ({ domain, signer: signerAfter(lines, at) })))
  const fields = lines.flatMap(fieldOf)
  const valuesOf = (name: string): readonly string[] =>
    fields.flatMap((field) => (field.name === name ? [field.value] : [])).slice(0, READ_VALUES)
  const all = [
    ...headers.flatMap(({ domain }) => domainWarning(domain, context)),
    ...headers.flatMap(({ signer }) => signerWarning(signer, context)),
    ...valuesOf('uri').flatMap((uri) => uriWarning(uri, context)),
    ...valuesOf('chain id').flatMap((chainId) => chainWarning(chainId, context)),
    ...valuesOf('expiration time').flatMap((time) => expiryWarning(time, context)),
    ...valuesOf('not before').flatMap((time) => startWarning(time, context)),
    ...(STANDARD.test(text) && headers.length === 1 && !hasTwice(fields) ? [] : [UNUSUAL_FORM]),
  ]
  return [...new Map(all.map((warning) => [`${warning.code} ${warning.text}`, warning])).values()].slice(0, SIGN_IN_WARNINGS)
}

// --- the parts ------------------------------------------------------------------------------------------------------------

function domainWarning({ scheme, domain }: Header, { origin }: SignInContext): readonly Warning[] {
  const url = webUrl(origin)
  if (url === null) return []
  const isHost = domain.toLowerCase() === url.host
  if (isHost && (scheme === null || `${scheme.toLowerCase()}:` === url.protocol)) return []
  const [named, asking] = isHost ? [`${scheme ?? ''}://${domain}`, origin] : [domain, url.host]
  const text = `The message signs you in at ${shown(named)}, but ${asking} asks for it. Anyone who has it can act as you there.`
  return [{ code: 'sign-in-domain', level: 'danger', text }]
}

function signerWarning(signer: string | null, { account }: SignInContext): readonly Warning[] {
  if (signer === null || signer.toLowerCase() === account) return []
  return [caution('sign-in-account', `The message signs in ${shown(signer)}, which is not the account that signs it.`)]
}

function uriWarning(uri: string, { origin }: SignInContext): readonly Warning[] {
  const url = webUrl(origin)
  if (url === null) return []
  const named = URL.canParse(uri) ? new URL(uri) : null
  // A backslash and a user name make other readers of urls find another host in it.
  const isSame =
    named !== null &&
    named.protocol === url.protocol &&
    named.host === url.host &&
    named.username === '' &&
    named.password === '' &&
    !/[\s\\]/.test(uri)
  if (isSame) return []
  return [caution('sign-in-uri', `The message signs you in for the address ${shown(uri)}, which is not one of ${url.host}.`)]
}

function chainWarning(named: string, { chainId }: SignInContext): readonly Warning[] {
  if (/^\d{1,20}$/.test(named) && BigInt(named) === BigInt(chainId)) return []
  return [caution('sign-in-chain', `The message is for the chain ${shown(named)}, and the site is on the chain ${chainId}.`)]
}

function expiryWarning(time: string, { now }: SignInContext): readonly Warning[] {
  const at = timeOf(time)
  if (at === null) return [unreadableTime('expiration time', time)]
  return at > now ? [] : [caution('sign-in-expired', `The message has expired: it was valid until ${shown(time)}.`)]
}

function startWarning(time: string, { now }: SignInContext): readonly Warning[] {
  const at = timeOf(time)
  if (at === null) return [unreadableTime('start', time)]
  return at <= now
    ? []
    : [caution('sign-in-not-yet', `The message is not valid yet: anyone who has it can sign in from ${shown(time)} on.`)]
}

function unreadableTime(what: string, time: string): Warning {
  return caution('sign-in-time', `The ${what} of the message, ${shown(time)}, is no time that can be read.`)
}

const UNUSUAL_FORM = caution(
  'sign-in-form',
  'The message signs you in, but is not written as the standard (ERC-4361) has it: others may read another site or other terms in it.',
)

// --- reading --------------------------------------------------------------------------------------------------------------

interface Header {
  readonly scheme: string | null
  readonly domain: string
}

/** Matches the line with the domain, verbatim or after Unicode normalization. */
function headerOf(line: string): readonly Header[] {
  if (line.length < SHORTEST_HEADER) return []
  const match = HEADER.exec(spaced(line)) ?? HEADER.exec(spaced(line.normalize('NFKC').replaceAll(FORMAT, '')))
  if (match === null) return []
  const before = match.input.slice(0, match.index).split(' ').at(-1) ?? ''
  const [, scheme = null, domain = ''] = /^(?:([a-z][a-z0-9+.-]*):\/\/)?(.*)$/i.exec(before) ?? []
  return [{ scheme, domain }]
}

/** Values that are read of one field name. A message with more than one has `sign-in-form` as well. */
const READ_VALUES = 100
/** Characters of the shortest header line and field line, `wants you to sign in …` and `URI:`. A message may have 250,000 shorter lines. */
const SHORTEST_HEADER = 40
const SHORTEST_FIELD = 4
/** Lines after the header searched for the account. More blank lines are a `hidden-text` warning. */
const NEAR_LINES = 20

/** The account in the first line with text after the header; null if that line has none. */
function signerAfter(lines: readonly string[], at: number): string | null {
  const next = lines.slice(at + 1, at + 1 + NEAR_LINES).find((line) => spaced(line) !== '')
  const text = next === undefined ? '' : spaced(next)
  return Address.isAddress(text) ? text : null
}

interface Field {
  readonly name: string
  readonly value: string
}

function fieldOf(line: string): readonly Field[] {
  if (line.length < SHORTEST_FIELD) return []
  const text = spaced(line.normalize('NFKC').replaceAll(FORMAT, ''))
  const [, name, value] = FIELD.exec(text) ?? []
  return name === undefined || value === undefined ? [] : [{ name: name.toLowerCase(), value }]
}

function hasTwice(fields: readonly Field[]): boolean {
  return new Set(fields.map(({ name }) => name)).size < fields.length
}

/** Collapses blanks of any kind to one space and trims, so that the patterns run in linear time. */
function spaced(line: string): string {
  return line.replaceAll(/[\s\p{Z}\u2800\u3164]+/gu, ' ').trim()
}

/** RFC 3339 as ERC-4361 requires, milliseconds; null for other text. */
function timeOf(text: string): number | null {
  if (!/^\d{4}-\d\d-\d\dt\d\d:\d\d(:\d\d(\.\d{1,9})?)?(z|[+-]\d\d:?\d\d)$/i.test(text)) return null
  const at = Date.parse(text.toUpperCase())
  return Number.isNaN(at) ? null : at
}

/** Returns null if the origin is not a web address, such as `local`. */
function webUrl(origin: string): URL | null {
  const url = URL.canParse(origin) ? new URL(origin) : null
  return url === null || url.host === '' ? null : url
}

function shown(text: string): string {
  return text === '' ? 'nothing' : visibleText(text, SIGN_IN_CHARS)
}

function caution(code: string, text: string): Warning {
  return { code, level: 'caution', text }
}

const PHRASE = /wants\s+you\s+to\s+sign\s+in\s+with\s+your\s+ethereum\s+account/i
const HEADER = / ?wants you to sign in with your ethereum account/i
const FIELD = /^(uri|version|chain id|nonce|issued at|expiration time|not before|request id) ?: ?(.*)$/i
const FORMAT = /\p{Cf}/gu
/** The first two lines in the standard form, and no line end other than LF anywhere. */
const STANDARD =
  /^(?:[a-z][a-z0-9+.-]*:\/\/)?[^\s/\p{C}]+ wants you to sign in with your Ethereum account:\n0x[0-9a-fA-F]{40}(?:\n[^\r\v\f\u0085\u2028\u2029]*)?$/u
