import { describe, expect, test } from 'vitest'
import { Address, Hex } from '../../src/eth/index.ts'
import type { FrameResult } from '../../src/evm/engine.fixture.ts'
import { ORACLE, OURS } from './fuzz/engines.ts'
import { describeFinding, type Finding, fuzz } from './fuzz/fuzz.ts'
import type { Fork } from './fuzz/block.ts'
import { type Engine, firstDifference, type ExecutionWorld, observe } from './fuzz/compare.ts'
import { OP } from './fuzz/opcodes.ts'
import type { Case } from './fuzz/program.ts'
import type { OracleWorld } from './oracle/oracleworld.ts'

/** `npm run fuzz` runs any number of programs. */
const PROGRAMS = 150
const SEED = 20_251_203

async function findings<W extends ExecutionWorld>(engine: Engine<W>, programs: number, findingsMax = 3): Promise<Finding[]> {
  const found: Finding[] = []
  await fuzz({
    engine,
    seed: SEED,
    first: 0,
    programs,
    fork: null,
    minimise: true,
    findingsMax,
    onProgress: () => {},
    onFinding: (finding) => found.push(finding),
  })
  return found
}

describe('random programs', () => {
  test('have equal results in the engine and in @ethereumjs/evm', async () => {
    const found = await findings(OURS, PROGRAMS)
    expect(found.map(describeFinding).join('\n\n')).toBe('')
  }, 120_000)
})

describe('call depth', () => {
  const CONTRACT = Address.fromBigint(0x1000n)
  const caseOf = (fork: Fork, code: readonly number[], creates: boolean): Case => ({
    fork,
    codeSizeLimit: 24_576,
    accounts: [
      { address: Address.fromBigint(1n << 80n), nonce: 0n, balance: 10n ** 18n, code: '0x', storage: [] },
      { address: CONTRACT, nonce: 1n, balance: 1_000n, code: Hex.fromBytes(Uint8Array.from(code)), storage: [] },
    ],
    messages: [
      {
        caller: Address.fromBigint(1n << 80n),
        to: creates ? null : CONTRACT,
        data: Hex.fromBytes(Uint8Array.from(code)),
        value: 0n,
        gas: 10n ** 15n,
        accessList: [],
        blobs: 0,
        moved: [],
        masked: [],
        after: 'keep',
      },
    ],
  })
  /** GAS, LOG0 of the gas at this depth, then the call with all gas. */
  const nested = (...call: readonly number[]) => [OP.GAS, OP.PUSH1, 0, OP.MSTORE, OP.PUSH1, 32, OP.PUSH1, 0, OP.LOG0, ...call]
  const zeros = (count: number) => Array.from({ length: count }, () => [OP.PUSH1, 0]).flat()
  /** Before EIP-150 a call must leave enough gas to pay for itself. */
  const most = [OP.PUSH2, 0x10, 0, OP.GAS, OP.SUB]

  test.each<[Fork, string, readonly number[]]>([
    ['osaka', 'CALL', [...zeros(4), OP.PUSH1, 1, OP.ADDRESS, OP.GAS, OP.CALL]],
    ['osaka', 'DELEGATECALL', [...zeros(4), OP.ADDRESS, OP.GAS, OP.DELEGATECALL]],
    ['osaka', 'CALLCODE', [...zeros(5), OP.ADDRESS, OP.GAS, OP.CALLCODE]],
    ['frontier', 'CALL', [...zeros(5), OP.ADDRESS, ...most, OP.CALL]],
    ['homestead', 'DELEGATECALL', [...zeros(4), OP.ADDRESS, ...most, OP.DELEGATECALL]],
    ['spurious', 'CALL', [...zeros(4), OP.PUSH1, 1, OP.ADDRESS, OP.GAS, OP.CALL]],
  ])('%s: %s reaches the maximum depth', async (fork, _, call) => {
    const it = caseOf(fork, nested(...call), false)
    const wanted = await observe(it, ORACLE)
    expect(firstDifference(await observe(it, OURS), wanted)).toBeNull()
    expect(JSON.parse(wanted[0]?.logs ?? '[]')).toHaveLength(1_025)
  })

  test.each<Fork>(['osaka', 'homestead'])('%s: CREATE reaches the maximum depth', async (fork) => {
    const copied = [OP.CODESIZE, OP.PUSH1, 0, OP.PUSH1, 0, OP.CODECOPY, OP.CODESIZE, OP.PUSH1, 0, OP.PUSH1, 0, OP.CREATE]
    const it = caseOf(fork, nested(...copied), true)
    const wanted = await observe(it, ORACLE)
    expect(firstDifference(await observe(it, OURS), wanted)).toBeNull()
    expect(JSON.parse(wanted[0]?.logs ?? '[]').length).toBeGreaterThan(1_000)
  })
})

describe('negative control', () => {
  test('the oracle has no differences from itself', async () => {
    expect(await findings(ORACLE, 25)).toEqual([])
  })

  test.each<[string, (result: FrameResult, world: OracleWorld) => FrameResult]>([
    ['one gas too much', (result) => ({ ...result, gasUsed: result.gasUsed + 1n })],
    ['a missing refund', (result) => ({ ...result, refund: 0n })],
    ['a missing log', (result) => ({ ...result, logs: result.logs.slice(1) })],
    ['an output that is one byte short', (result) => ({ ...result, output: result.output.subarray(1) })],
    ['a wrong success', (result) => ({ ...result, outcome: { kind: 'success' } })],
    ['a contract that survives SELFDESTRUCT', (result) => ({ ...result, destroyed: [] })],
    ['an additional write', spoilsStorage],
  ])('finds %s', async (_, spoil) => {
    const wrong: Engine<OracleWorld> = {
      open: ORACLE.open,
      run: async (frame, context, world) => spoil(await ORACLE.run(frame, context, world), world),
    }
    const [finding] = await findings(wrong, 400, 1)
    expect(finding).toBeDefined()
    expect(finding?.problem).toBeTypeOf('object')
  })

  test('minimises a finding', async () => {
    const wrong: Engine<OracleWorld> = {
      open: ORACLE.open,
      run: async (frame, context, world) => {
        const result = await ORACLE.run(frame, context, world)
        return result.logs.length === 0 ? result : { ...result, gasUsed: result.gasUsed - 1n }
      },
    }
    const [finding] = await findings(wrong, 200, 1)
    const sizes = finding?.case.accounts.map(({ code }) => Hex.toBytes(code).length) ?? []
    expect(finding?.case.messages).toHaveLength(1)
    expect(Math.max(...sizes)).toBeLessThan(60)
  })
})

function spoilsStorage(result: FrameResult, world: OracleWorld): FrameResult {
  const [address] = world.writes().storage.keys()
  if (address !== undefined) for (const slot of world.slots(address)) world.setStorage(address, slot, world.storage(address, slot) ^ 4n)
  return result
}
