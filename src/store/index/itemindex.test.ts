import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ByteFilter } from '../record/bytefilter.ts'
import { recordOf, valueOf } from './chain.fixture.ts'
import type { PlainBlock, PlainLog } from './chain.fixture.ts'
import { decodeHeader } from './sectionheader.ts'
import { CorruptSection, INDEX_LIMITS, ItemIndex } from './index.ts'
import type { IndexChanges, IndexLimits, PageSource } from './index.ts'

/** Sizes at which a few hundred items make sections of several levels, long lists and pages of a few rows. */
const SMALL: IndexLimits = {
  tailItems: 12,
  fanOut: 3,
  idleFanOut: 2,
  sectionItems: 400,
  sectionBlocks: 60,
  sectionIds: 12,
  pageBytes: 96,
  inlineBytes: 12,
  cachedPages: 4,
  stepUnits: 5,
  unsavedPages: 4,
  mergePace: 1.5,
  windowItems: 25,
  windowPositions: 2,
  scanItems: 0,
  probeCost: 0,
  candidateCost: 0,
  intersectCandidates: 3,
  intersectFactor: 8,
}

/** The parts of an index that a storage backend persists. */
class Saved implements PageSource {
  readonly heads = new Map<number, Uint8Array>()
  readonly pages = new Map<number, Map<number, Uint8Array>>()

  page(section: number, page: number): Uint8Array {
    const bytes = this.pages.get(section)?.get(page)
    if (bytes === undefined) throw new Error(`page ${page} of section ${section} was never saved`)
    return bytes
  }

  save({ pages, heads, remove }: IndexChanges): void {
    for (const id of remove) {
      this.heads.delete(id)
      this.pages.delete(id)
    }
    for (const { section, page, bytes } of pages) {
      if (!this.pages.has(section)) this.pages.set(section, new Map())
      this.pages.get(section)?.set(page, bytes.slice())
    }
    for (const { id, head } of heads) this.heads.set(id, head.slice())
  }
}

/** An index over a chain, and the chain in arrays beside it. */
class World {
  readonly saved = new Saved()
  readonly limits: IndexLimits
  blocks: PlainBlock[] = []
  /** the blocks that are durable: those of the last save */
  #durable: readonly PlainBlock[] = []
  index: ItemIndex

  constructor(limits = SMALL) {
    this.limits = limits
    this.index = new ItemIndex(this.saved, [], { limits })
  }

  append(content: Omit<PlainBlock, 'number'>): void {
    const block = { number: this.blocks.length, ...content }
    this.blocks.push(block)
    this.index.append(recordOf(block))
  }

  truncate(toBlock: number): void {
    this.blocks = this.blocks.slice(0, toBlock + 1)
    this.index.truncate(toBlock)
  }

  save(): void {
    this.saved.save(this.index.changes())
    this.index.saved()
    this.#durable = this.blocks
    this.blocks = [...this.blocks]
  }

  reopenAfterSave(): void {
    this.save()
    this.reopen()
  }

