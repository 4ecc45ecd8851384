import { EMPTY_CODE_HASH } from '../eth/index.ts'
import type { Address, Hash } from '../eth/index.ts'
import { World } from '../evm/index.ts'
import type { Account, StateKey, StateReader, WriteSet } from '../evm/index.ts'
import { Cell } from './cell.ts'
import { accountKey, NO_ACCOUNTS, NO_STORAGE, proveAccount, storageKey } from './proof.ts'
import type { AccountLeaf, AccountProof, AccountTrie, StorageTrie } from './proof.ts'
import { Writes } from './writes.ts'

/** Counters for metrics. */
export interface StateSize {
  /** addresses that hold an account at some readable version */
  readonly accounts: number
  /** slots that are not zero at some readable version */
  readonly slots: number
  /** remembered values of all of them */
  readonly entries: number
  readonly versions: number
  readonly codes: number
}

/**
 * The state at every version from the floor to the newest. A version is made by each applied write set; version 0 is the
 * genesis. Roots and proofs come from the tries of the newest version, which follow lazily: writes only note which keys
 * are stale, and an older version's tries are the newest ones with the older values put in.
 */
export class StateHistory {
  readonly #accounts = new Map<Address, AccountCell>()
  readonly #codes = new Map<Hash, Uint8Array>([[EMPTY_CODE_HASH, new Uint8Array()]])
  readonly #steps = new Map<number, Step>()
  /** what the account trie does not know yet */
  readonly #stale = new Set<KeyCell>()
  #trie = NO_ACCOUNTS
  #version = 0
  #floor = 0
  #slotCount = 0
  #entryCount = 0

  constructor(genesis: WriteSet = NO_WRITES) {
    this.#check(genesis)
    this.#write(genesis, 0)
  }

  /** Version 0 is what these make together, as `whole` cut them. Throws InconsistentWrites. */
  static of(pieces: Iterable<WriteSet>): StateHistory {
    const history = new StateHistory()
    for (const piece of pieces) {
      history.#check(piece)
      history.#write(piece, 0)
    }
    return history
  }

  /** the newest version */
  get version(): number {
    return this.#version
  }

  /** the oldest version that can be read */
  get floor(): number {
    return this.#floor
  }

  /**
   * Makes the next version and answers its number. An account that is gone takes its storage along. Throws
   * InconsistentWrites, before anything changed, for storage without an account or an account whose code is unknown.
   */
  apply(writes: WriteSet): number {
    this.#check(writes)
    this.#version++
    this.#write(writes, this.#version)
    return this.#version
  }

