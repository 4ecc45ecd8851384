import { existsSync, readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { EMPTY_ROOT, Hash, Hex, Rlp } from '../../eth/index.ts'
import type { RlpItem } from '../../eth/index.ts'
import { rootOf, verify } from './trie.fixture.ts'
import { OrderedTrie, Trie } from './trie.ts'

const EMPTY = Trie.empty((value: Uint8Array) => value)

function bytes(text: string): Uint8Array {
  return text.startsWith('0x') ? Hex.toBytes(text) : new TextEncoder().encode(text)
}

function entry(key: string, value: string | null): readonly [Hex, Uint8Array | null] {
  return [Hex.fromBytes(bytes(key)), value === null ? null : bytes(value)]
}

describe('roots of the published vectors', () => {
  // ethereum/tests, TrieTests/trietest.json and trieanyorder.json; `secure` from the files of the same name.
  const vectors: Record<string, readonly [readonly (readonly [string, string | null])[], string]> = {
    nothing: [[], '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421'],
    singleItem: [[['A', 'a'.repeat(50)]], '0xd23786fb4a010da3ce639d66d5e904a11dbc02746d1ce25029e53290cabf28ab'],
    dogs: [
      [
        ['doe', 'reindeer'],
        ['dog', 'puppy'],
        ['dogglesworth', 'cat'],
      ],
      '0x8aad789dff2f538bca5d8ea56e8abe10f4c7ba3a5dea95fea4cd6e7c3a1168d3',
    ],
    puppy: [
      [
        ['do', 'verb'],
        ['horse', 'stallion'],
        ['doge', 'coin'],
        ['dog', 'puppy'],
      ],
      '0x5991bb8c6514148a29db676a14ac506cd2cd5775ace63c30a4fe457715e9ac84',
    ],
    foo: [
      [
        ['foo', 'bar'],
        ['food', 'bass'],
      ],
      '0x17beaa1648bafa633cda809c90c04af50fc8aed3cb40d16efbddee6fdf63c4c3',
    ],
    smallValues: [
      [
        ['be', 'e'],
        ['dog', 'puppy'],
        ['bed', 'd'],
      ],
      '0x3f67c7a47520f79faa29255d2d3c084a7a6df0453116ed7232ff10277a8be68b',
    ],
    testy: [
      [
        ['test', 'test'],
        ['te', 'testy'],
      ],
      '0x8452568af70d8d140f58d941338542f645fcca50094b20f3c3d8c3df49337928',
    ],
    hex: [
      [
        ['0x0045', '0x0123456789'],
        ['0x4500', '0x9876543210'],
      ],
      '0x285505fcabe84badc8aa310e2aae17eddc7d120aabec8a476902c8184b3a3503',
    ],
    'insert, overwrite, delete': [
      [
        ['do', 'verb'],
        ['ether', 'wookiedoo'],
        ['horse', 'stallion'],
        ['shaman', 'horse'],
        ['doge', 'coin'],
        ['ether', null],
        ['dog', 'puppy'],
        ['shaman', null],
      ],
      '0x5991bb8c6514148a29db676a14ac506cd2cd5775ace63c30a4fe457715e9ac84',
    ],
    'branch value updated': [
      [
        ['abc', '123'],
        ['abcd', 'abcd'],
        ['abc', 'abc'],
      ],
      '0x7a320748f780ad9ad5b0837302075ce0eeba6c26e3d8562c67ccc0f1b273298a',
    ],
  }

  it.each(Object.entries(vectors))('%s', (_, [entries, root]) => {
    const trie = EMPTY.update(entries.map(([key, value]) => entry(key, value)))
    expect(trie.rootHash()).toBe(root)
  })

  it('the order of puts does not matter', () => {
    const [entries, root] = vectors['puppy']!
    fc.assert(
      fc.property(fc.shuffledSubarray([...entries], { minLength: entries.length }), (order) => {
        expect(EMPTY.update(order.map(([key, value]) => entry(key, value))).rootHash()).toBe(root)
      }),
      { seed: 1, numRuns: 24 },
    )
  })
})

/** Keys that collide often: few digits, several lengths, some prefixes of others. */
const key = fc
  .array(fc.constantFrom('00', '01', '10', '11', '1f'), { minLength: 1, maxLength: 4 })
  .map((parts): Hex => `0x${parts.join('')}`)
const value = fc.oneof(fc.uint8Array({ minLength: 1, maxLength: 4 }), fc.uint8Array({ minLength: 30, maxLength: 60 }))
const change = fc.tuple(key, fc.option(value, { freq: 2 }))
/** `size`, because fast-check would rarely generate more than ten. */
const changes = fc.array(change, { maxLength: 40, size: 'max' })

function apply(model: ReadonlyMap<Hex, Uint8Array>, list: readonly (readonly [Hex, Uint8Array | null])[]): Map<Hex, Uint8Array> {
  const next = new Map(model)
  for (const [at, to] of list) {
    if (to === null) next.delete(at)
    else next.set(at, to)
  }
  return next
}

describe('any sequence of puts and deletes', () => {
  it('has the root of a trie built from the remaining entries', () => {
    fc.assert(
      fc.property(changes, changes, (first, second) => {
        const before = EMPTY.update(first)
        const model = apply(new Map(), first)
        expect(before.rootHash()).toBe(rootOf(model))
        const after = before.update(second)
        expect(after.rootHash()).toBe(rootOf(apply(model, second)))
        expect(before.rootHash()).toBe(rootOf(model))
      }),
      { seed: 2, numRuns: 200 },
    )
  })

  it('moves the remaining nodes below a branch, with hashes valid at their new depth', () => {
    // Branch 0 > extension f > branch ff > leaves; without the neighbouring leaf the extension starts one digit higher.
    const long = bytes('a value so long that its leaf is hashed')
    const entries = (['0x0000', '0xff00', '0xff10'] as const).map((at) => [at, long] as const)
    const trie = EMPTY.update(entries)
    expect(trie.rootHash()).toBe(rootOf(new Map(entries)))
    expect(trie.put('0x0000', null).rootHash()).toBe(rootOf(new Map(entries.slice(1))))
  })

  it('leaves older tries readable, also if their roots are computed only afterwards', () => {
    fc.assert(
      fc.property(changes, (list) => {
        const tries = [EMPTY]
        for (const [at, to] of list) tries.push(tries.at(-1)!.put(at, to))
        tries.forEach((trie, count) => expect(trie.rootHash()).toBe(rootOf(apply(new Map(), list.slice(0, count)))))
      }),
      { seed: 3, numRuns: 20 },
    )
  })

  it('applied in place, has the same roots as a new trie each time', () => {
    fc.assert(
      fc.property(changes, fc.boolean(), (list, isHashed) => {
        let own = EMPTY
        for (const [count, [at, to]] of list.entries()) {
          own = own.putInPlace(at, to)
          if (isHashed || count % 5 === 4) expect(own.rootHash()).toBe(rootOf(apply(new Map(), list.slice(0, count + 1))))
        }
        expect(own.rootHash()).toBe(rootOf(apply(new Map(), list)))
      }),
      { seed: 5, numRuns: 100 },
    )
  })

  it('applied in place, changes no derived trie, and derived tries do not change this one', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(changes, changes, fc.boolean()), { minLength: 1, maxLength: 4 }), (rounds) => {
        let [own, model] = [EMPTY, new Map<Hex, Uint8Array>()]
        const made: [Trie<Uint8Array>, Map<Hex, Uint8Array>][] = []
        // Not in any of the tries, so that each derived trie differs.
        const mark = entry('mark', 'a value so long that its leaf is hashed, which an inlined one would not be')
        for (const [first, second, isHashed] of rounds) {
          for (const [at, to] of first) own = own.putInPlace(at, to)
          model = apply(model, first)
          if (isHashed) expect(own.rootHash()).toBe(rootOf(model))
          made.push([own.update([...second, mark]), apply(model, [...second, mark])])
        }
        for (const [trie, of] of made) {
          expect(trie.put(mark[0], null).rootHash()).toBe(rootOf(apply(of, [[mark[0], null]])))
          expect(trie.rootHash()).toBe(rootOf(of))
        }
        expect(own.rootHash()).toBe(rootOf(model))
      }),
      { seed: 6, numRuns: 100 },
    )
  })

  it('is proven key by key, present or absent', () => {
    fc.assert(
      fc.property(changes, fc.array(key, { maxLength: 10 }), (list, others) => {
        const trie = EMPTY.update(list)
        const model = apply(new Map(), list)
        for (const at of [...model.keys(), ...others]) {
          expect(verify(trie.rootHash(), at, trie.prove(at))).toEqual(model.get(at) ?? null)
        }
      }),
      { seed: 4, numRuns: 60 },
    )
  })

  it('a changed byte breaks a proof', () => {
    const trie = EMPTY.update(['a', 'b', 'c'].map((name) => [Hash.keccak(bytes(name)), bytes(name.repeat(40))] as const))
    const at = Hash.keccak(bytes('a'))
    const proof = trie.prove(at)
    expect(verify(trie.rootHash(), at, proof)).toEqual(bytes('a'.repeat(40)))
    const last = proof.at(-1)!
    last[last.length - 1]! ^= 1
    expect(() => verify(trie.rootHash(), at, proof)).toThrow('the proof lacks node')
  })
})

