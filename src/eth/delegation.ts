import { Address } from './address.ts'
import { Hex } from './hex.ts'

/**
 * What an account has in the place of code when it runs that of another (EIP-7702): 0xef0100 and whose. A chain holds it as bytes; nodes tell it as
 * 0x text, and take it as that where state is overridden.
 */
export const Delegation = { SIZE: 23, of, ofText, code, text }

const PREFIX = [0xef, 0x01, 0x00] as const
const PREFIX_TEXT = '0xef0100'
const TEXT_CHARS = 48

/** Whose code an account runs that has this one; null: its own, or none. */
function of(code: Uint8Array): Address | null {
  const isDelegation = code.length === Delegation.SIZE && PREFIX.every((byte, at) => code[at] === byte)
  return isDelegation ? Address.from(code.subarray(PREFIX.length)) : null
}

/** As `of`, in any letter case. */
function ofText(code: Hex): Address | null {
  const isDelegation = code.length === TEXT_CHARS && code.slice(0, PREFIX_TEXT.length).toLowerCase() === PREFIX_TEXT
  return isDelegation ? Address.from(`0x${code.slice(PREFIX_TEXT.length)}`) : null
}

/** What an authorization for `target` leaves: one for the zero address ends the delegation, and the account has no code. */
function code(target: Address): Uint8Array {
  if (target === Address.zero) return new Uint8Array()
  const bytes = new Uint8Array(Delegation.SIZE)
  bytes.set(PREFIX)
  bytes.set(Address.toBytes(target), PREFIX.length)
  return bytes
}

/** As `code`. */
function text(target: Address): Hex {
  return Hex.fromBytes(code(target))
}