  /**
   * State at one version; stays right when newer ones come. Throws PrunedState below the floor, RangeError above the
   * newest. Its own methods throw PrunedState or RewoundState once the version is gone.
   */
  at(version: number): StateReader & { readonly identity: object } {
    return new Reader(this.#step(version), this.#accounts, this.#codes, this.#steps)
  }

  /** True while `version` is the one that had this moment: after a rewind its number is given out anew. */
  isStill(version: number, identity: object): boolean {
    return this.#steps.get(version) === identity
  }

  /** Forgets every version above this one. Throws as `at` does. */
  rewind(version: number): void {
    this.#step(version)
    for (; this.#version > version; this.#version--) this.#undo(this.#step(this.#version))
  }

  /** Makes `version` the floor (never lowers it). Throws RangeError above the newest. */
  prune(version: number): void {
    if (version <= this.#floor) return
    this.#step(version)
    for (; this.#floor < version; this.#floor++) {
      this.#end(this.#floor, 'pruned')
      for (const cell of this.#step(this.#floor + 1).changed) this.#trim(cell, version)
    }
    this.#step(version).changed = NO_CHANGE
  }

  /** The state root after `version`, remembered. Throws as `at` does. */
  stateRoot(version = this.#version): Hash {
    const step = this.#step(version)
    return (step.root ??= this.#tries(version).accounts.rootHash())
  }

  /** The storage root of an account; of an absent one that of nothing. Throws as `at` does. */
  storageRoot(address: Address, version = this.#version): Hash {
    this.#step(version)
    return (this.#leaf(this.#tries(version), address, version)?.storage ?? NO_STORAGE).rootHash()
  }

  /** The roots that a version would have with `writes` on top, of the storage that of `owner`; nothing is kept. Throws as `at` does. */
  rootsWith(version: number, writes: WriteSet, owner: Address): Roots {
    this.#step(version)
    const tries = this.#tries(version)
    const leaves = new Map<Address, AccountLeaf | null>()
    for (const address of new Set([...writes.accounts.keys(), ...writes.storage.keys(), owner])) {
      leaves.set(address, leafWith(this.#leaf(tries, address, version), address, writes))
    }
    return {
      stateRoot: tries.accounts.update([...leaves].map(([address, leaf]) => [accountKey(address), leaf] as const)).rootHash(),
      storageRoot: (leaves.get(owner)?.storage ?? NO_STORAGE).rootHash(),
    }
  }

  /** Proofs against `stateRoot(version)`. Throws as `at` does. */
  proofAt(version: number, address: Address, slots: readonly Hash[]): AccountProof {
    const reader = this.at(version)
    const tries = this.#tries(version)
    const values = slots.map((slot) => ({ slot, value: reader.storage(address, slot) }))
    return proveAccount(tries.accounts, address, this.#leaf(tries, address, version), values)
  }

  /** The accounts of the newest version. */
  *accounts(): Iterable<Address> {
    for (const [address, cell] of this.#accounts) if (cell.newest !== null) yield address
  }

  /**
   * What `version` changed: applied to the version before it, it makes this one. Throws as `at` does, and PrunedState for the floor,
   * which has nothing before it.
   */
  writesAt(version: number): Writes {
    this.#step(version)
    return this.writesBetween(version - 1, version)
  }

  /** What leads from one version to another, older or newer. Throws as `at` does for both. */
  writesBetween(from: number, to: number): Writes {
    const [older, newer] = [Math.min(from, to), Math.max(from, to)]
    this.#step(older)
    this.#step(newer)
    const writes = new Writes()
    for (const cell of this.#changedBetween(older, newer)) this.#copy(cell, to, from, writes)
    return writes
  }

  /**
   * Everything that `version` holds, in write sets of `keys` accounts and slots, which make it when a history that holds nothing applies
   * them in this order. Others may have a turn between two of them; throws as `at` does when the version is gone then.
   */
  *whole(version: number, keys: number): Iterable<WriteSet> {
    const step = this.#step(version)
    let writes = new Writes()
    for (const cell of this.#held(version)) {
      this.#copy(cell, version, NOTHING_BEFORE, writes)
      if (writes.size < keys) continue
      yield writes
      if (step.fate !== 'live') throw goneState(step)
      writes = new Writes()
    }
    yield writes
  }

  size(): StateSize {
    return {
      accounts: this.#accounts.size,
      slots: this.#slotCount,
      entries: this.#entryCount,
      versions: this.#steps.size,
      codes: this.#codes.size,
    }
  }

  /** Each account, and behind it its slots. */
  *#held(version: number): Iterable<KeyCell> {
    for (const cell of this.#accounts.values()) {
      if (cell.at(version) === null) continue
      yield cell
      for (const slot of cell.slots?.values() ?? []) if (slot.at(version) !== 0n) yield slot
    }
  }

  /** A code comes along unless the account had it at version `before`. */
  #copy(cell: KeyCell, version: number, before: number, writes: Writes): void {
    if (cell instanceof SlotCell) return writes.setSlot(cell.owner.address, cell.slot, cell.at(version))
    const account = cell.at(version)
    writes.setAccount(cell.address, account)
    if (account === null || account.codeHash === cell.at(before)?.codeHash) return
    const code = this.#codes.get(account.codeHash)
    if (code !== undefined) writes.codes.set(account.codeHash, code)
  }

  #step(version: number): Step {
    const step = this.#steps.get(version)
    if (step !== undefined) return step
    if (version < this.#floor) throw new PrunedState(version)
    throw new RangeError(`there is no version ${version} of the state; it is at version ${this.#version}`)
  }

  #check(writes: WriteSet): void {
    for (const [address, account] of writes.accounts) {
      if (account === null || this.#codes.has(account.codeHash) || writes.codes.has(account.codeHash)) continue
      throw new InconsistentWrites(address, `its code ${account.codeHash} is unknown`)
    }
    for (const [address, slots] of writes.storage) {
      if (this.#accountAfter(writes, address) === null && holdsValue(slots))
        throw new InconsistentWrites(address, 'storage without an account')
    }
  }

  #accountAfter(writes: WriteSet, address: Address): Account | null {
    const account = writes.accounts.get(address)
    return account === undefined ? (this.#accounts.get(address)?.newest ?? null) : account
  }

  #write(writes: WriteSet, version: number): void {
    const changed: KeyCell[] = []
    for (const [hash, code] of writes.codes) this.#codes.set(hash, code)
    for (const [address, account] of writes.accounts) this.#writeAccount(address, account, version, changed)
    for (const [address, slots] of writes.storage) {
      const owner = this.#accounts.get(address)
      if (owner !== undefined) for (const [slot, value] of slots) this.#writeSlot(owner, slot, value, version, changed)
    }
    for (const cell of changed) this.#stale.add(cell)
    this.#entryCount += changed.length
    this.#steps.set(version, { version, changed: changed.slice(), fate: 'live', root: null })
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

  #undo(step: Step): void {
    for (const cell of step.changed) {
      cell.undo()
      this.#stale.add(cell)
      this.#forget(cell)
    }
    this.#entryCount -= step.changed.length
    this.#end(this.#version, 'rewound')
  }

  #trim(cell: KeyCell, floor: number): void {
    this.#entryCount -= cell.prune(floor)
    this.#forget(cell)
  }

  #end(version: number, fate: Fate): void {
    this.#step(version).fate = fate
    this.#steps.delete(version)
  }

  /** A cell that reads as absent at every version leaves. */
  #forget(cell: KeyCell): void {
    if (!cell.isDead) return
    const owner = cell instanceof SlotCell ? cell.owner : cell
    if (cell instanceof SlotCell && owner.slots?.delete(cell.slot) === true) this.#slotCount--
    if (owner.slots?.size === 0) owner.slots = null
    if (owner.isDead && owner.slots === null) this.#accounts.delete(owner.address)
  }

  /** To be asked at once and not kept: those of the newest version change where they stand. */
  #tries(version: number): Tries {
    this.#refresh()
    return version === this.#version
      ? { accounts: this.#trie, storage: NO_TRIES }
      : this.#triesFrom(this.#changedBetween(version, this.#version), version)
  }

  /** Brings the tries up to the newest version. */
  #refresh(): void {
    if (this.#stale.size === 0) return
    const owners = new Set<AccountCell>()
    for (const cell of this.#stale) {
      const owner = cell instanceof SlotCell ? cell.owner : cell
      owners.add(owner)
      if (cell instanceof SlotCell && owner.newest !== null) owner.storage = owner.storage.set(cell.key, cell.newest || null)
    }
    for (const owner of owners) {
      const account = owner.newest
      if (account === null) owner.storage = NO_STORAGE
      this.#trie = this.#trie.set(owner.key, account === null ? null : { account, storage: owner.storage })
    }
    this.#stale.clear()
  }

  /** After the older one, up to the newer. */
  #changedBetween(older: number, newer: number): Iterable<KeyCell> {
    if (newer === older + 1) return this.#step(newer).changed
    const cells = new Set<KeyCell>()
    for (let later = older + 1; later <= newer; later++) for (const cell of this.#step(later).changed) cells.add(cell)
    return cells
  }

  /** The live tries with what `cells` held at `version`; the live ones stay as they are. */
  #triesFrom(cells: Iterable<KeyCell>, version: number): Tries {
    const storage = new Map<AccountCell, StorageTrie>()
    const accounts: [Hash, AccountLeaf | null][] = []
    for (const [cell, slots] of byAccount(cells)) {
      const account = cell.at(version)
      const trie = account === null ? NO_STORAGE : cell.storage.update(slots.map((slot) => [slot.key, slot.at(version) || null] as const))
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

/** The roots of one state. An absent account has the storage root of nothing. */
export interface Roots {
  readonly stateRoot: Hash
  /** of the one account that was asked for */
  readonly storageRoot: Hash
}

function leafWith(before: AccountLeaf | null, address: Address, { accounts, storage }: WriteSet): AccountLeaf | null {
  const account = accounts.get(address) ?? (accounts.has(address) ? null : (before?.account ?? null))
  if (account === null) return null
  const slots = [...(storage.get(address) ?? [])].map(([slot, value]) => [storageKey(slot), value || null] as const)
  return { account, storage: (before?.storage ?? NO_STORAGE).update(slots) }
}

/** What happened to a version that readers may still hold. */
type Fate = 'live' | 'pruned' | 'rewound'

/** One version: what changed in it, and its root once somebody asked. */
interface Step {
  readonly version: number
  changed: readonly KeyCell[]
  fate: Fate
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
  /** in the account trie */
  readonly key: Hash
  /** null while there are none: most accounts never have any, and an empty map is not small */
  slots: Map<Hash, SlotCell> | null = null
  storage = NO_STORAGE

  constructor(address: Address) {
    super(null)
    this.address = address
    this.key = accountKey(address)
  }
}

class SlotCell extends Cell<bigint> {
  readonly owner: AccountCell
  readonly slot: Hash
  /** in the owner's storage trie */
  readonly key: Hash

  constructor(owner: AccountCell, slot: Hash) {
    super(0n)
    this.owner = owner
    this.slot = slot
    this.key = storageKey(slot)
  }
}

/** One version, read through the live maps: a cell knows what it held then. */
class Reader implements StateReader {
  readonly #step: Step
  readonly #accounts: ReadonlyMap<Address, AccountCell>
  readonly #codes: ReadonlyMap<Hash, Uint8Array>
  readonly #steps: ReadonlyMap<number, Step>

  constructor(
    step: Step,
    accounts: ReadonlyMap<Address, AccountCell>,
    codes: ReadonlyMap<Hash, Uint8Array>,
    steps: ReadonlyMap<number, Step>,
  ) {
    this.#step = step
    this.#accounts = accounts
    this.#codes = codes
    this.#steps = steps
  }

  get identity(): object {
    return this.#step
  }

  /** Every version remembers what it changed, so those between the two tell. */
  changedSince(other: StateReader, limit: number): readonly StateKey[] | null {
    if (!(other instanceof Reader) || other.#steps !== this.#steps || other.#step.fate !== 'live') return null
    const [from, to] = [other.#step.version, this.#version()]
    if (Math.abs(to - from) > limit) return null
    const keys: StateKey[] = []
    for (let version = Math.min(from, to) + 1; version <= Math.max(from, to); version++) {
      const changed = this.#steps.get(version)?.changed
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
    const { fate, version } = this.#step
    if (fate === 'live') return version
    throw goneState(this.#step)
  }
}

function goneState({ fate, version }: Step): Error {
  return fate === 'pruned' ? new PrunedState(version) : new RewoundState(version)
}

function holdsValue(slots: ReadonlyMap<Hash, bigint>): boolean {
  for (const value of slots.values()) if (value !== 0n) return true
  return false
}

const NO_CHANGE: readonly KeyCell[] = []
/** A version at which no account is there. */
const NOTHING_BEFORE = -1
const NO_TRIES: ReadonlyMap<AccountCell, StorageTrie> = new Map()
/** Nothing changes. */
export const NO_WRITES: WriteSet = { accounts: new Map(), storage: new Map(), codes: new Map() }

/** What `change` does to a state, which itself stays as it is. */
export function writesOf(state: StateReader, change: (world: World) => void): WriteSet {
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

/** Every account that a cell belongs to, with those of its slots that are among the cells. Keeps their order. */
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

/** The version's history is gone: it lies below the floor. */
export class PrunedState extends Error {
  override readonly name = 'PrunedState'
  readonly version: number

  constructor(version: number) {
    super(`state version ${version} is pruned`)
    this.version = version
  }
}

/** The version was taken back; another one may have its number now. */
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
