import { Address, BLOCK_TAGS, Hex } from '../eth/index.ts'
import type { BlockTag, Hash } from '../eth/index.ts'
import { invalidParams } from './errors.ts'

// No schema library: importing the smallest one takes 50 ms of start-up, and every refusal names the parameter in
// geth's words.

/** Turns one positional parameter into a typed value, or throws `RpcError` -32602 whose message names the parameter. */
export interface Schema<T> {
  /** `path` is what the message calls the value, such as `argument 0 (filter).address` */
  readonly parse: (value: unknown, path: string) => T
  /** JSON Schema, for docs and OpenRPC */
  readonly json: JsonSchema
}

export type JsonSchema = { readonly [key: string]: unknown }

export type Infer<S> = S extends Schema<infer T> ? T : never

/** A block parameter before its look-up in a View. */
export type BlockRef =
  | { readonly kind: 'tag'; readonly tag: BlockTag }
  | { readonly kind: 'number'; readonly number: number }
  | { readonly kind: 'hash'; readonly hash: Hash; readonly requireCanonical: boolean }

/** A schema whose value may be absent; `object` leaves its key out of `required`. */
export interface MaybeSchema<T> extends Schema<T | undefined> {
  readonly maybe: true
  /** an absent key is undefined without a call of `parse` */
  readonly skipped?: true
}

// --- leaves ---------------------------------------------------------------------------------------------------------

/** A 0x quantity of at most 256 bits. Leading zeros are accepted, as Base's node does. */
export const quantity: Schema<bigint> = {
  json: { title: 'quantity', type: 'string', pattern: '^0x[0-9a-fA-F]{1,64}$' },
  parse: (value, path) => BigInt(quantityText(value, path)),
}

/** A 0x quantity of at most 64 bits: nonces (EIP-2681) and withdrawals. */
export const uint64: Schema<bigint> = {
  json: { title: 'quantity', type: 'string', pattern: '^0x0*[0-9a-fA-F]{1,16}$' },
  parse: (value, path) => {
    const parsed = quantity.parse(value, path)
    if (parsed >> 64n !== 0n) throw refused(path, 'hex number > 64 bits')
    return parsed
  },
}

/** A quantity that is a block number, index, count or time: at most 2^53 - 1. */
export const quantityNumber: Schema<number> = {
  json: quantity.json,
  parse: (value, path) => safe(Number(quantityText(value, path)), path, value),
}

/** The integers of test methods: a JSON number, a 0x quantity or a decimal string; at most 2^53 - 1. */
export const integer: Schema<number> = {
  json: {
    title: 'integer',
    oneOf: [
      { type: 'integer', minimum: 0 },
      { type: 'string', pattern: '^(0x[0-9a-fA-F]{1,64}|[0-9]{1,78})$' },
    ],
  },
  parse: (value, path) => {
    if (typeof value === 'string' && DECIMAL.test(value)) return safe(Number(value), path, value)
    return typeof value === 'number' ? safe(value, path, value) : quantityNumber.parse(value, path)
  },
}

/** A JSON number from 0 to 2^53 - 1. */
export const wholeNumber: Schema<number> = {
  json: { type: 'integer', minimum: 0 },
  parse: (value, path) => safe(value, path, value),
}

/** As `integer`, for wei and gas: strings up to 256 bits. */
export const bigInteger: Schema<bigint> = {
  json: integer.json,
  parse: (value, path) => {
    if (typeof value === 'number') return BigInt(integer.parse(value, path))
    if (typeof value === 'string' && DECIMAL.test(value)) return uint256(BigInt(value), path, value)
    return quantity.parse(value, path)
  },
}

export const address: Schema<Address> = {
  json: { title: 'address', type: 'string', pattern: '^0x[0-9a-fA-F]{40}$' },
  parse: (value, path) => {
    const read = readAddress(value)
    if (read === null) throw wrongHex(value, path, 40, 'an address (20 bytes)')
    return read
  },
}