describe('an immutable value', () => {
  const trie = EMPTY.update([entry('dog', 'puppy'), entry('doge', 'coin')])

  it('is the same trie when nothing changes', () => {
    const coin = bytes('coin')
    const shared = trie.put(entry('doge', null)[0], coin)
    expect(shared.put(entry('doge', null)[0], coin)).toBe(shared)
    expect(trie.put(entry('cat', null)[0], null)).toBe(trie)
    expect(trie.put(entry('dogs', null)[0], null)).toBe(trie)
    expect(trie.update([])).toBe(trie)
  })

  it('encodes only changed values for the next root', () => {
    let encoded = 0
    const counting = Trie.empty((of: Uint8Array) => {
      encoded++
      return of
    })
    const keys = Array.from({ length: 100 }, (_, index) => Hash.keccak(Rlp.encode(index)))
    const large = counting.update(keys.map((at) => [at, bytes('some value')] as const))
    large.rootHash()
    expect(encoded).toBe(100)
    large.rootHash()
    large.put(keys[7]!, bytes('another')).rootHash()
    expect(encoded).toBe(101)
  })
})

const vectors = new URL('../../../../shared/vectors/rpc-compat/', import.meta.url)

describe.skipIf(!existsSync(vectors))('the blocks of another client', () => {
  function* blocks(): Iterable<readonly RlpItem[]> {
    const chain = readFileSync(new URL('chain.rlp', vectors))
    for (let start = 0; start < chain.length;) {
      const end = Rlp.itemEnd(chain, start)
      yield list(Rlp.decode(chain.subarray(start, end)))
      start = end
    }
  }

  function list(item: RlpItem | undefined): readonly RlpItem[] {
    if (item === undefined || item instanceof Uint8Array) throw new Error('a list was expected')
    return item
  }

  /** A typed transaction is a string in the block and the same bytes in the trie. */
  function opaque(item: RlpItem): Uint8Array {
    return item instanceof Uint8Array ? item : Rlp.encode(item)
  }

  it('give the transaction and withdrawal roots', () => {
    let withTransactions = 0
    let withWithdrawals = 0
    for (const [header, transactions, , withdrawals] of blocks()) {
      const fields = list(header)
      expect(Trie.orderedRoot(list(transactions).map(opaque))).toBe(Hex.fromBytes(opaque(fields[4]!)))
      if (list(transactions).length > 1) withTransactions++
      if (withdrawals === undefined) continue
      withWithdrawals++
      expect(Trie.orderedRoot(list(withdrawals).map(opaque))).toBe(Hex.fromBytes(opaque(fields[16]!)))
    }
    expect(withTransactions).toBeGreaterThan(5)
    expect(withWithdrawals).toBeGreaterThan(5)
  })
})

describe('an ordered root', () => {
  it.each([0, 1, 2, 127, 128, 129, 300])('of %i values equals that of a trie keyed by RLP numbers', (count) => {
    const values = Array.from({ length: count }, (_, index) => bytes(`value ${index} ${'x'.repeat(index % 50)}`))
    const model = new Map(values.map((of, index) => [Hex.fromBytes(Rlp.encode(index)), of]))
    expect(Trie.orderedRoot(values)).toBe(rootOf(model))
  })

  it('of no values is the empty root', () => {
    expect(Trie.orderedRoot([])).toBe(EMPTY_ROOT)
  })

  it('follows its list as it grows, whether or not it was computed in between', () => {
    const list = new OrderedTrie((value: Uint8Array) => value)
    const model = new Map<Hex, Uint8Array>()
    for (let index = 0; index < 140; index++) {
      const value = bytes(index % 3 === 0 ? 'short' : `a value of more than thirty-two bytes: ${index}`)
      list.push(value)
      model.set(Hex.fromBytes(Rlp.encode(index)), value)
      if (index % 7 === 0) expect(list.rootHash()).toBe(rootOf(model))
    }
    expect(list.size).toBe(140)
    expect(list.rootHash()).toBe(rootOf(model))
  })
})
