import { Hex } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import { RpcError } from '../../jsonrpc/index.ts'
import type { WalletChain } from '../chains/chain.ts'
import { standingOf } from './execution.ts'
import type { Standing } from './execution.ts'
import { CAPABILITIES_WAIT_MS } from '../limits.ts'
import type { WalletSettings } from '../settings.ts'
import { sponsorshipOn } from '../sponsorship/standing.ts'
import { within } from '../approvals/timing.ts'

/** What the wallet can do for an account on one chain. */
export interface ChainCapabilities extends EveryChain {
  /** `status` as EIP-5792 has it, `supported` as the wallets did that were there before it */
  readonly atomic: { readonly status: AtomicStatus; readonly supported: AtomicStatus }
  /** of EIP-5792 before it was final */
  readonly atomicBatch: { readonly supported: boolean }
}

export type AtomicStatus = 'supported' | 'ready' | 'unsupported'

/** What does not depend on the chain. */
export interface EveryChain {
  readonly paymasterService: { readonly supported: boolean }
  readonly gasLimitOverride: { readonly supported: boolean }
  readonly auxiliaryFunds: { readonly supported: boolean }
  readonly flowControl: { readonly supported: boolean }
}

const EVERY_CHAIN: Omit<EveryChain, 'paymasterService'> = {
  gasLimitOverride: { supported: true },
  auxiliaryFunds: { supported: false },
  flowControl: { supported: false },
}

/** Who asks, and what the wallet's owner and a person have said. */
export interface CapabilitiesGround {
  readonly settings: Pick<WalletSettings, 'unsponsoredChains'>
  /** false: nobody may pay for what this site asks */
  readonly isSponsorshipOn: boolean
  readonly onError: (error: unknown) => void
}

/**
 * By chain id, and under `0x0` what holds for every chain that was asked about; clients that ask for one chain look nowhere else, so all is repeated there.
 * A chain that does not answer in time is answered for as one without atomic batches and without sponsors.
 */
export async function capabilitiesOf(
  chains: readonly WalletChain[],
  account: Address,
  ground: CapabilitiesGround,
): Promise<Readonly<Record<Hex, EveryChain | ChainCapabilities>>> {
  const entries = await Promise.all(
    chains.map(async (chain) => [Hex.fromQuantity(chain.chainId), await onChain(chain, account, ground)] as const),
  )
  const isSponsored = entries.length > 0 && entries.every(([, { paymasterService }]) => paymasterService.supported)
  return Object.fromEntries([['0x0', { paymasterService: { supported: isSponsored }, ...EVERY_CHAIN }], ...entries])
}

async function onChain(chain: WalletChain, account: Address, ground: CapabilitiesGround): Promise<ChainCapabilities> {
  const { settings, isSponsorshipOn } = ground
  const standing = standingOf(chain, account)
  const sponsored = isSponsorshipOn ? sponsorshipOn(chain, standing, settings).then((each) => each === 'supported') : false
  const [status, isSponsored] = await Promise.all([
    inTime<AtomicStatus>(
      standing.then(({ kind }) => STATUS[kind]),
      'unsupported',
      ground,
    ),
    inTime(sponsored, false, ground),
  ])
  return {
    atomic: { status, supported: status },
    atomicBatch: { supported: status !== 'unsupported' },
    paymasterService: { supported: isSponsored },
    ...EVERY_CHAIN,
  }
}

/** `missing` when the chain refuses, or takes too long. */
function inTime<T>(answer: Promise<T> | T, missing: T, { onError }: CapabilitiesGround): Promise<T> {
  const safe = Promise.resolve(answer).catch((error: unknown) => {
    if (!(error instanceof RpcError)) onError(error)
    return missing
  })
  return within(CAPABILITIES_WAIT_MS, safe, () => missing)
}

const STATUS: Readonly<Record<Standing['kind'], AtomicStatus>> = {
  upgraded: 'supported',
  upgradable: 'ready',
  foreign: 'unsupported',
  plain: 'unsupported',
}
