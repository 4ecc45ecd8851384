import { EMPTY_CODE_HASH, EMPTY_ROOT, Hash, Hex } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import { NO_WRITES, sameAccount, World } from '../../evm/index.ts'
import type { Account, StateKey, StateReader, WriteSet } from '../../evm/index.ts'
import { MissingState } from './basestate.ts'
import type { BaseState, MissingKey } from './basestate.ts'
import { Cell } from './cell.ts'
import { CodeTable } from './codetable.ts'
import { accountKey, EMPTY_ACCOUNT_TRIE, EMPTY_STORAGE_TRIE, proveAccount, storageKey } from './proof.ts'
import type { AccountLeaf, AccountProof, AccountTrie, StorageTrie } from './proof.ts'
import { Probe, ProbingReader } from './probe.ts'
import { VersionList } from './versionlist.ts'
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
 * Over a base state, the versions hold only what was written here, and other values are read from the base.
 * Roots and proofs come from the tries of the newest version, which are updated lazily: writes only mark keys as stale. The tries of an
 * older version are the newest ones with the older values put in.
 */
export class StateHistory {
  readonly #base: BaseReads | null
  /** Value of a key that no version has written. */
  readonly #absent: Absent
  readonly #accounts = new Map<Address, AccountCell>()
  readonly #codes = new CodeTable()
  readonly #entries = new VersionList<VersionEntry>()
  /** Cells that changed since the tries were last updated. Replaced rather than cleared, for the reason in `VersionList`. */
  #stale = new Set<KeyCell>()
  #trie = EMPTY_ACCOUNT_TRIE
  #version = 0
  #oldestVersion = 0
  #slotCount = 0
  #entryCount = 0
  /** Set while a probing run reads. */
  #probe: Probe | null = null

  constructor(genesis: WriteSet = NO_WRITES, base: BaseState | null = null) {
    this.#base = base === null ? null : new BaseReads(base)
    this.#absent = base === null ? ABSENT : UNWRITTEN
    this.#assertConsistent(genesis)
    this.#writeAll(genesis, 0)
  }

