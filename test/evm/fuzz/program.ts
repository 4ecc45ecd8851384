import { EMPTY_CODE_HASH, Hash, Hex } from '../../../src/eth/index.ts'
import type { AccessListItem, Address } from '../../../src/eth/index.ts'
import type { Account, L1Fork, OpFork, StateKey, StateReader, WriteSet } from '../../../src/evm/index.ts'
import { OP } from './opcodes.ts'

/** Code in removable pieces: jumps refer to labels. */
export type Item =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  /** a JUMPDEST */
  | { readonly kind: 'label'; readonly id: number }
  /** PUSH2 of the position of a label or data; 0 if it is absent */
  | { readonly kind: 'push'; readonly id: number }
  /** code as data, to be copied */
  | { readonly kind: 'data'; readonly id: number; readonly items: readonly Item[] }

/** Transition of the world after a message. */
export type After =
  /** the transaction is kept and the next one follows */
  | 'keep'
  /** reverted, as an eth_call */
  | 'undo'
  /** becomes the base of the same world */
  | 'rebase'
  /** becomes the base of a new world */
  | 'reopen'
  /** is dropped with its base: a new world on the previous base */
  | 'back'

interface Common<Code> {
  readonly fork: L1Fork | OpFork
  readonly codeSizeLimit: number | null
  readonly accounts: readonly AccountOf<Code>[]
  readonly messages: readonly MessageOf<Code>[]
}

export interface AccountOf<Code> {
  readonly address: Address
  readonly nonce: bigint
  readonly balance: bigint
  readonly code: Code
  readonly storage: readonly (readonly [slot: bigint, value: bigint])[]
}

export interface MessageOf<Code> {
  readonly caller: Address
  readonly to: Address | null
  readonly data: Code
  readonly value: bigint
  readonly gas: bigint
  readonly accessList: readonly AccessListItem[]
  readonly blobs: number
  readonly moved: readonly (readonly [to: Address, from: Address])[]
  readonly masked: readonly Address[]
  readonly after: After
}

/** As generated, with code in items. */
export type Program = Common<readonly Item[]>
/** As run, with code in bytes. */
export type Case = Common<Hex>

export function assemble(program: Program): Case {
  return {
    ...program,
    accounts: program.accounts.map((account) => ({ ...account, code: Hex.fromBytes(assembleCode(account.code)) })),
    messages: program.messages.map((message) => ({ ...message, data: Hex.fromBytes(assembleCode(message.data)) })),
  }
}

export function assembleCode(items: readonly Item[]): Uint8Array {
  const parts = items.map((item) => (item.kind === 'data' ? assembleCode(item.items) : item))
  const places = new Map<number, number>()
  let length = 0
  for (const [index, item] of items.entries()) {
    if (item.kind === 'label' || item.kind === 'data') places.set(item.id, length)
    const part = parts[index]
    length += part instanceof Uint8Array ? part.length : sizeOf(item)
  }
  const code = new Uint8Array(length)
  let at = 0
  for (const [index, item] of items.entries()) {
    const part = parts[index]
    const bytes = part instanceof Uint8Array ? part : bytesOf(item, places)
    code.set(bytes, at)
    at += bytes.length
  }
  return code
}

function sizeOf(item: Item): number {
  return item.kind === 'bytes' ? item.bytes.length : item.kind === 'push' ? 3 : 1
}

function bytesOf(item: Item, places: ReadonlyMap<number, number>): Uint8Array {
  if (item.kind === 'bytes') return item.bytes
  if (item.kind !== 'push') return Uint8Array.of(OP.JUMPDEST)
  const place = places.get(item.id) ?? 0
  return Uint8Array.of(OP.PUSH2, place >> 8, place & 255)
}

/** Immutable state with the accounts of a case. */
export class BaseState implements StateReader {
  readonly #accounts: ReadonlyMap<Address, Account>
  readonly #storage: ReadonlyMap<Address, ReadonlyMap<Hash, bigint>>
  readonly #codes: ReadonlyMap<Hash, Uint8Array>
  /** the previous state, and the writes since */
  readonly #before: BaseState | null
  readonly #changed: readonly StateKey[]
  readonly identity = {}

  private constructor(
    accounts: ReadonlyMap<Address, Account>,
    storage: ReadonlyMap<Address, ReadonlyMap<Hash, bigint>>,
    codes: ReadonlyMap<Hash, Uint8Array>,
    before: BaseState | null = null,
    changed: readonly StateKey[] = [],
  ) {
    this.#before = before
    this.#changed = changed
    this.#accounts = accounts
    this.#storage = storage
    this.#codes = codes
  }

  static of({ accounts }: Case): BaseState {
    const codes = new Map<Hash, Uint8Array>()
    const plain = accounts.map(({ address, nonce, balance, code }) => {
      const bytes = Hex.toBytes(code)
      const codeHash = bytes.length === 0 ? EMPTY_CODE_HASH : Hash.keccak(bytes)
      codes.set(codeHash, bytes)
      return [address, { nonce, balance, codeHash }] as const
    })
    const storage = accounts.map(({ address, storage }) => {
      return [address, new Map(storage.map(([slot, value]) => [Hash.fromBigint(slot), value]))] as const
    })
    return new BaseState(new Map(plain), new Map(storage), codes)
  }

  get before(): BaseState {
    return this.#before ?? this
  }

  /** The state after these writes. */
  with(writes: WriteSet): BaseState {
    const accounts = new Map(this.#accounts)
    const storage = new Map(this.#storage)
    const changed: StateKey[] = []
    for (const [address, account] of writes.accounts) {
      changed.push({ address, slot: null })
      if (account !== null) {
        accounts.set(address, account)
        continue
      }
      // A removed account loses its storage.
      accounts.delete(address)
      for (const slot of storage.get(address)?.keys() ?? []) changed.push({ address, slot })
      storage.delete(address)
    }
    for (const [address, slots] of writes.storage) {
      const after = new Map([...(storage.get(address) ?? []), ...slots])
      storage.set(address, new Map([...after].filter(([, value]) => value !== 0n)))
      for (const slot of slots.keys()) changed.push({ address, slot })
    }
    return new BaseState(accounts, storage, new Map([...this.#codes, ...writes.codes]), this, changed)
  }

  /** For two states of one history, the keys written in between. */
  changedSince(other: StateReader): readonly StateKey[] | null {
    return this.#since(other) ?? (other instanceof BaseState ? other.#since(this) : null)
  }

  #since(earlier: StateReader): readonly StateKey[] | null {
    if (earlier === this) return []
    const keys = this.#before === null ? null : this.#before.#since(earlier)
    return keys === null ? null : [...keys, ...this.#changed]
  }

  account(address: Address): Account | null {
    return this.#accounts.get(address) ?? null
  }

  code(codeHash: Hash): Uint8Array {
    return this.#codes.get(codeHash) ?? new Uint8Array()
  }

  storage(address: Address, slot: Hash): bigint {
    return this.#storage.get(address)?.get(slot) ?? 0n
  }

  slots(address: Address): Iterable<Hash> {
    return this.#storage.get(address)?.keys() ?? []
  }
}

/** A case as one line of JSON; a bigint as `"12n"`. */
export function printCase(it: Case): string {
  return JSON.stringify(it, (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value))
}

export function parseCase(text: string): Case {
  const revive = (_: string, value: unknown) => (typeof value === 'string' && /^\d+n$/.test(value) ? BigInt(value.slice(0, -1)) : value)
  return JSON.parse(text, revive) as Case // printed by `printCase`
}
