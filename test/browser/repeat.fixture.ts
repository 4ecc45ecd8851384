import { inspect } from 'node:util'
import type { Browser } from 'playwright-core'
import type { Flow } from './flow.fixture.ts'
import { openStage } from './stage.fixture.ts'

export interface Repetition {
  readonly runs: number
  /** number of concurrent runs */
  readonly lanes: number
}

/**
 * Repeats all flows, each with a new chain, wallet and profile in one browser. Prints each failure when it occurs, and at
 * the end the number of failures and the duration. Returns the failures.
 */
export async function repeat(browser: Browser, flows: readonly Flow[], { runs, lanes }: Repetition): Promise<readonly string[]> {
  const seconds: number[] = []
  const failures: string[] = []
  const spent = new Map<string, number>()
  let begun = 0
  const lane = async (): Promise<void> => {
    while (begun < runs) {
      begun += 1
      const run = begun
      const start = performance.now()
      for (const flow of flows) {
        const failure = await runFlow(browser, flow, spent)
        if (failure !== null) failures.push(`run ${run}: ${failure}`)
        if (failure !== null) say(`run ${run}: ${failure}`)
      }
      seconds.push((performance.now() - start) / 1000)
      if (seconds.length % 10 === 0)
        say(`${seconds.length} of ${runs} runs, ${failures.length} failures; the last took ${seconds.at(-1)?.toFixed(1)} s`)
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  const sorted = seconds.toSorted((a, b) => a - b)
  const at = (share: number): string => `${sorted[Math.floor((sorted.length - 1) * share)]?.toFixed(1)} s`
  say(`${runs} runs, ${failures.length} failures; a run took ${at(0.5)} (fastest ${at(0)}, slowest ${at(1)}), ${lanes} at once`)
  for (const [step, ms] of spent) say(`  ${(ms / runs / 1000).toFixed(2)} s ${step}`)
  return failures
}

/** Returns the first failure, after which the remaining steps are skipped; null if all steps pass. */
async function runFlow(browser: Browser, { app: name, open, steps }: Flow, spent: Map<string, number>): Promise<string | null> {
  let step = 'opens'
  let start = performance.now()
  const next = (does: string): void => {
    const now = performance.now()
    spent.set(`${name} ${step}`, (spent.get(`${name} ${step}`) ?? 0) + now - start)
    step = does
    start = now
  }
  try {
    await using stage = await openStage(browser)
    const app = await open(stage)
    for (const [does, run] of steps) {
      next(does)
      await run({ stage, app })
    }
    next('closes')
    return null
  } catch (error) {
    return `${name} ${step}: ${inspect(error)}`
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
