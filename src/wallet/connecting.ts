import { Hex } from '../eth/index.ts'
import type { Address } from '../eth/index.ts'
import type { RpcError } from '../jsonrpc/index.ts'
import { withTimeout } from './approvals/timing.ts'
import { chainLabel } from './chains/chain.ts'
import type { WalletChain } from './chains/chain.ts'
import type { WalletContext } from './context.ts'
import { rejected, unauthorized, unparsableRequest } from './errors.ts'
import { BALANCE_WAIT_MS } from './limits.ts'
import type { ProviderCaller } from './method.ts'
import type { AccountLabel } from './question.ts'
import { permittedAccount } from './sites.ts'

/**
 * Returns the accounts that the origin may see, after a connect question if it has none. `isNew`: creates a question even if the origin is connected, so
 * that other accounts can be chosen. Throws RpcError 4001, 4100, -32005.
 */
export async function connect(wallet: WalletContext, method: string, caller: ProviderCaller, isNew = false): Promise<readonly Address[]> {
  const { origin, signal } = caller
  const { accounts } = wallet.sites.get(origin)
  if (accounts.length > 0 && !isNew) return accounts
  if (wallet.keyring.accounts.length === 0) throw unauthorized({ reason: 'no-accounts' }, 'the wallet has no accounts')
  wallet.sites.assertRoom(origin)
  const chain = selectedChain(wallet, origin)
  const labels = await accountLabels(wallet, chain, accounts)
  const draft = { kind: 'connect', origin, method, warnings: [], chain: chainLabel(chain), accounts: labels } as const
  const approved = await wallet.approvals.ask(draft, { signal })
  const chosen = (approved.accounts ?? labels.map(({ address }) => address)).filter((address) => wallet.keyring.has(address))
  if (chosen.length === 0) throw rejected('User rejected the request: no account was chosen', 'no-account-chosen')
  wallet.sites.connect(origin, chosen)
  return wallet.sites.get(origin).accounts
}

/** The selected chain of the origin. */
export function selectedChain(wallet: Pick<WalletContext, 'sites' | 'chains'>, origin: string): WalletChain {
  return wallet.chains.get(wallet.sites.get(origin).chainId) ?? wallet.chains.default
}

/**
 * For the moment before a question, and before what it approved: the state may have changed since the request. Throws RpcError 4100, 4900 and -32602 if the
 * site has lost the account, the wallet is closed, or the site has left the chain. `chainId` null: the question is about no chain.
 */
export function assertStillPermitted(wallet: WalletContext, { origin }: ProviderCaller, chainId: number | null, from: Address): void {
  wallet.approvals.assertOpen()
  const site = wallet.sites.get(origin)
  permittedAccount(site, from)
  if (chainId !== null && site.chainId !== chainId) throw chainMismatch(site.chainId, Hex.fromQuantity(chainId))
}

export function chainMismatch(selected: number, requested: string): RpcError {
  const data = { selected: Hex.fromQuantity(selected), requested }
  return unparsableRequest(
    `chainId ${requested} is not the chain that the site is on, ${data.selected}; switch with wallet_switchEthereumChain`,
    'chain-mismatch',
    data,
  )
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
