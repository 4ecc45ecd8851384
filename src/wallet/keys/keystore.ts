import { Address, Bytes, Hex, Secp256k1, keccak256 } from '../../eth/index.ts'
import type { PrivateKey } from '../../eth/index.ts'
import { RpcError, schema } from '../../jsonrpc/index.ts'
import type { Schema } from '../../jsonrpc/index.ts'
import { MIN_PBKDF2_ITERATIONS, MIN_SCRYPT_N, PBKDF2_ITERATIONS, SCRYPT_BYTES, SCRYPT_STEPS } from '../limits.ts'

/** Decrypted private keys. They reach a Keyring and nothing else: neither JSON nor logs nor errors. */
export class Keystore {
  readonly #keys: readonly PrivateKey[]

  private constructor(keys: readonly PrivateKey[]) {
    this.#keys = keys
  }

  /**
   * Decrypts Web3 Secret Storage objects that share a password; errors contain the `name` of an object. Each takes about a second, and the
   * event loop runs every 10 ms. Throws KeystoreError.
   */
  static async open(files: readonly { readonly name: string; readonly json: unknown }[], password: string): Promise<Keystore> {
    const keys: PrivateKey[] = []
    for (const { name, json } of files) keys.push(await decrypt(json, password, name))
    return new Keystore(keys)
  }

  get addresses(): readonly Address[] {
    return this.#keys.map(Secp256k1.address)
  }

  /** Calls `take` with each key. */
  keys(take: (key: PrivateKey) => void): void {
    this.#keys.forEach(take)
  }

  toJSON(): { readonly addresses: readonly Address[] } {
    return { addresses: this.addresses }
  }
}

/** Web3 Secret Storage, version 3, as geth writes it (`address` without 0x); cast leaves `address` out. */
interface SecretStorage {
  readonly version: 3
  readonly id: string
  readonly address?: string
  readonly crypto: {
    readonly cipher: 'aes-128-ctr'
    readonly ciphertext: string
    readonly cipherparams: { readonly iv: string }
    readonly kdf: 'scrypt'
    readonly kdfparams: ScryptParams
    readonly mac: string
  }
}

export interface EncryptOptions {
  /** scrypt's n, a power of two: 262,144 by default as in geth and cast, which takes a second and 256 MiB */
  readonly cost?: number
}

export const SecretStorage = { encrypt, decrypt }

/** Encrypts with scrypt, r 8 and p 1 (geth's standard). Throws DecodeError for an invalid key. */
async function encrypt(privateKey: PrivateKey, password: string, { cost = 262_144 }: EncryptOptions = {}): Promise<SecretStorage> {
  const address = Secp256k1.address(privateKey)
  const bytes = typeof privateKey === 'string' ? Hex.toBytes(privateKey, 'private key') : privateKey
  const iv = digitsOf(crypto.getRandomValues(new Uint8Array(16)))
  const kdfparams: ScryptParams = { dklen: 32, n: cost, p: 1, r: 8, salt: digitsOf(crypto.getRandomValues(new Uint8Array(32))) }
  const derived = await scrypt(kdfparams, password)
  const ciphertext = await aesCtr('encrypt', derived, iv, bytes)
  const mac = macOf(derived, ciphertext)
  return {
    address: address.slice(2),
    crypto: { cipher: 'aes-128-ctr', ciphertext: digitsOf(ciphertext), cipherparams: { iv }, kdf: 'scrypt', kdfparams, mac },
    id: crypto.randomUUID(),
    version: 3,
  }
}

/** Throws KeystoreError, whose message contains neither the password nor the key. */
async function decrypt(json: unknown, password: string, name: string): Promise<PrivateKey> {
  const { address, Crypto, crypto: params = Crypto } = parsed(STORAGE, json, 'keystore', name)
  if (params === undefined) throw malformed(name, 'invalid keystore.crypto: missing value, expected an object')
  const { ciphertext, cipherparams, kdf, kdfparams, mac } = params
  const derived = await (kdf === 'scrypt' ? scryptOf : pbkdf2Of)(kdfparams, password, name)
  const encrypted = bytesOf(ciphertext)
  // The mac covers the ciphertext and half of the derived key: a wrong password and a changed ciphertext cannot be distinguished.
  if (macOf(derived, encrypted) !== mac.toLowerCase())
    throw new KeystoreError('wrong-password', `${name} cannot be opened: the password is wrong, or the file is damaged`)
  const key = await aesCtr('decrypt', derived, cipherparams.iv, encrypted)
  assertAddress(address, key, name)
  return key
}

