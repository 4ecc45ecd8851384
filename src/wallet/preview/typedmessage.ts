import { DecodeError, Hex, TypedData } from '../../eth/index.ts'
import type { Hash } from '../../eth/index.ts'
import { invalidParams } from '../../jsonrpc/index.ts'
import { assertSize } from './message.ts'
import type { Warning } from '../question.ts'
import { gapWarnings } from './gaps.ts'
import type { AccountName } from './labels.ts'
import { nestedWarnings } from './nestedmessage.ts'
import type { PermitFacts } from './permits.ts'
import { rightsWarnings } from './signedrights.ts'
import type { SignInContext } from './signin.ts'

/** Typed data that passed all checks, as it is shown and signed. */
export interface CheckedTypedData {
  /** JSON without members that no type declares, which are not signed */
  readonly shown: TypedData
  readonly digest: Hash
  /** chain id of the domain, signed or not; null: none */
  readonly chainId: bigint | null
}

/** Checks typed data of an app, an object or JSON text. `version` 3 is for eth_signTypedData_v3, which has no arrays. Throws RpcError -32602. */
export function readTypedData(given: unknown, version: 3 | 4 = 4): CheckedTypedData {
  try {
    const text = typeof given === 'string' ? given : textOf(given)
    assertSize(text?.length ?? 0)
    const data = TypedData.parse(text)
    assertNames(data)
    assertDomainType(data)
    if (version === 3) assertNoLists(data)
    TypedData.hash(data) // validates the values and the nesting depth; throws DecodeError
    if (version === 3 && data.primaryType !== DOMAIN) assertNoAbsentStruct(data, data.primaryType, data.message, 'message')
    const shown = signedData(data)
    return { shown, digest: TypedData.hash(shown), chainId: chainOf(data.domain['chainId']) }
  } catch (error) {
    if (error instanceof DecodeError) throw invalidParams(`invalid argument 1 (typedData): ${error.message}`, { reason: 'typed-data' })
    throw error
  }
}

/** undefined if the value has no JSON representation. */
function textOf(given: unknown): string | undefined {
  try {
    return JSON.stringify(given, asJson)
  } catch (error) {
    throw new DecodeError('typed data', `cannot be represented as JSON (${String(error).slice(0, 80)})`)
  }
}

/** In-process callers may pass bigint and Uint8Array values. */
function asJson(_: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString()
  return value instanceof Uint8Array ? Hex.fromBytes(value) : value
}

/** A name with one of these characters could make the encoded type (encodeType) equal to the one of another type. */
function assertNames({ types }: TypedData): void {
  for (const [type, fields] of Object.entries(types)) {
    if (/[\s(),[\]]/.test(type))
      throw new DecodeError('typed data.types', `names a type ${JSON.stringify(type.slice(0, 80))}, which is not a valid name`)
    const odd = fields.find(({ name }) => /[(),]/.test(name))
    if (odd !== undefined)
      throw new DecodeError(
        `typed data.types.${type}`,
        `names a member ${JSON.stringify(odd.name.slice(0, 80))}, which is not a valid name`,
      )
  }
}

/** Throws DecodeError for arrays. Without arrays and absent structs, version 3 signs the same hash as version 4. */
function assertNoLists({ types }: TypedData): void {
  const lists = Object.values(types).flatMap((fields) => fields.filter(({ type }) => type.endsWith(']')))
  const [list] = lists
  if (list !== undefined)
    throw new DecodeError(
      'typed data.types',
      `has the array ${JSON.stringify(list.name.slice(0, 80))}, which eth_signTypedData_v3 cannot sign; use eth_signTypedData_v4`,
    )
}

/** Throws DecodeError for an absent struct: version 3 leaves it out of the hash, and version 4 hashes zeros. */
function assertNoAbsentStruct(data: TypedData, type: string, value: unknown, path: string): void {
  for (const field of data.types[type] ?? []) {
    if (!Object.hasOwn(data.types, field.type)) continue
    const member = (value as Readonly<Record<string, unknown>>)[field.name] // a struct that was hashed is an object
    const at = `${path}.${field.name}`
    if (member === undefined || member === null)
      throw new DecodeError(at, `is missing (${field.type}), which eth_signTypedData_v3 signs with another hash; use eth_signTypedData_v4`)
    assertNoAbsentStruct(data, field.type, member, at)
  }
}

