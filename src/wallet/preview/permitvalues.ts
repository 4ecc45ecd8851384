/** Interpretation of permit amounts and times, for the warnings and the page. Has no imports, since the page bundles it. */

/** True for an amount that covers any supply of a token: from 2^128 units (10^20 tokens of 18 decimals), or 2^96 - 1, the largest amount of tokens like UNI and COMP. */
export function coversAnySupply(amount: bigint): boolean {
  return amount >= 1n << 128n || amount === UINT96_MAX
}

/** True for an amount above the token's total supply, too; `supply`: in the smallest unit, null if it is not known. */
export function coversSupply(amount: bigint, supply: bigint | null): boolean {
  return coversAnySupply(amount) || (supply !== null && supply > 0n && amount > supply)
}

const UINT96_MAX = (1n << 96n) - 1n

/** True for a time from the year 3000 on. `seconds`: Unix time. */
export function hasNoEnd(seconds: bigint): boolean {
  return seconds >= YEAR_3000
}

const YEAR_3000 = 32_503_680_000n

/** Returns text such as `2033-05-18 03:33 UTC`. `seconds`: Unix time before the year 10000. */
export function utcText(seconds: bigint): string {
  return `${new Date(Number(seconds) * 1000).toISOString().replace('T', ' ').slice(0, 16)} UTC`
}

/** EIP-3009: the signature itself authorizes a transfer. */
export const EIP3009_TYPES: ReadonlySet<string> = new Set(['TransferWithAuthorization', 'ReceiveWithAuthorization'])

export const PERMIT2_TYPES: ReadonlySet<string> = new Set([
  'PermitSingle',
  'PermitBatch',
  'PermitTransferFrom',
  'PermitBatchTransferFrom',
  'PermitWitnessTransferFrom',
  'PermitBatchWitnessTransferFrom',
])