function assertAddress(address: string | undefined, key: Uint8Array, name: string): void {
  const found = addressOf(key)
  if (found === null) throw malformed(name, 'its content is not a private key')
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

// --- key derivation -------------------------------------------------------------------------------------------------

async function scryptOf(json: unknown, password: string, name: string): Promise<Uint8Array<ArrayBuffer>> {
  const params = parsed(SCRYPT_PARAMS, json, KDF_PATH, name)
  const { n, r, p } = params
  if (n < MIN_SCRYPT_N || !Number.isInteger(Math.log2(n)))
    throw malformed(name, `scrypt's n must be a power of two from ${MIN_SCRYPT_N} on, not ${n}`)
  if (128 * n * r > SCRYPT_BYTES || n * r * p > SCRYPT_STEPS) throw tooExpensive(name, `scrypt with n ${n}, r ${r}, p ${p}`)
  return scrypt(params, password)
}

/** Returns to the event loop every 10 ms; WebCrypto has no scrypt, and node:crypto's is missing in browsers. */
async function scrypt({ n, r, p, dklen, salt }: ScryptParams, password: string): Promise<Uint8Array<ArrayBuffer>> {
  const { scryptAsync } = await import('@noble/hashes/scrypt.js')
  return scryptAsync(password, bytesOf(salt), { N: n, r, p, dkLen: dklen })
}

async function pbkdf2Of(json: unknown, password: string, name: string): Promise<Uint8Array<ArrayBuffer>> {
  const { c, salt } = parsed(PBKDF2_PARAMS, json, KDF_PATH, name)
  if (c < MIN_PBKDF2_ITERATIONS) throw malformed(name, `pbkdf2 needs at least ${MIN_PBKDF2_ITERATIONS} iterations, not ${c}`)
  if (c > PBKDF2_ITERATIONS) throw tooExpensive(name, `pbkdf2 with ${c} iterations`)
  const key = await crypto.subtle.importKey('raw', new TextEncoder().encode(password), 'PBKDF2', false, ['deriveBits'])
  return new Uint8Array(await crypto.subtle.deriveBits({ name: 'PBKDF2', hash: 'SHA-256', salt: bytesOf(salt), iterations: c }, key, 256))
}

/** The first half of the derived key encrypts, the second one authenticates. */
async function aesCtr(
  direction: 'encrypt' | 'decrypt',
  derived: Uint8Array<ArrayBuffer>,
  iv: string,
  data: Uint8Array,
): Promise<Uint8Array<ArrayBuffer>> {
  const key = await crypto.subtle.importKey('raw', derived.subarray(0, 16), 'AES-CTR', false, [direction])
  return new Uint8Array(await crypto.subtle[direction]({ name: 'AES-CTR', counter: bytesOf(iv), length: 128 }, key, new Uint8Array(data)))
}

function macOf(derived: Uint8Array, ciphertext: Uint8Array): string {
  return digitsOf(keccak256(Bytes.concat([derived.subarray(16, 32), ciphertext])))
}

function digitsOf(bytes: Uint8Array): string {
  return Hex.fromBytes(bytes).slice(2)
}

function bytesOf(digits: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Hex.toBytes(`0x${digits}`))
}

// --- schema ---------------------------------------------------------------------------------------------------------

/** Hex without 0x. A refusal does not repeat the text. */
function digits(count?: number): Schema<string> {
  return {
    json: { type: 'string', pattern: `^([0-9a-fA-F]{2})${count === undefined ? '*' : `{${count / 2}}`}$` },
    parse: (value, path) => {
      if (typeof value === 'string' && Hex.isHex(`0x${value}`, count) && value.length % 2 === 0) return value
      throw schema.refused(path, count === undefined ? 'must be hex digits without 0x' : `must be ${count} hex digits without 0x`)
    },
  }
}

const KDF_PATH = 'keystore.crypto.kdfparams'

const SCRYPT_PARAMS = schema.object({
  n: schema.atLeast(1, schema.wholeNumber),
  r: schema.atLeast(1, schema.wholeNumber),
  p: schema.atLeast(1, schema.wholeNumber),
  dklen: schema.constant(32),
  salt: digits(),
})
type ScryptParams = schema.Infer<typeof SCRYPT_PARAMS>

const PBKDF2_PARAMS = schema.object({
  c: schema.atLeast(1, schema.wholeNumber),
  prf: schema.oneOf('hmac-sha256'),
  dklen: schema.constant(32),
  salt: digits(),
})

const CRYPTO = schema.object({
  cipher: schema.oneOf('aes-128-ctr'),
  ciphertext: digits(64),
  cipherparams: schema.object({ iv: digits(32) }),
  kdf: schema.oneOf('scrypt', 'pbkdf2'),
  kdfparams: schema.anything,
  mac: digits(64),
})

/** Some old files have `Crypto`. */
const STORAGE = schema.object({
  version: schema.constant(3),
  address: schema.maybe(schema.string),
  crypto: schema.maybe(CRYPTO),
  Crypto: schema.maybe(CRYPTO),
})

function parsed<T>(type: Schema<T>, json: unknown, path: string, name: string): T {
  try {
    return type.parse(json, path)
  } catch (error) {
    if (error instanceof RpcError) throw malformed(name, error.message)
    throw error
  }
}

function malformed(name: string, why: string): KeystoreError {
  return new KeystoreError('malformed', `${name} cannot be opened: ${why}`)
}

function tooExpensive(name: string, what: string): KeystoreError {
  return new KeystoreError('too-expensive', `${name} is not opened: ${what} exceeds the limits for a keystore file`)
}

type KeystoreReason = 'wrong-password' | 'malformed' | 'too-expensive' | 'not-found' | 'readable-by-others' | 'exists' | 'too-many'

/** A keystore that cannot be opened or written. */
export class KeystoreError extends Error {
  readonly reason: KeystoreReason

  constructor(reason: KeystoreReason, message: string) {
    super(message)
    this.name = 'KeystoreError'
    this.reason = reason
  }
}
