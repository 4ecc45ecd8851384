import { Hex } from '../eth/index.ts'
import type { Address } from '../eth/index.ts'
import { withTimeout } from './approvals/timing.ts'
import { chainLabel } from './chains/chain.ts'
import type { WalletChain } from './chains/chain.ts'
import type { WalletContext } from './context.ts'
import { rejected, unauthorized } from './errors.ts'
import { BALANCE_WAIT_MS } from './limits.ts'
import type { ProviderCaller } from './method.ts'
import type { AccountLabel } from './question.ts'

/**
 * Returns the accounts that the origin may see, after a connect question if it has none. `isNew`: creates a question even if the origin is connected, so
 * that other accounts can be chosen. Throws RpcError 4001, 4100, -32005.
 */
export async function connect(wallet: WalletContext, method: string, caller: ProviderCaller, isNew = false): Promise<readonly Address[]> {
  const { origin, signal } = caller
  const { accounts } = wallet.sites.get(origin)
  if (accounts.length > 0 && !isNew) return [...accounts]
  if (wallet.keyring.accounts.length === 0) throw unauthorized({ reason: 'no-accounts' }, 'the wallet has no accounts')
  wallet.sites.assertRoom(origin)
  const chain = selectedChain(wallet, origin)
  const labels = await accountLabels(wallet, chain, accounts)
  const draft = { kind: 'connect', origin, method, warnings: [], chain: chainLabel(chain), accounts: labels } as const
  const approved = await wallet.approvals.ask(draft, { signal })
  const chosen = (approved.accounts ?? labels.map(({ address }) => address)).filter((address) => wallet.keyring.has(address))
  if (chosen.length === 0) throw rejected('User rejected the request: no account was chosen', 'no-account-chosen')
  wallet.sites.connect(origin, chosen)
  return [...wallet.sites.get(origin).accounts]
}

/** The selected chain of the origin. */
export function selectedChain(wallet: Pick<WalletContext, 'sites' | 'chains'>, origin: string): WalletChain {
  return wallet.chains.get(wallet.sites.get(origin).chainId) ?? wallet.chains.default
}

/** All accounts of the wallet, those of the origin first. */
async function accountLabels({ keyring }: WalletContext, chain: WalletChain, first: readonly Address[]): Promise<readonly AccountLabel[]> {
  const rank = (address: Address): number => (first.includes(address) ? first.indexOf(address) : first.length)
  const ordered = keyring.accounts.toSorted((a, b) => rank(a.address) - rank(b.address))
  return Promise.all(ordered.map(async ({ address, name }) => ({ address, name, balance: await balanceOf(chain, address) })))
}

/** null without an answer in time: a question does not wait for a chain that is down. */
async function balanceOf({ rpc }: WalletChain, address: Address): Promise<Hex | null> {
  const request = rpc.request({ method: 'eth_getBalance', params: [address, 'pending'] }).catch(() => null)
  const balance = await withTimeout(BALANCE_WAIT_MS, request, () => null)
  return Hex.isHex(balance) ? balance : null
}
