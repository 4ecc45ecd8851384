import { EMPTY_CODE_HASH } from '../../eth/index.ts'
import type { Address, Hash } from '../../eth/index.ts'
import { World } from '../../evm/index.ts'
import type { Account, StateKey, StateReader, WriteSet } from '../../evm/index.ts'
import { Cell } from './cell.ts'
import { accountKey, EMPTY_ACCOUNT_TRIE, EMPTY_STORAGE_TRIE, proveAccount, storageKey } from './proof.ts'
import type { AccountLeaf, AccountProof, AccountTrie, StorageTrie } from './proof.ts'
import { WriteSetBuilder } from './writesetbuilder.ts'

/** Counters for metrics. */
interface StateSize {
  /** Accounts that exist at some readable version. */
  readonly accounts: number
  /** Slots that are non-zero at some readable version. */
  readonly slots: number
  /** Stored values of all of them. */
  readonly entries: number
  readonly versions: number
  readonly codes: number
}

/**
 * The state at every version from the oldest to the newest. Each applied write set makes a version; version 0 is the genesis.
 * Roots and proofs come from the tries of the newest version, which are updated lazily: writes only mark keys as stale. The tries of an
 * older version are the newest ones with the older values put in.
 */
export class StateHistory {
  readonly #accounts = new Map<Address, AccountCell>()
  readonly #codes = new Map<Hash, Uint8Array>([[EMPTY_CODE_HASH, new Uint8Array()]])
  readonly #entries = new Map<number, VersionEntry>()
  /** Cells that changed since the tries were last updated. */
  readonly #stale = new Set<KeyCell>()
  #trie = EMPTY_ACCOUNT_TRIE
  #version = 0
  #oldestVersion = 0
  #slotCount = 0
  #entryCount = 0

  constructor(genesis: WriteSet = NO_WRITES) {
    this.#assertConsistent(genesis)
    this.#writeAll(genesis, 0)
  }

  /** Builds version 0 from the chunks of `dump`. Throws InconsistentWrites. */
  static fromChunks(chunks: Iterable<WriteSet>): StateHistory {
    const history = new StateHistory()
    for (const chunk of chunks) {
      history.#assertConsistent(chunk)
      history.#writeAll(chunk, 0)
    }
    return history
  }

  /** The newest version. */
  get version(): number {
    return this.#version
  }

  /** The oldest readable version. */
  get oldestVersion(): number {
    return this.#oldestVersion
  }

  /**
   * Makes the next version and returns its number. Deleting an account deletes its storage. Throws InconsistentWrites, before any change,
   * for storage without an account or an account whose code is unknown.
   */
  apply(writes: WriteSet): number {
    this.#assertConsistent(writes)
    this.#version++
    this.#writeAll(writes, this.#version)
    return this.#version
  }