  /** Unsaved changes are lost. */
  reopen(): void {
    this.blocks = [...this.#durable]
    this.index = new ItemIndex(this.saved, heads(this.saved), { limits: this.limits })
    for (const block of this.blocks.slice(this.index.next)) this.index.append(recordOf(block))
  }
}

function heads(saved: Saved): { id: number; head: Uint8Array }[] {
  return Array.from(saved.heads, ([id, head]) => ({ id, head }))
}

// --- expected and actual query results ---------------------------------------------------------------------------------------------------

/** Block and log numbers, `12/3`. */
function truth({ blocks }: World, filter: ByteFilter, from: number, to: number): string[] {
  return blocks
    .slice(Math.max(0, from), Math.max(0, to + 1))
    .flatMap(({ number, logs }) => logs.flatMap((log, i) => (accepts(filter, log) ? [`${number}/${i}`] : [])))
}

function accepts({ addresses, topics }: ByteFilter, log: PlainLog): boolean {
  const has = (values: readonly Uint8Array[] | null, value: Uint8Array | undefined): boolean =>
    values === null || (value !== undefined && values.some((other) => Buffer.compare(other, value) === 0))
  return has(addresses, log.address) && topics.every((values, i) => has(values, log.topics[i]))
}

/** Returns the candidates in order, after asserting that they ascend and exist. */
function answers({ index, blocks }: World, filter: ByteFilter, from: number, to: number): { all: string[]; true: string[] } {
  const found = index.find(filter, from, to)
  if (found === 'scan') throw new Error('a scan was not expected')
  const all: string[] = []
  const accepted: string[] = []
  let before = -1
  for (const { block, logs } of found) {
    if (block <= before || logs.length === 0) throw new Error(`block ${block} after ${before} with ${logs.length} logs`)
    before = block
    for (const [k, i] of logs.entries()) {
      const log = blocks[block]?.logs[i]
      if (log === undefined || i <= (logs[k - 1] ?? -1)) throw new Error(`log ${i} of block ${block}`)
      all.push(`${block}/${i}`)
      if (accepts(filter, log)) accepted.push(`${block}/${i}`)
    }
  }
  return { all, true: accepted }
}

function checkQuery(world: World, filter: ByteFilter, from: number, to: number): void {
  const expected = truth(world, filter, from, to)
  expect(world.index.count(filter, from, to)).toBeGreaterThanOrEqual(expected.length)
  if (filter.addresses === null && filter.topics.every((values) => values === null)) {
    expect(world.index.find(filter, from, to)).toBe('scan')
    expect([...world.index.blocksWithLogs(from, to)]).toEqual([...new Set(expected.map((position) => Number(position.split('/')[0])))])
    expect(world.index.count(filter, from, to)).toBe(expected.length)
  } else expect(answers(world, filter, from, to).true).toEqual(expected)
}

function checkItems({ index, blocks }: World): void {
  const wrong: string[] = []
  const check = (right: boolean, what: string): unknown => right || wrong.push(what)
  let item = 0
  for (const { number, hash, transactions, logs } of blocks) {
    check(index.firstItem(number) === item && index.blockOf(item) === number, `first item of ${number}`)
    item += 1 + transactions.length + logs.length
    check(index.blockOf(item - 1) === number, `last item of ${number}`)
    check([...index.blocks(hash)].includes(number), `hash of ${number}`)
    for (const [i, transaction] of transactions.entries()) {
      const found = [...index.transactions(transaction)]
      check(
        found.some((position) => position.block === number && position.index === i),
        `transaction ${i} of ${number}`,
      )
    }
  }
  expect(wrong).toEqual([])
  expect(index.next).toBe(blocks.length)
  expect(index.items).toBe(item)
}

// --- random chains -----------------------------------------------------------------------------------------------------------------------

/** Two values of the first topic with one key; one of the first topic each with an address, a second topic, a transaction and a block. */
const SHARED = [43640, 162827, 1362262, 145423, 1675359, 9057, 1429583, 219042, 727867, 11348]

/** Few values, some of them in most logs, so that there are lists of all lengths. */
const value = fc.oneof(
  { weight: 3, arbitrary: fc.constant(0) },
  { weight: 2, arbitrary: fc.nat(3) },
  { weight: 1, arbitrary: fc.nat(200) },
  { weight: 1, arbitrary: fc.constantFrom(...SHARED) },
)
const hash = fc.oneof({ weight: 8, arbitrary: fc.nat() }, { weight: 1, arbitrary: fc.constantFrom(...SHARED) }).map((n) => valueOf(n))
const log = fc.record({
  address: value.map((n) => valueOf(n, 20)),
  topics: fc.array(
    value.map((n) => valueOf(n)),
    { maxLength: 4 },
  ),
})
const content = fc.record({
  hash,
  transactions: fc.array(hash, { maxLength: 3 }),
  logs: fc.oneof(
    { weight: 9, arbitrary: fc.array(log, { maxLength: 6 }) },
    { weight: 1, arbitrary: fc.array(log, { minLength: 15, maxLength: 40 }) },
  ),
})
const accepted = (size: number): fc.Arbitrary<Uint8Array[] | null> =>
  fc.option(
    fc.array(
      value.map((n) => valueOf(n, size)),
      { maxLength: 4 },
    ),
  )
const query = fc.record({
  filter: fc.record({ addresses: accepted(20), topics: fc.array(accepted(32), { maxLength: 5 }) }),
  from: fc.double({ min: 0, max: 1, noNaN: true }),
  to: fc.double({ min: 0, max: 1.1, noNaN: true }),
})
/** The retained fraction of the chain, usually close to all. */
const rest = fc.oneof(fc.double({ min: 0.8, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true }))

const step: fc.Arbitrary<(world: World) => void> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.array(content, { minLength: 1, maxLength: 25 }).map((list) => (world: World) => {
      for (const block of list) world.append(block)
    }),
  },
  { weight: 3, arbitrary: rest.map((share) => (world: World) => world.truncate(Math.floor(world.blocks.length * share) - 1)) },
  { weight: 3, arbitrary: fc.constant((world: World) => world.save()) },
  { weight: 1, arbitrary: fc.constant((world: World) => world.reopen()) },
  {
    weight: 3,
    arbitrary: fc.nat(40).map((steps) => (world: World) => {
      for (let i = 0; i < steps && world.index.mergeIdle(); i++) if (world.index.isWorthSaving) world.save()
    }),
  },
  {
    weight: 8,
    arbitrary: query.map(({ filter, from, to }) => (world: World) => {
      checkQuery(world, filter, Math.floor(from * world.blocks.length), Math.floor(to * world.blocks.length))
    }),
  },
)

