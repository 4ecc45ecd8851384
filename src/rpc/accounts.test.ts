import { describe, expect, it } from 'vitest'
import { Address, Hash } from '../eth/index.ts'
import { DevAccounts } from './accounts.ts'
import { ALICE, KEY } from './node.fixture.ts'

const BOB = Address.from('0x70997970c51812dc3a010c7d01b50e0d17dc79c8')

describe('dev accounts', () => {
  it('are those of the keys, then the impersonated ones', () => {
    const accounts = new DevAccounts([KEY])
    expect(accounts.addresses).toEqual([ALICE])
    accounts.impersonate(BOB)
    accounts.impersonate(ALICE)
    expect(accounts.addresses).toEqual([ALICE, BOB])
    expect(accounts.stopImpersonating(BOB)).toBe(true)
    expect(accounts.stopImpersonating(BOB)).toBe(false)
    expect(accounts.addresses).toEqual([ALICE])
  })

  it('send a signed transaction with a key, an unsigned one when impersonated, and reject other senders', () => {
    const accounts = new DevAccounts([KEY])
    expect(accounts.transaction({}, ALICE)).toMatchObject({ from: ALICE })
    expect(() => accounts.transaction({}, BOB)).toThrow('unknown account')
    accounts.setAutoImpersonation(true)
    expect(accounts.transaction({}, BOB)).toMatchObject({ from: BOB, s: 1n })
    accounts.setAutoImpersonation(false)
    expect(accounts.canSend(BOB)).toBe(false)
  })

  it('sign with a key only', () => {
    const accounts = new DevAccounts([KEY])
    accounts.impersonate(BOB)
    expect(accounts.sign(ALICE, Hash.zero).r).toBeGreaterThan(0n)
    expect(() => accounts.sign(BOB, Hash.zero)).toThrow(`unknown account ${BOB}: this node has no private key of it`)
  })
})
