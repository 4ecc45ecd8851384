import { chainLabel } from './chain.ts'
import type { WalletChain } from './chain.ts'
import type { WalletContext } from '../context.ts'
import type { Asker } from '../method.ts'
import { permittedAccount } from '../sites.ts'

/**
 * Puts the origin on another chain, after asking. Nothing is asked when it is there already. What it waits for on the chain that it leaves is
 * withdrawn by whoever watches the sites. Throws RpcError 4001, and 4100 when the origin was disconnected meanwhile.
 */
export async function switchChain(wallet: WalletContext, method: string, to: WalletChain, { origin, signal }: Asker): Promise<void> {
  const { sites, approvals } = wallet
  let replaces: string | null = null
  while (sites.get(origin).chainId !== to.chainId) {
    const from = wallet.chains.get(sites.get(origin).chainId) ?? wallet.chains.default
    const draft = { kind: 'switchChain', origin, method, warnings: [], from: chainLabel(from), to: chainLabel(to) } as const
    const { id } = await approvals.ask(draft, { signal, replaces })
    permittedAccount(sites.get(origin))
    // It was asked as a step from one chain to another; from elsewhere it is another question.
    if (sites.get(origin).chainId === from.chainId) sites.selectChain(origin, to.chainId)
    else replaces = id
  }
}
