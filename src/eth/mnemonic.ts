import { HdKey } from './hdkey.ts'
import { DecodeError } from './hex.ts'
import { Sha512 } from './sha512.ts'

/** BIP-39. Keys depend only on the words; the word list is used only to draw and to validate words. */
export const Mnemonic = { toSeed, privateKeys, random, ofEntropy, validate }

const WORD_COUNTS: ReadonlySet<number> = new Set([12, 15, 18, 21, 24])

/** Returns 64 bytes; 2048 rounds of HMAC-SHA-512. Words and checksum are not verified (BIP-39). */
function toSeed(mnemonic: string, passphrase = ''): Uint8Array {
  const words = normalise(mnemonic)
  return Sha512.pbkdf2(words, `mnemonic${passphrase.normalize('NFKD')}`, 2048)
}

/** Returns the first `count` private keys under `path`. Throws DecodeError for a wrong number of words or an invalid path. */
function privateKeys(mnemonic: string, count: number, path: string = HdKey.ACCOUNTS): Uint8Array[] {
  const words = normalise(mnemonic).split(' ').length
  if (!WORD_COUNTS.has(words)) throw new DecodeError('mnemonic', `must have 12, 15, 18, 21 or 24 words, not ${words}`)
  const parent = HdKey.derive(HdKey.fromSeed(toSeed(mnemonic)), path)
  return HdKey.children(parent, count).map(({ privateKey }) => privateKey)
}

/** Returns English words: 12 for 128 bits, 24 for 256. Asynchronous, because it imports the word list (15 ms). */
async function random(strengthBits: 128 | 160 | 192 | 224 | 256 = 128): Promise<string> {
  const { bip39, wordlist } = await english()
  return bip39.generateMnemonic(wordlist, strengthBits)
}

/** Returns the English words of 16 to 32 bytes. */
async function ofEntropy(entropy: Uint8Array): Promise<string> {
  const { bip39, wordlist } = await english()
  return bip39.entropyToMnemonic(entropy, wordlist)
}

/** Returns whether every word is in the English list and the checksum matches. */
async function validate(mnemonic: string): Promise<boolean> {
  const { bip39, wordlist } = await english()
  return bip39.validateMnemonic(normalise(mnemonic), wordlist)
}

async function english() {
  const [bip39, { wordlist }] = await Promise.all([import('@scure/bip39'), import('@scure/bip39/wordlists/english.js')])
  return { bip39, wordlist }
}

function normalise(mnemonic: string): string {
  return mnemonic.normalize('NFKD').trim().split(/\s+/).join(' ')
}
