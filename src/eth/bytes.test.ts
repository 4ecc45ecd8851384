import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import * as here from './index.ts'

// A browser has no Buffer; the module must return the same results without it.

const KEY = `0x${'4c'.repeat(32)}` as const
const LONG = Uint8Array.from({ length: 5_000 }, (_, i) => i * 7)
const TEXTS = ['', 'Transfer(address,address,uint256)', 'Grüße ✓ 🧁', '\uD800 alone']
const TYPED = {
  types: {
    Order: [
      { name: 'note', type: 'string' },
      { name: 'items', type: 'uint256[]' },
    ],
  },
  primaryType: 'Order',
  domain: { name: 'Shop', chainId: 1 },
  message: { note: 'Grüße ✓', items: [1, 2, 3] },
}

let there: typeof here

/** The module as loaded without Buffer; the test runner needs Buffer restored. */
beforeEach(async () => {
  vi.resetModules()
  const kept = globalThis.Buffer
  const loading = import('./index.ts')
  vi.stubGlobal('Buffer', undefined)
  there = await loading
  vi.stubGlobal('Buffer', kept)
  const { NodeBuffer } = await import('./bytes.ts')
  expect(NodeBuffer).toBeUndefined()
})

afterEach(() => {
  vi.unstubAllGlobals()
})

describe('without Buffer', () => {
  it('encodes and decodes hex at every length around the change of method', () => {
    for (const size of [0, 1, 63, 64, 65, 5_000]) {
      const bytes = LONG.subarray(0, size)
      const hex = here.Hex.fromBytes(bytes)
      expect(there.Hex.fromBytes(bytes)).toBe(hex)
      expect(there.Hex.toBytes(hex.toUpperCase().replace('0X', '0x'))).toEqual(Uint8Array.from(bytes))
    }
  })

  it('rejects invalid hex, short and long', () => {
    for (const size of [2, 1_000]) expect(() => there.Hex.toBytes(`0x${'0'.repeat(size - 1)}g`)).toThrow('not a hex digit')
  })

  it('encodes and decodes RLP', () => {
    const item = [here.Hex.fromBytes(LONG), LONG, '0x', 7n, [here.Address.zero]]
    const bytes = there.Rlp.encode(item as here.RlpInput)
    expect(there.Hex.fromBytes(bytes)).toBe(here.Hex.fromBytes(here.Rlp.encode(item as here.RlpInput)))
    expect(there.Rlp.decode(bytes)).toEqual(here.Rlp.decode(bytes))
  })

  it('hashes texts and typed data', () => {
    for (const text of TEXTS) expect(there.Hash.ofText(text)).toBe(here.Hash.ofText(text))
    expect(there.TypedData.hash(TYPED)).toBe(here.TypedData.hash(TYPED))
    expect(there.SourceHash.upgrade('Jovian: L1Block Deployment')).toBe(here.SourceHash.upgrade('Jovian: L1Block Deployment'))
  })

  it('signs and recovers', () => {
    const digest = here.Hash.ofText('digest')
    const { r, s, yParity } = there.Secp256k1.sign(digest, KEY)
    expect({ r, s, yParity }).toEqual(here.Secp256k1.sign(digest, KEY))
    expect(there.Secp256k1.recover(digest, r, s, yParity)).toBe(here.Secp256k1.address(KEY))
    expect(there.Address.checksum(there.Secp256k1.address(KEY))).toBe(here.Address.checksum(here.Secp256k1.address(KEY)))
  })

  it('computes sha256 and ripemd160', () => {
    expect(there.sha256(LONG)).toEqual(here.sha256(LONG))
    expect(there.ripemd160(LONG)).toEqual(here.ripemd160(LONG))
  })
})
