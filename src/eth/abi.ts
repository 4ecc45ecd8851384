import { offsetAt, slice, wordAt } from './abidata.ts'
import { Address } from './address.ts'
import { Bytes } from './bytes.ts'
import { Hash } from './hash.ts'
import { DecodeError, Hex } from './hex.ts'

/**
 * A value to encode. A bigint, a hash or an address is one word; bytes are `bytes`; an array is a tuple with a dynamic member, as all
 * tuples of ERC-4337 are; `{ list }` is an array of such values.
 */
export type AbiValue = bigint | Hash | Address | Uint8Array | readonly AbiValue[] | { readonly list: readonly AbiValue[] }

/** The subset of the ABI that EntryPoints, accounts and paymasters use. */
export const Abi = { selector, call, encode, Reader: reader }

/** Returns the four bytes of a function's selector. */
function selector(signature: string): Hex {
  return Hash.ofText(signature).slice(0, 10) as Hex // a prefix of a hash
}

function call(selectorText: Hex, values: readonly AbiValue[]): Uint8Array {
  return Bytes.concat([Hex.toBytes(selectorText), encode(values)])
}

function encode(values: readonly AbiValue[]): Uint8Array {
  const heads: Uint8Array[] = []
  const tails: Uint8Array[] = []
  let end = BigInt(values.length * 32)
  for (const value of values) {
    const word = wordOf(value)
    if (word !== null) {
      heads.push(word)
      continue
    }
    const tail = tailOf(value as Exclude<AbiValue, bigint | Hash | Address>) // other values are words
    heads.push(wordOf(end) as Uint8Array) // a bigint is a word
    tails.push(tail)
    end += BigInt(tail.length)
  }
  return Bytes.concat([...heads, ...tails])
}

function wordOf(value: AbiValue): Uint8Array | null {
  if (typeof value === 'bigint') return Hex.toBytes(Hex.fromBytes32(value))
  if (typeof value === 'string') return Hex.toBytes(`0x${value.slice(2).padStart(64, '0')}`)
  return null
}

function tailOf(value: Exclude<AbiValue, bigint | Hash | Address>): Uint8Array {
  if (value instanceof Uint8Array) {
    const padded = new Uint8Array(32 + Math.ceil(value.length / 32) * 32)
    padded.set(wordOf(BigInt(value.length)) as Uint8Array) // a bigint is a word
    padded.set(value, 32)
    return padded
  }
  if ('list' in value) return Bytes.concat([wordOf(BigInt(value.list.length)) as Uint8Array, encode(value.list)]) // a bigint is a word
  return encode(value)
}

/** Reads a tuple whose first word is at `base`. Every method throws DecodeError for data out of range. */
export interface AbiReader {
  readonly word: (index: number) => bigint
  readonly hash: (index: number) => Hash
  readonly address: (index: number) => Address
  readonly bytes: (index: number) => Uint8Array
  readonly tuples: (index: number) => readonly AbiReader[]
}

const MAX_TUPLES = 4_096

function reader(data: Uint8Array, base = 0): AbiReader {
  const word = (index: number) => base + index * 32
  const tailAt = (index: number) => base + offsetAt(data, word(index))
  return {
    word: (index) => wordAt(data, word(index)),
    hash: (index) => Hash.from(slice(data, word(index), 32)),
    address: (index) => Address.from(slice(data, word(index) + 12, 20)),
    bytes: (index) => {
      const at = tailAt(index)
      return slice(data, at + 32, offsetAt(data, at)).slice()
    },
    tuples: (index) => {
      const at = tailAt(index)
      const count = offsetAt(data, at)
      if (count > MAX_TUPLES) throw new DecodeError('abi', `has ${count} items`)
      return Array.from({ length: count }, (_, i) => reader(data, at + 32 + offsetAt(data, at + 32 + i * 32)))
    },
  }
}
