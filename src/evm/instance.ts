import { EMPTY_CODE_HASH, Hash, Hex } from '../eth/index.ts'
import type { Address } from '../eth/index.ts'
import { type Hooks, NO_HOOKS } from './hooks.ts'
import { KnownSlots } from './knownslots.ts'
import { KNOWN_ACCOUNTS_MAX } from './limits.ts'
import {
  A_ADDRESS,
  A_BALANCE,
  A_CHANGED,
  A_CODE_HASH,
  A_FLAGS,
  A_NONCE,
  C_BYTES,
  C_SIZE,
  DIRTY_ACCOUNTS,
  DIRTY_SLOTS,
  EXISTS,
  HOST,
  RETURN,
  RETURN_END,
  S_KEY,
  S_NEXT,
  S_OWNER,
  S_VALUE,
} from './runtime/layout.ts'
import type { Tier } from './jit/index.ts'
import type { BlockContext } from './message.ts'
import type { Precompile } from './precompiled/precompile.ts'
import type { Account, StateReader } from './state.ts'
import fast from './wasm/fast.ts'
import traced from './wasm/traced.ts'

// Node has it; the ECMAScript library of TypeScript does not, and the DOM's is not wanted.
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array<ArrayBuffer>) => object
  readonly Instance: new (module: object, imports: object) => { readonly exports: object }
}

/** What src/evm/runtime/index.ts exports. Pointers and sizes are numbers, gas is a bigint. */
interface Runtime {
  readonly memory: { readonly buffer: ArrayBuffer }
  execute(creation: number, inputSize: number, gas: bigint): number
  answer(from: number, target: number, inputSize: number, gas: number, fuel: number): number
  account(address: number): number
  slot(account: number, key: number): number
  cachedAccount(address: number): number
  cachedSlot(account: number, key: number): number
  staleAccount(account: number): void
  staleSlot(slot: number): void
  touch(account: number): void
  ensure(account: number): void
  remove(account: number): void
  original(slot: number): number
  setSlot(slot: number, value: number): void
  setCode(account: number, source: number, size: number): void
  codeOf(account: number): number
  codeByHash(hash: number): number
  recordOf(hash: number): number
  newCode(hash: number, size: number): number
  analyse(code: number): void
  delegateOf(account: number): number
  warmAccount(account: number): void
  warmSlot(slot: number): void
  checkpoint(): number
  revertTo(mark: number): void
  beginTransaction(): void
  removeTouchedEmpty(): void
  settled(): void
  forget(): void
  forgetCodes(): void
  returned(size: number): void
  setFuel(fuel: number): void
  /** before anything else */
  setSeed(seed: bigint): void
  clearExhausted(): void
  currentEpoch(): number
  currentMessage(): number
  setTier(mostActive: number, promoteAt: number, first: number): void
  release(): number
  isCrowded(): number
  isFullOfCodes(): number
  accountsUsed(): number
  dirtyAccounts(): number
  dirtySlots(): number
  touchedEnd(): number
  readonly gasLeft: { readonly value: bigint }
  readonly refund: { readonly value: bigint }
  readonly logTop: { readonly value: number }
  setLogs(top: number, count: number): void
  setRefund(refund: bigint): void
  readonly logCount: { readonly value: number }
  readonly returnSize: { readonly value: number }
  readonly memorySize: { readonly value: number }
  readonly memoryBase: { readonly value: number }
  readonly exhausted: { readonly value: number }
}

/** What a run asks of its host besides state. */
export interface Services {
  /** 32 bytes, zeros when unknown; only for the 256 numbers before the block */
  blockHash(number: number): Uint8Array
  precompile(number: number): Precompile | null
  /** fuel for the next stretch; 0: the time is up */
  refuel(): number
  /** Between two pieces of a long computation. Throws OutOfTime. */
  look(): void
  /** told why a precompile failed */
  failed(reason: string): void
}

const LOW = (1n << 64n) - 1n

const modules = new Map<boolean, object>()

/**
 * One instance of the runtime: its memory, seen from here. It reads through to `reader` and remembers what it read, so
 * whoever changes the reader says what has become stale (`follow` in pool.ts) or forgets everything.
 */
