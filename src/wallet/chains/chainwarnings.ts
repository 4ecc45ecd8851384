import type { ChainInfo, WalletChain } from './chain.ts'
import { impersonationWarnings } from './impersonation.ts'
import type { Chains } from './chains.ts'
import type { Warning } from '../question.ts'
import { isRealChain } from './realchains.ts'

/** Warnings of an addChain question. `unchecked`: urls whose chain id is requested only after the approval. */
export function chainWarnings(chains: Chains, proposed: ChainInfo, unchecked: readonly string[]): readonly Warning[] {
  const known = chains.get(proposed.chainId)
  return [
    ...(known === null ? newChain(chains, proposed) : knownChain(chains, known, proposed)),
    ...impersonationWarnings(proposed),
    ...proposed.rpcUrls.filter(isForeignScript).map(foreignScript),
    ...(isRealChain(proposed.chainId) ? [REAL] : []),
    ...(unchecked.length > 0 ? [notChecked(unchecked)] : []),
  ]
}

function newChain(chains: Chains, { name }: ChainInfo): readonly Warning[] {
  const sameName = chains.list().find((chain) => chain.name.toLowerCase() === name.toLowerCase())
  if (sameName === undefined) return []
  const text = `Another chain has this name already: ${sameName.name}, chain id ${sameName.chainId}.`
  return [{ code: 'chain-name-taken', level: 'caution', text }]
}

function knownChain(chains: Chains, known: WalletChain, { name, rpcUrls }: ChainInfo): readonly Warning[] {
  const warnings: Warning[] = []
  if (known.name !== name) {
    warnings.push({
      code: 'chain-name-differs',
      level: 'caution',
      text: `The wallet has this chain as ${known.name} and keeps that name.`,
    })
  }
  const [url] = rpcUrls
  if (url !== undefined && chains.wouldReconnect(known.chainId, url)) {
    const text = `${new URL(url).host} will receive all requests and transactions of this chain.`
    warnings.push({ code: 'chain-rpc-changes', level: 'caution', text })
  }
  return warnings
}

/** `xn--`: an internationalized host name, whose letters may look like others. */
function isForeignScript(url: string): boolean {
  return new URL(url).hostname.split('.').some((part) => part.startsWith('xn--'))
}

function foreignScript(url: string): Warning {
  const text = `The name of the rpc holds letters that can look like others: ${new URL(url).hostname}.`
  return { code: 'rpc-host-letters', level: 'caution', text }
}

function notChecked(urls: readonly string[]): Warning {
  const hosts = [...new Set(urls.map((url) => new URL(url).host))].join(', ')
  const text = `The RPC at ${hosts} is on this computer and has not been checked yet: its chain id is requested after you approve, and it is used only if the id is the same.`
  return { code: 'unchecked-rpc', level: 'info', text }
}

const REAL: Warning = {
  code: 'real-chain',
  level: 'info',
  text: 'Assets on this chain have real value. Development accounts do not sign there.',
}