/** Returns null for an invalid address. */
export function readAddress(value: unknown): Address | null {
  // Consecutive requests name the same contract. Comparing the text takes a tenth of parsing, and the same string object makes map look-ups faster.
  if (value === newest.text) return newest.address
  if (value === newer.text) return newer.address
  if (typeof value !== 'string' || !ADDRESS.test(value)) return null
  newer = newest
  newest = { text: value, address: value.toLowerCase() as Address } // its pattern was just checked
  return newest.address
}

/** The last two addresses. */
let newest: { readonly text: string; readonly address: Address } = { text: Address.zero, address: Address.zero }
let newer = newest

export const hash: Schema<Hash> = {
  json: { title: '32 bytes', type: 'string', pattern: '^0x[0-9a-fA-F]{64}$' },
  parse: (value, path) => {
    if (typeof value === 'string' && HASH.test(value)) return value.toLowerCase() as Hash // its pattern was just checked
    throw wrongHex(value, path, 64, '32 bytes')
  },
}

export const bytes: Schema<Uint8Array> = {
  json: { title: 'bytes', type: 'string', pattern: '^0x([0-9a-fA-F]{2})*$' },
  parse: (value, path) => {
    if (typeof value === 'string') {
      // Decoding checks every digit; a check before it would take as long again, 30 us for 22 KB.
      const read = readBytes(value)
      if (read !== null) return read
    }
    const digits = hexDigits(value, path)
    if (digits.length % 2 === 1) throw refused(path, 'hex string of odd length')
    return Hex.toBytes(`0x${digits}`)
  },
}

/** Returns null for text that is not hex of whole bytes. */
export function readBytes(text: string): Uint8Array | null {
  try {
    return Hex.toBytes(text)
  } catch {
    return null
  }
}

/** A storage key: hex of at most 32 bytes, padded on the left. */
export const storageSlot: Schema<Hash> = {
  json: { title: 'storage key', type: 'string', pattern: '^0x[0-9a-fA-F]{0,64}$' },
  parse: (value, path) => {
    if (typeof value !== 'string') throw mismatch(path, 'a hex string', value)
    if (!/^0x[0-9a-fA-F]*$/.test(value)) throw refused(path, `invalid hex in storage key: ${quoted(value)}`)
    if (value.length > 66) throw refused(path, `storage key too long (want at most 32 bytes): ${quoted(value)}`)
    return `0x${value.slice(2).toLowerCase().padStart(64, '0')}` as Hash // 64 hex digits by construction
  },
}

export const boolean: Schema<boolean> = {
  json: { type: 'boolean' },
  parse: (value, path) => {
    if (typeof value !== 'boolean') throw mismatch(path, 'a boolean', value)
    return value
  },
}

export const string: Schema<string> = {
  json: { type: 'string' },
  parse: (value, path) => {
    if (typeof value !== 'string') throw mismatch(path, 'a string', value)
    return value
  },
}

/** Any JSON value, unread. */
export const anything: Schema<unknown> = documented({})

/** Documents a value that the handler parses because its shape depends on other parameters. */
export function documented(json: JsonSchema): Schema<unknown> {
  return { json, parse: (value) => value }
}

// --- blocks ---------------------------------------------------------------------------------------------------------

/** A tag or a number. Decimal strings are refused: `"10"` could mean either ten or sixteen. */
export const blockNumber: Schema<Exclude<BlockRef, { kind: 'hash' }>> = {
  json: {
    title: 'block number or tag',
    oneOf: [{ enum: BLOCK_TAGS }, quantity.json],
  },
  parse: (value, path) => {
    if (typeof value !== 'string') throw mismatch(path, 'a block number or tag', value)
    const tag = TAGS.get(value)
    return tag ?? { kind: 'number', number: quantityNumber.parse(value, path) }
  },
}

export const blockHash: Schema<BlockRef> = {
  json: hash.json,
  parse: (value, path) => ({ kind: 'hash', hash: hash.parse(value, path), requireCanonical: false }),
}