  /**
   * Returns a reader of one version, which later versions do not affect. Throws PrunedState below the oldest version and RangeError above
   * the newest. The reader's methods throw PrunedState or RewoundState once the version is gone.
   */
  at(version: number): StateReader & { readonly identity: object } {
    return new VersionReader(this.#entry(version), this.#accounts, this.#codes, this.#entries)
  }

  /** True while `version` has this `identity`: after a rewind its number is reused. */
  isCurrent(version: number, identity: object): boolean {
    return this.#entries.get(version) === identity
  }

  /** Drops every version above this one. Throws as `at` does. */
  rewind(version: number): void {
    this.#entry(version)
    for (; this.#version > version; this.#version--) this.#revert(this.#entry(this.#version))
  }

  /** Drops every version below this one. Throws RangeError above the newest. */
  prune(version: number): void {
    if (version <= this.#oldestVersion) return
    this.#entry(version)
    for (; this.#oldestVersion < version; this.#oldestVersion++) {
      this.#retire(this.#oldestVersion, 'pruned')
      for (const cell of this.#entry(this.#oldestVersion + 1).changed) this.#pruneCell(cell, version)
    }
    this.#entry(version).changed = NO_CELLS
  }

  /** Returns the state root after `version`, computed once. Throws as `at` does. */
  stateRoot(version = this.#version): Hash {
    const entry = this.#entry(version)
    return (entry.root ??= this.#triesAt(version).accounts.rootHash())
  }

  /** Returns an account's storage root; the empty root for an absent account. Throws as `at` does. */
  storageRoot(address: Address, version = this.#version): Hash {
    this.#entry(version)
    return (this.#leaf(this.#triesAt(version), address, version)?.storage ?? EMPTY_STORAGE_TRIE).rootHash()
  }

  /**
   * Returns the roots that a version would have with `writes` applied, and the storage root of `owner`. Stores nothing. Throws as `at`
   * does.
   */
  rootsWith(version: number, writes: WriteSet, owner: Address): Roots {
    const { accounts, leaf } = this.#trieWith(version, writes, owner)
    return { stateRoot: accounts.rootHash(), storageRoot: (leaf?.storage ?? EMPTY_STORAGE_TRIE).rootHash() }
  }

  /** Returns proofs against the state root of `version` with `writes` applied. Throws as `at` does. */
  proofAt(version: number, address: Address, slots: readonly Hash[], writes: WriteSet = NO_WRITES): AccountProof {
    const reader = this.at(version)
    const written = writes.storage.get(address)
    const values = slots.map((slot) => ({ slot, value: written?.get(slot) ?? reader.storage(address, slot) }))
    const { accounts, leaf } = this.#trieWith(version, writes, address)
    return proveAccount(accounts, address, leaf, values)
  }

  /** Addresses of the newest version's accounts. */
  *accounts(): Iterable<Address> {
    for (const [address, cell] of this.#accounts) if (cell.newest !== null) yield address
  }

  /** Returns the write set from the previous version to `version`. Throws as `at` does, and PrunedState for the oldest version. */
  writesAt(version: number): WriteSetBuilder {
    this.#entry(version)
    return this.writesBetween(version - 1, version)
  }

  /** Returns the write set from one version to another, older or newer. Throws as `at` does for both. */
  writesBetween(from: number, to: number): WriteSetBuilder {
    const [older, newer] = [Math.min(from, to), Math.max(from, to)]
    this.#entry(older)
    this.#entry(newer)
    const writes = new WriteSetBuilder()
    for (const cell of this.#changedBetween(older, newer)) this.#copyCell(cell, to, from, writes)
    return writes
  }

  /**
   * Yields the whole state at `version` in write sets of about `keys` accounts and slots, to be applied in this order to an empty history.
   * Between two of them other code may run; throws as `at` does if the version is then gone.
   */
  *dump(version: number, keys: number): Iterable<WriteSet> {
    const entry = this.#entry(version)
    let writes = new WriteSetBuilder()
    for (const cell of this.#liveCells(version)) {
      this.#copyCell(cell, version, NO_VERSION, writes)
      if (writes.size < keys) continue
      yield writes
      if (entry.status !== 'live') throw unavailableError(entry)
      writes = new WriteSetBuilder()
    }
    yield writes
  }

  size(): StateSize {
    return {
      accounts: this.#accounts.size,
      slots: this.#slotCount,
      entries: this.#entryCount,
      versions: this.#entries.size,
      codes: this.#codes.size,
    }
  }

  /** Yields each account, followed by its slots. */
  *#liveCells(version: number): Iterable<KeyCell> {
    for (const cell of this.#accounts.values()) {
      if (cell.at(version) === null) continue
      yield cell
      for (const slot of cell.slots?.values() ?? []) if (slot.at(version) !== 0n) yield slot
    }
  }

  /** Includes an account's code unless the account had it at version `before`. */
  #copyCell(cell: KeyCell, version: number, before: number, writes: WriteSetBuilder): void {
    if (cell instanceof SlotCell) return writes.setSlot(cell.owner.address, cell.slot, cell.at(version))
    const account = cell.at(version)
    writes.setAccount(cell.address, account)
    if (account === null || account.codeHash === cell.at(before)?.codeHash) return
    const code = this.#codes.get(account.codeHash)
    if (code !== undefined) writes.codes.set(account.codeHash, code)
  }

  #entry(version: number): VersionEntry {
    const entry = this.#entries.get(version)
    if (entry !== undefined) return entry
    if (version < this.#oldestVersion) throw new PrunedState(version)
    throw new RangeError(`there is no version ${version} of the state; it is at version ${this.#version}`)
  }

  #assertConsistent(writes: WriteSet): void {
    for (const [address, account] of writes.accounts) {
      if (account === null || this.#codes.has(account.codeHash) || writes.codes.has(account.codeHash)) continue
      throw new InconsistentWrites(address, `its code ${account.codeHash} is unknown`)
    }
    for (const [address, slots] of writes.storage) {
      if (this.#accountAfter(writes, address) === null && hasNonZero(slots))
        throw new InconsistentWrites(address, 'storage without an account')
    }
  }

  #accountAfter(writes: WriteSet, address: Address): Account | null {
    const account = writes.accounts.get(address)
    return account === undefined ? (this.#accounts.get(address)?.newest ?? null) : account
  }

  #writeAll(writes: WriteSet, version: number): void {
    const changed: KeyCell[] = []
    for (const [hash, code] of writes.codes) this.#codes.set(hash, code)
    for (const [address, account] of writes.accounts) this.#writeAccount(address, account, version, changed)
    for (const [address, slots] of writes.storage) {
      const owner = this.#accounts.get(address)
      if (owner !== undefined) for (const [slot, value] of slots) this.#writeSlot(owner, slot, value, version, changed)
    }
    for (const cell of changed) this.#stale.add(cell)
    this.#entryCount += changed.length
    this.#entries.set(version, { version, changed: changed.slice(), status: 'live', root: null })
  }

  #writeAccount(address: Address, account: Account | null, version: number, changed: KeyCell[]): void {
    let cell = this.#accounts.get(address)
    if (sameAccount(cell?.newest ?? null, account)) return
    if (cell === undefined) this.#accounts.set(address, (cell = new AccountCell(address)))
    cell.write(version, account)
    changed.push(cell)
    if (account === null) for (const slot of cell.slots?.keys() ?? []) this.#writeSlot(cell, slot, 0n, version, changed)
  }

  #writeSlot(owner: AccountCell, slot: Hash, value: bigint, version: number, changed: KeyCell[]): void {
    let cell = owner.slots?.get(slot)
    if ((cell?.newest ?? 0n) === value) return
    if (cell === undefined) {
      cell = new SlotCell(owner, slot)
      owner.slots = (owner.slots ?? new Map<Hash, SlotCell>()).set(slot, cell)
      this.#slotCount++
    }
    cell.write(version, value)
    changed.push(cell)
  }

  #revert(entry: VersionEntry): void {
    for (const cell of entry.changed) {
      cell.undo()
      this.#stale.add(cell)
      this.#removeIfEmpty(cell)
    }
    this.#entryCount -= entry.changed.length
    this.#retire(this.#version, 'rewound')
  }

  #pruneCell(cell: KeyCell, oldestVersion: number): void {
    this.#entryCount -= cell.prune(oldestVersion)
    this.#removeIfEmpty(cell)
  }

  #retire(version: number, fate: VersionStatus): void {
    this.#entry(version).status = fate
    this.#entries.delete(version)
  }

  /** Removes a cell that reads as absent at every version. */
  #removeIfEmpty(cell: KeyCell): void {
    if (!cell.isEmpty) return
    const owner = cell instanceof SlotCell ? cell.owner : cell
    if (cell instanceof SlotCell && owner.slots?.delete(cell.slot) === true) this.#slotCount--
    if (owner.slots?.size === 0) owner.slots = null
    if (owner.isEmpty && owner.slots === null) this.#accounts.delete(owner.address)
  }

