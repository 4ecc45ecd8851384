import { Delegation } from '../eth/index.ts'
import type { Address, Authorization } from '../eth/index.ts'
import { AUTHORIZATION_REFUND } from './gas.ts'
import { NONCE_MAX } from './state.ts'
import type { World } from './world.ts'

export interface Authorized {
  /** for the refund counter */
  readonly refund: bigint
  /** authorities whose account was read: warm, whether or not their authorization held */
  readonly warm: readonly Address[]
}

/** Installs the delegations of an EIP-7702 list, one after the other; one that does not hold is passed over. */
export function authorize(list: readonly Authorization[], chainId: number, world: World): Authorized {
  let refund = 0n
  const warm: Address[] = []
  for (const authorization of list) {
    const { authority } = authorization
    if (authority === null || !isMeantForUs(authorization, chainId)) continue
    warm.push(authority)
    if (!holds(authorization, authority, world)) continue
    if (world.account(authority) !== null) refund += AUTHORIZATION_REFUND
    world.setCode(authority, Delegation.code(authorization.address))
    world.setNonce(authority, authorization.nonce + 1n)
  }
  return { refund, warm }
}

function isMeantForUs({ chainId, nonce }: Authorization, ours: number): boolean {
  return (chainId === 0n || chainId === BigInt(ours)) && nonce < NONCE_MAX
}

function holds({ nonce }: Authorization, authority: Address, world: World): boolean {
  const code = world.codeAt(authority)
  return (code.length === 0 || Delegation.of(code) !== null) && world.nonce(authority) === nonce
}
