import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { configureTier1, resetTier1 } from '../../src/evm/index.ts'
import { OURS } from './fuzz/engines.ts'
import { describeFinding, type Finding, fuzz } from './fuzz/fuzz.ts'

// The engine's tests with every code compiled at its first call.
beforeAll(() => configureTier1({ mode: 'on', promoteAtGas: 0n }))
afterAll(resetTier1)

await import('./bombs.test.ts')
await import('../conformance/statetests.test.ts')

/** `npm run fuzz -- --tier1 on` runs any number of programs. */
const PROGRAMS = 75
const SEED = 20_251_121

describe('random programs in Tier 1', () => {
  test.each([256, 12, 2])(
    'have the same results as in @ethereumjs/evm with functions of %d operations',
    async (operationsPerFunction) => {
      configureTier1({ operationsPerFunction })
      const found: Finding[] = []
      await fuzz({
        engine: OURS,
        seed: SEED + operationsPerFunction,
        first: 0,
        programs: PROGRAMS,
        fork: null,
        minimise: true,
        findingsMax: 3,
        onProgress: () => {},
        onFinding: (finding) => found.push(finding),
      })
      expect(found.map(describeFinding).join('\n\n')).toBe('')
    },
    120_000,
  )
})
