import * as fc from 'fast-check'
import { getAddress, getContractAddress } from 'viem'
import { expect, it } from 'vitest'
import { Address } from './address.ts'
import { Hash } from './hash.ts'
import { DecodeError, Hex } from './hex.ts'

const address = fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes) => Address.from(bytes))

it('is the same from bytes, lower case, upper case and checksummed text', () => {
  fc.assert(
    fc.property(address, (value) => {
      expect(Address.checksum(value)).toBe(getAddress(value))
      expect(Address.from(Address.checksum(value))).toBe(value)
      expect(Address.from(Address.toBytes(value))).toBe(value)
      expect(Address.fromBigint(Address.toBigint(value))).toBe(value)
    }),
  )
})

it('computes the addresses of CREATE and CREATE2', () => {
  const salts = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }).map((value) => Hash.fromBigint(value))
  const nonces = fc.bigInt({ min: 0n, max: 2n ** 64n - 2n })
  fc.assert(
    fc.property(address, nonces, salts, fc.uint8Array({ maxLength: 100 }), (from, nonce, salt, bytecode) => {
      expect(Address.checksum(Address.create(from, nonce))).toBe(getContractAddress({ from, nonce }))
      const judged = getContractAddress({ opcode: 'CREATE2', from, salt, bytecode: Hex.fromBytes(bytecode) })
      expect(Address.checksum(Address.create2(from, salt, bytecode))).toBe(judged)
    }),
  )
})

it.each(['', '0x', `0x${'0'.repeat(39)}`, `0x${'0'.repeat(41)}`, `0x${'g'.repeat(40)}`, '0'.repeat(42)])('rejects %j', (text) => {
  expect(() => Address.from(text, 'to')).toThrow(DecodeError)
  expect(() => Address.from(text, 'to')).toThrow(/^to /)
  expect(Address.isAddress(text)).toBe(false)
})

it('rejects bytes of another length and public keys that are not uncompressed', () => {
  expect(() => Address.from(new Uint8Array(19))).toThrow(DecodeError)
  expect(() => Hash.from(new Uint8Array(31))).toThrow(DecodeError)
  expect(() => Hash.from('0x00')).toThrow(DecodeError)
  expect(() => Address.fromPublicKey(new Uint8Array(65))).toThrow(DecodeError)
  expect(() => Address.fromPublicKey(new Uint8Array(33).fill(4))).toThrow(DecodeError)
})
