import { setTimeout } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import type { Stage } from './stage.fixture.ts'

/** The steps of one app with the wallet; each continues from the state that the previous one left. */
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

/** The recipient of all transfers. */
export const SHOP = '0x00000000000000000000000000000000005eed01'

/** Polls until the result is accepted, with pauses in which the chain can advance. Throws with the last result. */
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
