import { inspect } from 'node:util'
import { Wallet as EthersWallet, encryptKeystoreJson } from 'ethers'
import { describe, expect, it } from 'vitest'
import { Hex, Secp256k1 } from '../../eth/index.ts'
import type { PrivateKey } from '../../eth/index.ts'
import { Keyring } from './keyring.ts'
import { Keystore, KeystoreError, SecretStorage } from './keystore.ts'

const KEY: PrivateKey = `0x${'5e'.repeat(32)}`
const PASSWORD = 'pässword of the test'
/** Cheap, so that a test takes milliseconds. */
const CHEAP = { cost: 1_024 }

/** The test vectors of the Web3 Secret Storage Definition: scrypt and pbkdf2, of one key. */
const VECTOR_KEY = '0x7a28b5ba57c53603b0b07b56bba752f7784bf506fa95edc395f5cf6c7514fe9d'
const SCRYPT_VECTOR = {
  crypto: {
    cipher: 'aes-128-ctr',
    cipherparams: { iv: '83dbcc02d8ccb40e466191a123791e0e' },
    ciphertext: 'd172bf743a674da9cdad04534d56926ef8358534d458fffccd4e6ad2fbde479c',
    kdf: 'scrypt',
    kdfparams: { dklen: 32, n: 262_144, p: 8, r: 1, salt: 'ab0c7876052600dd703518d6fc3fe8984592145b591fc8fb5c6d43190334ba19' },
    mac: '2103ac29920d71da29f15d75b4a16dbe95cfd7ff8faea1056c33131d846e3097',
  },
  id: '3198bc9c-6672-5ab3-d995-4942343ae5b6',
  version: 3,
}
const PBKDF2_VECTOR = {
  crypto: {
    cipher: 'aes-128-ctr',
    cipherparams: { iv: '6087dab2f9fdbbfaddc31a909735c1e6' },
    ciphertext: '5318b4d5bcd28de64ee5559e671353e16f075ecae9f99c7a79a38af5f869aa46',
    kdf: 'pbkdf2',
    kdfparams: { c: 262_144, dklen: 32, prf: 'hmac-sha256', salt: 'ae3cd4e7013836a3df6bd7241b12db061dbe2c6785853cce422d148a624ce0bd' },
    mac: '517ead924a9d0dc3124507e3393d175ce3ff7c1e96529c6c555ce9e51205e9b2',
  },
  id: '3198bc9c-6672-5ab3-d995-4942343ae5b6',
  version: 3,
}

async function reasonOf(json: unknown, password = PASSWORD): Promise<unknown> {
  const error: unknown = await SecretStorage.decrypt(json, password, 'key.json').catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(KeystoreError)
  expect((error as KeystoreError).message).toContain('key.json')
  return (error as KeystoreError).reason
}

