import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Address, EMPTY_CODE_HASH, Hash } from '../eth/index.ts'
import { ALICE, BOB, isUntouched, Memory, slot } from './evm.fixture.ts'
import { IDLE_INSTANCES_MAX } from './limits.ts'
import { ACCOUNTS_SOFT_MAX, CODES_SOFT_MAX } from './runtime/layout.ts'
import { World } from './world.ts'

const CREATED = Address.fromBigint(0xc0den)
const base = () => new Memory({ [ALICE]: { nonce: 1n, balance: 9n, code: '0x01', storage: { 1: 11n, 2: 22n } } })

describe('an overlay', () => {
  test('shows the base until something is written, and never changes it', () => {
    const below = base()
    const world = new World(below)
    world.setStorage(ALICE, slot(1), 5n)
    world.setBalance(ALICE, 1n)
    expect(world.storage(ALICE, slot(1))).toBe(5n)
    expect(world.storage(ALICE, slot(2))).toBe(22n)
    expect(below.storage(ALICE, slot(1))).toBe(11n)
    expect(below.account(ALICE)?.balance).toBe(9n)
  })

  test('returns only differences to the base', () => {
    const world = new World(base())
    world.setBalance(ALICE, 1n)
    world.setBalance(ALICE, 9n)
    world.setStorage(ALICE, slot(1), 5n)
    world.setStorage(ALICE, slot(1), 11n)
    world.addBalance(BOB, 0n)
    world.removeTouchedEmpty()
    expect(isUntouched(world.writes())).toBe(true)
  })

  test('returns the code of changed accounts only', () => {
    const world = new World(base())
    const mark = world.checkpoint()
    world.setCode(BOB, Uint8Array.of(7))
    expect([...world.writes().codes.keys()]).toEqual([Hash.keccak(Uint8Array.of(7))])
    world.revertTo(mark)
    expect(isUntouched(world.writes())).toBe(true)
  })

  test('clearing storage writes explicit zeros', () => {
    const world = new World(base())
    world.setStorage(ALICE, slot(3), 33n)
    world.clearStorage(ALICE)
    expect([...world.slots(ALICE)]).toEqual([])
    expect(world.writes().storage.get(ALICE)).toEqual(
      new Map([
        [slot(1), 0n],
        [slot(2), 0n],
      ]),
    )
  })

  test('keeps original values across reverts', () => {
    const world = new World(base())
    world.setStorage(ALICE, slot(1), 5n)
    world.beginTransaction()
    const mark = world.checkpoint()
    world.setStorage(ALICE, slot(1), 6n)
    world.revertTo(mark)
    world.setStorage(ALICE, slot(1), 7n)
    expect(world.originalStorage(ALICE, slot(1))).toBe(5n)
    expect(world.originalStorage(ALICE, slot(2))).toBe(22n)
    world.beginTransaction()
    expect(world.originalStorage(ALICE, slot(1))).toBe(7n)
  })

  test('removes touched empty accounts unless the touch was reverted; RIPEMD-160 stays touched', () => {
    const ripemd = Address.fromBigint(3n)
    const empty = { [BOB]: {}, [ripemd]: {} }
    const world = new World(new Memory(empty))
    const mark = world.checkpoint()
    world.addBalance(BOB, 0n)
    world.addBalance(ripemd, 0n)
    world.revertTo(mark)
    world.removeTouchedEmpty()
    expect(world.account(BOB)).toEqual({ nonce: 0n, balance: 0n, codeHash: EMPTY_CODE_HASH })
    expect(world.account(ripemd)).toBeNull()
  })

  test('saturates balances at 2^256 - 1', () => {
    const world = new World(base())
    world.setBalance(BOB, 2n ** 256n - 2n)
    world.addBalance(BOB, 5n)
    expect(world.balance(BOB)).toBe(2n ** 256n - 1n)
  })

  test('continues after a rebase on its own writes', () => {
    const world = new World(base())
    world.setBalance(ALICE, 1n)
    world.setStorage(ALICE, slot(1), 5n)
    const written = new Memory({ [ALICE]: { nonce: 1n, balance: 1n, code: '0x01', storage: { 1: 5n, 2: 22n } } })
    world.rebase(written)
    expect(isUntouched(world.writes())).toBe(true)
    expect([world.balance(ALICE), world.storage(ALICE, slot(1)), world.storage(ALICE, slot(2))]).toEqual([1n, 5n, 22n])
    expect(world.originalStorage(ALICE, slot(1))).toBe(5n)
    world.setStorage(ALICE, slot(1), 11n)
    expect(world.writes().storage.get(ALICE)).toEqual(new Map([[slot(1), 11n]]))
  })

  test('reads a cached slot again if a later state has changed it', () => {
    const at = (value: bigint) => new Memory({ [ALICE]: { storage: { 1: value } } })
    const earlier = Object.assign(at(11n), { identity: {} })
    const later = Object.assign(at(12n), { identity: {}, changedSince: () => [{ address: ALICE, slot: slot(1) }] })
    // Enough for one to be moved to the later state.
    const worlds = Array.from({ length: 4 }, () => new World(earlier))
    for (const world of worlds) expect(world.storage(ALICE, slot(1))).toBe(11n)
    for (const world of worlds) world.release()
    const world = new World(later)
    expect(world.storage(ALICE, slot(1))).toBe(12n)
    world.setStorage(ALICE, slot(1), 13n)
    expect(world.storage(ALICE, slot(1))).toBe(13n)
    world.release()
  })

  test('reads a cached slot again if the difference to the other state is unknown', () => {
    // More than the pool holds: at least one world reuses an instance.
    for (let value = 1n; value <= BigInt(IDLE_INSTANCES_MAX) + 1n; value++) {
      const world = new World(new Memory({ [ALICE]: { storage: { 1: value } } }))
      expect(world.storage(ALICE, slot(1))).toBe(value)
      world.release()
    }
  })

  test.each<[string, number, (world: World, index: number) => unknown]>([
    ['accounts', ACCOUNTS_SOFT_MAX, (world, index) => world.nonce(Address.fromBigint(BigInt(index) + 2n ** 32n))],
    ['codes', CODES_SOFT_MAX, (world, index) => world.code(Hash.keccak(Uint8Array.of(index & 255, index >> 8)))],
  ])('reads cached entries again after %s filled the tables', (_, most, ask) => {
    const state = new Memory({ [ALICE]: { storage: { 1: 11n } }, [BOB]: { storage: { 1: 12n } } })
    const world = new World(state)
    expect(world.storage(ALICE, slot(1))).toBe(11n)
    const place = world.instance.account(ALICE)
    for (let index = 0; index <= most; index++) ask(world, index)
    world.rebase(state)
    expect([world.storage(BOB, slot(1)), world.storage(ALICE, slot(1))]).toEqual([12n, 11n])
    // After the clear the first account has the entry of the other.
    expect(world.instance.account(BOB)).toBe(place)
    world.release()
  })

  test('makes room in full tables and keeps its writes', () => {
    const below = new Memory({ [ALICE]: { nonce: 1n, balance: 9n, code: '0x01', storage: { 1: 11n, 2: 22n } }, [BOB]: { balance: 3n } })
    const world = new World(below)
    world.setBalance(ALICE, 1n)
    world.setStorage(ALICE, slot(1), 0n)
    world.setCode(CREATED, Uint8Array.of(7))
    world.setAccount(BOB, null)
    const writes = world.writes()
    for (let index = 0; index <= ACCOUNTS_SOFT_MAX; index++) world.nonce(Address.fromBigint(BigInt(index) + 2n ** 32n))
    world.makeRoom()
    expect(world.instance.runtime.accountsUsed()).toBeLessThan(10)
    expect(world.writes()).toEqual(writes)
    expect([...world.codeAt(CREATED)]).toEqual([7])
    expect([world.storage(ALICE, slot(1)), world.storage(ALICE, slot(2)), world.account(BOB)]).toEqual([0n, 22n, null])
    expect(world.originalStorage(ALICE, slot(1))).toBe(0n)
    world.release()
  })

  test('does not allow negative balances', () => {
    expect(() => new World(base()).subBalance(ALICE, 10n)).toThrow(RangeError)
  })
})

