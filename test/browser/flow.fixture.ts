import { setTimeout } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import type { Stage } from './stage.fixture.ts'

/** What one app does with the wallet, step by step, each on what the one before has left. Run by its tests, and many times by `repeat.ts`. */
export interface Flow {
  /** the app, as a sentence's subject */
  readonly app: string
  readonly open: (stage: Stage) => Promise<Page>
  readonly steps: readonly Step[]
}

export type Step = readonly [does: string, run: (scene: Scene) => Promise<void>]

export interface Scene {
  readonly stage: Stage
  readonly app: Page
}

/** Where all apps send what they send. */
export const SHOP = '0x00000000000000000000000000000000005eed01'

/** Asks until the answer is good, with pauses in which the chain can go on. Throws with the last answer. */
export async function until<T>(ask: () => Promise<T>, isGood: (answer: T) => boolean): Promise<T> {
  const end = Date.now() + LIMIT_MS
  for (;;) {
    const answer = await ask()
    if (isGood(answer)) return answer
    if (Date.now() > end) throw new Error(`still ${JSON.stringify(answer)} after ${LIMIT_MS} ms`)
    await setTimeout(PAUSE_MS)
  }
}

const LIMIT_MS = 15_000
const PAUSE_MS = 20
