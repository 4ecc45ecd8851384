import { describe, expect, it } from 'vitest'
import { fuzzPromises } from './fuzz.ts'

// `npm run fuzz -- promises` runs more seeds.

describe.each(['preconf', 'native'] as const)('random control moves and reorgs under %s', (cadence) => {
  it.each([1, 2, 3])('leave no unannounced difference, and the ledger equals a replay (seed %i)', async (seed) => {
    const { transactions, moves, compared, totals } = await fuzzPromises({ seed, transactions: 2_000, cadence })
    expect(transactions).toBeGreaterThanOrEqual(2_000)
    expect(moves).toBeGreaterThan(100)
    if (cadence === 'native') return
    expect(compared).toBeGreaterThan(1_000)
    for (const count of Object.values(totals)) expect(count).toBeGreaterThan(0)
  })
})