test('revertTo undoes everything after the mark and nothing before', () => {
  const address = fc.constantFrom(ALICE, BOB)
  const step = fc.oneof(
    fc.tuple(fc.constant('balance' as const), address, fc.bigInt(0n, 5n)),
    fc.tuple(fc.constant('slot' as const), address, fc.bigInt(0n, 3n)),
    fc.tuple(fc.constant('remove' as const), address, fc.bigInt(0n, 1n)),
    fc.tuple(fc.constant('clear' as const), address, fc.bigInt(0n, 1n)),
  )
  const apply = (world: World, [kind, who, value]: [string, Address, bigint]): void => {
    if (kind === 'balance') world.setBalance(who, value)
    else if (kind === 'slot') world.setStorage(who, slot(Number(value)), value)
    else if (kind === 'remove') world.setAccount(who, null)
    else world.clearStorage(who)
  }
  fc.assert(
    fc.property(fc.array(step), fc.array(step), (before, after) => {
      const world = new World(base())
      for (const each of before) apply(world, each)
      const snapshot = world.writes()
      const mark = world.checkpoint()
      for (const each of after) apply(world, each)
      world.revertTo(mark)
      expect(world.writes()).toEqual(snapshot)
      world.release()
    }),
    { seed: 4 },
  )
})
