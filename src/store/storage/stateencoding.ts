import { crc32 } from 'node:zlib'
import { Address, EMPTY_CODE_HASH, Hash, Hex } from '../../eth/index.ts'
import type { Account, StateKey } from '../../evm/index.ts'
import { StorageError } from './backend.ts'

/**
 * A state key is a byte for its kind, the address, and for a slot its number. A cell is the block that wrote it (4 bytes), a checksum over
 * key and cell (4 bytes) and the value, which is empty for a deleted account or slot. In `past` the block follows the key, so that the
 * cells of a key are ordered by block.
 */

const ACCOUNT_KEY_BYTES = 1 + 20
const SLOT_KEY_BYTES = ACCOUNT_KEY_BYTES + 32
const SINCE_BYTES = 4
/** a cell without a value */
export const CELL_HEAD_BYTES = SINCE_BYTES + 4
/** an account with all its 2 + 8 + 32 + 32 bytes */
const CELL_BYTES = CELL_HEAD_BYTES + 2 + 8 + 32 + 32
const SLOT_KIND = 1

/** A buffer for state keys, with or without a block. Each call overwrites the previous key. */
export class KeyBytes {
  readonly #bytes = Buffer.allocUnsafeSlow(SLOT_KEY_BYTES + SINCE_BYTES)
  readonly #account = this.#bytes.subarray(0, ACCOUNT_KEY_BYTES)
  readonly #slot = this.#bytes.subarray(0, SLOT_KEY_BYTES)
  readonly #pastAccount = this.#bytes.subarray(0, ACCOUNT_KEY_BYTES + SINCE_BYTES)
  readonly #pastSlot = this.#bytes

