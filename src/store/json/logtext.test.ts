import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Address, Hash } from '../../eth/index.ts'
import type { Block, Log } from '../../eth/index.ts'
import { logJson } from '../../rpc/json.fixture.ts'
import { byteFilter, encodeBlock } from '../record/index.ts'
import { someBlock } from '../record/record.fixture.ts'
import { LOG_CHUNK_BYTES } from './limits.ts'
import { logArrayJson } from './logtext.ts'
import type { LogSelection } from './logtext.ts'
import { ScalarWriter } from './scalarwriter.fixture.ts'
import { newWasmWriter } from './wasmwriter.ts'

const SOME = fc.sample(someBlock, { seed: 3, numRuns: 20 }).find(({ transactions }) => transactions.length > 0)!

describe.each([
  ['wasm', newWasmWriter()],
  ['the scalar oracle', new ScalarWriter()],
])('%s: an array of logs', (_, writer) => {
  const textOf = (parts: Iterable<LogSelection>): string => joined([...logArrayJson(parts, writer)])

  test('is empty without logs', () => {
    const nothing = byteFilter({ addresses: new Set(), topics: [] })
    const { record } = blockOf(3)
    expect(textOf([])).toBe('[]')
    expect(textOf([every(blockOf(0).record)])).toBe('[]')
    expect(
      textOf([
        { record, filter: nothing, indices: null },
        { record, filter: null, indices: [] },
        { record, filter: nothing, indices: [0, 2] },
      ]),
    ).toBe('[]')
  })

  test('has no stray commas around empty parts', () => {
    const nothing = byteFilter({ addresses: new Set(), topics: [] })
    const [one, two] = [blockOf(1), blockOf(2)]
    const parts = [
      { record: one.record, filter: nothing, indices: null },
      every(one.record),
      { record: two.record, filter: null, indices: [] },
      { record: two.record, filter: null, indices: [1] },
      { record: one.record, filter: nothing, indices: null },
    ]
    expect(textOf(parts)).toBe(`[${one.logs[0]},${two.logs[1]}]`)
  })

  test('does not depend on where chunks end', () => {
    const blocks = [0, 1, 700, 3, 1_500, 0, 40, 900].map((count) => blockOf(count))
    const all = `[${blocks.flatMap(({ logs }) => logs).join(',')}]`
    const whole = blocks.map(({ record }) => every(record))
    const chunks = [...logArrayJson(whole, writer)]
    expect(chunks.length).toBeGreaterThan(3)
    expect(joined(chunks) === all).toBe(true)
    const longest = Math.max(...blocks.flatMap(({ logs }) => logs.map(({ length }) => length)))
    const sizes = chunks.slice(0, -1).map(({ length }) => length)
    expect(Math.min(...sizes)).toBeGreaterThanOrEqual(LOG_CHUNK_BYTES - 1)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(LOG_CHUNK_BYTES + longest)
    const listed = blocks.map(({ record, logs }) => ({ record, filter: null, indices: [...logs.keys()] }))
    expect(textOf(listed) === all).toBe(true)
  })

  // The bracket, the logs and their commas fill the chunk exactly, or exceed or miss it by one byte of data.
  test.each([0, 2, -2])('is correct when its last log fills the chunk (%i bytes over)', (over) => {
    const lone = blockOf(1, () => logOf(1, new Uint8Array(0))).logs[0]!.length
    const data = (LOG_CHUNK_BYTES + over - 2 - lone) >> 1
    const { record, logs } = blockOf(1, () => logOf(1, new Uint8Array(data)))
    expect(textOf([every(record)])).toBe(`[${logs[0]}]`)
    expect(textOf([every(record), every(record)])).toBe(`[${logs[0]},${logs[0]}]`)
  })

  test('may hold a log that is larger than a chunk', () => {
    const huge = new Uint8Array(3_000_000).map((_unused, i) => i * 3)
    const { record, logs } = blockOf(3, (i) => logOf(i, i === 1 ? huge : Uint8Array.of(i)))
    const chunks = [...logArrayJson([every(record)], writer)]
    expect(joined(chunks) === `[${logs.join(',')}]`).toBe(true)
    expect(chunks.length).toBe(2)
  })

  test('is correct for many interleaved readers', () => {
    const blocks = [300, 900, 20].map((count) => blockOf(count))
    const expected = (accepts: (index: number) => boolean): string =>
      `[${blocks.flatMap(({ logs }) => logs.filter((_unused, index) => accepts(index))).join(',')}]`
    const readers = Array.from({ length: 16 }, (_unused, reader) => {
      const numbers = Array.from({ length: reader + 1 }, (_address, i) => i)
      const filter = byteFilter({ addresses: new Set(numbers.map((number) => logOf(number).address)), topics: [] })
      const parts = blocks.map(({ record }) => ({ record, filter: reader === 0 ? null : filter, indices: null }))
      const accepts = (index: number): boolean => reader === 0 || index % ADDRESSES <= reader
      return { source: logArrayJson(parts, writer), text: '', expected: expected(accepts) }
    })
    for (let isOpen = true; isOpen;) {
      isOpen = false
      for (const reader of readers) {
        const { done, value } = reader.source.next()
        if (done === true) continue
        isOpen = true
        reader.text += joined([value])
        writer.block(blocks[2]!.record, true)
      }
    }
    for (const { text, expected: whole } of readers) expect(text === whole).toBe(true)
  })

  test('is written on demand: parts are pulled when there is room, and no more after the reader returns', () => {
    const { record, logs } = blockOf(100)
    let pulled = 0
    let isClosed = false
    function* source(): Generator<LogSelection> {
      try {
        for (;;) {
          pulled++
          yield every(record)
        }
      } finally {
        isClosed = true
      }
    }
    const text = logArrayJson(source(), writer)
    expect(pulled).toBe(0)
    const first = text.next().value!
    expect(pulled).toBe(Math.ceil(LOG_CHUNK_BYTES / (logs.join(',').length + 1)))
    expect(first.length).toBeLessThan(LOG_CHUNK_BYTES + 2_000)
    text.return()
    expect(isClosed).toBe(true)
  })

  test('is correct when the generator of its parts uses the writer too', () => {
    const blocks = [blockOf(30), blockOf(900), blockOf(30)]
    function* source(): Generator<LogSelection> {
      for (const { record } of blocks) {
        writer.receipts(record)
        yield every(record)
        writer.block(record, true)
      }
    }
    expect(textOf(source()) === `[${blocks.flatMap(({ logs }) => logs).join(',')}]`).toBe(true)
  })
})

