/**
 * What a number in a permit means, such as `unlimited` or `2033-05-18 03:33 UTC`; null if the number says it itself. `struct` and `name`: of the
 * member, which the standards fix. `now`: Unix time, milliseconds.
 */
export function meaningOf(struct: string, name: string, value: unknown, now: number): string | null {
  const number = STRUCTS.has(struct) ? integer(value) : null
  if (number === null) return null
  if (AMOUNTS.has(name)) return number >= MORE_THAN_ANY || number === UINT96_MAX ? 'unlimited' : null
  return TIMES.has(name) ? timeText(number, name === 'expiry', now) : null
}

/** EIP-2612 and DAI, EIP-3009, Permit2. */
const STRUCTS: ReadonlySet<string> = new Set([
  'Permit',
  'TransferWithAuthorization',
  'ReceiveWithAuthorization',
  'PermitSingle',
  'PermitBatch',
  'PermitDetails',
  'PermitTransferFrom',
  'PermitBatchTransferFrom',
  'PermitWitnessTransferFrom',
  'PermitBatchWitnessTransferFrom',
  'TokenPermissions',
])
const AMOUNTS: ReadonlySet<string> = new Set(['value', 'amount'])
const TIMES: ReadonlySet<string> = new Set(['deadline', 'expiry', 'expiration', 'sigDeadline', 'validAfter', 'validBefore'])

/** Seconds. `isDai`: zero has no end. */
function timeText(seconds: bigint, isDai: boolean, now: number): string | null {
  if (seconds === 0n) return isDai ? 'no end' : null
  if (seconds >= YEAR_3000) return 'no end'
  const time = Number(seconds) * 1000
  return `${new Date(time).toISOString().replace('T', ' ').slice(0, 16)} UTC${time < now ? ', in the past' : ''}`
}

/** As the wallet reads it: a number, decimal or 0x text; null for anything else. */
function integer(value: unknown): bigint | null {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? BigInt(value) : null
  return typeof value === 'string' && /^(\d{1,78}|0x[0-9a-f]{1,64})$/i.test(value) ? BigInt(value) : null
}

/** No token has as many of its smallest unit. */
const MORE_THAN_ANY = 1n << 128n
/** All that tokens like UNI and COMP can count. */
const UINT96_MAX = (1n << 96n) - 1n
const YEAR_3000 = 32_503_680_000n
