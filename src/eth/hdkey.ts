import { Bytes } from './bytes.ts'
import { Hash } from './hash.ts'
import { DecodeError } from './hex.ts'
import { HD_INDEX } from './limits.ts'
import { Rlp } from './rlp.ts'
import { Secp256k1 } from './secp256k1.ts'
import { Sha512 } from './sha512.ts'

/** A private node of a BIP-32 tree. */
export interface HdKey {
  readonly privateKey: Uint8Array
  readonly chainCode: Uint8Array
}

/** `ACCOUNTS`, followed by an index, is the path of an Ethereum account (BIP-44, coin 60). */
export const HdKey = { ACCOUNTS: "m/44'/60'/0'/0", fromSeed, derive, child, children }

const HARDENED = 2 ** 31

/** `seed`: 16 to 64 bytes. Throws DecodeError. */
function fromSeed(seed: Uint8Array): HdKey {
  if (seed.length < 16 || seed.length > 64) throw new DecodeError('seed', `must be 16 to 64 bytes, not ${seed.length}`)
  const digest = Sha512.hmac(Bytes.ofText('Bitcoin seed'), seed)
  return { privateKey: digest.slice(0, 32), chainCode: digest.slice(32) }
}

/** Derives a path such as `m/44'/60'/0'/0/3`. Throws DecodeError. */
function derive(root: HdKey, path: string): HdKey {
  const [first, ...steps] = path.split('/')
  if (first !== 'm') throw new DecodeError('derivation path', `must begin with m, as m/44'/60'/0'/0 does, not ${JSON.stringify(path)}`)
  return steps.reduce((node, step) => child(node, stepIndex(step, path)), root)
}

function stepIndex(step: string, path: string): number {
  const [, digits, mark] = /^(\d{1,10})(['h]?)$/.exec(step) ?? []
  const index = Number(digits ?? Number.NaN)
  if (!(index <= HD_INDEX)) throw new DecodeError('derivation path', `has a step that is no index: ${path}`)
  return mark === '' ? index : index + HARDENED
}

/** From index 2^31 on the child is hardened. */
function child(parent: HdKey, index: number): HdKey {
  return childOf(parent, index, index >= HARDENED ? Bytes.concat([new Uint8Array(1), parent.privateKey]) : compressed(parent))
}

/** Returns the children of the first `count` indices. */
function children(parent: HdKey, count: number): HdKey[] {
  const publicKey = compressed(parent)
  return Array.from({ length: count }, (_, index) => childOf(parent, index, publicKey))
}

/** `key`: the parent's compressed public key, or its private key after a zero byte. */
function childOf(parent: HdKey, index: number, key: Uint8Array): HdKey {
  const data = new Uint8Array(37)
  data.set(key)
  new DataView(data.buffer).setUint32(33, index)
  const digest = Sha512.hmac(parent.chainCode, data)
  const tweak = Rlp.toBigint(digest.subarray(0, 32))
  const privateKey = (tweak + Rlp.toBigint(parent.privateKey)) % Secp256k1.ORDER
  // BIP-32: the index has no key, with a probability of 2^-127.
  if (tweak >= Secp256k1.ORDER || privateKey === 0n) throw new DecodeError('derivation path', `has no key at index ${index}`)
  return { privateKey: Hash.toBytes(Hash.fromBigint(privateKey)), chainCode: digest.slice(32) }
}

function compressed({ privateKey }: HdKey): Uint8Array {
  const publicKey = Secp256k1.publicKey(privateKey)
  const bytes = publicKey.slice(0, 33)
  bytes[0] = 2 + ((publicKey[64] as number) & 1) // 65 bytes; the parity of y
  return bytes
}
