import { Hex } from '../../eth/index.ts'
import type { Rpc } from '../../jsonrpc/index.ts'
import type { ChainLabel } from '../question.ts'

/** What is known of a chain; without the connection, what is kept of it. */
export interface ChainInfo {
  readonly chainId: number
  readonly name: string
  readonly nativeCurrency: { readonly name: string; readonly symbol: string; readonly decimals: number }
  readonly rpcUrls: readonly string[]
  readonly blockExplorerUrls: readonly string[]
  readonly iconUrls: readonly string[]
}

/** A chain the wallet can reach. */
export interface WalletChain extends ChainInfo {
  readonly rpc: Rpc
  /** true: the node of the same process, which is never a real chain, whatever its id */
  readonly isEmbedded: boolean
}

/**
 * The chain of a node in the same process. `rpcUrls`: where apps reach it, if they can; what they ask the wallet goes there without a socket.
 */
export function embeddedChain(node: EmbeddedNode, given: Partial<Pick<ChainInfo, 'name' | 'rpcUrls'>> = {}): WalletChain {
  return {
    chainId: node.chain.config.chainId,
    name: given.name ?? 'Pocketchain',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: given.rpcUrls ?? [],
    blockExplorerUrls: [],
    iconUrls: [],
    rpc: node,
    isEmbedded: true,
  }
}

/** What createPocketchain() makes is one. */
export interface EmbeddedNode extends Rpc {
  readonly chain: { readonly config: { readonly chainId: number } }
}

/** A chain as questions show it. */
export function chainLabel({ chainId, name, nativeCurrency, blockExplorerUrls }: ChainInfo): ChainLabel {
  const { symbol, decimals } = nativeCurrency
  return { chainId: Hex.fromQuantity(BigInt(chainId)), name, symbol, decimals, explorerUrl: blockExplorerUrls[0] ?? null }
}