/** A tag, a number, a bare 32-byte hash, or an EIP-1898 object. */
export const blockRef: Schema<BlockRef> = {
  json: {
    title: 'block number, tag, hash or EIP-1898 object',
    oneOf: [
      ...(blockNumber.json['oneOf'] as readonly JsonSchema[]), // the literal just above
      hash.json,
      {
        type: 'object',
        properties: { blockNumber: quantity.json, blockHash: hash.json, requireCanonical: { type: 'boolean' } },
      },
    ],
  },
  parse: (value, path) => {
    if (value === 'latest') return LATEST
    if (typeof value === 'object' && value !== null) return eip1898(value, path)
    if (typeof value === 'string' && HASH.test(value)) return blockHash.parse(value, path)
    return blockNumber.parse(value, path)
  },
}

export const LATEST: BlockRef & { kind: 'tag' } = { kind: 'tag', tag: 'latest' }

const TAGS: ReadonlyMap<string, BlockRef & { kind: 'tag' }> = new Map(BLOCK_TAGS.map((tag) => [tag, { kind: 'tag', tag }]))

function eip1898(value: object, path: string): BlockRef {
  const { blockNumber: number, blockHash, requireCanonical } = EIP_1898.parse(value, path)
  if (number !== undefined && blockHash !== undefined) throw refused(path, 'cannot have both blockHash and blockNumber')
  if (blockHash !== undefined) return { kind: 'hash', hash: blockHash, requireCanonical: requireCanonical ?? false }
  if (number !== undefined) return number
  throw refused(path, 'expected blockHash or blockNumber')
}

// --- combinators ----------------------------------------------------------------------------------------------------

/** At most `max` items, each by `item`. */
export function arrayOf<T>(item: Schema<T>, max: number): Schema<readonly T[]> {
  return {
    json: { type: 'array', items: item.json, maxItems: max },
    parse: (value, path) => {
      if (!Array.isArray(value)) throw mismatch(path, 'an array', value)
      if (value.length > max) throw refused(path, `${value.length} items, at most ${max} are accepted`)
      const parsed: T[] = []
      // `map` would skip the holes of a list, which callers in process can have.
      for (let i = 0; i < value.length; i++) parsed.push(item.parse(value[i], `${path}[${i}]`))
      return parsed
    },
  }
}

/** One value, or an array of them. */
export function oneOrMany<T>(item: Schema<T>, max: number): Schema<readonly T[]> {
  const many = arrayOf(item, max)
  return {
    json: { oneOf: [item.json, many.json] },
    parse: (value, path) => (Array.isArray(value) ? many.parse(value, path) : [item.parse(value, path)]),
  }
}

/** Hex digits with or without 0x: geth, anvil and Hardhat take both in places, and Python's `bytes.hex()` has none. */
export function prefixOptional<T>(schema: Schema<T> & { readonly json: { readonly pattern?: unknown } }): Schema<T> {
  return {
    json: { ...schema.json, pattern: String(schema.json.pattern).replace('^0x', '^(0x)?') },
    parse: (value, path) => schema.parse(typeof value === 'string' && /^[0-9a-fA-F]+$/.test(value) ? `0x${value}` : value, path),
  }
}

export function nullable<T>(schema: Schema<T>): Schema<T | null> {
  return {
    json: { oneOf: [schema.json, { type: 'null' }] },
    parse: (value, path) => (value === null ? null : schema.parse(value, path)),
  }
}

/** A key of `object` that may be absent or null; both read as undefined. */
export function maybe<T>(schema: Schema<T>): MaybeSchema<T> {
  return {
    maybe: true,
    skipped: true,
    json: schema.json,
    parse: (value, path) => (value === undefined || value === null ? undefined : schema.parse(value, path)),
  }
}

/** The bits of an integer. */
const SHAPE_KEYS = 32

