import { Address, Hex, Secp256k1 } from '../../eth/index.ts'
import type { PrivateKey } from '../../eth/index.ts'
import { PBKDF2_ITERATIONS, SCRYPT_BYTES, SCRYPT_STEPS } from '../limits.ts'

/** Keys that a password has opened. They are handed to a Keyring and seen nowhere else: not in JSON, logs or errors. */
export class Keystore {
  readonly #keys: readonly PrivateKey[]

  private constructor(keys: readonly PrivateKey[]) {
    this.#keys = keys
  }

  /**
   * Of Web3 Secret Storage objects that share a password. `name`: what an error calls an object. Each takes a second, in steps that let others work.
   * Throws KeystoreError.
   */
  static async open(files: readonly { readonly name: string; readonly json: unknown }[], password: string): Promise<Keystore> {
    const keys: PrivateKey[] = []
    for (const { name, json } of files) keys.push(await decrypt(json, password, name))
    return new Keystore(keys)
  }

  get addresses(): readonly Address[] {
    return this.#keys.map(Secp256k1.address)
  }

  /** Hands each of them to a Keyring. */
  keys(take: (key: PrivateKey) => void): void {
    this.#keys.forEach(take)
  }

  toJSON(): { readonly addresses: readonly Address[] } {
    return { addresses: this.addresses }
  }
}

/** Web3 Secret Storage, version 3, as geth writes it (`address` without 0x); cast leaves `address` out. */
export interface SecretStorage {
  readonly version: 3
  readonly id: string
  readonly address?: string
  readonly crypto: {
    readonly cipher: 'aes-128-ctr'
    readonly ciphertext: string
    readonly cipherparams: { readonly iv: string }
    readonly kdf: string
    readonly kdfparams: Readonly<Record<string, unknown>>
    readonly mac: string
  }
}

export interface EncryptOptions {
  /** scrypt's cost, a power of two: 262,144 (geth's and cast's, a second and 256 MiB) unless said */
  readonly cost?: number
}

export const SecretStorage = { encrypt, decrypt }

/** geth's standard: scrypt with r 8 and p 1. Throws DecodeError when the key is none. */
async function encrypt(privateKey: PrivateKey, password: string, { cost = 262_144 }: EncryptOptions = {}): Promise<SecretStorage> {
  const address = Secp256k1.address(privateKey)
  const ox = await import('ox/Keystore')
  const [key, options] = await ox.scryptAsync({ password, n: cost, r: 8, p: 1 })
  const bytes = typeof privateKey === 'string' ? Hex.toBytes(privateKey, 'private key') : privateKey
  return { address: address.slice(2), ...ox.encrypt(bytes, key, options) }
}

/** Throws KeystoreError; it never holds a part of the object or the password. */
async function decrypt(json: unknown, password: string, name: string): Promise<PrivateKey> {
  const storage = readStorage(json, name)
  const ox = await import('ox/Keystore')
  // Its shape and its cost were checked.
  const read = storage as Parameters<typeof ox.toKeyAsync>[0]
  const derived = await ox.toKeyAsync(read, { password }).catch(() => null)
  if (derived === null) throw malformed(name, 'its key derivation is none that can be run')
  const key = opened(() => ox.decrypt(read, derived, { as: 'Bytes' }), name)
  assertAddress(storage, key, name)
  return key
}

/** The checksum is over the ciphertext and half of the derived key: it fails for another password as for another text. */
function opened(decryption: () => Uint8Array, name: string): Uint8Array {
  try {
    return decryption()
  } catch {
    throw new KeystoreError('wrong-password', `${name} cannot be opened: the password is wrong, or the file is damaged`)
  }
}

function assertAddress({ address }: SecretStorage, key: Uint8Array, name: string): void {
  const found = addressOf(key)
  if (found === null) throw malformed(name, 'what it holds is no private key')
  const named = address === undefined ? null : `0x${address.replace(/^0x/i, '')}`.toLowerCase()
  if (named === null || named === found) return
  throw malformed(name, `it names the account ${Address.isAddress(named) ? named : 'wrongly'}, but holds the key of ${found}`)
}

