import { Address } from '../eth/index.ts'
import type { Authorization } from '../eth/index.ts'
import { AUTHORIZATION_REFUND } from './gas.ts'
import { NONCE_MAX } from './state.ts'
import type { World } from './world.ts'

const PREFIX = [0xef, 0x01, 0x00] as const
const DELEGATION_SIZE = 23

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
    world.setCode(authority, designator(authorization.address))
    world.setNonce(authority, authorization.nonce + 1n)
  }
  return { refund, warm }
}

/** True for the code of an account that delegates: 0xef0100 and an address. */
export function isDelegation(code: Uint8Array): boolean {
  return code.length === DELEGATION_SIZE && PREFIX.every((byte, at) => code[at] === byte)
}

/** Where the account's code says to look for code; null when it holds its own or none. */
export function delegationTarget(code: Uint8Array): Address | null {
  return isDelegation(code) ? Address.from(code.subarray(PREFIX.length)) : null
}

function isMeantForUs({ chainId, nonce }: Authorization, ours: number): boolean {
  return (chainId === 0n || chainId === BigInt(ours)) && nonce < NONCE_MAX
}

function holds({ nonce }: Authorization, authority: Address, world: World): boolean {
  const code = world.codeAt(authority)
  return (code.length === 0 || isDelegation(code)) && world.nonce(authority) === nonce
}

/** Delegating to the zero address ends the delegation. */
function designator(target: Address): Uint8Array {
  if (target === Address.zero) return new Uint8Array()
  const code = new Uint8Array(DELEGATION_SIZE)
  code.set(PREFIX)
  code.set(Address.toBytes(target), PREFIX.length)
  return code
}
