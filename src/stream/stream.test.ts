import { brotliDecompressSync, constants, brotliCompressSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { ManualClock } from '../chain/index.ts'
import type { Flashblock } from '../eth/index.ts'
import { createPocketchain } from '../index.ts'
import type { Pocketchain } from '../index.ts'
import { until } from '../server/bench.fixture.ts'
import { BadFrame, compress, decodeFrame, plainFrame } from './index.ts'
import type { Encoding, Frame, Publisher } from './index.ts'

const TRANSFER = { from: '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266', to: '0x70997970c51812dc3a010c7d01b50e0d17dc79c8', value: '0x1' }

describe('the stream', () => {
  test('has eleven messages per block: base at index 0 only, the index growing by one, one payload id', async () => {
    await using bench = await setUp()
    const frames = bench.listen('plain')
    await bench.clock.advance(6_000)
    const blocks = byBlock(frames.map(({ bytes }) => decodeFrame(bytes)))
    const whole = blocks.slice(0, -1)
    expect(whole.length).toBeGreaterThanOrEqual(2)
    for (const messages of whole) {
      expect(messages.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
      expect(messages.map(({ base }) => base !== null)).toEqual([true, ...Array<boolean>(10).fill(false)])
      expect(new Set(messages.map(({ payloadId }) => payloadId)).size).toBe(1)
    }
    const numbers = blocks.map(([first]) => first?.blockNumber ?? -1)
    expect(numbers).toEqual(numbers.map((_, i) => (numbers[0] ?? 0) + i))
  })

  test('shows each transaction once, as in the sealed block', async () => {
    await using bench = await setUp()
    const frames = bench.listen('plain')
    for (let i = 0; i < 5; i++) {
      await bench.node.request({ method: 'eth_sendTransaction', params: [TRANSFER] })
      await bench.clock.advance(200)
    }
    await bench.clock.advance(4_000)
    for (const messages of byBlock(frames.map(({ bytes }) => decodeFrame(bytes))).slice(0, -1)) {
      const block = bench.node.chain.head.view.byNumber(messages[0]?.blockNumber ?? -1)
      const shown = messages.flatMap(({ diff }) => diff.transactions).map(hex)
      expect(shown).toEqual(block?.transactions.map(({ raw }) => hex(raw)))
    }
  })

  test('has the public format: text, snake_case, plain numbers where base/node-reth has them', async () => {
    await using bench = await setUp()
    const frames = bench.listen('plain')
    await bench.clock.advance(4_000)
    const first = frames.map(({ bytes }) => JSON.parse(Buffer.from(bytes).toString())).find(({ index }) => index === 0)
    expect(frames.every(({ binary }) => !binary)).toBe(true)
    expect(Object.keys(first)).toEqual(['payload_id', 'index', 'base', 'diff', 'metadata'])
    expect(Object.keys(first.base).toSorted()).toEqual(BASE_KEYS)
    expect(Object.keys(first.diff)).toEqual(expect.arrayContaining(DIFF_KEYS))
    expect(first.metadata).toEqual({ block_number: Number(first.base.block_number) })
    expect(first.payload_id).toMatch(/^0x[0-9a-f]{16}$/)
  })

  test('sends the same under brotli, in binary messages, in the same order', async () => {
    await using bench = await setUp()
    const plain = bench.listen('plain')
    const packed = bench.listen('brotli')
    for (let i = 0; i < 15; i++) {
      await bench.node.request({ method: 'eth_sendTransaction', params: [TRANSFER] })
      await bench.clock.advance(200)
      await until(() => packed.length === plain.length)
    }
    expect(packed.every(({ binary }) => binary)).toBe(true)
    expect(packed.map(({ bytes }) => brotliDecompressSync(bytes).toString())).toEqual(
      plain.map(({ bytes }) => Buffer.from(bytes).toString()),
    )
    expect(packed.map(({ bytes }) => decodeFrame(bytes))).toEqual(plain.map(({ bytes }) => decodeFrame(bytes)))
  })

  test('loses nothing and keeps the order when compression falls behind', async () => {
    await using bench = await setUp()
    const plain = bench.listen('plain')
    const packed = bench.listen('brotli')
    await bench.clock.advance(20_000)
    await until(() => packed.length === plain.length)
    expect(plain.length).toBeGreaterThan(90)
    expect(packed.map(({ bytes }) => decodeFrame(bytes))).toEqual(plain.map(({ bytes }) => decodeFrame(bytes)))
  })

  test('replays nothing to late subscribers', async () => {
    await using bench = await setUp()
    const early = bench.listen('plain')
    await bench.clock.advance(1_000)
    const seen = early.length
    const late = bench.listen('plain')
    expect(late).toHaveLength(0)
    await bench.clock.advance(600)
    expect(seen).toBeGreaterThan(0)
    expect(late).toEqual(early.slice(seen))
  })

  test('sends nothing after an unsubscribe, also not frames waiting for compression', async () => {
    await using bench = await setUp()
    const frames: Frame[] = []
    const leave = bench.publisher.subscribe('brotli', { send: (frame) => frames.push(frame), terminate: () => undefined })
    const others = bench.listen('brotli')
    await bench.clock.advance(200)
    leave()
    await until(() => others.length > 0)
    expect(frames).toHaveLength(0)
    expect(bench.publisher.subscribers).toBe(1)
  })

  test('disconnects brotli subscribers, and no others, when its queue is full', async () => {
    await using bench = await setUp()
    const plain = bench.listen('plain')
    const [last] = await firstOf(bench, plain)
    const reasons: string[] = []
    bench.publisher.subscribe('brotli', { send: () => undefined, terminate: (reason) => reasons.push(reason) })
    // Synchronous, so that no frame is compressed in between.
    for (let i = 0; i < 600; i++) bench.node.chain.head.announce(last)
    expect(reasons).toEqual(['more than 512 flashblocks are waiting to be compressed'])
    expect(bench.publisher.subscribers).toBe(1)
  })
})

describe('decodeFrame', () => {
  test('decodes text, bytes with leading white space, and brotli of any quality', async () => {
    const frame = await anyFrame()
    const text = Buffer.from(frame.bytes).toString()
    const expected = decodeFrame(frame.bytes)
    const fast = brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })
    for (const message of [text, Buffer.from(`\n\t ${text}`), fast, (await compress(frame)).bytes])
      expect(decodeFrame(message)).toEqual(expected)
    expect(plainFrame(expected)).toEqual(frame)
  })

  test.each([
    ['nothing', new Uint8Array(0)],
    ['noise', Uint8Array.from([0xff, 0xfe, 0xfd, 0xfc, 1, 2, 3])],
    ['other JSON', Buffer.from('{"hello":1}')],
    ['half a message', Buffer.from('{"payload_id":')],
    ['a bomb', brotliCompressSync(Buffer.alloc(40 * 1024 * 1024))],
  ])('rejects %s', (_, message) => {
    expect(() => decodeFrame(message)).toThrow(BadFrame)
  })
})

