import * as fc from 'fast-check'
import { fromRlp, toRlp } from 'viem'
import { describe, expect, it } from 'vitest'
import { DecodeError, Hex } from './hex.ts'
import { Rlp, type RlpItem } from './rlp.ts'

type Nested = Hex | Nested[]

const { tree } = fc.letrec<{ tree: Nested }>((tie) => ({
  tree: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.uint8Array({ maxLength: 70 }).map((bytes) => Hex.fromBytes(bytes)),
    fc.array(tie('tree'), { maxLength: 8 }),
  ),
}))
const shallow = tree.filter((value) => depthOf(value) <= 14)

function depthOf(value: Nested): number {
  return typeof value === 'string' ? 0 : 1 + Math.max(0, ...value.map(depthOf))
}

function toHex(item: RlpItem): Nested {
  return item instanceof Uint8Array ? Hex.fromBytes(item) : item.map(toHex)
}

describe('against viem', () => {
  it('encodes any tree to the same bytes and decodes it to the same tree', () => {
    fc.assert(
      fc.property(shallow, (value) => {
        const encoded = Rlp.encode(value)
        expect(Hex.fromBytes(encoded)).toBe(toRlp(value))
        expect(toHex(Rlp.decode(encoded))).toEqual(fromRlp(encoded, 'hex'))
      }),
    )
  })

  it('never accepts bytes that it would encode differently', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 12 }), (bytes) => {
        const item = tryDecode(bytes)
        if (item !== null) expect(Rlp.encode(item)).toEqual(bytes)
      }),
      { numRuns: 5000 },
    )
  })
})

describe('without encoding', () => {
  it('computes the size of an item and of a list', () => {
    fc.assert(
      fc.property(shallow, (value) => {
        expect(Rlp.size(value)).toBe(Rlp.encode(value).length)
      }),
    )
    for (const size of [0, 1, 55, 56, 255, 256, 65_535, 65_536, 20_000_000]) {
      expect(Rlp.listSize(size)).toBe(Rlp.encode([{ encoded: new Uint8Array(size) }]).length)
    }
  })

  it('is valid until the next encoding', () => {
    fc.assert(
      fc.property(shallow, (value) => {
        expect(Rlp.encodeView(value).slice()).toEqual(Rlp.encode(value))
      }),
    )
  })
})

function tryDecode(bytes: Uint8Array): RlpItem | null {
  try {
    return Rlp.decode(bytes)
  } catch (error) {
    expect(error).toBeInstanceOf(DecodeError)
    return null
  }
}

describe('integers', () => {
  it('are encoded without leading zeros for every size and type', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }), fc.integer({ min: 0, max: 255 }), (value, shift) => {
        const small = value >> BigInt(shift)
        const digits = small === 0n ? '' : small.toString(16)
        const expected = toRlp(`0x${digits.length % 2 === 0 ? '' : '0'}${digits}`)
        expect(Hex.fromBytes(Rlp.encode(small))).toBe(expected)
        if (small <= Number.MAX_SAFE_INTEGER) expect(Hex.fromBytes(Rlp.encode(Number(small)))).toBe(expected)
      }),
    )
  })

  it('outside 0 … 2^256-1 are rejected', () => {
    for (const value of [-1, -1n, 2n ** 256n, Number.NaN, 2 ** 53]) expect(() => Rlp.encode(value)).toThrow(RangeError)
  })

  it('are decoded from bytes of any length', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        expect(Rlp.toBigint(bytes)).toBe(BigInt(`0x0${Buffer.from(bytes).toString('hex')}`))
      }),
    )
  })
})

describe('writing', () => {
  it('inserts encoded items as they are', () => {
    const inner = Rlp.encode([1, '0xabcd'])
    expect(Rlp.encode([{ encoded: inner }, 5n])).toEqual(Rlp.encode([[1, '0xabcd'], 5n]))
  })

  it('handles inputs larger than its kept buffer', () => {
    for (const size of [1 << 16, 1 << 20, 3 << 20]) {
      const bytes = new Uint8Array(size).fill(7)
      const encoded = Rlp.encode([1, [bytes], Hex.fromBytes(bytes), 2])
      expect(toHex(Rlp.decode(encoded))).toEqual(['0x01', [Hex.fromBytes(bytes)], Hex.fromBytes(bytes), '0x02'])
    }
  })

  it('returns new memory, which the next call does not change', () => {
    const first = Rlp.encode(['0x0102'])
    const copy = first.slice()
    Rlp.encode(['0xffff'])
    expect(first).toEqual(copy)
  })
})

describe('reading', () => {
  it.each([
    ['nothing', '0x'],
    ['a string cut short', '0x83dead'],
    ['a list cut short', '0xc3c0'],
    ['an item that leaves its list', '0xc283dead00'],
    ['stray bytes', '0x0102'],
    ['a length for a byte that needs none', '0x8100'],
    ['the same inside a list', '0xc28100'],
    ['a long form for a short string', '0xb801ff'],
    ['a long form for a short list', '0xf80101'],
    ['a length with leading zeros', `0xb90038${'00'.repeat(56)}`],
    ['a length cut short', '0xb9ff'],
    ['a length beyond any memory', '0xbfffffffffffffffff'],
    ['lists nested without end', `0x${Array.from({ length: 40 }, (_, i) => (0xc0 + 39 - i).toString(16)).join('')}`],
  ])('rejects %s', (_, hex) => {
    expect(() => Rlp.decode(Hex.toBytes(hex), 'thing')).toThrow(DecodeError)
    expect(() => Rlp.decode(Hex.toBytes(hex), 'thing')).toThrow(/^thing /)
  })

  it('returns plain Uint8Arrays for a Buffer', () => {
    const item = Rlp.decode(Buffer.from('820102', 'hex'))
    expect(Buffer.isBuffer(item)).toBe(false)
    expect(item).toEqual(Uint8Array.of(1, 2))
  })

  it('finds the end of an item', () => {
    const bytes = Hex.toBytes('0xc20102830a0b0c05')
    expect([0, 3, 7].map((start) => Rlp.itemEnd(bytes, start))).toEqual([3, 7, 8])
    expect(() => Rlp.itemEnd(bytes, 8)).toThrow(DecodeError)
  })
})