describe('an encrypted key', () => {
  it.each([
    ['scrypt', SCRYPT_VECTOR],
    ['pbkdf2', PBKDF2_VECTOR],
  ])('of the definition’s vectors opens (%s)', async (_, vector) => {
    expect(Hex.fromBytes((await SecretStorage.decrypt(vector, 'testpassword', 'vector')) as Uint8Array)).toBe(VECTOR_KEY)
  })

  it('opens with its password, here and in ethers, and another’s opens here', async () => {
    const ours = await SecretStorage.encrypt(KEY, PASSWORD, CHEAP)
    expect(ours).toMatchObject({
      version: 3,
      address: Secp256k1.address(KEY).slice(2),
      crypto: { kdf: 'scrypt', kdfparams: { n: 1_024, r: 8, p: 1 } },
    })
    expect((await EthersWallet.fromEncryptedJson(JSON.stringify(ours), PASSWORD)).address.toLowerCase()).toBe(Secp256k1.address(KEY))
    const theirs: unknown = JSON.parse(await encryptKeystoreJson(new EthersWallet(KEY), PASSWORD, { scrypt: { N: 1_024, r: 8, p: 1 } }))
    expect(Hex.fromBytes((await SecretStorage.decrypt(theirs, PASSWORD, 'ethers')) as Uint8Array)).toBe(KEY)
  })

  it('is another each time', async () => {
    const [a, b] = await Promise.all([SecretStorage.encrypt(KEY, PASSWORD, CHEAP), SecretStorage.encrypt(KEY, PASSWORD, CHEAP)])
    expect(a.crypto.ciphertext).not.toBe(b.crypto.ciphertext)
    expect(a.id).not.toBe(b.id)
  })

  it('does not open with another password, nor when it was changed', async () => {
    const ours = await SecretStorage.encrypt(KEY, PASSWORD, CHEAP)
    expect(await reasonOf(ours, 'wrong')).toBe('wrong-password')
    expect(await reasonOf(ours, '')).toBe('wrong-password')
    const { crypto } = ours
    const another = crypto.ciphertext.startsWith('00') ? '01' : '00'
    expect(await reasonOf({ ...ours, crypto: { ...crypto, ciphertext: `${another}${crypto.ciphertext.slice(2)}` } })).toBe('wrong-password')
    expect(await reasonOf({ ...ours, address: '11'.repeat(20) })).toBe('malformed')
    // The checksum does not cover the iv: another one yields another key, which only the address gives away.
    expect(await reasonOf({ ...ours, crypto: { ...crypto, cipherparams: { iv: '00'.repeat(16) } } })).toBe('malformed')
  })

  it('of cast has no address, and opens', async () => {
    const { address: _, ...bare } = await SecretStorage.encrypt(KEY, PASSWORD, CHEAP)
    expect(Hex.fromBytes((await SecretStorage.decrypt(bare, PASSWORD, 'cast')) as Uint8Array)).toBe(KEY)
  })

  it('with parts missing or wrong is rejected by name', async () => {
    const ours = await SecretStorage.encrypt(KEY, PASSWORD, CHEAP)
    const { crypto } = ours
    const wrong: readonly unknown[] = [
      null,
      'text',
      [],
      {},
      { ...ours, version: 1 },
      { ...ours, version: '3' },
      { ...ours, crypto: null },
      { ...ours, crypto: { ...crypto, cipher: 'aes-256-gcm' } },
      { ...ours, crypto: { ...crypto, ciphertext: '00' } },
      { ...ours, crypto: { ...crypto, ciphertext: 'zz'.repeat(32) } },
      { ...ours, crypto: { ...crypto, mac: undefined } },
      { ...ours, crypto: { ...crypto, kdf: 'argon2' } },
      { ...ours, crypto: { ...crypto, kdf: 'toString' } },
      { ...ours, crypto: { ...crypto, kdfparams: null } },
      { ...ours, crypto: { ...crypto, kdfparams: { ...crypto.kdfparams, dklen: 16 } } },
      { ...ours, crypto: { ...crypto, kdfparams: { ...crypto.kdfparams, n: 1_000 } } },
      { ...ours, crypto: { ...crypto, kdfparams: { ...crypto.kdfparams, r: 0 } } },
      { ...ours, crypto: { ...crypto, kdfparams: { ...crypto.kdfparams, n: 2 } } },
    ]
    for (const json of wrong) expect(await reasonOf(json)).toBe('malformed')
  })

  it('is rejected with the path of the wrong value, and without hex values', async () => {
    const ours = await SecretStorage.encrypt(KEY, PASSWORD, CHEAP)
    const refusal = (crypto: object) =>
      SecretStorage.decrypt({ ...ours, crypto: { ...ours.crypto, ...crypto } }, PASSWORD, 'key.json').catch((error: Error) => error.message)
    expect(await refusal({ cipher: 'aes-256-gcm' })).toBe(
      'key.json cannot be opened: invalid keystore.crypto.cipher: expected one of aes-128-ctr, got "aes-256-gcm"',
    )
    expect(await refusal({ ciphertext: '5e'.repeat(31) })).toBe(
      'key.json cannot be opened: invalid keystore.crypto.ciphertext: must be 64 hex digits without 0x',
    )
    expect(await refusal({ kdfparams: { ...ours.crypto.kdfparams, dklen: 16 } })).toBe(
      'key.json cannot be opened: invalid keystore.crypto.kdfparams.dklen: expected 32, got 16',
    )
  })

  it('with excessive scrypt cost or memory is rejected without an attempt', async () => {
    const tooMuch = [
      { ...SCRYPT_VECTOR.crypto, kdfparams: { ...SCRYPT_VECTOR.crypto.kdfparams, n: 2 ** 30 } },
      { ...SCRYPT_VECTOR.crypto, kdfparams: { ...SCRYPT_VECTOR.crypto.kdfparams, r: 1_000 } },
      { ...SCRYPT_VECTOR.crypto, kdfparams: { ...SCRYPT_VECTOR.crypto.kdfparams, p: 1_000_000 } },
      { ...PBKDF2_VECTOR.crypto, kdfparams: { ...PBKDF2_VECTOR.crypto.kdfparams, c: 2 ** 31 } },
    ]
    for (const crypto of tooMuch) expect(await reasonOf({ ...SCRYPT_VECTOR, crypto })).toBe('too-expensive')
  })
})

describe('an opened keystore', () => {
  it('gives its keys to a keyring', async () => {
    const json = await SecretStorage.encrypt(KEY, PASSWORD, CHEAP)
    const keyring = Keyring.of({ keystore: await Keystore.open([{ name: 'key.json', json }], PASSWORD) })
    expect(keyring.accounts).toEqual([{ address: Secp256k1.address(KEY), name: 'Account 1', source: 'keystore' }])
  })

  it('shows no key and no password, not even in what it throws', async () => {
    const json = await SecretStorage.encrypt(KEY, PASSWORD, CHEAP)
    const keystore = await Keystore.open([{ name: 'key.json', json }], PASSWORD)
    const errors = await Promise.all(
      [json, { ...json, address: '11'.repeat(20) }, { ...json, crypto: {} }].map((each, i) =>
        SecretStorage.decrypt(each, i === 0 ? 'wrong secret' : PASSWORD, 'key.json').catch((error: unknown) => error),
      ),
    )
    const seen = [
      JSON.stringify(keystore),
      inspect(keystore, { showHidden: true }),
      ...errors.map((error) => inspect(error, { depth: 10, showHidden: true })),
    ].join('\n')
    for (const secret of ['5e'.repeat(16), PASSWORD, 'wrong secret']) expect(seen).not.toContain(secret)
    expect(JSON.parse(JSON.stringify(keystore))).toEqual({ addresses: [Secp256k1.address(KEY)] })
  })
})
