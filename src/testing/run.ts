import { createPocketchain } from '../index.ts'
import type { Pocketchain, PocketchainOptions, Wallet } from '../index.ts'

/** `createPocketchain`'s own options, with other defaults: `cadence: 'instant'`, and a question of the wallet that nobody answers is refused after 2 s. */
export type FixtureOptions = PocketchainOptions

/** What the fixtures of both runners give to a test. */
export interface TestFixtures {
  /** when the test has ended, it is as it was before: blocks, state, the pool, time, the sponsor with its faults, policies and ledger */
  readonly chain: Pocketchain
  /** `chain.wallet`: nobody is connected, nothing was asked or sent */
  readonly wallet: Wallet
}

/** How Vitest and Playwright both hand out a value: the promise ends with the test. */
export type Use<T> = (value: T) => Promise<void>

/** Long enough for a test that answers, short enough for the runner's own limit: what fails is a sentence, not the clock. */
const ANSWER_WITHIN_MS = 2_000

export async function startChain({ wallet = {}, ...options }: FixtureOptions): Promise<Pocketchain> {
  if (wallet === false) return createPocketchain({ cadence: 'instant', ...options, wallet })
  const chain = await createPocketchain({
    cadence: 'instant',
    ...options,
    wallet: { answerWithinMs: ANSWER_WITHIN_MS, ...wallet },
  })
  await readMethods(chain)
  return chain
}

/** A wallet reads the files of its methods when the first one is asked for: here, and not in the time that a test has for its first question. */
async function readMethods({ wallet }: Pocketchain): Promise<void> {
  const provider = wallet.provider()
  await provider.request({ method: 'eth_chainId' })
  provider.close()
}

export async function useSnapshot(chain: Pocketchain, use: Use<Pocketchain>): Promise<void> {
  const snapshot = await chain.request({ method: 'evm_snapshot', params: [] })
  try {
    await use(chain)
  } finally {
    await chain.renewSponsor()
    await chain.request({ method: 'evm_revert', params: [snapshot] })
  }
}

/** Throws, when the test has ended, an Error with a sentence for each question that nobody answered. */
export async function useWallet(chain: Pocketchain, use: Use<Wallet>): Promise<void> {
  try {
    await use(chain.wallet)
    chain.wallet.approvals.assertAnswered()
  } finally {
    await chain.renewWallet()
  }
}
