import { Delegation } from '../eth/index.ts'
import type { Address, Authorization } from '../eth/index.ts'
import { AUTHORIZATION_REFUND } from './gas.ts'
import { NONCE_MAX } from './state.ts'
import type { World } from './world.ts'

interface AuthorizationResult {
  /** added to the refund counter */
  readonly refund: bigint
  /** authorities that were read; they become warm even if their authorization is invalid */
  readonly warm: readonly Address[]
}

/** Applies an EIP-7702 authorization list in order. Invalid authorizations are skipped. */
export function applyAuthorizations(list: readonly Authorization[], chainId: number, world: World): AuthorizationResult {
  let refund = 0n
  const warm: Address[] = []
  for (const authorization of list) {
    const { authority } = authorization
    if (authority === null || !isForChain(authorization, chainId)) continue
    warm.push(authority)
    if (!isValid(authorization, authority, world)) continue
    if (world.account(authority) !== null) refund += AUTHORIZATION_REFUND
    world.setCode(authority, Delegation.code(authorization.address))
    world.setNonce(authority, authorization.nonce + 1n)
  }
  return { refund, warm }
}

function isForChain({ chainId, nonce }: Authorization, ownChainId: number): boolean {
  return (chainId === 0n || chainId === BigInt(ownChainId)) && nonce < NONCE_MAX
}

function isValid({ nonce }: Authorization, authority: Address, world: World): boolean {
  const code = world.codeAt(authority)
  return (code.length === 0 || Delegation.of(code) !== null) && world.nonce(authority) === nonce
}
