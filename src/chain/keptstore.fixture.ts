import { EMPTY_CODE_HASH } from '../eth/index.ts'
import type { Address, Block, Hash, Header } from '../eth/index.ts'
import type { Account, StateReader, WriteSet } from '../evm/index.ts'
import { MemoryStore } from '../store/index.ts'
import type { BlockStore, KeptState, Location, LogFilter, Place, PlacedLog } from './blocks.ts'
import { NO_WRITES, PrunedState } from './state.ts'
import { Writes } from './writes.ts'

/** What is durable: it outlasts the store that it was made by. */
interface Durable {
  readonly blocks: readonly Block[]
  /** after each block and its edits */
  readonly states: readonly PlainState[]
  readonly stateRoot: Hash | null
  readonly journal: Uint8Array | null
  readonly floor: number
}

interface Staged {
  cut: number | null
  blocks: Block[]
  writes: WriteSet[]
  edit: WriteSet | null
  stateRoot: (() => Hash) | null
  journal: Uint8Array | null | undefined
}

const NOTHING: Durable = { blocks: [], states: [], stateRoot: null, journal: null, floor: 0 }

/** A store that keeps blocks, state and the journal, and can be opened again as it was after its last flush: everything is a plain copy. */
export class KeptStore implements BlockStore {
  #durable: Durable
  #blocks: MemoryStore
  #staged: Staged = fresh()
  readonly kept: KeptState
  readonly promised: Uint8Array | null
  flushes = 0
  /** called before a flush; what it throws is what a full disk throws */
  beforeFlush: () => void = () => undefined

