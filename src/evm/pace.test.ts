import { describe, expect, test } from 'vitest'
import type { Hex } from '../eth/index.ts'
import { compressBlake2, compressBlake2InSlices } from './blake2.ts'
import { ALICE, contextOf, CONTRACT, ETHER, l1Config, Memory, message, slot } from './evm.fixture.ts'
import { executeTransaction } from './execute.ts'
import { OutOfTime, Pace } from './pace.ts'
import { World } from './world.ts'

const ENDLESS = '0x5b600056'
/** writes 1 to slot 0 and never ends */
const WRITES_FIRST = '0x60016000555b600556'
const GAS = 2_000_000n
const PATIENT_MS = 60_000

describe('a call that is paced', () => {
  test('lets others have their turns, and comes to the same', async () => {
    let turns = 0
    let running = true
    const other = () => {
      turns++
      if (running) setImmediate(other)
    }
    setImmediate(other)
    const paced = await run(worldOf(ENDLESS), new Pace(PATIENT_MS))
    running = false
    expect(turns).toBeGreaterThan(3)
    expect(paced.outcome).toEqual({ kind: 'halt', reason: 'out of gas' })
    expect(paced).toEqual(await run(worldOf(ENDLESS)))
  })

  test('runs beside others, each in its own world', async () => {
    const worlds = [worldOf(ENDLESS), worldOf(ENDLESS), worldOf(WRITES_FIRST)]
    const executed = await Promise.all(worlds.map((world) => run(world, new Pace(PATIENT_MS))))
    expect(executed.map(({ gasUsed }) => gasUsed)).toEqual([GAS, GAS, GAS])
  })

  test('may compress with BLAKE2b beside others', async () => {
    const rounds = (count: number) => Uint8Array.from({ length: 213 }, (_, i) => (i < 4 ? (count >>> (24 - 8 * i)) & 0xff : i % 2))
    const inputs = [90_000, 70_001].map(rounds)
    const slow = await Promise.all(inputs.map((input) => compressBlake2InSlices(input, () => Promise.resolve())))
    expect(slow).toEqual(inputs.map(compressBlake2))
  })

  test('that takes too long leaves nothing behind', async () => {
    const world = worldOf(WRITES_FIRST)
    await expect(run(world, new Pace(0))).rejects.toThrow(OutOfTime)
    expect(world.storage(CONTRACT, slot(0))).toBe(0n)
    expect(world.nonce(ALICE)).toBe(0n)
    expect(world.balance(ALICE)).toBe(ETHER)
  })

  test('that takes too long is told so in the words of geth', async () => {
    await expect(run(worldOf(ENDLESS), new Pace(20))).rejects.toThrow('execution aborted (timeout = 0.02s)')
  })
})

function worldOf(code: Hex): World {
  return new World(new Memory({ [ALICE]: { balance: ETHER }, [CONTRACT]: { nonce: 1n, code } }))
}

function run(world: World, pace?: Pace) {
  const call = message({ to: CONTRACT, gas: GAS })
  return executeTransaction(call, contextOf(l1Config('prague')), world, pace === undefined ? {} : { pace })
}
