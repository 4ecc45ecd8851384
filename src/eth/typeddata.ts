import { isObject } from './isobject.ts'
import { Address } from './address.ts'
import { Bytes } from './bytes.ts'
import { Hash } from './hash.ts'
import { DecodeError, Hex } from './hex.ts'
import { keccak256 } from './keccak.ts'
import { TYPED_DATA_DEPTH, TYPED_DATA_TYPE_CHARS } from './limits.ts'

export interface TypedDataField {
  readonly name: string
  readonly type: string
}

/** EIP-712 in the form of `eth_signTypedData_v4`. If `types` lacks `EIP712Domain`, it is derived from the domain's keys. */
export interface TypedData {
  readonly types: Readonly<Record<string, readonly TypedDataField[]>>
  readonly primaryType: string
  readonly domain: Readonly<Record<string, unknown>>
  readonly message: Readonly<Record<string, unknown>>
}

export const TypedData = { parse, hash, hashDomain, hashStruct, encodeType }

type Types = TypedData['types']

const DOMAIN = 'EIP712Domain'
const DOMAIN_FIELDS: readonly TypedDataField[] = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
  { name: 'salt', type: 'bytes32' },
]

/** Parses JSON text or an object. Throws DecodeError. */
function parse(input: unknown): TypedData {
  const value = typeof input === 'string' ? fromJson(input) : input
  if (!isObject(value)) throw new DecodeError('typed data', 'must be an object')
  const { types, primaryType, domain = {}, message } = value
  if (!isTypes(types)) throw new DecodeError('typed data.types', 'must map names to lists of { name, type }')
  if (typeof primaryType !== 'string') throw new DecodeError('typed data.primaryType', 'must be a string')
  if (!isObject(domain)) throw new DecodeError('typed data.domain', 'must be an object')
  if (!isObject(message)) throw new DecodeError('typed data.message', 'must be an object')
  return { types, primaryType, domain, message }
}

function fromJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new DecodeError('typed data', 'is not JSON')
  }
}

function isTypes(value: unknown): value is Types {
  return isObject(value) && Object.values(value).every((fields) => Array.isArray(fields) && fields.every(isField))
}

function isField(value: unknown): value is TypedDataField {
  return isObject(value) && typeof value['name'] === 'string' && typeof value['type'] === 'string'
}

/** Returns the signing hash, keccak(0x19 0x01 || domain || message). Throws DecodeError for a value that does not fit its type. */
function hash(data: TypedData): Hash {
  const types = withDomain(data)
  const parts = [Uint8Array.of(0x19, 0x01), structHash(DOMAIN, data.domain, types, 'domain', 0)]
  if (data.primaryType !== DOMAIN) parts.push(structHash(data.primaryType, data.message, types, 'message', 0))
  return Hash.keccak(Bytes.concat(parts))
}

/** The domain separator. Throws DecodeError. */
function hashDomain(data: TypedData): Hash {
  return Hash.from(structHash(DOMAIN, data.domain, withDomain(data), 'domain', 0))
}

/** Throws DecodeError. */
function hashStruct(data: Pick<TypedData, 'types' | 'primaryType' | 'message'>): Hash {
  return Hash.from(structHash(data.primaryType, data.message, data.types, 'message', 0))
}

function withDomain(data: TypedData): Types {
  if (data.types[DOMAIN] !== undefined) return data.types
  return { ...data.types, [DOMAIN]: DOMAIN_FIELDS.filter(({ name }) => (data.domain[name] ?? null) !== null) }
}

/** `Mail(Person from,Person to)Person(string name)`: the type, then the types that it uses in the order of their names. */
function encodeType(types: Types, name: string): string {
  const [, ...used] = usedBy(types, name)
  return [name, ...used.toSorted()].map((each) => describe(types, each)).join('')
}

function describe(types: Types, name: string): string {
  return `${name}(${fieldsOf(types, name)
    .map((field) => `${field.type} ${field.name}`)
    .join(',')})`
}

