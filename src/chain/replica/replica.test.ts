import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Address, EMPTY_CODE_HASH, Hash } from '../../eth/index.ts'
import type { Account, StateReader, WriteSet } from '../../evm/index.ts'
import { ALICE, RECIPIENT, signed, startedChain, testChain } from '../chain.fixture.ts'
import { StateSync } from './statesync.ts'
import { SYNC_KEYS, SYNC_CHUNK_KEYS, SYNC_VERSIONS } from '../limits.ts'
import { Replica } from './replica.ts'
import { toPartialView } from './partialview.ts'
import type { ViewScope } from './partialview.ts'
import { PrunedState, RewoundState, StateHistory } from '../state/history.ts'

const ADDRESSES = [1n, 2n, 3n, 0xffffn].map(Address.fromBigint)
const SLOTS = [0n, 1n, 2n ** 255n].map(Hash.fromBigint)
const CODE = new Uint8Array([0x60, 0x00])
const CODE_HASH = Hash.keccak(CODE)
const [ONE] = ADDRESSES as [Address]

const { chain: template } = testChain('manual')

/** A replica with its StateSync; steps pass through structured cloning, as between threads. */
class SyncedReplica {
  readonly #sync: StateSync
  readonly #replica = new Replica(template.config)

  constructor(original: StateHistory) {
    this.#sync = new StateSync(original)
  }

