import type { Encrypted } from './message.ts'

/** ECDH on P-256; the private key never leaves the browser's key store. */
export function newKeyPair(): Promise<CryptoKeyPair> {
  return crypto.subtle.generateKey(CURVE, false, ['deriveKey'])
}

/** SPKI as hex without 0x */
export async function publicKeyText(key: CryptoKey): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.exportKey('spki', key))
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Derives the AES-256-GCM key from this page's private key and the peer's public key. Throws for an invalid public key. */
export async function sharedKey(own: CryptoKey, theirs: string): Promise<CryptoKey> {
  if (!/^([0-9a-f]{2})+$/i.test(theirs)) throw new Error('a public key is hex')
  const bytes = Uint8Array.from(theirs.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
  const key = await crypto.subtle.importKey('spki', bytes, CURVE, true, [])
  return crypto.subtle.deriveKey({ name: 'ECDH', public: key }, own, { name: CIPHER, length: 256 }, false, ['encrypt', 'decrypt'])
}

export async function encrypt(key: CryptoKey, value: unknown): Promise<Encrypted> {
  const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES))
  const text = new TextEncoder().encode(JSON.stringify(value))
  return { iv, cipherText: await crypto.subtle.encrypt({ name: CIPHER, iv }, key, text) }
}

/** Throws if the text was encrypted with another key or altered. */
export async function decrypt(key: CryptoKey, { iv, cipherText }: Encrypted): Promise<string> {
  return new TextDecoder().decode(await crypto.subtle.decrypt({ name: CIPHER, iv }, key, cipherText))
}

const CURVE = { name: 'ECDH', namedCurve: 'P-256' } as const
const CIPHER = 'AES-GCM'
const IV_BYTES = 12
