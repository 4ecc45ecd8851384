import { Delegation, EMPTY_CODE_HASH, Hash } from '../eth/index.ts'
import type { Address } from '../eth/index.ts'
import type { Instance } from './instance.ts'
import { releaseInstance, acquireInstance } from './instancepool.ts'
import {
  A_BALANCE,
  A_CODE,
  A_CODE_HASH,
  A_NONCE,
  C_SIZE,
  HOST_SCRATCH,
  INPUT,
  INPUT_END,
  S_KEY,
  S_OWNER,
  S_VALUE,
} from './runtime/layout.ts'
import { NO_WRITES } from './state.ts'
import type { Account, StateReader, WriteSet } from './state.ts'

const NO_CODE = new Uint8Array()
const BALANCE_MAX = 2n ** 256n - 1n

/**
 * The world state: a journaled overlay over a base state that it never changes. It is stored in the tables of a runtime instance, where
 * bytecode changes it too. A checkpoint is free; a revert costs as much as the changes it undoes.
 */
export class World implements StateReader {
  #base: StateReader
  #instance: Instance | null
  #isAbandoned = false

  /** `traced`: bytecode can be traced, and runs at a tenth of the speed. */
  constructor(base: StateReader, { traced = false }: { readonly traced?: boolean } = {}) {
    this.#base = base
    this.#instance = acquireInstance(base, traced)
  }