  /** Returns the account trie of a version with `writes` applied, and the leaf of `owner` in it. Use the result at once. */
  #trieWith(version: number, writes: WriteSet, owner: Address): { readonly accounts: AccountTrie; readonly leaf: AccountLeaf | null } {
    this.#entry(version)
    const tries = this.#triesAt(version)
    const leaves = new Map<Address, AccountLeaf | null>()
    for (const address of new Set([...writes.accounts.keys(), ...writes.storage.keys(), owner])) {
      leaves.set(address, leafAfter(this.#leaf(tries, address, version), address, writes))
    }
    const accounts = tries.accounts.update([...leaves].map(([address, leaf]) => [accountKey(address), leaf] as const))
    return { accounts, leaf: leaves.get(owner) ?? null }
  }

  /** Use the result at once: the tries of the newest version are updated in place. */
  #triesAt(version: number): Tries {
    this.#refreshTries()
    return version === this.#version
      ? { accounts: this.#trie, storage: NO_TRIES }
      : this.#triesFrom(this.#changedBetween(version, this.#version), version)
  }

  /** Updates the tries to the newest version. */
  #refreshTries(): void {
    if (this.#stale.size === 0) return
    const owners = new Set<AccountCell>()
    for (const cell of this.#stale) {
      const owner = cell instanceof SlotCell ? cell.owner : cell
      owners.add(owner)
      if (cell instanceof SlotCell && owner.newest !== null) owner.storage = owner.storage.putInPlace(cell.key, cell.newest || null)
    }
    for (const owner of owners) {
      const account = owner.newest
      if (account === null) owner.storage = EMPTY_STORAGE_TRIE
      this.#trie = this.#trie.putInPlace(owner.key, account === null ? null : { account, storage: owner.storage })
    }
    this.#stale.clear()
  }

  /** Cells changed after version `older`, up to `newer`. */
  #changedBetween(older: number, newer: number): Iterable<KeyCell> {
    if (newer === older + 1) return this.#entry(newer).changed
    const cells = new Set<KeyCell>()
    for (let later = older + 1; later <= newer; later++) for (const cell of this.#entry(later).changed) cells.add(cell)
    return cells
  }

  /** The newest tries with the values of `cells` at `version`; the newest tries stay unchanged. */
  #triesFrom(cells: Iterable<KeyCell>, version: number): Tries {
    const storage = new Map<AccountCell, StorageTrie>()
    const accounts: [Hash, AccountLeaf | null][] = []
    for (const [cell, slots] of byAccount(cells)) {
      const account = cell.at(version)
      const trie =
        account === null ? EMPTY_STORAGE_TRIE : cell.storage.update(slots.map((slot) => [slot.key, slot.at(version) || null] as const))
      storage.set(cell, trie)
      accounts.push([cell.key, account === null ? null : { account, storage: trie }])
    }
    return { accounts: this.#trie.update(accounts), storage }
  }

  #leaf(tries: Tries, address: Address, version: number): AccountLeaf | null {
    const cell = this.#accounts.get(address)
    const account = cell?.at(version) ?? null
    return cell === undefined || account === null ? null : { account, storage: tries.storage.get(cell) ?? cell.storage }
  }
}

