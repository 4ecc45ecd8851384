import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { matchesFilter } from '../../chain/index.ts'
import type { LogFilter } from '../../chain/index.ts'
import { Address, Hash, Hex } from '../../eth/index.ts'
import type { Block } from '../../eth/index.ts'
import { blockJson, logJson, receiptJson, receiptsJson, transactionJson } from '../../rpc/json.fixture.ts'
import { BlockRecord, byteFilter, encodeBlock } from '../record/index.ts'
import { chainBlocks, formerRecord, hasVectors, importedBlocks, someBlock } from '../record/record.fixture.ts'
import { ScalarWriter } from './scalarwriter.fixture.ts'
import { newWasmWriter } from './wasmwriter.ts'
import type { JsonWriter, TextSink } from './writer.ts'

const RUNS = { seed: 7, numRuns: 150 }

const wasm = newWasmWriter()

describe.each([
  ['wasm', wasm],
  ['the scalar oracle', new ScalarWriter()],
])('%s: objects equal the JSON-RPC objects byte for byte', (_, writer) => {
  test.each(['preconf', 'native', 'manual'] as const)('of a chain in process: %s', async (kind) => {
    for (const block of await chainBlocks(kind)) expectSame(writer, block)
  })

  test.skipIf(!hasVectors)('of execution-apis, frontier to Osaka', async () => {
    for (const block of await importedBlocks()) expectSame(writer, block)
  })

  test('of arbitrary values', () => {
    fc.assert(
      fc.property(someBlock, (block) => expectSame(writer, block)),
      RUNS,
    )
  })

  test('of a record of format 2', () => {
    const former = formerRecord()
    const record = encodeBlock(new BlockRecord(former).decode())
    expect(text(writer.block(former, true).slice())).toBe(text(writer.block(record, true)))
    expect(text(writer.receipts(former).slice())).toBe(text(writer.receipts(record)))
  })

  test('texts are not overwritten by later calls', () => {
    const [one, two] = fc.sample(someBlock, { seed: 1, numRuns: 2 }).map((block) => encodeBlock(block).slice()) as [Uint8Array, Uint8Array]
    const text = writer.block(one, true)
    const before = text.slice()
    writer.receipts(two)
    writer.block(two, true)
    expect(Buffer.compare(text, before)).toBe(0)
  })

  test('rejects indices that the block does not have', () => {
    const record = encodeBlock(withLogs([[log(1)]]))
    const sink = new Collected()
    expect(() => writer.receipt(record, 1)).toThrow(RangeError)
    expect(() => writer.transaction(record, -1)).toThrow(RangeError)
    expect(() => writer.logsAt(record, [0, 1], null, 0, 2, sink)).toThrow(RangeError)
    expect(() => writer.logs(record, null, 0, 2, sink)).toThrow(RangeError)
  })
})

function expectSame(writer: JsonWriter, block: Block): void {
  const record = encodeBlock(block)
  expect(text(writer.block(record, true))).toBe(JSON.stringify(blockJson(block, true)))
  expect(text(writer.block(record, false))).toBe(JSON.stringify(blockJson(block, false)))
  expect(text(writer.receipts(record))).toBe(JSON.stringify(receiptsJson(block)))
  block.transactions.forEach((tx, index) => {
    expect(text(writer.transaction(record, index))).toBe(JSON.stringify(transactionJson(tx, { block, index })))
    expect(text(writer.receipt(record, index))).toBe(JSON.stringify(receiptJson({ block, index })))
  })
  const sink = new Collected()
  expect(writer.logs(record, null, 0, logsOf(block).length, sink)).toBe(logsOf(block).length)
  expect(sink.text).toBe(logsOf(block).join(''))
}

