import { gunzipSync } from 'node:zlib'
import type { ForkOrigin } from '../../chain/index.ts'
import { readAccounts, writeSetOf } from './accounts.ts'
import type { StateAccount } from './accounts.ts'
import { IncompleteChain, readAnvilChain } from './anvil.ts'
import type { AnvilChain } from './anvil.ts'
import { JsonField, StateFileError, bytesOf } from './jsonfield.ts'
import { STATE_FILE_BYTES } from './limits.ts'
import { assertRoot, readNative } from './nativeformat.ts'
import type { NativeChain } from './nativeformat.ts'

/** The contents of a state file. */
export interface StateFile {
  readonly accounts: readonly StateAccount[]
  /** from pocketchain's own files: `accounts` is the complete state of the newest block */
  readonly own: NativeChain | null
  /** from anvil's files: `accounts` is the state of the newest block without the accounts of pocketchain's genesis */
  readonly anvil: AnvilChain | null
  /** why its blocks cannot be used; continues "its blocks are left out: " */
  readonly leftOut: string | null
  /** not null in the file of a fork: `accounts` are then changes over the state of this block */
  readonly fork: ForkOrigin | null
}

/** Reads a state file of pocketchain or anvil, or the accounts of a geth genesis; as JSON, gzip of it, or 0x hex of either. Throws StateFileError. */
export function readStateFile(bytes: Uint8Array): StateFile {
  const file = parsed(bytes)
  const accounts = accountsOf(file)
  const fork = forkOf(file)
  const nothing = { accounts, own: null, anvil: null, leftOut: null, fork }
  if (fork !== null) return nothing
  const ours = file.maybe('pocketchain')
  if (ours !== null) {
    const own = readNative(ours)
    assertRoot(ours.key('stateRoot'), writeSetOf(accounts, true))
    return { ...nothing, own }
  }
  if (file.maybe('alloc') !== null || file.maybe('blocks') === null) return nothing
  try {
    return { ...nothing, anvil: readAnvilChain(file) }
  } catch (error) {
    if (error instanceof IncompleteChain) return { ...nothing, leftOut: error.message }
    throw error
  }
}

/** Reads the accounts of any such file. Throws StateFileError. */
export function readStateAccounts(bytes: Uint8Array): Pick<StateFile, 'accounts' | 'fork'> {
  const file = parsed(bytes)
  return { accounts: accountsOf(file), fork: forkOf(file) }
}

/** Throws StateFileError for changes over another block than the one that the chain is forked from; `null`: it is not a fork. */
export function assertSameFork({ fork }: Pick<StateFile, 'fork'>, origin: ForkOrigin | null): void {
  if (fork === null || fork.hash === origin?.hash) return
  const here =
    origin === null
      ? 'this chain is not a fork'
      : `this chain is forked from block ${origin.number} (${origin.hash}) of chain ${origin.chainId}`
  throw new StateFileError(
    'fork',
    `is block ${fork.number} (${fork.hash}) of chain ${fork.chainId}, and ${here}; start with --fork-url and --fork-block-number ${fork.number}`,
  )
}

function forkOf(file: JsonField): ForkOrigin | null {
  const fork = file.maybe('fork')
  if (fork === null) return null
  return { chainId: fork.key('chainId').number(), number: fork.key('blockNumber').number(), hash: fork.key('blockHash').hash() }
}

function accountsOf(file: JsonField): readonly StateAccount[] {
  const alloc = file.maybe('alloc')
  return readAccounts(alloc ?? file.key('accounts'))
}

function parsed(bytes: Uint8Array): JsonField {
  const text = unpacked(bytes).toString('utf8').replace(LARGE_NONCES, '$1"$2"')
  try {
    return new JsonField(JSON.parse(text), '')
  } catch (error) {
    throw new StateFileError('file', `is no JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** Nonces are JSON numbers, which JSON.parse would round above 2^53. */
const LARGE_NONCES = /("nonce":\s*)(\d{16,20})(?=\s*[,}])/g

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
