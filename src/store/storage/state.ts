import { EMPTY_CODE_HASH, Hash } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import type { Account, StateReader, WriteSet } from '../../evm/index.ts'
import { PrunedState, RewoundState } from '../../chain/index.ts'
import { CHANGES_PIECE_BYTES, PRUNED_BLOCKS_PER_COMMIT, PRUNED_KEYS_PER_COMMIT, STATE_READERS, WALK_KEYS } from '../limits.ts'
import { withChecksum, verifyChecksum } from './checksum.ts'
import { StorageError } from './backend.ts'
import type { StateBackend } from './backend.ts'
import {
  accountOf,
  CELL_HEAD_BYTES,
  CellBytes,
  changedKeys,
  ChangesWriter,
  checkCell,
  checkPast,
  damagedState,
  KeyBytes,
  stateKeyOf,
  sinceOf,
  slotKeyRange,
  slotOf,
} from './stateencoding.ts'
import type { ChangedKey } from './stateencoding.ts'
import { copyOf, numberKey, guardedRead } from './environment.ts'
import type { Environment, Table, Tables } from './environment.ts'

/** The blocks whose state is stored. */
interface StateRange {
  readonly floor: number
  readonly height: number
}

/**
 * State with history. `head` holds the current cell of each key with the block that wrote it. A write moves the replaced cell to `past`,
 * where an old value is one seek away, and adds the key to the block's list in `changes`, which undoing and pruning follow. A deleted key
 * keeps an empty cell until the floor has passed it.
 */
export class LmdbState implements StateBackend {
  readonly #environment: Environment
  readonly #range: () => StateRange
  readonly #key = new KeyBytes()
  readonly #cell = new CellBytes()
  readonly #readers = new Map<number, Reader>()
  /** the heights that the chain was truncated to, in order: they invalidate readers */
  readonly #cuts: number[] = []

  constructor(environment: Environment, range: () => StateRange) {
    this.#environment = environment
    this.#range = range
  }

  get floor(): number {
    return this.#range().floor
  }

