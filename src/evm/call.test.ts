import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Address, Hash, Hex } from '../eth/index.ts'
import { executeCall as executeCallWith } from './call.ts'
import { Deadline, OutOfTime } from './deadline.ts'
import { EngineOutOfMemory } from './engine.ts'
import { ALICE, BOB, COINBASE, CONTRACT, ETHER, GWEI, Memory, contextOf, l1Config, message, opConfig, slot } from './evm.fixture.ts'
import { executeTransaction } from './execute.ts'
import { configureTier1, resetTier1 } from './jit/index.ts'
import { UnsupportedFork } from './forks.ts'
import type { ChainConfig } from './forks.ts'
import { InvalidTransaction } from './invalidtransaction.ts'
import { INPUT, INPUT_END } from './runtime/layout.ts'
import { World } from './world.ts'

const PRAGUE = l1Config('prague')
const GAS = 200_000
const NO_DATA = new Uint8Array()
const push = (address: Address): string => `73${address.slice(2)}`
/** returns the word on top of the stack */
const RETURNS = '5f5260205ff3' as const

describe('executeCall returns what executeTransaction returns', () => {
  it.each([
    ['no code', '0x'],
    ['a constant', `0x6007${RETURNS}`],
    ['call data', '0x365f5f37365ff3'],
    ['a revert', '0x60075f5260205ffd'],
    ['a halt', '0xfe'],
    ['an invalid jump', '0x600156'],
    ['an infinite loop', '0x5b5f56'],
    ['CALLER', `0x33${RETURNS}`],
    ['ORIGIN', `0x32${RETURNS}`],
    ['CALLVALUE', `0x34${RETURNS}`],
    ['GASPRICE', `0x3a${RETURNS}`],
    ['GAS', `0x5a${RETURNS}`],
    ['BASEFEE', `0x48${RETURNS}`],
    ['a slot', `0x5f54${RETURNS}`],
    ['a written slot', `0x60095f555f54${RETURNS}`],
    ['the cost of the warm sender', `0x5a${push(ALICE)}31505a9003${RETURNS}`],
    ['the cost of the warm target', `0x5a${push(CONTRACT)}31505a9003${RETURNS}`],
    ['the cost of the warm coinbase', `0x5a${push(COINBASE)}31505a9003${RETURNS}`],
    ['the cost of a cold account', `0x5a${push(BOB)}31505a9003${RETURNS}`],
    ['a log', `0x5f5fa05a${RETURNS}`],
    ['the address of a creation', `0x5f5f5ff0${RETURNS}`],
    ['SELFDESTRUCT', `0x33ff`],
    ['a precompile', `0x60075f5260205f60205f60045afa5f51${RETURNS}`],
    ['BLOBHASH without blobs', `0x5f49${RETURNS}`],
    ['BLOCKHASH', `0x60016103e70340${RETURNS}`],
  ] as const)('%s', (_, code) => {
    for (const config of [PRAGUE, l1Config('osaka'), l1Config('shanghai'), l1Config('london'), opConfig('isthmus')]) {
      expectSame({ [CONTRACT]: { nonce: 1n, code, storage: { 0: 5n } } }, { config })
    }
  })

  it('for a precompile, an account without code and a delegating account', () => {
    const delegated = { code: `0xef0100${CONTRACT.slice(2)}` } as const
    const state = { [CONTRACT]: { code: `0x5a${push(CONTRACT)}31505a9003${RETURNS}` }, [BOB]: delegated } as const
    expectSame(state, { to: BOB })
    expectSame(state, { to: BOB, config: l1Config('cancun') })
    expectSame(state, { to: COINBASE, data: Uint8Array.of(1, 2, 3) })
    for (const last of ['2', '4', '6', '9', 'a'])
      expectSame({}, { to: `0x${last.padStart(40, '0')}` as Address, data: Uint8Array.of(1, 2) })
  })

  it('for large output', () => {
    const data = Uint8Array.from({ length: 100_000 }, (_, i) => i * 7)
    for (const end of ['f3', 'fd']) expectSame({ [CONTRACT]: { code: `0x365f5f37365f${end}` as Hex } }, { data, gas: 10_000_000 }) // digits
  })

  it('for a call from a contract that creates', () => {
    const state = { [CONTRACT]: { nonce: 7n, code: `0x5f5f5ff0${RETURNS}` } } as const
    expectSame(state, { from: CONTRACT })
    expectSame({ [CONTRACT]: { ...state[CONTRACT], nonce: 2n ** 64n - 1n } }, { from: CONTRACT })
  })

  it('for random code and data', () => {
    const codes = fc.uint8Array({ maxLength: 60 })
    const likely = fc.array(
      fc.constantFrom(0x5f, 0x60, 0x01, 0x33, 0x54, 0x55, 0x52, 0x51, 0x20, 0x80, 0x90, 0x31, 0xf1, 0xfa, 0x5a, 0xf3, 0xfd),
    )
    fc.assert(
      fc.property(
        fc.oneof(codes, likely),
        fc.uint8Array({ maxLength: 80 }),
        fc.integer({ min: 21_000, max: 90_000 }),
        (code, data, gas) => {
          expectSame({ [CONTRACT]: { code: Hex.fromBytes(Uint8Array.from(code)), storage: { 0: 3n } } }, { data, gas })
        },
      ),
      { numRuns: 300, seed: 12 },
    )
  })
})

