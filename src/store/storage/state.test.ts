import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { PrunedState, RewoundState, StateHistory } from '../../chain/index.ts'
import type { Address, Hash } from '../../eth/index.ts'
import type { Account, StateReader, WriteSet } from '../../evm/index.ts'
import { PRUNED_BLOCKS_PER_COMMIT } from '../limits.ts'
import { openLmdb } from './index.ts'
import type { StorageBackend } from './index.ts'
import { account, address, bytes, codeOf, hash, scratch, writes } from './backend.fixture.ts'

let directory: ReturnType<typeof scratch>
let storage: StorageBackend

beforeEach(async () => {
  directory = scratch()
  storage = await openLmdb(directory.path)
})

afterEach(async () => {
  await storage.close()
  directory.remove()
})

const state = () => storage.state!

function seal(change: WriteSet): void {
  const number = storage.height + 1
  storage.commit({ blocks: [{ number, record: bytes(number, 20), writes: change }] })
}

async function reopen(): Promise<void> {
  await storage.close()
  storage = await openLmdb(directory.path)
}

const [ALICE, BOB] = [address(1), address(2)]
const FULL = 2n ** 256n - 1n

describe('the stored state', () => {
  it('returns every account and slot as it was written', async () => {
    const { code, codeHash } = codeOf('some code')
    const accounts = [
      account(0n),
      account(1n),
      account(255n, 256n),
      account(2n ** 48n - 1n, 2n ** 48n),
      account(2n ** 48n, 2n ** 64n - 1n, codeHash),
      account(FULL, 1n, codeHash),
    ]
    const slots = [1n, 255n, 256n, 2n ** 48n - 1n, 2n ** 48n, 2n ** 255n, FULL]
    const held = accounts.map((one, i) => [address(i), one] as const)
    const stored = slots.map((value, i) => [hash(i), value] as const)
    seal(writes(held, [[address(0), stored]], [[codeHash, code]]))
    await reopen()
    const reader = state().at(0)
    for (const [owner, one] of held) expect(reader.account(owner)).toEqual(one)
    for (const [slot, value] of stored) expect(reader.storage(address(0), slot)).toBe(value)
    expect([...reader.slots(address(0))]).toEqual(stored.map(([slot]) => slot))
    expect([...reader.slots(address(1))]).toEqual([])
    expect(Buffer.from(reader.code(codeHash)).toString()).toBe('some code')
    expect(reader.account(address(99))).toBeNull()
    expect(reader.storage(address(0), hash(99))).toBe(0n)
    expect(() => reader.code(hash(5))).toThrow('is missing')
  })

  it('deletes the storage of a deleted account', () => {
    seal(
      writes(
        [
          [ALICE, account(5n)],
          [BOB, account(6n)],
        ],
        [
          [
            ALICE,
            [
              [hash(1), 1n],
              [hash(2), 2n],
            ],
          ],
          [BOB, [[hash(1), 3n]]],
        ],
      ),
    )
    seal(writes([[ALICE, null]]))
    seal(writes([[ALICE, account(7n)]], [[ALICE, [[hash(2), 9n]]]]))
    expect([...state().at(0).slots(ALICE)]).toEqual([hash(1), hash(2)])
    expect(state().at(1).account(ALICE)).toBeNull()
    expect([...state().at(1).slots(ALICE)]).toEqual([])
    expect(state().at(1).storage(BOB, hash(1))).toBe(3n)
    expect([...state().at(2).slots(ALICE)]).toEqual([hash(2)])
    expect(state().at(2).storage(ALICE, hash(1))).toBe(0n)
  })

  it('applies edits to the newest block', async () => {
    seal(writes([[ALICE, account(1n)]]))
    seal(writes([[BOB, account(1n)]]))
    storage.commit({ edits: writes([[ALICE, account(2n)]]) })
    storage.commit({
      edits: writes([
        [ALICE, account(3n)],
        [BOB, null],
      ]),
    })
    await reopen()
    expect(state().at(0).account(ALICE)).toEqual(account(1n))
    expect(state().at(1).account(ALICE)).toEqual(account(3n))
    expect(state().at(1).account(BOB)).toBeNull()
    storage.commit({ truncateTo: 0 })
    expect(state().at(0).account(ALICE)).toEqual(account(1n))
    expect(state().at(0).account(BOB)).toBeNull()
  })

  it('invalidates readers of removed and pruned blocks', () => {
    for (let i = 0; i < 6; i++) seal(writes([[ALICE, account(BigInt(i))]]))
    const [second, fourth, fifth] = [state().at(2), state().at(4), state().at(5)]
    expect(() => state().at(6)).toThrow(RangeError)
    storage.commit({ truncateTo: 4 })
    expect(() => fifth.account(ALICE)).toThrow(RewoundState)
    expect(fourth.account(ALICE)).toEqual(account(4n))
    seal(writes([[ALICE, account(50n)]]))
    expect(() => fifth.account(ALICE)).toThrow(RewoundState)
    expect(state().at(5).account(ALICE)).toEqual(account(50n))
    storage.commit({ floor: 3 })
    expect(state().floor).toBe(3)
    expect(() => second.storage(ALICE, hash(1))).toThrow(PrunedState)
    expect(() => [...second.slots(ALICE)]).toThrow(PrunedState)
    expect(() => state().at(2)).toThrow(PrunedState)
    expect(() => state().writesBack(2)).toThrow(PrunedState)
    expect(() => storage.commit({ truncateTo: 2 })).toThrow(PrunedState)
    expect(storage.height).toBe(5)
    expect(state().at(3).account(ALICE)).toEqual(account(3n))
  })

  it('returns the same reader for an old block', () => {
    for (let i = 0; i < 3; i++) seal(writes([[ALICE, account(BigInt(i))]]))
    expect(state().at(0)).toBe(state().at(0))
    expect(state().at(0).identity).toBeDefined()
    expect(state().at(0).identity).not.toBe(state().at(1).identity)
    expect(state().at(2).identity).toBeUndefined()
  })

  it('prunes in steps of bounded size', async () => {
    const blocks = PRUNED_BLOCKS_PER_COMMIT * 2 + 10
    for (let i = 0; i < blocks; i++) seal(writes([[ALICE, account(BigInt(i))]]))
    storage.commit({ floor: blocks - 1 })
    expect(state().floor).toBe(PRUNED_BLOCKS_PER_COMMIT)
    expect(state().at(PRUNED_BLOCKS_PER_COMMIT).account(ALICE)).toEqual(account(BigInt(PRUNED_BLOCKS_PER_COMMIT)))
    await reopen()
    // one request continues with every commit
    seal(writes())
    seal(writes())
    expect(state().floor).toBe(blocks - 1)
    storage.commit({ floor: 2 })
    expect(state().floor).toBe(blocks - 1)
  })

  it('keeps nothing that was created and deleted below the floor', () => {
    seal(writes([[ALICE, account(1n)]]))
    const sizes: number[] = []
    for (let round = 0; round < 16; round++) {
      const slots = Array.from({ length: 1_000 }, (_, i) => hash(round * 1_000 + i))
      const all = (value: bigint) => writes([], [[ALICE, slots.map((slot) => [slot, value] as const)]])
      seal(all(5n))
      seal(all(6n))
      // gone in the block that had changed them
      storage.commit({ edits: all(0n) })
      storage.commit({ floor: storage.height })
      seal(writes())
      sizes.push(storage.sizeBytes())
    }
    expect([...state().at(storage.height).slots(ALICE)]).toEqual([])
    expect(sizes.at(-1)! / sizes[5]!).toBeLessThan(1.3)
  })

  it('yields the whole state in pieces that a new history accepts', () => {
    const { code, codeHash } = codeOf('shared code')
    const many = Array.from(
      { length: 9_000 },
      (_, i) => [address(i), account(BigInt(i) + 1n, 0n, i % 3 === 0 ? codeHash : undefined)] as const,
    )
    const slots = Array.from({ length: 300 }, (_, i) => [hash(i), BigInt(i)] as const)
    seal(writes(many, [[address(5), slots]], [[codeHash, code]]))
    seal(writes([[address(7), null]]))
    const history = new StateHistory()
    let pieces = 0
    for (const piece of state().whole()) {
      history.apply(piece)
      pieces++
    }
    expect(pieces).toBeGreaterThan(2)
    const reader = history.at(history.version)
    for (const [owner, one] of many) expect(reader.account(owner)).toEqual(owner === address(7) ? null : one)
    expect([...reader.slots(address(5))]).toHaveLength(299)
  })
})

