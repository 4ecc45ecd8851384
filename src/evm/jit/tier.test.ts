import { afterEach, describe, expect, test } from 'vitest'
import { Address, Hash, Hex } from '../../eth/index.ts'
import { Deadline, OutOfTime } from '../deadline.ts'
import { ALICE, CONTRACT, contextOf, ETHER, l1Config, Memory, message } from '../evm.fixture.ts'
import { executeTransaction } from '../execute.ts'
import type { L1Fork } from '../forks.ts'
import { noopTrace } from '../trace/index.ts'
import { World } from '../world.ts'
import { compile } from './compile.ts'
import { markMiscompiled, moduleCacheUsage, whenIdle } from './modulecache.ts'
import { configureTier1, resetTier1, runInShadowMode } from './index.ts'
import { MODULES_MAX } from './limits.ts'
import { code, RETURN_TOP, word } from './tiers.fixture.ts'

afterEach(resetTier1)

/** Counts from the call data to 0, 26 gas per round, and returns `id`. */
function countdown(id: number): Uint8Array {
  return code('5f35', '5b', '6001', '90', '03', '80', '6002', '57', '50', 0x61, id >> 8, id & 0xff, RETURN_TOP)
}

function worldOf(codes: readonly Uint8Array[], options?: { readonly traced: boolean }): World {
  const contracts = codes.map((each, i) => [at(i), { nonce: 1n, code: Hex.fromBytes(each) }] as const)
  return new World(new Memory({ [ALICE]: { balance: ETHER }, ...Object.fromEntries(contracts) }), options)
}

function at(index: number): Address {
  return Address.fromBigint(BigInt(CONTRACT) + BigInt(index))
}

interface Changes {
  readonly index?: number
  readonly rounds?: number
  readonly fork?: L1Fork
  readonly deadline?: Deadline
  readonly gas?: bigint
}

function call(world: World, { index = 0, rounds = 10, fork = 'osaka', deadline, gas = 10_000_000n }: Changes = {}) {
  const context = contextOf(l1Config(fork), { gasLimit: 10n ** 15n })
  const request = message({ to: at(index), gas, data: word(BigInt(rounds)).subarray(1), nonce: world.nonce(ALICE) })
  const options = { skipFees: true, skipGasCap: true, ...(deadline === undefined ? {} : { deadline }) }
  return executeTransaction(request, context, world, options)
}

/** Number of codes that ran compiled in the last message. */
function compiled(world: World): number {
  return [...(world.instance.tier?.ranInLastMessage() ?? [])].length
}

