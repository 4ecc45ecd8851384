import { describe, expect, it } from 'vitest'
import { Address, EMPTY_CODE_HASH, EMPTY_ROOT, Hash } from '../eth/index.ts'
import type { Account, WriteSet } from '../evm/index.ts'
import { StateHistory } from './state.ts'

const ALICE = Address.fromBigint(1n)
const BOB = Address.fromBigint(2n)
const CAROL = Address.fromBigint(3n)

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

describe('the roots of a state that is only tried', () => {
  it('are those of the state once it is real, also on an older version', () => {
    const history = new StateHistory(GENESIS)
    const tried = history.rootsWith(0, FIRST)
    history.apply(FIRST)
    expect(tried.stateRoot).toBe(history.stateRoot())
    for (const address of [ALICE, BOB, CAROL]) expect(tried.storageRoot(address)).toBe(history.storageRoot(address))
    const after = history.rootsWith(1, SECOND)
    history.apply(SECOND)
    expect(after.stateRoot).toBe(history.stateRoot())
    expect(after.storageRoot(BOB)).toBe(EMPTY_ROOT)
    expect(history.rootsWith(0, FIRST).stateRoot).toBe(tried.stateRoot)
  })

  it('stay those of their version when the state goes on', () => {
    const history = new StateHistory(GENESIS)
    const [root, storage] = [history.stateRoot(), history.storageRoot(BOB)]
    const tried = history.rootsWith(0, writes([[ALICE, account(1n)]]))
    history.apply(FIRST)
    expect(history.storageRoot(BOB)).not.toBe(storage)
    expect(tried.stateRoot).toBe(root)
    expect(tried.storageRoot(BOB)).toBe(storage)
    expect(tried.storageRoot(ALICE)).toBe(EMPTY_ROOT)
  })

  it('leave the history as it was', () => {
    const history = new StateHistory(GENESIS)
    const before = history.stateRoot()
    history.rootsWith(0, FIRST)
    expect(history.stateRoot()).toBe(before)
    expect(history.rootsWith(0, writes([])).stateRoot).toBe(before)
    expect(history.version).toBe(0)
  })
})
