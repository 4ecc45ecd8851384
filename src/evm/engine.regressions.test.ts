import { describe, expect, test } from 'vitest'
import { Address, type Hex } from '../eth/index.ts'
import { runFrame } from './engine.ts'
import { ALICE, contextOf, CONTRACT, ETHER, l1Config, Memory } from './evm.fixture.ts'
import type { L1Fork } from './forks.ts'
import type { Frame, FrameResult } from './frame.ts'
import { World } from './world.ts'

/** Minimised findings of the random programs in test/evm/fuzz. */
const DELEGATED = Address.from('0xde1e000000000000000000000000000000000004')
const RIPEMD_160 = Address.fromBigint(3n)
const MOVED = Address.from('0xdead000000000000000000000000000000000005')

function run(code: Hex, fork: L1Fork, changes: Partial<Frame> = {}): FrameResult {
  const designator = `0xef0100${DELEGATED.slice(2)}` as Hex // 23 bytes
  const world = new World(
    new Memory({ [ALICE]: { balance: ETHER }, [CONTRACT]: { nonce: 1n, code }, [DELEGATED]: { nonce: 1n, code: designator } }),
  )
  const frame: Frame = {
    caller: ALICE,
    to: CONTRACT,
    data: new Uint8Array(),
    value: 0n,
    gas: 400_000n,
    gasPrice: 1n,
    blobVersionedHashes: [],
    warm: [ALICE, CONTRACT],
    accessList: [],
    movedPrecompiles: null,
    maskedPrecompiles: null,
    deadline: null,
    tracer: null,
    ...changes,
  }
  world.beginTransaction()
  const result = runFrame(frame, contextOf(l1Config(fork)), world)
  world.release()
  return result
}

/** Five zeros, the address, 100 gas, CALL: 5 × 2 + 2 × 3. */
const callOf = (address: Address): Hex => `0x5f5f5f5f5f73${address.slice(2)}6064f1`
const PUSHES = 5n * 2n + 2n * 3n
const [COLD, WARM] = [2_600n, 100n]

describe('regressions', () => {
  test('a call of an account that delegates to itself pays for two accesses', () => {
    // EIP-7702: the designator runs as code, 0xef, and burns the 100 gas.
    expect(run(callOf(DELEGATED), 'prague').gasUsed).toBe(PUSHES + COLD + WARM + 100n)
  })

  test('before Prague a delegation costs nothing', () => {
    expect(run(callOf(DELEGATED), 'cancun').gasUsed).toBe(PUSHES + COLD + 100n)
  })

  test('the new address of a moved precompile is cold, the old one stays warm', () => {
    const movedPrecompiles = new Map([[MOVED, Address.fromBigint(4n)]])
    expect(run(callOf(MOVED), 'prague', { movedPrecompiles }).gasUsed).toBe(PUSHES + COLD + 15n)
    expect(run(callOf(Address.fromBigint(4n)), 'prague', { movedPrecompiles }).gasUsed).toBe(PUSHES + WARM)
  })

  test('a new world does not inherit touched accounts of the previous world in its instance', () => {
    const before = new Memory({ [RIPEMD_160]: {} })
    const now = Object.assign(new Memory({ [RIPEMD_160]: { nonce: 1n } }), { identity: {} })
    // Its touch survives the revert of a release. Repeated so that a used instance is leased again.
    for (let times = 0; times < 8; times++) {
      const touching = new World(before)
      touching.setBalance(RIPEMD_160, 0n)
      touching.release()
    }
    const world = new World(now)
    world.removeTouchedEmpty()
    expect(world.account(RIPEMD_160)?.nonce).toBe(1n)
    world.release()
    const next = new World(now)
    expect(next.account(RIPEMD_160)?.nonce).toBe(1n)
    next.release()
  })
})