/** Known keys by their schemas; unknown keys are ignored. The result has every key, absent ones as undefined. */
export function object<S extends Readonly<Record<string, Schema<unknown>>>>(shape: S): Schema<{ readonly [K in keyof S]: Infer<S[K]> }> {
  const entries = Object.entries(shape)
  if (entries.length > SHAPE_KEYS) throw new RangeError(`${entries.length} keys, an object's shape has at most ${SHAPE_KEYS}`)
  const properties = Object.fromEntries(entries.map(([key, schema]) => [key, schema.json]))
  const required = entries.filter(([, schema]) => !('maybe' in schema)).map(([key]) => key)
  // Reading absent keys is the largest cost, so only present and required keys are read: a bit for each.
  const bits = new Map(entries.map(([key], i) => [key, 1 << i]))
  const always = entries.reduce((sum, [, schema], i) => ('skipped' in schema ? sum : sum | (1 << i)), 0)
  // The result is a copy of this one: it has a constant shape in V8, and absent keys need no write.
  const blank: Readonly<Record<string, unknown>> = Object.fromEntries(entries.map(([key]) => [key, undefined]))
  return {
    json: required.length === 0 ? { type: 'object', properties } : { type: 'object', properties, required },
    parse: (value, path) => {
      const source = record(value, path)
      const result: Record<string, unknown> = { ...blank }
      let present = always
      for (const key in source) present |= bits.get(key) ?? 0
      // In the order of the shape, so that the same one of two wrong keys is refused.
      for (; present !== 0; present &= present - 1) {
        const [key, schema] = entries[31 - Math.clz32(present & -present)] as (typeof entries)[number] // a bit has an entry
        result[key] = schema.parse(source[key], `${path}.${key}`)
      }
      return result as { readonly [K in keyof S]: Infer<S[K]> } // every key was parsed by its schema
    },
  }
}

/** `object` that refuses other keys. */
export function strictObject<S extends Readonly<Record<string, Schema<unknown>>>>(
  shape: S,
): Schema<{ readonly [K in keyof S]: Infer<S[K]> }> {
  const { json, parse } = object(shape)
  return {
    json: { ...json, additionalProperties: false },
    parse: (value, path) => {
      for (const key in record(value, path)) {
        if (!Object.hasOwn(shape, key))
          throw refused(`${path}.${key.slice(0, 40)}`, `is unknown; there are ${Object.keys(shape).join(', ')}`)
      }
      return parse(value, path)
    },
  }
}

/** An object used as a map: keys and values by their schemas, at most `max` of them. */
export function mapOf<K extends string, V>(key: Schema<K>, item: Schema<V>, max: number): Schema<ReadonlyMap<K, V>> {
  return {
    json: { type: 'object', additionalProperties: item.json, maxProperties: max },
    parse: (value, path) => {
      const entries = Object.entries(record(value, path))
      if (entries.length > max) throw refused(path, `${entries.length} keys, at most ${max} are accepted`)
      return new Map(entries.map(([name, entry]) => [key.parse(name, `${path} key`), item.parse(entry, `${path}.${name}`)]))
    },
  }
}

/** A number that is not below `min`. */
export function atLeast(min: number, schema: Schema<number>): Schema<number> {
  return {
    json: { ...schema.json, minimum: min },
    parse: (value, path) => {
      const parsed = schema.parse(value, path)
      if (parsed < min) throw refused(path, `must be ${min} or more`)
      return parsed
    },
  }
}

/** The same values; a refusal has `advice` as its reason. */
export function explained<T>(advice: string, schema: Schema<T>): Schema<T> {
  return {
    json: schema.json,
    parse: (value, path) => {
      try {
        return schema.parse(value, path)
      } catch {
        throw refused(path, advice)
      }
    },
  }
}

/** The same values with a title for the documentation. */
export function titled<T>(title: string, schema: Schema<T>): Schema<T> {
  return { json: { title, ...schema.json }, parse: schema.parse }
}

/** Exactly one number, such as the version of a format. */
export function constant<const T extends number>(expected: T): Schema<T> {
  return {
    json: { const: expected },
    parse: (value, path) => {
      if (value !== expected) throw mismatch(path, String(expected), value)
      return expected
    },
  }
}

/** One of a few strings. */
export function oneOf<const T extends string>(...names: readonly T[]): Schema<T> {
  return {
    json: { enum: names },
    parse: (value, path) => {
      const found = names.find((name) => name === value)
      if (found === undefined) throw mismatch(path, `one of ${names.join(', ')}`, value)
      return found
    },
  }
}

