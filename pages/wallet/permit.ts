import { PERMIT2_TYPES, EIP3009_TYPES, coversAnySupply, hasNoEnd, utcText } from '../../src/wallet/preview/permitvalues.ts'

/**
 * Returns the meaning of a number in a permit, such as `unlimited` or `2033-05-18 03:33 UTC`; null if the number needs no explanation.
 * `struct` and `name`: type and member, which the standards fix. `nowMs`: Unix time of the question.
 */
export function describePermitValue(struct: string, name: string, value: unknown, nowMs: number): string | null {
  const number = STRUCTS.has(struct) ? integer(value) : null
  if (number === null) return null
  if (AMOUNTS.has(name)) return coversAnySupply(number) ? 'unlimited' : null
  return TIMES.has(name) ? timeText(number, name === 'expiry', nowMs) : null
}

/** EIP-2612 and DAI (`Permit`), EIP-3009, Permit2 and its nested structs. */
const STRUCTS: ReadonlySet<string> = new Set(['Permit', 'PermitDetails', 'TokenPermissions', ...EIP3009_TYPES, ...PERMIT2_TYPES])
const AMOUNTS: ReadonlySet<string> = new Set(['value', 'amount'])
const TIMES: ReadonlySet<string> = new Set(['deadline', 'expiry', 'expiration', 'sigDeadline', 'validAfter', 'validBefore'])

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
