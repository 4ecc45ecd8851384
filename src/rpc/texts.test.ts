import { describe, expect, it } from 'vitest'
import { Hash } from '../eth/index.ts'
import { REQUESTED_TEXTS, LONG_TEXT_BYTES } from './limits.ts'
import { BlockTexts, JsonStream } from './texts.ts'
import type { BlockForm, JsonBytes } from './texts.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const valueOf = (json: JsonBytes): unknown => JSON.parse(new TextDecoder().decode(json.bytes))

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

  it('generates a chunk on demand, never an empty one', () => {
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

  it('that is ended generates nothing more and releases its source', () => {
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
  const hashes = Array.from({ length: 6 }, (_, i) => Hash.fromBigint(BigInt(i + 1)))
  const write =
    (sizeBytes = 100) =>
    () =>
      new Uint8Array(sizeBytes)

  it('are written once for each form and block', () => {
    const texts = new BlockTexts()
    const written: string[] = []
    const ask = (form: BlockForm, hash = hashes[0]!) =>
      texts.get(form, hash, () => {
        written.push(`${form} ${hash}`)
        return bytes(`"${form}"`)
      })
    for (let i = 0; i < 2; i++) for (const form of ['full block', 'block', 'receipts'] as const) expect(valueOf(ask(form))).toBe(form)
    expect(ask('block')).toBe(ask('block'))
    expect(ask('block', hashes[1])).not.toBe(ask('block'))
    expect(written).toHaveLength(4)
  })

  it('that are long are cached at their second request', () => {
    const texts = new BlockTexts()
    const [long, other] = [write(LONG_TEXT_BYTES), hashes.slice(1)]
    const ask = (hash = hashes[0]!) => texts.get('receipts', hash, long)
    const first = ask()
    expect(texts.sizeBytes).toBe(0)
    const second = ask()
    expect([second === first, texts.sizeBytes]).toEqual([false, LONG_TEXT_BYTES])
    expect(ask()).toBe(second)
    // Forgotten, it is new again.
    const few = new BlockTexts(LONG_TEXT_BYTES)
    for (const hash of other) for (let i = 0; i < 2; i++) few.get('receipts', hash, long)
    expect(few.sizeBytes).toBe(LONG_TEXT_BYTES)
    const again = few.get('receipts', other[0]!, long)
    expect(few.get('receipts', other[0]!, long)).not.toBe(again)
  })

  it('of an indexer are dropped one by one', () => {
    const texts = new BlockTexts()
    // a text that is kept is counted
    const ask = (number: number) => {
      const before = texts.sizeBytes
      texts.get('receipts', Hash.fromBigint(BigInt(number)), write(LONG_TEXT_BYTES))
      return texts.sizeBytes > before
    }
    for (let number = 0; number < REQUESTED_TEXTS + 10; number++) expect(ask(number)).toBe(false)
    expect([ask(9), ask(12), texts.sizeBytes]).toEqual([false, true, LONG_TEXT_BYTES])
  })

  it('are evicted in the order of their last request', () => {
    const texts = new BlockTexts(350)
    const [first, second] = hashes.map((hash) => texts.get('block', hash, write()))
    expect(texts.sizeBytes).toBe(300)
    expect(texts.get('block', hashes[5]!, write()).bytes).toHaveLength(100)
    expect(texts.get('block', hashes[0]!, write())).not.toBe(first)
    expect(texts.get('block', hashes[1]!, write())).not.toBe(second)
    expect(texts.sizeBytes).toBe(300)
  })
})
