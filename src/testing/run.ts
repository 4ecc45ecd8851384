import { createPocketchain } from '../index.ts'
import type { Pocketchain, PocketchainOptions, Wallet } from '../index.ts'

/** The options of `createPocketchain` with other defaults: `cadence: 'instant'`, and unanswered questions of the wallet are rejected after 2 s. */
export type FixtureOptions = PocketchainOptions

/** The fixtures of both runners. */
export interface TestFixtures {
  /** restored after each test: blocks, state, pool, time, and the sponsor with its faults, policies and ledger */
  readonly chain: Pocketchain
  /** `chain.wallet`, without connected sites, questions and batches */
  readonly wallet: Wallet
}

/** Callback of both runners that passes a fixture to the test and resolves at its end. */
export type Use<T> = (value: T) => Promise<void>

/** Below the time limits of the runners, so that an unanswered question fails with its own message. */
const ANSWER_WITHIN_MS = 2_000

export async function startChain({ wallet = {}, ...options }: FixtureOptions): Promise<Pocketchain> {
  if (wallet === false) return createPocketchain({ cadence: 'instant', ...options, wallet })
  const chain = await createPocketchain({
    cadence: 'instant',
    ...options,
    wallet: { answerWithinMs: ANSWER_WITHIN_MS, ...wallet },
  })
  await loadMethods(chain)
  return chain
}

/** Loads the methods of the wallet, which it does at the first request, before the time limit of the first test starts. */
async function loadMethods({ wallet }: Pocketchain): Promise<void> {
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

/** After the test, throws an Error with a sentence for each unanswered question. */
export async function useWallet(chain: Pocketchain, use: Use<Wallet>): Promise<void> {
  try {
    await use(chain.wallet)
    chain.wallet.approvals.assertAnswered()
  } finally {
    await chain.renewWallet()
  }
}
