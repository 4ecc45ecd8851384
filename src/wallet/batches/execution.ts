import { Delegation, Hex } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import { RpcError } from '../../jsonrpc/index.ts'
import type { WalletChain } from '../chains/chain.ts'
import { DELEGATE, isKnownDelegate } from '../delegate.ts'
import { WALLET_CODE } from '../errors.ts'

/** How the calls of a batch become transactions. */
export type Execution =
  /** one call, one transaction */
  | { readonly kind: 'single' }
  /** a transaction for each call */
  | { readonly kind: 'sequential' }
  /** one transaction of the account to itself, which its code splits */
  | { readonly kind: 'delegated'; readonly delegate: Address; readonly upgrade: Upgrade | null }
  /** one user operation (ERC-4337), which the account's code splits and somebody else pays for */
  | { readonly kind: 'sponsored'; readonly delegate: Address; readonly upgrade: Upgrade | null }

export type Sponsored = Extract<Execution, { readonly kind: 'sponsored' }>
export type Unsponsored = Exclude<Execution, Sponsored>

/** What has to happen before the account can run a batch. */
export interface Upgrade {
  /** whose code the account runs now; null: none */
  readonly before: Address | null
  /** true: the chain lacks the code of our delegate, and a transaction before puts it there */
  readonly deploys: boolean
}

/** What an account can do on a chain. */
export type Standing =
  /** runs code that we know how to hand a batch to */
  | { readonly kind: 'upgraded'; readonly delegate: Address }
  /** can be made to */
  | { readonly kind: 'upgradable'; readonly upgrade: Upgrade }
  /** runs code of somebody else, or is no account of a key */
  | { readonly kind: 'foreign'; readonly delegate: Address | null }
  /** the chain lacks EIP-7702, or our code and a way to put it there */
  | { readonly kind: 'plain' }

/**
 * Throws RpcError for calls that must be atomic and cannot be: 5710 when the chain lacks what it takes, 5760 when the account runs code that nobody
 * here knows. One call is always atomic.
 */
export async function executionOf(chain: WalletChain, from: Address, callCount: number, isAtomic: boolean): Promise<Unsponsored> {
  if (callCount === 1) return { kind: 'single' }
  const standing = await standingOf(chain, from)
  if (standing.kind === 'upgraded') return { kind: 'delegated', delegate: standing.delegate, upgrade: null }
  if (!isAtomic) return { kind: 'sequential' }
  if (standing.kind === 'upgradable') return { kind: 'delegated', delegate: DELEGATE.address, upgrade: standing.upgrade }
  throw standing.kind === 'foreign'
    ? atomicityUnsupported(from, standing.delegate)
    : chainUnsupported(Hex.fromQuantity(chain.chainId), 'no-eip-7702')
}

/** Of one call or many. Null: the account cannot send user operations, or not in one step. */
export async function sponsoredExecutionOf(chain: WalletChain, from: Address): Promise<Sponsored | null> {
  const standing = await standingOf(chain, from)
  if (standing.kind === 'upgraded') return { kind: 'sponsored', delegate: standing.delegate, upgrade: null }
  if (standing.kind !== 'upgradable' || standing.upgrade.deploys) return null
  return { kind: 'sponsored', delegate: DELEGATE.address, upgrade: standing.upgrade }
}

export async function standingOf(chain: WalletChain, address: Address): Promise<Standing> {
  const code = await codeAt(chain, address)
  if (code === '0x') return readiness(chain, null)
  const delegate = Delegation.ofText(code)
  if (delegate === null || !isKnownDelegate(delegate)) return { kind: 'foreign', delegate }
  // A delegate without code would take every batch and do nothing: the chain has been started anew, say.
  if ((await codeAt(chain, delegate)) !== '0x') return { kind: 'upgraded', delegate }
  return readiness(chain, delegate)
}

/** interface 7.3, and for a chain that the wallet does not know (EIP-5792). */
export function chainUnsupported(chainId: string, reason: 'no-eip-7702' | 'unknown-chain'): RpcError {
  return new RpcError(WALLET_CODE.unsupportedChain, 'EIP-7702 not supported on the specified chain ID', { reason, chainId })
}

async function readiness(chain: WalletChain, before: Address | null): Promise<Standing> {
  if (!(await hasDelegation(chain))) return { kind: 'plain' }
  if ((await codeAt(chain, DELEGATE.address)) !== '0x') return { kind: 'upgradable', upgrade: { before, deploys: false } }
  if ((await codeAt(chain, DELEGATE.deployer)) !== '0x') return { kind: 'upgradable', upgrade: { before, deploys: true } }
  return { kind: 'plain' }
}

async function codeAt({ rpc }: WalletChain, address: Address): Promise<Hex> {
  const code = await rpc.request({ method: 'eth_getCode', params: [address, 'pending'] })
  return Hex.isHex(code) ? code : '0x'
}

/** Nobody has a key for these. */
const PROBED = '0x77020000000000000000000000000000000000a1' as Address // 20 bytes, as it stands here
const ANSWERER = '0x77020000000000000000000000000000000000a2' as Address // 20 bytes, as it stands here
/** Returns the word 1. */
const ANSWER_ONE = '0x600160005260206000f3'

/** What is known of each connection: forks do not come while a node runs. */
const known = new WeakMap<WalletChain['rpc'], Promise<boolean>>()

/** True when accounts of the chain can run the code of others (EIP-7702). Asked once; a chain that cannot be reached is asked again. */
export function hasDelegation({ rpc }: WalletChain): Promise<boolean> {
  const found = known.get(rpc)
  if (found !== undefined) return found
  const asked = probe(rpc)
  known.set(rpc, asked)
  asked.catch(() => known.delete(rpc))
  return asked
}

/** What nobody signed, and what is skipped for it: a node that knows no authorizations refuses the call (anvil, which reads designations before Prague). */
const IGNORED = { chainId: '0x0', address: ANSWERER, nonce: '0x1', yParity: '0x0', r: '0x1', s: '0x1' }

/** Without EIP-7702 a designation is code that begins with an operation that does not exist: the call fails. */
async function probe(rpc: WalletChain['rpc']): Promise<boolean> {
  const overrides = { [PROBED]: { code: Delegation.text(ANSWERER) }, [ANSWERER]: { code: ANSWER_ONE } }
  try {
    const call = { to: PROBED, input: '0x', authorizationList: [IGNORED] }
    const answer = await rpc.request({ method: 'eth_call', params: [call, 'latest', overrides] })
    return Hex.isHex(answer, 64) && BigInt(answer) === 1n
  } catch (error) {
    // Whether the node refuses, or is out of reach: one that still answers has refused.
    if (!(error instanceof RpcError)) throw error
    await rpc.request({ method: 'eth_chainId', params: [] })
    return false
  }
}

function atomicityUnsupported(account: Address, delegate: Address | null): RpcError {
  const message = 'The wallet cannot execute the calls atomically: the account runs code that the wallet does not know'
  return new RpcError(WALLET_CODE.atomicityUnsupported, message, { reason: 'foreign-delegate', account, delegate })
}