it('has no side effects on the next call', () => {
  // Slot 0 increments on each call; the output would show a side effect.
  const state = new Memory({ [CONTRACT]: { code: `0x5f54600101805f55${RETURNS}`, storage: { 0: 5n } } })
  for (let times = 0; times < 3; times++) {
    expect(executeCall(callMessage(), contextOf(PRAGUE), state, new Deadline(60_000)).output).toBe(slot(6))
  }
  const world = new World(state)
  expect([world.nonce(ALICE), world.storage(CONTRACT, slot(0))]).toEqual([0n, 5n])
  world.release()
})

it('does not see blobs, gas price, value and moved precompiles of an earlier transaction', () => {
  // Returns the output of the identity precompile for 7, the first blob hash, the gas price and the value.
  const code = '0x60075f526020602060205f60045afa505f496040523a6060523460805260806020f3'
  const state = Object.assign(new Memory({ [ALICE]: { balance: ETHER }, [CONTRACT]: { code } }), { identity: {} })
  const world = new World(state)
  const { instance } = world
  const blob = Hash.from(`0x01${'00'.repeat(31)}`)
  const paid = message({ type: 3, to: CONTRACT, value: 9n, blobVersionedHashes: [blob], maxFeePerBlobGas: 10n })
  const moved = { movedPrecompiles: new Map([[BOB, Address.fromBigint(4n)]]) }
  const { output } = executeTransaction(paid, contextOf(PRAGUE), world, moved)
  expect(wordsOf(Hex.fromBytes(output))).toEqual([0n, BigInt(blob), 2n * GWEI, 9n])
  world.release()
  expect(wordsOf(executeCall(callMessage(), contextOf(PRAGUE), state, new Deadline(60_000)).output)).toEqual([7n, 0n, 0n, 0n])
  const next = new World(state)
  expect(next.instance).toBe(instance)
  next.release()
})

it('rejects gas below the intrinsic gas with the message of a transaction', () => {
  const state = new Memory({})
  const data = new Uint8Array(10_000).fill(1)
  for (const gas of [20_999, 21_000, 200_000]) {
    expect(() => executeCall(callMessage({ data, gas }), contextOf(PRAGUE), state, new Deadline(60_000))).toThrow(InvalidTransaction)
    const words = thrown(() => executed(state, { data, gas }, PRAGUE))
    expect(words).toMatch(gas === 200_000 ? /^insufficient gas for floor data gas cost: have 200000, want/ : /^intrinsic gas too low/)
    expect(thrown(() => executeCall(callMessage({ data, gas }), contextOf(PRAGUE), state, new Deadline(60_000)))).toBe(words)
  }
})

it('times out, immediately if the deadline has passed already', () => {
  const state = new Memory({ [CONTRACT]: { code: '0x5b5f56' } })
  expect(() => executeCall(callMessage({ gas: 2 ** 50 }), contextOf(PRAGUE), state, new Deadline(20))).toThrow(OutOfTime)
  expect(() => executeCall(callMessage({ to: BOB }), contextOf(PRAGUE), state, new Deadline(5, 5))).toThrow(OutOfTime)
})

it('times out after a precompile call', () => {
  const state = new Memory({ [CONTRACT]: { code: '0x5f5f60205f60045afa505b600a56' } })
  expect(() => executeCall(callMessage({ gas: 2 ** 50 }), contextOf(PRAGUE), state, new Deadline(20))).toThrow(OutOfTime)
})

