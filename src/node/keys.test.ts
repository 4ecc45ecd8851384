import { privateKeyToAccount } from 'viem/accounts'
import { expect, it } from 'vitest'
import { Hex, Mnemonic } from '../eth/index.ts'
import { DEFAULT_MNEMONIC, accountsOf } from './keys.ts'

it('the dev accounts of the default mnemonic are those that BIP-32 derives', () => {
  expect(accountsOf({ accounts: 12 }).map(({ privateKey }) => privateKey)).toEqual(
    Mnemonic.privateKeys(DEFAULT_MNEMONIC, 12).map((key) => Hex.fromBytes(key)),
  )
})

it('a private key is one for viem', () => {
  for (const { address, privateKey } of accountsOf({})) expect(privateKeyToAccount(privateKey).address.toLowerCase()).toBe(address)
})