  account(address: Address): Uint8Array {
    this.#bytes[0] = 0
    writeHex(address, this.#bytes, 1)
    return this.#account
  }

  slot(address: Address, slot: Hash): Uint8Array {
    this.#bytes[0] = SLOT_KIND
    writeHex(address, this.#bytes, 1)
    writeHex(slot, this.#bytes, ACCOUNT_KEY_BYTES)
    return this.#slot
  }

  /** Copies a key, as read from a list of changes. */
  copied(key: Uint8Array): Uint8Array {
    this.#bytes.set(key)
    return key.length === SLOT_KEY_BYTES ? this.#slot : this.#account
  }

  /** Appends a block to the last key. */
  since(block: number): Uint8Array {
    const isSlot = this.#bytes[0] === SLOT_KIND
    this.#bytes.writeUInt32BE(block, isSlot ? SLOT_KEY_BYTES : ACCOUNT_KEY_BYTES)
    return isSlot ? this.#pastSlot : this.#pastAccount
  }
}

/** The lowest and the highest slot key of an address. */
export function slotKeyRange(address: Address): { readonly start: Uint8Array; readonly end: Uint8Array } {
  const start = new Uint8Array(SLOT_KEY_BYTES)
  start[0] = SLOT_KIND
  writeHex(address, start, 1)
  const end = start.slice().fill(0xff, ACCOUNT_KEY_BYTES)
  return { start, end }
}

export function stateKeyOf(bytes: Uint8Array): StateKey {
  const address = Address.from(bytes.subarray(1, ACCOUNT_KEY_BYTES))
  return { address, slot: bytes[0] === SLOT_KIND ? Hash.from(bytes.subarray(ACCOUNT_KEY_BYTES, SLOT_KEY_BYTES)) : null }
}

/** A buffer in which a cell is built. */
export class CellBytes {
  readonly bytes = Buffer.allocUnsafeSlow(CELL_BYTES)
  size = 0

  account(since: number, account: Account | null): void {
    this.bytes.writeUInt32BE(since, 0)
    this.size = account === null ? CELL_HEAD_BYTES : this.#writeAccount(account)
  }

  slot(since: number, value: bigint): void {
    this.bytes.writeUInt32BE(since, 0)
    this.size = value === 0n ? CELL_HEAD_BYTES : writeBigint(value, this.bytes, CELL_HEAD_BYTES)
  }

  /** Compares the value, not the block. */
  holdsAs(cell: Uint8Array, size: number): boolean {
    return size === this.size && this.bytes.compare(cell, CELL_HEAD_BYTES, size, CELL_HEAD_BYTES, size) === 0
  }

  done(key: Uint8Array): Uint8Array {
    this.bytes.writeUInt32BE(checksum(key, this.bytes, this.size), SINCE_BYTES)
    return this.bytes.subarray(0, this.size)
  }

  /** Two bytes of sizes, nonce, balance, and the code hash if there is code. */
  #writeAccount({ nonce, balance, codeHash }: Account): number {
    const nonceAt = CELL_HEAD_BYTES + 2
    const balanceAt = writeBigint(nonce, this.bytes, nonceAt)
    const end = writeBigint(balance, this.bytes, balanceAt)
    const hasCode = codeHash !== EMPTY_CODE_HASH
    this.bytes[CELL_HEAD_BYTES] = (balanceAt - nonceAt) | (hasCode ? HAS_CODE : 0)
    this.bytes[CELL_HEAD_BYTES + 1] = end - balanceAt
    if (!hasCode) return end
    writeHex(codeHash, this.bytes, end)
    return end + 32
  }
}

const HAS_CODE = 0x80

/** Throws StorageError if the checksum does not match. LMDB has none. */
export function checkCell(key: Uint8Array, cell: Uint8Array, size: number): void {
  const keyBytes = key[0] === SLOT_KIND ? SLOT_KEY_BYTES : ACCOUNT_KEY_BYTES
  if (key.length === keyBytes && size >= CELL_HEAD_BYTES && sinceOf(cell.subarray(SINCE_BYTES)) === checksum(key, cell, size)) return
  throw damagedState(key)
}

/** Throws StorageError unless the cell is the key's, from the block in its key. */
export function checkPast(key: Uint8Array, found: Uint8Array, cell: Uint8Array): void {
  checkCell(key, cell, cell.length)
  if (sinceOf(found.subarray(key.length)) !== sinceOf(cell)) throw damagedState(key)
}

export function damagedState(key: Uint8Array): StorageError {
  const address = Hex.fromBytes(key.subarray(1, ACCOUNT_KEY_BYTES))
  return new StorageError(
    'corrupt',
    `the state kept for ${address} is damaged; restore the data directory from a copy, or choose another one`,
  )
}

/** FNV-1a over the key and the cell without its checksum. A single call of zlib's crc32 takes longer. */
function checksum(key: Uint8Array, cell: Uint8Array, size: number): number {
  let sum = 0x811c9dc5
  for (let i = 0; i < key.length; i++) sum = Math.imul(sum ^ key[i]!, 0x01000193) // in range
  for (let i = 0; i < SINCE_BYTES; i++) sum = Math.imul(sum ^ cell[i]!, 0x01000193)
  for (let i = CELL_HEAD_BYTES; i < size; i++) sum = Math.imul(sum ^ cell[i]!, 0x01000193)
  return (sum ^ (sum >>> 15)) >>> 0
}

export function sinceOf(cell: Uint8Array): number {
  return ((cell[0]! << 24) | (cell[1]! << 16) | (cell[2]! << 8) | cell[3]!) >>> 0 // every cell has these bytes
}

/** `size`: the buffer may be longer than the cell. */
export function accountOf(cell: Uint8Array, size: number): Account | null {
  if (size === CELL_HEAD_BYTES) return null
  const nonceAt = CELL_HEAD_BYTES + 2
  const balanceAt = nonceAt + (cell[CELL_HEAD_BYTES]! & ~HAS_CODE) // an account has both sizes
  const end = balanceAt + cell[CELL_HEAD_BYTES + 1]!
  const codeHash = size === end ? EMPTY_CODE_HASH : Hash.from(cell.subarray(end, end + 32))
  return { nonce: readBigint(cell, nonceAt, balanceAt), balance: readBigint(cell, balanceAt, end), codeHash }
}

export function slotOf(cell: Uint8Array, size: number): bigint {
  return readBigint(cell, CELL_HEAD_BYTES, size)
}

/** Big-endian without leading zeros. Returns the end. */
function writeBigint(value: bigint, out: Buffer, at: number): number {
  if (value <= SMALL) return writeSmall(Number(value), out, at)
  const text = value.toString(16)
  return at + out.write(text.length % 2 === 0 ? text : `0${text}`, at, 'hex')
}

function writeSmall(value: number, out: Buffer, at: number): number {
  let size = 0
  for (let rest = value; rest > 0; rest = Math.floor(rest / 256)) size++
  if (size > 0) out.writeUIntBE(value, at, size)
  return at + size
}

function readBigint(bytes: Uint8Array, start: number, end: number): bigint {
  if (end - start <= SMALL_BYTES) return BigInt(readSmall(bytes, start, end))
  return BigInt(Hex.fromBytes(bytes.subarray(start, end)))
}

function readSmall(bytes: Uint8Array, start: number, end: number): number {
  let value = 0
  for (let at = start; at < end; at++) value = value * 256 + bytes[at]! // in range
  return value
}

/** a safe integer that Buffer writes in one call */
const SMALL_BYTES = 6
const SMALL = 2n ** 48n - 1n

/** Decodes lower-case hex without validation. */
function writeHex(hex: string, out: Uint8Array, at: number): void {
  for (let i = 2, to = at; i < hex.length; i += 2, to++) {
    out[to] = (DIGITS[hex.charCodeAt(i)]! << 4) | DIGITS[hex.charCodeAt(i + 1)]! // valid digits
  }
}

const DIGITS = new Uint8Array(128)
for (let i = 0; i < 16; i++) DIGITS[i.toString(16).charCodeAt(0)] = i

/** A key that a block changed. */
export interface ChangedKey {
  /** a view, valid as long as the list */
  readonly key: Uint8Array
  /** the block that changed it before; `null` if the key was new; the block itself if the list has it twice */
  readonly before: number | null
  /** deleted in this block */
  readonly isGone: boolean
}

/** Writes the list of keys that a block changed, in pieces of bounded size: a checksum, then flags, the previous block and the key of each. */
export class ChangesWriter {
  readonly #pieceBytes: number
  readonly #pieces: Uint8Array[] = []
  #piece: Buffer
  #size = PIECE_HEAD_BYTES

  constructor(pieceBytes: number) {
    this.#pieceBytes = pieceBytes
    this.#piece = Buffer.allocUnsafe(pieceBytes)
  }

  add(key: Uint8Array, before: number | null, isGone: boolean): void {
    if (this.#size + ENTRY_HEAD_BYTES + key.length > this.#pieceBytes) this.#end()
    this.#piece[this.#size] = (before === null ? 0 : HAS_BEFORE) | (isGone ? IS_GONE : 0)
    this.#piece.writeUInt32BE(before ?? 0, this.#size + 1)
    this.#piece.set(key, this.#size + ENTRY_HEAD_BYTES)
    this.#size += ENTRY_HEAD_BYTES + key.length
  }

  done(): readonly Uint8Array[] {
    if (this.#size > PIECE_HEAD_BYTES) this.#end()
    return this.#pieces
  }

  #end(): void {
    const piece = this.#piece.subarray(0, this.#size)
    piece.writeUInt32BE(crc32(piece.subarray(PIECE_HEAD_BYTES)), 0)
    this.#pieces.push(piece)
    this.#piece = Buffer.allocUnsafe(this.#pieceBytes)
    this.#size = PIECE_HEAD_BYTES
  }
}

/** Throws StorageError if the checksum does not match. */
export function* changedKeys(bytes: Uint8Array): Iterable<ChangedKey> {
  const piece = bytes.subarray(PIECE_HEAD_BYTES)
  if (bytes.length < PIECE_HEAD_BYTES || sinceOf(bytes) !== crc32(piece)) throw damagedChanges()
  for (let at = 0; at < piece.length;) {
    const flags = piece[at]! // in range
    const keyAt = at + ENTRY_HEAD_BYTES
    const end = keyAt + (piece[keyAt] === SLOT_KIND ? SLOT_KEY_BYTES : ACCOUNT_KEY_BYTES)
    const before = (flags & HAS_BEFORE) === 0 ? null : sinceOf(piece.subarray(at + 1, keyAt))
    yield { key: piece.subarray(keyAt, end), before, isGone: (flags & IS_GONE) !== 0 }
    at = end
  }
}

function damagedChanges(): StorageError {
  return new StorageError(
    'corrupt',
    'what a block did to the state is damaged; restore the data directory from a copy, or choose another one',
  )
}

const PIECE_HEAD_BYTES = 4
const ENTRY_HEAD_BYTES = 1 + SINCE_BYTES
const HAS_BEFORE = 1
const IS_GONE = 2