export class Instance {
  readonly runtime: Runtime
  readonly isTraced: boolean
  reader: StateReader = NOWHERE
  services: Services = NO_SERVICES
  hooks: Hooks = NO_HOOKS
  /** of what block its memory tells */
  told: BlockContext | null = null
  /** compiled code, once there is any */
  tier: Tier | null = null
  #bytes = new Uint8Array()
  #halves = new Uint32Array()
  #words = new BigUint64Array()
  /** addresses of account entries, by pointer, as far as they have been needed */
  readonly #addresses = new Map<number, Address>()
  /** the other way round, of loaded accounts: one message asks for its sender and its target again and again */
  readonly #entries = new Map<Address, number>()
  readonly #knownSlots = new KnownSlots()

  constructor(isTraced: boolean) {
    this.isTraced = isTraced
    const { exports } = new WebAssembly.Instance(moduleOf(isTraced), { host: this.#imports() })
    this.runtime = exports as Runtime // made from index.ts of the runtime
    this.runtime.setSeed(crypto.getRandomValues(new BigUint64Array(1))[0] as bigint) // one element
    this.#look()
  }

  /** Memory as it is now: it is another buffer after it has grown. */
  get bytes(): Uint8Array {
    if (this.#bytes.length === 0) this.#look()
    return this.#bytes
  }

  get halves(): Uint32Array {
    if (this.#halves.length === 0) this.#look()
    return this.#halves
  }

  get words(): BigUint64Array {
    if (this.#words.length === 0) this.#look()
    return this.#words
  }

  u32(at: number): number {
    return this.halves[at >>> 2] as number // inside of memory
  }

  setU32(at: number, value: number): void {
    this.halves[at >>> 2] = value
  }

  u64(at: number): bigint {
    return this.words[at >>> 3] as bigint // inside of memory
  }

  /** A word of four limbs. */
  word(at: number): bigint {
    const { words } = this
    const place = at >>> 3
    const low = words[place] as bigint // inside of memory, like the others
    const high = words[place + 3] as bigint
    const [b, c] = [words[place + 1] as bigint, words[place + 2] as bigint]
    if (high === 0n && c === 0n) return b === 0n ? low : (b << 64n) | low
    return (((((high << 64n) | c) << 64n) | b) << 64n) | low
  }

  setWord(at: number, value: bigint): void {
    const { words } = this
    const place = at >>> 3
    words[place] = value
    if (value <= LOW) {
      words[place + 1] = 0n
      words[place + 2] = 0n
      words[place + 3] = 0n
      return
    }
    words[place + 1] = value >> 64n
    words[place + 2] = value >> 128n
    words[place + 3] = value >> 192n
  }

  /** A word whose value is at hand as a hash. */
  setKey(at: number, key: Hash): void {
    const { bytes } = this
    for (let i = 0; i < 32; i++) bytes[at + 31 - i] = (nibble(key, 2 + 2 * i) << 4) | nibble(key, 3 + 2 * i)
  }

  key(at: number): Hash {
    const { bytes } = this
    for (let i = 0; i < 32; i++) thirtyTwo[i] = bytes[at + 31 - i] as number // inside of memory
    return Hex.fromBytes(thirtyTwo) as Hash // 32 bytes
  }

  setAddress(at: number, address: Address): void {
    const { bytes } = this
    for (let i = 0; i < 20; i++) bytes[at + i] = (nibble(address, 2 + 2 * i) << 4) | nibble(address, 3 + 2 * i)
  }

  /** The address of an account. */
  copyAddress(at: number, account: number): void {
    const { halves } = this
    const [from, to] = [(account + A_ADDRESS) >>> 2, at >>> 2]
    for (let i = 0; i < 5; i++) halves[to + i] = halves[from + i] as number // inside of memory
  }

  address(at: number): Address {
    return Hex.fromBytes(this.bytes.subarray(at, at + 20)) as Address // 20 bytes
  }

  hash(at: number): Hash {
    return Hex.fromBytes(this.bytes.subarray(at, at + 32)) as Hash // 32 bytes
  }

  /** A copy. */
  slice(at: number, size: number): Uint8Array {
    return this.bytes.slice(at, at + size)
  }

  // --- accounts and slots, by pointer -----------------------------------------------------------------------------------

  account(address: Address): number {
    let entry = this.#entries.get(address)
    if (entry !== undefined) return entry
    this.setAddress(HOST, address)
    entry = this.runtime.account(HOST)
    if (this.#entries.size === KNOWN_ACCOUNTS_MAX) this.#entries.clear()
    this.#entries.set(address, entry)
    return entry
  }

  slot(account: number, key: Hash): number {
    this.setKey(HOST, key)
    return this.runtime.slot(account, HOST)
  }

  /** As `slot`; remembers those of the account that was asked for last. */
  knownSlot(account: number, key: Hash): number {
    let entry = this.#knownSlots.find(account, key)
    if (entry === undefined) this.#knownSlots.add(account, key, (entry = this.slot(account, key)))
    return entry
  }

  addressOf(account: number): Address {
    let address = this.#addresses.get(account)
    if (address === undefined) this.#addresses.set(account, (address = this.address(account + A_ADDRESS)))
    return address
  }

  exists(account: number): boolean {
    return (this.u32(account + A_FLAGS) & EXISTS) !== 0
  }

  read(account: number): Account | null {
    if (!this.exists(account)) return null
    return { nonce: this.u64(account + A_NONCE), balance: this.word(account + A_BALANCE), codeHash: this.hash(account + A_CODE_HASH) }
  }

  /** A record's bytes, a copy. */
  code(record: number): Uint8Array {
    return this.slice(record + C_BYTES, this.u32(record + C_SIZE))
  }

  *dirtyAccounts(): Iterable<number> {
    const count = this.runtime.dirtyAccounts()
    for (let i = 0; i < count; i++) yield this.u32(DIRTY_ACCOUNTS + 4 * i)
  }

  *dirtySlots(): Iterable<number> {
    const count = this.runtime.dirtySlots()
    for (let i = 0; i < count; i++) yield this.u32(DIRTY_SLOTS + 4 * i)
  }

  /** What the reader says about an account, or about one of its slots, is another now. */
  stale(address: Address, slot: Hash | null): void {
    this.setAddress(HOST, address)
    const account = this.runtime.cachedAccount(HOST)
    if (account === 0) return
    if (slot === null) {
      this.#entries.delete(address)
      return this.runtime.staleAccount(account)
    }
    this.#knownSlots.forget(account, slot)
    this.setKey(HOST, slot)
    const entry = this.runtime.cachedSlot(account, HOST)
    if (entry !== 0) this.runtime.staleSlot(entry)
  }

  #forgetPlaces(): void {
    this.#addresses.clear()
    this.#entries.clear()
    this.#knownSlots.forgetAll()
  }

  /** Nothing of what was read is believed any more. */
  forget(): void {
    this.#forgetPlaces()
    this.runtime.forget()
  }

  /** Takes back what ran, and keeps nothing alive that it had: a tracer may have gathered megabytes. False: the next message might not find room. */
  release(): boolean {
    this.services = NO_SERVICES
    this.hooks = NO_HOOKS
    return this.runtime.release() !== 0
  }

  /** Forgets what crowds it. Nothing may be open. */
  makeRoom(): void {
    if (this.runtime.isCrowded() === 0) return
    if (this.runtime.isFullOfCodes() === 0) return this.forget()
    this.#forgetPlaces()
    this.tier?.forgetCodes()
    this.runtime.forgetCodes()
  }

  // --- what the runtime asks ------------------------------------------------------------------------------------------------

  #imports(): object {
    return {
      loadAccount: (entry: number) => this.#loadAccount(entry),
      loadSlot: (entry: number) => this.#loadSlot(entry),
      loadCode: (hash: number) => this.#loadCode(hash),
      hasStorage: (entry: number) => this.#hasStorage(entry),
      blockHash: (number: number, out: number) => this.bytes.set(this.services.blockHash(number), out),
      precompile: (number: number, input: number, size: number, gas: number) => this.#precompile(number, input, size, gas),
      refuel: () => this.services.refuel(),
      promote: (code: number) => this.tier?.promote(code) ?? 0,
      step: (pc: number, op: number, gas: number, depth: number, sp: number, base: number) => this.hooks.step(pc, op, gas, depth, sp, base),
      fault: (reason: number, left: number) => this.hooks.fault(reason, left),
      enter: (...entered: Parameters<Hooks['enter']>) => this.hooks.enter(...entered),
      leave: (...left: Parameters<Hooks['leave']>) => this.hooks.leave(...left),
      log: (at: number) => this.hooks.log(at),
    }
  }

  #loadAccount(entry: number): void {
    const account = this.reader.account(this.addressOf(entry))
    this.setU32(entry + A_FLAGS, account === null ? 0 : EXISTS)
    this.words[(entry + A_NONCE) >>> 3] = account?.nonce ?? 0n
    this.setWord(entry + A_BALANCE, account?.balance ?? 0n)
    const codeHash = account?.codeHash ?? EMPTY_CODE_HASH
    if (codeHash === EMPTY_CODE_HASH) this.bytes.set(EMPTY, entry + A_CODE_HASH)
    else this.bytes.set(Hash.toBytes(codeHash), entry + A_CODE_HASH)
  }

  #loadSlot(entry: number): void {
    const value = this.reader.storage(this.addressOf(this.u32(entry + S_OWNER)), this.key(entry + S_KEY))
    this.setWord(entry + S_VALUE, value)
  }

  #loadCode(at: number): number {
    const hash = this.hash(at)
    const code = hash === EMPTY_CODE_HASH ? NOTHING : this.reader.code(hash)
    const record = this.runtime.newCode(at, code.length)
    this.bytes.set(code, record + C_BYTES)
    this.runtime.analyse(record)
    return record
  }

  /** Only for a creation at an address without nonce and code: what the reader holds, unless it was cleared here since. */
  #hasStorage(account: number): number {
    for (const _ of this.slotsOf(account)) return 1
    return 0
  }

