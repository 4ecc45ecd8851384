import { EMPTY_CODE_HASH, Hash } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import type { Account, StateReader, WriteSet } from '../../evm/index.ts'
import { PrunedState, RewoundState } from '../../chain/index.ts'
import { CHANGES_PIECE_BYTES, PRUNED_BLOCKS_PER_COMMIT, PRUNED_KEYS_PER_COMMIT, STATE_READERS, WALK_KEYS } from '../limits.ts'
import { checked, unchecked } from './checked.ts'
import { ShelfError } from './shelf.ts'
import type { StateShelf } from './shelf.ts'
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
  keyOf,
  sinceOf,
  slotKeys,
  slotOf,
} from './statebytes.ts'
import type { ChangedKey } from './statebytes.ts'
import { copyOf, numberKey, reading } from './trees.ts'
import type { Environment, Tree, Trees } from './trees.ts'

/** The stretch of blocks whose state is there. */
export interface StateRange {
  readonly floor: number
  readonly height: number
}

/**
 * State with its history. `head` holds what every key holds now and since which block; a write moves the cell it replaces to `past`, where
 * the cell of an older block is one seek away, and notes the key under its block in `changes`: what undoing and forgetting follow. A key
 * that is gone keeps an empty cell until the floor has passed it.
 */
export class LmdbState implements StateShelf {
  readonly #environment: Environment
  readonly #range: () => StateRange
  readonly #key = new KeyBytes()
  readonly #cell = new CellBytes()
  readonly #readers = new Map<number, Reader>()
  /** blocks that the chain went back to, in their order: what makes readers stale */
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
    if (isOld) this.#remember(number, reader)
    return reader
  }

  *whole(): Iterable<WriteSet> {
    const codes = new Set<Hash>([EMPTY_CODE_HASH])
    for (const cells of this.#walk(this.#trees.head, new Uint8Array(1))) {
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

  /** What the key held at `number`; read at once, the bytes are overwritten by the next. */
  cellAt(key: Uint8Array, number: number): Cell | null {
    const { head } = this.#trees
    const cell = reading(() => head.getBinaryFast(key))
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
    const { start, end } = slotKeys(address)
    for (const cells of this.#walk(this.#trees.head, start, end)) {
      for (const { key } of cells) if (this.cellAt(this.#key.copied(key), number) !== null) yield keyOf(key).slot!
    }
  }

  code(codeHash: Hash): Uint8Array {
    if (codeHash === EMPTY_CODE_HASH) return NO_CODE
    const bytes = reading(() => copyOf(this.#trees.codes.getBinary(Hash.toBytes(codeHash))))
    const code = bytes === null ? null : unchecked(bytes)
    if (code === null) throw damagedCode(codeHash, bytes === null ? 'missing' : 'damaged')
    return code
  }

  /** Throws what has become of the state at `number` since there were `cuts` of them; answers how many there are now. */
  stillThere(number: number, cuts: number): number {
    for (let i = cuts; i < this.#cuts.length; i++) if (this.#cuts[i]! < number) throw new RewoundState(number)
    if (number < this.#range().floor) throw new PrunedState(number)
    return this.#cuts.length
  }

  // The rest happens inside a write.

  /** Onto the newest state, as what `block` did to it. */
  write(writes: WriteSet, block: number): void {
    const changes = new ChangesWriter(CHANGES_PIECE_BYTES)
    for (const [hash, code] of writes.codes) this.#putCode(hash, code)
    for (const [address, account] of writes.accounts) this.#putAccount(address, account, block, changes)
    for (const [address, slots] of writes.storage) for (const [slot, value] of slots) this.#putSlot(address, slot, value, block, changes)
    // Nothing is older than the first block, so its list is never asked for.
    if (block > 0) this.#putChanges(block, changes.done())
  }

  /** Undoes what the blocks above `number` did. Throws PrunedState below the floor; -1: forgets everything. */
  truncate(number: number): void {
    const { floor, height } = this.#range()
    if (number < 0) return this.#clear()
    if (number < floor) throw new PrunedState(number)
    for (let block = height; block > number; block--) {
      for (const change of this.#changesOf(block)) this.#undo(change, block)
      this.#removeChanges(block)
    }
  }

  /** Forgets what only blocks below `target` could read, as far as one commit may take it. Answers the floor that it came to. */
  prune(floor: number, target: number): number {
    let [reached, keys] = [floor, 0]
    while (reached < target && reached - floor < PRUNED_BLOCKS_PER_COMMIT && keys < PRUNED_KEYS_PER_COMMIT) {
      reached++
      for (const change of this.#changesOf(reached)) {
        this.#forget(change, reached)
        keys++
      }
      this.#removeChanges(reached)
    }
    return reached
  }

  /** Once the cut is committed: readers of what went are told. */
  cut(number: number): void {
    this.#cuts.push(number)
    for (const block of this.#readers.keys()) if (block > number) this.#readers.delete(block)
    // The block is the newest again, and edits may change what it reads.
    this.#readers.delete(number)
  }

  get #trees(): Trees {
    return this.#environment.trees
  }

  #check(number: number): void {
    const { floor, height } = this.#range()
    if (number < floor) throw new PrunedState(number)
    if (number > height) throw new RangeError(`there is no state of block ${number}; the newest is block ${height}`)
  }

  #remember(number: number, reader: Reader): void {
    const oldest = this.#readers.keys().next()
    if (this.#readers.size >= STATE_READERS && oldest.done !== true) this.#readers.delete(oldest.value)
    this.#readers.set(number, reader)
  }

  #pastCell(key: Uint8Array, number: number): Cell | null {
    this.#key.copied(key)
    const newest = { start: this.#key.since(number), end: key, reverse: true, limit: 1 }
    for (const { key: found, value } of reading(() => [...this.#trees.past.getRange(newest)])) {
      checkPast(key, found, value)
      return value.length === CELL_HEAD_BYTES ? null : { bytes: value, size: value.length }
    }
    return null
  }

  /** The entries of a stretch of a tree. Others may have turns between two pieces. */
  *#walk(tree: Tree, start: Uint8Array, end?: Uint8Array): Iterable<{ key: Uint8Array; value: Uint8Array }[]> {
    const until = end === undefined ? {} : { end, inclusiveEnd: true }
    for (let from = { start, exclusiveStart: false }; ;) {
      const entries = reading(() => [...tree.getRange({ ...from, ...until, limit: WALK_KEYS })])
      if (entries.length > 0) yield entries
      if (entries.length < WALK_KEYS) return
      from = { start: entries[entries.length - 1]!.key, exclusiveStart: true } // there are that many
    }
  }

  #put(writes: StateWrites, key: Uint8Array, cell: Uint8Array | null, size: number): Account | null {
    const { address, slot } = keyOf(key)
    if (slot !== null) {
      writes.setSlot(address, slot, cell === null ? 0n : slotOf(cell, size))
      return null
    }
    const account = cell === null ? null : accountOf(cell, size)
    writes.accounts.set(address, account)
    return account
  }

  #pastSince(key: Uint8Array, then: Uint8Array): Uint8Array {
    const cell = reading(() => this.#trees.past.getBinary(then))
    if (cell === undefined) throw damagedState(key)
    checkPast(key, then, cell)
    return cell
  }

  /** A code comes along unless the account has it now. */
  #writeBack(writes: StateWrites, key: Uint8Array, before: number | null): void {
    this.#key.copied(key)
    const cell = before === null ? null : this.#pastSince(key, this.#key.since(before))
    const account = this.#put(writes, key, cell, cell?.length ?? 0)
    if (account === null || account.codeHash === EMPTY_CODE_HASH) return
    writes.codes.set(account.codeHash, this.code(account.codeHash))
  }

  #putCode(hash: Hash, code: Uint8Array): void {
    const key = Hash.toBytes(hash)
    if (hash !== EMPTY_CODE_HASH && !this.#trees.codes.doesExist(key)) this.#trees.codes.putSync(key, checked(code))
  }

  /** An account that is gone takes its storage along. */
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

  /** Puts the cell that was made last. False: the key holds that already. */
  #putCell(key: Uint8Array, block: number, changes: ChangesWriter): boolean {
    const { head, past } = this.#trees
    const isGone = this.#cell.size === CELL_HEAD_BYTES
    const old = head.getBinaryFast(key)
    if (old === undefined ? isGone : this.#cell.holdsAs(old, old.length)) return false
    const before = old === undefined ? null : sinceOf(old)
    if (before !== block || isGone) changes.add(key, before, isGone)
    if (old !== undefined && before !== null && before !== block) past.putSync(this.#key.since(before), plain(old))
    head.putSync(key, this.#cell.done(key))
    return true
  }

  /** Behind what edits of the same block left. */
  #putChanges(block: number, pieces: readonly Uint8Array[]): void {
    if (pieces.length === 0) return
    const { changes } = this.#trees
    let next = this.#changePieces(block).length
    for (const piece of pieces) changes.putSync(numberKey(block, next++), piece)
  }

  #changePieces(block: number): Uint8Array[] {
    return reading(() =>
      [...this.#trees.changes.getRange({ start: numberKey(block), end: numberKey(block + 1) })].map(({ value }) => value),
    )
  }

  *#changesOf(block: number): Iterable<ChangedKey> {
    for (const piece of this.#changePieces(block)) yield* changedKeys(piece)
  }

  #removeChanges(block: number): void {
    const keys = [...this.#trees.changes.getKeys({ start: numberKey(block), end: numberKey(block + 1) })]
    for (const key of keys) this.#trees.changes.removeSync(key)
  }

  #undo({ key, before }: ChangedKey, block: number): void {
    const { head, past } = this.#trees
    if (before === block) return
    const now = this.#key.copied(key)
    if (before === null) return void head.removeSync(now)
    const then = this.#key.since(before)
    const cell = past.getBinary(then)
    if (cell === undefined) throw damagedState(key)
    head.putSync(now, cell)
    past.removeSync(then)
  }

  /** Nobody reads what the key held before the floor any more, nor that it is gone. */
  #forget({ key, before, isGone }: ChangedKey, floor: number): void {
    const { head, past } = this.#trees
    const now = this.#key.copied(key)
    if (before !== null && before !== floor) past.removeSync(this.#key.since(before))
    if (!isGone) return
    const cell = head.getBinaryFast(now)
    if (cell !== undefined && cell.length === CELL_HEAD_BYTES && sinceOf(cell) <= floor) head.removeSync(now)
  }

  #clear(): void {
    const { head, past, changes, codes } = this.#trees
    for (const tree of [head, past, changes, codes]) tree.clearSync()
  }
}

/** A cell in a buffer that is overwritten by the next read. */
interface Cell {
  readonly bytes: Uint8Array
  readonly size: number
}

class Reader implements StateReader {
  readonly identity?: object
  readonly #state: LmdbState
  readonly #number: number
  #cuts: number

  /** `isOld`: no edit can reach the block any more. */
  constructor(state: LmdbState, number: number, cuts: number, isOld: boolean) {
    this.#state = state
    this.#number = number
    this.#cuts = cuts
    if (isOld) this.identity = {}
  }

  account(address: Address): Account | null {
    return this.#state.accountAt(address, this.#still())
  }

  code(codeHash: Hash): Uint8Array {
    return this.#state.code(codeHash)
  }

  storage(address: Address, slot: Hash): bigint {
    return this.#state.storageAt(address, slot, this.#still())
  }

  *slots(address: Address): Iterable<Hash> {
    for (const slot of this.#state.slotsAt(address, this.#still())) {
      this.#still()
      yield slot
    }
  }

  #still(): number {
    this.#cuts = this.#state.stillThere(this.#number, this.#cuts)
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

/** The library's buffer says how long its value is, but as an array it is longer. */
function plain(bytes: Uint8Array): Uint8Array {
  return bytes.subarray(0, bytes.length)
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
}

const NO_CODE = new Uint8Array()

function damagedCode(hash: Hash, how: string): ShelfError {
  return new ShelfError('corrupt', `the contract code ${hash} is ${how}; restore the data directory from a copy, or choose another one`)
}