function addressOf(key: Uint8Array): Address | null {
  try {
    return Secp256k1.address(key)
  } catch {
    return null
  }
}

// --- what an object must have -----------------------------------------------------------------------------------------

/** Some old files write `Crypto`. Throws KeystoreError. */
function readStorage(json: unknown, name: string): SecretStorage {
  const { version, id, address, crypto, Crypto } = record(json)
  const { cipher, ciphertext, cipherparams, kdf, kdfparams, mac } = record(crypto ?? Crypto)
  const { iv } = record(cipherparams)
  if (version !== 3) throw malformed(name, 'it is no Web3 Secret Storage of version 3')
  if (cipher !== 'aes-128-ctr') throw malformed(name, 'its cipher is not aes-128-ctr')
  if (!isHex(ciphertext, 64) || !isHex(iv, 32) || !isHex(mac, 64))
    throw malformed(name, 'its ciphertext, iv or mac is not hex of the right length')
  const params = record(kdfparams)
  const assertKdf = typeof kdf === 'string' ? KDFS.get(kdf) : undefined
  if (assertKdf === undefined) throw malformed(name, 'its key derivation is neither scrypt nor pbkdf2')
  if (!isHex(params['salt']) || params['dklen'] !== 32) throw malformed(name, 'its salt is not hex, or its derived key has not 32 bytes')
  assertKdf(params, name)
  return {
    version: 3,
    id: typeof id === 'string' ? id : '',
    ...(typeof address === 'string' ? { address } : {}),
    crypto: { cipher, ciphertext, cipherparams: { iv }, kdf: kdf as string, kdfparams: params, mac }, // it is a key of KDFS
  }
}

/** A file may ask for more work than anybody has time: checked before any is done. */
const KDFS: ReadonlyMap<string, (params: Readonly<Record<string, unknown>>, name: string) => void> = new Map([
  ['scrypt', assertScrypt],
  ['pbkdf2', assertPbkdf2],
])

function assertScrypt({ n, r, p }: Readonly<Record<string, unknown>>, name: string): void {
  if (!isCount(n) || !isCount(r) || !isCount(p) || n < 2 || !Number.isInteger(Math.log2(n)))
    throw malformed(name, 'its scrypt parameters are none')
  if (128 * n * r > SCRYPT_BYTES || n * r * p > SCRYPT_STEPS) throw tooExpensive(name, `scrypt with n ${n}, r ${r}, p ${p}`)
}

function assertPbkdf2({ c, prf }: Readonly<Record<string, unknown>>, name: string): void {
  if (!isCount(c) || prf !== 'hmac-sha256') throw malformed(name, 'its pbkdf2 parameters are none')
  if (c > PBKDF2_ITERATIONS) throw tooExpensive(name, `pbkdf2 with ${c} iterations`)
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {} // any object has this shape
}

function isHex(value: unknown, digits?: number): value is string {
  return typeof value === 'string' && Hex.isHex(`0x${value}`, digits)
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0 // it is a number, as was just checked
}

function malformed(name: string, why: string): KeystoreError {
  return new KeystoreError('malformed', `${name} cannot be opened: ${why}`)
}

function tooExpensive(name: string, what: string): KeystoreError {
  return new KeystoreError('too-expensive', `${name} asks for ${what}, which is more than is ever needed; it is not opened`)
}

export type KeystoreReason = 'wrong-password' | 'malformed' | 'too-expensive' | 'not-found' | 'readable-by-others' | 'exists' | 'too-many'

/** Why keys could not be opened or kept. */
export class KeystoreError extends Error {
  readonly reason: KeystoreReason

  constructor(reason: KeystoreReason, message: string) {
    super(message)
    this.name = 'KeystoreError'
    this.reason = reason
  }
}