const ADDRESSES = 20

function every(record: Uint8Array): LogSelection {
  return { record, filter: null, indices: null }
}

function logOf(index: number, data: Uint8Array = new Uint8Array(index % 50).fill(index)): Log {
  const address = Address.from(`0x${(index % ADDRESSES).toString(16).padStart(40, '0')}`)
  return { address, topics: Array.from({ length: index % 5 }, (_, i) => Hash.fromBigint(BigInt(index + i))), data }
}

/** A block of two transactions, and its logs as JSON. */
function blockOf(count: number, make: (index: number) => Log = (index) => logOf(index)): { record: Uint8Array; logs: readonly string[] } {
  const logs = Array.from({ length: count }, (_, index) => make(index))
  const half = count >> 1
  const receipt = SOME.receipts[0]!
  const receipts = [
    { ...receipt, logs: logs.slice(0, half), firstLogIndex: 0 },
    { ...receipt, logs: logs.slice(half), firstLogIndex: half },
  ]
  const block: Block = { ...SOME, transactions: [SOME.transactions[0]!, { ...SOME.transactions[0]!, hash: Hash.fromBigint(9n) }], receipts }
  const text = logs.map((log, logIndex) => JSON.stringify(logJson({ log, block, transactionIndex: logIndex < half ? 0 : 1, logIndex })))
  return { record: encodeBlock(block), logs: text }
}

function joined(chunks: readonly Uint8Array[]): string {
  return Buffer.concat(chunks).toString('latin1')
}
