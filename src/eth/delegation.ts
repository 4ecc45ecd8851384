import { Address } from './address.ts'
import { Hex } from './hex.ts'

/**
 * The code of an account that delegates to another account's code (EIP-7702): 0xef0100 and the address. As bytes in the chain, as 0x text
 * in JSON and state overrides.
 */
export const Delegation = { SIZE: 23, of, ofText, code, text }

const PREFIX = [0xef, 0x01, 0x00] as const
const PREFIX_TEXT = '0xef0100'
const TEXT_CHARS = 48

/** Returns the delegate of an account with this code, `null` if it does not delegate. */
function of(code: Uint8Array): Address | null {
  const isDelegation = code.length === Delegation.SIZE && PREFIX.every((byte, at) => code[at] === byte)
  return isDelegation ? Address.from(code.subarray(PREFIX.length)) : null
}

/** As `of`, for text of any letter case. */
function ofText(code: Hex): Address | null {
  const isDelegation = code.length === TEXT_CHARS && code.slice(0, PREFIX_TEXT.length).toLowerCase() === PREFIX_TEXT
  return isDelegation ? Address.from(`0x${code.slice(PREFIX_TEXT.length)}`) : null
}

/** Returns the code that an authorization for `target` sets: none for the zero address, which ends a delegation. */
function code(target: Address): Uint8Array {
  if (target === Address.zero) return new Uint8Array()
  const bytes = new Uint8Array(Delegation.SIZE)
  bytes.set(PREFIX)
  bytes.set(Address.toBytes(target), PREFIX.length)
  return bytes
}

/** As `code`, as text. */
function text(target: Address): Hex {
  return Hex.fromBytes(code(target))
}