it('throws EngineOutOfMemory, and UnsupportedFork before Fjord', () => {
  const state = new Memory({})
  const data = new Uint8Array(INPUT_END - INPUT + 1)
  expect(() => executeCall(callMessage({ data, gas: 2 ** 50 }), contextOf(PRAGUE), state, new Deadline(60_000))).toThrow(EngineOutOfMemory)
  expect(() => executeCall(callMessage(), contextOf(opConfig('ecotone')), state, new Deadline(60_000))).toThrow(UnsupportedFork)
})

it('runs compiled as the configuration of its chain says, also beside other chains of the process', () => {
  const state = Object.assign(new Memory({ [CONTRACT]: { code: `0x5b6007${RETURNS}` } }), { identity: {} })
  const ranCompiled = (tier1: ChainConfig['tier1']) => {
    const config = { ...PRAGUE, ...(tier1 === undefined ? {} : { tier1 }) }
    expect(executeCall(callMessage(), contextOf(config), state, new Deadline(60_000)).output).toBe(slot(7))
    const world = new World(state)
    const ran = [...(world.instance.tier?.ranInLastMessage() ?? [])]
    world.release()
    return ran.length
  }
  try {
    configureTier1({ promoteAtGas: 0n })
    expect([undefined, 'on', 'off', 'on', undefined].map((tier1) => ranCompiled(tier1 as ChainConfig['tier1']))).toEqual([1, 1, 0, 1, 1])
  } finally {
    resetTier1()
  }
})

it('is interpreted after Tier 1 is switched off', () => {
  // Readers with the same identity share an instance and its compiled code.
  const state = Object.assign(new Memory({ [CONTRACT]: { code: `0x5b6007${RETURNS}` } }), { identity: {} })
  const ranCompiled = () => {
    const world = new World(state)
    const ran = [...(world.instance.tier?.ranInLastMessage() ?? [])]
    world.release()
    return ran.length
  }
  try {
    configureTier1({ mode: 'on', promoteAtGas: 0n })
    executed(state, {}, PRAGUE)
    expect(ranCompiled()).toBe(1)
    configureTier1({ mode: 'off' })
    expect(executeCall(callMessage(), contextOf(PRAGUE), state, new Deadline(60_000)).output).toBe(slot(7))
    expect(ranCompiled()).toBe(0)
  } finally {
    resetTier1()
  }
})

function wordsOf(output: Hex): bigint[] {
  return (output.slice(2).match(/.{64}/g) ?? []).map((word) => BigInt(`0x${word}`))
}

interface CallChanges {
  readonly from?: Address
  readonly to?: Address
  readonly data?: Uint8Array
  readonly gas?: number
}

function callMessage({ from = ALICE, to = CONTRACT, data = NO_DATA, gas = GAS }: CallChanges = {}) {
  return { from, to, data, gas }
}

function expectSame(
  state: ConstructorParameters<typeof Memory>[0],
  { config = PRAGUE, ...request }: CallChanges & { readonly config?: ChainConfig },
): void {
  const memory = new Memory({ [ALICE]: { balance: ETHER }, ...state })
  const expected = attempt(() => {
    const { outcome, output } = executed(memory, request, config)
    return { outcome, output: Hex.fromBytes(output) }
  })
  expect(attempt(() => executeCall(callMessage(request), contextOf(config, FREE), memory, new Deadline(60_000)))).toEqual(expected)
}

const FREE = { baseFeePerGas: 0n }

/** Copies the result before it becomes invalid. */
function executeCall(...[request, context, state, deadline]: DropLast<Parameters<typeof executeCallWith>>) {
  return executeCallWith(request, context, state, deadline, (outcome, bytes, at, size) => ({
    outcome,
    output: Hex.fromRange(bytes, at, size),
  }))
}

type DropLast<T extends readonly unknown[]> = T extends [...infer Rest, unknown] ? Rest : never

function executed(state: Memory, request: CallChanges, config: ChainConfig) {
  const { gas, ...call } = callMessage(request)
  const free = message({ ...call, gas: BigInt(gas), maxFeePerGas: 0n, maxPriorityFeePerGas: 0n })
  const world = new World(state)
  try {
    return executeTransaction(free, contextOf(config, FREE), world, {
      skipNonce: true,
      skipFees: true,
      skipGasCap: true,
      skipLogs: true,
    })
  } finally {
    world.release()
  }
}

function attempt<T>(work: () => T): T | string {
  try {
    return work()
  } catch (error) {
    return `${(error as Error).name}: ${(error as Error).message}` // nothing else is thrown here
  }
}

function thrown(work: () => unknown): string {
  const outcome = attempt(work)
  return typeof outcome === 'string' ? outcome.replace(/^\w+: /, '') : 'nothing was thrown'
}