  /** Builds version 0 from the chunks of `dump`. Throws InconsistentWrites. */
  static fromChunks(chunks: Iterable<WriteSet>, base: BaseState | null = null): StateHistory {
    const history = new StateHistory(NO_WRITES, base)
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

  /** Returns a code that an account has at some readable version, or `null`. Of a base state's codes only those that were written here. */
  codeByHash(codeHash: Hash): Uint8Array | null {
    return this.#codes.get(codeHash) ?? null
  }

  /**
   * Returns a reader of one version, which later versions do not affect. Throws PrunedState below the oldest version and RangeError above
   * the newest. The reader's methods throw PrunedState or RewoundState once the version is gone.
   */
  at(version: number): StateReader {
    const reader = new VersionReader(this.#entry(version), this.#accounts, this.#codes, this.#entries, this.#base)
    return this.#probe === null ? reader : new ProbingReader(reader, this.#probe)
  }

  /** Returns an object that only this `version` has: after a rewind its number is reused. Throws as `at` does. */
  identityOf(version: number): object {
    return this.#entry(version)
  }

  /** True within `missingKeysOf`. */
  get isGuessing(): boolean {
    return this.#probe !== null
  }

  /** Returns the keys of the base state that `work` reads and that are not local. `work` must only read. Throws UpstreamError. */
  missingKeysOf(work: () => unknown, limitMs?: number): readonly MissingKey[] {
    const probe = new Probe(limitMs)
    this.#probe = probe
    try {
      probe.run(work)
    } finally {
      this.#probe = null
    }
    return probe.keys
  }

  /** The state that the versions are based on, or `null`. */
  get base(): BaseState | null {
    return this.#base?.state ?? null
  }

  /**
   * Over a base state: runs the system calls at the start of a block. They overwrite the next slots of two ring buffers (EIP-4788,
   * EIP-2935), which are not local: meanwhile such a slot reads as zero, so that a block needs no request.
   */
  get duringSystemCalls(): ((work: () => void) => void) | undefined {
    return this.#base?.duringSystemCalls
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

  /**
   * Drops every version, as a rewind does, and all that was written. Makes one version of `genesis`, which must be consistent, and returns its number. For
   * a state whose version is pruned: over a base state no write set leads back to it, because none makes a key unwritten.
   */
  restart(genesis: WriteSet): number {
    this.rewind(this.#oldestVersion)
    this.#entry(this.#version).status = 'rewound'
    this.#accounts.clear()
    this.#codes.clear()
    this.#stale = new Set()
    this.#trie = EMPTY_ACCOUNT_TRIE
    this.#slotCount = 0
    this.#entryCount = 0
    this.#writeAll(genesis, this.#version)
    return this.#version
  }

  /** Drops every version below this one. Throws RangeError above the newest. */
  prune(version: number): void {
    if (version <= this.#oldestVersion) return
    this.#entry(version)
    for (; this.#oldestVersion < version; this.#oldestVersion++) {
      this.#entry(this.#oldestVersion).status = 'pruned'
      this.#entries.removeOldest()
      for (const cell of this.#entry(this.#oldestVersion + 1).changed) this.#pruneCell(cell, version)
    }
    this.#entry(version).changed = NO_CELLS
  }

  /** Returns the state root after `version`, computed once. Throws as `at` does. */
  stateRoot(version = this.#version): Hash {
    const entry = this.#entry(version)
    return (entry.root ??= this.#rootOf(this.#triesAt(version).accounts, this.#base?.state.stateRoot ?? null))
  }

  /** Returns an account's storage root; the empty root for an absent account. Throws as `at` does. */
  storageRoot(address: Address, version = this.#version): Hash {
    this.#entry(version)
    const storage = this.#leaf(this.#triesAt(version), address, version)?.storage ?? EMPTY_STORAGE_TRIE
    return this.#rootOf(storage, this.#base?.state.storageRoot(address) ?? null)
  }

  /**
   * Returns the roots that a version would have with `writes` applied, and the storage root of `owner`. Stores nothing. Throws as `at`
   * does.
   */
  rootsWith(version: number, writes: WriteSet, owner: Address): Roots {
    const { accounts, leaf } = this.#trieWith(version, writes, owner)
    return {
      stateRoot: this.#rootOf(accounts, this.#base?.state.stateRoot ?? null),
      storageRoot: this.#rootOf(leaf?.storage ?? EMPTY_STORAGE_TRIE, this.#base?.state.storageRoot(owner) ?? null),
    }
  }

  /** Returns proofs against the state root of `version` with `writes` applied. Throws as `at` does, and NoProofs over a base state. */
  proofAt(version: number, address: Address, slots: readonly Hash[], writes: WriteSet = NO_WRITES): AccountProof {
    if (this.#base !== null) throw new NoProofs()
    const reader = this.at(version)
    const written = writes.storage.get(address)
    const values = slots.map((slot) => ({ slot, value: written?.get(slot) ?? reader.storage(address, slot) }))
    const { accounts, leaf } = this.#trieWith(version, writes, address)
    return proveAccount(accounts, address, leaf, values)
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
   * Between two of them other code may run; throws as `at` does if the version is then gone. Over a base state only what was written, with its
   * accounts; throws MissingState.
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

  /** Over a base state: the accounts that were deleted at or before `version`, also if they exist again; none of their slots is read from the base. */
  clearedAccounts(version: number): ReadonlyMap<Address, null> {
    const cleared = new Map<Address, null>()
    for (const cell of this.#accounts.values()) if (cell.clearedAt <= version) cleared.set(cell.address, null)
    return cleared
  }

  /** Yields each account, followed by its slots; over a base state only what was written, deletions included. */
  *#liveCells(version: number): Iterable<KeyCell> {
    for (const cell of this.#accounts.values()) {
      const account = cell.at(version)
      if (account === null && this.#base === null) continue
      // Over a base state an account is yielded even if only its slots were written.
      if (account !== undefined || [...(cell.slots?.values() ?? [])].some((slot) => slot.at(version) !== undefined)) yield cell
      for (const slot of cell.slots?.values() ?? []) if (slot.at(version) !== this.#absent.slot) yield slot
    }
  }

  /** Includes an account's code unless the account had it at version `before`. */
  #copyCell(cell: KeyCell, version: number, before: number, writes: WriteSetBuilder): void {
    if (cell instanceof SlotCell) return writes.setSlot(cell.owner.address, cell.slot, this.#slotAt(cell, version))
    const account = this.#accountAt(cell, version)
    writes.setAccount(cell.address, account)
    if (account === null || account.codeHash === cell.at(before)?.codeHash) return
    const code = this.#codes.get(account.codeHash) ?? (before === NO_VERSION ? this.#base?.code(account.codeHash) : undefined)
    if (code !== undefined) writes.codes.set(account.codeHash, code)
  }

  #accountAt(cell: AccountCell, version: number): Account | null {
    const account = cell.at(version)
    return account === undefined ? (this.#base?.account(cell.address) ?? null) : account
  }

  #slotAt(cell: SlotCell, version: number): bigint {
    return cell.at(version) ?? this.#base?.storage(cell.owner.address, cell.slot) ?? 0n
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
      // The code of an account of the base state.
      if (this.#base !== null) continue
      throw new InconsistentWrites(address, `its code ${account.codeHash} is unknown`)
    }
    for (const [address, slots] of writes.storage) {
      if (this.#isAbsentAfter(writes, address) && hasNonZero(slots)) throw new InconsistentWrites(address, 'storage without an account')
    }
  }

  /** False for an account that only the base state can have. */
  #isAbsentAfter(writes: WriteSet, address: Address): boolean {
    const account = writes.accounts.get(address) ?? (writes.accounts.has(address) ? null : this.#newestAccount(address))
    return account === null
  }

  #newestAccount(address: Address): Account | null | undefined {
    const cell = this.#accounts.get(address)
    return cell === undefined ? this.#absent.account : cell.newest
  }

  #writeAll(writes: WriteSet, version: number): void {
    const changed: KeyCell[] = []
    for (const [address, account] of writes.accounts) this.#writeAccount(address, account, version, changed)
    for (const [hash, code] of writes.codes) this.#codes.set(hash, code)
    for (const [address, slots] of writes.storage) {
      const owner = this.#accounts.get(address) ?? (this.#base === null ? undefined : this.#addAccount(address))
      if (owner !== undefined) for (const [slot, value] of slots) this.#writeSlot(owner, slot, value, version, changed)
    }
    for (const cell of changed) this.#stale.add(cell)
    this.#entryCount += changed.length
    this.#entries.set(version, { version, changed: changed.slice(), status: 'live', root: null })
  }

  #writeAccount(address: Address, account: Account | null, version: number, changed: KeyCell[]): void {
    const newest = this.#newestAccount(address)
    if (newest !== undefined && sameAccount(newest, account)) return
    const cell = this.#accounts.get(address) ?? this.#addAccount(address)
    if (account?.codeHash !== cell.newest?.codeHash) this.#codes.retain(account?.codeHash)
    cell.write(version, account)
    changed.push(cell)
    if (account !== null) return
    if (this.#base !== null) cell.clearedAt = Math.min(cell.clearedAt, version)
    for (const slot of cell.slots?.keys() ?? []) this.#writeSlot(cell, slot, 0n, version, changed)
  }

  #addAccount(address: Address): AccountCell {
    const cell = new AccountCell(address, this.#absent.account)
    this.#accounts.set(address, cell)
    return cell
  }

  #writeSlot(owner: AccountCell, slot: Hash, value: bigint, version: number, changed: KeyCell[]): void {
    let cell = owner.slots?.get(slot)
    if ((cell === undefined ? this.#absent.slot : cell.newest) === value) return
    if (cell === undefined) {
      cell = new SlotCell(owner, slot, this.#absent.slot)
      owner.slots = (owner.slots ?? new Map<Hash, SlotCell>()).set(slot, cell)
      this.#slotCount++
    }
    cell.write(version, value)
    changed.push(cell)
  }

  #revert(entry: VersionEntry): void {
    for (const cell of entry.changed) {
      if (cell instanceof AccountCell) this.#revertAccount(cell, entry.version)
      else cell.undo()
      this.#stale.add(cell)
      this.#removeIfEmpty(cell)
    }
    this.#entryCount -= entry.changed.length
    entry.status = 'rewound'
    this.#entries.removeNewest()
  }

  #revertAccount(cell: AccountCell, version: number): void {
    const codeHash = cell.newest?.codeHash
    cell.undo()
    if (codeHash !== cell.newest?.codeHash) this.#codes.release(codeHash)
    if (cell.clearedAt === version) cell.clearedAt = Number.POSITIVE_INFINITY
  }

  #pruneCell(cell: KeyCell, oldestVersion: number): void {
    if (cell instanceof AccountCell) {
      let last: Hash | undefined
      for (const account of cell.readableOnlyBelow(oldestVersion)) {
        if (account?.codeHash !== last) this.#codes.release(last)
        last = account?.codeHash
      }
      if (last !== cell.at(oldestVersion)?.codeHash) this.#codes.release(last)
    }
    this.#entryCount -= cell.prune(oldestVersion)
    this.#removeIfEmpty(cell)
  }

  /** Removes a cell that reads as absent at every version. */
  #removeIfEmpty(cell: KeyCell): void {
    if (!cell.isEmpty) return
    const owner = cell instanceof SlotCell ? cell.owner : cell
    if (cell instanceof SlotCell && owner.slots?.delete(cell.slot) === true) this.#slotCount--
    if (owner.slots?.size === 0) owner.slots = null
    if (owner.isEmpty && owner.slots === null) this.#accounts.delete(owner.address)
  }

  /** Returns the account trie of a version with `writes` applied, and the leaf of `owner` in it. Use the result before the next change. */
  #trieWith(version: number, writes: WriteSet, owner: Address): { readonly accounts: AccountTrie; readonly leaf: AccountLeaf | null } {
    this.#entry(version)
    const tries = this.#triesAt(version)
    const leaves = new Map<Address, AccountLeaf | null>()
    for (const address of new Set([...writes.accounts.keys(), ...writes.storage.keys(), owner])) {
      leaves.set(address, this.#leafAfter(this.#leaf(tries, address, version), address, writes))
    }
    const accounts = tries.accounts.update([...leaves].map(([address, leaf]) => [accountKey(address), leaf] as const))
    return { accounts, leaf: leaves.get(owner) ?? null }
  }

  /** Use the result before the next change: the tries of the newest version are updated in place. */
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
      if (cell instanceof SlotCell && owner.newest !== null) owner.storage = owner.storage.putInPlace(cell.key, this.#slotLeaf(cell.newest))
    }
    for (const owner of owners) {
      if (owner.newest === null) owner.storage = EMPTY_STORAGE_TRIE
      this.#trie = this.#trie.putInPlace(owner.key, this.#accountLeaf(owner.newest, owner.storage))
    }
    this.#stale = new Set()
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
        account === null
          ? EMPTY_STORAGE_TRIE
          : cell.storage.update(slots.map((slot) => [slot.key, this.#slotLeaf(slot.at(version))] as const))
      storage.set(cell, trie)
      accounts.push([cell.key, this.#accountLeaf(account, trie)])
    }
    return { accounts: this.#trie.update(accounts), storage }
  }

  #leaf(tries: Tries, address: Address, version: number): AccountLeaf | null {
    const cell = this.#accounts.get(address)
    return cell === undefined ? null : this.#accountLeaf(cell.at(version), tries.storage.get(cell) ?? cell.storage)
  }

  #leafAfter(before: AccountLeaf | null, address: Address, { accounts, storage }: WriteSet): AccountLeaf | null {
    const account = accounts.has(address) ? accounts.get(address) : before?.account
    if (account === null) return this.#accountLeaf(account, EMPTY_STORAGE_TRIE)
    const slots = [...(storage.get(address) ?? [])].map(([slot, value]) => [storageKey(slot), this.#slotLeaf(value)] as const)
    return this.#accountLeaf(account, (before?.storage ?? EMPTY_STORAGE_TRIE).update(slots))
  }

  /** Over a base state the trie holds what was written, so a zero is a leaf and an unwritten value is none. */
  #slotLeaf(value: bigint | undefined): bigint | null {
    return this.#base === null ? value || null : (value ?? null)
  }

  /** Over a base state a deleted account, and one with nothing but written slots, has a leaf too. */
  #accountLeaf(account: Account | null | undefined, storage: StorageTrie): AccountLeaf | null {
    if (account !== null && account !== undefined) return { account, storage }
    if (this.#base === null || (account === undefined && storage.rootHash() === EMPTY_ROOT)) return null
    return { account: account === null ? DELETED_ACCOUNT : UNWRITTEN_ACCOUNT, storage }
  }

  /**
   * Over a base state the root is the base's while nothing is written, then a hash of it and the writes: the nodes of the base's trie are
   * not local. Equal writes have equal roots.
   */
  #rootOf(trie: AccountTrie | StorageTrie, base: Hash | null): Hash {
    const root = trie.rootHash()
    if (base === null) return root
    return root === EMPTY_ROOT ? base : Hash.keccak(Hex.toBytes(`${base}${root.slice(2)}`))
  }
}

/** Reads of the base state. */
class BaseReads {
  readonly state: BaseState
  #isSystemCall = false

  constructor(state: BaseState) {
    this.state = state
  }

  readonly duringSystemCalls = (work: () => void): void => {
    this.#isSystemCall = true
    try {
      work()
    } finally {
      this.#isSystemCall = false
    }
  }

  account(address: Address): Account | null {
    return this.state.account(address)
  }

  code(codeHash: Hash, owner?: Address): Uint8Array {
    return this.state.code(codeHash, owner)
  }

  storage(address: Address, slot: Hash): bigint {
    try {
      return this.state.storage(address, slot)
    } catch (error) {
      if (this.#isSystemCall && error instanceof MissingState) return 0n
      throw error
    }
  }
}

/** Values of keys that no version has written: absent, or unknown here over a base state. */
interface Absent {
  readonly account: Account | null | undefined
  readonly slot: bigint | undefined
}

const ABSENT: Absent = { account: null, slot: 0n }
const UNWRITTEN: Absent = { account: undefined, slot: undefined }
const DELETED_ACCOUNT: Account = { nonce: 0n, balance: 0n, codeHash: EMPTY_CODE_HASH }
/** Represents an account of the base state of which only slots were written. */
const UNWRITTEN_ACCOUNT: Account = { nonce: 0n, balance: 0n, codeHash: EMPTY_ROOT }

/** Roots of one state. An absent account has the empty storage root. */
export interface Roots {
  readonly stateRoot: Hash
  /** Storage root of the requested account. */
  readonly storageRoot: Hash
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

class AccountCell extends Cell<Account | null | undefined> {
  readonly address: Address
  /** Key in the account trie. */
  readonly key: Hash
  /** `null` without slots: most accounts have none, and an empty Map takes memory. */
  slots: Map<Hash, SlotCell> | null = null
  storage = EMPTY_STORAGE_TRIE
  /** Over a base state: the first version that deleted the account. From it on no slot is read from the base. */
  clearedAt = Number.POSITIVE_INFINITY

  constructor(address: Address, absent: Account | null | undefined) {
    super(absent)
    this.address = address
    this.key = accountKey(address)
  }
}

class SlotCell extends Cell<bigint | undefined> {
  readonly owner: AccountCell
  readonly slot: Hash
  /** Key in the owner's storage trie. */
  readonly key: Hash

  constructor(owner: AccountCell, slot: Hash, absent: bigint | undefined) {
    super(absent)
    this.owner = owner
    this.slot = slot
    this.key = storageKey(slot)
  }
}

/** Reads one version from the live cells. */
class VersionReader implements StateReader {
  readonly #entry: VersionEntry
  readonly #accounts: ReadonlyMap<Address, AccountCell>
  readonly #codes: CodeTable
  readonly #entries: VersionList<VersionEntry>
  readonly #base: BaseReads | null

  constructor(
    entry: VersionEntry,
    accounts: ReadonlyMap<Address, AccountCell>,
    codes: CodeTable,
    entries: VersionList<VersionEntry>,
    base: BaseReads | null,
  ) {
    this.#entry = entry
    this.#accounts = accounts
    this.#codes = codes
    this.#entries = entries
    this.#base = base
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
    const account = this.#accounts.get(address)?.at(version)
    return account === undefined && this.#base !== null ? this.#base.account(address) : (account ?? null)
  }

  code(codeHash: Hash, owner?: Address): Uint8Array {
    const known = this.#codes.get(codeHash)
    if (known !== undefined) return known
    // A code is dropped with the last version that has it.
    this.#version()
    const code = this.#base?.code(codeHash, owner)
    if (code === undefined) throw new Error(`no account has the code ${codeHash}`)
    return code
  }

  storage(address: Address, slot: Hash): bigint {
    const version = this.#version()
    const owner = this.#accounts.get(address)
    const value = owner?.slots?.get(slot)?.at(version)
    if (value !== undefined || this.#base === null) return value ?? 0n
    return owner !== undefined && owner.clearedAt <= version ? 0n : this.#base.storage(address, slot)
  }

  /** Over a base state only the written slots. */
  *slots(address: Address): Iterable<Hash> {
    const slots = this.#accounts.get(address)?.slots ?? []
    for (const [slot, cell] of slots) if ((cell.at(this.#version()) ?? 0n) !== 0n) yield slot
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

/** Proofs need the nodes of the base state's trie, which are not local. */
export class NoProofs extends Error {
  override readonly name = 'NoProofs'

  constructor() {
    super('a fork has no proofs of its own blocks: the nodes of the upstream trie are not local; ask for the fork block or an older one')
  }
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
