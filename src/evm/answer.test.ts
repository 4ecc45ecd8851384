import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Address, Hash, Hex } from '../eth/index.ts'
import { answer as heard } from './answer.ts'
import { Deadline, OutOfTime } from './deadline.ts'
import { EngineFull } from './engine.ts'
import { ALICE, BOB, COINBASE, CONTRACT, ETHER, GWEI, Memory, contextOf, l1Config, message, opConfig, slot } from './evm.fixture.ts'
import { executeTransaction } from './execute.ts'
import { configureTier1 } from './jit/index.ts'
import { UnsupportedFork } from './forks.ts'
import type { ChainConfig } from './forks.ts'
import { InvalidTransaction } from './refusal.ts'
import { INPUT, INPUT_END } from './runtime/layout.ts'
import { World } from './world.ts'

const PRAGUE = l1Config('prague')
const GAS = 200_000
const NO_DATA = new Uint8Array()
const push = (address: Address): string => `73${address.slice(2)}`
/** returns the word on top of the stack */
const RETURNS = '5f5260205ff3' as const

describe('a call that is only to be answered comes to what it comes to as a transaction', () => {
  it.each([
    ['nobody', '0x'],
    ['a word', `0x6007${RETURNS}`],
    ['call data', '0x365f5f37365ff3'],
    ['a revert', '0x60075f5260205ffd'],
    ['a halt', '0xfe'],
    ['a jump to nowhere', '0x600156'],
    ['all of its gas', '0x5b5f56'],
    ['its sender', `0x33${RETURNS}`],
    ['where it began', `0x32${RETURNS}`],
    ['no value', `0x34${RETURNS}`],
    ['no price', `0x3a${RETURNS}`],
    ['the gas that is left', `0x5a${RETURNS}`],
    ['the base fee that nobody pays', `0x48${RETURNS}`],
    ['a slot', `0x5f54${RETURNS}`],
    ['a slot that it has written', `0x60095f555f54${RETURNS}`],
    ['what a warm sender costs', `0x5a${push(ALICE)}31505a9003${RETURNS}`],
    ['what a warm target costs', `0x5a${push(CONTRACT)}31505a9003${RETURNS}`],
    ['what a warm coinbase costs', `0x5a${push(COINBASE)}31505a9003${RETURNS}`],
    ['what a cold account costs', `0x5a${push(BOB)}31505a9003${RETURNS}`],
    ['what it has logged', `0x5f5fa05a${RETURNS}`],
    ['the address of what it creates', `0x5f5f5ff0${RETURNS}`],
    ['what is left when it has ended itself', `0x33ff`],
    ['a precompile', `0x60075f5260205f60205f60045afa5f51${RETURNS}`],
    ['a blob that is not there', `0x5f49${RETURNS}`],
    ['the hash of a block', `0x60016103e70340${RETURNS}`],
  ] as const)('%s', (_, code) => {
    for (const config of [PRAGUE, l1Config('osaka'), l1Config('shanghai'), l1Config('london'), opConfig('isthmus')]) {
      expectSame({ [CONTRACT]: { nonce: 1n, code, storage: { 0: 5n } } }, { config })
    }
  })

  it('to a precompile, to an account without code, and to one that delegates', () => {
    const delegated = { code: `0xef0100${CONTRACT.slice(2)}` } as const
    const state = { [CONTRACT]: { code: `0x5a${push(CONTRACT)}31505a9003${RETURNS}` }, [BOB]: delegated } as const
    expectSame(state, { to: BOB })
    expectSame(state, { to: BOB, config: l1Config('cancun') })
    expectSame(state, { to: COINBASE, data: Uint8Array.of(1, 2, 3) })
    for (const last of ['2', '4', '6', '9', 'a'])
      expectSame({}, { to: `0x${last.padStart(40, '0')}` as Address, data: Uint8Array.of(1, 2) })
  })

  it('when it returns much', () => {
    const data = Uint8Array.from({ length: 100_000 }, (_, i) => i * 7)
    for (const end of ['f3', 'fd']) expectSame({ [CONTRACT]: { code: `0x365f5f37365f${end}` as Hex } }, { data, gas: 10_000_000 }) // digits
  })

  it('from a contract that creates in its own name', () => {
    const state = { [CONTRACT]: { nonce: 7n, code: `0x5f5f5ff0${RETURNS}` } } as const
    expectSame(state, { from: CONTRACT })
    expectSame({ [CONTRACT]: { ...state[CONTRACT], nonce: 2n ** 64n - 1n } }, { from: CONTRACT })
  })

  it('for code and data of any kind', () => {
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

it('leaves nothing behind for the next one', () => {
  // Slot 0 is one more each time, and so would be the answer.
  const state = new Memory({ [CONTRACT]: { code: `0x5f54600101805f55${RETURNS}`, storage: { 0: 5n } } })
  for (let times = 0; times < 3; times++) {
    expect(answer(question(), contextOf(PRAGUE), state, new Deadline(60_000)).output).toBe(slot(6))
  }
  const world = new World(state)
  expect([world.nonce(ALICE), world.storage(CONTRACT, slot(0))]).toEqual([0n, 5n])
  world.release()
})

it('hears nothing of the blobs, the price, the value and the moved precompiles of what ran before', () => {
  // Returns what the identity answers to 7, the first blob, the price and the value.
  const code = '0x60075f526020602060205f60045afa505f496040523a6060523460805260806020f3'
  const state = Object.assign(new Memory({ [ALICE]: { balance: ETHER }, [CONTRACT]: { code } }), { moment: {} })
  const world = new World(state)
  const { instance } = world
  const blob = Hash.from(`0x01${'00'.repeat(31)}`)
  const paid = message({ type: 3, to: CONTRACT, value: 9n, blobVersionedHashes: [blob], maxFeePerBlobGas: 10n })
  const moved = { movedPrecompiles: new Map([[BOB, Address.fromBigint(4n)]]) }
  const { output } = executeTransaction(paid, contextOf(PRAGUE), world, moved)
  expect(wordsOf(Hex.fromBytes(output))).toEqual([0n, BigInt(blob), 2n * GWEI, 9n])
  world.release()
  expect(wordsOf(answer(question(), contextOf(PRAGUE), state, new Deadline(60_000)).output)).toEqual([7n, 0n, 0n, 0n])
  const next = new World(state)
  expect(next.instance).toBe(instance)
  next.release()
})

it('refuses gas that does not pay for the data, in the words of a transaction', () => {
  const state = new Memory({})
  const data = new Uint8Array(10_000).fill(1)
  for (const gas of [20_999, 21_000, 200_000]) {
    expect(() => answer(question({ data, gas }), contextOf(PRAGUE), state, new Deadline(60_000))).toThrow(InvalidTransaction)
    const words = thrown(() => executed(state, { data, gas }, PRAGUE))
    expect(words).toMatch(gas === 200_000 ? /^insufficient gas for floor data gas cost: have 200000, want/ : /^intrinsic gas too low/)
    expect(thrown(() => answer(question({ data, gas }), contextOf(PRAGUE), state, new Deadline(60_000)))).toBe(words)
  }
})

it('ends when its time is up, at once when it was up before', () => {
  const state = new Memory({ [CONTRACT]: { code: '0x5b5f56' } })
  expect(() => answer(question({ gas: 2 ** 50 }), contextOf(PRAGUE), state, new Deadline(20))).toThrow(OutOfTime)
  expect(() => answer(question({ to: BOB }), contextOf(PRAGUE), state, new Deadline(5, 5))).toThrow(OutOfTime)
})

it('ends when its time is up, whatever a precompile returned to it before', () => {
  const state = new Memory({ [CONTRACT]: { code: '0x5f5f60205f60045afa505b600a56' } })
  expect(() => answer(question({ gas: 2 ** 50 }), contextOf(PRAGUE), state, new Deadline(20))).toThrow(OutOfTime)
})

it('refuses what the engine has no room for, and blocks before Fjord', () => {
  const state = new Memory({})
  const data = new Uint8Array(INPUT_END - INPUT + 1)
  expect(() => answer(question({ data, gas: 2 ** 50 }), contextOf(PRAGUE), state, new Deadline(60_000))).toThrow(EngineFull)
  expect(() => answer(question(), contextOf(opConfig('ecotone')), state, new Deadline(60_000))).toThrow(UnsupportedFork)
})

it('is interpreted once compiled code is switched off', () => {
  // Readers of one moment share an instance, and with it what is compiled there.
  const state = Object.assign(new Memory({ [CONTRACT]: { code: `0x5b6007${RETURNS}` } }), { moment: {} })
  const ranCompiled = () => {
    const world = new World(state)
    const ran = [...(world.instance.tier?.ranLast() ?? [])]
    world.release()
    return ran.length
  }
  try {
    configureTier1({ mode: 'on', promoteAtGas: 0n })
    executed(state, {}, PRAGUE)
    expect(ranCompiled()).toBe(1)
    configureTier1({ mode: 'off' })
    expect(answer(question(), contextOf(PRAGUE), state, new Deadline(60_000)).output).toBe(slot(7))
    expect(ranCompiled()).toBe(0)
  } finally {
    configureTier1({ mode: 'off', promoteAtGas: 20_000_000n })
  }
})

function wordsOf(output: Hex): bigint[] {
  return (output.slice(2).match(/.{64}/g) ?? []).map((word) => BigInt(`0x${word}`))
}

interface Asked {
  readonly from?: Address
  readonly to?: Address
  readonly data?: Uint8Array
  readonly gas?: number
}

function question({ from = ALICE, to = CONTRACT, data = NO_DATA, gas = GAS }: Asked = {}) {
  return { from, to, data, gas }
}

function expectSame(
  state: ConstructorParameters<typeof Memory>[0],
  { config = PRAGUE, ...asked }: Asked & { readonly config?: ChainConfig },
): void {
  const memory = new Memory({ [ALICE]: { balance: ETHER }, ...state })
  const wanted = attempt(() => {
    const { outcome, output } = executed(memory, asked, config)
    return { outcome, output: Hex.fromBytes(output) }
  })
  expect(attempt(() => answer(question(asked), contextOf(config, FREE), memory, new Deadline(60_000)))).toEqual(wanted)
}

const FREE = { baseFeePerGas: 0n }

/** What is heard, read at once. */
function answer(...[asked, context, state, deadline]: DropLast<Parameters<typeof heard>>) {
  return heard(asked, context, state, deadline, (outcome, bytes, at, size) => ({ outcome, output: Hex.fromRange(bytes, at, size) }))
}

type DropLast<T extends readonly unknown[]> = T extends [...infer Rest, unknown] ? Rest : never

function executed(state: Memory, asked: Asked, config: ChainConfig) {
  const { gas, ...call } = question(asked)
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