  constructor(durable: Durable = NOTHING) {
    this.#durable = durable
    this.#blocks = filled(durable.blocks)
    this.promised = durable.journal
    this.kept = kept(() => this.#durable)
  }

  /** As another process finds it when this one is gone. */
  reopened(): KeptStore {
    return new KeptStore(this.#durable)
  }

  get journal(): Uint8Array | null {
    return this.#durable.journal
  }

  /** Damage: the newest state is another one than its root says. */
  damaged(address: Address, account: Account): KeptStore {
    const states = this.#durable.states.slice()
    states.push(states.pop()!.with({ accounts: new Map([[address, account]]), storage: new Map(), codes: new Map() }))
    return new KeptStore({ ...this.#durable, states })
  }

  /** State below `floor` cannot be read any more. */
  prune(floor: number): void {
    this.#durable = { ...this.#durable, floor }
  }

  get height(): number {
    return this.#durable.blocks.length - 1
  }

  append(block: Block, writes: WriteSet): void {
    const { cut, blocks } = this.#staged
    const next = (cut ?? this.height) + 1 + blocks.length
    if (block.header.number !== next) throw new RangeError(`block ${block.header.number} is not the next one, ${next}`)
    blocks.push(block)
    this.#staged.writes.push(writes)
  }

  edit(writes: WriteSet, stateRoot: () => Hash): void {
    this.#staged.edit = writes
    this.#staged.stateRoot = stateRoot
  }

  promise(journal: Uint8Array | null): void {
    this.#staged.journal = journal
  }

  truncate(number: number): void {
    this.#staged = { ...fresh(), cut: Math.min(number, this.height), journal: this.#staged.journal }
  }

  flush(): void {
    const staged = this.#staged
    this.#staged = fresh()
    this.flushes++
    this.beforeFlush()
    const { cut, blocks, writes, edit, journal } = staged
    const before = this.#durable
    const states = before.states.slice(0, (cut ?? this.height) + 1)
    for (const each of writes) states.push((states.at(-1) ?? PlainState.empty).with(each))
    if (edit !== null) states.push(states.pop()!.with(edit))
    const all = [...before.blocks.slice(0, (cut ?? this.height) + 1), ...blocks]
    this.#durable = {
      blocks: all,
      states,
      stateRoot: staged.stateRoot?.() ?? (blocks.length > 0 ? all.at(-1)!.header.stateRoot : before.stateRoot),
      journal: journal === undefined ? before.journal : journal,
      floor: Math.min(before.floor, all.length - 1),
    }
    if (cut !== null) this.#blocks.truncate(cut)
    for (const block of blocks) this.#blocks.append(block, NO_WRITES)
    this.#blocks.flush()
  }

  byNumber(number: number): Block | null {
    return this.#blocks.byNumber(number)
  }

  byHash(hash: Hash): Block | null {
    return this.#blocks.byHash(hash)
  }

  locate(transactionHash: Hash): Location | null {
    return this.#blocks.locate(transactionHash)
  }

  numberOf(hash: Hash): number | null {
    return this.#blocks.numberOf(hash)
  }

  placeOf(transactionHash: Hash): Place | null {
    return this.#blocks.placeOf(transactionHash)
  }

  headerOf(number: number): Header | null {
    return this.#blocks.headerOf(number)
  }

  hashOf(number: number): Hash | null {
    return this.#blocks.hashOf(number)
  }

  timestampOf(number: number): number | null {
    return this.#blocks.timestampOf(number)
  }

  logs(filter: LogFilter, from: number, to: number): Iterable<PlacedLog> {
    return this.#blocks.logs(filter, from, to)
  }

  countLogs(filter: LogFilter, from: number, to: number): number {
    return this.#blocks.countLogs(filter, from, to)
  }

  logsText(filter: LogFilter, from: number, to: number): Iterable<Uint8Array> {
    return this.#blocks.logsText(filter, from, to)
  }

  blockText(number: number, full: boolean): Uint8Array {
    return this.#blocks.blockText(number, full)
  }

  receiptsText(number: number): Uint8Array {
    return this.#blocks.receiptsText(number)
  }

  transactionText(place: Place): Uint8Array {
    return this.#blocks.transactionText(place)
  }

  receiptText(place: Place): Uint8Array {
    return this.#blocks.receiptText(place)
  }
}

function fresh(): Staged {
  return { cut: null, blocks: [], writes: [], edit: null, stateRoot: null, journal: undefined }
}

function filled(blocks: readonly Block[]): MemoryStore {
  const store = new MemoryStore()
  for (const block of blocks) store.append(block, NO_WRITES)
  store.flush()
  return store
}

function kept(durable: () => Durable): KeptState {
  const stateAt = (number: number): PlainState => {
    const { floor, states } = durable()
    if (number < floor) throw new PrunedState(number)
    return states[number]!
  }
  return {
    get floor() {
      return durable().floor
    },
    get stateRoot() {
      return durable().stateRoot!
    },
    whole: () => durable().states.at(-1)!.whole(),
    at: stateAt,
    writesBack: (number) => stateAt(number).difference(durable().states.at(-1)!),
  }
}

/** A state that never changes. */
class PlainState implements StateReader {
  static readonly empty = new PlainState(new Map(), new Map(), new Map())
  readonly #accounts: ReadonlyMap<Address, Account>
  readonly #storage: ReadonlyMap<Address, ReadonlyMap<Hash, bigint>>
  readonly #codes: ReadonlyMap<Hash, Uint8Array>

  constructor(
    accounts: ReadonlyMap<Address, Account>,
    storage: ReadonlyMap<Address, ReadonlyMap<Hash, bigint>>,
    codes: ReadonlyMap<Hash, Uint8Array>,
  ) {
    this.#accounts = accounts
    this.#storage = storage
    this.#codes = codes
  }

  account(address: Address): Account | null {
    return this.#accounts.get(address) ?? null
  }

  code(codeHash: Hash): Uint8Array {
    const code = codeHash === EMPTY_CODE_HASH ? new Uint8Array() : this.#codes.get(codeHash)
    if (code === undefined) throw new Error(`the code ${codeHash} is not kept`)
    return code
  }

  storage(address: Address, slot: Hash): bigint {
    return this.#storage.get(address)?.get(slot) ?? 0n
  }

  *slots(address: Address): Iterable<Hash> {
    yield* this.#storage.get(address)?.keys() ?? []
  }

  with({ accounts, storage, codes }: WriteSet): PlainState {
    const newAccounts = new Map(this.#accounts)
    const newStorage = new Map(this.#storage)
    for (const [address, account] of accounts) {
      if (account === null) newAccounts.delete(address)
      else newAccounts.set(address, account)
      if (account === null) newStorage.delete(address)
    }
    for (const [address, slots] of storage) {
      if (!newAccounts.has(address)) continue
      const values = new Map(newStorage.get(address))
      for (const [slot, value] of slots) {
        if (value === 0n) values.delete(slot)
        else values.set(slot, value)
      }
      newStorage.set(address, values)
    }
    return new PlainState(newAccounts, newStorage, new Map([...this.#codes, ...codes]))
  }

  /** In pieces of one account each. */
  *whole(): Iterable<WriteSet> {
    for (const [address] of this.#accounts) {
      const writes = new Writes()
      this.#copy(address, writes)
      yield writes
    }
  }

  /** What makes this one of `other`. */
  difference(other: PlainState): WriteSet {
    const writes = new Writes()
    for (const address of other.#accounts.keys()) if (!this.#accounts.has(address)) writes.setAccount(address, null)
    for (const address of this.#accounts.keys()) {
      this.#copy(address, writes)
      for (const slot of other.slots(address)) if (this.storage(address, slot) === 0n) writes.setSlot(address, slot, 0n)
    }
    return writes
  }

  #copy(address: Address, writes: Writes): void {
    const account = this.account(address)!
    writes.setAccount(address, account)
    writes.codes.set(account.codeHash, this.code(account.codeHash))
    for (const [slot, value] of this.#storage.get(address) ?? []) writes.setSlot(address, slot, value)
  }
}
