import { afterEach, describe, expect, it } from 'vitest'
import { Address, Hex } from '../eth/index.ts'
import { executeCall } from './call.ts'
import { Deadline } from './deadline.ts'
import { ALICE, BOB, CONTRACT, ETHER, Memory, contextOf, l1Config, message } from './evm.fixture.ts'
import { executeTransaction } from './execute.ts'
import { configureTier1, resetTier1 } from './jit/index.ts'
import { CONSOLE_BYTES_MAX, CONSOLE_CALLS_MAX } from './limits.ts'
import type { Executed } from './message.ts'
import { World } from './world.ts'

const CONSOLE = Address.from('0x000000000000000000636f6e736f6c652e6c6f67')
const PRAGUE = l1Config('prague')
const context = contextOf(PRAGUE)
/** Passes its call data to `to` by a static call. */
const forwardTo = (to: Address) => `365f5f375f5f365f73${to.slice(2)}5afa50`
const REVERT = '5f5ffd'
const DATA = '0x0102030405'

afterEach(resetTier1)

describe('calls to the console address are collected', () => {
  it('of a transaction', () => {
    expect(inputsOf(run({ [CONTRACT]: { code: `0x${forwardTo(CONSOLE)}${forwardTo(CONSOLE)}` } }))).toEqual([DATA, DATA])
  })

  it('of reverted frames, inner and outermost', () => {
    const inner = run({ [CONTRACT]: { code: `0x${forwardTo(BOB)}` }, [BOB]: { code: `0x${forwardTo(CONSOLE)}${REVERT}` } })
    expect(inner.outcome.kind).toBe('success')
    expect(inputsOf(inner)).toEqual([DATA])
    const outermost = run({ [CONTRACT]: { code: `0x${forwardTo(CONSOLE)}${REVERT}` } })
    expect(outermost.outcome.kind).toBe('revert')
    expect(inputsOf(outermost)).toEqual([DATA])
  })

  it('of a transaction to the address itself', () => {
    expect(inputsOf(run({}, CONSOLE))).toEqual([DATA])
  })

  it('of an eth_call', () => {
    const state = new Memory({ [CONTRACT]: { code: `0x${forwardTo(CONSOLE)}` } })
    const call = { from: ALICE, to: CONTRACT, data: Hex.toBytes(DATA), gas: 100_000 }
    const inputs = executeCall(call, context, state, new Deadline(60_000), (...[, , , , console]) => console?.inputs.map(Hex.fromBytes))
    expect(inputs).toEqual([DATA])
  })

  it('once in compiled code and in shadow mode', () => {
    for (const mode of ['on', 'shadow'] as const) {
      configureTier1({ mode })
      expect(inputsOf(run({ [CONTRACT]: { code: `0x${forwardTo(CONSOLE)}` } }))).toEqual([DATA])
    }
  })

  it('not if the address has code, and not for addresses that differ in one byte', () => {
    expect(run({ [CONTRACT]: { code: `0x${forwardTo(CONSOLE)}` }, [CONSOLE]: { code: '0x00' } }).console).toBeNull()
    for (const other of ['0x010000000000000000636f6e736f6c652e6c6f67', '0x000000000000000000636f6e736f6c652e6c6f68'] as const) {
      expect(run({ [CONTRACT]: { code: `0x${forwardTo(Address.from(other))}` } }).console).toBeNull()
    }
  })
})

it('costs the gas of a call to any account without code', () => {
  const gasOf = (to: Address) => run({ [CONTRACT]: { code: `0x${forwardTo(to)}${forwardTo(to)}` } }).gasUsed
  expect(gasOf(CONSOLE)).toBe(gasOf(Address.from('0x1100000000000000000000000000000000000011')))
})

it('collects a limited number of calls and of bytes', () => {
  /** calls the console with `size` bytes until the gas is used up */
  const loop = (size: string) => Hex.toBytes(`0x5b5f5f62${size}5f73${CONSOLE.slice(2)}5afa505f56`)
  const endless = (size: string) => run({ [CONTRACT]: { code: Hex.fromBytes(loop(size)) } }, CONTRACT, 16_000_000n).console
  const many = endless('000001')
  expect(many?.inputs.length).toBe(CONSOLE_CALLS_MAX)
  expect(many?.dropped).toBeGreaterThan(CONSOLE_CALLS_MAX)
  const large = endless('010000')
  expect(large?.inputs.length).toBe(CONSOLE_BYTES_MAX / 0x1_0000)
  expect(large?.dropped).toBeGreaterThan(100)
})

function run(accounts: Record<string, { readonly code: Hex }>, to = CONTRACT, gas = 200_000n): Executed {
  const world = new World(new Memory({ [ALICE]: { balance: ETHER }, ...accounts }))
  try {
    return executeTransaction(message({ to, data: Hex.toBytes(DATA), gas }), context, world)
  } finally {
    world.release()
  }
}

function inputsOf({ console }: Executed): readonly Hex[] | undefined {
  return console?.inputs.map(Hex.fromBytes)
}