/** The struct first. Iterating a set visits additions too, so chains of types need no recursion. */
function usedBy(types: Types, name: string): ReadonlySet<string> {
  const used = new Set([name])
  for (const each of used) {
    for (const field of fieldsOf(types, each)) {
      const base = field.type.replace(/\[.*$/, '')
      if (Object.hasOwn(types, base)) used.add(base)
    }
  }
  return used
}

interface TypeHashes {
  readonly byName: Map<string, Uint8Array>
  encodedChars: number
}

const typeHashes = new WeakMap<Types, TypeHashes>()

/** Computed once per struct, because a list may have many values of it. */
function typeHash(types: Types, name: string): Uint8Array {
  let known = typeHashes.get(types)
  if (known === undefined) typeHashes.set(types, (known = { byName: new Map(), encodedChars: 0 }))
  const hash = known.byName.get(name) ?? keccak256(Bytes.ofText(limitedType(types, name, known)))
  known.byName.set(name, hash)
  return hash
}

function limitedType(types: Types, name: string, known: TypeHashes): string {
  const text = encodeType(types, name)
  known.encodedChars += text.length
  if (known.encodedChars <= TYPED_DATA_TYPE_CHARS) return text
  throw new DecodeError('typed data.types', `take more than ${TYPED_DATA_TYPE_CHARS} characters to encode; use fewer structs`)
}

function fieldsOf(types: Types, name: string): readonly TypedDataField[] {
  const fields = Object.hasOwn(types, name) ? types[name] : undefined
  if (fields === undefined) throw new DecodeError(`typed data.types.${name}`, 'is missing')
  return fields
}

function structHash(name: string, value: unknown, types: Types, path: string, depth: number): Uint8Array {
  if (depth > TYPED_DATA_DEPTH) throw new DecodeError(path, `nests deeper than ${TYPED_DATA_DEPTH}`)
  if (!isObject(value)) throw new DecodeError(path, `must be an object (${name})`)
  const parts = [typeHash(types, name)]
  for (const field of fieldsOf(types, name))
    parts.push(encodeValue(field.type, value[field.name], types, `${path}.${field.name}`, depth + 1))
  return keccak256(Bytes.concat(parts))
}

/** Returns 32 bytes for any type. */
function encodeValue(type: string, value: unknown, types: Types, path: string, depth: number): Uint8Array {
  const array = /^(.*)\[(\d*)\]$/.exec(type)
  if (array !== null) return encodeArray(array[1] as string, array[2] as string, value, types, path, depth) // both groups always match
  if (Object.hasOwn(types, type)) return encodeStruct(type, value, types, path, depth)
  if (value === undefined || value === null) throw new DecodeError(path, `is missing (${type})`)
  if (type === 'string') return keccak256(Bytes.ofText(asText(value, path)))
  if (type === 'bytes') return keccak256(asBytes(value, path))
  return encodeAtom(type, value, path)
}

/** An absent struct is 32 zero bytes, as v4 signers encode it. */
function encodeStruct(type: string, value: unknown, types: Types, path: string, depth: number): Uint8Array {
  if (value === undefined || value === null) return new Uint8Array(32)
  return structHash(type, value, types, path, depth)
}

function encodeArray(type: string, length: string, value: unknown, types: Types, path: string, depth: number): Uint8Array {
  if (depth > TYPED_DATA_DEPTH) throw new DecodeError(path, `nests deeper than ${TYPED_DATA_DEPTH}`)
  if (!Array.isArray(value)) throw new DecodeError(path, `must be an array (${type}[${length}])`)
  if (length !== '' && value.length !== Number(length)) throw new DecodeError(path, `must have ${length} items, not ${value.length}`)
  return keccak256(Bytes.concat(value.map((item, i) => encodeValue(type, item, types, `${path}[${i}]`, depth + 1))))
}

function encodeAtom(type: string, value: unknown, path: string): Uint8Array {
  if (type === 'address') return leftPadded(Address.toBytes(Address.from(asText(value, path), path)))
  if (type === 'bool') return leftPadded(Uint8Array.of(asBool(value, path) ? 1 : 0))
  const [, kind, size] = /^(u?int|bytes)(\d*)$/.exec(type) ?? []
  if (kind === 'bytes') return rightPadded(asBytes(value, path), Number(size), path)
  if (kind === undefined) throw new DecodeError(path, `is of an unknown type (${type})`)
  return encodeInteger(kind === 'int', size === '' ? 256 : Number(size), asInteger(value, path), path)
}

function encodeInteger(isSigned: boolean, bits: number, value: bigint, path: string): Uint8Array {
  if (bits < 8 || bits > 256 || bits % 8 !== 0) throw new DecodeError(path, `is an integer of ${bits} bits`)
  const fits = isSigned ? BigInt.asIntN(bits, value) === value : BigInt.asUintN(bits, value) === value
  if (!fits) throw new DecodeError(path, `does not fit ${isSigned ? '' : 'u'}int${bits}`)
  return Hash.toBytes(Hash.fromBigint(BigInt.asUintN(256, value)))
}

function asText(value: unknown, path: string): string {
  if (typeof value !== 'string') throw new DecodeError(path, 'must be a string')
  return value
}

/** Text is refused, as in geth and viem: MetaMask and ethers sign the text "false" as true. */
function asBool(value: unknown, path: string): boolean {
  if (value === true || value === false) return value
  throw new DecodeError(path, 'must be true or false')
}

function asBytes(value: unknown, path: string): Uint8Array {
  return value instanceof Uint8Array ? value : Hex.toBytes(asText(value, path), path)
}

/** Accepts JSON numbers and decimal or 0x text; 256 bits need no more digits. */
function asInteger(value: unknown, path: string): bigint {
  if (typeof value === 'bigint') return value
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value)
  if (typeof value === 'string' && /^(-?\d{1,78}|0x[0-9a-f]{1,64})$/i.test(value)) return BigInt(value)
  throw new DecodeError(path, 'must be an integer of at most 256 bits')
}

function leftPadded(bytes: Uint8Array): Uint8Array {
  const word = new Uint8Array(32)
  word.set(bytes, 32 - bytes.length)
  return word
}

function rightPadded(bytes: Uint8Array, sizeBytes: number, path: string): Uint8Array {
  if (sizeBytes < 1 || sizeBytes > 32) throw new DecodeError(path, `is of an unknown type (bytes${sizeBytes})`)
  if (bytes.length !== sizeBytes) throw new DecodeError(path, `must be ${sizeBytes} bytes, not ${bytes.length}`)
  const word = new Uint8Array(32)
  word.set(bytes)
  return word
}