describe.each([
  ['wasm', wasm],
  ['the scalar oracle', new ScalarWriter()],
])('%s: logs of a block', (_, writer) => {
  // Few values, so that filters match now and then.
  const addresses = Array.from({ length: 40 }, (_unused, i) => Address.from(`0x${(i + 1).toString(16).padStart(40, '0')}`))
  const topics = Array.from({ length: 60 }, (_unused, i) => Hash.fromBigint(BigInt(i)))
  const anyTopics = fc.array(fc.constantFrom(...topics), { maxLength: 4 })
  const anyLog = fc.record({ address: fc.constantFrom(...addresses), topics: anyTopics, data: fc.uint8Array({ maxLength: 40 }) })
  const anyLogs = fc.array(fc.array(anyLog, { maxLength: 12 }), { minLength: 1, maxLength: 5 })
  /** no condition, one value, a few, more than are compared directly */
  const choice = <T>(values: readonly T[]): fc.Arbitrary<ReadonlySet<T> | null> =>
    fc.option(
      fc.uniqueArray(fc.constantFrom(...values), { maxLength: 30 }).map((chosen) => new Set(chosen)),
      { nil: null },
    )
  const anyFilter: fc.Arbitrary<LogFilter> = fc.record({
    addresses: choice(addresses),
    topics: fc.array(fc.oneof({ weight: 2, arbitrary: fc.constant(null) }, choice(topics)), { maxLength: 5 }),
  })

  test('matching logs are written in order', () => {
    let matched = 0
    const property = fc.property(anyLogs, anyFilter, (logs, filter) => {
      const block = withLogs(logs)
      const expected = logsOf(block, filter)
      matched += expected.length
      expect(printed(writer, block, filter)).toBe(expected.join(''))
    })
    fc.assert(property, { seed: 5, numRuns: 400 })
    expect(matched).toBeGreaterThan(100)
  })

  describe('a filter', () => {
    const looksLikeTopics = { ...log(5), data: Hex.toBytes(Hash.fromBigint(77n)) }
    const block = withLogs([
      [log(1, [1n, 2n]), log(2, []), log(3, [1n])],
      [],
      [log(1, [2n, 2n, 3n, 4n]), log(4, [9n, 2n])],
      [looksLikeTopics],
    ])
    const at = (...position: bigint[]): ReadonlySet<Hash> => new Set(position.map(Hash.fromBigint))
    const of = (...numbers: number[]): ReadonlySet<Address> => new Set(numbers.map((number) => log(number).address))
    const many = (kept: number): ReadonlySet<Address> => of(kept, ...Array.from({ length: 999 }, (_unused, i) => 1_000 + i))

    test.each<[string, LogFilter, number[]]>([
      ['without conditions', { addresses: null, topics: [] }, [0, 1, 2, 3, 4, 5]],
      [
        'with null at every position, including positions that a log does not have',
        { addresses: null, topics: [null, null, null, null] },
        [0, 1, 2, 3, 4, 5],
      ],
      ['of an address', { addresses: of(1), topics: [] }, [0, 3]],
      ['of a thousand addresses', { addresses: many(4), topics: [] }, [4]],
      ['of a thousand absent addresses', { addresses: many(6), topics: [] }, []],
      ['of an empty address list', { addresses: of(), topics: [] }, []],
      ['of a topic', { addresses: null, topics: [at(1n)] }, [0, 2]],
      ['of a topic at the second position', { addresses: null, topics: [null, at(2n)] }, [0, 3, 4]],
      ['of topics at all positions', { addresses: null, topics: [at(2n), at(2n), at(3n), at(4n)] }, [3]],
      ['of a topic that occurs only in data', { addresses: null, topics: [at(77n)] }, []],
      ['of alternatives', { addresses: null, topics: [at(1n, 9n)] }, [0, 2, 4]],
      [
        'of a thousand alternatives',
        { addresses: null, topics: [at(...Array.from({ length: 999 }, (_unused, i) => BigInt(i + 2)))] },
        [3, 4],
      ],
      ['of address and topics', { addresses: of(1, 4), topics: [at(9n), at(2n)] }, [4]],
      ['of a topic at a fifth position', { addresses: null, topics: [null, null, null, null, at(1n)] }, []],
    ])('%s', (_unused, filter, expected) => {
      const all = logsOf(block)
      expect(printed(writer, block, filter)).toBe(expected.map((index) => all[index]).join(''))
    })
  })

  test('selected logs are written, however many', () => {
    const block = withLogs([Array.from({ length: 20_000 }, (_unused, i) => log(i))])
    const record = encodeBlock(block)
    const all = logsOf(block)
    const every = [...all.keys()]
    const sink = new Collected()
    expect(writer.logsAt(record, every, null, 0, every.length, sink)).toBe(every.length)
    expect(sink.text === all.join('')).toBe(true)
    const some = [0, 7, 19_999]
    const chosen = new Collected()
    expect(writer.logsAt(record, some, null, 1, 3, chosen)).toBe(3)
    expect(chosen.text).toBe(`${all[7]}${all[19_999]}`)
  })

  test('writing stops after the log that exhausts the room and continues from there', () => {
    const block = withLogs([Array.from({ length: 100 }, (_unused, i) => log(i % 5))])
    const record = encodeBlock(block)
    const all = logsOf(block)
    const size = all[0]!.length
    for (const [room, count] of [
      [1, 1],
      [size, 1],
      [size + 1, 2],
      [10 * size, 10],
    ] as const) {
      const sink = new Collected(room)
      const next = writer.logs(record, null, 0, 16, sink)
      expect([next, sink.text]).toEqual([count, all.slice(0, count).join('')])
      const rest = new Collected()
      expect(writer.logs(record, null, next, 16, rest)).toBe(16)
      expect(rest.text).toBe(all.slice(count, 16).join(''))
    }
    const listed = new Collected(1)
    expect(writer.logsAt(record, [3, 4, 5], null, 1, 3, listed)).toBe(2)
    expect(listed.text).toBe(all[4])
  })

  test('a log may be huge, and later texts are correct', () => {
    const data = new Uint8Array(20_000_000).map((_unused, i) => i * 7)
    const block = withLogs([[log(1), { ...log(2), data }, log(3)]])
    const record = encodeBlock(block)
    const sink = new Collected()
    const filter = byteFilter({ addresses: new Set([log(2).address]), topics: [] })
    expect(writer.logs(record, filter, 0, 3, sink)).toBe(3)
    expect(sink.text === logsOf(block)[1]).toBe(true)
    const small = withLogs([[log(1), log(2)]])
    expect(text(writer.receipts(encodeBlock(small)))).toBe(JSON.stringify(receiptsJson(small)))
    const after = new Collected()
    expect(writer.logs(encodeBlock(small), filter, 0, 2, after)).toBe(2)
    expect(after.text).toBe(logsOf(small)[1])
  })
})

