import { expect, test } from 'vitest'
import { recordOf, valueOf } from './chain.fixture.ts'
import type { PlainBlock, PlainTransaction } from './chain.fixture.ts'
import { INDEX_LIMITS, ItemIndex } from './index.ts'
import type { IndexLimits, PageSource, Role, StoredSectionHeader, TransactionPosition } from './index.ts'

/** Sizes at which a few hundred items make sections of several levels, long lists and many windows. */
const SMALL: IndexLimits = {
  ...INDEX_LIMITS,
  ...{ tailItems: 12, fanOut: 3, sectionItems: 400, sectionBlocks: 60, sectionIds: 12, pageBytes: 96, inlineBytes: 12, cachedPages: 4 },
  ...{ stepUnits: 5, windowPositions: 2 },
}

const ROLES: readonly (readonly Role[])[] = [['sender'], ['receiver'], ['sender', 'receiver']]
/** The first address occurs in nearly every transaction, the last in none. */
const ADDRESSES = Array.from({ length: 8 }, (_, i) => valueOf(i, 20))
const NONE = valueOf(99, 20)

/** A chain in arrays, its index, and the saved part of the index. */
class World implements PageSource {
  blocks: PlainBlock[] = []
  index = new ItemIndex(this, [], { limits: SMALL })
  /** pages that the index has requested */
  reads = 0
  readonly #pages = new Map<string, Uint8Array>()
  readonly #heads = new Map<number, StoredSectionHeader>()

  page(section: number, page: number): Uint8Array {
    this.reads++
    return this.#pages.get(`${section} ${page}`) ?? expect.unreachable(`page ${page} of section ${section}`)
  }

  append(transactions: readonly PlainTransaction[]): void {
    const number = this.blocks.length
    const hashes = transactions.map((_, i) => valueOf(1_000_000 + 1_000 * number + i))
    const log = { address: ADDRESSES[0] ?? NONE, topics: [] }
    this.blocks.push({ number, hash: valueOf(2_000_000 + number), transactions: hashes, parties: transactions, logs: [log] })
    this.index.append(recordOf(this.blocks[number]!))
  }

  truncate(toBlock: number): void {
    this.blocks = this.blocks.slice(0, toBlock + 1)
    this.index.truncate(toBlock)
  }

  reopen(): void {
    const { pages, heads, remove } = this.index.changes()
    for (const id of remove) this.#heads.delete(id)
    for (const { section, page, bytes } of pages) this.#pages.set(`${section} ${page}`, bytes.slice())
    for (const head of heads) this.#heads.set(head.id, head)
    this.index.saved()
    this.index = new ItemIndex(this, this.#heads.values(), { limits: SMALL })
    for (const block of this.blocks.slice(this.index.next)) this.index.append(recordOf(block))
  }

  /** The expected results of the index, oldest first. */
  positions(address: Uint8Array, roles: readonly Role[]): readonly TransactionPosition[] {
    return this.blocks.flatMap(({ number, parties }) =>
      (parties ?? []).flatMap((parts, index) => (roles.some((role) => parts[role] === address) ? [{ block: number, index }] : [])),
    )
  }

  check(): void {
    for (const address of [...ADDRESSES, NONE]) {
      for (const roles of ROLES) {
        const all = this.positions(address, roles)
        for (const block of [0, 1, this.blocks.length >> 1, this.blocks.length - 1, this.blocks.length, Infinity]) {
          const [before, from] = [all.filter((position) => position.block < block), all.filter((position) => position.block >= block)]
          expect([...this.index.transactionsBefore(address, roles, block)]).toEqual(before.toReversed())
          expect([...this.index.transactionsFrom(address, roles, block)]).toEqual(from)
        }
      }
    }
  }
}

test('transactions of an address are found once each, from either end, after truncations, merges and reopening', () => {
  const world = new World()
  const random = numbers()
  const any = () => ADDRESSES[Math.floor(ADDRESSES.length * random() ** 3)] ?? NONE
  for (let step = 0; step < 400; step++) {
    const count = Math.floor(random() * 6)
    world.append(Array.from({ length: count }, () => ({ sender: any(), receiver: random() < 0.1 ? null : any() })))
    if (random() < 0.03) world.truncate(Math.floor(world.blocks.length * (1 - random() ** 4)))
    if (random() < 0.05) world.reopen()
    if (step % 50 === 49) world.check()
  }
  expect(world.blocks.length).toBeGreaterThan(40)
})

test('reading a few transactions reads a few pages', () => {
  const world = new World()
  const [often = NONE, other = NONE] = ADDRESSES
  for (let i = 0; i < 300; i++) world.append([{ sender: often, receiver: other }])
  world.reopen()
  const pagesFor = (work: () => unknown) => {
    const before = world.reads
    work()
    return world.reads - before
  }
  const few = pagesFor(() => {
    expect(world.index.transactionsFrom(often, ['sender'], 150).next().value).toEqual({ block: 150, index: 0 })
    expect(world.index.transactionsBefore(often, ['sender'], 150).next().value).toEqual({ block: 149, index: 0 })
  })
  const all = pagesFor(() => [...world.index.transactionsFrom(often, ['sender'], 0)])
  expect([few > 0, few < all / 3]).toEqual([true, true])
})

/** The same numbers in every run, from 0 to below 1 (mulberry32). */
function numbers(): () => number {
  let state = 11
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}
