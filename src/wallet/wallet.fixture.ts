import { afterAll, onTestFinished } from 'vitest'
import { createPocketchain } from '../index.ts'
import type { Pocketchain, PocketchainOptions } from '../index.ts'
import type { RpcError } from '../jsonrpc/index.ts'
import { embeddedChain } from './chains/chain.ts'
import type { WalletChain } from './chains/chain.ts'
import { Keyring } from './keys/keyring.ts'
import type { Choice } from './question.ts'
import { createWallet } from './wallet.ts'
import type { Wallet, WalletOptions } from './wallet.ts'

export const ORIGIN = 'https://app.example'

/** A node for the whole file: blocks come when there is something to put into them. */
export async function startNode(options: PocketchainOptions = {}): Promise<Pocketchain> {
  const node = await createPocketchain({ cadence: 'instant', ...options })
  afterAll(() => node.close())
  return node
}

export interface Opened {
  readonly wallet: Wallet
  /** what went wrong unseen; a test that expects nothing of the kind looks at it */
  readonly errors: unknown[]
}

/** A wallet of the node's accounts for one test. */
export function openWallet(
  node: Pocketchain,
  options: Partial<WalletOptions> & { readonly further?: readonly WalletChain[] } = {},
): Opened {
  const errors: unknown[] = []
  const { further = [], ...rest } = options
  const wallet = createWallet({
    chains: [embeddedChain(node), ...further],
    keyring: Keyring.of({ dev: node.accounts.map(({ privateKey }) => privateKey) }),
    onError: (error) => errors.push(error),
    ...rest,
  })
  onTestFinished(() => wallet.close())
  return { wallet, errors }
}

/** Has the origin connected to these accounts, to all unless said. */
export async function connected(wallet: Wallet, origin = ORIGIN, choice: Choice = {}) {
  const provider = wallet.provider(origin)
  const asked = provider.request({ method: 'eth_requestAccounts' })
  ;(await wallet.approvals.next({ origin })).approve(choice)
  await asked
  return provider
}

/** What `promise` was refused with. Throws when it was not. */
export async function refusal(promise: Promise<unknown>): Promise<Pick<RpcError, 'code' | 'message' | 'data'>> {
  const [outcome] = await Promise.allSettled([promise])
  if (outcome.status === 'fulfilled') throw new Error(`it was not refused, but answered ${JSON.stringify(outcome.value)}`)
  const { code, message, data } = outcome.reason as RpcError // providers reject with nothing else; the assertions look at it
  return { code, message, data }
}
