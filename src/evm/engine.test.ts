import { describe, expect, test } from 'vitest'
import { Address, type Hash, Hex } from '../eth/index.ts'
import { EngineOutOfMemory } from './engine.ts'
import { ALICE, BOB, CONTRACT, contextOf, ETHER, isUntouched, l1Config, Memory, message, slot } from './evm.fixture.ts'
import { executeTransaction } from './execute.ts'
import { NO_HOOKS } from './hooks.ts'
import type { Message } from './message.ts'
import type { StateReader } from './state.ts'
import type { Tracer } from './trace/index.ts'
import { World } from './world.ts'

const CONTEXT = contextOf(l1Config('prague', { transactionGasCap: null }), { gasLimit: 10n ** 12n })
/** More accounts than an instance can hold. */
const TOO_MANY = 240_000

function stateWith(code: Hex): Memory {
  return new Memory({ [ALICE]: { balance: 10n ** 6n * ETHER }, [CONTRACT]: { nonce: 1n, code } })
}

function send(world: World, changes: Partial<Message> = {}, tracer?: Tracer) {
  return executeTransaction(message({ to: CONTRACT, ...changes }), CONTEXT, world, tracer === undefined ? {} : { tracer })
}

/** A state that throws on a slot access while `error` returns an error. */
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

describe("a message that exceeds the engine's memory", () => {
  test('throws EngineOutOfMemory, leaves the world unchanged, and the next message runs', () => {
    // Calls IDENTITY forever; each call adds a journal entry.
    const world = new World(stateWith('0x5b5f5f5f5f5f60045af1505f56'))
    expect(() => send(world, { gas: 300_000_000n })).toThrow(EngineOutOfMemory)
    expect(isUntouched(world.writes())).toBe(true)
    expect(send(world, { gas: 100_000n }).gasUsed).toBe(100_000n)
    world.release()
  })

  test('throws EngineOutOfMemory outside of bytecode too', () => {
    const world = new World(stateWith('0x00'))
    const { instance } = world
    const mark = world.checkpoint()
    expect(() => {
      for (let i = 0; i < TOO_MANY; i++) world.setBalance(Address.fromBigint(BigInt(i) + 2n ** 32n), 1n)
    }).toThrow('unreachable')
    expect(() => send(world)).toThrow(EngineOutOfMemory)
    world.revertTo(mark)
    expect(isUntouched(world.writes())).toBe(true)
    world.release()
    // The instance was discarded; this world has a new one.
    const next = new World(new Memory({}))
    expect(next.instance).not.toBe(instance)
    expect([next.instance.runtime.trapReason.value, next.instance.runtime.accountsUsed()]).toEqual([0, 0])
    next.release()
  })

  test('throws EngineOutOfMemory for too much data, too many blobs or moved precompiles', () => {
    const world = new World(stateWith('0x00'))
    const movedPrecompiles = new Map(
      Array.from({ length: 600 }, (_, i) => [Address.fromBigint(BigInt(i) + 2n ** 32n), Address.fromBigint(4n)]),
    )
    expect(() => executeTransaction(message({ to: CONTRACT }), CONTEXT, world, { movedPrecompiles })).toThrow(EngineOutOfMemory)
    expect(() => send(world, { gas: 10n ** 10n, data: new Uint8Array(33 * 2 ** 20) })).toThrow(EngineOutOfMemory)
    expect(isUntouched(world.writes())).toBe(true)
    world.release()
  })
})

describe('an exception of the host during execution', () => {
  test.each(['PrunedState', 'OutOfTime'])('propagates unchanged (%s), with the world unchanged and the value read again', (name) => {
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

  test('from a tracer leaves the world unchanged', () => {
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

  test('that is an unexpected trap propagates and abandons the world', () => {
    const trap = Object.assign(new Error('memory access out of bounds'), { name: 'RuntimeError' })
    const world = new World(failing(stateWith('0x5f5400'), () => trap))
    expect(() => send(world)).toThrow(trap)
    expect(world.isAbandoned).toBe(true)
    expect(() => world.nonce(ALICE)).toThrow('released')
    // A revert after an error must not hide the error.
    expect(() => world.revertTo(0)).not.toThrow()
    world.release()
  })
})

test('an idle instance holds no references to its last message', () => {
  const world = new World(stateWith('0x600160015500'), { traced: true })
  const { instance } = world
  send(world, {}, { step: () => {} })
  const { callbacks } = instance
  expect(instance.hooks).not.toBe(NO_HOOKS)
  world.release()
  expect(instance.hooks).toBe(NO_HOOKS)
  expect(instance.callbacks).not.toBe(callbacks)
})

test('an instance whose memory has grown large is discarded', () => {
  // 2 MB of memory per frame, and a recursive call
  const state = { ...failing(stateWith('0x600162200000525f5f5f5f5f305af1'), () => null), identity: {} }
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

test('the time of a creation does not depend on the number of dirty slots', () => {
  // 500 creations. Scanning all dirty slots for each took 20 s.
  const world = new World(stateWith('0x5b5f5f5ff0505f56'))
  for (let i = 0; i < 100_000; i++) world.setStorage(BOB, slot(i), 1n)
  const start = performance.now()
  expect(send(world, { gas: 16_000_000n }).gasUsed).toBe(16_000_000n)
  expect(performance.now() - start).toBeLessThan(3_000)
  world.release()
})

test('hash table collisions cannot be provoked', () => {
  // TSTORE and TLOAD of each word of the data, forever. The keys collide without the secret seed.
  const world = new World(stateWith('0x5f5b80356001905d602001803611600157505f5b80355c50602001803611601357505f601356'))
  const owner = BigInt(world.instance.account(CONTRACT) | 1)
  const keys = Array.from({ length: 15_000 }, (_, i) => collidingKey(owner, BigInt(i)))
  const start = performance.now()
  expect(send(world, { gas: 50_000_000n, data: Hex.toBytes(`0x${keys.join('')}`) }).gasUsed).toBe(50_000_000n)
  expect(performance.now() - start).toBeLessThan(3_000)
  world.release()
})

/** The key with this lowest limb that falls into bucket 0 of runtime/state.ts under seed 0; 64 digits. */
function collidingKey(owner: bigint, lowest: bigint): string {
  const u64 = (value: bigint) => BigInt.asUintN(64, value)
  let hash = u64((lowest ^ u64(owner << 20n)) * 0x9e3779b97f4a7c15n)
  hash = u64((hash ^ (hash >> 32n)) * 0xc2b2ae3d27d4eb4fn)
  hash = u64((hash ^ (hash >> 32n)) * 0x165667b19e3779f9n)
  return (lowest | (u64(hash ^ (hash >> 29n)) << 192n)).toString(16).padStart(64, '0')
}

test('a creation collides with existing storage of any origin (EIP-7610)', () => {
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
