import { expect, test } from 'vitest'
import { recordOf, valueOf } from './chain.fixture.ts'
import { KIND, keyOfBytes } from './keys.ts'
import { Places } from './places.ts'
import { Tail } from './tail.ts'

test('a tail finds every item whenever its table has grown', () => {
  const tail = new Tail()
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
