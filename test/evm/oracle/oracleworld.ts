import { Address, EMPTY_CODE_HASH, Hash } from '../../../src/eth/index.ts'
import { isEmpty } from '../../../src/evm/index.ts'
import type { Account, StateReader, WriteSet } from '../../../src/evm/index.ts'

const NO_CODE = new Uint8Array()
const FRESH: Account = { nonce: 0n, balance: 0n, codeHash: EMPTY_CODE_HASH }

/** Its touch survives a revert: mainnet block 2675119. */
const RIPEMD_160 = Address.fromBigint(3n)

type Undo =
  | { readonly kind: 'account'; readonly address: Address; readonly before: Account | null | undefined }
  | { readonly kind: 'slot'; readonly address: Address; readonly slot: Hash; readonly before: bigint | undefined }
  | { readonly kind: 'touch'; readonly address: Address }

/** The oracle's state: maps over a base, and an undo list. Simple rather than fast. */
export class OracleWorld implements StateReader {
  readonly #base: StateReader
  readonly #accounts = new Map<Address, Account | null>()
  readonly #storage = new Map<Address, Map<Hash, bigint>>()
  readonly #codes = new Map<Hash, Uint8Array>()
  readonly #undo: Undo[] = []
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

  codeAt(address: Address): Uint8Array {
    const account = this.account(address)
    return account === null ? NO_CODE : this.code(account.codeHash)
  }

  storage(address: Address, slot: Hash): bigint {
    return this.#storage.get(address)?.get(slot) ?? this.#base.storage(address, slot)
  }

  /** The slot's value at the start of the transaction. */
  originalStorage(address: Address, slot: Hash): bigint {
    return this.#original.get(address)?.get(slot) ?? this.storage(address, slot)
  }

  *slots(address: Address): Iterable<Hash> {
    const own = this.#storage.get(address)
    for (const slot of this.#base.slots(address)) if (own?.has(slot) !== true) yield slot
    if (own !== undefined) for (const [slot, value] of own) if (value !== 0n) yield slot
  }

  setAccount(address: Address, account: Account | null): void {
    if (!this.#touched.has(address)) {
      this.#touched.add(address)
      if (address !== RIPEMD_160) this.#undo.push({ kind: 'touch', address })
    }
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

  setStorage(address: Address, slot: Hash, value: bigint): void {
    const own = mapIn(this.#storage, address)
    const before = own.get(slot)
    const original = mapIn(this.#original, address)
    if (!original.has(slot)) original.set(slot, before ?? this.#base.storage(address, slot))
    this.#undo.push({ kind: 'slot', address, slot, before })
    own.set(slot, value)
  }

  clearStorage(address: Address): void {
    for (const slot of [...this.slots(address)]) this.setStorage(address, slot, 0n)
  }

  checkpoint(): number {
    return this.#undo.length
  }

  revertTo(mark: number): void {
    while (this.#undo.length > mark) {
      const step = this.#undo.pop()
      if (step?.kind === 'touch') this.#touched.delete(step.address)
      else if (step?.kind === 'account') restore(this.#accounts, step.address, step.before)
      else if (step !== undefined) restore(mapIn(this.#storage, step.address), step.slot, step.before)
    }
  }

  beginTransaction(): void {
    this.#original = new Map()
    this.#touched = new Set()
  }

  /** EIP-161 */
  removeTouchedEmpty(): void {
    for (const address of [...this.#touched]) {
      const account = this.account(address)
      if (account !== null && isEmpty(account)) this.setAccount(address, null)
    }
  }

  writes(): WriteSet {
    const accounts = new Map([...this.#accounts].filter(([address, account]) => !same(account, this.#base.account(address))))
    const codes = new Map<Hash, Uint8Array>()
    for (const account of accounts.values()) {
      const code = account === null ? undefined : this.#codes.get(account.codeHash)
      if (account !== null && code !== undefined) codes.set(account.codeHash, code)
    }
    const storage = [...this.#storage].map(([address, slots]) => {
      return [address, new Map([...slots].filter(([slot, value]) => this.#base.storage(address, slot) !== value))] as const
    })
    return { accounts, codes, storage: new Map(storage.filter(([, slots]) => slots.size > 0)) }
  }
}

function mapIn<V>(maps: Map<Address, Map<Hash, V>>, address: Address): Map<Hash, V> {
  let map = maps.get(address)
  if (map === undefined) maps.set(address, (map = new Map()))
  return map
}

function restore<K, V>(map: Map<K, V>, key: K, before: V | undefined): void {
  if (before === undefined) map.delete(key)
  else map.set(key, before)
}

function same(a: Account | null, b: Account | null): boolean {
  return a === b || (a !== null && b !== null && a.nonce === b.nonce && a.balance === b.balance && a.codeHash === b.codeHash)
}
