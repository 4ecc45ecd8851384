import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Address } from './address.ts'
import { Flashblock } from './flashblock.ts'
import { Hash } from './hash.ts'
import { DecodeError, Hex } from './hex.ts'

const uint = (bits: number) => fc.bigInt({ min: 0n, max: 2n ** BigInt(bits) - 1n })
const hash = uint(256).map((value) => Hash.fromBigint(value))
const bytes = (size: number) => fc.uint8Array({ minLength: size, maxLength: size })
const anyBytes = fc.uint8Array({ maxLength: 60 })
const count = fc.nat()

const base = fc.record({
  parentBeaconBlockRoot: hash,
  parentHash: hash,
  feeRecipient: bytes(20).map((value) => Address.from(value)),
  prevRandao: hash,
  blockNumber: count,
  gasLimit: uint(64),
  timestamp: count,
  extraData: anyBytes,
  baseFeePerGas: uint(256),
})
const diff = fc.record({
  stateRoot: hash,
  receiptsRoot: hash,
  logsBloom: bytes(256),
  gasUsed: uint(64),
  blockHash: hash,
  transactions: fc.array(anyBytes, { maxLength: 4 }),
  withdrawalsRoot: hash,
  blobGasUsed: fc.option(uint(64), { nil: null }),
})
const payloadId = bytes(8).map((value) => Hex.fromBytes(value))
const first = fc.record({ payloadId, index: fc.constant(0), base, diff, blockNumber: count })
const next = fc.record({ payloadId, index: fc.integer({ min: 1, max: 20 }), base: fc.constant(null), diff, blockNumber: count })

function sampled(kind: fc.Arbitrary<Flashblock>, seed: number): Flashblock {
  return fc.sample(kind, { seed, numRuns: 1 })[0] as Flashblock // numRuns: 1 returns one
}

describe('a flashblock', () => {
  it('round-trips from text and from bytes', () => {
    fc.assert(
      fc.property(fc.oneof(first, next), (flashblock) => {
        const wire = Flashblock.toWire(flashblock)
        expect(Flashblock.fromWire(wire)).toEqual(flashblock)
        expect(Flashblock.fromWire(new TextEncoder().encode(wire))).toEqual(flashblock)
      }),
    )
  })

  it('has exactly the keys and encodings of the first message of a block', () => {
    const zero = Hash.zero
    const message = Flashblock.toWire({
      payloadId: '0x03c446f063e3735a',
      index: 0,
      base: {
        parentBeaconBlockRoot: zero,
        parentHash: zero,
        feeRecipient: Address.from('0x4200000000000000000000000000000000000011'),
        prevRandao: zero,
        blockNumber: 100,
        gasLimit: 30_000_000n,
        timestamp: 0x6553f100,
        extraData: Hex.toBytes('0x01000000640000000500000000004c4b40'),
        baseFeePerGas: 10n,
      },
      diff: {
        stateRoot: zero,
        receiptsRoot: zero,
        logsBloom: new Uint8Array(256),
        gasUsed: 0n,
        blockHash: zero,
        transactions: [Uint8Array.of(2, 0xc0)],
        withdrawalsRoot: zero,
        blobGasUsed: 0n,
      },
      blockNumber: 100,
    })
    expect(JSON.parse(message)).toStrictEqual({
      payload_id: '0x03c446f063e3735a',
      index: 0,
      base: {
        parent_beacon_block_root: zero,
        parent_hash: zero,
        fee_recipient: '0x4200000000000000000000000000000000000011',
        prev_randao: zero,
        block_number: '0x64',
        gas_limit: '0x1c9c380',
        timestamp: '0x6553f100',
        extra_data: '0x01000000640000000500000000004c4b40',
        base_fee_per_gas: '0xa',
      },
      diff: {
        state_root: zero,
        receipts_root: zero,
        logs_bloom: `0x${'00'.repeat(256)}`,
        gas_used: '0x0',
        block_hash: zero,
        transactions: ['0x02c0'],
        withdrawals: [],
        withdrawals_root: zero,
        blob_gas_used: '0x0',
      },
      metadata: { block_number: 100 },
    })
  })

  it('leaves out the base after index 0, and blob gas when there is none', () => {
    const message = sampled(next, 1)
    const wire = JSON.parse(Flashblock.toWire({ ...message, diff: { ...message.diff, blobGasUsed: null } })) as { diff: object }
    expect(wire).not.toHaveProperty('base')
    expect(wire.diff).not.toHaveProperty('blob_gas_used')
  })

  it('may have unknown keys', () => {
    const message = sampled(first, 2)
    const wire = JSON.parse(Flashblock.toWire(message)) as Record<string, object>
    const richer = {
      ...wire,
      extra: 1,
      metadata: { ...wire['metadata'], receipts: {}, prev_flashblock_id: null },
      diff: { ...wire['diff'], x: [] },
    }
    expect(Flashblock.fromWire(JSON.stringify(richer))).toEqual(message)
  })
})

describe('what is not a flashblock', () => {
  const message = sampled(first, 3)

  it.each<[string, string, unknown]>([
    ['payload_id', '', '0x00'],
    ['index', '', '0x0'],
    ['index', '', -1],
    ['index', '', 0.5],
    ['base', '', undefined],
    ['base', '', 'text'],
    ['diff', '', undefined],
    ['metadata', '', []],
    ['gas_limit', 'base', 5],
    ['gas_limit', 'base', '0x'],
    ['gas_limit', 'base', '0x01'],
    ['gas_limit', 'base', `0x1${'0'.repeat(16)}`],
    ['block_number', 'base', '0xffffffffffffffff'],
    ['parent_hash', 'base', '0x00'],
    ['fee_recipient', 'base', `0x${'00'.repeat(21)}`],
    ['logs_bloom', 'diff', '0x'],
    ['transactions', 'diff', {}],
    ['transactions', 'diff', ['0x0']],
    ['transactions', 'diff', [5]],
    ['withdrawals', 'diff', undefined],
    ['withdrawals', 'diff', [{}]],
    ['blob_gas_used', 'diff', 'many'],
    ['block_number', 'metadata', '0x64'],
  ])('%s of %j as %j', (key, parent, value) => {
    const wire = JSON.parse(Flashblock.toWire(message)) as Record<string, Record<string, unknown>>
    const holder: Record<string, unknown> | undefined = parent === '' ? wire : wire[parent]
    Object.assign(holder ?? {}, { [key]: value })
    const path = ['flashblock', parent, key].filter((part) => part !== '').join('.')
    expect(() => Flashblock.fromWire(JSON.stringify(wire))).toThrow(DecodeError)
    expect(() => Flashblock.fromWire(JSON.stringify(wire))).toThrow(expect.objectContaining({ field: path }))
  })

  it.each(['', '{', 'null', '[]', '5'])('%j', (text) => {
    expect(() => Flashblock.fromWire(text)).toThrow(DecodeError)
  })
})
