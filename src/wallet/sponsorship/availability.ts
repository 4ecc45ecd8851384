import { Address, ENTRY_POINTS } from '../../eth/index.ts'
import { RpcError } from '../../jsonrpc/index.ts'
import { delegationStatus } from '../batches/execution.ts'
import type { DelegationStatus } from '../batches/execution.ts'
import type { WalletChain } from '../chains/chain.ts'
import type { WalletContext } from '../context.ts'
import { sponsorshipOff } from '../errors.ts'
import type { WalletSettings } from '../settings.ts'

/** The ability of a sponsor to pay for an account on a chain, or the reason why it cannot. */
type SponsorshipSupport =
  | 'supported'
  /** excluded by the wallet's settings */
  | 'chain-excluded'
  /** the chain lacks EIP-7702 */
  | 'no-eip-7702'
  /** the wallet's delegate is not on the chain, and a user operation cannot deploy it */
  | 'no-delegate'
  /** the account delegates to code that the wallet does not support */
  | 'foreign-delegate'
  /** the node has no bundler for the EntryPoint of these accounts */
  | 'no-bundler'

/** The EntryPoint version that supports EIP-7702 accounts. */
export const SPONSORED_VERSION = '0.8'

/** `account`: or its delegation status, if the caller requests it anyway. Throws RpcError if the chain does not respond. */
export async function sponsorshipSupport(
  chain: WalletChain,
  account: Address | Promise<DelegationStatus>,
  { unsponsoredChains }: Pick<WalletSettings, 'unsponsoredChains'>,
): Promise<SponsorshipSupport> {
  if (unsponsoredChains.includes(chain.chainId)) return 'chain-excluded'
  const [status, isBundled] = await Promise.all([
    typeof account === 'string' ? delegationStatus(chain, account) : account,
    hasBundler(chain),
  ])
  if (status.kind === 'foreign') return 'foreign-delegate'
  if (status.kind === 'plain') return 'no-eip-7702'
  if (status.kind === 'upgradable' && status.upgrade.deploys) return 'no-delegate'
  return isBundled ? 'supported' : 'no-bundler'
}

async function hasBundler({ rpc }: WalletChain): Promise<boolean> {
  try {
    const supported = await rpc.request({ method: 'eth_supportedEntryPoints', params: [] })
    return (
      Array.isArray(supported) &&
      supported.some((each) => Address.isAddress(each) && Address.from(each) === ENTRY_POINTS[SPONSORED_VERSION])
    )
  } catch (error) {
    if (error instanceof RpcError) return false // a node without bundler lacks the method
    throw error
  }
}

/** True unless the settings, or the user for every site or this one, have switched sponsorship off. */
export function isSponsorshipEnabled({ sites, settings }: Pick<WalletContext, 'sites' | 'settings'>, origin: string): boolean {
  return settings.sponsorship && sites.isSponsorshipOn && sites.get(origin).sponsorship
}

/** Throws RpcError 4100 with the message of interface 7.4 if sponsorship is switched off. */
export function assertSponsorshipEnabled(wallet: Pick<WalletContext, 'sites' | 'settings'>, origin: string): void {
  if (isSponsorshipEnabled(wallet, origin)) return
  const { settings, sites } = wallet
  if (settings.sponsorship && sites.isSponsorshipOn)
    throw sponsorshipOff('sponsorship-off-for-site', `sponsorship of the requests of ${origin} is switched off`)
  throw sponsorshipOff('sponsorship-off', 'sponsorship of requests of sites is switched off in this wallet')
}
