import { Hex } from '../../eth/index.ts'
import type { Rpc } from '../../jsonrpc/index.ts'
import type { ChainLabel } from '../question.ts'

/** The description of a chain, which is stored. */
export interface ChainInfo {
  readonly chainId: number
  readonly name: string
  readonly nativeCurrency: { readonly name: string; readonly symbol: string; readonly decimals: number }
  readonly rpcUrls: readonly string[]
  readonly blockExplorerUrls: readonly string[]
  readonly iconUrls: readonly string[]
}

/** A chain with its connection. */
export interface WalletChain extends ChainInfo {
  readonly rpc: Rpc
  /** true: the node of the same process, never a real chain even with the id of one */
  readonly isEmbedded: boolean
}

/** Returns the chain of a node in the same process, called without a socket. `rpcUrls`: urls for apps, none by default. */
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

/** Such as the result of createPocketchain(). */
interface EmbeddedNode extends Rpc {
  readonly chain: { readonly config: { readonly chainId: number } }
}

/** Returns the part of the description that questions show. */
export function chainLabel({ chainId, name, nativeCurrency, blockExplorerUrls }: ChainInfo): ChainLabel {
  const { symbol, decimals } = nativeCurrency
  return { chainId: Hex.fromQuantity(BigInt(chainId)), name, symbol, decimals, explorerUrl: blockExplorerUrls[0] ?? null }
}
