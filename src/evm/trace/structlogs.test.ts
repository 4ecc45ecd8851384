import { describe, expect, test } from 'vitest'
import type { Hex } from '../../eth/index.ts'
import { ALICE, BOB, CONTRACT, contextOf, ETHER, l1Config, Memory, message, slot } from '../evm.fixture.ts'
import { executeTransaction } from '../execute.ts'
import type { L1Fork } from '../forks.ts'
import type { Message } from '../message.ts'
import { World } from '../world.ts'
import { TraceBudget, TraceTooLarge } from './budget.ts'
import { structLogTrace } from './structlogs.ts'

interface Step {
  readonly pc: number
  readonly op: string
  readonly gas: number
  readonly gasCost: number
  readonly depth: number
  readonly error?: string
  readonly refund?: number
  readonly storage?: Readonly<Record<string, string>>
}

const OPTIONS = { disableStorage: false, disableStack: true, enableMemory: false, enableReturnData: false, limit: 0 }
const BUDGET_BYTES = 1 << 20
const BOB_WORD = `73${BOB.slice(2)}`
/** Calls BOB with 1,000 gas and no data. */
const CALLS_BOB = `0x5f5f5f5f5f${BOB_WORD}6103e8f100`
/** Creates a contract with empty init code. */
const CREATES = '0x5f5f5ff000'
const COLD_ACCOUNT = 2_600

function run(code: string, more: Partial<Message> = {}, fork: L1Fork = 'prague', bytes = BUDGET_BYTES) {
  const before = new Memory({
    [ALICE]: { balance: ETHER },
    [BOB]: { nonce: 1n, code: '0x600100' },
    [CONTRACT]: { nonce: 1n, balance: 5n, code: code as Hex, storage: { 7: 1n } },
  })
  const context = contextOf(l1Config(fork))
  const request = message({ to: CONTRACT, ...more })
  const world = new World(before, { traced: true })
  const { tracer, json } = structLogTrace(
    { message: request, context, stateBefore: before, state: world, location: null, budget: new TraceBudget(bytes) },
    OPTIONS,
  )
  const executed = executeTransaction(request, context, world, { tracer, skipFees: true })
  return (JSON.parse(json(executed)) as { structLogs: Step[] }).structLogs
}

function step(steps: readonly Step[], op: string): Step {
  return steps.find((each) => each.op === op) ?? expect.fail(`no ${op} among ${steps.map((each) => each.op).join(' ')}`)
}

describe('gasCost', () => {
  test('is the gas difference to the next opcode', () => {
    const steps = run('0x600760085201')
    expect(steps.map(({ op, gasCost }) => [op, gasCost])).toEqual([
      ['PUSH1', 3],
      ['PUSH1', 3],
      ['MSTORE', 9],
      ['ADD', 3],
    ])
  })

  test('includes the gas passed to a call', () => {
    const steps = run(CALLS_BOB)
    expect(step(steps, 'CALL').gasCost).toBe(COLD_ACCOUNT + 1_000)
    expect(steps.map(({ op, depth }) => `${op} ${depth}`).slice(-4)).toEqual(['CALL 1', 'PUSH1 2', 'STOP 2', 'STOP 1'])
    expect(steps.at(-3)?.gas).toBe(1_000)
    expect(steps.at(-1)?.gas).toBe(step(steps, 'CALL').gas - COLD_ACCOUNT - 3)
  })

  test('excludes the gas passed to a creation', () => {
    expect(step(run(CREATES), 'CREATE').gasCost).toBe(32_000)
  })

  test('of RETURN is the memory expansion without the code storage', () => {
    // Deploys 33 zero bytes.
    const steps = run('0x', { to: null, data: Uint8Array.from([0x60, 33, 0x5f, 0xf3]) })
    expect(step(steps, 'RETURN').gasCost).toBe(6)
  })

  test('of REVERT is the memory expansion', () => {
    expect(step(run('0x60215ffd'), 'REVERT').gasCost).toBe(6)
  })

  test('of SELFDESTRUCT is known at the end of the frame', () => {
    expect(step(run(`0x${BOB_WORD}ff`), 'SELFDESTRUCT').gasCost).toBe(5_000 + COLD_ACCOUNT)
  })

  test('is the required gas when it exceeds the remaining gas', () => {
    const [push, last] = run('0x62ffffff51', { gas: 30_000n })
    expect(push?.error).toBeUndefined()
    expect(last).toMatchObject({ op: 'MLOAD', error: 'out of gas' })
    expect(last?.gasCost).toBeGreaterThan(last?.gas ?? 0)
  })
})

describe('error', () => {
  test('is shown for an opcode that did not execute', () => {
    expect(run('0x01').at(-1)).toMatchObject({ op: 'ADD', error: 'stack underflow (0 <=> 2)' })
    expect(run('0x6001600755', { gas: 21_000n + 2_306n }).at(-1)).toMatchObject({
      op: 'SSTORE',
      error: 'out of gas: not enough gas for reentrancy sentry',
    })
  })

  test('is not shown for an opcode that failed during execution', () => {
    for (const code of ['0xfe', '0x600056', '0x60015f5f3e']) expect(run(code).at(-1)).not.toHaveProperty('error')
  })
})

describe('an SSTORE', () => {
  test('shows its refund and the slots touched so far', () => {
    const steps = run('0x6007545f600755600160085500')
    const [first, second] = steps.filter(({ op }) => op === 'SSTORE')
    expect(step(steps, 'SLOAD').storage).toEqual({ [slot(7)]: slot(1) })
    expect(first).toMatchObject({ refund: 4_800, storage: { [slot(7)]: slot(0) } })
    expect(second).toMatchObject({ refund: 4_800, storage: { [slot(7)]: slot(0), [slot(8)]: slot(1) } })
  })
})

test('an implicit STOP at the end of the code is logged', () => {
  expect(run('0x6001').at(-1)).toMatchObject({ pc: 2, op: 'STOP', gasCost: 0 })
})

describe('a trace that is too large', () => {
  test('aborts the execution and does not affect the next one', () => {
    const endless = '0x5b5f56'
    expect(() => run(endless, {}, 'prague', 1_000)).toThrow(TraceTooLarge)
    expect(run(CALLS_BOB)).toEqual(run(CALLS_BOB))
    expect(run(endless, { gas: 21_100n }).at(-1)?.error).toBe('out of gas')
  })

  test('leaves the world unchanged', () => {
    const before = new Memory({ [ALICE]: { balance: ETHER }, [CONTRACT]: { nonce: 1n, code: '0x600160005560015b600756' } })
    const world = new World(before, { traced: true })
    const context = contextOf(l1Config('prague'))
    const request = message({ to: CONTRACT })
    const { tracer } = structLogTrace(
      { message: request, context, stateBefore: before, state: world, location: null, budget: new TraceBudget(1_000) },
      OPTIONS,
    )
    expect(() => executeTransaction(request, context, world, { tracer })).toThrow(TraceTooLarge)
    expect(world.storage(CONTRACT, slot(0))).toBe(0n)
    expect(world.nonce(ALICE)).toBe(0n)
    expect(world.balance(ALICE)).toBe(ETHER)
  })
})