const BASE_KEYS = [
  'base_fee_per_gas',
  'block_number',
  'extra_data',
  'fee_recipient',
  'gas_limit',
  'parent_beacon_block_root',
  'parent_hash',
  'prev_randao',
  'timestamp',
]
const DIFF_KEYS = ['state_root', 'receipts_root', 'logs_bloom', 'gas_used', 'block_hash', 'transactions', 'withdrawals', 'withdrawals_root']

interface Bench extends AsyncDisposable {
  readonly node: Pocketchain
  readonly clock: ManualClock
  readonly publisher: Publisher
  readonly listen: (encoding: Encoding) => Frame[]
}

async function setUp(): Promise<Bench> {
  const clock = new ManualClock(1_700_000_000_000)
  const node = await createPocketchain({ clock, timestamp: 1_700_000_000 })
  const { publisher } = node
  return {
    node,
    clock,
    publisher,
    listen: (encoding) => {
      const frames: Frame[] = []
      publisher.subscribe(encoding, {
        send: (frame) => frames.push(frame),
        terminate: (reason) => {
          throw new Error(reason)
        },
      })
      return frames
    },
    [Symbol.asyncDispose]: node.close,
  }
}

async function anyFrame(): Promise<Frame> {
  await using bench = await setUp()
  const frames = bench.listen('plain')
  await bench.clock.advance(2_000)
  const [frame] = frames
  if (frame === undefined) throw new Error('no flashblock in 2 s')
  return frame
}

/** Returns an event with a flashblock, to be announced again. */
async function firstOf(bench: Bench, frames: readonly Frame[]) {
  const events: Parameters<Parameters<typeof bench.node.chain.head.subscribe>[0]>[0][] = []
  const leave = bench.node.chain.head.subscribe((event) => events.push(event))
  await bench.clock.advance(200)
  leave()
  expect(frames.length).toBeGreaterThan(0)
  const found = events.find((event) => event.kind === 'block' && !event.sealed)
  if (found === undefined) throw new Error('no flashblock in 200 ms')
  return [found] as const
}

function byBlock(messages: readonly Flashblock[]): Flashblock[][] {
  const blocks = new Map<number, Flashblock[]>()
  for (const message of messages) blocks.set(message.blockNumber, [...(blocks.get(message.blockNumber) ?? []), message])
  // The first block may have started before the subscription.
  return [...blocks.values()].filter(([first]) => first?.index === 0)
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}
