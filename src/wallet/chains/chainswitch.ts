import { chainLabel } from './chain.ts'
import type { WalletChain } from './chain.ts'
import type { WalletContext } from '../context.ts'
import type { ProviderCaller } from '../method.ts'
import { permittedAccount } from '../sites.ts'

/**
 * Switches the origin to another chain after approval; without a question if it is there already. Throws RpcError 4001, and 4100 if the origin
 * was disconnected meanwhile.
 */
export async function switchChain(
  wallet: WalletContext,
  method: string,
  to: WalletChain,
  { origin, signal }: ProviderCaller,
): Promise<void> {
  const { sites, approvals } = wallet
  let replaces: string | null = null
  while (sites.get(origin).chainId !== to.chainId) {
    const from = wallet.chains.get(sites.get(origin).chainId) ?? wallet.chains.default
    const draft = { kind: 'switchChain', origin, method, warnings: [], from: chainLabel(from), to: chainLabel(to) } as const
    const { id } = await approvals.ask(draft, { signal, replaces })
    permittedAccount(sites.get(origin))
    // The approval was for a switch from this chain; from another one it needs a new question.
    if (sites.get(origin).chainId === from.chainId) sites.selectChain(origin, to.chainId)
    else replaces = id
  }
}