/** Roots of one state. An absent account has the empty storage root. */
export interface Roots {
  readonly stateRoot: Hash
  /** Storage root of the requested account. */
  readonly storageRoot: Hash
}

function leafAfter(before: AccountLeaf | null, address: Address, { accounts, storage }: WriteSet): AccountLeaf | null {
  const account = accounts.get(address) ?? (accounts.has(address) ? null : (before?.account ?? null))
  if (account === null) return null
  const slots = [...(storage.get(address) ?? [])].map(([slot, value]) => [storageKey(slot), value || null] as const)
  return { account, storage: (before?.storage ?? EMPTY_STORAGE_TRIE).update(slots) }
}

/** Status of a version that readers may still hold. */
type VersionStatus = 'live' | 'pruned' | 'rewound'

/** One version: its changed cells, and its root once computed. */
interface VersionEntry {
  readonly version: number
  changed: readonly KeyCell[]
  status: VersionStatus
  root: Hash | null
}

/** The account trie of one version, and the storage tries that differ from the newest. */
interface Tries {
  readonly accounts: AccountTrie
  readonly storage: ReadonlyMap<AccountCell, StorageTrie>
}

type KeyCell = AccountCell | SlotCell

class AccountCell extends Cell<Account | null> {
  readonly address: Address
  /** Key in the account trie. */
  readonly key: Hash
  /** `null` without slots: most accounts have none, and an empty Map takes memory. */
  slots: Map<Hash, SlotCell> | null = null
  storage = EMPTY_STORAGE_TRIE

  constructor(address: Address) {
    super(null)
    this.address = address
    this.key = accountKey(address)
  }
}

class SlotCell extends Cell<bigint> {
  readonly owner: AccountCell
  readonly slot: Hash
  /** Key in the owner's storage trie. */
  readonly key: Hash

  constructor(owner: AccountCell, slot: Hash) {
    super(0n)
    this.owner = owner
    this.slot = slot
    this.key = storageKey(slot)
  }
}

/** Reads one version from the live cells. */
class VersionReader implements StateReader {
  readonly #entry: VersionEntry
  readonly #accounts: ReadonlyMap<Address, AccountCell>
  readonly #codes: ReadonlyMap<Hash, Uint8Array>
  readonly #entries: ReadonlyMap<number, VersionEntry>