describe('an item index', () => {
  it('finds every item of the chain after arbitrary appends, truncations, saves and restarts', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60, size: 'max' }), fc.array(query, { minLength: 10, maxLength: 10 }), (steps, queries) => {
        const world = new World({ ...SMALL, cachedPages: steps.length % 2 === 0 ? 4 : 1_000 })
        for (const take of steps) take(world)
        checkItems(world)
        for (const { filter } of queries) checkQuery(world, filter, 0, world.blocks.length)
        world.save()
        world.reopen()
        checkItems(world)
        for (const { filter } of queries) checkQuery(world, filter, 0, world.blocks.length)
        expect([...world.saved.pages.keys()].filter((id) => !world.saved.heads.has(id)).length).toBeLessThan(8)
      }),
      { seed: 4, numRuns: 60, endOnFailure: true },
    )
  }, 120_000)

  it('returns logs once each and only logs, even if keys collide', () => {
    const world = new World()
    const [topic, twin, likeAddress, address, likeSecond, second, likeTransaction, transaction, likeBlock, block] = SHARED.map((n) =>
      valueOf(n),
    )
    const log = (account: Uint8Array, ...topics: (Uint8Array | undefined)[]): PlainLog => ({
      address: account.slice(-20),
      topics: topics.map((value) => value ?? valueOf(0)),
    })
    world.append({
      hash: block!,
      transactions: [transaction!],
      logs: [log(address!, likeAddress), log(valueOf(7), likeSecond, second), log(valueOf(8), topic), log(valueOf(8), twin)],
    })
    const found = (value: Uint8Array): string[] => answers(world, { addresses: null, topics: [[value]] }, 0, 0).all
    const check = (): void => {
      expect([likeAddress, likeSecond, likeTransaction, likeBlock, topic].map((value) => found(value!))).toEqual([
        ['0/0'],
        ['0/1'],
        [],
        [],
        ['0/2', '0/3'],
      ])
      expect([...world.index.blocks(likeBlock!)]).toEqual([])
      expect([...world.index.transactions(likeTransaction!)]).toEqual([])
      expect([...world.index.transactions(transaction!)]).toEqual([{ block: 0, index: 0 }])
    }
    check()
    world.append({ hash: valueOf(1), transactions: [], logs: Array.from({ length: 20 }, () => log(valueOf(9))) }) // freezes it
    check()
  })

  it.each([
    { sectionItems: 400, sectionBlocks: 1_000 },
    { sectionItems: 4_000, sectionBlocks: 60 },
  ])('keeps few sections, none too large, and nothing of merges that were given up: %j', (sizes) => {
    const world = new World({ ...SMALL, ...sizes })
    for (let round = 0; round < 40; round++) {
      for (let i = 0; i < 30; i++) world.append(filler(i))
      world.save()
      if (round % 4 === 1) world.truncate(world.blocks.length - 1 - 3 * round)
      expect(Math.max(...world.saved.heads.keys())).toBeLessThan(36)
      if (round % 8 !== 5) continue
      world.reopenAfterSave()
      world.save()
      expect(new Set(world.saved.pages.keys())).toEqual(new Set(world.saved.heads.keys()))
    }
    world.save()
    // At most two of each level that wait, and as many that a merge is reading.
    expect(world.saved.heads.size).toBeLessThan(40)
    expect(world.saved.pages.size - world.saved.heads.size).toBeLessThanOrEqual(4)
    for (const [id, head] of world.saved.heads) {
      const { items, starts } = decodeHeader(head, id)
      expect(items).toBeLessThanOrEqual(sizes.sectionItems)
      expect(starts.length).toBeLessThanOrEqual(sizes.sectionBlocks)
    }
    checkItems(world)
    world.truncate(-1)
    world.save()
    expect([world.index.next, world.index.items, world.saved.heads.size, world.saved.pages.size]).toEqual([0, 0, 0, 0])
  })

  it('merges the sections that wait for more of their level while nothing is appended, and then has nothing to do', () => {
    const world = new World({ ...SMALL, fanOut: 40, idleFanOut: 4, sectionItems: 10_000, sectionBlocks: 1_000 })
    for (let i = 0; i < 250; i++) world.append(filler(i))
    world.save()
    const before = world.saved.heads.size
    let [steps, mostPages] = [0, 0]
    while (world.index.mergeIdle()) {
      steps++
      mostPages = Math.max(mostPages, world.index.changes().pages.length)
      if (world.index.isWorthSaving) world.save()
    }
    expect([before > 30, world.saved.heads.size < 4, steps > before]).toEqual([true, true, true])
    expect(mostPages).toBeLessThan(2 * SMALL.unsavedPages)
    expect(new Set(world.saved.pages.keys())).toEqual(new Set(world.saved.heads.keys()))
    expect(world.index.mergeIdle()).toBe(false)
    checkItems(world)
    checkQuery(world, { addresses: null, topics: [[valueOf(1)]] }, 0, 250)
    world.reopen()
    checkItems(world)
    for (let i = 0; i < 250; i++) world.append(filler(i))
    world.reopenAfterSave()
    checkItems(world)
  })

  it('is correct when it is truncated at every block in turn', () => {
    const world = new World()
    for (let i = 0; i < 300; i++) world.append(filler(i))
    world.save()
    for (let height = 298; height >= -1; height--) {
      if (height % 9 === 0) world.append(filler(5))
      world.truncate(height)
      if (height % 5 === 0) world.reopenAfterSave()
      checkQuery(world, { addresses: null, topics: [[valueOf(1)]] }, 0, world.blocks.length)
    }
    expect(world.index.items).toBe(0)
  })

  it('finds a block that was removed and appended again', () => {
    const world = new World()
    for (let i = 0; i < 3; i++) world.append(filler(i))
    for (let height = 1; height >= -1; height--) {
      world.truncate(height)
      for (let i = height + 1; i < 3; i++) world.append(filler(i))
      checkItems(world)
    }
  })

  it('returns unsaved changes again', () => {
    const world = new World()
    for (let i = 0; i < 40; i++) world.append(filler(i))
    const [first, again] = [world.index.changes(), world.index.changes()]
    expect(again).toEqual(first)
    expect(first.heads.length).toBeGreaterThan(0)
    world.save()
    expect(world.index.changes()).toEqual({ pages: [], heads: [], remove: [] })
    world.truncate(3)
    const { pages, heads, remove } = world.index.changes()
    expect([pages.length, heads.length, remove.length > 3]).toEqual([0, 1, true])
  })

  it('writes a few pages per append during any merge', () => {
    const saved = new Saved()
    const index = new ItemIndex(saved, [], { limits: { ...INDEX_LIMITS, tailItems: 512, fanOut: 4, stepUnits: 256 } })
    let most = 0
    let sections = 0
    for (let number = 0; number < 800; number++) {
      const logs = Array.from({ length: 99 }, (_, i) => ({ address: valueOf(i % 7, 20), topics: [valueOf(0), valueOf(number * 99 + i)] }))
      index.append(recordOf({ number, hash: valueOf(number), transactions: [], logs }))
      const changes = index.changes()
      most = Math.max(most, changes.pages.length)
      sections += changes.heads.length
      saved.save(changes)
      index.saved()
    }
    expect(sections).toBeGreaterThan(800 / 5 + 30)
    expect(most).toBeLessThanOrEqual(6)
  })

  it('continues through appends and truncations while it is read', () => {
    for (let height = 1; height < 99; height++) {
      const world = new World({ ...SMALL, windowItems: 1_000 })
      for (let i = 0; i < 100; i++) world.append(filler(0))
      const reader = readBlocks(world.index.find({ addresses: null, topics: [[valueOf(1)]] }, 0, 1_000))
      for (let block = 0; block < height; block++) expect(reader.next().value).toBe(block)
      if (height % 2 === 0) for (let i = 0; i < 50; i++) world.append(filler(0))
      world.truncate(height)
      for (let i = 0; i < 30; i++) world.append(filler(i % 2))
      const rest = truth(world, { addresses: null, topics: [[valueOf(1)]] }, height, 1_000)
      expect(Array.from(reader, (block) => `${block}/0`)).toEqual(rest)
    }
  })

  it('continues through a tail that became a section', () => {
    const world = new World({ ...SMALL, tailItems: 100 })
    for (let i = 0; i < 30; i++) world.append(filler(0))
    const reader = readBlocks(world.index.find({ addresses: null, topics: [[valueOf(1)]] }, 0, 1_000))
    const take = (count: number): number[] => Array.from({ length: count }, () => reader.next().value)
    expect(take(10)).toEqual(count(0, 10))
    const other = { ...filler(0), logs: [...filler(0).logs, ...filler(0).logs] }
    for (let i = 0; i < 10; i++) world.append(other)
    expect(take(30)).toEqual(count(10, 40))
  })

  it('counts the items of one value exactly', () => {
    const world = new World({ ...SMALL, sectionItems: 2 ** 24, sectionBlocks: 2 ** 20 })
    for (let i = 0; i < 700; i++) world.append(filler(i))
    const filter = { addresses: null, topics: [[valueOf(2)]] }
    for (let from = 0; from < 700; from += 13) {
      for (let to = from; to < 700; to += 57) expect(world.index.count(filter, from, to)).toBe(truth(world, filter, from, to).length)
    }
  })

  it('prefers a scan for short ranges, common values and no condition', () => {
    const world = new World({ ...SMALL, scanItems: 50, probeCost: 1, candidateCost: 8 })
    for (let i = 0; i < 300; i++) world.append(filler(i))
    world.append({ hash: valueOf(1), transactions: [], logs: [{ address: valueOf(99, 20), topics: [] }] })
    const rare = { addresses: [valueOf(99, 20)], topics: [] }
    expect(world.index.find(rare, 0, 300)).not.toBe('scan')
    expect(world.index.find(rare, 295, 300)).toBe('scan')
    expect(world.index.find({ addresses: null, topics: [[valueOf(2)]] }, 0, 300)).toBe('scan')
    expect(world.index.find({ addresses: null, topics: [null, null] }, 0, 300)).toBe('scan')
    expect(world.index.count({ addresses: [valueOf(99, 20)], topics: [null, [valueOf(1)]] }, 0, 300)).toBeLessThanOrEqual(1)
  })

  it('reopens with its levels, including that of a section without a partner', () => {
    const world = new World({ ...SMALL, tailItems: 4, fanOut: 2, sectionItems: 40, sectionBlocks: 1_000, sectionIds: 40 })
    const append = (transactions: number): void => {
      const n = world.blocks.length
      world.append({ hash: valueOf(n), transactions: count(0, transactions).map((i) => valueOf(1_000 * (n + 1) + i)), logs: [] })
      world.save()
    }
    for (const transactions of [35, 30, ...Array<number>(60).fill(1)]) append(transactions)
    const levels = Array.from(world.saved.heads, ([id, head]) => decodeHeader(head, id))
      .toSorted((a, b) => a.firstItem - b.firstItem)
      .map(({ level }) => level)
    expect(levels).toEqual(levels.toSorted((a, b) => b - a))
    world.reopen()
    for (let i = 0; i < 200; i++) append(1)
    checkItems(world)
  })

  it('rejects a block that is not the next', () => {
    const world = new World()
    world.append(filler(0))
    expect(() => world.index.append(recordOf({ number: 3, ...filler(0) }))).toThrow(new RangeError('block 3 is not the next one, 1'))
    expect(() => world.index.firstItem(1)).toThrow(RangeError)
    expect(() => world.index.blockOf(-1)).toThrow(RangeError)
    expect(world.index.next).toBe(1)
  })
})