  at(number: number): StateReader {
    this.#check(number)
    const known = this.#readers.get(number)
    if (known !== undefined) return known
    const isOld = number < this.#range().height
    const reader = new Reader(this, number, this.#cuts.length, isOld)
    if (isOld) this.#cacheReader(number, reader)
    return reader
  }

  *whole(): Iterable<WriteSet> {
    const codes = new Set<Hash>([EMPTY_CODE_HASH])
    for (const cells of this.#walk(this.#tables.head, new Uint8Array(1))) {
      const writes = new StateWrites()
      for (const { key, value } of cells) {
        checkCell(key, value, value.length)
        if (value.length === CELL_HEAD_BYTES) continue
        const account = this.#put(writes, key, value, value.length)
        if (account === null || codes.has(account.codeHash)) continue
        codes.add(account.codeHash)
        writes.codes.set(account.codeHash, this.code(account.codeHash))
      }
      yield writes
    }
  }

  writesBack(number: number): WriteSet {
    this.#check(number)
    const writes = new StateWrites()
    const changed = new Map<string, ChangedKey>()
    for (let block = this.#range().height; block > number; block--) {
      for (const change of this.#changesOf(block)) if (change.before !== block) changed.set(latin1(change.key), change)
    }
    for (const { key, before } of changed.values()) this.#writeBack(writes, key, before)
    return writes
  }

  /** Returns the value of a key at `number`. The bytes are valid until the next read. */
  cellAt(key: Uint8Array, number: number): Cell | null {
    const { head } = this.#tables
    const cell = guardedRead(() => head.getBinaryFast(key))
    if (cell === undefined) return null
    checkCell(key, cell, cell.length)
    if (sinceOf(cell) <= number) return cell.length === CELL_HEAD_BYTES ? null : { bytes: cell, size: cell.length }
    return this.#pastCell(key, number)
  }

  accountAt(address: Address, number: number): Account | null {
    const cell = this.cellAt(this.#key.account(address), number)
    return cell === null ? null : accountOf(cell.bytes, cell.size)
  }

  storageAt(address: Address, slot: Hash, number: number): bigint {
    const cell = this.cellAt(this.#key.slot(address, slot), number)
    return cell === null ? 0n : slotOf(cell.bytes, cell.size)
  }

  *slotsAt(address: Address, number: number): Iterable<Hash> {
    const { start, end } = slotKeyRange(address)
    for (const cells of this.#walk(this.#tables.head, start, end)) {
      for (const { key } of cells) if (this.cellAt(this.#key.copied(key), number) !== null) yield stateKeyOf(key).slot!
    }
  }

  code(codeHash: Hash): Uint8Array {
    if (codeHash === EMPTY_CODE_HASH) return NO_CODE
    const bytes = guardedRead(() => copyOf(this.#tables.codes.getBinary(Hash.toBytes(codeHash))))
    const code = bytes === null ? null : verifyChecksum(bytes)
    if (code === null) throw damagedCode(codeHash, bytes === null ? 'missing' : 'damaged')
    return code
  }

  /**
   * Throws PrunedState or RewoundState if the state at `number` is gone, given that the caller has seen `cuts` truncations. Returns their
   * number now.
   */
  checkPresent(number: number, cuts: number): number {
    for (let i = cuts; i < this.#cuts.length; i++) if (this.#cuts[i]! < number) throw new RewoundState(number)
    if (number < this.#range().floor) throw new PrunedState(number)
    return this.#cuts.length
  }

  // The methods below run inside a write.

  /** Applies `writes` to the newest state, as changes by `block`. */
  write(writes: WriteSet, block: number): void {
    const changes = new ChangesWriter(CHANGES_PIECE_BYTES)
    for (const [hash, code] of writes.codes) this.#putCode(hash, code)
    for (const [address, account] of writes.accounts) this.#putAccount(address, account, block, changes)
    for (const [address, slots] of writes.storage) for (const [slot, value] of slots) this.#putSlot(address, slot, value, block, changes)
    // The first block's list is never read.
    if (block > 0) this.#putChanges(block, changes.done())
  }

  /** Undoes the changes of the blocks above `number`; -1: deletes all state. Throws PrunedState below the floor. */
  truncate(number: number): void {
    const { floor, height } = this.#range()
    if (number < 0) return this.#clear()
    if (number < floor) throw new PrunedState(number)
    for (let block = height; block > number; block--) {
      for (const change of this.#changesOf(block)) this.#undo(change, block)
      this.#removeChanges(block)
    }
  }

  /** Deletes what only blocks below `target` could read, within the bounds of one commit. Returns the new floor. */
  prune(floor: number, target: number): number {
    let [reached, keys] = [floor, 0]
    while (reached < target && reached - floor < PRUNED_BLOCKS_PER_COMMIT && keys < PRUNED_KEYS_PER_COMMIT) {
      reached++
      for (const change of this.#changesOf(reached)) {
        this.#pruneKey(change, reached)
        keys++
      }
      this.#removeChanges(reached)
    }
    return reached
  }

  /** Invalidates readers after a committed truncation. */
  cut(number: number): void {
    this.#cuts.push(number)
    for (const block of this.#readers.keys()) if (block > number) this.#readers.delete(block)
    // Edits may change what a reader of the newest block reads.
    this.#readers.delete(number)
  }

  get #tables(): Tables {
    return this.#environment.tables
  }

  #check(number: number): void {
    const { floor, height } = this.#range()
    if (number < floor) throw new PrunedState(number)
    if (number > height) throw new RangeError(`there is no state of block ${number}; the newest is block ${height}`)
  }

  #cacheReader(number: number, reader: Reader): void {
    const oldest = this.#readers.keys().next()
    if (this.#readers.size >= STATE_READERS && oldest.done !== true) this.#readers.delete(oldest.value)
    this.#readers.set(number, reader)
  }

  #pastCell(key: Uint8Array, number: number): Cell | null {
    this.#key.copied(key)
    const newest = { start: this.#key.since(number), end: key, reverse: true, limit: 1 }
    for (const { key: found, value } of guardedRead(() => [...this.#tables.past.getRange(newest)])) {
      checkPast(key, found, value)
      return value.length === CELL_HEAD_BYTES ? null : { bytes: value, size: value.length }
    }
    return null
  }

  /** Yields the entries of a key range in pieces. The table may change between two pieces. */
  *#walk(table: Table, start: Uint8Array, end?: Uint8Array): Iterable<{ key: Uint8Array; value: Uint8Array }[]> {
    const until = end === undefined ? {} : { end, inclusiveEnd: true }
    for (let from = { start, exclusiveStart: false }; ;) {
      const entries = guardedRead(() => [...table.getRange({ ...from, ...until, limit: WALK_KEYS })])
      if (entries.length > 0) yield entries
      if (entries.length < WALK_KEYS) return
      from = { start: entries[entries.length - 1]!.key, exclusiveStart: true } // the piece is full
    }
  }

  #put(writes: StateWrites, key: Uint8Array, cell: Uint8Array | null, size: number): Account | null {
    const { address, slot } = stateKeyOf(key)
    if (slot !== null) {
      writes.setSlot(address, slot, cell === null ? 0n : slotOf(cell, size))
      return null
    }
    const account = cell === null ? null : accountOf(cell, size)
    writes.accounts.set(address, account)
    return account
  }

  #pastSince(key: Uint8Array, then: Uint8Array): Uint8Array {
    const cell = guardedRead(() => this.#tables.past.getBinary(then))
    if (cell === undefined) throw damagedState(key)
    checkPast(key, then, cell)
    return cell
  }

  /** Adds the code unless the current account has it. */
  #writeBack(writes: StateWrites, key: Uint8Array, before: number | null): void {
    this.#key.copied(key)
    const cell = before === null ? null : this.#pastSince(key, this.#key.since(before))
    const account = this.#put(writes, key, cell, cell?.length ?? 0)
    if (account === null || account.codeHash === EMPTY_CODE_HASH) return
    writes.codes.set(account.codeHash, this.code(account.codeHash))
  }

  #putCode(hash: Hash, code: Uint8Array): void {
    const key = Hash.toBytes(hash)
    if (hash !== EMPTY_CODE_HASH && !this.#tables.codes.doesExist(key)) this.#tables.codes.putSync(key, withChecksum(code))
  }

  /** Deleting an account deletes its storage. */
  #putAccount(address: Address, account: Account | null, block: number, changes: ChangesWriter): void {
    this.#cell.account(block, account)
    const isChanged = this.#putCell(this.#key.account(address), block, changes)
    if (account !== null || !isChanged) return
    for (const slot of [...this.slotsAt(address, block)]) this.#putSlot(address, slot, 0n, block, changes)
  }

  #putSlot(address: Address, slot: Hash, value: bigint, block: number, changes: ChangesWriter): void {
    this.#cell.slot(block, value)
    this.#putCell(this.#key.slot(address, slot), block, changes)
  }

  /** Puts the cell built last. Returns false if the key has that value. */
  #putCell(key: Uint8Array, block: number, changes: ChangesWriter): boolean {
    const { head, past } = this.#tables
    const isGone = this.#cell.size === CELL_HEAD_BYTES
    const old = head.getBinaryFast(key)
    if (old === undefined ? isGone : this.#cell.holdsAs(old, old.length)) return false
    const before = old === undefined ? null : sinceOf(old)
    if (before !== block || isGone) changes.add(key, before, isGone)
    if (old !== undefined && before !== null && before !== block) past.putSync(this.#key.since(before), plain(old))
    head.putSync(key, this.#cell.done(key))
    return true
  }

  /** Appends to the pieces that edits of the same block left. */
  #putChanges(block: number, pieces: readonly Uint8Array[]): void {
    if (pieces.length === 0) return
    const { changes } = this.#tables
    let next = this.#changePieces(block).length
    for (const piece of pieces) changes.putSync(numberKey(block, next++), piece)
  }

  #changePieces(block: number): Uint8Array[] {
    return guardedRead(() =>
      [...this.#tables.changes.getRange({ start: numberKey(block), end: numberKey(block + 1) })].map(({ value }) => value),
    )
  }

  *#changesOf(block: number): Iterable<ChangedKey> {
    for (const piece of this.#changePieces(block)) yield* changedKeys(piece)
  }

  #removeChanges(block: number): void {
    const keys = [...this.#tables.changes.getKeys({ start: numberKey(block), end: numberKey(block + 1) })]
    for (const key of keys) this.#tables.changes.removeSync(key)
  }

  #undo({ key, before }: ChangedKey, block: number): void {
    const { head, past } = this.#tables
    if (before === block) return
    const now = this.#key.copied(key)
    if (before === null) return void head.removeSync(now)
    const then = this.#key.since(before)
    const cell = past.getBinary(then)
    if (cell === undefined) throw damagedState(key)
    head.putSync(now, cell)
    past.removeSync(then)
  }

  /** Deletes the value before the floor, and the marker of a deleted key. */
  #pruneKey({ key, before, isGone }: ChangedKey, floor: number): void {
    const { head, past } = this.#tables
    const now = this.#key.copied(key)
    if (before !== null && before !== floor) past.removeSync(this.#key.since(before))
    if (!isGone) return
    const cell = head.getBinaryFast(now)
    if (cell !== undefined && cell.length === CELL_HEAD_BYTES && sinceOf(cell) <= floor) head.removeSync(now)
  }

  #clear(): void {
    const { head, past, changes, codes } = this.#tables
    for (const table of [head, past, changes, codes]) table.clearSync()
  }
}

/** The bytes are valid until the next read. */
interface Cell {
  readonly bytes: Uint8Array
  readonly size: number
}

class Reader implements StateReader {
  readonly identity?: object
  readonly #state: LmdbState
  readonly #number: number
  #cuts: number

  /** `isOld`: edits cannot reach the block. */
  constructor(state: LmdbState, number: number, cuts: number, isOld: boolean) {
    this.#state = state
    this.#number = number
    this.#cuts = cuts
    if (isOld) this.identity = {}
  }

  account(address: Address): Account | null {
    return this.#state.accountAt(address, this.#checked())
  }

  code(codeHash: Hash): Uint8Array {
    return this.#state.code(codeHash)
  }

  storage(address: Address, slot: Hash): bigint {
    return this.#state.storageAt(address, slot, this.#checked())
  }

  *slots(address: Address): Iterable<Hash> {
    for (const slot of this.#state.slotsAt(address, this.#checked())) {
      this.#checked()
      yield slot
    }
  }

  #checked(): number {
    this.#cuts = this.#state.checkPresent(this.#number, this.#cuts)
    return this.#number
  }
}

class StateWrites implements WriteSet {
  readonly accounts = new Map<Address, Account | null>()
  readonly storage = new Map<Address, Map<Hash, bigint>>()
  readonly codes = new Map<Hash, Uint8Array>()

  setSlot(address: Address, slot: Hash, value: bigint): void {
    let slots = this.storage.get(address)
    if (slots === undefined) this.storage.set(address, (slots = new Map()))
    slots.set(slot, value)
  }
}

/** The library sets `length` on a larger buffer; this returns a view of that length. */
function plain(bytes: Uint8Array): Uint8Array {
  return bytes.subarray(0, bytes.length)
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
}

const NO_CODE = new Uint8Array()

function damagedCode(hash: Hash, how: string): StorageError {
  return new StorageError('corrupt', `the contract code ${hash} is ${how}; restore the data directory from a copy, or choose another one`)
}
