import { INVISIBLE } from '../../eth/index.ts'
import { isLoopbackName } from '../../jsonrpc/index.ts'
import type { ChainInfo } from './chain.ts'
import type { Warning } from '../question.ts'

type Proposed = Pick<ChainInfo, 'chainId' | 'name' | 'nativeCurrency' | 'rpcUrls'>

/** Warns of a proposed chain with the name, id or currency of a well-known one, or with an unencrypted rpc. */
export function impersonationWarnings(proposed: Proposed): readonly Warning[] {
  return [...nameWarnings(proposed), ...currencyWarnings(proposed), ...proposed.rpcUrls.filter(isUnencrypted).slice(0, 1).map(unencrypted)]
}

function nameWarnings({ chainId, name }: Proposed): readonly Warning[] {
  const known = WELL_KNOWN.get(chainId)
  const named = [...WELL_KNOWN].find(([id, chain]) => id !== chainId && normalized(chain.name) === normalized(name))
  if (named !== undefined) {
    const text = `The chain commonly called ${named[1].name} has the id ${named[0]}; this one has the id ${chainId}.`
    return [{ code: 'well-known-name', level: 'danger', text }]
  }
  if (known === undefined || normalized(name).includes(normalized(known.name)) || normalized(known.name).includes(normalized(name)))
    return []
  return [{ code: 'well-known-id', level: 'caution', text: `The chain with the id ${chainId} is commonly known as ${known.name}.` }]
}

function currencyWarnings({ chainId, nativeCurrency }: Proposed): readonly Warning[] {
  const { symbol, decimals } = nativeCurrency
  const known = WELL_KNOWN.get(chainId)
  const warnings: Warning[] = []
  if (known !== undefined && known.symbol.toLowerCase() !== symbol.toLowerCase()) {
    const text = `The currency of ${known.name} is ${known.symbol}, and this proposal calls it ${symbol}.`
    warnings.push({ code: 'well-known-symbol', level: 'caution', text })
  }
  if (decimals !== 18) {
    const text = `The currency has ${decimals} decimals instead of 18: displayed amounts are scaled wrongly.`
    warnings.push({ code: 'unusual-decimals', level: 'caution', text })
  }
  return warnings
}

/** True if the network between can read and change the traffic: plain http or ws to another computer. */
function isUnencrypted(url: string): boolean {
  if (!URL.canParse(url)) return false
  const { protocol, hostname } = new URL(url)
  return (protocol === 'http:' || protocol === 'ws:') && !isLoopbackName(hostname)
}

function unencrypted(url: string): Warning {
  const text = `Requests to ${new URL(url).host} are not encrypted: the network between can read them and change the answers.`
  return { code: 'plain-http-rpc', level: 'caution', text }
}

/** Normalizes a name for comparison: `BASE Mainnet` equals `Base`. */
function normalized(name: string): string {
  return name
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(INVISIBLES, '')
    .replaceAll(/mainnet|network|chain|[^\p{L}\p{N}]/gu, '')
}

const INVISIBLES = new RegExp(INVISIBLE, 'gu')

/** Commonly imitated chains, from chainid.network. */
const WELL_KNOWN: ReadonlyMap<number, { readonly name: string; readonly symbol: string }> = new Map(
  (
    [
      [1, 'Ethereum', 'ETH'],
      [10, 'OP Mainnet', 'ETH'],
      [56, 'BNB Smart Chain', 'BNB'],
      [100, 'Gnosis', 'xDAI'],
      [130, 'Unichain', 'ETH'],
      [137, 'Polygon', 'POL'],
      [250, 'Fantom', 'FTM'],
      [324, 'ZKsync Era', 'ETH'],
      [480, 'World Chain', 'ETH'],
      [5000, 'Mantle', 'MNT'],
      [8453, 'Base', 'ETH'],
      [42161, 'Arbitrum One', 'ETH'],
      [42220, 'Celo', 'CELO'],
      [43114, 'Avalanche C-Chain', 'AVAX'],
      [57073, 'Ink', 'ETH'],
      [59144, 'Linea', 'ETH'],
      [81457, 'Blast', 'ETH'],
      [84532, 'Base Sepolia', 'ETH'],
      [534352, 'Scroll', 'ETH'],
      [7777777, 'Zora', 'ETH'],
      [11155111, 'Sepolia', 'ETH'],
      [11155420, 'OP Sepolia', 'ETH'],
    ] as const
  ).map(([chainId, name, symbol]) => [chainId, { name, symbol }]),
)