describe('a damaged section', () => {
  /** One section of many pages, saved. */
  function damaged(damage: (saved: Saved) => void): ItemIndex {
    const world = new World()
    for (let i = 0; i < 200; i++) world.append(filler(i))
    world.save()
    damage(world.saved)
    return new ItemIndex(world.saved, heads(world.saved), { limits: SMALL })
  }

  it('is named, whichever bit of its pages has flipped', () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(), fc.nat(), (which, at, bit) => {
        let section = -1
        const index = damaged(({ pages, heads }) => {
          section = [...heads.keys()][which % heads.size]!
          for (const page of pages.get(section)!.values()) page[at % page.length]! ^= 1 << (bit % 8)
        })
        const all = { addresses: Array.from({ length: 20 }, (_, i) => valueOf(i, 20)), topics: [] }
        expect(() => Array.from(readBlocks(index.find(all, 0, 200)))).toThrow(
          expect.objectContaining({ name: 'CorruptSection', section, message: expect.stringContaining(`section ${section} `) }),
        )
      }),
      { seed: 4, numRuns: 50 },
    )
  })

  it('is detected when a bit of its header has flipped, or a header is missing', () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(7), (at, bit) => {
        const flip = ({ heads }: Saved): void => {
          for (const head of heads.values()) head[at % head.length]! ^= 1 << bit
        }
        expect(() => damaged(flip)).toThrow(CorruptSection)
      }),
      { seed: 4, numRuns: 50 },
    )
    expect(() => damaged(({ heads }) => heads.delete([...heads.keys()].at(-2)!))).toThrow(CorruptSection)
    const cut = ({ heads }: Saved): void => {
      for (const [id, head] of heads) heads.set(id, head.slice(0, 40))
    }
    expect(() => damaged(cut)).toThrow(CorruptSection)
  })

  it('is detected when pages are swapped or truncated', () => {
    const swap = ({ pages }: Saved): void => {
      for (const list of pages.values()) list.set(0, list.get(1)!)
    }
    const cut = ({ pages }: Saved): void => {
      for (const list of pages.values()) for (const [i, page] of list) list.set(i, page.slice(0, -1))
    }
    const all = { addresses: Array.from({ length: 20 }, (_, i) => valueOf(i, 20)), topics: [] }
    for (const damage of [swap, cut]) {
      const index = damaged(damage)
      expect(() => Array.from(readBlocks(index.find(all, 0, 200)))).toThrow(CorruptSection)
    }
  })

  it('does not keep blocks from being appended', () => {
    let lost = Infinity
    const index = damaged(({ pages, heads }) => {
      for (const [id, head] of heads) {
        const { level, firstBlock } = decodeHeader(head, id)
        if (level > 0) continue
        for (const page of pages.get(id)!.values()) page[20]! ^= 1
        lost = Math.min(lost, firstBlock)
      }
    })
    for (let number = index.next; number < 1_500; number++) index.append(recordOf({ number, ...filler(number) }))
    const rare = { addresses: null, topics: [null, [valueOf(1_400)]] }
    expect([...readBlocks(index.find(rare, 700, 1_499))]).toEqual([1_400])
    expect(() => [...readBlocks(index.find(rare, lost, lost))]).toThrow(CorruptSection)
  })
})

/** A block with a common topic or two. */
function filler(n: number): Omit<PlainBlock, 'number'> {
  const topics = [valueOf(n % 3 === 0 ? 1 : 2), valueOf(n)]
  return { hash: valueOf(1_000 + n), transactions: [valueOf(2_000 + n)], logs: [{ address: valueOf(n % 20, 20), topics }] }
}

function* readBlocks(found: ReturnType<ItemIndex['find']>): Generator<number> {
  if (found === 'scan') throw new Error('a scan was not expected')
  for (const { block } of found) yield block
}

function count(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i)
}
