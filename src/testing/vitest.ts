import type { Pocketchain, Wallet } from '../index.ts'
import { startChain, useRuleWarnings, useSnapshot, useWallet } from './run.ts'
import type { FixtureOptions, TestFixtures, Use } from './run.ts'

/** Vitest ends a test after 5 s. */
const ANSWER_WITHIN_MS = 2_000

/** Argument of Vitest's `test.extend`, declared here so that Vitest is not imported. */
export interface VitestFixtures {
  /** the chain of a test file */
  readonly pocketchain: [(context: object, use: Use<Pocketchain>) => Promise<void>, { scope: 'file' }]
  readonly chain: (context: { readonly pocketchain: Pocketchain }, use: Use<Pocketchain>) => Promise<void>
  readonly wallet: (context: Pick<TestFixtures, 'chain'>, use: Use<Wallet>) => Promise<void>
  readonly expectNoRuleWarnings: (context: Pick<TestFixtures, 'chain'>, use: Use<TestFixtures['expectNoRuleWarnings']>) => Promise<void>
}

/**
 * `test.extend<VitestContext>(vitestFixtures())` gives each test `{ chain, wallet }`. Both runners parse the destructured first parameter of a
 * fixture to find its dependencies.
 */
export function vitestFixtures(options: FixtureOptions = {}): VitestFixtures {
  return {
    pocketchain: [
      // oxlint-disable-next-line no-empty-pattern -- the runner parses the parameter
      async ({}, use) => {
        const chain = await startChain(options, ANSWER_WITHIN_MS)
        await use(chain)
        await chain.close()
      },
      { scope: 'file' },
    ],
    chain: ({ pocketchain }, use) => useSnapshot(pocketchain, use),
    wallet: ({ chain }, use) => useWallet(chain, use),
    expectNoRuleWarnings: ({ chain }, use) => useRuleWarnings(chain, use),
  }
}

export interface VitestContext extends TestFixtures {
  readonly pocketchain: Pocketchain
}
