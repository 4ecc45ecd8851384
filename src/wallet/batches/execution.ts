import { Delegation, Hex } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import { RpcError } from '../../jsonrpc/index.ts'
import type { WalletChain } from '../chains/chain.ts'
import { DELEGATE, hasCallLimits, isKnownDelegate } from '../delegate.ts'
import { WALLET_CODE } from '../errors.ts'

/** The form in which the calls of a batch are executed. */
export type Execution =
  /** one call, one transaction */
  | { readonly kind: 'single' }
  /** a transaction for each call */
  | { readonly kind: 'sequential' }
  /** one transaction of the account to itself; its delegate executes the calls */
  | { readonly kind: 'delegated'; readonly delegate: Address; readonly upgrade: Upgrade | null }
  /** one user operation (ERC-4337) that a paymaster pays for; the account's delegate executes the calls */
  | { readonly kind: 'sponsored'; readonly delegate: Address; readonly upgrade: Upgrade | null }

export type Sponsored = Extract<Execution, { readonly kind: 'sponsored' }>
export type Unsponsored = Exclude<Execution, Sponsored>

/** The EIP-7702 authorization that an account needs before it can execute a batch. */
export interface Upgrade {
  /** the account's current delegate; null: none */
  readonly before: Address | null
  /** true: the wallet's delegate is not on the chain, and a transaction before deploys it */
  readonly deploys: boolean
}

/** The ability of an account to execute batches on a chain. */
export type DelegationStatus =
  /** it delegates to code whose batch interface the wallet supports */
  | { readonly kind: 'upgraded'; readonly delegate: Address }
  /** an authorization can upgrade it */
  | { readonly kind: 'upgradable'; readonly upgrade: Upgrade }
  /** it delegates to unknown code, or is a contract */
  | { readonly kind: 'foreign'; readonly delegate: Address | null }
  /** the chain lacks EIP-7702, or both the wallet's delegate and the factory that deploys it */
  | { readonly kind: 'plain' }

/**
 * Returns how the account executes the calls if it pays itself. A single call is always atomic. Throws RpcError for calls that must be atomic and cannot
 * be: 5710 if the chain lacks EIP-7702, 5760 if the account delegates to unknown code.
 */
export async function executionOf(chain: WalletChain, from: Address, callCount: number, isAtomic: boolean): Promise<Unsponsored> {
  if (callCount === 1) return { kind: 'single' }
  const status = await delegationStatus(chain, from)
  if (status.kind === 'upgraded') return { kind: 'delegated', delegate: status.delegate, upgrade: null }
  if (!isAtomic) return { kind: 'sequential' }
  if (status.kind === 'upgradable') return { kind: 'delegated', delegate: DELEGATE.address, upgrade: status.upgrade }
  throw status.kind === 'foreign'
    ? atomicityUnsupported(from, status.delegate)
    : chainUnsupported(Hex.fromQuantity(chain.chainId), 'no-eip-7702')
}

/** Returns how the account executes calls in a user operation. Null: it cannot, or needs a transaction before. */
export async function sponsoredExecutionOf(chain: WalletChain, from: Address): Promise<Sponsored | null> {
  const status = await delegationStatus(chain, from)
  if (status.kind === 'upgraded') return { kind: 'sponsored', delegate: status.delegate, upgrade: null }
  if (status.kind !== 'upgradable' || status.upgrade.deploys) return null
  return { kind: 'sponsored', delegate: DELEGATE.address, upgrade: status.upgrade }
}

/** False: the code of the account makes the calls, and cannot give one of them a gas limit of its own. */
export function passesLimits(status: DelegationStatus): boolean {
  return status.kind !== 'upgraded' || hasCallLimits(status.delegate)
}

export async function delegationStatus(chain: WalletChain, address: Address): Promise<DelegationStatus> {
  const code = await codeAt(chain, address)
  if (code === '0x') return upgradeStatus(chain, null)
  const delegate = Delegation.ofText(code)
  if (delegate === null || !isKnownDelegate(delegate)) return { kind: 'foreign', delegate }
  // With a delegate without code, as after a restart of a test chain, every batch would succeed without effect.
  if ((await codeAt(chain, delegate)) !== '0x') return { kind: 'upgraded', delegate }
  return upgradeStatus(chain, delegate)
}

/** interface 7.3; EIP-5792 has the same code for a chain that the wallet does not have. */
export function chainUnsupported(chainId: string, reason: 'no-eip-7702' | 'unknown-chain'): RpcError {
  return new RpcError(WALLET_CODE.unsupportedChain, 'EIP-7702 not supported on the specified chain ID', { reason, chainId })
}

async function upgradeStatus(chain: WalletChain, before: Address | null): Promise<DelegationStatus> {
  if (!(await hasDelegation(chain))) return { kind: 'plain' }
  if ((await codeAt(chain, DELEGATE.address)) !== '0x') return { kind: 'upgradable', upgrade: { before, deploys: false } }
  if ((await codeAt(chain, DELEGATE.deployer)) !== '0x') return { kind: 'upgradable', upgrade: { before, deploys: true } }
  return { kind: 'plain' }
}

async function codeAt({ rpc }: WalletChain, address: Address): Promise<Hex> {
  const code = await rpc.request({ method: 'eth_getCode', params: [address, 'pending'] })
  return Hex.isHex(code) ? code : '0x'
}

/** Addresses without a known key. */
const PROBED = '0x77020000000000000000000000000000000000a1' as Address // 20 bytes
const ANSWERER = '0x77020000000000000000000000000000000000a2' as Address // 20 bytes
/** Returns the word 1. */
const ANSWER_ONE = '0x600160005260206000f3'

/** By connection: a running node does not change its fork rules. */
const probes = new WeakMap<WalletChain['rpc'], Promise<boolean>>()

/** Returns whether the chain has EIP-7702. Probed once per connection, and again if the chain could not be reached. */
export function hasDelegation({ rpc }: WalletChain): Promise<boolean> {
  const cached = probes.get(rpc)
  if (cached !== undefined) return cached
  const result = probe(rpc)
  probes.set(rpc, result)
  result.catch(() => probes.delete(rpc))
  return result
}

/** An invalid authorization, which EIP-7702 skips. Needed for anvil, which executes delegations before Prague but refuses authorizations. */
const INVALID_AUTHORIZATION = { chainId: '0x0', address: ANSWERER, nonce: '0x1', yParity: '0x0', r: '0x1', s: '0x1' }

/** Calls an account that delegates to ANSWERER. Without EIP-7702 its code begins with the invalid opcode 0xef, and the call fails. */
async function probe(rpc: WalletChain['rpc']): Promise<boolean> {
  const overrides = { [PROBED]: { code: Delegation.text(ANSWERER) }, [ANSWERER]: { code: ANSWER_ONE } }
  try {
    const call = { to: PROBED, input: '0x', authorizationList: [INVALID_AUTHORIZATION] }
    const answer = await rpc.request({ method: 'eth_call', params: [call, 'latest', overrides] })
    return Hex.isHex(answer, 64) && BigInt(answer) === 1n
  } catch (error) {
    // Throws if the node cannot be reached; otherwise it has refused the call.
    if (!(error instanceof RpcError)) throw error
    await rpc.request({ method: 'eth_chainId', params: [] })
    return false
  }
}

function atomicityUnsupported(account: Address, delegate: Address | null): RpcError {
  const message = 'The wallet cannot execute the calls atomically: the account delegates to code that the wallet does not support'
  return new RpcError(WALLET_CODE.atomicityUnsupported, message, { reason: 'foreign-delegate', account, delegate })
}