/** Operations on the state of a chain, over few keys so that they collide. */
type Step =
  | { readonly kind: 'seal'; readonly writes: WriteSet }
  | { readonly kind: 'edit'; readonly writes: WriteSet }
  | { readonly kind: 'truncate'; readonly back: number }
  | { readonly kind: 'prune'; readonly back: number }
  | { readonly kind: 'reopen' }

const CODES = ['one', 'two'].map(codeOf)
const anAddress = fc.integer({ min: 1, max: 4 }).map(address)
const aSlot = fc.integer({ min: 0, max: 3 }).map(hash)
const aValue = fc.oneof(fc.constant(0n), fc.bigInt({ min: 0n, max: 3n }), fc.bigInt({ min: 0n, max: FULL }))
const anAccount = fc.oneof(
  fc.constant(null),
  fc.record({
    nonce: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    balance: aValue,
    codeHash: fc.constantFrom(account(0n).codeHash, ...CODES.map(({ codeHash }) => codeHash)),
  }),
)
const someWrites = fc
  .record({
    accounts: fc.array(fc.tuple(anAddress, anAccount), { maxLength: 4 }),
    storage: fc.array(fc.tuple(anAddress, aSlot, aValue), { maxLength: 6 }),
  })
  .map(({ accounts, storage }): WriteSet => {
    const slots = new Map<Address, Map<Hash, bigint>>()
    for (const [owner, slot, value] of storage) slots.set(owner, (slots.get(owner) ?? new Map<Hash, bigint>()).set(slot, value))
    return { accounts: new Map(accounts), storage: slots, codes: new Map(CODES.map(({ codeHash, code }) => [codeHash, code])) }
  })
const aStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constantFrom('seal' as const, 'edit' as const), writes: someWrites }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom('truncate' as const, 'prune' as const), back: fc.integer({ min: 0, max: 5 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reopen' as const) }) },
)

/** The history in memory, which has a version for every edit too. */
class Model {
  #history = new StateHistory()
  /** the version after each block, with its edits */
  readonly versions: number[] = []
  floor = 0

  get height(): number {
    return this.versions.length - 1
  }

  /** Omits storage without an account. */
  fitting({ accounts, storage, codes }: WriteSet): WriteSet {
    const reader = this.#history.at(this.#history.version)
    const has = (owner: Address) => (accounts.has(owner) ? accounts.get(owner) !== null : reader.account(owner) !== null)
    return { accounts, storage: new Map([...storage].filter(([owner]) => has(owner))), codes }
  }

  apply(change: WriteSet, isBlock: boolean): void {
    const version = this.#history.apply(change)
    if (isBlock) this.versions.push(version)
    else this.versions[this.versions.length - 1] = version
  }

  truncate(number: number): void {
    this.versions.length = number + 1
    this.#history.rewind(this.versions[number]!)
  }

  at(number: number): StateReader {
    return this.#history.at(this.versions[number]!)
  }

  after(number: number, change: WriteSet): StateReader {
    const version = this.#history.apply(change)
    const reader = this.#history.at(version)
    expect(number).toBe(this.height)
    return reader
  }

  forget(): void {
    this.#history.rewind(this.#history.version - 1)
  }
}

function everything(reader: StateReader): (Account | null | bigint | string)[] {
  const owners = [1, 2, 3, 4].map(address)
  const slots = [0, 1, 2, 3].map(hash)
  return owners.flatMap((owner) => {
    const one = reader.account(owner)
    if (one !== null) reader.code(one.codeHash)
    return [one, ...slots.map((slot) => reader.storage(owner, slot)), [...reader.slots(owner)].sort().join()]
  })
}

it('equals the history in memory under arbitrary changes', async () => {
  const runs = fc.asyncProperty(fc.array(aStep, { maxLength: 40 }), async (steps) => {
    storage.commit({ truncateTo: -1 })
    const model = new Model()
    seal(writes())
    model.apply(writes(), true)
    for (const step of steps) await take(step, model)
    for (let number = model.floor; number <= model.height; number++) {
      expect(everything(state().at(number))).toEqual(everything(model.at(number)))
      expect(everything(model.after(model.height, state().writesBack(number)))).toEqual(everything(model.at(number)))
      model.forget()
    }
    const copy = new StateHistory()
    for (const piece of state().whole()) copy.apply(piece)
    expect(everything(copy.at(copy.version))).toEqual(everything(model.at(model.height)))
  })
  await fc.assert(runs, { numRuns: Number(process.env['SHELF_RUNS'] ?? 60) })
})

async function take(step: Step, model: Model): Promise<void> {
  if (step.kind === 'reopen') return reopen()
  if (step.kind === 'prune') {
    model.floor = Math.max(model.floor, model.height - step.back)
    return storage.commit({ floor: model.floor })
  }
  if (step.kind === 'truncate') {
    const number = Math.max(model.floor, model.height - step.back)
    model.truncate(number)
    return storage.commit({ truncateTo: number })
  }
  const change = model.fitting(step.writes)
  model.apply(change, step.kind === 'seal')
  if (step.kind === 'seal') seal(change)
  else storage.commit({ edits: change })
}
