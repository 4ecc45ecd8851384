import { describe, expect, it } from 'vitest'
import { Address } from './address.ts'
import { Delegation } from './delegation.ts'
import { Hex } from './hex.ts'

const BOB = Address.from('0xb0b0000000000000000000000000000000000b0b')

describe('Delegation', () => {
  it('round-trips as bytes and as text', () => {
    expect(Delegation.text(BOB)).toBe(`0xef0100${BOB.slice(2)}`)
    expect(Delegation.code(BOB)).toEqual(Hex.toBytes(Delegation.text(BOB)))
    expect(Delegation.code(BOB)).toHaveLength(Delegation.SIZE)
    expect(Delegation.of(Delegation.code(BOB))).toBe(BOB)
    expect(Delegation.ofText(Delegation.text(BOB))).toBe(BOB)
  })

  it('is read in any letter case', () => {
    expect(Delegation.ofText(`0x${Delegation.text(BOB).slice(2).toUpperCase()}`)).toBe(BOB)
  })

  it.each(['0x', '0xef0100', `0xef0101${BOB.slice(2)}`, `0xef0100${BOB.slice(2)}00`] as const)('is not %s', (code) => {
    expect(Delegation.of(Hex.toBytes(code))).toBeNull()
    expect(Delegation.ofText(code)).toBeNull()
  })

  it('to the zero address is no code', () => {
    expect(Delegation.code(Address.zero)).toHaveLength(0)
    expect(Delegation.text(Address.zero)).toBe('0x')
  })
})
