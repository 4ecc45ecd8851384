import { DecodeError, Hex, TypedData } from '../../eth/index.ts'
import type { Address, Hash } from '../../eth/index.ts'
import { invalidParams } from '../../rpc/index.ts'
import { assertSize } from './message.ts'
import type { Warning } from '../question.ts'
import { rightsWarnings } from './signedrights.ts'

export interface TypedMessage {
  /** JSON, without what stands in no type and so is not signed */
  readonly shown: TypedData
  readonly digest: Hash
  /** null: the domain names none */
  readonly chainId: bigint | null
}

/** Typed data as an app sends it: an object or JSON text. Throws RpcError -32602. */
export function readTypedData(given: unknown): TypedMessage {
  try {
    const text = typeof given === 'string' ? given : JSON.stringify(given, asJson)
    assertSize(text?.length ?? 0)
    const data = TypedData.parse(text)
    const shown = { ...data, message: signedPart(data, data.primaryType, data.message) as TypedData['message'] } // a struct stays an object
    return { shown, digest: TypedData.hash(shown), chainId: chainOf(data.domain['chainId']) }
  } catch (error) {
    if (error instanceof DecodeError) throw invalidParams(`invalid argument 1 (typedData): ${error.message}`, { reason: 'typed-data' })
    throw error
  }
}

/** In the same process integers may be bigints, and bytes bytes. */
function asJson(_: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString()
  return value instanceof Uint8Array ? Hex.fromBytes(value) : value
}

/** What is shown beside what is signed would be a lie that the wallet tells. */
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
  return BigInt(chainId as number | string) // its type was just looked at
}

/** What a person should know before `account` signs it. */
export function typedDataWarnings(data: TypedData, chainId: bigint | null, account: Address): readonly Warning[] {
  const rights = rightsWarnings(data, account)
  return chainId === null && data.domain['verifyingContract'] !== undefined ? [...rights, EVERY_CHAIN] : rights
}

const EVERY_CHAIN: Warning = { code: 'every-chain', level: 'info', text: 'The signature names no chain; it may hold on every one.' }
