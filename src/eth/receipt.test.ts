import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Address } from './address.ts'
import { Bloom } from './bloom.ts'
import { Hash } from './hash.ts'
import { DecodeError, Hex } from './hex.ts'
import type { Log } from './log.ts'
import { type ConsensusReceipt, Receipt } from './receipt.ts'
import { Rlp, type RlpItem } from './rlp.ts'
import { hasVectors, recorded } from './vectors.fixture.ts'

const address = fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes) => Address.from(bytes))
const hash = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Hash.from(bytes))
const log: fc.Arbitrary<Log> = fc.record({
  address,
  topics: fc.array(hash, { maxLength: 4 }),
  data: fc.uint8Array({ maxLength: 100 }),
})

function receiptOf(fields: Partial<ConsensusReceipt>): ConsensusReceipt {
  const logs = fields.logs ?? []
  const plain = { type: 2, status: 1, root: null, cumulativeGasUsed: 21_000n, depositNonce: null, depositReceiptVersion: null } as const
  return { ...plain, logs, logsBloom: Bloom.ofLogs(logs), ...fields }
}

describe('a receipt', () => {
  it('round-trips for every type, outcome and log', () => {
    const kinds = fc.constantFrom<Partial<ConsensusReceipt>>(
      { type: 0, status: null, root: Hash.fromBigint(5n) },
      { type: 0, status: 0 },
      { type: 1 },
      { type: 2, status: 0 },
      { type: 3 },
      { type: 4 },
      { type: 0x7e },
      { type: 0x7e, depositNonce: 0n, depositReceiptVersion: 1 },
      { type: 0x7e, depositNonce: 77n, depositReceiptVersion: 1, status: 0 },
    )
    fc.assert(
      fc.property(kinds, fc.array(log, { maxLength: 4 }), (kind, logs) => {
        const receipt = receiptOf({ ...kind, logs })
        expect(Receipt.decode(Receipt.encode(receipt))).toEqual(receipt)
        expect(Receipt.encodeView(receipt).slice()).toEqual(Receipt.encode(receipt))
      }),
    )
  })

  it('of a deposit has nonce and version only since Canyon', () => {
    const fields = (receipt: ConsensusReceipt) => (Rlp.decode(Receipt.encode(receipt).subarray(1)) as readonly RlpItem[]).length // a receipt is a list
    expect(fields(receiptOf({ type: 0x7e, depositNonce: 4n }))).toBe(4)
    expect(fields(receiptOf({ type: 0x7e, depositNonce: 4n, depositReceiptVersion: 1 }))).toBe(6)
  })

  it('is rejected with an unknown type or outcome', () => {
    const list = Rlp.decode(Receipt.encode(receiptOf({ type: 0 }))) as readonly RlpItem[] // a receipt is a list
    const wrong: [string, Uint8Array][] = [
      ['receipt', new Uint8Array()],
      ['receipt.type', Uint8Array.of(9, 0xc0)],
      ['receipt.status', Rlp.encode(list.with(0, Uint8Array.of(2)))],
      ['receipt.status', Rlp.encode(list.with(0, Uint8Array.of(0)))],
      ['receipt.logsBloom', Rlp.encode(list.with(2, new Uint8Array(255)))],
      ['log', Rlp.encode(list.with(3, [new Uint8Array()]))],
      ['log.topics', Rlp.encode(list.with(3, [[new Uint8Array(20), [[]], new Uint8Array()]]))],
      ['receipt', Rlp.encode([...list, Uint8Array.of(1), Uint8Array.of(1)])],
    ]
    for (const [field, bytes] of wrong) {
      expect(() => Receipt.decode(bytes)).toThrow(DecodeError)
      expect(() => Receipt.decode(bytes)).toThrow(expect.objectContaining({ field }))
    }
  })

  it.skipIf(!hasVectors)('of the recorded chain is encoded to the same bytes, and its bloom follows from its logs', () => {
    const receipts = recorded('debug_getRawReceipts/get-block-n.io') as Hex[] // the shape the method has
    expect(receipts.length).toBeGreaterThan(0)
    for (const raw of receipts) {
      const receipt = Receipt.decode(Hex.toBytes(raw))
      expect(Hex.fromBytes(Receipt.encode(receipt))).toBe(raw)
      expect(Bloom.ofLogs(receipt.logs)).toEqual(receipt.logsBloom)
    }
  })
})

describe('a bloom filter', () => {
  it('has every address and topic of its logs, as text or bytes, and joins with another', () => {
    fc.assert(
      fc.property(fc.array(log, { maxLength: 5 }), fc.array(log, { maxLength: 5 }), (left, right) => {
        const both = Bloom.or(Bloom.ofLogs(left), Bloom.ofLogs(right))
        expect(both).toEqual(Bloom.ofLogs([...left, ...right]))
        for (const { address: emitter, topics } of [...left, ...right])
          for (const value of [emitter, ...topics]) {
            expect(Bloom.has(both, value)).toBe(true)
            expect(Bloom.has(both, Hex.toBytes(value))).toBe(true)
          }
      }),
    )
  })

  it('has nothing if it is empty', () => {
    expect(Bloom.has(Bloom.empty, Address.zero)).toBe(false)
    expect(Bloom.ofLogs([])).toEqual(Bloom.empty)
  })

  it('sets the three bits of the yellow paper', () => {
    // keccak of 20 zero bytes is 5380 c7b7 ae81 …: the low 11 bits of each pair.
    const bloom = new Uint8Array(256)
    Bloom.add(bloom, Address.zero)
    const bits = [...bloom].flatMap((byte, i) => [...Array(8).keys()].filter((bit) => byte & (1 << bit)).map((bit) => (255 - i) * 8 + bit))
    expect(bits.toSorted((a, b) => a - b)).toEqual([0x380, 0x681, 0x7b7])
  })
})