/** Text of 1 to `maxChars` characters. */
export function shortText(maxChars: number): Schema<string> {
  return {
    json: { type: 'string', minLength: 1, maxLength: maxChars },
    parse: (value, path) => {
      if (typeof value === 'string' && value !== '' && value.length <= maxChars) return value
      throw refused(path, `must be text of 1 to ${maxChars} characters`)
    },
  }
}

/** The last second of the year 9999, the limit of valid dates. */
const MAX_SECONDS = 253_402_300_799
/** A date without a time is its first second in UTC. A time requires a zone, so that it is the same on each machine. */
const ISO = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2}))?$/

/** A date as Unix seconds, which it may also be given as. */
export const time: Schema<number> = {
  json: { title: 'ISO date or Unix seconds', type: ['string', 'integer'] },
  parse: (value, path) => {
    const seconds = typeof value === 'string' && ISO.test(value) ? Math.floor(Date.parse(value) / 1_000) : value
    if (typeof seconds === 'number' && Number.isSafeInteger(seconds) && seconds >= 0 && seconds <= MAX_SECONDS) return seconds
    throw refused(path, 'must be a date in ISO 8601 with its zone, such as 2026-12-31T00:00:00Z, or Unix time in seconds')
  },
}

const EIP_1898 = object({ blockNumber: maybe(blockNumber), blockHash: maybe(hash), requireCanonical: maybe(boolean) })

// --- refusals -------------------------------------------------------------------------------------------------------

/** `invalid argument 0 (block): …`, -32602. For handlers that check more than a schema can. */
export function refused(path: string, reason: string) {
  return invalidParams(`invalid ${path}: ${reason}`)
}

/** `invalid argument 0 (call).gas: expected a hex string, got 5`, -32602. */
export function mismatch(path: string, expected: string, value: unknown) {
  return refused(path, value === undefined ? `missing value, expected ${expected}` : `expected ${expected}, got ${shown(value)}`)
}

function quantityText(value: unknown, path: string): string {
  const digits = hexDigits(value, path)
  if (digits.length === 0) throw refused(path, 'hex string "0x" is not a quantity')
  const significant = digits.replace(/^0+(?=.)/, '')
  if (significant.length > 64) throw refused(path, 'hex number > 256 bits')
  return `0x${significant}`
}

function hexDigits(value: unknown, path: string): string {
  if (typeof value !== 'string') throw mismatch(path, 'a hex string', value)
  if (!value.startsWith('0x')) throw refused(path, `hex string without 0x prefix: ${shown(value)}`)
  if (!HEX.test(value)) throw refused(path, `invalid hex string: ${shown(value)}`)
  return value.slice(2)
}

function wrongHex(value: unknown, path: string, digits: number, noun: string) {
  const got = hexDigits(value, path).length
  return refused(path, `hex string has length ${got}, want ${digits} for ${noun}`)
}

function safe(value: unknown, path: string, given: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
  throw refused(path, `expected a whole number from 0 to 2^53 - 1, got ${shown(given)}`)
}

function uint256(value: bigint, path: string, given: unknown): bigint {
  if (value < 1n << 256n) return value
  throw refused(path, `number > 256 bits: ${shown(given)}`)
}

function record(value: unknown, path: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw mismatch(path, 'an object', value)
  return value as Readonly<Record<string, unknown>> // any JSON object has this shape
}

function shown(value: unknown): string {
  if (typeof value === 'string') return quoted(value)
  if (typeof value === 'number') return String(value)
  if (Array.isArray(value)) return 'an array'
  if (value === null) return 'null'
  return typeof value === 'boolean' ? String(value) : 'an object'
}

/** Cuts long values. */
function quoted(value: string): string {
  return JSON.stringify(value.length > 80 ? `${value.slice(0, 77)}…` : value)
}

const HEX = /^0x[0-9a-fA-F]*$/
const ADDRESS = /^0x[0-9a-fA-F]{40}$/
const HASH = /^0x[0-9a-fA-F]{64}$/
const DECIMAL = /^[0-9]{1,78}$/
