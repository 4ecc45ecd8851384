import { secp256k1 as noble } from '@noble/curves/secp256k1.js'
import * as fc from 'fast-check'
import { privateKeyToAddress } from 'viem/accounts'
import { describe, expect, it } from 'vitest'
import { Hash } from './hash.ts'
import { DecodeError, Hex } from './hex.ts'
import { Secp256k1 } from './secp256k1.ts'

const { ORDER, HALF_ORDER } = Secp256k1
const key = fc.bigInt({ min: 1n, max: ORDER - 1n }).map((value) => Hash.fromBigint(value))
const digest = fc.uint8Array({ minLength: 32, maxLength: 32 })

describe('signing', () => {
  it("is deterministic, has the low s and equals noble's", () => {
    fc.assert(
      fc.property(key, digest, (privateKey, message) => {
        const { r, s, yParity } = Secp256k1.sign(message, privateKey)
        const judged = noble.Signature.fromBytes(
          noble.sign(message, Hex.toBytes(privateKey), { prehash: false, format: 'recovered' }),
          'recovered',
        )
        expect({ r, s, yParity }).toEqual({ r: judged.r, s: judged.s, yParity: judged.recovery })
        expect(s <= HALF_ORDER).toBe(true)
      }),
      { numRuns: 30 },
    )
  })

  it('recovers to the account of its key', () => {
    fc.assert(
      fc.property(key, digest, (privateKey, message) => {
        const { r, s, yParity } = Secp256k1.sign(message, privateKey)
        const account = Secp256k1.address(privateKey)
        expect(account).toBe(privateKeyToAddress(privateKey).toLowerCase())
        expect(Secp256k1.recover(message, r, s, yParity)).toBe(account)
        expect(Secp256k1.recover(Hash.from(message), r, s, yParity)).toBe(account)
        expect(Secp256k1.recover(message, r, ORDER - s, 1 - yParity)).toBe(account)
        expect(Secp256k1.recover(message, r, s, 1 - yParity)).not.toBe(account)
      }),
      { numRuns: 30 },
    )
  })

  it.each([0n, ORDER, 2n ** 256n - 1n])('rejects %d as a key', (value) => {
    expect(() => Secp256k1.sign(new Uint8Array(32), Hash.fromBigint(value))).toThrow(DecodeError)
    expect(() => Secp256k1.publicKey(Hash.fromBigint(value))).toThrow(DecodeError)
  })

  it('rejects keys and digests of another length', () => {
    expect(() => Secp256k1.sign(new Uint8Array(32), '0x01')).toThrow(/^private key must be 32 bytes/)
    expect(() => Secp256k1.sign(new Uint8Array(31), Hash.fromBigint(1n))).toThrow(/^digest must be 32 bytes/)
  })
})

describe('recovery', () => {
  it('finds no key outside the group', () => {
    const message = new Uint8Array(32).fill(1)
    const { r, s } = Secp256k1.sign(message, Hash.fromBigint(7n))
    const outside: [bigint, bigint, number][] = [
      [0n, s, 0],
      [r, 0n, 0],
      [ORDER, s, 0],
      [r, ORDER, 0],
      [r, s, 2],
      [r, s, 27],
      [-1n, s, 0],
      [5n, 1n, 0], // no point of the curve has this x
    ]
    for (const [x, y, parity] of outside) expect(Secp256k1.recover(message, x, y, parity)).toBeNull()
  })
})
