import { Address, EMPTY_CODE_HASH, Hash } from '../eth/index.ts'
import type { Account, StateReader, WriteSet } from './state.ts'

const NO_CODE = new Uint8Array()
const BALANCE_MAX = 2n ** 256n - 1n
const FRESH: Account = { nonce: 0n, balance: 0n, codeHash: EMPTY_CODE_HASH }

/**
 * The one address whose touch survives a revert: geth and Parity deleted it in mainnet block 2675119 although the
 * frame that touched it had run out of gas, and the rule has stayed.
 */
const RIPEMD_160 = Address.fromBigint(3n)

/** One step to undo. `before` is the overlay's entry as it was; undefined: the base showed through. */
type Undo =
  | { readonly kind: 'account'; readonly address: Address; readonly before: Account | null | undefined }
  | { readonly kind: 'slot'; readonly address: Address; readonly slot: Hash; readonly before: bigint | undefined }
  | { readonly kind: 'touch'; readonly address: Address }

/**
 * A journaled overlay over a state that it never changes. Reverting undoes entry by entry, so a checkpoint costs
 * nothing and a revert costs what it undoes.
 */
export class World implements StateReader {
  readonly #base: StateReader
  readonly #accounts = new Map<Address, Account | null>()
  readonly #storage = new Map<Address, Map<Hash, bigint>>()
  readonly #codes = new Map<Hash, Uint8Array>()
  readonly #undo: Undo[] = []
  /** values at transaction start, of the slots that were written since; a revert cannot change them */
  #original = new Map<Address, Map<Hash, bigint>>()
  #touched = new Set<Address>()

  constructor(base: StateReader) {
    this.#base = base
  }

  account(address: Address): Account | null {
    const own = this.#accounts.get(address)
    return own === undefined ? this.#base.account(address) : own
  }

  code(codeHash: Hash): Uint8Array {
    if (codeHash === EMPTY_CODE_HASH) return NO_CODE
    return this.#codes.get(codeHash) ?? this.#base.code(codeHash)
  }

  storage(address: Address, slot: Hash): bigint {
    return this.#storage.get(address)?.get(slot) ?? this.#base.storage(address, slot)
  }

