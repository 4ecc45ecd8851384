import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ChangeRecorder } from '../chain/index.ts'
import type { ChainChange } from '../chain/index.ts'
import { Address, DecodeError, EMPTY_CODE_HASH, Hash } from '../eth/index.ts'
import type { Account, WriteSet } from '../evm/index.ts'
import { createPocketchain } from '../node/index.ts'
import { Frame } from './frame.ts'
import { WriteSets } from '../store/index.ts'

const ADDRESSES = [0n, 1n, 0xffffn, 2n ** 160n - 1n].map(Address.fromBigint)
const CODES = [new Uint8Array([0]), new Uint8Array([0x60, 0x00, 0xf3])]
const words = fc.bigInt(0n, 2n ** 256n - 1n)
const accounts: fc.Arbitrary<Account | null> = fc.option(
  fc.record({
    nonce: fc.bigInt(0n, 2n ** 64n - 1n),
    balance: words,
    codeHash: fc.constantFrom(EMPTY_CODE_HASH, ...CODES.map((code) => Hash.keccak(code))),
  }),
)
const writeSets: fc.Arbitrary<WriteSet> = fc.record({
  accounts: fc
    .uniqueArray(fc.tuple(fc.constantFrom(...ADDRESSES), accounts), { selector: ([address]) => address })
    .map((entries) => new Map(entries)),
  storage: fc
    .uniqueArray(
      fc.tuple(
        fc.constantFrom(...ADDRESSES),
        fc.uniqueArray(fc.tuple(words.map(Hash.fromBigint), words), { selector: ([slot]) => slot }).map((slots) => new Map(slots)),
      ),
      { selector: ([address]) => address },
    )
    .map((entries) => new Map(entries)),
  codes: fc.subarray(CODES).map((codes) => new Map(codes.map((code) => [Hash.keccak(code), code]))),
})

/** The changes of a chain with promises, seals, edits and rewinds. */
async function changes(): Promise<readonly ChainChange[]> {
  await using node = await createPocketchain({ clock: 'manual', timestamp: 1_700_000_000 })
  const recorder = new ChangeRecorder()
  const recorded: ChainChange[] = []
  node.chain.head.subscribe((event) => recorded.push(recorder.changeOf(event)))
  const ask = (method: string, ...params: readonly unknown[]) => node.request({ method, params })
  const [alice, bob] = (await ask('eth_accounts')) as readonly string[]
  const weth = '0x4200000000000000000000000000000000000006'
  for (let turn = 0; turn < 4; turn++) {
    await ask('eth_sendTransaction', { from: alice, to: weth, value: '0x5', data: '0xd0e30db0' })
    await ask('eth_sendTransaction', { from: bob, to: alice, value: '0x1' })
    await ask('pocketchain_tick', 600)
  }
  await ask('eth_sendTransaction', { from: bob, to: alice, value: '0x2' })
  await ask('pocketchain_tick', 200)
  await ask('pocketchain_retract', 'all')
  await ask('pocketchain_tick', 2_200)
  await ask('anvil_setBalance', bob, '0x7')
  await ask('anvil_setNextBlockBaseFeePerGas', '0x5')
  const snapshot = await ask('evm_snapshot')
  await ask('anvil_mine', '0x2')
  await ask('evm_revert', snapshot)
  await ask('anvil_reset')
  return recorded
}

describe('a write set', () => {
  test('is the same after encoding and decoding', () => {
    fc.assert(
      fc.property(writeSets, (writes) => {
        expect(WriteSets.decode(WriteSets.encode(writes))).toEqual(writes)
      }),
    )
  })

  test('that is cut short or changed is refused with a DecodeError, or is another one', () => {
    fc.assert(
      fc.property(writeSets, fc.nat(), fc.nat(255), (writes, at, mask) => {
        const bytes = WriteSets.encode(writes)
        expect(() => WriteSets.decode(bytes.subarray(0, at % bytes.length))).toThrow(DecodeError)
        const changed = bytes.map((byte, index) => (index === at % bytes.length ? byte ^ (mask | 1) : byte))
        try {
          WriteSets.decode(changed)
        } catch (error) {
          expect(error).toBeInstanceOf(DecodeError)
        }
      }),
    )
  })
})

