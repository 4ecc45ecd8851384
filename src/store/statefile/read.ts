import { gunzipSync } from 'node:zlib'
import { readAccounts, stateOf } from './accounts.ts'
import type { StateAccount } from './accounts.ts'
import { Untold, readAnvilChain } from './anvil.ts'
import type { AnvilChain } from './anvil.ts'
import { Field, StateFileError, bytesOf } from './field.ts'
import { STATE_FILE_BYTES } from './limits.ts'
import { assertRoot, readOwn } from './own.ts'
import type { OwnChain } from './own.ts'

/** What a state file says. */
export interface StateFile {
  readonly accounts: readonly StateAccount[]
  /** ours: the accounts are the whole state after its newest block */
  readonly own: OwnChain | null
  /** anvil's: the accounts are the state after its newest block, beside what every chain of ours has */
  readonly anvil: AnvilChain | null
  /** why its blocks cannot be used, when there are some; continues "its blocks are left out: " */
  readonly leftOut: string | null
}

/** Reads a file of ours or of anvil, or a genesis of geth, of which the accounts count; as JSON text, as gzip of it, or as 0x-hex of that. Throws StateFileError. */
export function readStateFile(bytes: Uint8Array): StateFile {
  const file = parsed(bytes)
  const accounts = accountsOf(file)
  const nothing = { accounts, own: null, anvil: null, leftOut: null }
  const ours = file.maybe('pocketchain')
  if (ours !== null) {
    const own = readOwn(ours)
    assertRoot(ours.key('stateRoot'), stateOf(accounts, true))
    return { ...nothing, own }
  }
  if (file.maybe('alloc') !== null || file.maybe('blocks') === null) return nothing
  try {
    return { ...nothing, anvil: readAnvilChain(file) }
  } catch (error) {
    if (error instanceof Untold) return { ...nothing, leftOut: error.message }
    throw error
  }
}

/** The accounts alone, whatever else the file holds. Throws StateFileError. */
export function readStateAccounts(bytes: Uint8Array): readonly StateAccount[] {
  return accountsOf(parsed(bytes))
}

function accountsOf(file: Field): readonly StateAccount[] {
  const alloc = file.maybe('alloc')
  return readAccounts(alloc ?? file.key('accounts'))
}

function parsed(bytes: Uint8Array): Field {
  const text = unpacked(bytes).toString('utf8').replace(LARGE_NONCES, '$1"$2"')
  try {
    return new Field(JSON.parse(text), '')
  } catch (error) {
    throw new StateFileError('file', `is no JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** Nonces are numbers, and JSON.parse would round these. */
const LARGE_NONCES = /("nonce":\s*)(\d{16,20})(?=\s*[,}])/g

/** The JSON text. */
function unpacked(bytes: Uint8Array): Buffer {
  if (isHex(bytes)) return unpacked(fromHex(bytes))
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return gunzipped(bytes)
  if (bytes.length > STATE_FILE_BYTES) throw tooLarge()
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function isHex(bytes: Uint8Array): boolean {
  return bytes[0] === 0x30 && bytes[1] === 0x78 // 0x
}

function fromHex(bytes: Uint8Array): Uint8Array {
  if (bytes.length > STATE_FILE_BYTES) throw tooLarge()
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1').trimEnd()
  const read = bytesOf(text)
  if (read === null || isHex(read)) throw new StateFileError('file', 'is hex of nothing that can be read')
  return read
}

function gunzipped(bytes: Uint8Array): Buffer {
  try {
    return gunzipSync(bytes, { maxOutputLength: STATE_FILE_BYTES })
  } catch (error) {
    if (error instanceof RangeError) throw tooLarge()
    throw new StateFileError('file', `is damaged: ${error instanceof Error ? error.message : String(error)} (gzip)`)
  }
}

function tooLarge(): StateFileError {
  return new StateFileError('file', `has more than ${STATE_FILE_BYTES / 2 ** 20} MB of text`)
}
