import { pbkdf2Sync } from 'node:crypto'
import { HdKey } from './hdkey.ts'
import { DecodeError } from './hex.ts'

/** BIP-39. Keys follow from the words alone; the word list is needed only to draw new ones and to check what a user typed. */
export const Mnemonic = { toSeed, privateKeys, random, validate }

const WORD_COUNTS: ReadonlySet<number> = new Set([12, 15, 18, 21, 24])

/** 64 bytes; 2048 rounds of HMAC-SHA-512, about 2 ms. Words and checksum are not looked at (BIP-39). */
function toSeed(mnemonic: string, passphrase = ''): Uint8Array {
  const words = normalise(mnemonic)
  return new Uint8Array(pbkdf2Sync(words, `mnemonic${passphrase.normalize('NFKD')}`, 2048, 64, 'sha512'))
}

/** The first `count` private keys under `path`. Throws DecodeError for a wrong number of words or a path that is none. */
function privateKeys(mnemonic: string, count: number, path: string = HdKey.ACCOUNTS): Uint8Array[] {
  const words = normalise(mnemonic).split(' ').length
  if (!WORD_COUNTS.has(words)) throw new DecodeError('mnemonic', `must have 12, 15, 18, 21 or 24 words, not ${words}`)
  const parent = HdKey.derive(HdKey.fromSeed(toSeed(mnemonic)), path)
  return Array.from({ length: count }, (_, index) => HdKey.child(parent, index).privateKey)
}

/** English words: 12 for 128 bits, 24 for 256. Asynchronous because the word list (80 ms to import) is loaded for it. */
async function random(strengthBits: 128 | 160 | 192 | 224 | 256 = 128): Promise<string> {
  const ox = await import('ox/Mnemonic')
  return ox.random(ox.english, { strength: strengthBits })
}

/** True when every word is an English one of the list and the checksum holds. */
async function validate(mnemonic: string): Promise<boolean> {
  const ox = await import('ox/Mnemonic')
  return ox.validate(normalise(mnemonic), ox.english)
}

function normalise(mnemonic: string): string {
  return mnemonic.normalize('NFKD').trim().split(/\s+/).join(' ')
}