describe('a frame', () => {
  test('of every kind of change is the same after encoding and decoding', async () => {
    const recorded = await changes()
    expect([...new Set(recorded.map(({ kind }) => kind))].toSorted()).toEqual(['edit', 'flashblock', 'rewind', 'sealed'])
    expect(
      recorded.some(
        (change) => change.kind === 'flashblock' && change.firstTransaction > 1 && (change.block.receipts[0]?.firstLogIndex ?? 0) > 0,
      ),
    ).toBe(true)
    for (const [index, change] of recorded.entries()) {
      const frame = { commit: index, sentAtMs: 1_700_000_000_000 + index, change }
      const decoded = Frame.decode(Frame.encode(frame))
      // The bytes of a transaction are made when they are read.
      expect(JSON.stringify(decoded, plain), change.kind).toBe(JSON.stringify(frame, plain))
    }
  })

  test('of another version, cut short or damaged is refused with a DecodeError', async () => {
    const [change] = (await changes()).filter(({ kind }) => kind === 'flashblock')
    const bytes = Frame.encode({ commit: 1, sentAtMs: 2, change: change! })
    expect(() => Frame.decode(bytes.with(0, 9))).toThrow(
      'has version 9, and this program reads 1; run the same pocketchain in the whole fleet',
    )
    expect(() => Frame.decode(new Uint8Array(0))).toThrow(DecodeError)
    for (let end = 1; end < bytes.length; end += 7) expect(() => Frame.decode(bytes.subarray(0, end))).toThrow(DecodeError)
    expect(() => Frame.decode(Uint8Array.from([...bytes, 0]))).toThrow(DecodeError)
  })

  test('of every kind with changed bits or lengths is refused with a DecodeError, or is another one', async () => {
    const recorded = (await changes()).map((change) => ({ kind: change.kind, bytes: Frame.encode({ commit: 1, sentAtMs: 2, change }) }))
    const frames = recorded.map(({ bytes }) => bytes)
    const damage = fc.record({
      frame: fc.nat(frames.length - 1),
      at: fc.nat(),
      mask: fc.integer({ min: 1, max: 255 }),
      removed: fc.nat(3),
      added: fc.uint8Array({ maxLength: 3 }),
    })
    fc.assert(
      fc.property(fc.array(damage, { minLength: 1, maxLength: 4 }), (damages) => {
        let bytes = frames[damages[0]!.frame]! // at least one
        for (const { at, mask, removed, added } of damages) {
          const place = at % bytes.length
          bytes = Uint8Array.from([...bytes.subarray(0, place), bytes[place]! ^ mask, ...added, ...bytes.subarray(place + 1 + removed)])
        }
        try {
          Frame.decode(bytes)
        } catch (error) {
          expect(error).toBeInstanceOf(DecodeError)
        }
      }),
      { numRuns: 1_000 },
    )
    // The smallest frame of each kind, with each bit changed.
    const kinds = new Map(recorded.toSorted((one, other) => other.bytes.length - one.bytes.length).map(({ kind, bytes }) => [kind, bytes]))
    expect(kinds.size).toBe(4)
    for (const bytes of kinds.values())
      for (let bit = 0; bit < bytes.length * 8; bit++) {
        try {
          Frame.decode(bytes.with(bit >> 3, bytes[bit >> 3]! ^ (1 << (bit & 7))))
        } catch (error) {
          expect(error, `bit ${bit}`).toBeInstanceOf(DecodeError)
        }
      }
  })

  test('of a heartbeat names the newest frame', () => {
    const heartbeat = { newest: 12, sentAtMs: 1_700_000_000_000 }
    expect(Frame.decodeHeartbeat(Frame.encodeHeartbeat(heartbeat))).toEqual(heartbeat)
    expect(() => Frame.decodeHeartbeat(Uint8Array.of(0xc3, 1, 2))).toThrow(DecodeError)
  })
})

/** Values that JSON lacks, as text, and keys in one order. */
function plain(_: string, value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  if (value instanceof Map) return [...(value as Map<unknown, unknown>)]
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
