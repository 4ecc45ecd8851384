import { Bytes } from './bytes.ts'
import { Hash } from './hash.ts'
import { DecodeError, Hex } from './hex.ts'
import { keccak256 } from './keccak.ts'
import { Rlp } from './rlp.ts'

declare const brand: unique symbol

/** 20 bytes as a lower-case 0x string. An identifier: compared with `===`, used as a Map key. */
export type Address = Hex & { readonly [brand]: 'Address' }

const zero = `0x${'0'.repeat(40)}` as Address // 20 bytes by construction

export const Address = { zero, from, isAddress, toBytes, toBigint, fromBigint, fromHash, checksum, fromPublicKey, create, create2 }

/** Accepts any letter case and does not verify checksums. Throws DecodeError unless it is 20 bytes. */
function from(value: string | Uint8Array, field = 'address'): Address {
  if (typeof value === 'string') return fromText(value, field)
  if (value.length !== 20) throw new DecodeError(field, `must be 20 bytes, not ${value.length}`)
  return Hex.fromBytes(value) as Address // the length was checked
}

function fromText(text: string, field: string): Address {
  if (!isAddress(text)) throw new DecodeError(field, 'must be 0x and 40 hex digits')
  return text.toLowerCase() as Address // the shape was checked
}

function isAddress(value: unknown): value is Hex {
  return Hex.isHex(value, 40)
}

function toBytes(address: Address): Uint8Array {
  return Hex.toBytes(address)
}

function toBigint(address: Address): bigint {
  return BigInt(address)
}

/** Returns the low 20 bytes. */
function fromBigint(value: bigint): Address {
  return `0x${BigInt.asUintN(160, value).toString(16).padStart(40, '0')}` as Address // 40 digits
}

/** Returns the low 20 bytes, as of an indexed event argument. */
function fromHash(hash: Hash): Address {
  return `0x${hash.slice(26)}` as Address // 40 of 64 digits
}

/** Returns the EIP-55 form: a letter is upper case where the hash of the address has a digit of 8 or more. */
function checksum(address: Address): Hex {
  const hash = keccak256(Bytes.ofText(address.slice(2)))
  let text = '0x'
  for (let i = 0; i < 40; i++) {
    const nibble = (hash[i >> 1] as number) >> (i % 2 === 0 ? 4 : 0) // a hash has 64 of them
    const letter = address.charAt(i + 2)
    text += (nibble & 8) === 0 ? letter : letter.toUpperCase()
  }
  return text as Hex // begins with 0x
}

/** `publicKey`: 65 bytes, uncompressed (0x04 and both coordinates). */
function fromPublicKey(publicKey: Uint8Array): Address {
  if (publicKey.length !== 65 || publicKey[0] !== 4) throw new DecodeError('public key', 'must be 65 bytes that begin with 0x04')
  return lastBytes(keccak256(publicKey.subarray(1)))
}

/** Returns the address of the contract that `sender` creates with this nonce. */
function create(sender: Address, nonce: bigint): Address {
  return lastBytes(keccak256(Rlp.encode([sender, nonce])))
}

/** EIP-1014. `salt` is 32 bytes. */
function create2(sender: Address, salt: Hash, initCode: Uint8Array): Address {
  const bytes = new Uint8Array(85)
  bytes[0] = 0xff
  bytes.set(toBytes(sender), 1)
  bytes.set(Hash.toBytes(salt), 21)
  bytes.set(keccak256(initCode), 53)
  return lastBytes(keccak256(bytes))
}

function lastBytes(hash: Uint8Array): Address {
  return Hex.fromBytes(hash.subarray(12)) as Address // 20 of 32 bytes
}
