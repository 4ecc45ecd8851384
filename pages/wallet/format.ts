import { keccak_256 } from '@noble/hashes/sha3.js'

/** `1.5` for 1500000000000000000 and 18: every digit there is, none that says nothing. A minus is U+2212. */
export function units(value: bigint, decimals: number): string {
  if (value < 0n) return `${MINUS}${units(-value, decimals)}`
  const digits = value.toString().padStart(decimals + 1, '0')
  const whole = grouped(digits.slice(0, digits.length - decimals))
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '')
  return fraction === '' ? whole : `${whole}.${fraction}`
}

/** As units, with the first `significant` digits of what is smaller than one; for what is an estimate anyway. Rounded up. */
export function roughly(value: bigint, decimals: number, significant = 4): string {
  const drop = value.toString().length - significant
  if (drop <= 0) return units(value, decimals)
  const unit = 10n ** BigInt(Math.min(drop, decimals))
  return units(((value + unit - 1n) / unit) * unit, decimals)
}

/** As units, cut off after six decimals; for a list, where the whole stands beside. */
export function cut(value: bigint, decimals: number): string {
  const unit = 10n ** BigInt(Math.max(0, decimals - 6))
  return units(value - (value % unit), decimals)
}

/** `+1.5` or `−1.5`; what has no decimals is in the smallest unit. */
export function signed(amount: string, decimals: number | null): string {
  const value = BigInt(amount)
  return value > 0n ? `+${units(value, decimals ?? 0)}` : units(value, decimals ?? 0)
}

/** EIP-55 */
export function checksummed(address: string): string {
  const digits = address.slice(2).toLowerCase()
  const hash = keccak_256(new TextEncoder().encode(digits))
  const isUpper = (i: number) => (((hash[i >> 1] ?? 0) >> (i % 2 === 0 ? 4 : 0)) & 8) !== 0
  return `0x${digits.replace(/[a-f]/g, (digit, i: number) => (isUpper(i) ? digit.toUpperCase() : digit))}`
}

/** `0x7099…79C8` */
export function shortened(hex: string): string {
  return hex.length <= 13 ? hex : `${hex.slice(0, 6)}…${hex.slice(-4)}`
}

/** `31,337` is a number, `31337` an id. */
export function decimal(quantity: string | number): string {
  return BigInt(quantity).toString()
}

export function grouped(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+$)/g, ',')
}

/** Bytes in a `0x…` string. */
export function sizeOf(data: string): number {
  return (data.length - 2) / 2
}

/**
 * Text that somebody else wrote, as it will be read: characters that turn the reading direction, hide or have no shape are named
 * (`⟨U+202E⟩`), since with them a text can show something else than it says.
 */
export function visible(text: string): string {
  return text.replace(UNSEEN, (character) => `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`)
}

/** A part of a text that somebody else wrote: to be shown as it is, or in place of a gap. */
export interface Piece {
  readonly kind: 'text' | 'gap'
  readonly text: string
}

/**
 * Text in pieces, with `⟨200,000 blank lines⟩` where characters without ink would push what stands behind them out of the box. `visible` has
 * been applied to every piece.
 */
export function pieces(text: string): readonly Piece[] {
  const found: Piece[] = []
  let end = 0
  for (const match of text.matchAll(BLANKS)) {
    const [run] = match
    const gap = gapName(run)
    if (gap === null) continue
    if (match.index > end) found.push({ kind: 'text', text: visible(text.slice(end, match.index)) })
    found.push({ kind: 'gap', text: `⟨${gap}⟩` })
    end = match.index + run.length
  }
  if (end < text.length) found.push({ kind: 'text', text: visible(text.slice(end)) })
  return found
}

/** Null if the run is short enough to be shown. */
function gapName(run: string): string | null {
  const lines = run.match(LINE_END)?.length ?? 0
  if (lines > GAP_LINES) return `${grouped(String(lines - 1))} blank lines`
  const size = Array.from(run).length - lines
  if (size <= GAP_CHARACTERS) return null
  return `${grouped(String(size))} ${/^[ \n]+$/.test(run) ? 'spaces' : 'characters that cannot be seen'}`
}

const GAP_LINES = 4
const GAP_CHARACTERS = 60

/** How many lines a text has, whatever ends them. */
export function lineCount(text: string): number {
  return (text.match(LINE_END)?.length ?? 0) + 1
}

/** `{ name: 'app.example', scheme: 'https' }`; what is no web address has no scheme. */
export function site(origin: string): { readonly name: string; readonly scheme: string | null } {
  const match = /^([a-z][a-z0-9+.-]*):\/\/(.+)$/.exec(origin)
  if (match !== null) return { name: visible(match[2] ?? ''), scheme: match[1] ?? '' }
  return { name: origin === 'local' ? 'A program' : visible(origin), scheme: null }
}

/** `just now`, `4 min ago` */
export function ago(time: number, now: number): string {
  const seconds = Math.max(0, Math.floor((now - time) / 1000))
  if (seconds < RECENT_S) return 'just now'
  const [size, name] = AGES.find(([size]) => seconds >= size) ?? [1, 's']
  return `${Math.floor(seconds / size)} ${name} ago`
}

const RECENT_S = 10

const AGES: readonly (readonly [seconds: number, name: string])[] = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
]

const MINUS = '−'

const LINE_END = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/g
/** Five or more characters without ink: spaces, control, format and combining ones, and letters that are drawn as nothing. */
const BLANKS = /[\s\p{Z}\p{C}\p{M}\u115F\u1160\u2800\u3164\uFFA0]{5,}/gu

/** Control characters but line ends and tabs, soft hyphens, zero width, directions, invisible operators, byte order mark, tags. */
const UNSEEN = /(?![\n\t])(?:[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}]|\u034F|\u115F|\u1160|\u17B4|\u17B5|\u2800|\u3164|\uFFA0)/gu
