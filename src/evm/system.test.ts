import { describe, expect, test } from 'vitest'
import { Address, EMPTY_REQUESTS_HASH, Hash, Hex, sha256 } from '../eth/index.ts'
import type { Header } from '../eth/index.ts'
import { ALICE, BOB, COINBASE, contextOf, ETHER, isUntouched, l1Config, Memory, opConfig, slot } from './evm.fixture.ts'
import { beginBlock, endBlock } from './system.ts'
import { World } from './world.ts'

const BEACON_ROOTS = Address.from('0x000f3df6d732807ef1319fb7b8bb8522d0beac02')
const HISTORY = Address.from('0x0000f90827f1c53a10cb7a02335b175320002935')
const WITHDRAWAL_QUEUE = Address.from('0x00000961ef480eb55e80d19ad83579a64c007002')
const CONSOLIDATION_QUEUE = Address.from('0x0000bbddc7ce488642fb579f8b00f3a590007251')
const DEPOSIT_EVENT = Hash.from('0x649bbc62d0e31342afea4e5cd82d4049e7e1ee912fc0889aa790803be39038c5')

/** stores the first word of its input in slot 0, and the caller in slot 1 */
const KEEPS_INPUT = '0x5f355f5533600155'
const nothing = { withdrawals: null, ommers: [], logs: [] }

describe('beginBlock', () => {
  const env = { parentBeaconBlockRoot: slot(7), blockHash: () => slot(8) }
  const contracts = { [BEACON_ROOTS]: { code: KEEPS_INPUT }, [HISTORY]: { code: KEEPS_INPUT } } as const

  test('stores the beacon root and the parent’s hash, from the system address', () => {
    const world = new World(new Memory(contracts))
    beginBlock(contextOf(opConfig('isthmus'), env), world)
    expect(world.storage(BEACON_ROOTS, slot(0))).toBe(7n)
    expect(world.storage(HISTORY, slot(0))).toBe(8n)
    expect(world.storage(HISTORY, slot(1))).toBe(BigInt('0xfffffffffffffffffffffffffffffffffffffffe'))
    expect(world.writes().accounts.size).toBe(0)
  })

  test('before Prague only the beacon root, before Cancun nothing', () => {
    const world = new World(new Memory(contracts))
    beginBlock(contextOf(l1Config('cancun'), env), world)
    expect([...world.writes().storage.keys()]).toEqual([BEACON_ROOTS])
    const early = new World(new Memory(contracts))
    beginBlock(contextOf(l1Config('shanghai'), env), early)
    expect(isUntouched(early.writes())).toBe(true)
  })

  test('changes nothing on a chain without these contracts', () => {
    const world = new World(new Memory({}))
    beginBlock(contextOf(l1Config('prague'), env), world)
    expect(isUntouched(world.writes())).toBe(true)
  })
})

describe('endBlock', () => {
  // Only coinbase and number of an ommer matter.
  const ommer = (number: number) => ({ coinbase: BOB, number }) as Header

  test.each([
    ['frontier', 5n],
    ['byzantium', 3n],
    ['constantinople', 2n],
  ] as const)('%s rewards %i ether', (fork, ether) => {
    const world = new World(new Memory({}))
    endBlock(contextOf(l1Config(fork)), world, { ...nothing, ommers: [ommer(999), ommer(994)] })
    const reward = ether * ETHER
    expect(world.balance(COINBASE)).toBe(reward + (reward / 32n) * 2n)
    expect(world.balance(BOB)).toBe((reward * 7n) / 8n + (reward * 2n) / 8n)
  })

  test('withdrawals are in gwei and touch the account', () => {
    const world = new World(new Memory({ [BOB]: {} }))
    const withdrawals = [
      { index: 0n, validatorIndex: 0n, address: ALICE, amount: 3n },
      { index: 1n, validatorIndex: 0n, address: BOB, amount: 0n },
    ]
    const { requestsHash } = endBlock(contextOf(l1Config('shanghai')), world, { ...nothing, withdrawals })
    expect(requestsHash).toBeNull()
    expect(world.balance(ALICE)).toBe(3_000_000_000n)
    expect(world.account(BOB)).toBeNull()
    expect(world.account(COINBASE)).toBeNull()
  })

  test('requests are hashed by type; empty types are omitted', () => {
    const contract = Address.from(`0x${'de'.repeat(20)}`)
    const config = l1Config('prague', { depositContract: contract })
    // The withdrawal queue returns one byte 0xaa, the consolidation queue no data.
    const world = new World(new Memory({ [WITHDRAWAL_QUEUE]: { code: '0x60aa5f5360015ff3' }, [CONSOLIDATION_QUEUE]: { code: '0x00' } }))
    const data = Uint8Array.from({ length: 576 }, (_, index) => index % 251)
    const log = { address: contract, topics: [DEPOSIT_EVENT], data }
    const other = { ...log, address: ALICE }
    const deposit = [
      data.subarray(192, 240),
      data.subarray(288, 320),
      data.subarray(352, 360),
      data.subarray(416, 512),
      data.subarray(544, 552),
    ]
    const digests = [sha256(Buffer.concat([Uint8Array.of(0), ...deposit])), sha256(Uint8Array.of(1, 0xaa))]
    const { requestsHash } = endBlock(contextOf(config), world, { ...nothing, logs: [other, log] })
    expect(requestsHash).toBe(Hex.fromBytes(sha256(Buffer.concat(digests))))
  })

  test('without requests the empty hash, as always on OP chains since Isthmus', () => {
    expect(endBlock(contextOf(l1Config('prague')), new World(new Memory({})), nothing).requestsHash).toBe(EMPTY_REQUESTS_HASH)
    expect(endBlock(contextOf(opConfig('isthmus')), new World(new Memory({})), nothing).requestsHash).toBe(EMPTY_REQUESTS_HASH)
    expect(endBlock(contextOf(opConfig('holocene')), new World(new Memory({})), nothing).requestsHash).toBeNull()
  })
})
