import { describe, expect, it } from 'vitest'
import type { TokenLabel } from '../../src/wallet/question.ts'
import { checksummed, shortened } from './format.ts'
import { describePermitValue } from './permit.ts'

const NOW = Date.parse('2026-06-01T12:00:00Z')
const [USDC, MUTE, BARE] = [token('a1'), token('b2'), token('c3')]
const TOKENS: readonly TokenLabel[] = [
  { address: USDC, symbol: 'USDC', decimals: 6 },
  { address: MUTE, symbol: null, decimals: 6 },
  { address: BARE, symbol: 'BARE', decimals: null },
]

/** An address of 20 equal bytes. */
function token(byte: string): TokenLabel['address'] {
  return `0x${byte.repeat(20)}` as TokenLabel['address'] // 20 bytes
}

/** Of a struct with this number and token; the verifying contract is USDC. */
function meaningOf(struct: string, name: string, value: unknown, token?: unknown) {
  return describePermitValue(struct, name, { [name]: value, token }, { nowMs: NOW, verifier: USDC, tokens: TOKENS })
}

describe('describePermitValue', () => {
  it.each([
    ['Permit', 'value', (2n ** 256n - 1n).toString(), 'unlimited'],
    ['Permit', 'value', `0x${'f'.repeat(64)}`, 'unlimited'],
    ['Permit', 'value', `0X${'F'.repeat(64)}`, 'unlimited'],
    ['PermitDetails', 'amount', (2n ** 160n - 1n).toString(), 'unlimited'],
    ['TokenPermissions', 'amount', (2n ** 96n - 1n).toString(), 'unlimited'],
    ['Permit', 'deadline', 2_000_000_000, '2033-05-18 03:33 UTC'],
    ['Permit', 'deadline', '0x77359400', '2033-05-18 03:33 UTC'],
    ['PermitSingle', 'sigDeadline', '1700000000', '2023-11-14 22:13 UTC, in the past'],
    ['Permit', 'deadline', (2n ** 256n - 1n).toString(), 'no end'],
    ['PermitDetails', 'expiration', (2n ** 48n - 1n).toString(), 'no end'],
    ['Permit', 'expiry', '0', 'no end'],
    ['Permit', 'deadline', '0', null],
    ['Permit', 'nonce', '2000000000', null],
    ['Order', 'deadline', '2000000000', null],
    ['Permit', 'deadline', 'tomorrow', null],
    ['Permit', 'value', -1, null],
    ['Permit', 'value', { length: 1 }, null],
    ['constructor', 'value', '5', null],
  ])('%s.%s of %s: %s', (struct, name, value, text) =>
    expect(meaningOf(struct, name, value)).toEqual(text === null ? null : { text, unit: null }),
  )

  it.each([
    ['Permit', 'value', '5500000', undefined, '5.5 USDC'],
    ['Permit', 'value', '0x53ec60', undefined, '5.5 USDC'],
    ['Permit', 'value', 0, undefined, '0 USDC'],
    ['TransferWithAuthorization', 'value', '5', undefined, '0.000005 USDC'],
    // Another member of the name `token` does not change whose unit it is.
    ['Permit', 'value', '5500000', BARE, '5.5 USDC'],
    ['PermitDetails', 'amount', '1234500000', USDC.toUpperCase().replace('0X', '0x'), '1,234.5 USDC'],
    ['TokenPermissions', 'amount', '5500000', MUTE, `5.5 ${shortened(checksummed(MUTE))}`],
  ])('%s.%s of %s, token %s: %s in the token', (struct, name, value, token, text) =>
    expect(meaningOf(struct, name, value, token)).toEqual({ text, unit: 'in its smallest unit' }),
  )

  it('names the unit of an amount if the token is unknown or has no decimals', () => {
    const unknown = { text: null, unit: 'in the token’s smallest unit; its decimals are unknown' }
    expect(meaningOf('TokenPermissions', 'amount', '5500000', token('d4'))).toEqual(unknown)
    expect(meaningOf('TokenPermissions', 'amount', '5500000')).toEqual(unknown)
    expect(meaningOf('TokenPermissions', 'amount', '5500000', { toString: 1 })).toEqual(unknown)
    const unread = { nowMs: NOW, verifier: USDC, tokens: [] }
    expect(describePermitValue('Permit', 'value', { value: '5500000' }, unread)).toEqual(unknown)
    expect(describePermitValue('Permit', 'value', { value: '5500000' }, { ...unread, verifier: undefined })).toEqual(unknown)
    const bare = { text: null, unit: 'in the smallest unit of BARE; its decimals are unknown' }
    expect(meaningOf('PermitDetails', 'amount', '5500000', BARE)).toEqual(bare)
  })
})
