import { Delegation, EMPTY_CODE_HASH, Hash } from '../eth/index.ts'
import type { Address } from '../eth/index.ts'
import type { Instance } from './instance.ts'
import { giveBack, lease } from './pool.ts'
import { A_BALANCE, A_CODE, A_CODE_HASH, A_NONCE, C_SIZE, HOST, INPUT, INPUT_END, S_KEY, S_OWNER, S_VALUE } from './runtime/layout.ts'
import type { Account, StateReader, WriteSet } from './state.ts'

const NO_CODE = new Uint8Array()
const BALANCE_MAX = 2n ** 256n - 1n

/**
 * A journaled overlay over a state that it never changes. It lives in the tables of a runtime, where bytecode works on it
 * too. Reverting undoes entry by entry, so a checkpoint costs nothing and a revert costs what it undoes.
 */
export class World implements StateReader {
  #base: StateReader
  #instance: Instance | null
  #isAbandoned = false

  /** `traced`: bytecode on it can be listened to, and runs a tenth as fast. */
  constructor(base: StateReader, { traced = false }: { readonly traced?: boolean } = {}) {
    this.#base = base
    this.#instance = lease(base, traced)
  }

  /** The runtime that it lives in; for the engine. Throws when the world was released. */
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
    instance.bytes.set(Hash.toBytes(codeHash), HOST)
    return instance.code(instance.runtime.codeByHash(HOST))
  }

  storage(address: Address, slot: Hash): bigint {
    const { instance } = this
    return instance.word(instance.knownSlot(instance.account(address), slot) + S_VALUE)
  }

  slots(address: Address): Iterable<Hash> {
    const { instance } = this
    return instance.slotsOf(instance.account(address))
  }

  /** The code that `address` holds: a delegation designator is code like any other. */
  codeAt(address: Address): Uint8Array {
    const { instance } = this
    return instance.code(instance.runtime.codeOf(instance.account(address)))
  }

  /** Whose code runs at `address` by EIP-7702; null: its own. */
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

  /** The slot's value when the transaction began (EIP-2200 prices writes by it). */
  originalStorage(address: Address, slot: Hash): bigint {
    const { instance } = this
    return instance.word(instance.runtime.original(instance.slot(instance.account(address), slot)))
  }

  /** null removes the account but not its storage: see `clearStorage`. */
  setAccount(address: Address, account: Account | null): void {
    const { instance } = this
    const entry = instance.account(address)
    if (account === null) return instance.runtime.remove(entry)
    instance.runtime.ensure(entry)
    instance.words[(entry + A_NONCE) >>> 3] = account.nonce
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
    instance.runtime.ensure(entry)
    instance.words[(entry + A_NONCE) >>> 3] = nonce
  }

  /** Counts the nonce up and answers what it was. */
  useNonce(address: Address): bigint {
    const { instance } = this
    const entry = instance.account(address)
    instance.runtime.ensure(entry)
    const nonce = instance.u64(entry + A_NONCE)
    instance.words[(entry + A_NONCE) >>> 3] = nonce + 1n
    return nonce
  }

  setBalance(address: Address, balance: bigint): void {
    const { instance } = this
    const entry = instance.account(address)
    instance.runtime.ensure(entry)
    instance.setWord(entry + A_BALANCE, balance)
  }

  /**
   * Adding 0n is a touch too: it deletes an empty account under EIP-161 and creates it before. Stops at 2^256 - 1 (revm):
   * a test may give anybody that much, and fees must then still be payable.
   */
  addBalance(address: Address, wei: bigint): void {
    const { instance } = this
    const entry = instance.account(address)
    const sum = instance.word(entry + A_BALANCE) + wei
    instance.runtime.ensure(entry)
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
    instance.setWord(HOST, value)
    instance.runtime.setSlot(entry, HOST)
  }

  /** Writes an explicit zero to every slot that holds something. */
  clearStorage(address: Address): void {
    for (const slot of [...this.slots(address)]) this.setStorage(address, slot, 0n)
  }

  /** A mark for `revertTo`. Marks nest; one that is not used costs nothing. */
  checkpoint(): number {
    return this.instance.runtime.checkpoint()
  }

  /** Back to how everything stood at `mark`, across transactions too. Nothing is left to take back of an abandoned world. */
  revertTo(mark: number): void {
    if (!this.#isAbandoned) this.instance.runtime.revertTo(mark)
  }

  /** Goes on from `base`, which is the old base with everything written here in it. Earlier marks mean nothing any more. */
  rebase(base: StateReader): void {
    const { instance } = this
    const gone = this.#hasRemoved()
    this.#base = base
    instance.reader = base
    instance.runtime.settled()
    // Below, whoever is gone has taken the storage along; here it may still stand.
    if (gone) instance.forget()
    else instance.makeRoom()
    this.beginTransaction()
  }

  #hasRemoved(): boolean {
    const { instance } = this
    for (const account of instance.dirtyAccounts()) {
      // Many an account that was only looked at has never been there.
      if (!instance.exists(account) && this.#base.account(instance.addressOf(account)) !== null) return true
    }
    return false
  }

  /**
   * Gives back what running bytecode on it took; whoever made a world releases it when done. Once is enough, and nothing
   * may be asked of it afterwards. What it had not handed on is lost.
   */
  release(): void {
    const instance = this.#instance
    if (instance === null) return
    this.#instance = null
    giveBack(instance)
  }

  /** A runtime that stopped where nobody had thought of is given up, and this world with it. */
  abandon(): void {
    this.#instance = null
    this.#isAbandoned = true
  }

  get isAbandoned(): boolean {
    return this.#isAbandoned
  }

  /** What holds for one transaction begins anew: original values and touched accounts. */
  beginTransaction(): void {
    this.instance.runtime.beginTransaction()
  }

  /** EIP-161: removes what this transaction touched and left empty. */
  removeTouchedEmpty(): void {
    this.instance.runtime.removeTouchedEmpty()
  }

  /** Everything that differs from the base. */
  writes(): WriteSet {
    const { instance } = this
    const accounts = new Map<Address, Account | null>()
    const codes = new Map<Hash, Uint8Array>()
    for (const entry of instance.dirtyAccounts()) {
      const address = instance.addressOf(entry)
      const [account, before] = [instance.read(entry), this.#base.account(address)]
      if (sameAccount(account, before)) continue
      accounts.set(address, account)
      if (account === null || account.codeHash === EMPTY_CODE_HASH || account.codeHash === before?.codeHash) continue
      // A code that no record holds came from below, or from nowhere; whoever applies the writes knows which.
      const record = instance.runtime.recordOf(entry + A_CODE_HASH)
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

function sameAccount(a: Account | null, b: Account | null): boolean {
  if (a === null || b === null) return a === b
  return a.nonce === b.nonce && a.balance === b.balance && a.codeHash === b.codeHash
}
