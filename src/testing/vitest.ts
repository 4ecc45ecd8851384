import type { Pocketchain, Wallet } from '../index.ts'
import { startChain, useSnapshot, useWallet } from './run.ts'
import type { FixtureOptions, TestFixtures, Use } from './run.ts'

/** What `test.extend` of Vitest takes, written down so that nothing of Vitest is imported. */
export interface VitestFixtures {
  /** the chain of a file, which `chain` hands to each test */
  readonly pocketchain: [(context: object, use: Use<Pocketchain>) => Promise<void>, { scope: 'file' }]
  readonly chain: (context: { readonly pocketchain: Pocketchain }, use: Use<Pocketchain>) => Promise<void>
  readonly wallet: (context: Pick<TestFixtures, 'chain'>, use: Use<Wallet>) => Promise<void>
}

/**
 * `test.extend<VitestContext>(vitestFixtures())` gives each test `{ chain, wallet }`. Both runners find out what a fixture needs by
 * reading the braces of its first parameter, so these stay as they are.
 */
export function vitestFixtures(options: FixtureOptions = {}): VitestFixtures {
  return {
    pocketchain: [
      // oxlint-disable-next-line no-empty-pattern -- the runner reads the braces
      async ({}, use) => {
        const chain = await startChain(options)
        await use(chain)
        await chain.close()
      },
      { scope: 'file' },
    ],
    chain: ({ pocketchain }, use) => useSnapshot(pocketchain, use),
    wallet: ({ chain }, use) => useWallet(chain, use),
  }
}

export interface VitestContext extends TestFixtures {
  readonly pocketchain: Pocketchain
}
