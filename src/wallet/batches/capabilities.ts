import { Hex } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import { RpcError } from '../../rpc/index.ts'
import type { WalletChain } from '../chains/chain.ts'
import { standingOf } from './execution.ts'
import type { Standing } from './execution.ts'
import { CAPABILITIES_WAIT_MS } from '../limits.ts'
import { after } from '../approvals/timing.ts'

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

const EVERY_CHAIN: EveryChain = {
  paymasterService: { supported: false },
  gasLimitOverride: { supported: true },
  auxiliaryFunds: { supported: false },
  flowControl: { supported: false },
}

/**
 * By chain id, and under `0x0` what holds for every chain; clients that ask for one chain look nowhere else, so all is repeated there. A chain that
 * does not answer in time is answered for as one without atomic batches.
 */
export async function capabilitiesOf(
  chains: readonly WalletChain[],
  account: Address,
  onError: (error: unknown) => void,
): Promise<Readonly<Record<Hex, EveryChain | ChainCapabilities>>> {
  const entries = await Promise.all(
    chains.map(async (chain) => [Hex.fromQuantity(chain.chainId), onChain(await statusOn(chain, account, onError))] as const),
  )
  return Object.fromEntries([['0x0', EVERY_CHAIN], ...entries])
}

function onChain(status: AtomicStatus): ChainCapabilities {
  return { atomic: { status, supported: status }, atomicBatch: { supported: status !== 'unsupported' }, ...EVERY_CHAIN }
}

async function statusOn(chain: WalletChain, account: Address, onError: (error: unknown) => void): Promise<AtomicStatus> {
  let stop = (): void => {}
  const late = new Promise<AtomicStatus>((resolve) => (stop = after(CAPABILITIES_WAIT_MS, () => resolve('unsupported'))))
  const standing = standingOf(chain, account).then(
    ({ kind }) => STATUS[kind],
    (error: unknown): AtomicStatus => {
      if (!(error instanceof RpcError)) onError(error)
      return 'unsupported'
    },
  )
  const status = await Promise.race([standing, late])
  stop()
  return status
}

const STATUS: Readonly<Record<Standing['kind'], AtomicStatus>> = {
  upgraded: 'supported',
  upgradable: 'ready',
  foreign: 'unsupported',
  plain: 'unsupported',
}
