import { describe, expect, it } from 'vitest'
import { describePermitValue } from './permit.ts'

const NOW = Date.parse('2026-06-01T12:00:00Z')

describe('describePermitValue', () => {
  it.each([
    ['Permit', 'value', (2n ** 256n - 1n).toString(), 'unlimited'],
    ['Permit', 'value', `0x${'f'.repeat(64)}`, 'unlimited'],
    ['Permit', 'value', `0X${'F'.repeat(64)}`, 'unlimited'],
    ['PermitDetails', 'amount', (2n ** 160n - 1n).toString(), 'unlimited'],
    ['TokenPermissions', 'amount', (2n ** 96n - 1n).toString(), 'unlimited'],
    ['TransferWithAuthorization', 'value', '5', null],
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
  ])('%s.%s of %s: %s', (struct, name, value, meaning) => expect(describePermitValue(struct, name, value, NOW)).toBe(meaning))
})