  *slots(address: Address): Iterable<Hash> {
    const own = this.#storage.get(address)
    for (const slot of this.#base.slots(address)) if (own?.has(slot) !== true) yield slot
    if (own !== undefined) for (const [slot, value] of own) if (value !== 0n) yield slot
  }

  /** The code that `address` holds: a delegation designator is code like any other. */
  codeAt(address: Address): Uint8Array {
    const account = this.account(address)
    return account === null ? NO_CODE : this.code(account.codeHash)
  }

  balance(address: Address): bigint {
    return this.account(address)?.balance ?? 0n
  }

  nonce(address: Address): bigint {
    return this.account(address)?.nonce ?? 0n
  }

  /** The slot's value when the transaction began (EIP-2200 prices writes by it). */
  originalStorage(address: Address, slot: Hash): bigint {
    return this.#original.get(address)?.get(slot) ?? this.storage(address, slot)
  }

  /** null removes the account but not its storage: see `clearStorage`. */
  setAccount(address: Address, account: Account | null): void {
    this.#touch(address)
    this.#undo.push({ kind: 'account', address, before: this.#accounts.get(address) })
    this.#accounts.set(address, account)
  }

  setCode(address: Address, code: Uint8Array): void {
    const codeHash = code.length === 0 ? EMPTY_CODE_HASH : Hash.keccak(code)
    if (code.length > 0) this.#codes.set(codeHash, code)
    this.setAccount(address, { ...(this.account(address) ?? FRESH), codeHash })
  }

  setNonce(address: Address, nonce: bigint): void {
    this.setAccount(address, { ...(this.account(address) ?? FRESH), nonce })
  }

  setBalance(address: Address, balance: bigint): void {
    this.setAccount(address, { ...(this.account(address) ?? FRESH), balance })
  }

  /**
   * Adding 0n is a touch too: it deletes an empty account under EIP-161 and creates it before. Stops at 2^256 - 1 (revm):
   * a test may give anybody that much, and fees must then still be payable.
   */
  addBalance(address: Address, wei: bigint): void {
    const sum = this.balance(address) + wei
    this.setBalance(address, sum < BALANCE_MAX ? sum : BALANCE_MAX)
  }

  /** @throws {RangeError} the balance is smaller than `wei`; callers check first */
  subBalance(address: Address, wei: bigint): void {
    const balance = this.balance(address)
    if (balance < wei) throw new RangeError(`${address} holds ${balance} wei, fewer than ${wei}`)
    this.setBalance(address, balance - wei)
  }

  setStorage(address: Address, slot: Hash, value: bigint): void {
    let own = this.#storage.get(address)
    if (own === undefined) this.#storage.set(address, (own = new Map()))
    const before = own.get(slot)
    this.#remember(address, slot, before)
    this.#undo.push({ kind: 'slot', address, slot, before })
    own.set(slot, value)
  }

  /** Writes an explicit zero to every slot that holds something. */
  clearStorage(address: Address): void {
    for (const slot of [...this.slots(address)]) this.setStorage(address, slot, 0n)
  }

  /** A mark for `revertTo`. Marks nest; one that is not used costs nothing. */
  checkpoint(): number {
    return this.#undo.length
  }

  /** Back to how everything stood at `mark`, across transactions too. */
  revertTo(mark: number): void {
    while (this.#undo.length > mark) {
      const step = this.#undo.pop()
      if (step !== undefined) this.#takeBack(step)
    }
  }

  /** What holds for one transaction begins anew: original values and touched accounts. */
  beginTransaction(): void {
    this.#original = new Map()
    this.#touched = new Set()
  }

  /** EIP-161: removes what this transaction touched and left empty. */
  removeTouchedEmpty(): void {
    for (const address of [...this.#touched]) {
      const account = this.account(address)
      if (account !== null && isEmpty(account)) this.setAccount(address, null)
    }
  }

  /** Everything that differs from the base. */
  writes(): WriteSet {
    const codes = new Map<Hash, Uint8Array>()
    const accounts = new Map<Address, Account | null>()
    for (const [address, account] of this.#accounts) {
      if (sameAccount(account, this.#base.account(address))) continue
      accounts.set(address, account)
      const code = account === null ? undefined : this.#codes.get(account.codeHash)
      if (account !== null && code !== undefined) codes.set(account.codeHash, code)
    }
    return { accounts, storage: this.#changedStorage(), codes }
  }

  #changedStorage(): ReadonlyMap<Address, ReadonlyMap<Hash, bigint>> {
    const changed = new Map<Address, Map<Hash, bigint>>()
    for (const [address, slots] of this.#storage) {
      const differing = new Map<Hash, bigint>()
      for (const [slot, value] of slots) {
        if (this.#base.storage(address, slot) !== value) differing.set(slot, value)
      }
      if (differing.size > 0) changed.set(address, differing)
    }
    return changed
  }

  #remember(address: Address, slot: Hash, before: bigint | undefined): void {
    let original = this.#original.get(address)
    if (original === undefined) this.#original.set(address, (original = new Map()))
    if (!original.has(slot)) original.set(slot, before ?? this.#base.storage(address, slot))
  }

  #touch(address: Address): void {
    if (this.#touched.has(address)) return
    this.#touched.add(address)
    if (address !== RIPEMD_160) this.#undo.push({ kind: 'touch', address })
  }

  #takeBack(step: Undo): void {
    if (step.kind === 'touch') {
      this.#touched.delete(step.address)
    } else if (step.kind === 'account') {
      if (step.before === undefined) this.#accounts.delete(step.address)
      else this.#accounts.set(step.address, step.before)
    } else {
      const own = this.#storage.get(step.address)
      if (step.before === undefined) own?.delete(step.slot)
      else own?.set(step.slot, step.before)
    }
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