  /** The slots of an account that are not zero. */
  *slotsOf(account: number): Iterable<Hash> {
    const own = new Map<Hash, boolean>()
    // Each creation asks, so this must not look at what others have written.
    for (let slot = this.u32(account + A_CHANGED); slot !== 0; slot = this.u32(slot + S_NEXT)) {
      own.set(this.key(slot + S_KEY), this.word(slot + S_VALUE) !== 0n)
    }
    for (const slot of this.reader.slots(this.addressOf(account))) if (!own.has(slot)) yield slot
    for (const [slot, holds] of own) if (holds) yield slot
  }

  #precompile(number: number, input: number, size: number, gas: number): number {
    const precompile = this.services.precompile(number)
    if (precompile === null) throw new Error(`the rules have a precompile ${number} that nobody wrote`)
    const view = this.bytes.subarray(input, input + size)
    const cost = precompile.gas(view)
    if (cost > gas) return UNPAID
    const output = precompile.run(view, this.#lookAtClock)
    if (typeof output === 'string') {
      this.services.failed(output)
      return FAILED
    }
    if (output.length > RETURN_END - RETURN) return UNPAID
    this.bytes.set(output, RETURN)
    this.runtime.returned(output.length)
    return cost
  }

  readonly #lookAtClock = () => this.services.look()

