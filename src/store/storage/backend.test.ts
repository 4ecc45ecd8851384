import { afterEach, describe, expect, it } from 'vitest'
import { RECORD_PART_BYTES } from '../limits.ts'
import { MemoryStorage, openLmdb, StorageError } from './index.ts'
import type { StorageBackend } from './index.ts'
import { META, account, address, bytes, hash, scratch, sectionChange, writes } from './backend.fixture.ts'

const NO_BYTES = writes()

interface Backend {
  readonly open: () => Promise<StorageBackend>
  /** as after a restart; memory has none */
  readonly reopen: (storage: StorageBackend) => Promise<StorageBackend>
}

const cleanups: (() => unknown)[] = []

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const memory: Backend = { open: async () => new MemoryStorage(), reopen: async (storage) => storage }

function lmdb(): Backend {
  let path = ''
  const open = async () => {
    const storage = await openLmdb(path)
    cleanups.push(() => storage.close())
    return storage
  }
  return {
    open: async () => {
      const directory = scratch()
      cleanups.push(directory.remove)
      path = directory.path
      return open()
    },
    reopen: async (storage) => {
      await storage.close()
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
])('a storage on %s', (_, backend) => {
  it('is empty at first', async () => {
    const storage = await backend().open()
    expect(storage.meta).toBeNull()
    expect(storage.height).toBe(-1)
    expect(storage.stateRoot).toBeNull()
    expect(storage.openBlockRecord).toBeNull()
    expect(storage.block(0)).toBeNull()
    expect(storage.sections()).toEqual([])
  })

  it('stores blocks and chain metadata', async () => {
    const { open, reopen } = backend()
    let storage = await open()
    storage.commit({ meta: META, blocks: [block(0), block(1)], stateRoot: hash(7) })
    storage.commit({ blocks: [block(2)], stateRoot: hash(8) })
    storage = await reopen(storage)
    expect(storage.meta).toEqual(META)
    expect(storage.height).toBe(2)
    expect(storage.stateRoot).toBe(hash(8))
    for (const number of [0, 1, 2]) expect(storage.block(number)).toEqual(bytes(number, 100))
    expect(storage.block(3)).toBeNull()
  })

  it('stores a record of any size', async () => {
    const { open, reopen } = backend()
    let storage = await open()
    const sizes = [1, 4095, 300_000, RECORD_PART_BYTES - 1, RECORD_PART_BYTES, RECORD_PART_BYTES + 1, 5 * RECORD_PART_BYTES + 77]
    storage.commit({ blocks: sizes.map((size, number) => block(number, size)) })
    storage = await reopen(storage)
    for (const [number, size] of sizes.entries()) expect(Buffer.compare(storage.block(number)!, bytes(number, size))).toBe(0)
  })

  it('returns bytes that later commits do not change', async () => {
    const storage = await backend().open()
    storage.commit({
      blocks: [block(0, 40_000), block(1, 40_000)],
      sections: sectionChange([{ id: 1, head: bytes(9, 9), pages: [bytes(5, 65_520)] }], []),
    })
    const first = storage.block(0)!
    const page = storage.page(1, 0)
    storage.block(1)
    storage.commit({ truncateTo: -1, blocks: [block(0, 41_000)], sections: sectionChange([], [1]) })
    storage.block(0)
    expect(Buffer.compare(first, bytes(0, 40_000))).toBe(0)
    expect(Buffer.compare(page, bytes(5, 65_520))).toBe(0)
    expect(first.constructor).toBe(Uint8Array)
  })

  it('truncates and continues', async () => {
    const { open, reopen } = backend()
    let storage = await open()
    storage.commit({ blocks: [0, 1, 2, 3, 4].map((number) => block(number)) })
    storage.commit({ truncateTo: 1, blocks: [block(2, 50)] })
    storage = await reopen(storage)
    expect(storage.height).toBe(2)
    expect(storage.block(1)).toEqual(bytes(1, 100))
    expect(storage.block(2)).toEqual(bytes(2, 50))
    expect(storage.block(3)).toBeNull()
    storage.commit({ truncateTo: -1 })
    storage = await reopen(storage)
    expect(storage.height).toBe(-1)
    expect(storage.block(0)).toBeNull()
  })

  it('applies no part of an invalid change', async () => {
    const storage = await backend().open()
    storage.commit({ meta: META, blocks: [block(0)], openBlockRecord: bytes(1, 9) })
    const bad = [
      { blocks: [block(2)] },
      { blocks: [block(1), block(3)], openBlockRecord: null },
      { truncateTo: 1 },
      { truncateTo: -2 },
      { truncateTo: 0, blocks: [block(0)] },
    ]
    for (const change of bad) expect(() => storage.commit({ ...change, stateRoot: hash(9) })).toThrow(RangeError)
    expect(storage.height).toBe(0)
    expect(storage.stateRoot).toBeNull()
    expect(storage.openBlockRecord).toEqual(bytes(1, 9))
    storage.commit({ blocks: [block(1)] })
    expect(storage.height).toBe(1)
  })

  it('stores sections of the index, in parts and whole', async () => {
    const { open, reopen } = backend()
    let storage = await open()
    const pages = [bytes(1, 65_520), bytes(2, 65_536), bytes(3, 10)]
    storage.commit({ sections: sectionChange([{ id: 3, head: bytes(3, 30), pages }], []) })
    storage.commit({ sections: sectionChange([{ id: 0, head: bytes(1, 30), pages: pages.slice(0, 2) }], []) })
    storage.commit({ sections: sectionChange([{ id: 0, head: bytes(2, 31), firstPage: 2, pages: pages.slice(2) }], []) })
    storage = await reopen(storage)
    expect(storage.sections()).toEqual([
      { id: 0, head: bytes(2, 31) },
      { id: 3, head: bytes(3, 30) },
    ])
    for (const id of [0, 3]) for (const [page, content] of pages.entries()) expect(Buffer.compare(storage.page(id, page), content)).toBe(0)
    storage.commit({ sections: sectionChange([{ id: 4, head: bytes(4, 4), pages: [bytes(4, 44)] }], [0, 3]) })
    storage = await reopen(storage)
    expect(storage.sections()).toEqual([{ id: 4, head: bytes(4, 4) }])
    expect(storage.page(4, 0)).toEqual(bytes(4, 44))
    expect(() => storage.page(4, 1)).toThrow(StorageError)
    expect(() => storage.page(0, 0)).toThrow(StorageError)
  })

  it('reuses the id of a removed section', async () => {
    const storage = await backend().open()
    storage.commit({ sections: sectionChange([{ id: 7, head: bytes(1, 1), pages: [1, 2, 3].map((seed) => bytes(seed, 9)) }], []) })
    storage.commit({ sections: sectionChange([], [7]) })
    storage.commit({ sections: sectionChange([{ id: 7, head: bytes(2, 2), pages: [bytes(8, 8)] }], []) })
    expect(storage.page(7, 0)).toEqual(bytes(8, 8))
    expect(() => storage.page(7, 1)).toThrow(/page 1 of section 7/)
  })

  it('stores the record of the open block until the next commit replaces it', async () => {
    const { open, reopen } = backend()
    let storage = await open()
    storage.commit({ blocks: [block(0)], openBlockRecord: bytes(1, 10) })
    expect((storage = await reopen(storage)).openBlockRecord).toEqual(bytes(1, 10))
    storage.writeOpenBlockRecord(bytes(2, 200))
    storage.writeOpenBlockRecord(bytes(3, 3))
    expect((storage = await reopen(storage)).openBlockRecord).toEqual(bytes(3, 3))
    // edits of a test leave the open block alone
    storage.commit({ edits: NO_BYTES })
    expect((storage = await reopen(storage)).openBlockRecord).toEqual(bytes(3, 3))
    storage.writeOpenBlockRecord(bytes(4, 4))
    storage.commit({ blocks: [block(1)], openBlockRecord: null })
    expect((storage = await reopen(storage)).openBlockRecord).toBeNull()
    storage.writeOpenBlockRecord(bytes(5, 5))
    storage.writeOpenBlockRecord(null)
    expect((storage = await reopen(storage)).openBlockRecord).toBeNull()
    storage.commit({ openBlockRecord: new Uint8Array() })
    expect((storage = await reopen(storage)).openBlockRecord).toEqual(new Uint8Array())
  })

  it('stores records under text keys, in order', async () => {
    const { open, reopen } = backend()
    let storage = await open()
    const { records } = storage
    expect(records.get('wallet/1')).toBeNull()
    for (const key of ['wallet/2', 'wallet/10', 'wallet/1', 'walle', 'zebra', 'wallet/ü', 'a']) records.put(key, Buffer.from(key))
    records.put('wallet/2', null)
    records.put('nothing there', null)
    storage = await reopen(storage)
    const keys = (prefix: string) => [...storage.records.entries(prefix)].map(([key]) => key)
    expect(keys('wallet/')).toEqual(['wallet/1', 'wallet/10', 'wallet/ü'])
    expect(keys('')).toEqual(['a', 'walle', 'wallet/1', 'wallet/10', 'wallet/ü', 'zebra'])
    expect(keys('x')).toEqual([])
    expect(Buffer.from(storage.records.get('wallet/ü')!).toString()).toBe('wallet/ü')
  })

  it('applies a transaction of records whole or not at all', async () => {
    const { open, reopen } = backend()
    let storage = await open()
    storage.records.put('a', bytes(1, 1))
    const spent = storage.records.transaction(() => {
      storage.records.put('b', bytes(2, 2))
      storage.records.transaction(() => storage.records.put('c', bytes(3, 3)))
      return storage.records.get('b')
    })
    expect(spent).toEqual(bytes(2, 2))
    const failing = () =>
      storage.records.transaction(() => {
        storage.records.put('a', null)
        storage.records.put('b', bytes(9, 9))
        storage.records.put('d', bytes(4, 4))
        throw new Error('not enough')
      })
    expect(failing).toThrow('not enough')
    storage = await reopen(storage)
    expect([...storage.records.entries('')].map(([key, value]) => [key, value.length])).toEqual([
      ['a', 1],
      ['b', 2],
      ['c', 3],
    ])
  })

  it('reports its size', async () => {
    const storage = await backend().open()
    const before = storage.sizeBytes()
    storage.commit({ blocks: [block(0, 1_000_000)] })
    expect(storage.sizeBytes() - before).toBeGreaterThanOrEqual(1_000_000)
    expect(storage.sizeBytes() - before).toBeLessThan(1_200_000)
  })
})
