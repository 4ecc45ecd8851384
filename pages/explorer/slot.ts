import { concatHex, keccak256, stringToHex } from 'viem/utils'
import type { Hex } from 'viem'

/** The input is not a slot, or not a key of a mapping. */
export class SlotError extends Error {
  override name = 'SlotError'
}

/** Keys of nested mappings. */
const MAX_KEYS = 8

/**
 * Returns the slot with a number, or the slot of a mapping's value: keccak256(key . slot) for each of the keys, separated by commas. Keys in
 * quotes are strings, which are not padded (Solidity documentation, "Layout of State Variables in Storage"). Throws SlotError.
 */
export function slotOf(slotText: string, keysText = ''): Hex {
  const slot = wordOf(slotText)
  if (slot === null) throw new SlotError('A slot is a number such as 3, or 0x and up to 64 hexadecimal digits.')
  const keys = keysText.trim() === '' ? [] : (keysText.match(/"[^"]*"|[^,]+/g) ?? [])
  if (keys.length > MAX_KEYS) throw new SlotError(`${keys.length} keys are given; at most ${MAX_KEYS} are read.`)
  return keys.reduce<Hex>((at, key) => keccak256(concatHex([keyOf(key.trim()), at])), slot)
}

function keyOf(text: string): Hex {
  const [, quoted] = /^"(.*)"$/.exec(text) ?? []
  if (quoted !== undefined) return stringToHex(quoted)
  const word = wordOf(text)
  if (word === null) throw new SlotError(`The key ${text.slice(0, 100)} is not a number, an address, 32 bytes, or a string in "quotes".`)
  return word
}

function wordOf(text: string): Hex | null {
  const trimmed = text.trim()
  if (!/^(\d+|0x[0-9a-f]{1,64})$/i.test(trimmed)) return null
  const digits = BigInt(trimmed).toString(16)
  return digits.length > 64 ? null : `0x${digits.padStart(64, '0')}`
}
