import { beforeAll, describe, expect, it } from 'vitest'
import type { Block } from '../eth/index.ts'
import { blockJson, receiptsJson } from './json.ts'
import { PRECONF, testNode } from './node.fixture.ts'
import { BlockTexts, JsonBytes, JsonStream, JsonText } from './texts.ts'
import type { Packed, WriteBlock } from './texts.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const valueOf = (json: JsonBytes | JsonText): unknown =>
  JSON.parse(json instanceof JsonText ? json.text : new TextDecoder().decode(json.bytes))
const sizeOf = (json: JsonBytes | JsonText): number => (json instanceof JsonText ? json.text.length : json.bytes.length)

describe('a stream', () => {
  function* counted(made: string[], end: string[]): Generator<Uint8Array> {
    try {
      for (const text of ['a', '', 'b', 'c']) {
        made.push(text)
        yield bytes(text)
      }
    } finally {
      end.push('end')
    }
  }

  it('makes a chunk when it is asked for it, never an empty one', () => {
    const [made, end]: [string[], string[]] = [[], []]
    const stream = new JsonStream(counted(made, end))
    expect(made).toEqual([])
    expect(stream.next()).toEqual(bytes('a'))
    expect(made).toEqual(['a'])
    expect([stream.next(), stream.next()]).toEqual([bytes('b'), bytes('c')])
    expect(end).toEqual([])
    expect([stream.next(), stream.next()]).toEqual([null, null])
    expect(end).toEqual(['end'])
  })

  it('that is ended makes no more and lets go, whether it is read by hand or by a loop', () => {
    const [made, end]: [string[], string[]] = [[], []]
    const stream = new JsonStream(counted(made, end))
    stream.next()
    stream.end()
    expect([stream.next(), made, end]).toEqual([null, ['a'], ['end']])
    for (const _ of new JsonStream(counted(made, end))) break
    expect([made, end]).toEqual([
      ['a', 'a'],
      ['end', 'end'],
    ])
  })

  it('that breaks has ended', () => {
    const stream = new JsonStream(
      (function* () {
        yield bytes('a')
        throw new Error('broken')
      })(),
    )
    stream.next()
    expect(() => stream.next()).toThrow('broken')
    expect(stream.next()).toBeNull()
  })

  it('is collected within a limit, or ended there', () => {
    const [made, end]: [string[], string[]] = [[], []]
    expect(new JsonStream(counted([], [])).collect(3)).toEqual([bytes('a'), bytes('b'), bytes('c')])
    expect(new JsonStream(counted(made, end)).collect(1)).toBeNull()
    expect([made, end]).toEqual([['a', '', 'b'], ['end']])
  })
})

describe('block texts', () => {
  let blocks: readonly Block[]
  beforeAll(async () => {
    blocks = await (await testNode()).chain.mine(8)
  })

  it('say what the objects say, and are written once', () => {
    const texts = new BlockTexts()
    const [block] = blocks
    for (const full of [true, false]) expect(valueOf(texts.block(block!, full))).toEqual(blockJson(block!, full))
    expect(valueOf(texts.receipts(block!))).toEqual(receiptsJson(block!))
    expect(texts.block(block!, true)).toBe(texts.block(block!, true))
    expect(texts.block(block!, true)).not.toBe(texts.block(block!, false))
  })

  it('of a block under construction are never kept', async () => {
    const node = await testNode({ cadence: PRECONF })
    const texts = new BlockTexts()
    const pending = node.chain.head.view.tagged('pending')
    expect(texts.block(pending, true)).not.toBe(texts.block(pending, true))
    expect(texts.sizeBytes).toBe(0)
    await node.chain.stop()
  })

  it('come from whoever writes them', () => {
    const asked: unknown[] = []
    const write: WriteBlock = (form, { header }) => {
      asked.push([form, header.number])
      return bytes(`"${form}"`)
    }
    const texts = new BlockTexts(write)
    const [block] = blocks
    for (let i = 0; i < 2; i++) {
      expect([texts.block(block!, true), texts.block(block!, false), texts.receipts(block!)].map(valueOf)).toEqual([
        'full block',
        'block',
        'receipts',
      ])
    }
    expect(asked).toEqual(['full block', 'block', 'receipts'].map((form) => [form, block!.header.number]))
  })

  it('count what is kept of them compressed, as long as they are kept themselves', async () => {
    const texts = new BlockTexts(() => new Uint8Array(100), 250)
    const packed: Packed = { bytes: new Uint8Array(60), crc32: 0, unpackedBytes: 100 }
    let made = 0
    const ask = (block: Block) => {
      const json = texts.receipts(block)
      if (!(json instanceof JsonBytes) || json.packs === null) throw new Error('not kept')
      return json.packs.get('br', async () => (made++, packed))
    }
    expect(await Promise.all([ask(blocks[0]!), ask(blocks[0]!)])).toEqual([packed, packed])
    expect([made, texts.sizeBytes]).toEqual([1, 160])
    texts.receipts(blocks[1]!)
    // The first is forgotten, with both its forms.
    expect(texts.sizeBytes).toBe(100)
    const late = ask(blocks[2]!)
    texts.receipts(blocks[3]!)
    texts.receipts(blocks[4]!)
    texts.receipts(blocks[5]!)
    await late
    expect(texts.sizeBytes).toBe(200)
  })

  it('make room by forgetting what was asked longest ago', () => {
    const size = sizeOf(new BlockTexts().block(blocks[0]!, true))
    const texts = new BlockTexts(undefined, Math.floor(size * 3.5))
    const first = texts.block(blocks[0]!, true)
    const second = texts.block(blocks[1]!, true)
    texts.block(blocks[2]!, true)
    expect(texts.block(blocks[0]!, true)).toBe(first)
    texts.block(blocks[3]!, true)
    expect(texts.block(blocks[0]!, true)).toBe(first)
    expect(texts.block(blocks[1]!, true)).not.toBe(second)
    for (const block of blocks) texts.block(block, true)
    expect(texts.sizeBytes).toBeLessThanOrEqual(size * 3.5)
  })
})
