import { keccak_256 } from '@noble/hashes/sha3.js'
import { KNOWN_FUNCTIONS, signatureOf } from '../../src/wallet/preview/functions.ts'

/** Returns the likely function signature of a selector; `null` if the wallet does not describe such a function. Selectors are not unique. */
export function signatureOfSelector(selector: string): string | null {
  return BY_SELECTOR.get(selector.toLowerCase()) ?? null
}

const BY_SELECTOR: ReadonlyMap<string, string> = new Map(
  KNOWN_FUNCTIONS.map(signatureOf).map((signature) => [selectorOf(signature), signature]),
)

function selectorOf(signature: string): string {
  const hash = keccak_256(new TextEncoder().encode(signature))
  return `0x${[...hash.subarray(0, 4)].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
