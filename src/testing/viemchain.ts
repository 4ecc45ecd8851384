import type { Pocketchain, Server } from '../index.ts'

/** A chain definition of viem and wagmi. */
export interface ViemChain {
  readonly id: number
  readonly name: string
  readonly nativeCurrency: { readonly name: string; readonly symbol: string; readonly decimals: number }
  readonly rpcUrls: { readonly default: { readonly http: readonly string[]; readonly webSocket: readonly string[] } }
  readonly contracts: { readonly multicall3: { readonly address: `0x${string}` } }
  /** milliseconds; without it viem polls every 4 s */
  readonly blockTime: number
  /** with it viem reads `pending` by default; absent if the chain promises nothing */
  readonly experimental_preconfirmationTime?: number
  readonly testnet: true
}

const MULTICALL3 = '0xcA11bde05977b3631167028862bE2a173976CA11'
/** The block time that viem is given where blocks are sealed per transaction or on request. */
const AT_ONCE_MS = 200

/**
 * Returns the definition of a running chain for `createClient({ chain })`, so that viem polls as fast as blocks come and, under `preconf`, reads promised
 * state. `server`: what `listen` returned.
 */
export function viemChain(node: Pocketchain, server: Pick<Server, 'url' | 'wsUrl'>): ViemChain {
  // The types do not hold in JavaScript, where both are easily forgotten.
  if ((node as Partial<Pocketchain> | undefined)?.chain === undefined || (server as Partial<Server> | undefined)?.url === undefined)
    throw new TypeError('viemChain(node, server) expects a node of createPocketchain and the server that its listen returned')
  const { cadence, config } = node.chain
  const blockTimeMs = 'blockTimeMs' in cadence ? cadence.blockTimeMs : AT_ONCE_MS
  return {
    id: config.chainId,
    name: 'pocketchain',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [server.url], webSocket: [server.wsUrl] } },
    contracts: { multicall3: { address: MULTICALL3 } },
    blockTime: blockTimeMs,
    ...(cadence.kind === 'preconf' ? { experimental_preconfirmationTime: cadence.flashblockMs } : {}),
    testnet: true,
  }
}
