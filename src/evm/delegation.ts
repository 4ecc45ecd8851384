import { Address } from '../eth/index.ts'

const PREFIX = [0xef, 0x01, 0x00] as const
/** Bytes of a delegation designator (EIP-7702): the prefix and an address. */
export const DELEGATION_SIZE = 23

/** True for the code of an account that delegates: 0xef0100 and an address. */
export function isDelegation(code: Uint8Array): boolean {
  return code.length === DELEGATION_SIZE && PREFIX.every((byte, at) => code[at] === byte)
}

/** Where the account's code says to look for code; null when it holds its own or none. */
export function delegationTarget(code: Uint8Array): Address | null {
  return isDelegation(code) ? Address.from(code.subarray(PREFIX.length)) : null
}

/** The code that delegates to `target`. Delegating to the zero address ends the delegation. */
export function designator(target: Address): Uint8Array {
  if (target === Address.zero) return new Uint8Array()
  const code = new Uint8Array(DELEGATION_SIZE)
  code.set(PREFIX)
  code.set(Address.toBytes(target), PREFIX.length)
  return code
}
