import { Address, ENTRY_POINTS } from '../../eth/index.ts'
import { RpcError } from '../../jsonrpc/index.ts'
import { standingOf } from '../batches/execution.ts'
import type { Standing } from '../batches/execution.ts'
import type { WalletChain } from '../chains/chain.ts'
import type { WalletSettings } from '../settings.ts'

/** Whether somebody else may pay for an account on a chain, or what is in the way. */
export type Sponsorship =
  | 'supported'
  /** the owner of the wallet has taken the chain out */
  | 'chain-excluded'
  /** accounts of the chain cannot run the code of others (EIP-7702) */
  | 'no-eip-7702'
  /** our code is not on the chain, and an operation cannot put it there */
  | 'no-delegate'
  /** the account runs code that the wallet does not know */
  | 'foreign-delegate'
  /** nobody takes user operations there for the EntryPoint of such accounts */
  | 'no-bundler'

/** That accounts of EIP-7702 are made for. */
export const SPONSORED_VERSION = '0.8'

/** `account`: or its standing there, where that is asked for anyway. Throws RpcError when the chain does not answer. */
export async function sponsorshipOn(
  chain: WalletChain,
  account: Address | Promise<Standing>,
  { unsponsoredChains }: Pick<WalletSettings, 'unsponsoredChains'>,
): Promise<Sponsorship> {
  if (unsponsoredChains.includes(chain.chainId)) return 'chain-excluded'
  const [standing, isBundled] = await Promise.all([typeof account === 'string' ? standingOf(chain, account) : account, hasBundler(chain)])
  const able = ABLE[standing.kind](standing)
  return able === 'supported' && !isBundled ? 'no-bundler' : able
}

const ABLE: Readonly<Record<Standing['kind'], (standing: Standing) => Sponsorship>> = {
  upgraded: () => 'supported',
  upgradable: (standing) => (standing.kind === 'upgradable' && standing.upgrade.deploys ? 'no-delegate' : 'supported'),
  foreign: () => 'foreign-delegate',
  plain: () => 'no-eip-7702',
}

/** A node without bundler does not know the method. */
async function hasBundler({ rpc }: WalletChain): Promise<boolean> {
  try {
    const known = await rpc.request({ method: 'eth_supportedEntryPoints', params: [] })
    return Array.isArray(known) && known.some((each) => Address.isAddress(each) && Address.from(each) === ENTRY_POINTS[SPONSORED_VERSION])
  } catch (error) {
    if (error instanceof RpcError) return false
    throw error
  }
}
