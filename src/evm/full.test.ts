import { describe, expect, test } from 'vitest'
import { Address, type Hash, Hex } from '../eth/index.ts'
import { EngineFull } from './engine.ts'
import { ALICE, BOB, CONTRACT, contextOf, ETHER, isUntouched, l1Config, Memory, message, slot } from './evm.fixture.ts'
import { executeTransaction } from './execute.ts'
import { NO_HOOKS } from './hooks.ts'
import type { Message } from './message.ts'
import type { StateReader } from './state.ts'
import type { Tracer } from './trace/index.ts'
import { World } from './world.ts'

const CONTEXT = contextOf(l1Config('prague', { transactionGasCap: null }), { gasLimit: 10n ** 12n })
/** More accounts than an instance has room for. */
const TOO_MANY = 240_000

function stateWith(code: Hex): Memory {
  return new Memory({ [ALICE]: { balance: 10n ** 6n * ETHER }, [CONTRACT]: { nonce: 1n, code } })
}

function send(world: World, changes: Partial<Message> = {}, tracer?: Tracer) {
  return executeTransaction(message({ to: CONTRACT, ...changes }), CONTEXT, world, tracer === undefined ? {} : { tracer })
}

/** A state that throws when it is asked for a slot, for as long as `error` is there. */
function failing(below: Memory, error: () => Error | null): StateReader {
  return {
    account: (address) => below.account(address),
    code: (codeHash) => below.code(codeHash),
    slots: (address) => below.slots(address),
    storage: (address: Address, key: Hash) => {
      const thrown = error()
      if (thrown !== null) throw thrown
      return below.storage(address, key)
    },
  }
}

describe("a message that needs more than the engine's room", () => {
  test('is EngineFull and leaves the world as it was, and the next one runs', () => {
    // CALL of the identity, for ever: an entry of the journal each time.
    const world = new World(stateWith('0x5b5f5f5f5f5f60045af1505f56'))
    expect(() => send(world, { gas: 300_000_000n })).toThrow(EngineFull)
    expect(isUntouched(world.writes())).toBe(true)
    expect(send(world, { gas: 100_000n }).gasUsed).toBe(100_000n)
    world.release()
  })

  test('is EngineFull when it shows outside of bytecode, too', () => {
    const world = new World(stateWith('0x00'))
    const { instance } = world
    const mark = world.checkpoint()
    expect(() => {
      for (let i = 0; i < TOO_MANY; i++) world.setBalance(Address.fromBigint(BigInt(i) + 2n ** 32n), 1n)
    }).toThrow('unreachable')
    expect(() => send(world)).toThrow(EngineFull)
    world.revertTo(mark)
    expect(isUntouched(world.writes())).toBe(true)
    world.release()
    // It held too much to be kept: whoever comes next has another one.
    const next = new World(new Memory({}))
    expect(next.instance).not.toBe(instance)
    expect([next.instance.runtime.exhausted.value, next.instance.runtime.accountsUsed()]).toEqual([0, 0])
    next.release()
  })

  test('is EngineFull when its data, its blobs or its moved precompiles are more than fit', () => {
    const world = new World(stateWith('0x00'))
    const movedPrecompiles = new Map(
      Array.from({ length: 600 }, (_, i) => [Address.fromBigint(BigInt(i) + 2n ** 32n), Address.fromBigint(4n)]),
    )
    expect(() => executeTransaction(message({ to: CONTRACT }), CONTEXT, world, { movedPrecompiles })).toThrow(EngineFull)
    expect(() => send(world, { gas: 10n ** 10n, data: new Uint8Array(33 * 2 ** 20) })).toThrow(EngineFull)
    expect(isUntouched(world.writes())).toBe(true)
    world.release()
  })
})

