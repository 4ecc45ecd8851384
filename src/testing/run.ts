import { createPocketchain } from '../index.ts'
import type { Pocketchain, PocketchainOptions, Wallet } from '../index.ts'

/**
 * The options of `createPocketchain` with other defaults: `cadence: 'instant'`, and unanswered questions of the wallet are rejected, after 2 s with
 * Vitest and 10 s with Playwright.
 */
export type FixtureOptions = PocketchainOptions

/** The fixtures of both runners. */
export interface TestFixtures {
  /** restored after each test: blocks, state, pool, time, and the sponsor with its faults, policies and ledger */
  readonly chain: Pocketchain
  /** `chain.wallet`, without connected sites, questions and batches */
  readonly wallet: Wallet
  /** Throws an Error that names each user operation of this test that a public bundler refuses, with the rules of ERC-7562. */
  readonly expectNoRuleWarnings: () => Promise<void>
}

interface RuleWarning {
  readonly userOpHash: string
  readonly message: string
}

export async function useRuleWarnings(chain: Pocketchain, use: Use<TestFixtures['expectNoRuleWarnings']>): Promise<void> {
  const read = async () => (await chain.request({ method: 'pocketchain_userOperationWarnings', params: [] })) as readonly RuleWarning[] // result of the method
  const before = new Set((await read()).map(({ userOpHash }) => userOpHash))
  await use(async () => {
    const found = (await read()).filter(({ userOpHash }) => !before.has(userOpHash))
    if (found.length === 0) return
    throw new Error(`a public bundler refuses: ${found.map(({ userOpHash, message }) => `\n${userOpHash}: ${message}`).join('')}`)
  })
}

/** Callback of both runners that passes a fixture to the test and resolves at its end. */
export type Use<T> = (value: T) => Promise<void>

/** `answerWithinMs`: milliseconds until an unanswered question fails with its own message, below the runner's time limit of a test */
export async function startChain({ wallet = {}, ...options }: FixtureOptions, answerWithinMs: number): Promise<Pocketchain> {
  if (wallet === false) return createPocketchain({ cadence: 'instant', ...options, wallet })
  const chain = await createPocketchain({
    cadence: 'instant',
    ...options,
    wallet: { answerWithinMs, ...wallet },
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
    try {
      await chain.renewSponsor()
    } finally {
      await revert(chain, snapshot)
    }
  }
}

async function revert(chain: Pocketchain, snapshot: unknown): Promise<void> {
  if (await chain.request({ method: 'evm_revert', params: [snapshot] })) return
  throw new Error('the chain cannot be restored: the test removed the snapshot that was made before it (evm_revert or anvil_reset)')
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