  begin(version: number): void {
    for (const step of this.#sync.start(version)) this.#replica.apply(structuredClone(step))
  }

  follow(...versions: number[]): boolean {
    const steps = this.#sync.catchUp(versions)
    for (const step of structuredClone(steps) ?? []) this.#replica.apply(step)
    return steps !== null
  }

  at(version: number): StateReader {
    const head = template.genesis
    const partial = { ...toPartialView(template.head.view, EMPTY_SCOPE), head, versions: new Map([[0, version]]) }
    return this.#replica.view(partial).state(head)
  }
}

function stateOf(reader: StateReader, addresses: readonly Address[] = ADDRESSES) {
  return addresses.map((address) => {
    const account = reader.account(address)
    const slots = [...reader.slots(address)].sort().map((slot) => [slot, reader.storage(address, slot)])
    return { account, code: account === null ? null : reader.code(account.codeHash), slots }
  })
}

const accounts: fc.Arbitrary<Account | null> = fc.oneof(
  fc.constant(null),
  fc.record({ nonce: fc.bigInt(0n, 3n), balance: fc.bigInt(0n, 3n), codeHash: fc.constantFrom(EMPTY_CODE_HASH, CODE_HASH) }),
)

/** Writes to accounts that exist afterwards. */
const writeSets: fc.Arbitrary<WriteSet> = fc
  .array(
    fc.record({ address: fc.constantFrom(...ADDRESSES), account: accounts, slot: fc.constantFrom(...SLOTS), value: fc.bigInt(0n, 2n) }),
  )
  .map((changes) => {
    const storage = new Map<Address, Map<Hash, bigint>>()
    const written = new Map(changes.map(({ address, account }) => [address, account]))
    for (const { address, slot, value } of changes) {
      if (written.get(address) !== null) storage.set(address, (storage.get(address) ?? new Map<Hash, bigint>()).set(slot, value))
    }
    return { accounts: written, storage, codes: new Map([[CODE_HASH, CODE]]) }
  })

type Action =
  | { readonly kind: 'apply'; readonly writes: WriteSet }
  | { readonly kind: 'rewind' | 'prune' | 'follow'; readonly part: number }

const actions: fc.Arbitrary<Action> = fc.oneof(
  fc.record({ kind: fc.constant('apply' as const), writes: writeSets }),
  fc.record({
    kind: fc.constantFrom('rewind' as const, 'prune' as const, 'follow' as const),
    part: fc.double({ min: 0, max: 1, noNaN: true }),
  }),
)

describe('a replica', () => {
  it('equals the original after any operations between two updates, or has to be replaced', () => {
    fc.assert(
      fc.property(fc.array(actions, { minLength: 5, maxLength: 60 }), (row) => {
        const original = new StateHistory()
        let rebuilt = new SyncedReplica(original)
        rebuilt.begin(0)
        const place = (part: number) => original.oldestVersion + Math.floor((original.version - original.oldestVersion) * part)
        for (const action of row) {
          if (action.kind === 'apply') original.apply(action.writes)
          else if (action.kind === 'rewind') original.rewind(place(action.part))
          else if (action.kind === 'prune') original.prune(place(action.part))
          else {
            const versions = [place(action.part), original.version]
            if (!rebuilt.follow(...versions)) {
              rebuilt = new SyncedReplica(original)
              rebuilt.begin(Math.min(...versions))
              expect(rebuilt.follow(...versions)).toBe(true)
            }
            for (const version of versions) expect(stateOf(rebuilt.at(version))).toEqual(stateOf(original.at(version)))
          }
        }
      }),
      { numRuns: 300, seed: 3 },
    )
  })

  it('is started in chunks, between which the original may change', () => {
    const original = new StateHistory()
    const slots = new Map(Array.from({ length: 2.5 * SYNC_CHUNK_KEYS }, (_, index) => [Hash.fromBigint(BigInt(index)), 7n]))
    const version = original.apply({
      accounts: new Map([[ONE, { nonce: 1n, balance: 2n, codeHash: CODE_HASH }]]),
      storage: new Map([[ONE, slots]]),
      codes: new Map([[CODE_HASH, CODE]]),
    })
    const replica = new StateHistory()
    const sizes: number[] = []
    for (const step of new StateSync(original).start(version)) {
      if (step.kind === 'writes') replica.apply(step.writes)
      sizes.push(step.kind === 'writes' ? (step.writes.storage.get(ONE)?.size ?? 0) : -1)
      original.apply({ accounts: new Map([[ONE, null]]), storage: new Map(), codes: new Map() })
    }
    expect(sizes.length).toBeGreaterThan(3)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(SYNC_CHUNK_KEYS)
    expect(stateOf(replica.at(replica.version), [ONE])).toEqual(stateOf(original.at(version), [ONE]))
    expect(replica.stateRoot()).toBe(original.stateRoot(version))
  })

  it('is not started if its version is removed meanwhile', () => {
    const original = new StateHistory()
    const many = new Map(
      Array.from({ length: 2 * SYNC_CHUNK_KEYS }, (_, index) => [
        Address.fromBigint(BigInt(index + 1)),
        { nonce: 1n, balance: 0n, codeHash: EMPTY_CODE_HASH },
      ]),
    )
    const writes: WriteSet = { accounts: many, storage: new Map(), codes: new Map() }
    original.apply(NOTHING)
    original.apply(writes)
    const steps = new StateSync(original).start(2)[Symbol.iterator]()
    expect(steps.next().done).toBe(false)
    original.rewind(1)
    original.apply(writes)
    expect(() => steps.next()).toThrow(RewoundState)
    const pruned = new StateSync(original).start(2)[Symbol.iterator]()
    expect(pruned.next().done).toBe(false)
    original.apply(NOTHING)
    original.prune(3)
    expect(() => pruned.next()).toThrow(PrunedState)
  })

  it('cannot catch up to versions before its start, nor over too many changes at once', () => {
    const original = new StateHistory()
    for (let version = 1; version <= 3; version++) original.apply(NOTHING)
    const rebuilt = new SyncedReplica(original)
    rebuilt.begin(2)
    expect(rebuilt.follow(1)).toBe(false)
    expect(rebuilt.follow(1, 3)).toBe(false)
    expect(rebuilt.follow(3)).toBe(true)
    for (let count = 1; count < SYNC_VERSIONS; count++) original.apply(NOTHING)
    expect(rebuilt.follow(original.version)).toBe(true)
    expect(rebuilt.follow(2)).toBe(false)
    expect(() => rebuilt.at(2).account(ONE)).toThrow(PrunedState)
    expect(rebuilt.follow(3)).toBe(true)
    expect(rebuilt.at(3).account(ONE)).toBeNull()
    for (let count = 0; count < SYNC_VERSIONS; count++) original.apply(NOTHING)
    expect(rebuilt.follow(original.version)).toBe(false)
    const much = new Map(
      Array.from({ length: SYNC_KEYS + 1 }, (_, index) => [
        Address.fromBigint(BigInt(index + 1)),
        { nonce: 1n, balance: 0n, codeHash: EMPTY_CODE_HASH },
      ]),
    )
    const other = new SyncedReplica(original)
    other.begin(original.version)
    original.apply({ accounts: much, storage: new Map(), codes: new Map() })
    expect(other.follow(original.version)).toBe(false)
  })
})

describe('a partial view', () => {
  it('is plain data that rebuilds the View: tags, blocks, hashes, states and roots', async () => {
    const { chain, clock } = await startedChain('preconf')
    await chain.mine(300)
    await chain.submit(signed({ nonce: 0n }))
    await clock.advance(400)
    const { view } = chain.head
    const pending = view.byTag('pending')
    expect(pending).not.toBe(view.head)
    const parent = view.byNumber(299)!
    const partial = structuredClone(
      toPartialView(view, { states: [pending, view.head, parent], blocks: [pending], hashesBelow: [300, 20] }),
    )
    const replica = new Replica(chain.config)
    const sync = new StateSync(chain.sealed.history)
    for (const step of sync.start(Math.min(...partial.versions.values()))) replica.apply(structuredClone(step))
    for (const step of sync.catchUp(partial.versions.values())!) replica.apply(structuredClone(step))
    const rebuilt = replica.view(partial)

    expect(rebuilt.byTag('pending').transactions).toEqual(pending.transactions)
    expect(rebuilt.byTag('latest').hash).toBe(view.head.hash)
    expect(rebuilt.head.transactions).toEqual([])
    expect(rebuilt.byHash(parent.hash)?.header).toEqual(parent.header)
    expect(rebuilt.locate(pending.transactions.at(-1)!.hash)?.index).toBe(pending.transactions.length - 1)
    for (const number of [0, 19, 44, 299]) expect(rebuilt.blockHash(number)).toBe(view.blockHash(number))
    expect(rebuilt.blockHash(43)).toBeNull()
    for (const [mine, theirs] of [
      [rebuilt.byTag('pending'), pending],
      [rebuilt.head, view.head],
      [rebuilt.byNumber(299)!, parent],
    ] as const) {
      expect(stateOf(rebuilt.state(mine), [ALICE, RECIPIENT])).toEqual(stateOf(view.state(theirs), [ALICE, RECIPIENT]))
      expect(rebuilt.rootsWith(mine, NOTHING, RECIPIENT)).toEqual(view.rootsWith(theirs, NOTHING, RECIPIENT))
    }
    await chain.stop()
  })

  it('has its own buffers, not the whole chain file', async () => {
    const { chain } = await startedChain('preconf')
    const { view } = chain.head
    const file = new Uint8Array(1_000_000)
    const tx = { ...signed(), raw: file.subarray(10, 20), data: file.subarray(30, 40) }
    const block = { ...view.head, transactions: [tx] }
    const { blocks } = toPartialView(view, { states: [], blocks: [block], hashesBelow: [] })
    expect(blocks[0]?.transactions[0]?.raw.buffer.byteLength).toBe(10)
    expect(blocks[0]?.transactions[0]?.data.buffer.byteLength).toBe(10)
    await chain.stop()
  })

  it('cannot be made for a block that was rewound', async () => {
    const { chain } = await startedChain('preconf')
    await chain.mine(3)
    const { view } = chain.head
    await chain.rollback(1)
    expect(() => toPartialView(view, { states: [view.head], blocks: [], hashesBelow: [] })).toThrow(RewoundState)
    await chain.stop()
  })
})

const EMPTY_SCOPE: ViewScope = { states: [], blocks: [], hashesBelow: [] }
const NOTHING: WriteSet = { accounts: new Map(), storage: new Map(), codes: new Map() }
