import { PERMIT2_TYPES, EIP3009_TYPES, coversAnySupply, hasNoEnd, utcText } from '../../src/wallet/preview/permitvalues.ts'
import type { TokenLabel } from '../../src/wallet/question.ts'
import { tokenAmount, visible } from './format.ts'

/** What a number of a permit refers to. */
export interface PermitContext {
  /** Unix time of the question */
  readonly nowMs: number
  /** address of the domain's verifying contract, if it has one */
  readonly verifier: unknown
  /** tokens that the wallet has read */
  readonly tokens: readonly TokenLabel[]
}

/** What a number of a permit means. */
export interface PermitMeaning {
  /** such as `unlimited`, `5.5 USDC` or `2033-05-18 03:33 UTC`; null: the number is shown alone */
  readonly text: string | null
  /** unit of the number itself, for an amount; null: none */
  readonly unit: string | null
}

/**
 * Returns the meaning of a number in a permit, or null if it needs no explanation. `struct` and `name`: type and member, which the standards fix.
 * `fields`: the struct's values.
 */
export function describePermitValue(
  struct: string,
  name: string,
  fields: Readonly<Record<string, unknown>>,
  { nowMs, verifier, tokens }: PermitContext,
): PermitMeaning | null {
  const number = STRUCTS.has(struct) && Object.hasOwn(fields, name) ? integer(fields[name]) : null
  if (number === null) return null
  if (AMOUNTS.has(name)) {
    const given = OF_VERIFIER.has(struct) ? verifier : fields['token']
    const address = typeof given === 'string' ? given.toLowerCase() : null
    return amountMeaning(number, tokens.find((token) => token.address === address) ?? null)
  }
  const text = TIMES.has(name) ? timeText(number, name === 'expiry', nowMs) : null
  return text === null ? null : { text, unit: null }
}

/** The verifying contract is the token itself. */
const OF_VERIFIER: ReadonlySet<string> = new Set(['Permit', ...EIP3009_TYPES])
/** EIP-2612 and DAI (`Permit`), EIP-3009, Permit2 and its nested structs. */
const STRUCTS: ReadonlySet<string> = new Set([...OF_VERIFIER, 'PermitDetails', 'TokenPermissions', ...PERMIT2_TYPES])
const AMOUNTS: ReadonlySet<string> = new Set(['value', 'amount'])
const TIMES: ReadonlySet<string> = new Set(['deadline', 'expiry', 'expiration', 'sigDeadline', 'validAfter', 'validBefore'])

/** `token`: null if it was not read. */
function amountMeaning(amount: bigint, token: TokenLabel | null): PermitMeaning {
  if (coversAnySupply(amount)) return { text: 'unlimited', unit: null }
  if (token !== null && token.decimals !== null) return { text: tokenAmount(amount, token), unit: 'in its smallest unit' }
  const symbol = token?.symbol ?? null
  const unit = symbol === null ? 'in the token’s smallest unit' : `in the smallest unit of ${visible(symbol)}`
  return { text: null, unit: `${unit}; its decimals are unknown` }
}

/** `isDai`: an expiry of zero never ends. */
function timeText(seconds: bigint, isDai: boolean, nowMs: number): string | null {
  if (seconds === 0n) return isDai ? 'no end' : null
  if (hasNoEnd(seconds)) return 'no end'
  return `${utcText(seconds)}${Number(seconds) * 1000 < nowMs ? ', in the past' : ''}`
}

/** A number, decimal or 0x text, as the wallet reads typed data; null for anything else. */
function integer(value: unknown): bigint | null {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? BigInt(value) : null
  return typeof value === 'string' && /^(\d{1,78}|0x[0-9a-f]{1,64})$/i.test(value) ? BigInt(value) : null
}