describe('compiled code', () => {
  test('is interpreted until it has used 20 Mgas', async () => {
    const world = worldOf([countdown(1)])
    const ran = []
    for (let i = 0; i < 5; i++) {
      call(world, { rounds: 300_000 }) // 7.8 Mgas
      ran.push(compiled(world))
      await whenIdle()
    }
    expect(ran).toEqual([0, 0, 0, 0, 1])
    world.release()
  })

  test('is compiled in the background after enough gas over all calls', async () => {
    configureTier1({ mode: 'on', promoteAtGas: 100_000n })
    const world = worldOf([countdown(2)])
    const ran = []
    for (let i = 0; i < 6; i++) {
      expect(BigInt(Hash.from(call(world, { rounds: 1_000 }).output))).toBe(2n)
      ran.push(compiled(world))
      await whenIdle()
    }
    expect(ran).toEqual([0, 0, 0, 0, 0, 1])
    world.release()
  })

  test('is compiled in slices, between which other work runs', async () => {
    configureTier1({ mode: 'on', promoteAtGas: 1_000n })
    // Two thousand functions: 5b 6001 50 each.
    const long = code(
      '5f35',
      '5b',
      '6001',
      '90',
      '03',
      '80',
      '6002',
      '57',
      '50',
      ...Array.from({ length: 2_000 }, () => '5b600150'),
      '6007',
      RETURN_TOP,
    )
    const world = worldOf([long])
    for (let i = 0; i < 3; i++) call(world, { rounds: 1_000 })
    let turns = 0
    const timer = setInterval(() => turns++, 0)
    await whenIdle()
    clearInterval(timer)
    expect(turns).toBeGreaterThan(2)
    call(world)
    expect(compiled(world)).toBe(1)
    world.release()
  })

  test('is promoted by its own gas without that of its callees', async () => {
    configureTier1({ mode: 'on', promoteAtGas: 50_000n })
    // passes its call data on to the next contract
    const proxy = code('5f355f52', '60205f60205f5f', 0x73, at(1).slice(2), '5a', 'f1', '50', '60205ff3')
    const world = worldOf([proxy, countdown(3)])
    for (let i = 0; i < 5; i++) {
      call(world, { rounds: 1_000 })
      await whenIdle()
    }
    expect(compiled(world)).toBe(1)
    world.release()
  })

  test('excludes init code and traced messages', () => {
    configureTier1({ mode: 'on', promoteAtGas: 0n })
    const creates = code('600160005360015f5ff0', RETURN_TOP)
    const world = worldOf([creates])
    call(world)
    expect(compiled(world)).toBe(1)
    world.release()
    const traced = worldOf([countdown(4)], { traced: true })
    executeTransaction(message({ to: at(0) }), contextOf(l1Config('osaka')), traced, { skipFees: true, tracer: noopTrace().tracer })
    expect(compiled(traced)).toBe(0)
    traced.release()
  })

  test('can be switched off from the next message on', () => {
    configureTier1({ mode: 'on', promoteAtGas: 0n })
    const world = worldOf([countdown(5)])
    call(world)
    expect(compiled(world)).toBe(1)
    configureTier1({ mode: 'off' })
    expect(BigInt(Hash.from(call(world).output))).toBe(5n)
    expect(compiled(world)).toBe(0)
    world.release()
  })

  test('is compiled again when the rules change', () => {
    configureTier1({ mode: 'on', promoteAtGas: 0n })
    const world = worldOf([code('6001', '1e', RETURN_TOP)])
    for (const fork of ['osaka', 'prague', 'osaka', 'prague'] as const) {
      expect(call(world, { fork }).outcome.kind).toBe(fork === 'osaka' ? 'success' : 'halt')
      expect(compiled(world)).toBe(1)
    }
    world.release()
  })
})