describe('what the host throws while bytecode runs', () => {
  test.each(['PrunedState', 'OutOfTime'])('comes out as it is (%s); the world is as before and asks again', (name) => {
    let error: Error | null = Object.assign(new Error('gone'), { name })
    // SSTORE(1, 1), then SLOAD(0)
    const world = new World(failing(stateWith('0x60016001555f5400'), () => error))
    expect(() => send(world)).toThrow(error)
    expect(isUntouched(world.writes())).toBe(true)
    error = null
    expect(send(world).outcome).toEqual({ kind: 'success' })
    expect(world.storage(CONTRACT, slot(1))).toBe(1n)
    world.release()
  })

  test('a tracer that throws leaves the world as it was', () => {
    const world = new World(stateWith('0x600160015500'), { traced: true })
    const error = new Error('enough')
    const tracer: Tracer = {
      step: ({ pc }) => {
        if (pc === 5) throw error
      },
    }
    expect(() => send(world, {}, tracer)).toThrow(error)
    expect(isUntouched(world.writes())).toBe(true)
    expect(send(world).outcome).toEqual({ kind: 'success' })
    world.release()
  })

  test('a trap that nobody expected is told, and its world is given up', () => {
    const trap = Object.assign(new Error('memory access out of bounds'), { name: 'RuntimeError' })
    const world = new World(failing(stateWith('0x5f5400'), () => trap))
    expect(() => send(world)).toThrow(trap)
    expect(world.isAbandoned).toBe(true)
    expect(() => world.nonce(ALICE)).toThrow('released')
    // Whoever takes back what a run did, also after an error, hides none by it.
    expect(() => world.revertTo(0)).not.toThrow()
    world.release()
  })
})

test('an instance that rests keeps nothing of its last run but what it read', () => {
  const world = new World(stateWith('0x600160015500'), { traced: true })
  const { instance } = world
  send(world, {}, { step: () => {} })
  const { services } = instance
  expect(instance.hooks).not.toBe(NO_HOOKS)
  world.release()
  expect(instance.hooks).toBe(NO_HOOKS)
  expect(instance.services).not.toBe(services)
})

test('an instance whose memory has grown large does not rest, for it would keep it', () => {
  // 2 MB in each frame, and a call of itself
  const state = { ...failing(stateWith('0x600162200000525f5f5f5f5f305af1'), () => null), moment: {} }
  const instanceFor = (gas: bigint) => {
    const world = new World(state)
    const { instance } = world
    send(world, { gas })
    world.release()
    return instance
  }
  const first = instanceFor(20_000_000n)
  expect(instanceFor(500_000_000n)).toBe(first)
  expect(instanceFor(20_000_000n)).not.toBe(first)
})

test('what a creation costs does not depend on what others have written', () => {
  // CREATE, for ever: 500 times. Each once looked through all that was dirty, which came to 20 s.
  const world = new World(stateWith('0x5b5f5f5ff0505f56'))
  for (let i = 0; i < 100_000; i++) world.setStorage(BOB, slot(i), 1n)
  const start = performance.now()
  expect(send(world, { gas: 16_000_000n }).gasUsed).toBe(16_000_000n)
  expect(performance.now() - start).toBeLessThan(3_000)
  world.release()
})

test('nobody can choose keys that all want the same place of a table', () => {
  // TSTORE of each word of the data, then TLOAD of each, for ever. The keys are those that would collide if nothing were secret.
  const world = new World(stateWith('0x5f5b80356001905d602001803611600157505f5b80355c50602001803611601357505f601356'))
  const owner = BigInt(world.instance.account(CONTRACT) | 1)
  const keys = Array.from({ length: 15_000 }, (_, i) => collidingKey(owner, BigInt(i)))
  const start = performance.now()
  expect(send(world, { gas: 50_000_000n, data: Hex.toBytes(`0x${keys.join('')}`) }).gasUsed).toBe(50_000_000n)
  expect(performance.now() - start).toBeLessThan(3_000)
  world.release()
})

/** The key with this lowest limb that runtime/state.ts would put first in its index under the seed 0; 64 digits. */
function collidingKey(owner: bigint, lowest: bigint): string {
  const u64 = (value: bigint) => BigInt.asUintN(64, value)
  let hash = u64((lowest ^ u64(owner << 20n)) * 0x9e3779b97f4a7c15n)
  hash = u64((hash ^ (hash >> 32n)) * 0xc2b2ae3d27d4eb4fn)
  hash = u64((hash ^ (hash >> 32n)) * 0x165667b19e3779f9n)
  return (lowest | (u64(hash ^ (hash >> 29n)) << 192n)).toString(16).padStart(64, '0')
}

test('storage keeps a creation from an address without nonce and code, however it came there (EIP-7610)', () => {
  const target = Address.create(ALICE, 0n)
  const world = new World(stateWith('0x00'))
  world.setStorage(target, slot(1), 1n)
  const mark = world.checkpoint()
  expect(send(world, { to: null, data: Hex.toBytes('0x00') }).outcome).toEqual({ kind: 'halt', reason: 'contract address collision' })
  world.revertTo(mark)
  world.setStorage(target, slot(1), 0n)
  expect(send(world, { to: null, data: Hex.toBytes('0x00') }).outcome).toEqual({ kind: 'success' })
  world.release()
})
