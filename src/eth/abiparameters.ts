import { offsetAt, slice, wordAt } from './abidata.ts'
import { Address } from './address.ts'
import { DecodeError, Hex } from './hex.ts'
import { ABI_DECODED_BYTES } from './limits.ts'

/** A named parameter of a function or an error. */
interface AbiParameter {
  readonly name: string
  readonly type: AbiType
}

/** A type of the contract ABI specification. */
interface AbiType {
  /** as in a function signature, such as `(address,uint256)[]` */
  readonly text: string
  /** the value is stored in the tail, and its head is an offset */
  readonly isDynamic: boolean
  readonly headBytes: number
  /** Reads the value that starts at byte `at`. Throws DecodeError. */
  readonly read: (input: Input, at: number) => unknown
}

/** Encoded values while they are decoded. */
interface Input {
  readonly data: Uint8Array
  /** bytes that may still be read */
  allowance: number
}

/** Human-readable parameter lists, and the values that they describe. */
export const AbiParameters = { parse, decode }

/** Parses `address to, (uint256 id, bytes data)[] items`; every parameter has a name. Throws DecodeError. */
function parse(list: string): readonly AbiParameter[] {
  return split(list).map((text) => {
    const [, base = '', suffix = '', name = ''] = PARAMETER.exec(text) ?? []
    if (name === '') throw new DecodeError('abi', `has no parameter like ${text}`)
    const item = base.startsWith('(') ? tuple(parse(base.slice(1, -1))) : atom(base)
    const type = [...suffix.matchAll(/\[(\d*)\]/g)].reduce((inner, [, length]) => array(inner, length ?? ''), item)
    return { name, type }
  })
}

/** As Solidity's ABI coder v1, ignores bits above the width of a type and bytes after the last value. Throws DecodeError for data that ends early. */
function decode(parameters: readonly AbiParameter[], data: Uint8Array): readonly unknown[] {
  return members({ data, allowance: ABI_DECODED_BYTES }, 0, typesOf(parameters))
}

function typesOf(parameters: readonly AbiParameter[]): readonly AbiType[] {
  return parameters.map(({ type }) => type)
}

const PARAMETER = /^(\(.*\)|\w+)((?:\[\d*\])*) (\w+)$/

/** Splits at commas outside of parentheses. */
function split(list: string): readonly string[] {
  const parts = ['']
  let depth = 0
  for (const char of list) {
    if (char === ',' && depth === 0) parts.push('')
    else parts.push(`${parts.pop() ?? ''}${char}`)
    depth += char === '(' ? 1 : char === ')' ? -1 : 0
  }
  return list.trim() === '' ? [] : parts.map((part) => part.trim())
}

// --- types ----------------------------------------------------------------------------------------------------------

/** As in viem, addresses are in the letter case of their checksum, and integers of at most 48 bits are numbers. */
function atom(text: string): AbiType {
  if (text === 'address') return word(text, (value) => Address.checksum(Address.fromBigint(value)))
  if (text === 'bool') return word(text, (value) => value !== 0n)
  if (text === 'bytes') return { text, isDynamic: true, headBytes: 32, read: (input, at) => Hex.fromBytes(tail(input, at)) }
  if (text === 'string') return { text, isDynamic: true, headBytes: 32, read: (input, at) => UTF8.decode(tail(input, at)) }
  const [, kind, digits] = /^(u?int|bytes)(\d{1,3})$/.exec(text) ?? []
  const size = Number(digits)
  if (kind === 'bytes' && size >= 1 && size <= 32)
    return { text, isDynamic: false, headBytes: 32, read: ({ data }, at) => Hex.fromBytes(slice(data, at, 32).subarray(0, size)) }
  if (kind === undefined || kind === 'bytes' || size < 8 || size > 256 || size % 8 !== 0)
    throw new DecodeError('abi', `has no type ${text}`)
  const clip = kind === 'int' ? BigInt.asIntN : BigInt.asUintN
  return word(text, (value) => (size > 48 ? clip(size, value) : Number(clip(size, value))))
}

function word(text: string, read: (value: bigint) => unknown): AbiType {
  return { text, isDynamic: false, headBytes: 32, read: ({ data }, at) => read(wordAt(data, at)) }
}

function tuple(parameters: readonly AbiParameter[]): AbiType {
  const types = typesOf(parameters)
  const isDynamic = types.some((type) => type.isDynamic)
  return {
    text: `(${types.map(({ text }) => text).join(',')})`,
    isDynamic,
    headBytes: isDynamic ? 32 : types.reduce((sum, { headBytes }) => sum + headBytes, 0),
    read: (input, at) => {
      const values = members(input, at, types)
      return Object.fromEntries(parameters.map(({ name }, i) => [name, values[i]]))
    },
  }
}

/** `length`: '' for a length that the data gives. */
function array(item: AbiType, length: string): AbiType {
  const isDynamic = length === '' || item.isDynamic
  return {
    text: `${item.text}[${length}]`,
    isDynamic,
    headBytes: isDynamic ? 32 : Number(length) * item.headBytes,
    read: (input, at) => {
      const { data } = input
      const count = length === '' ? offsetAt(data, at) : Number(length)
      const start = length === '' ? at + 32 : at
      slice(data, start, count * item.headBytes) // before memory is taken for the items
      return members(input, start, new Array<AbiType>(count).fill(item))
    },
  }
}

// --- data -----------------------------------------------------------------------------------------------------------

/** Reads values whose heads follow one another from `base` on; offsets count from there too. */
function members(input: Input, base: number, types: readonly AbiType[]): readonly unknown[] {
  let head = base
  return types.map((type) => {
    const at = type.isDynamic ? base + offsetAt(input.data, head) : head
    head += type.headBytes
    spend(input, type.headBytes)
    return type.read(input, at)
  })
}

function tail(input: Input, at: number): Uint8Array {
  const { data } = input
  const size = offsetAt(data, at)
  spend(input, size)
  return slice(data, at + 32, size)
}

function spend(input: Input, sizeBytes: number): void {
  input.allowance -= sizeBytes
  if (input.allowance < 0) throw new DecodeError('abi', `has values of more than ${ABI_DECODED_BYTES} bytes`)
}

const UTF8 = new TextDecoder()
