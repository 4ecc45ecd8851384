import { HDKey } from 'viem/accounts'
import { english, generateMnemonic, mnemonicToAccount } from 'viem/accounts'
import { describe, expect, it } from 'vitest'
import { HdKey } from './hdkey.ts'
import { DecodeError, Hex } from './hex.ts'
import { Mnemonic } from './mnemonic.ts'
import { Secp256k1 } from './secp256k1.ts'

const DEVELOPERS = 'test test test test test test test test test test test junk'

describe('a mnemonic', () => {
  it('derives the accounts that every development chain has', () => {
    const keys = Mnemonic.privateKeys(DEVELOPERS, 2)
    expect(keys.map((key) => Hex.fromBytes(key))).toEqual([
      '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80',
      '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d',
    ])
    expect(keys.map((key) => Secp256k1.address(key))).toEqual([
      '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266',
      '0x70997970c51812dc3a010c7d01b50e0d17dc79c8',
    ])
  })

  it('derives the same accounts as viem', () => {
    for (const strength of [128, 256] as const) {
      const words = generateMnemonic(english, strength)
      const judged = [0, 1, 2].map((addressIndex) => mnemonicToAccount(words, { addressIndex }).address.toLowerCase())
      expect(Mnemonic.privateKeys(words, 3).map((key) => Secp256k1.address(key))).toEqual(judged)
    }
  })

  it('accepts any spacing and another path', () => {
    const spaced = `  ${DEVELOPERS.replaceAll(' ', ' \n ')} `
    expect(Mnemonic.privateKeys(spaced, 1)).toEqual(Mnemonic.privateKeys(DEVELOPERS, 1))
    const judged = HDKey.fromMasterSeed(Mnemonic.toSeed(DEVELOPERS)).derive("m/44'/60'/1'/7")
    expect(Mnemonic.privateKeys(DEVELOPERS, 2, "m/44'/60'/1'/7")[1]).toEqual(judged.deriveChild(1).privateKey)
  })

  it('drawn at random is valid and unique', async () => {
    const drawn = await Promise.all([Mnemonic.random(), Mnemonic.random(), Mnemonic.random(256)])
    expect(new Set(drawn).size).toBe(3)
    expect(drawn.map((words) => words.split(' ').length)).toEqual([12, 12, 24])
    expect(await Promise.all(drawn.map(Mnemonic.validate))).toEqual([true, true, true])
    expect(await Mnemonic.validate(DEVELOPERS.replace('junk', 'test'))).toBe(false)
  })

  it('of another number of words is rejected', () => {
    expect(() => Mnemonic.privateKeys('test junk', 1)).toThrow(/12, 15, 18, 21 or 24 words, not 2/)
  })
})

describe('a derivation path', () => {
  it('follows the first vector of BIP-32', () => {
    const root = HdKey.fromSeed(Hex.toBytes('0x000102030405060708090a0b0c0d0e0f'))
    expect(Hex.fromBytes(root.privateKey)).toBe('0xe8f32e723decf4051aefac8e2c93c9c5b214313817cdb01a1494b917c8436b35')
    const node = HdKey.derive(root, "m/0'/1/2'/2/1000000000")
    expect(Hex.fromBytes(node.privateKey)).toBe('0x471b76e389e528d6de6d816857e012c5455051cad6660850e58372a6c3e6e7c8')
    expect(Hex.fromBytes(node.chainCode)).toBe('0xc783e67b921d2beb8f6b389cc646d7263b4145701dadd2161548a8b078e65e9e')
  })

  it.each(['', '0/1', 'm/', 'm//1', 'm/x', 'm/-1', "m/1''", 'm/2147483648', 'm/1.5'])('%j is rejected', (path) => {
    const root = HdKey.fromSeed(new Uint8Array(16))
    expect(() => HdKey.derive(root, path)).toThrow(DecodeError)
  })

  it('does not begin at a seed that is too short', () => {
    expect(() => HdKey.fromSeed(new Uint8Array(15))).toThrow(DecodeError)
  })
})
