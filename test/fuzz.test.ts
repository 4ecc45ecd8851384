import { describe, expect, test } from 'vitest'
import { Hex } from '../src/eth/index.ts'
import type { FrameResult } from '../src/evm/proof.fixture.ts'
import { ORACLE, OURS } from './fuzz/engines.ts'
import { describeFinding, type Finding, fuzz } from './fuzz/fuzz.ts'
import type { Engine, Ledger } from './fuzz/judge.ts'
import type { OracleWorld } from './oracle/oracleworld.ts'

/** A few hundred programs here; `npm run fuzz` runs as many as one likes. */
const PROGRAMS = 400
const SEED = 20_251_203

async function findings<W extends Ledger>(engine: Engine<W>, programs: number, findingsMax = 3): Promise<Finding[]> {
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
  test('come to the same in our engine and in @ethereumjs/evm', async () => {
    const found = await findings(OURS, PROGRAMS)
    expect(found.map(describeFinding).join('\n\n')).toBe('')
  }, 120_000)
})

describe('the judge can fail', () => {
  test('the oracle agrees with itself', async () => {
    expect(await findings(ORACLE, 60)).toEqual([])
  })

  test.each<[string, (result: FrameResult, world: OracleWorld) => FrameResult]>([
    ['one gas too much', (result) => ({ ...result, gasUsed: result.gasUsed + 1n })],
    ['a refund forgotten', (result) => ({ ...result, refund: 0n })],
    ['a log lost', (result) => ({ ...result, logs: result.logs.slice(1) })],
    ['an output that is one byte short', (result) => ({ ...result, output: result.output.subarray(1) })],
    ['a success that should have been none', (result) => ({ ...result, outcome: { kind: 'success' } })],
    ['a contract that outlives its SELFDESTRUCT', (result) => ({ ...result, destroyed: [] })],
    ['a write too many', spoilsStorage],
  ])('%s is found', async (_, spoil) => {
    const wrong: Engine<OracleWorld> = {
      open: ORACLE.open,
      run: async (frame, context, world) => spoil(await ORACLE.run(frame, context, world), world),
    }
    const [finding] = await findings(wrong, 400, 1)
    expect(finding).toBeDefined()
    expect(finding?.problem).toBeTypeOf('object')
  })

  test('what is found is made small', async () => {
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
