import { afterEach, describe, expect, it } from 'vitest'
import { RECORD_PART_BYTES } from '../limits.ts'
import { MemoryShelf, openLmdb, ShelfError } from './index.ts'
import type { Shelf } from './index.ts'
import { META, account, address, bytes, hash, scratch, sectionChange, writes } from './shelf.fixture.ts'

const NOTHING = writes()

interface Backend {
  readonly open: () => Promise<Shelf>
  /** as after a restart; memory has none */
  readonly reopen: (shelf: Shelf) => Promise<Shelf>
}

const cleanups: (() => unknown)[] = []

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const memory: Backend = { open: async () => new MemoryShelf(), reopen: async (shelf) => shelf }

function lmdb(): Backend {
  let path = ''
  const open = async () => {
    const shelf = await openLmdb(path)
    cleanups.push(() => shelf.close())
    return shelf
  }
  return {
    open: async () => {
      const directory = scratch()
      cleanups.push(directory.remove)
      path = directory.path
      return open()
    },
    reopen: async (shelf) => {
      await shelf.close()
      cleanups.pop()
      return open()
    },
  }
}

function block(number: number, size = 100) {
  return { number, record: bytes(number, size), writes: writes([[address(number), account(BigInt(number))]]) }
}

describe.each([
  ['memory', () => memory],
  ['LMDB', lmdb],
])('a shelf on %s', (_, backend) => {
  it('is empty at first', async () => {
    const shelf = await backend().open()
    expect(shelf.meta).toBeNull()
    expect(shelf.height).toBe(-1)
    expect(shelf.stateRoot).toBeNull()
    expect(shelf.promises).toBeNull()
    expect(shelf.block(0)).toBeNull()
    expect(shelf.sections()).toEqual([])
  })

  it('keeps blocks and whose chain it is', async () => {
    const { open, reopen } = backend()
    let shelf = await open()
    shelf.commit({ meta: META, blocks: [block(0), block(1)], stateRoot: hash(7) })
    shelf.commit({ blocks: [block(2)], stateRoot: hash(8) })
    shelf = await reopen(shelf)
    expect(shelf.meta).toEqual(META)
    expect(shelf.height).toBe(2)
    expect(shelf.stateRoot).toBe(hash(8))
    for (const number of [0, 1, 2]) expect(shelf.block(number)).toEqual(bytes(number, 100))
    expect(shelf.block(3)).toBeNull()
  })

  it('keeps a record of any size', async () => {
    const { open, reopen } = backend()
    let shelf = await open()
    const sizes = [1, 4095, 300_000, RECORD_PART_BYTES - 1, RECORD_PART_BYTES, RECORD_PART_BYTES + 1, 5 * RECORD_PART_BYTES + 77]
    shelf.commit({ blocks: sizes.map((size, number) => block(number, size)) })
    shelf = await reopen(shelf)
    for (const [number, size] of sizes.entries()) expect(Buffer.compare(shelf.block(number)!, bytes(number, size))).toBe(0)
  })

  it('answers bytes that stay as they are', async () => {
    const shelf = await backend().open()
    shelf.commit({
      blocks: [block(0, 40_000), block(1, 40_000)],
      sections: sectionChange([{ id: 1, head: bytes(9, 9), pages: [bytes(5, 65_520)] }], []),
    })
    const first = shelf.block(0)!
    const page = shelf.page(1, 0)
    shelf.block(1)
    shelf.commit({ truncateTo: -1, blocks: [block(0, 41_000)], sections: sectionChange([], [1]) })
    shelf.block(0)
    expect(Buffer.compare(first, bytes(0, 40_000))).toBe(0)
    expect(Buffer.compare(page, bytes(5, 65_520))).toBe(0)
    expect(first.constructor).toBe(Uint8Array)
  })

  it('goes back, and on from there', async () => {
    const { open, reopen } = backend()
    let shelf = await open()
    shelf.commit({ blocks: [0, 1, 2, 3, 4].map((number) => block(number)) })
    shelf.commit({ truncateTo: 1, blocks: [block(2, 50)] })
    shelf = await reopen(shelf)
    expect(shelf.height).toBe(2)
    expect(shelf.block(1)).toEqual(bytes(1, 100))
    expect(shelf.block(2)).toEqual(bytes(2, 50))
    expect(shelf.block(3)).toBeNull()
    shelf.commit({ truncateTo: -1 })
    shelf = await reopen(shelf)
    expect(shelf.height).toBe(-1)
    expect(shelf.block(0)).toBeNull()
  })

  it('takes a change that cannot be taken not at all', async () => {
    const shelf = await backend().open()
    shelf.commit({ meta: META, blocks: [block(0)], promises: bytes(1, 9) })
    const bad = [
      { blocks: [block(2)] },
      { blocks: [block(1), block(3)], promises: null },
      { truncateTo: 1 },
      { truncateTo: -2 },
      { truncateTo: 0, blocks: [block(0)] },
    ]
    for (const change of bad) expect(() => shelf.commit({ ...change, stateRoot: hash(9) })).toThrow(RangeError)
    expect(shelf.height).toBe(0)
    expect(shelf.stateRoot).toBeNull()
    expect(shelf.promises).toEqual(bytes(1, 9))
    shelf.commit({ blocks: [block(1)] })
    expect(shelf.height).toBe(1)
  })

  it('keeps sections of the log index, in parts and whole', async () => {
    const { open, reopen } = backend()
    let shelf = await open()
    const pages = [bytes(1, 65_520), bytes(2, 65_536), bytes(3, 10)]
    shelf.commit({ sections: sectionChange([{ id: 3, head: bytes(3, 30), pages }], []) })
    shelf.commit({ sections: sectionChange([{ id: 0, head: bytes(1, 30), pages: pages.slice(0, 2) }], []) })
    shelf.commit({ sections: sectionChange([{ id: 0, head: bytes(2, 31), firstPage: 2, pages: pages.slice(2) }], []) })
    shelf = await reopen(shelf)
    expect(shelf.sections()).toEqual([
      { id: 0, head: bytes(2, 31) },
      { id: 3, head: bytes(3, 30) },
    ])
    for (const id of [0, 3]) for (const [page, content] of pages.entries()) expect(Buffer.compare(shelf.page(id, page), content)).toBe(0)
    shelf.commit({ sections: sectionChange([{ id: 4, head: bytes(4, 4), pages: [bytes(4, 44)] }], [0, 3]) })
    shelf = await reopen(shelf)
    expect(shelf.sections()).toEqual([{ id: 4, head: bytes(4, 4) }])
    expect(shelf.page(4, 0)).toEqual(bytes(4, 44))
    expect(() => shelf.page(4, 1)).toThrow(ShelfError)
    expect(() => shelf.page(0, 0)).toThrow(ShelfError)
  })

  it('gives a removed section its number again', async () => {
    const shelf = await backend().open()
    shelf.commit({ sections: sectionChange([{ id: 7, head: bytes(1, 1), pages: [1, 2, 3].map((seed) => bytes(seed, 9)) }], []) })
    shelf.commit({ sections: sectionChange([], [7]) })
    shelf.commit({ sections: sectionChange([{ id: 7, head: bytes(2, 2), pages: [bytes(8, 8)] }], []) })
    expect(shelf.page(7, 0)).toEqual(bytes(8, 8))
    expect(() => shelf.page(7, 1)).toThrow(/page 1 of section 7/)
  })

  it('keeps the journal of the open block until the next commit brings one', async () => {
    const { open, reopen } = backend()
    let shelf = await open()
    shelf.commit({ blocks: [block(0)], promises: bytes(1, 10) })
    expect((shelf = await reopen(shelf)).promises).toEqual(bytes(1, 10))
    shelf.journal(bytes(2, 200))
    shelf.journal(bytes(3, 3))
    expect((shelf = await reopen(shelf)).promises).toEqual(bytes(3, 3))
    // edits of a test leave the open block alone
    shelf.commit({ edits: NOTHING })
    expect((shelf = await reopen(shelf)).promises).toEqual(bytes(3, 3))
    shelf.journal(bytes(4, 4))
    shelf.commit({ blocks: [block(1)], promises: null })
    expect((shelf = await reopen(shelf)).promises).toBeNull()
    shelf.journal(bytes(5, 5))
    shelf.journal(null)
    expect((shelf = await reopen(shelf)).promises).toBeNull()
    shelf.commit({ promises: new Uint8Array() })
    expect((shelf = await reopen(shelf)).promises).toEqual(new Uint8Array())
  })

  it('keeps records under text keys, in order', async () => {
    const { open, reopen } = backend()
    let shelf = await open()
    const { records } = shelf
    expect(records.get('wallet/1')).toBeNull()
    for (const key of ['wallet/2', 'wallet/10', 'wallet/1', 'walle', 'zebra', 'wallet/ü', 'a']) records.put(key, Buffer.from(key))
    records.put('wallet/2', null)
    records.put('nothing there', null)
    shelf = await reopen(shelf)
    const keys = (prefix: string) => [...shelf.records.entries(prefix)].map(([key]) => key)
    expect(keys('wallet/')).toEqual(['wallet/1', 'wallet/10', 'wallet/ü'])
    expect(keys('')).toEqual(['a', 'walle', 'wallet/1', 'wallet/10', 'wallet/ü', 'zebra'])
    expect(keys('x')).toEqual([])
    expect(Buffer.from(shelf.records.get('wallet/ü')!).toString()).toBe('wallet/ü')
  })

  it('takes a transaction of records whole or not at all', async () => {
    const { open, reopen } = backend()
    let shelf = await open()
    shelf.records.put('a', bytes(1, 1))
    const spent = shelf.records.transaction(() => {
      shelf.records.put('b', bytes(2, 2))
      shelf.records.transaction(() => shelf.records.put('c', bytes(3, 3)))
      return shelf.records.get('b')
    })
    expect(spent).toEqual(bytes(2, 2))
    const failing = () =>
      shelf.records.transaction(() => {
        shelf.records.put('a', null)
        shelf.records.put('b', bytes(9, 9))
        shelf.records.put('d', bytes(4, 4))
        throw new Error('not enough')
      })
    expect(failing).toThrow('not enough')
    shelf = await reopen(shelf)
    expect([...shelf.records.entries('')].map(([key, value]) => [key, value.length])).toEqual([
      ['a', 1],
      ['b', 2],
      ['c', 3],
    ])
  })

  it('says how much it takes', async () => {
    const shelf = await backend().open()
    const before = shelf.sizeBytes()
    shelf.commit({ blocks: [block(0, 1_000_000)] })
    expect(shelf.sizeBytes() - before).toBeGreaterThanOrEqual(1_000_000)
    expect(shelf.sizeBytes() - before).toBeLessThan(1_200_000)
  })
})