describe('limits', () => {
  test('more codes than slots: the least recently run is evicted, and all return correct results', () => {
    configureTier1({ mode: 'on', promoteAtGas: 0n })
    const world = worldOf(Array.from({ length: 300 }, (_, i) => countdown(1_000 + i)))
    for (const index of [...Array(300).keys(), 0, 299, 150]) {
      expect(BigInt(Hash.from(call(world, { index }).output))).toBe(BigInt(1_000 + index))
      expect(compiled(world)).toBe(1)
    }
    expect(moduleCacheUsage().count).toBeLessThanOrEqual(MODULES_MAX)
    world.release()
  })

  test('the same code at many addresses is compiled once', () => {
    configureTier1({ mode: 'on', promoteAtGas: 0n })
    const before = moduleCacheUsage().count
    const world = worldOf([countdown(2_000), countdown(2_000), countdown(2_000)])
    for (const index of [0, 1, 2]) call(world, { index })
    expect(moduleCacheUsage().count - before).toBeLessThanOrEqual(1)
    world.release()
  })

  const RULES = new Uint8Array(2_048).map((_, i) => (i % 8 === 0 ? 3 : 0))
  test.each<[string, Uint8Array]>([
    ['24,576 JUMPDESTs', new Uint8Array(24_576).fill(0x5b)],
    ['24,576 ADDs', new Uint8Array(24_576).fill(0x01)],
    ['24 KB of PUSH0 PUSH0 JUMPI', Uint8Array.from({ length: 24_576 }, (_, i) => (i % 3 === 2 ? 0x57 : 0x5f))],
    ['24 KB of LOG4', Uint8Array.from({ length: 24_576 }, (_, i) => (i % 7 === 6 ? 0xa4 : 0x5f))],
    ['100 KB', new Uint8Array(100_000)],
  ])('%s are not compiled', (_, bomb) => {
    const start = performance.now()
    expect(compile(bomb, RULES)).toBeNull()
    expect(performance.now() - start).toBeLessThan(2_000)
  })

  test('a code that is not compiled is interpreted', () => {
    configureTier1({ mode: 'on', promoteAtGas: 0n })
    const world = worldOf([new Uint8Array(24_576).fill(0x5b)])
    for (let i = 0; i < 2; i++) expect(call(world).outcome).toEqual({ kind: 'success' })
    expect(compiled(world)).toBe(0)
    world.release()
  })

  test('1,024 nested frames with maximum native stack usage', () => {
    configureTier1({ mode: 'on', promoteAtGas: 0n })
    const callers = 45
    const world = worldOf([code('33'.repeat(callers), '5f5f5f5f5f', '30', '5a', 'f1', '01'.repeat(callers), RETURN_TOP)])
    for (let i = 0; i < 4; i++) expect(call(world, { gas: 10n ** 12n }).outcome).toEqual({ kind: 'success' })
    expect(compiled(world)).toBe(1)
    world.release()
  })

  test.each<[string, Uint8Array]>([
    ['loops', code('5b', '5f', '56')],
    ['loops through a dynamic jump', code('5b', '36', '50', '34', '56')],
    ['calls itself twice', code('5f5f5f5f5f305af1', '5f5f5f5f5f305af1')],
  ])('code that %s times out', (_, endless) => {
    configureTier1({ mode: 'on', promoteAtGas: 0n })
    const world = worldOf([endless])
    expect(() => call(world, { gas: 10n ** 14n, deadline: new Deadline(20) })).toThrow(OutOfTime)
    expect(compiled(world)).toBe(1)
    world.release()
  })
})

describe('shadow mode', () => {
  test('returns the result of the interpreter without mismatches', () => {
    const differences: string[] = []
    configureTier1({ mode: 'shadow', promoteAtGas: 0n, onMismatch: (difference) => differences.push(difference) })
    const world = worldOf([code('5f35', '5f55', '5f54', '5f52', '60205fa0', '5f35', RETURN_TOP)])
    const { output, logs } = call(world, { rounds: 77 })
    expect(BigInt(Hash.from(output))).toBe(77n)
    expect(logs).toHaveLength(1)
    expect(world.storage(at(0), Hash.zero)).toBe(77n)
    expect(compiled(world)).toBe(1)
    expect(differences).toEqual([])
    world.release()
  })

  test('reports a mismatch, returns the result of the interpreter and excludes the code', () => {
    const differences: string[] = []
    configureTier1({ mode: 'on', promoteAtGas: 0n, onMismatch: (difference) => differences.push(difference) })
    const world = worldOf([countdown(3_000)])
    const { instance } = world
    call(world)
    expect(compiled(world)).toBe(1)
    const { tier } = instance
    if (tier === null) throw new Error('there is compiled code, so there is a tier')
    const result = { outcome: { kind: 'success' }, output: new Uint8Array(), gasUsed: 5n, refund: 0n, logs: [], destroyed: [] }
    const results = [result, { ...result, gasUsed: 6n }, result]
    const rules = instance.bytes.slice(0, 2_048)
    expect(runInShadowMode(instance, tier, rules, () => results.shift() ?? result)).toBe(result)
    expect(results).toEqual([])
    expect(differences).toHaveLength(1)
    expect(differences[0]).toContain('another gas: 6 instead of 5')
    world.release()
  })

  test('interprets a miscompiled code', () => {
    configureTier1({ mode: 'on', promoteAtGas: 0n })
    markMiscompiled(Hash.keccak(countdown(4_000)))
    const world = worldOf([countdown(4_000)])
    expect(BigInt(Hash.from(call(world).output))).toBe(4_000n)
    expect(compiled(world)).toBe(0)
    world.release()
  })
})
