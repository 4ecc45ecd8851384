import { Hex } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import { RpcError } from '../../jsonrpc/index.ts'
import type { WalletChain } from '../chains/chain.ts'
import { delegationStatus, passesLimits } from './execution.ts'
import type { DelegationStatus } from './execution.ts'
import { CAPABILITIES_WAIT_MS } from '../limits.ts'
import type { WalletSettings } from '../settings.ts'
import { sponsorshipSupport } from '../sponsorship/availability.ts'
import { withTimeout } from '../approvals/timing.ts'

/** The capabilities of an account on one chain (EIP-5792). */
interface ChainCapabilities extends CommonCapabilities {
  /** `status` as in EIP-5792, `supported` as in wallets before its final version */
  readonly atomic: { readonly status: AtomicStatus; readonly supported: AtomicStatus }
  /** in drafts of EIP-5792 */
  readonly atomicBatch: { readonly supported: boolean }
}

type AtomicStatus = 'supported' | 'ready' | 'unsupported'

/** The capabilities that are listed for every chain. */
interface CommonCapabilities {
  readonly paymasterService: { readonly supported: boolean }
  readonly gasLimitOverride: { readonly supported: boolean }
  readonly auxiliaryFunds: { readonly supported: boolean }
  readonly flowControl: { readonly supported: boolean }
}

const COMMON: Omit<CommonCapabilities, 'paymasterService' | 'gasLimitOverride'> = {
  auxiliaryFunds: { supported: false },
  flowControl: { supported: false },
}

interface CapabilitiesContext {
  readonly settings: Pick<WalletSettings, 'unsponsoredChains'>
  /** false: sponsorship is switched off for the wallet or the site */
  readonly isSponsorshipEnabled: boolean
  readonly onError: (error: unknown) => void
}

/**
 * Returns the capabilities by chain id, and under `0x0` those of every requested chain. They are repeated for each chain, because clients read one entry
 * only. A chain that does not respond in time counts as one without atomic batches and without sponsors.
 */
export async function capabilitiesOf(
  chains: readonly WalletChain[],
  account: Address,
  context: CapabilitiesContext,
): Promise<Readonly<Record<Hex, CommonCapabilities | ChainCapabilities>>> {
  const entries = await Promise.all(
    chains.map(async (chain) => [Hex.fromQuantity(chain.chainId), await onChain(chain, account, context)] as const),
  )
  const isSponsored = entries.length > 0 && entries.every(([, { paymasterService }]) => paymasterService.supported)
  const isLimited = entries.every(([, { gasLimitOverride }]) => gasLimitOverride.supported)
  const common = { paymasterService: { supported: isSponsored }, gasLimitOverride: { supported: isLimited } }
  return Object.fromEntries([['0x0', { ...common, ...COMMON }], ...entries])
}

async function onChain(chain: WalletChain, account: Address, context: CapabilitiesContext): Promise<ChainCapabilities> {
  const { settings, isSponsorshipEnabled } = context
  const delegation = delegationStatus(chain, account)
  const sponsored = isSponsorshipEnabled ? sponsorshipSupport(chain, delegation, settings).then((each) => each === 'supported') : false
  const [status, isSponsored, isLimited] = await Promise.all([
    withFallback<AtomicStatus>(
      delegation.then(({ kind }) => STATUS[kind]),
      'unsupported',
      context,
    ),
    withFallback(sponsored, false, context),
    withFallback(delegation.then(passesLimits), true, context),
  ])
  return {
    atomic: { status, supported: status },
    atomicBatch: { supported: status !== 'unsupported' },
    paymasterService: { supported: isSponsored },
    gasLimitOverride: { supported: isLimited },
    ...COMMON,
  }
}

/** Resolves to `fallback` if the chain refuses, or does not respond within CAPABILITIES_WAIT_MS. */
function withFallback<T>(answer: Promise<T> | T, fallback: T, { onError }: CapabilitiesContext): Promise<T> {
  const safe = Promise.resolve(answer).catch((error: unknown) => {
    if (!(error instanceof RpcError)) onError(error)
    return fallback
  })
  return withTimeout(CAPABILITIES_WAIT_MS, safe, () => fallback)
}

const STATUS: Readonly<Record<DelegationStatus['kind'], AtomicStatus>> = {
  upgraded: 'supported',
  upgradable: 'ready',
  foreign: 'unsupported',
  plain: 'unsupported',
}
