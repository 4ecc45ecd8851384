import { hmac as portableHmac } from '@noble/hashes/hmac.js'
import { pbkdf2 as portablePbkdf2 } from '@noble/hashes/pbkdf2.js'
import { sha512 } from '@noble/hashes/sha2.js'
import { nodeModule } from './nodemodule.ts'

/** Functions of SHA-512, from Node where it exists: 2,048 rounds of `pbkdf2` take 2 ms there, and 20 to 50 in JavaScript. */
export const Sha512 = { hmac, pbkdf2 }

/** Returns 64 bytes. */
function hmac(key: Uint8Array, data: Uint8Array): Uint8Array {
  const crypto = nodeModule('crypto')
  if (crypto === undefined) return portableHmac(sha512, key, data)
  return new Uint8Array(crypto.createHmac('sha512', key).update(data).digest())
}

/** Returns 64 bytes. */
function pbkdf2(password: string, salt: string, rounds: number): Uint8Array {
  const crypto = nodeModule('crypto')
  if (crypto === undefined) return portablePbkdf2(sha512, password, salt, { c: rounds, dkLen: 64 })
  return new Uint8Array(crypto.pbkdf2Sync(password, salt, rounds, 64, 'sha512'))
}
