import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { Address, EMPTY_CODE_HASH, Hash } from '../../eth/index.ts'
import type { Account, StateReader, WriteSet } from '../../evm/index.ts'
import { FetchedState } from './base.fixture.ts'
import { MissingState } from './basestate.ts'
import { NoProofs, StateHistory } from './history.ts'
import { PlainState } from './plainstate.fixture.ts'

const ADDRESSES = [1n, 2n, 3n, 4n].map(Address.fromBigint)
const SLOTS = [0n, 1n, 2n].map(Hash.fromBigint)
const [ALICE, BOB] = ADDRESSES as [Address, Address]
const [ZERO, ONE] = SLOTS as [Hash, Hash]
const ROOT = Hash.ofText('the root of the fork block')

const account: fc.Arbitrary<Account> = fc.record({
  nonce: fc.bigInt(0n, 3n),
  balance: fc.bigInt(1n, 3n),
  codeHash: fc.constant(EMPTY_CODE_HASH),
})
const slots = fc
  .dictionary(fc.constantFrom(...SLOTS), fc.bigInt(0n, 2n))
  .map((values) => new Map(Object.entries(values) as [Hash, bigint][]))

/** Accounts with their slots; `null` deletes the account. */
const change: fc.Arbitrary<WriteSet> = fc
  .uniqueArray(fc.tuple(fc.constantFrom(...ADDRESSES), fc.option(account), slots), { selector: ([address]) => address })
  .map((entries) => ({
    accounts: new Map(entries.map(([address, value]) => [address, value])),
    storage: new Map(entries.filter(([, value]) => value !== null).map(([address, , values]) => [address, values])),
    codes: new Map(),
  }))

function valuesOf(reader: StateReader) {
  return ADDRESSES.map((address) => [reader.account(address), ...SLOTS.map((slot) => reader.storage(address, slot))])
}

/** Reads until nothing is missing. */
async function fetched<T>(base: FetchedState, read: () => T): Promise<T> {
  for (;;) {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof MissingState)) throw error
      await base.fetch(error.keys)
    }
  }
}

it('reads as a whole state with the same writes, at every version and after rewinds', async () => {
  await fc.assert(
    fc.asyncProperty(change, fc.array(change, { maxLength: 6 }), fc.nat(), async (start, changes, back) => {
      const upstream = PlainState.empty.with(start)
      const base = new FetchedState(upstream, ROOT)
      const forked = new StateHistory(undefined, base)
      const whole = new StateHistory(start)
      const roots = [forked.stateRoot()]
      for (const writes of changes) {
        forked.apply(writes)
        whole.apply(writes)
        roots.push(forked.stateRoot())
      }
      for (let version = 0; version <= forked.version; version++) {
        expect(await fetched(base, () => valuesOf(forked.at(version)))).toEqual(valuesOf(whole.at(version)))
      }
      const target = back % (forked.version + 1)
      forked.rewind(target)
      expect(forked.stateRoot()).toBe(roots[target])
      expect(await fetched(base, () => valuesOf(forked.at(target)))).toEqual(valuesOf(whole.at(target)))
    }),
  )
})

it('restarts as a new history of the same writes, whatever was written, deleted and pruned before', async () => {
  await fc.assert(
    fc.asyncProperty(change, change, fc.array(change, { maxLength: 6 }), fc.nat(), async (start, genesis, changes, oldest) => {
      const base = new FetchedState(PlainState.empty.with(start), ROOT)
      const [forked, fresh] = [new StateHistory(genesis, base), new StateHistory(genesis, base)]
      for (const writes of changes) forked.apply(writes)
      forked.prune(oldest % (forked.version + 1))
      forked.restart(genesis)
      for (const writes of [null, ...changes]) {
        if (writes !== null) for (const history of [forked, fresh]) history.apply(writes)
        expect(forked.stateRoot()).toBe(fresh.stateRoot())
        const values = await fetched(base, () => valuesOf(fresh.at(fresh.version)))
        expect(await fetched(base, () => valuesOf(forked.at(forked.version)))).toEqual(values)
      }
      expect(forked.size()).toEqual(fresh.size())
    }),
  )
})

it('has the root of the fork block until something is written, and then one that depends on the writes only', () => {
  const base = new FetchedState(PlainState.empty, ROOT)
  const [one, other] = [new StateHistory(undefined, base), new StateHistory(undefined, base)]
  expect(one.stateRoot()).toBe(ROOT)
  const slot = (value: bigint): WriteSet => ({
    accounts: new Map(),
    storage: new Map([[ALICE, new Map([[ZERO, value]])]]),
    codes: new Map(),
  })
  one.apply(slot(1n))
  one.apply(slot(0n))
  other.apply(slot(0n))
  expect(one.stateRoot()).toBe(other.stateRoot())
  expect(one.stateRoot()).not.toBe(ROOT)
  expect(one.stateRoot(1)).not.toBe(one.stateRoot(2))
  one.rewind(0)
  expect(one.stateRoot()).toBe(ROOT)
})

it('names all keys that a run misses, and keeps guesses out of later runs', async () => {
  const upstream = PlainState.empty.with({
    accounts: new Map([[ALICE, { nonce: 1n, balance: 5n, codeHash: EMPTY_CODE_HASH }]]),
    storage: new Map([[ALICE, new Map([[ONE, 7n]])]]),
    codes: new Map(),
  })
  const base = new FetchedState(upstream, ROOT)
  const history = new StateHistory(undefined, base)
  const seen: unknown[] = []
  const keys = history.missingKeysOf(() => {
    const reader = history.at(0)
    expect(reader.identity).toBeUndefined()
    seen.push(reader.account(ALICE), reader.storage(ALICE, ZERO), reader.storage(ALICE, ONE), reader.account(BOB))
  })
  expect(seen).toEqual([null, 0n, 0n, null])
  expect(keys).toEqual([
    { kind: 'account', address: ALICE },
    { kind: 'slot', address: ALICE, slot: ZERO },
    { kind: 'slot', address: ALICE, slot: ONE },
    { kind: 'account', address: BOB },
  ])
  expect(() => history.at(0).storage(ALICE, ONE)).toThrow(MissingState)
  await base.fetch(keys)
  expect(base.rounds).toBe(1)
  expect(history.at(0).storage(ALICE, ONE)).toBe(7n)
  expect(history.missingKeysOf(() => history.at(0).storage(ALICE, ONE))).toEqual([])
})

it('reads a slot of a deleted account as zero, although the base has it', async () => {
  const upstream = PlainState.empty.with({
    accounts: new Map([[ALICE, { nonce: 1n, balance: 5n, codeHash: EMPTY_CODE_HASH }]]),
    storage: new Map([[ALICE, new Map([[ONE, 7n]])]]),
    codes: new Map(),
  })
  const base = new FetchedState(upstream, ROOT)
  const history = new StateHistory(undefined, base)
  history.apply({ accounts: new Map([[ALICE, null]]), storage: new Map(), codes: new Map() })
  expect(history.at(1).storage(ALICE, ONE)).toBe(0n)
  await base.fetch([{ kind: 'slot', address: ALICE, slot: ONE }])
  expect([history.at(0).storage(ALICE, ONE), history.at(1).storage(ALICE, ONE)]).toEqual([7n, 0n])
})

it('has no proofs', () => {
  const history = new StateHistory(undefined, new FetchedState(PlainState.empty, ROOT))
  expect(() => history.proofAt(0, ALICE, [])).toThrow(NoProofs)
})
