import { describe, expect, test } from 'vitest'
import type { Hex } from '../eth/index.ts'
import { Deadline, OutOfTime } from './deadline.ts'
import { ALICE, contextOf, CONTRACT, ETHER, l1Config, Memory, message, slot } from './evm.fixture.ts'
import { executeTransaction } from './execute.ts'
import { World } from './world.ts'

const ENDLESS = '0x5b600056'
/** writes 1 to slot 0 and loops forever */
const WRITES_FIRST = '0x60016000555b600556'
const GAS = 2_000_000n
const PATIENT_MS = 60_000

test('check throws once the deadline has passed', () => {
  const patient = new Deadline(PATIENT_MS)
  patient.check()
  expect(patient.endMs - performance.now()).toBeGreaterThan(PATIENT_MS - 1_000)
  expect(() => new Deadline(0).check()).toThrow(OutOfTime)
})

describe('a call with a deadline', () => {
  test('that is not reached does not change the result', () => {
    const executed = run(worldOf(ENDLESS), new Deadline(PATIENT_MS))
    expect(executed.outcome).toEqual({ kind: 'halt', reason: 'out of gas' })
    expect(executed).toEqual(run(worldOf(ENDLESS)))
  })

  test('that passes leaves the world unchanged', () => {
    const world = worldOf(WRITES_FIRST)
    expect(() => run(world, new Deadline(0))).toThrow(OutOfTime)
    expect(world.storage(CONTRACT, slot(0))).toBe(0n)
    expect(world.nonce(ALICE)).toBe(0n)
    expect(world.balance(ALICE)).toBe(ETHER)
  })

  test("that passes throws geth's message", () => {
    const gas = 10_000_000_000n
    expect(() => run(worldOf(ENDLESS), new Deadline(20), gas)).toThrow('execution aborted (timeout = 0.02s)')
  })
})

function worldOf(code: Hex): World {
  return new World(new Memory({ [ALICE]: { balance: ETHER }, [CONTRACT]: { nonce: 1n, code } }))
}

/** With the options of a call: no fees and no gas cap. */
function run(world: World, deadline?: Deadline, gas = GAS) {
  const call = message({ to: CONTRACT, gas })
  const options = { skipFees: true, skipGasCap: true, ...(deadline === undefined ? undefined : { deadline }) }
  return executeTransaction(call, contextOf(l1Config('prague')), world, options)
}