describe('the wasm writer', () => {
  test('separates the filters of interleaved queries', () => {
    const block = withLogs([[log(1), log(2), log(3)]])
    const record = encodeBlock(block)
    const filters = [1, 2, 3].map((number) => byteFilter({ addresses: new Set([log(number).address]), topics: [] }))
    for (let round = 0; round < 3; round++) {
      filters.forEach((filter, i) => {
        const sink = new Collected()
        wasm.logs(record, filter, 0, 3, sink)
        expect(sink.text).toBe(logsOf(block)[i])
      })
    }
  })

  test('works after corrupt records', () => {
    const blocks = fc.sample(someBlock, { seed: 11, numRuns: 20 })
    const whole = withLogs([[log(1, [1n]), log(2)]])
    const sink = new Collected()
    let refused = 0
    for (const [seed, block] of blocks.entries()) {
      const record = encodeBlock(block).slice()
      for (let i = 0; i < 40; i++) record[80 + (((i + 1) * 2_654_435_761 + seed) % (record.length - 80))] = 0xff
      for (const write of [() => wasm.block(record, true), () => wasm.receipts(record), () => wasm.logs(record, null, 0, 1, sink)]) {
        try {
          write()
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError)
          refused++
        }
        expectSame(wasm, whole)
      }
    }
    expect(refused).toBeGreaterThan(0)
  })

  test('rejects a filter above the size limit', () => {
    const record = encodeBlock(withLogs([[log(1)]]))
    const huge = byteFilter({ addresses: new Set(Array.from({ length: 40_000 }, (_, i) => log(i).address)), topics: [] })
    expect(() => wasm.logs(record, huge, 0, 1, new Collected())).toThrow('a log filter of 40000 values does not fit')
    expectSame(wasm, withLogs([[log(1)]]))
  })
})

// --- blocks and texts -------------------------------------------------------------------------------------------------------------------

/** A block with one transaction for each list of logs. */
function withLogs(logs: readonly (readonly ReturnType<typeof log>[])[]): Block {
  const base = someRun()
  let firstLogIndex = 0
  const receipts = logs.map((own) => {
    const receipt = { ...base.receipts[0]!, logs: own, firstLogIndex }
    firstLogIndex += own.length
    return receipt
  })
  return { ...base, transactions: logs.map(() => base.transactions[0]!), receipts }
}

let run: Block | undefined

/** A block with a transaction in it. */
function someRun(): Block {
  return (run ??= fc.sample(someBlock, { seed: 3, numRuns: 20 }).find(({ transactions }) => transactions.length > 0)!)
}

/** A log whose address is `number`. */
function log(number: number, topics: readonly bigint[] = []): Block['receipts'][number]['logs'][number] {
  const address = Address.from(`0x${number.toString(16).padStart(40, '0')}`)
  return { address, topics: topics.map(Hash.fromBigint), data: new Uint8Array(3).fill(number) }
}

/** The logs as JSON, each followed by a comma. */
function logsOf(block: Block, filter: LogFilter = { addresses: null, topics: [] }): readonly string[] {
  return block.receipts.flatMap(({ logs, firstLogIndex }, transactionIndex) =>
    logs.flatMap((each, i) =>
      matchesFilter(filter, each)
        ? [`${JSON.stringify(logJson({ log: each, block, transactionIndex, logIndex: firstLogIndex + i }))},`]
        : [],
    ),
  )
}

function printed(writer: JsonWriter, block: Block, filter: LogFilter): string {
  const [sink, listed] = [new Collected(), new Collected()]
  const count = logsOf(block).length
  const record = encodeBlock(block)
  expect(writer.logs(record, byteFilter(filter), 0, count, sink)).toBe(count)
  const every = Array.from({ length: count }, (_, index) => index)
  expect(writer.logsAt(record, every, byteFilter(filter), 0, count, listed)).toBe(count)
  expect(listed.text).toBe(sink.text)
  return sink.text
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
}

class Collected implements TextSink {
  text = ''
  #room: number

  constructor(room = Infinity) {
    this.#room = room
  }

  get room(): number {
    return Math.max(0, this.#room)
  }

  append(bytes: Uint8Array): void {
    this.text += text(bytes)
    this.#room -= bytes.length
  }
}