  /** The runtime instance, for the engine. Throws when the world has been released. */
  get instance(): Instance {
    if (this.#instance === null) throw new Error('this world was released')
    return this.#instance
  }

  account(address: Address): Account | null {
    const { instance } = this
    return instance.read(instance.account(address))
  }

  code(codeHash: Hash): Uint8Array {
    if (codeHash === EMPTY_CODE_HASH) return NO_CODE
    const { instance } = this
    instance.bytes.set(Hash.toBytes(codeHash), HOST_SCRATCH)
    return instance.code(instance.runtime.codeByHash(HOST_SCRATCH))
  }

  storage(address: Address, slot: Hash): bigint {
    const { instance } = this
    return instance.word(instance.cachedSlot(instance.account(address), slot) + S_VALUE)
  }

  slots(address: Address): Iterable<Hash> {
    const { instance } = this
    return instance.slotsOf(instance.account(address))
  }

  /** The code of `address`. A delegation designator is returned as it is. */
  codeAt(address: Address): Uint8Array {
    const { instance } = this
    return instance.code(instance.runtime.codeOf(instance.account(address)))
  }

  /** The EIP-7702 delegation target of `address`; null: none. */
  delegateOf(address: Address): Address | null {
    return this.codeSizeAt(address) === Delegation.SIZE ? Delegation.of(this.codeAt(address)) : null
  }

  /** bytes */
  codeSizeAt(address: Address): number {
    const { instance } = this
    return instance.u32(instance.runtime.codeOf(instance.account(address)) + C_SIZE)
  }

  balance(address: Address): bigint {
    const { instance } = this
    return instance.word(instance.account(address) + A_BALANCE)
  }

  nonce(address: Address): bigint {
    const { instance } = this
    return instance.u64(instance.account(address) + A_NONCE)
  }

  /** The slot's value at the start of the transaction (EIP-2200). */
  originalStorage(address: Address, slot: Hash): bigint {
    const { instance } = this
    return instance.word(instance.runtime.originalValue(instance.slot(instance.account(address), slot)))
  }

  /** null removes the account but not its storage: see `clearStorage`. */
  setAccount(address: Address, account: Account | null): void {
    const { instance } = this
    const entry = instance.account(address)
    if (account === null) return instance.runtime.remove(entry)
    instance.runtime.ensureExists(entry)
    instance.u64s[(entry + A_NONCE) >>> 3] = account.nonce
    instance.setWord(entry + A_BALANCE, account.balance)
    instance.bytes.set(Hash.toBytes(account.codeHash), entry + A_CODE_HASH)
    instance.setU32(entry + A_CODE, 0)
  }

  setCode(address: Address, code: Uint8Array): void {
    const { instance } = this
    if (code.length > INPUT_END - INPUT) throw new RangeError(`a code of ${code.length} bytes is too long`)
    instance.bytes.set(code, INPUT)
    instance.runtime.setCode(instance.account(address), INPUT, code.length)
  }

  setNonce(address: Address, nonce: bigint): void {
    const { instance } = this
    const entry = instance.account(address)
    instance.runtime.ensureExists(entry)
    instance.u64s[(entry + A_NONCE) >>> 3] = nonce
  }

  /** Increments the nonce and returns the previous value. */
  useNonce(address: Address): bigint {
    const { instance } = this
    const entry = instance.account(address)
    instance.runtime.ensureExists(entry)
    const nonce = instance.u64(entry + A_NONCE)
    instance.u64s[(entry + A_NONCE) >>> 3] = nonce + 1n
    return nonce
  }

  setBalance(address: Address, balance: bigint): void {
    const { instance } = this
    const entry = instance.account(address)
    instance.runtime.ensureExists(entry)
    instance.setWord(entry + A_BALANCE, balance)
  }

  /**
   * Adding 0n touches too: it removes an empty account under EIP-161 and creates it before. Saturates at 2^256 - 1 (revm): a test may set
   * any balance, and its fees must remain payable.
   */
  addBalance(address: Address, wei: bigint): void {
    const { instance } = this
    const entry = instance.account(address)
    const sum = instance.word(entry + A_BALANCE) + wei
    instance.runtime.ensureExists(entry)
    instance.setWord(entry + A_BALANCE, sum < BALANCE_MAX ? sum : BALANCE_MAX)
  }

  /** @throws {RangeError} the balance is smaller than `wei`; callers check first */
  subBalance(address: Address, wei: bigint): void {
    const balance = this.balance(address)
    if (balance < wei) throw new RangeError(`${address} holds ${balance} wei, fewer than ${wei}`)
    this.setBalance(address, balance - wei)
  }

  setStorage(address: Address, slot: Hash, value: bigint): void {
    const { instance } = this
    const entry = instance.slot(instance.account(address), slot)
    instance.setWord(HOST_SCRATCH, value)
    instance.runtime.setSlot(entry, HOST_SCRATCH)
  }

  /** Writes an explicit zero to every non-zero slot. */
  clearStorage(address: Address): void {
    for (const slot of [...this.slots(address)]) this.setStorage(address, slot, 0n)
  }

  /** Returns a mark for `revertTo`. Checkpoints nest and are free. */
  checkpoint(): number {
    return this.instance.runtime.checkpoint()
  }

  /** Reverts to `mark`, across transactions too. Does nothing on an abandoned world. */
  revertTo(mark: number): void {
    if (!this.#isAbandoned) this.instance.runtime.revertTo(mark)
  }

  /** Continues on `base`, which is the old base with all writes of this world applied. Earlier marks become invalid. */
  rebase(base: StateReader): void {
    const { instance } = this
    const gone = this.#hasRemoved()
    this.#base = base
    instance.reader = base
    instance.runtime.markClean()
    // The base has cleared the storage of removed accounts; these tables may still hold it.
    if (gone) instance.clear()
    else instance.makeRoom()
    this.beginTransaction()
  }

  /**
   * Forgets what was only read if the tables are nearly full: a revert keeps it, also after a message that exceeded the tables. Earlier marks
   * become invalid.
   */
  makeRoom(): void {
    const { instance } = this
    if (instance.runtime.isNearlyFull() === 0) return
    const { accounts, storage, codes } = this.writes()
    instance.makeRoom()
    for (const [address, account] of accounts) {
      if (account === null) this.clearStorage(address)
      this.setAccount(address, account)
      const code = account === null ? undefined : codes.get(account.codeHash)
      if (code !== undefined) this.setCode(address, code)
    }
    for (const [address, slots] of storage) for (const [slot, value] of slots) this.setStorage(address, slot, value)
    this.beginTransaction()
  }

  #hasRemoved(): boolean {
    const { instance } = this
    for (const account of instance.dirtyAccounts()) {
      // An account that was only read may never have existed.
      if (!instance.exists(account) && this.#base.account(instance.addressOf(account)) !== null) return true
    }
    return false
  }

  /**
   * Returns the instance to the pool. The creator of a world must call it once; the world is unusable afterwards and unsaved writes are
   * lost.
   */
  release(): void {
    const instance = this.#instance
    if (instance === null) return
    this.#instance = null
    releaseInstance(instance)
  }

  /** Gives up the instance after a trap that is a bug, and with it this world. */
  abandon(): void {
    this.#instance = null
    this.#isAbandoned = true
  }

  get isAbandoned(): boolean {
    return this.#isAbandoned
  }

  /** Resets what is scoped to one transaction: original values and touched accounts. */
  beginTransaction(): void {
    this.instance.runtime.beginTransaction()
  }

  /** EIP-161: removes touched accounts that are empty. */
  removeTouchedEmpty(): void {
    this.instance.runtime.removeTouchedEmpty()
  }

  /** Returns all differences to the base. */
  writes(): WriteSet {
    const { instance } = this
    if (!instance.isDirty) return NO_WRITES
    const accounts = new Map<Address, Account | null>()
    const codes = new Map<Hash, Uint8Array>()
    for (const entry of instance.dirtyAccounts()) {
      const address = instance.addressOf(entry)
      const before = this.#base.account(address)
      const account = instance.read(entry, before)
      if (sameAccount(account, before)) continue
      accounts.set(address, account)
      if (account === null || account.codeHash === EMPTY_CODE_HASH || account.codeHash === before?.codeHash) continue
      // Without a record the code comes from the base state, which has it already.
      const record = instance.runtime.findCodeRecord(entry + A_CODE_HASH)
      if (record !== 0) codes.set(account.codeHash, instance.code(record))
    }
    return { accounts, storage: this.#changedStorage(), codes }
  }

  #changedStorage(): ReadonlyMap<Address, ReadonlyMap<Hash, bigint>> {
    const { instance } = this
    const changed = new Map<Address, Map<Hash, bigint>>()
    for (const entry of instance.dirtySlots()) {
      const address = instance.addressOf(instance.u32(entry + S_OWNER))
      const [slot, value] = [instance.key(entry + S_KEY), instance.word(entry + S_VALUE)]
      if (this.#base.storage(address, slot) === value) continue
      let slots = changed.get(address)
      if (slots === undefined) changed.set(address, (slots = new Map()))
      slots.set(slot, value)
    }
    return changed
  }
}

/** EIP-161: no nonce, no balance, no code. */
export function isEmpty(account: Account): boolean {
  return account.nonce === 0n && account.balance === 0n && account.codeHash === EMPTY_CODE_HASH
}

export function sameAccount(a: Account | null, b: Account | null): boolean {
  if (a === null || b === null) return a === b
  return a.nonce === b.nonce && a.balance === b.balance && a.codeHash === b.codeHash
}
