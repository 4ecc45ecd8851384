import { hashMessage, keccak256, toHex } from 'viem'
import { describe, expect, it } from 'vitest'
import { Address } from '../../eth/index.ts'
import type { TypedData } from '../../eth/index.ts'
import { nestedWarnings } from './nestedmessage.ts'
import type { SignInContext } from './signin.ts'

const ALICE = Address.from('0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266')
const CONTEXT: SignInContext = { origin: 'https://app.example', account: ALICE, chainId: 8453, now: 0 }

function personal(prefixed: unknown): TypedData {
  return { types: {}, primaryType: 'PersonalSign', domain: { verifyingContract: ALICE }, message: { prefixed } }
}

const prefixed = (message: string) => `\x19Ethereum Signed Message:\n${new TextEncoder().encode(message).length}${message}`
const codes = (data: TypedData) => nestedWarnings(data, CONTEXT).map(({ code, level }) => `${level} ${code}`)

describe('nestedWarnings', () => {
  it('gives no warning for other data', () => {
    for (const type of ['Mail', 'Permit', 'constructor', ''])
      expect(codes({ types: {}, primaryType: type, domain: {}, message: {} })).toEqual([])
  })

  it.each(['', 'hello', '5 apples', '0'.repeat(11), 'ä€😀', 'x'.repeat(1_000)])(
    'reads the message %j, which is what the account hashes',
    (message) => {
      const hex = toHex(prefixed(message))
      expect(keccak256(hex)).toBe(hashMessage(message))
      const [warning, ...more] = nestedWarnings(personal(hex), CONTEXT)
      expect([warning?.code, warning?.level, more]).toEqual(['nested-message', 'caution', []])
      expect(warning?.text).toContain(`“${message.slice(0, 100)}`)
    },
  )

  it('gives the warnings of personal_sign for the message', () => {
    const signIn = `bank.example wants you to sign in with your Ethereum account:\n${ALICE}\n`
    expect(codes(personal(toHex(prefixed(signIn))))).toEqual(expect.arrayContaining(['caution nested-message', 'danger sign-in-domain']))
    expect(codes(personal(`${toHex('\x19Ethereum Signed Message:\n32')}${'ab'.repeat(32)}`))).toContain('caution opaque-message')
    expect(codes(personal(toHex(prefixed('pay\u202e me'))))).toContain('caution hidden-characters')
  })

  it.each([
    ['two hashes behind 0x1901', `0x1901${'ab'.repeat(64)}`],
    ['a shorter length', toHex('\x19Ethereum Signed Message:\n4hello')],
    ['a longer length', toHex('\x19Ethereum Signed Message:\n6hello')],
    ['a length with a zero before it', toHex('\x19Ethereum Signed Message:\n05hello')],
    ['no length', toHex('\x19Ethereum Signed Message:\n')],
    ['nothing', '0x'],
    ['half a byte', '0x1'],
    ['no bytes', undefined],
    ['a list', [1]],
  ])('calls it danger where there is no message: %s', (_, value) => expect(codes(personal(value))).toEqual(['danger nested-data']))

  it.each(['CoinbaseSmartWalletMessage', 'ReplaySafeHash', 'Kernel', 'LightAccountMessage'])(
    'warns that the hash of a %s is not readable',
    (type) => expect(codes({ types: {}, primaryType: type, domain: {}, message: {} })).toEqual(['caution opaque-message']),
  )
})
