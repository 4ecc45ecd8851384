import type { ChainInfo, WalletChain } from './chain.ts'
import { mimicryWarnings } from './chainmimicry.ts'
import type { Chains } from './chains.ts'
import type { Warning } from '../question.ts'
import { isRealChain } from './realchains.ts'

/** What a person should know before a chain is added. `unchecked`: urls that are asked for their chain id only after the person has agreed. */
export function chainWarnings(chains: Chains, proposed: ChainInfo, unchecked: readonly string[]): readonly Warning[] {
  const known = chains.get(proposed.chainId)
  return [
    ...(known === null ? newChain(chains, proposed) : knownChain(chains, known, proposed)),
    ...mimicryWarnings(proposed),
    ...proposed.rpcUrls.filter(isForeignScript).map(foreignScript),
    ...(isRealChain(proposed.chainId) ? [REAL] : []),
    ...(unchecked.length > 0 ? [notChecked(unchecked)] : []),
  ]
}

function newChain(chains: Chains, { name }: ChainInfo): readonly Warning[] {
  const twin = chains.list().find((chain) => chain.name.toLowerCase() === name.toLowerCase())
  if (twin === undefined) return []
  const text = `Another chain has this name already: ${twin.name}, chain id ${twin.chainId}.`
  return [{ code: 'chain-name-taken', level: 'caution', text }]
}

function knownChain(chains: Chains, known: WalletChain, { name, rpcUrls }: ChainInfo): readonly Warning[] {
  const warnings: Warning[] = []
  if (known.name !== name) {
    warnings.push({
      code: 'chain-name-differs',
      level: 'caution',
      text: `The wallet knows this chain as ${known.name} and keeps that name.`,
    })
  }
  const [url] = rpcUrls
  if (url !== undefined && chains.wouldReconnect(known.chainId, url)) {
    const text = `From now on ${new URL(url).host} sees what is asked and sent on this chain.`
    warnings.push({ code: 'chain-rpc-changes', level: 'caution', text })
  }
  return warnings
}

/** `xn--`: the host is written in letters that may look like others. */
function isForeignScript(url: string): boolean {
  return new URL(url).hostname.split('.').some((part) => part.startsWith('xn--'))
}

function foreignScript(url: string): Warning {
  const text = `The name of the rpc holds letters that can look like others: ${new URL(url).hostname}.`
  return { code: 'rpc-host-letters', level: 'caution', text }
}

function notChecked(urls: readonly string[]): Warning {
  const hosts = [...new Set(urls.map((url) => new URL(url).host))].join(', ')
  const text = `The RPC at ${hosts} is on this computer and has not been checked yet: it is asked for its chain id after you agree, and is used only if it answers with the same one.`
  return { code: 'unchecked-rpc', level: 'info', text }
}

const REAL: Warning = { code: 'real-chain', level: 'info', text: 'Money on this chain is real. Development accounts do not sign there.' }
