import { Hash } from './hash.ts'

/** EIP-191, version 0x45: what `personal_sign` signs. */
export const PersonalMessage = { hash }

function hash(message: Uint8Array): Hash {
  const prefix = new TextEncoder().encode(`\x19Ethereum Signed Message:\n${message.length}`)
  const bytes = new Uint8Array(prefix.length + message.length)
  bytes.set(prefix)
  bytes.set(message, prefix.length)
  return Hash.keccak(bytes)
}
