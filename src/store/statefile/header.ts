import { Hex } from '../../eth/index.ts'
import type { Header } from '../../eth/index.ts'
import type { JsonField } from './jsonfield.ts'

type Kind = 'hash' | 'address' | 'bytes' | 'quantity' | 'number'

/** The fields of a header as anvil writes them. A fork's fields are absent before it. */
const FIELDS: readonly (readonly [key: string, field: keyof Header, kind: Kind, sizeBytes?: number])[] = [
  ['parentHash', 'parentHash', 'hash'],
  ['sha3Uncles', 'ommersHash', 'hash'],
  ['miner', 'coinbase', 'address'],
  ['stateRoot', 'stateRoot', 'hash'],
  ['transactionsRoot', 'transactionsRoot', 'hash'],
  ['receiptsRoot', 'receiptsRoot', 'hash'],
  ['logsBloom', 'logsBloom', 'bytes', 256],
  ['difficulty', 'difficulty', 'quantity'],
  ['number', 'number', 'number'],
  ['gasLimit', 'gasLimit', 'quantity'],
  ['gasUsed', 'gasUsed', 'quantity'],
  ['timestamp', 'timestamp', 'number'],
  ['extraData', 'extraData', 'bytes'],
  ['mixHash', 'mixHash', 'hash'],
  ['nonce', 'nonce', 'bytes', 8],
]

const LATER_FIELDS: typeof FIELDS = [
  ['baseFeePerGas', 'baseFeePerGas', 'quantity'],
  ['withdrawalsRoot', 'withdrawalsRoot', 'hash'],
  ['blobGasUsed', 'blobGasUsed', 'quantity'],
  ['excessBlobGas', 'excessBlobGas', 'quantity'],
  ['parentBeaconBlockRoot', 'parentBeaconBlockRoot', 'hash'],
  ['requestsHash', 'requestsHash', 'hash'],
]

const KNOWN: ReadonlySet<string> = new Set([...FIELDS, ...LATER_FIELDS].map(([key]) => key))

/** Returns `null` if the header has fields of an unknown fork, so that its hash cannot be computed. Throws StateFileError. */
export function readHeader(field: JsonField): Header | null {
  if (field.entries().some(([key, value]) => !KNOWN.has(key) && !value.isMissing)) return null
  const fields = FIELDS.map(([key, name, kind, size]) => [name, read(field.key(key), kind, size)] as const)
  const later = LATER_FIELDS.map(([key, name, kind]) => [name, readOrNull(field.maybe(key), kind)] as const)
  return Object.fromEntries([...fields, ...later]) as unknown as Header // every field was read by its kind
}

export function headerJson(header: Header): Readonly<Record<string, string>> {
  const present = [...FIELDS, ...LATER_FIELDS].filter(([, name]) => header[name] !== null)
  return Object.fromEntries(present.map(([key, name]) => [key, shown(header[name])]))
}

function read(field: JsonField, kind: Kind, sizeBytes: number | undefined): unknown {
  return kind === 'bytes' ? field.bytes(sizeBytes ?? null) : field[kind]()
}

function readOrNull(field: JsonField | null, kind: Kind): unknown {
  return field === null ? null : read(field, kind, undefined)
}

function shown(value: Header[keyof Header]): string {
  if (value instanceof Uint8Array) return Hex.fromBytes(value)
  return typeof value === 'string' ? value : Hex.fromQuantity(value ?? 0n)
}
