import { expect, test } from 'vitest'
import { recordOf, valueOf } from './chain.fixture.ts'
import { KIND, keyOfBytes } from './keys.ts'
import { PositionList } from './positionlist.ts'
import { Tail } from './tail.ts'

test('a tail finds every item after its table has grown', () => {
  const tail = new Tail()
  tail.reset(0, 0)
  const hashes = Array.from({ length: 3_000 }, (_, i) => valueOf(i + 1))
  for (const [number, hash] of hashes.entries()) {
    const record = recordOf({ number, hash, transactions: [], logs: [] })
    tail.append(new DataView(record.buffer, record.byteOffset, record.length))
  }
  for (const [number, hash] of hashes.entries()) {
    const positions = new PositionList()
    tail.read({ key: keyOfBytes(KIND.block, hash) }, 0, hashes.length, positions)
    expect([...positions.view()]).toContain(number)
  }
})

test('a tail counts the items of a key after truncation and growth', () => {
  const tail = new Tail()
  tail.reset(0, 0)
  const addresses = [valueOf(7, 20), valueOf(8, 20)]
  const counts = () => addresses.map((address) => tail.probe(keyOfBytes(KIND.address, address))?.count ?? 0)
  const append = (number: number) => {
    const logs = addresses.slice(number % 3).map((address) => ({ address, topics: [] }))
    const record = recordOf({ number, hash: valueOf(number + 100), transactions: [], logs })
    tail.append(new DataView(record.buffer, record.byteOffset, record.length))
  }
  expect(counts()).toEqual([0, 0])
  for (let number = 0; number < 3; number++) append(number)
  expect(counts()).toEqual([1, 2])
  for (let blocks = 300; blocks <= 1_500; blocks += 300) {
    for (let number = Math.max(3, blocks - 300); number < blocks; number++) append(number)
    expect(counts()).toEqual([blocks / 3, (2 * blocks) / 3])
  }
  tail.truncate(2)
  expect(counts()).toEqual([1, 2])
  tail.truncate(0)
  expect(counts()).toEqual([0, 0])
  append(0)
  expect(counts()).toEqual([1, 1])
  tail.reset(0, 0)
  expect(counts()).toEqual([0, 0])
  append(0)
  expect(counts()).toEqual([1, 1])
})
