import { expect, test } from 'vitest'
import { recordOf, valueOf } from './chain.fixture.ts'
import { KIND, keyOfBytes } from './keys.ts'
import { LIMITS } from './limits.ts'
import { Places } from './places.ts'
import { Tail } from './tail.ts'

test('a tail finds every item whenever its table has grown', () => {
  const tail = new Tail(LIMITS)
  tail.reset(0, 0)
  const hashes = Array.from({ length: 3_000 }, (_, i) => valueOf(i + 1))
  for (const [number, hash] of hashes.entries()) {
    const record = recordOf({ number, hash, transactions: [], logs: [] })
    tail.append(new DataView(record.buffer, record.byteOffset, record.length))
  }
  for (const [number, hash] of hashes.entries()) {
    const places = new Places()
    tail.read({ key: keyOfBytes(KIND.block, hash) }, 0, hashes.length, places)
    expect([...places.view()]).toContain(number)
  }
})

test('a tail counts a key up to its own bound, and then says that it may have all items', () => {
  const tail = new Tail({ tailItems: 64, candidateCost: 8 })
  tail.reset(0, 0)
  const address = valueOf(7).subarray(0, 20)
  const key = keyOfBytes(KIND.address, address)
  const append = (number: number) => {
    const record = recordOf({ number, hash: valueOf(number + 100), transactions: [], logs: [{ address, topics: [] }] })
    tail.append(new DataView(record.buffer, record.byteOffset, record.length))
  }
  const counts = Array.from({ length: 9 }, (_, number) => {
    append(number)
    return tail.probe(key)?.count
  })
  expect(counts).toEqual([1, 2, 3, 4, 5, 6, 7, 2 * 8, 2 * 9])
})
