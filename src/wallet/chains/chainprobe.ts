import { Hex } from '../../eth/index.ts'
import { OutboundError, RpcError, isLoopbackName } from '../../jsonrpc/index.ts'
import type { ChainInfo } from './chain.ts'
import type { Chains } from './chains.ts'
import { unrecognizedChain } from '../errors.ts'
import { PROBE_MS } from '../limits.ts'

/**
 * Returns the urls of a proposed chain whose chain id is requested only after the approval: loopback urls other than the node of this process.
 * Otherwise a site could find open ports of this computer by the answer or its time. Other private addresses are never fetched.
 */
export function uncheckedUrls(chains: Chains, { rpcUrls }: Pick<ChainInfo, 'rpcUrls'>): readonly string[] {
  const own = new Set(chains.list().flatMap((chain) => (chain.isEmbedded ? chain.rpcUrls.map(originOf) : [])))
  return rpcUrls.filter((url) => isLoopbackName(new URL(url).hostname) && !own.has(originOf(url)))
}

function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : url
}

/**
 * Returns the urls that answer with the proposed chain id, and those of `unchecked`, which are not requested. Urls without an answer are
 * dropped. Throws RpcError 4902 if one answers another id or has a private address, or if none is left. Call it for connected origins only,
 * since it sends requests to the network.
 */
export async function answeringUrls(
  chains: Chains,
  { chainId, rpcUrls }: Pick<ChainInfo, 'chainId' | 'rpcUrls'>,
  signal: AbortSignal | null,
  unchecked: readonly string[] = [],
): Promise<readonly string[]> {
  const verdicts = await Promise.all(rpcUrls.filter((url) => !unchecked.includes(url)).map((url) => probe(chains, url, chainId, signal)))
  const asked = Hex.fromQuantity(chainId)
  for (const { url, answered } of verdicts) {
    if (answered === 'forbidden')
      throw unrecognizedChain(`${hostOf(url)} leads into a private network`, { reason: 'forbidden', asked, answered: null, url })
    if (isOther(answered, chainId)) {
      const reported = Hex.fromQuantity(answered)
      throw unrecognizedChain(`the rpc at ${hostOf(url)} answers chain id ${reported}, not ${asked}`, {
        reason: 'other-chain-id',
        asked,
        answered: reported,
        url,
      })
    }
  }
  const answering = new Set(verdicts.filter(({ answered }) => answered === BigInt(chainId)).map(({ url }) => url))
  const urls = rpcUrls.filter((url) => answering.has(url) || unchecked.includes(url))
  if (urls.length > 0) return urls
  const hosts = rpcUrls.map(hostOf).join(', ')
  throw unrecognizedChain(`no rpc says its chain id within ${PROBE_MS} ms (${hosts})`, { reason: 'unreachable', asked, answered: null })
}

/** The chain id or one of two reasons, so that an app learns nothing more about the network. */
type Answered = bigint | 'unreachable' | 'forbidden'

async function probe(
  chains: Chains,
  url: string,
  chainId: number,
  signal: AbortSignal | null,
): Promise<{ url: string; answered: Answered }> {
  try {
    const reported = await chains.probe(url, chainId, signal)
    return { url, answered: typeof reported === 'string' && QUANTITY.test(reported) ? BigInt(reported) : 'unreachable' }
  } catch (error) {
    signal?.throwIfAborted()
    return { url, answered: reasonOf(error) === 'forbidden' ? 'forbidden' : 'unreachable' }
  }
}

function isOther(answered: Answered, chainId: number): answered is bigint {
  return typeof answered === 'bigint' && answered !== BigInt(chainId)
}

function reasonOf(error: unknown): unknown {
  if (error instanceof OutboundError) return error.reason
  if (!(error instanceof RpcError) || typeof error.data !== 'object' || error.data === null) return null
  return (error.data as { reason?: unknown }).reason // any object has this shape
}

const QUANTITY = /^0x[0-9a-f]{1,64}$/i

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url
}
