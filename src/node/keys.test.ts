import { expect, it } from 'vitest'
import { Mnemonic } from '../eth/index.ts'
import { DEFAULT_MNEMONIC, accountsOf } from './keys.ts'

it('the dev accounts of the default mnemonic are those that BIP-32 derives', () => {
  expect(accountsOf({ accounts: 12 }).map(({ privateKey }) => privateKey)).toEqual(Mnemonic.privateKeys(DEFAULT_MNEMONIC, 12))
})
