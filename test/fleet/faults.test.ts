import { describe, expect, test } from 'vitest'
import { Random } from '../evm/fuzz/random.ts'
import { FAULTS, FaultRun } from './faults.fixture.ts'
import { noNetwork } from './network.fixture.ts'
import { NO_SERVERS } from './servers.fixture.ts'

/** `npm run faults` runs more. */
const RUNS = Number(process.env['FAULT_RUNS'] ?? 3)
const FIRST_SEED = Number(process.env['FAULT_SEED'] ?? 1)
/** Faults of one run. */
const FAULTS_PER_RUN = 4
const NO_NETWORK = NO_SERVERS === null ? noNetwork() : null

describe.skipIf(NO_SERVERS !== null)(`a fleet under faults${NO_SERVERS === null ? '' : ` (${NO_SERVERS})`}`, () => {
  const takeoversMs: number[] = []
  if (NO_NETWORK !== null) process.stdout.write(`proxies cut the sequencer off: ${NO_NETWORK}\n`)

  test.each(Array.from({ length: RUNS }, (_, index) => FIRST_SEED + index))(
    'has no fork, loses no sealed block, and keeps or retracts each promise (seed %i)',
    { timeout: 180_000 },
    async (seed) => {
      const random = new Random(seed, 0)
      const run = await FaultRun.begin(random, NO_NETWORK === null)
      try {
        // The first three runs have each fault at least once.
        const faults = Array.from({ length: FAULTS_PER_RUN }, (_, index) =>
          seed <= 3 ? FAULTS[((seed - 1) * FAULTS_PER_RUN + index) % FAULTS.length]! : FAULTS[random.below(FAULTS.length)]!,
        )
        const outcome = await run.play(faults)
        takeoversMs.push(...outcome.takeoversMs)
        process.stdout.write(`seed ${seed}: ${faults.join(', ')}: ${JSON.stringify(outcome)}\n`)
        expect(outcome.promised).toBeGreaterThan(0)
      } finally {
        await run.end()
      }
    },
  )

  test('takes over within 5 s after the loss of the sequencer, and within 3 s at the median', () => {
    const times = takeoversMs.toSorted((a, b) => a - b)
    const [median, most] = [times[times.length >> 1] ?? Infinity, times.at(-1) ?? Infinity]
    process.stdout.write(`${times.length} takeovers: median ${median} ms, at most ${most} ms\n`)
    expect(most).toBeLessThanOrEqual(5_000)
    expect(median).toBeLessThanOrEqual(3_000)
  })
})
