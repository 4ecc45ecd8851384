import { keccak_256 } from '@noble/hashes/sha3.js'
import type { TokenLabel } from '../../src/wallet/question.ts'
import { INVISIBLE } from '../../src/eth/visibletext.ts'
import { blankRuns, lineEndCount } from '../../src/wallet/preview/blanks.ts'

/** `1.5` for 1500000000000000000 and 18: all significant digits, without trailing zeros. The minus sign is U+2212. */
export function units(value: bigint, decimals: number): string {
  if (value < 0n) return `${MINUS}${units(-value, decimals)}`
  const digits = value.toString().padStart(decimals + 1, '0')
  const whole = grouped(digits.slice(0, digits.length - decimals))
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '')
  return fraction === '' ? whole : `${whole}.${fraction}`
}

/** As `units`, rounded up to `significant` digits; for estimates. */
export function rounded(value: bigint, decimals: number, significant = 4): string {
  const drop = value.toString().length - significant
  if (drop <= 0) return units(value, decimals)
  const unit = 10n ** BigInt(Math.min(drop, decimals))
  return units(((value + unit - 1n) / unit) * unit, decimals)
}

/** As `units`, with at most six significant digits after the leading zeros, and `≈` if that rounds it; the exact amount belongs into the tooltip. */
export function readable(value: bigint, decimals: number): string {
  const size = value < 0n ? -value : value
  const digits = size.toString()
  const whole = Math.max(0, digits.length - decimals)
  const drop = Math.min(decimals, digits.length - Math.max(SHOWN_DIGITS, whole))
  if (drop <= 0) return units(value, decimals)
  const unit = 10n ** BigInt(drop)
  const rounded = ((size + unit / 2n) / unit) * unit
  if (rounded === size) return units(value, decimals)
  return `≈ ${units(value < 0n ? -rounded : rounded, decimals)}`
}

const SHOWN_DIGITS = 6

/** As `units`, truncated to six decimals; for lists, which have the exact amount in the tooltip. */
export function truncated(value: bigint, decimals: number): string {
  const unit = 10n ** BigInt(Math.max(0, decimals - 6))
  return units(value - (value % unit), decimals)
}

/** `+1.5` or `−1.5`; in the smallest unit if `decimals` is null. */
export function signed(amount: string, decimals: number | null): string {
  const value = BigInt(amount)
  return value > 0n ? `+${units(value, decimals ?? 0)}` : units(value, decimals ?? 0)
}

/** `1.5 USDC`; `1,500,000 units of USDC` if the decimals are unknown. A token without a symbol has its address in place of it. */
export function tokenAmount(amount: bigint, token: TokenLabel): string {
  const { decimals } = token
  return decimals === null ? `${units(amount, 0)} units of ${tokenName(token)}` : `${units(amount, decimals)} ${tokenName(token)}`
}

export function tokenName({ symbol, address }: Pick<TokenLabel, 'symbol' | 'address'>): string {
  return symbol === null ? shortened(checksummed(address)) : visible(symbol)
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

/** Decimal digits without separators, as for ids. */
export function decimal(quantity: string | number): string {
  return BigInt(quantity).toString()
}

export function grouped(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+$)/g, ',')
}

/** Names whose numbers are not quantities, and are shown without commas. */
export const IDS: ReadonlySet<string> = new Set(['chainId', 'nonce', 'tokenId', 'id', 'salt'])

/**
 * A foreign reason of a failure for display: `visible`, with commas in the numbers of a decoded error, such as
 * `ERC20InsufficientBalance(sender: 0x…, balance: 0, needed: 1,000,000)`. The wallet's text has none, since programs may parse it.
 */
export function reasonText(reason: string): string {
  return visible(reason).replace(ERROR, (error) =>
    error.replace(ERROR_NUMBER, (all, before: string, digits: string) =>
      IDS.has(before.slice(0, -2).replace(/^_/, '')) ? all : before + grouped(digits),
    ),
  )
}

/** A decoded error ends the text, possibly cut short. */
const ERROR = /\b\w+\(\w+: .*/s
/** A number after the name of its parameter or within a list. */
const ERROR_NUMBER = /(\b\w+: |\[|, )(-?\d{4,})(?=, |[)\]]| \})/g

/** The size of a `0x…` string in bytes. */
export function sizeOf(data: string): number {
  return (data.length - 2) / 2
}

/**
 * Foreign text for display: characters that change the reading direction or are invisible become `⟨U+202E⟩`, since they can make a text
 * look different from its content.
 */
export function visible(text: string): string {
  return text.replace(SHOWN_AS_CODE, (character) => `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`)
}

/** A part of an untrusted text: shown as it is, or a placeholder for a gap. */
interface TextSegment {
  readonly kind: 'text' | 'gap'
  readonly text: string
}

/**
 * Splits a text at long runs of blank characters, which would push what follows out of view, and replaces each with a placeholder such as
 * `⟨200,000 blank lines⟩`. `visible` is applied to each segment.
 */
export function textSegments(text: string): readonly TextSegment[] {
  const found: TextSegment[] = []
  let end = 0
  for (const match of text.matchAll(BLANKS)) {
    const [run] = match
    const gap = gapText(run)
    if (gap === null) continue
    if (match.index > end) found.push({ kind: 'text', text: visible(text.slice(end, match.index)) })
    found.push({ kind: 'gap', text: `⟨${gap}⟩` })
    end = match.index + run.length
  }
  if (end < text.length) found.push({ kind: 'text', text: visible(text.slice(end)) })
  return found
}

/** The placeholder's text; null if the run is short enough to be shown. */
function gapText(run: string): string | null {
  const lines = lineEndCount(run)
  if (lines > GAP_LINES) return `${grouped(String(lines - 1))} blank lines`
  const size = Array.from(run).length - lines
  if (size <= GAP_CHARACTERS) return null
  return `${grouped(String(size))} ${/^[ \n]+$/.test(run) ? 'spaces' : 'characters that cannot be seen'}`
}

const GAP_LINES = 4
const GAP_CHARACTERS = 60

/** The number of lines of a text with any kind of line end. */
export function lineCount(text: string): number {
  return lineEndCount(text) + 1
}

/** `{ name: 'app.example', scheme: 'https' }`; `scheme` is null unless the origin is a web origin. */
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

/** A shorter run cannot exceed GAP_LINES or GAP_CHARACTERS. */
const BLANKS = blankRuns(GAP_LINES + 1)

const SHOWN_AS_CODE = new RegExp(`(?![\\n\\t])${INVISIBLE.source}`, 'gu')