  #look(): void {
    const { buffer } = this.runtime.memory
    this.#bytes = new Uint8Array(buffer)
    this.#halves = new Uint32Array(buffer)
    this.#words = new BigUint64Array(buffer)
  }
}

const FAILED = -1
const UNPAID = -2
const NOTHING = new Uint8Array()
const EMPTY = Hash.toBytes(EMPTY_CODE_HASH)
const thirtyTwo = new Uint8Array(32)

function moduleOf(isTraced: boolean): object {
  let module = modules.get(isTraced)
  if (module === undefined) {
    const text = atob(isTraced ? traced : fast)
    const bytes = new Uint8Array(text.length)
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i)
    modules.set(isTraced, (module = new WebAssembly.Module(bytes)))
  }
  return module
}

/** Of a digit 0-9a-f. */
function nibble(text: string, at: number): number {
  const code = text.charCodeAt(at)
  return (code & 15) + 9 * (code >>> 6) // no branch: nothing foresees digits
}

/** No state: what an instance reads before anybody has it. */
const NOWHERE: StateReader = {
  account: () => null,
  code: () => NOTHING,
  storage: () => 0n,
  slots: () => [],
}

const NO_SERVICES: Services = {
  blockHash: () => new Uint8Array(32),
  precompile: () => null,
  refuel: () => 0,
  look: () => {},
  failed: () => {},
}
