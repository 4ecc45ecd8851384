import { afterAll, onTestFinished } from 'vitest'
import { createPocketchain } from '../index.ts'
import type { Pocketchain, PocketchainOptions } from '../index.ts'
import type { RpcError, RpcRequest } from '../jsonrpc/index.ts'
import { embeddedChain } from './chains/chain.ts'
import type { WalletChain } from './chains/chain.ts'
import { Keyring } from './keys/keyring.ts'
import type { Choice, Question } from './question.ts'
import { createWallet } from './wallet.ts'
import type { Wallet, WalletOptions } from './wallet.ts'

export const ORIGIN = 'https://app.example'

/** A node for the whole test file, with a block per transaction. */
export async function startNode(options: PocketchainOptions = {}): Promise<Pocketchain> {
  const node = await createPocketchain({ cadence: 'instant', ...options })
  afterAll(() => node.close())
  return node
}

export interface Opened {
  readonly wallet: Wallet
  /** errors reported to `onError` */
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

/** Connects the origin to these accounts, by default to all. */
export async function connected(wallet: Wallet, origin = ORIGIN, choice: Choice = {}) {
  const provider = wallet.provider(origin)
  const sent = provider.request({ method: 'eth_requestAccounts' })
  ;(await wallet.approvals.next({ origin })).approve(choice)
  await sent
  return provider
}

/** A second chain of the wallet, with the id 777. */
export function otherChain(node: Pocketchain): WalletChain {
  return { ...embeddedChain(node), chainId: 777, name: 'Other', isEmbedded: false }
}

/** A connected origin, which `leave` disconnects or switches when the wallet sends the next request to the node. Questions are approved and listed. */
export function leavingAtFirstRead(node: Pocketchain, leave: (wallet: Wallet) => void) {
  const rpc = { ...node, request: (request: RpcRequest) => (leave(wallet), node.request(request)) }
  const { wallet } = openWallet(node, { chains: [{ ...embeddedChain(node), rpc }, otherChain(node)], policy: 'approve' })
  const questions: Question[] = []
  wallet.approvals.subscribe(({ question }) => questions.push(question))
  const accounts = wallet.keyring.accounts.map(({ address }) => address)
  wallet.sites.connect(ORIGIN, accounts)
  return { provider: wallet.provider(ORIGIN), questions }
}

/** Returns the error that `promise` is rejected with. Throws if it resolves. */
export async function refusal(promise: Promise<unknown>): Promise<Pick<RpcError, 'code' | 'message' | 'data'>> {
  const [outcome] = await Promise.allSettled([promise])
  if (outcome.status === 'fulfilled') throw new Error(`it was not refused, but answered ${JSON.stringify(outcome.value)}`)
  const { code, message, data } = outcome.reason as RpcError // providers reject with RpcError only
  return { code, message, data }
}
