import { describe, expect, it } from 'vitest'
import { Address, EMPTY_CODE_HASH, EMPTY_ROOT, Hash } from '../../eth/index.ts'
import type { Account, WriteSet } from '../../evm/index.ts'
import { StateHistory } from './history.ts'

const ALICE = Address.fromBigint(1n)
const BOB = Address.fromBigint(2n)
const CAROL = Address.fromBigint(3n)
const DAVE = Address.fromBigint(4n)

function account(balance: bigint): Account {
  return { nonce: 0n, balance, codeHash: EMPTY_CODE_HASH }
}

function slots(...values: readonly bigint[]): ReadonlyMap<Hash, bigint> {
  return new Map(values.map((value, index) => [Hash.fromBigint(BigInt(index)), value]))
}

function writes(accounts: readonly [Address, Account | null][], storage: readonly [Address, ReadonlyMap<Hash, bigint>][] = []): WriteSet {
  return { accounts: new Map(accounts), storage: new Map(storage), codes: new Map() }
}

const GENESIS = writes(
  [
    [ALICE, account(1n)],
    [BOB, account(2n)],
  ],
  [[BOB, slots(7n, 8n)]],
)
const FIRST = writes(
  [
    [ALICE, account(5n)],
    [CAROL, account(3n)],
  ],
  [
    [BOB, slots(0n, 9n, 1n)],
    [CAROL, slots(4n)],
  ],
)
const SECOND = writes([
  [BOB, null],
  [ALICE, account(6n)],
])

describe('the roots of writes that are not applied', () => {
  it('equal those after applying them, also on an older version', () => {
    const history = new StateHistory(GENESIS)
    const accounts = [ALICE, BOB, CAROL, DAVE]
    const tried = accounts.map((address) => history.rootsWith(0, FIRST, address))
    history.apply(FIRST)
    expect(tried).toEqual(accounts.map((address) => ({ stateRoot: history.stateRoot(), storageRoot: history.storageRoot(address) })))
    const after = history.rootsWith(1, SECOND, BOB)
    history.apply(SECOND)
    expect(after).toEqual({ stateRoot: history.stateRoot(), storageRoot: EMPTY_ROOT })
    expect(accounts.map((address) => history.rootsWith(0, FIRST, address))).toEqual(tried)
  })

  it('equal those of their version after later versions', () => {
    const history = new StateHistory(GENESIS)
    const roots = { stateRoot: history.stateRoot(), storageRoot: history.storageRoot(BOB) }
    history.apply(FIRST)
    expect(history.storageRoot(BOB)).not.toBe(roots.storageRoot)
    expect(history.rootsWith(0, writes([[ALICE, account(1n)]]), BOB)).toEqual(roots)
    expect(history.rootsWith(0, writes([]), BOB)).toEqual(roots)
  })

  it('leave the history as it was', () => {
    const history = new StateHistory(GENESIS)
    const before = history.stateRoot()
    history.rootsWith(0, FIRST, BOB)
    expect(history.stateRoot()).toBe(before)
    expect(history.rootsWith(0, writes([]), BOB).stateRoot).toBe(before)
    expect(history.version).toBe(0)
  })
})