  constructor(
    entry: VersionEntry,
    accounts: ReadonlyMap<Address, AccountCell>,
    codes: ReadonlyMap<Hash, Uint8Array>,
    entries: ReadonlyMap<number, VersionEntry>,
  ) {
    this.#entry = entry
    this.#accounts = accounts
    this.#codes = codes
    this.#entries = entries
  }

  get identity(): object {
    return this.#entry
  }

  /** Collects the cells changed by each version in between. */
  changedSince(other: StateReader, limit: number): readonly StateKey[] | null {
    if (!(other instanceof VersionReader) || other.#entries !== this.#entries || other.#entry.status !== 'live') return null
    const [from, to] = [other.#entry.version, this.#version()]
    if (Math.abs(to - from) > limit) return null
    const keys: StateKey[] = []
    for (let version = Math.min(from, to) + 1; version <= Math.max(from, to); version++) {
      const changed = this.#entries.get(version)?.changed
      if (changed === undefined || keys.length + changed.length > limit) return null
      for (const cell of changed)
        keys.push(cell instanceof SlotCell ? { address: cell.owner.address, slot: cell.slot } : { address: cell.address, slot: null })
    }
    return keys
  }

  account(address: Address): Account | null {
    const version = this.#version()
    return this.#accounts.get(address)?.at(version) ?? null
  }

  code(codeHash: Hash): Uint8Array {
    const code = this.#codes.get(codeHash)
    if (code === undefined) throw new Error(`no account has ever had the code ${codeHash}`)
    return code
  }

  storage(address: Address, slot: Hash): bigint {
    const version = this.#version()
    return this.#accounts.get(address)?.slots?.get(slot)?.at(version) ?? 0n
  }

  *slots(address: Address): Iterable<Hash> {
    const slots = this.#accounts.get(address)?.slots ?? []
    for (const [slot, cell] of slots) if (cell.at(this.#version()) !== 0n) yield slot
  }

  #version(): number {
    const { status, version } = this.#entry
    if (status === 'live') return version
    throw unavailableError(this.#entry)
  }
}

function unavailableError({ status, version }: VersionEntry): Error {
  return status === 'pruned' ? new PrunedState(version) : new RewoundState(version)
}

function hasNonZero(slots: ReadonlyMap<Hash, bigint>): boolean {
  for (const value of slots.values()) if (value !== 0n) return true
  return false
}

const NO_CELLS: readonly KeyCell[] = []
/** A version at which every account is absent. */
const NO_VERSION = -1
const NO_TRIES: ReadonlyMap<AccountCell, StorageTrie> = new Map()
/** The empty write set. */
export const NO_WRITES: WriteSet = { accounts: new Map(), storage: new Map(), codes: new Map() }

/** Returns the writes of `change` on a state, without applying them. */
export function captureWrites(state: StateReader, change: (world: World) => void): WriteSet {
  const world = new World(state)
  try {
    change(world)
    return world.writes()
  } finally {
    world.release()
  }
}

function sameAccount(a: Account | null, b: Account | null): boolean {
  if (a === null || b === null) return a === b
  return a.nonce === b.nonce && a.balance === b.balance && a.codeHash === b.codeHash
}

/** Groups cells by account, in order. */
function byAccount(cells: Iterable<KeyCell>): Map<AccountCell, SlotCell[]> {
  const groups = new Map<AccountCell, SlotCell[]>()
  for (const cell of cells) {
    const account = cell instanceof SlotCell ? cell.owner : cell
    const slots = groups.get(account) ?? []
    if (cell instanceof SlotCell) slots.push(cell)
    groups.set(account, slots)
  }
  return groups
}

/** The version is below the oldest readable one. */
export class PrunedState extends Error {
  override readonly name = 'PrunedState'
  readonly version: number

  constructor(version: number) {
    super(`state version ${version} is pruned`)
    this.version = version
  }
}

/** The version was rewound; its number may belong to another version now. */
export class RewoundState extends Error {
  override readonly name = 'RewoundState'
  readonly version: number

  constructor(version: number) {
    super(`state version ${version} was rewound`)
    this.version = version
  }
}

/** A write set that describes no possible state. */
export class InconsistentWrites extends Error {
  override readonly name = 'InconsistentWrites'
  readonly address: Address

  constructor(address: Address, reason: string) {
    super(`the writes to ${address} are inconsistent: ${reason}`)
    this.address = address
  }
}
