import { readFileSync } from 'node:fs'
import * as known from 'viem/chains'
import { expect, it } from 'vitest'
import { Address, Mnemonic, Secp256k1 } from '../../eth/index.ts'
import { isPublicAccount, isRealChain } from './realchains.ts'

interface KnownChain {
  readonly id: number
  readonly name: string
  readonly testnet?: boolean
}

const chains = Object.values(known as Readonly<Record<string, unknown>>).filter(
  (value): value is KnownChain => typeof value === 'object' && value !== null && 'id' in value && 'nativeCurrency' in value,
)
const source = readFileSync(new URL('realchains.ts', import.meta.url), 'utf8')
const listed = [...source.matchAll(/^ {2}\[(\d+), '/gm)].map(([, id]) => Number(id))

it('every id of the list is a mainnet', () => {
  expect(listed.length).toBeGreaterThan(80)
  const wrong = listed.filter((id) => !isRealChain(id) || !chains.some((chain) => chain.id === id && chain.testnet !== true))
  expect(wrong).toEqual([])
})

it.each([1, 10, 56, 100, 130, 137, 324, 480, 5_000, 8_453, 34_443, 42_161, 43_114, 57_073, 59_144, 81_457, 534_352, 7_777_777])(
  '%i is real',
  (id) => expect(isRealChain(id)).toBe(true),
)

it.each([11_155_111, 84_532, 11_155_420, 421_614, 80_002, 17_000, 1_337, 31_337, 901])('%i is not', (id) =>
  expect(isRealChain(id)).toBe(false),
)

it('the public dev accounts are recognized', () => {
  const keys = Mnemonic.privateKeys('test test test test test test test test test test test junk', 10, "m/44'/60'/0'/0")
  expect(keys.map((key) => isPublicAccount(Secp256k1.address(key)))).toEqual(Array<boolean>(10).fill(true))
  expect(isPublicAccount(Address.from('0x00000000000000000000000000000000000000aa'))).toBe(false)
})