/** Throws DecodeError if EIP712Domain is not declared: MetaMask then signs an empty domain, and viem and ethers sign a domain of its standard members. */
function assertDomainType({ types, domain }: TypedData): void {
  if (Object.hasOwn(types, DOMAIN)) return
  const names = Object.keys(domain).filter((name) => DOMAIN_FIELDS.has(name) && (domain[name] ?? null) !== null)
  if (names.length === 0) return
  const message = `lacks EIP712Domain, so that wallets sign different hashes: MetaMask leaves out ${names.join(', ')} of the domain, viem and ethers do not; add the type`
  throw new DecodeError('typed data.types', message)
}

/** Removes members that no type declares, since they are not signed. */
function signedData(data: TypedData): TypedData {
  const { types, primaryType, domain, message } = data
  const isSigned = (name: string) => types[DOMAIN]?.some((field) => field.name === name) ?? DOMAIN_FIELDS.has(name)
  const named = Object.entries(types).map(([type, fields]) => [type, fields.map((field) => ({ name: field.name, type: field.type }))])
  return {
    types: Object.fromEntries(named) as TypedData['types'], // the same names and fields
    primaryType,
    domain: Object.fromEntries(Object.entries(domain).filter(([name]) => isSigned(name))),
    message: primaryType === DOMAIN ? {} : (signedPart(data, primaryType, message) as TypedData['message']), // a struct stays an object
  }
}

const DOMAIN = 'EIP712Domain'
/** Members of the domain if the data does not declare the type EIP712Domain (EIP-712). */
const DOMAIN_FIELDS: ReadonlySet<string> = new Set(['name', 'version', 'chainId', 'verifyingContract', 'salt'])

function signedPart(data: TypedData, type: string, value: unknown): unknown {
  const item = /^(.*)\[\d*\]$/.exec(type)?.[1]
  if (item !== undefined) return Array.isArray(value) ? value.map((each) => signedPart(data, item, each)) : value
  const fields = Object.hasOwn(data.types, type) ? data.types[type] : undefined
  if (fields === undefined || typeof value !== 'object' || value === null) return value
  const given = value as Readonly<Record<string, unknown>> // any JSON object has this shape
  const present = fields.filter(({ name }) => Object.hasOwn(given, name))
  return Object.fromEntries(present.map(({ name, type: each }) => [name, signedPart(data, each, given[name])]))
}

function chainOf(chainId: unknown): bigint | null {
  if (chainId === undefined || chainId === null) return null
  const isInteger =
    typeof chainId === 'number'
      ? Number.isSafeInteger(chainId)
      : typeof chainId === 'string' && /^(\d{1,78}|0x[0-9a-f]{1,64})$/i.test(chainId)
  if (!isInteger) throw new DecodeError('typed data.domain.chainId', 'must be an integer')
  return BigInt(chainId as number | string) // checked above
}

/** Returns the warnings of typed data. `facts`: chain data about a permit. `accounts`: accounts of the wallet. */
export function typedDataWarnings(
  shown: TypedData,
  context: SignInContext,
  facts?: PermitFacts,
  accounts?: readonly AccountName[],
): readonly Warning[] {
  const { chainId, verifyingContract } = shown.domain
  const isEverywhere = (chainId ?? null) === null && verifyingContract !== undefined
  return [
    ...rightsWarnings(shown, context.account, facts, accounts),
    ...nestedWarnings(shown, context),
    ...gapWarnings(textsIn(shown)),
    ...(isEverywhere ? [EVERY_CHAIN] : []),
  ]
}

/** Returns all strings of the signed data, names included. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, each]) => [name, ...textsIn(each)])
}

const EVERY_CHAIN: Warning = { code: 'every-chain', level: 'info', text: 'The signature names no chain; it may be valid on every chain.' }
