import { EMPTY_CODE_HASH, Hash, Hex } from '../eth/index.ts'
import type { Address } from '../eth/index.ts'
import { type Hooks, NO_HOOKS } from './hooks.ts'
import { SlotCache } from './slotcache.ts'
import { ACCOUNT_CACHE_MAX } from './limits.ts'
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
  HOST_SCRATCH,
  RETURN,
  RETURN_END,
  S_KEY,
  S_NEXT,
  S_OWNER,
  S_VALUE,
} from './runtime/layout.ts'
import type { Tier } from './jit/index.ts'
import type { BlockContext } from './message.ts'
import type { Precompile } from './precompiles/precompile.ts'
import type { Account, StateReader } from './state.ts'
import fast from './wasm/fast.ts'
import traced from './wasm/traced.ts'
import { WebAssembly } from './webassembly.ts'

/** Exports of src/evm/runtime/index.ts. Pointers and sizes are numbers, gas is a bigint. */
interface Runtime {
  readonly memory: { readonly buffer: ArrayBuffer }
  execute(creation: number, inputSize: number, gas: bigint): number
  executeCall(from: number, target: number, inputSize: number, gas: number, fuel: number): number
  account(address: number): number
  slot(account: number, key: number): number
  cachedAccount(address: number): number
  cachedSlot(account: number, key: number): number
  invalidateAccount(account: number): void
  invalidateSlot(slot: number): void
  touch(account: number): void
  ensureExists(account: number): void
  remove(account: number): void
  originalValue(slot: number): number
  setSlot(slot: number, value: number): void
  setCode(account: number, source: number, size: number): void
  codeOf(account: number): number
  codeByHash(hash: number): number
  findCodeRecord(hash: number): number
  allocateCode(hash: number, size: number): number
  markJumpDestinations(code: number): void
  delegateOf(account: number): number
  warmAccount(account: number): void
  warmSlot(slot: number): void
  checkpoint(): number
  revertTo(mark: number): void
  beginTransaction(): void
  removeTouchedEmpty(): void
  markClean(): void
  clearState(): void
  clearCodes(): void
  setReturnSize(size: number): void
  setFuel(fuel: number): void
  /** called first */
  setSeed(seed: bigint): void
  clearTrapReason(): void
  currentEpoch(): number
  currentMessage(): number
  setTier(depthMax: number, promoteAt: number, firstSlot: number): void
  releaseState(): number
  isNearlyFull(): number
  areCodesNearlyFull(): number
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
  readonly trapReason: { readonly value: number }
}

/** Callbacks of the runtime besides state access. */
export interface HostCallbacks {
  /** 32 bytes, zeros if unknown; called only for the 256 numbers before the block */
  blockHash(number: number): Uint8Array
  precompile(number: number): Precompile | null
  /** fuel until the next call; 0: time is up */
  refuel(): number
  /** Called repeatedly in a long computation. @throws {OutOfTime} */
  checkDeadline(): void
  /** receives the error of a precompile */
  onPrecompileError(reason: string): void
  /** receives the call data of a call to the console address: `size` bytes of `memory` at `at`, valid until it returns */
  onConsoleCall(memory: Uint8Array, at: number, size: number): void
}

const U64_MAX = (1n << 64n) - 1n

const modules = new Map<boolean, object>()

/**
 * One instance of the runtime and typed access to its memory. It reads through `reader` and caches what it read, so a change of the reader
 * requires `invalidate` or `clear` (`switchState` in instancepool.ts).
 */
export class Instance {
  readonly runtime: Runtime
  readonly isTraced: boolean
  reader: StateReader = EMPTY_STATE
  callbacks: HostCallbacks = NO_CALLBACKS
  hooks: Hooks = NO_HOOKS
  /** block whose parameters are in memory */
  blockContext: BlockContext | null = null
  /** Tier 1, once it has been switched on */
  tier: Tier | null = null
  #bytes = new Uint8Array()
  #u32s = new Uint32Array()
  #u64s = new BigUint64Array()
  /** addresses of account entries, by pointer */
  readonly #addressCache = new Map<number, Address>()
  /** pointers of account entries, by address: one message looks up its sender and its target repeatedly */
  readonly #accountCache = new Map<Address, number>()
  readonly #slotCache = new SlotCache()

  constructor(isTraced: boolean) {
    this.isTraced = isTraced
    const { exports } = new WebAssembly.Instance(moduleOf(isTraced), { host: this.#imports() })
    this.runtime = exports as Runtime // exports of runtime/index.ts
    this.runtime.setSeed(crypto.getRandomValues(new BigUint64Array(1))[0] as bigint) // one element
    this.#refreshViews()
  }

  /** Memory. A new view is created after growth, which detaches the old one. */
  get bytes(): Uint8Array {
    if (this.#bytes.length === 0) this.#refreshViews()
    return this.#bytes
  }

  get u32s(): Uint32Array {
    if (this.#u32s.length === 0) this.#refreshViews()
    return this.#u32s
  }

  get u64s(): BigUint64Array {
    if (this.#u64s.length === 0) this.#refreshViews()
    return this.#u64s
  }

  u32(at: number): number {
    return this.u32s[at >>> 2] as number // inside of memory
  }

  setU32(at: number, value: number): void {
    this.u32s[at >>> 2] = value
  }

  u64(at: number): bigint {
    return this.u64s[at >>> 3] as bigint // inside of memory
  }

  /** A word: four limbs, least significant first. */
  word(at: number): bigint {
    const { u64s: words } = this
    const place = at >>> 3
    const low = words[place] as bigint // inside of memory, like the others
    const high = words[place + 3] as bigint
    const [b, c] = [words[place + 1] as bigint, words[place + 2] as bigint]
    if (high === 0n && c === 0n) return b === 0n ? low : (b << 64n) | low
    return (((((high << 64n) | c) << 64n) | b) << 64n) | low
  }

  setWord(at: number, value: bigint): void {
    const { u64s: words } = this
    const place = at >>> 3
    words[place] = value
    if (value <= U64_MAX) {
      words[place + 1] = 0n
      words[place + 2] = 0n
      words[place + 3] = 0n
      return
    }
    words[place + 1] = value >> 64n
    words[place + 2] = value >> 128n
    words[place + 3] = value >> 192n
  }

  /** Writes a word from its hex form. */
  setKey(at: number, key: Hash): void {
    const { bytes } = this
    for (let i = 0; i < 32; i++) bytes[at + 31 - i] = (nibble(key, 2 + 2 * i) << 4) | nibble(key, 3 + 2 * i)
  }

  key(at: number): Hash {
    const { bytes } = this
    for (let i = 0; i < 32; i++) scratch32[i] = bytes[at + 31 - i] as number // inside of memory
    return Hex.fromBytes(scratch32) as Hash // 32 bytes
  }

  setAddress(at: number, address: Address): void {
    const { bytes } = this
    for (let i = 0; i < 20; i++) bytes[at + i] = (nibble(address, 2 + 2 * i) << 4) | nibble(address, 3 + 2 * i)
  }

  /** Copies the address of an account entry. */
  copyAddress(at: number, account: number): void {
    const { u32s } = this
    const [from, to] = [(account + A_ADDRESS) >>> 2, at >>> 2]
    for (let i = 0; i < 5; i++) u32s[to + i] = u32s[from + i] as number // inside of memory
  }

  address(at: number): Address {
    return Hex.fromRange(this.bytes, at, 20) as Address // 20 bytes
  }

  hash(at: number): Hash {
    return Hex.fromRange(this.bytes, at, 32) as Hash // 32 bytes
  }

  /** Returns a copy. */
  slice(at: number, size: number): Uint8Array {
    return this.bytes.slice(at, at + size)
  }

  // --- accounts and slots, by pointer -----------------------------------------------------------------------------------

  account(address: Address): number {
    let entry = this.#accountCache.get(address)
    if (entry !== undefined) return entry
    this.setAddress(HOST_SCRATCH, address)
    entry = this.runtime.account(HOST_SCRATCH)
    if (this.#accountCache.size === ACCOUNT_CACHE_MAX) this.#accountCache.clear()
    this.#accountCache.set(address, entry)
    return entry
  }

  slot(account: number, key: Hash): number {
    this.setKey(HOST_SCRATCH, key)
    return this.runtime.slot(account, HOST_SCRATCH)
  }

  /** As `slot`, cached for the account that was accessed last. */
  cachedSlot(account: number, key: Hash): number {
    let entry = this.#slotCache.find(account, key)
    if (entry === undefined) this.#slotCache.add(account, key, (entry = this.slot(account, key)))
    return entry
  }

  addressOf(account: number): Address {
    let address = this.#addressCache.get(account)
    if (address === undefined) this.#addressCache.set(account, (address = this.address(account + A_ADDRESS)))
    return address
  }

  exists(account: number): boolean {
    return (this.u32(account + A_FLAGS) & EXISTS) !== 0
  }

  /** `before`: an earlier value of the account, whose code hash is likely the same. */
  read(account: number, before: Account | null = null): Account | null {
    if (!this.exists(account)) return null
    const codeHash = this.#codeHash(account, before?.codeHash ?? EMPTY_CODE_HASH)
    return { nonce: this.u64(account + A_NONCE), balance: this.word(account + A_BALANCE), codeHash }
  }

  /** Most accounts have no code; they share one string. Comparing with the likely hash takes half as long as encoding it. */
  #codeHash(account: number, likely: Hash): Hash {
    const { u32s } = this
    const from = (account + A_CODE_HASH) >>> 2
    for (let i = 0; i < 8; i++) if (u32s[from + i] !== EMPTY_WORDS[i]) return this.#otherCodeHash(account + A_CODE_HASH, likely)
    return EMPTY_CODE_HASH
  }

  #otherCodeHash(at: number, likely: Hash): Hash {
    const { bytes } = this
    for (let i = 0; i < 32; i++) {
      if (bytes[at + i] !== ((nibble(likely, 2 + 2 * i) << 4) | nibble(likely, 3 + 2 * i))) return this.hash(at)
    }
    return likely
  }

  /** Returns a copy of the code. */
  code(record: number): Uint8Array {
    return this.slice(record + C_BYTES, this.u32(record + C_SIZE))
  }

  /** True if an account or a slot may have changed. */
  get isDirty(): boolean {
    return this.runtime.dirtyAccounts() + this.runtime.dirtySlots() > 0
  }

  /** A copy. */
  dirtyAccounts(): Uint32Array {
    return this.u32s.slice(DIRTY_ACCOUNTS >>> 2, (DIRTY_ACCOUNTS >>> 2) + this.runtime.dirtyAccounts())
  }

  /** A copy. */
  dirtySlots(): Uint32Array {
    return this.u32s.slice(DIRTY_SLOTS >>> 2, (DIRTY_SLOTS >>> 2) + this.runtime.dirtySlots())
  }

  /** Marks an account (`slot` null) or a slot as changed in the reader. */
  invalidate(address: Address, slot: Hash | null): void {
    this.setAddress(HOST_SCRATCH, address)
    const account = this.runtime.cachedAccount(HOST_SCRATCH)
    if (account === 0) return
    if (slot === null) {
      this.#accountCache.delete(address)
      return this.runtime.invalidateAccount(account)
    }
    this.#slotCache.delete(account, slot)
    this.setKey(HOST_SCRATCH, slot)
    const entry = this.runtime.cachedSlot(account, HOST_SCRATCH)
    if (entry !== 0) this.runtime.invalidateSlot(entry)
  }

  #clearCaches(): void {
    this.#addressCache.clear()
    this.#accountCache.clear()
    this.#slotCache.clear()
  }

  /** Drops all cached state. */
  clear(): void {
    this.#clearCaches()
    this.runtime.clearState()
  }

  /**
   * Reverts the message and drops references to its callbacks and hooks: a tracer may hold megabytes. Returns false if the next message
   * might not fit.
   */
  release(): boolean {
    this.callbacks = NO_CALLBACKS
    this.hooks = NO_HOOKS
    return this.runtime.releaseState() !== 0
  }

  /** Clears tables that are nearly full. No checkpoint may be open. */
  makeRoom(): void {
    if (this.runtime.isNearlyFull() === 0) return
    if (this.runtime.areCodesNearlyFull() === 0) return this.clear()
    this.#clearCaches()
    this.tier?.clearCodes()
    this.runtime.clearCodes()
  }

  // --- imports of the runtime ------------------------------------------------------------------------------------------------------------

  #imports(): object {
    return {
      loadAccount: (entry: number) => this.#loadAccount(entry),
      loadSlot: (entry: number) => this.#loadSlot(entry),
      loadCode: (hash: number) => this.#loadCode(hash),
      hasStorage: (entry: number) => this.#hasStorage(entry),
      blockHash: (number: number, out: number) => this.bytes.set(this.callbacks.blockHash(number), out),
      precompile: (number: number, input: number, size: number, gas: number) => this.#precompile(number, input, size, gas),
      console: (input: number, size: number) => this.callbacks.onConsoleCall(this.bytes, input, size),
      refuel: () => this.callbacks.refuel(),
      promote: (code: number) => this.tier?.promote(code) ?? 0,
      step: (pc: number, op: number, gas: number, depth: number, sp: number, base: number) => this.hooks.step(pc, op, gas, depth, sp, base),
      fault: (reason: number, left: number) => this.hooks.fault(reason, left),
      enter: (...entered: Parameters<Hooks['enter']>) => this.hooks.enter(...entered),
      exit: (...exited: Parameters<Hooks['exit']>) => this.hooks.exit(...exited),
      log: (at: number) => this.hooks.log(at),
    }
  }

  #loadAccount(entry: number): void {
    const account = this.reader.account(this.addressOf(entry))
    this.setU32(entry + A_FLAGS, account === null ? 0 : EXISTS)
    this.u64s[(entry + A_NONCE) >>> 3] = account?.nonce ?? 0n
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
    const owner = at === HOST_SCRATCH ? undefined : this.addressOf(at - A_CODE_HASH)
    const code = hash === EMPTY_CODE_HASH ? NO_BYTES : this.reader.code(hash, owner)
    const record = this.runtime.allocateCode(at, code.length)
    this.bytes.set(code, record + C_BYTES)
    this.runtime.markJumpDestinations(record)
    return record
  }

  /** Called for a creation at an address without nonce and code (EIP-7610). */
  #hasStorage(account: number): number {
    for (const _ of this.slotsOf(account)) return 1
    return 0
  }

  /** The non-zero slots of an account. */
  *slotsOf(account: number): Iterable<Hash> {
    const changed = new Map<Hash, boolean>()
    // Follows the account's dirty slots only: each creation calls this, so its cost must not depend on other accounts.
    for (let slot = this.u32(account + A_CHANGED); slot !== 0; slot = this.u32(slot + S_NEXT)) {
      changed.set(this.key(slot + S_KEY), this.word(slot + S_VALUE) !== 0n)
    }
    for (const slot of this.reader.slots(this.addressOf(account))) if (!changed.has(slot)) yield slot
    for (const [slot, holds] of changed) if (holds) yield slot
  }

  #precompile(number: number, input: number, size: number, gas: number): number {
    const precompile = this.callbacks.precompile(number)
    if (precompile === null) throw new Error(`precompile ${number} is active but not implemented`)
    const view = this.bytes.subarray(input, input + size)
    const cost = precompile.gas(view)
    if (cost > gas) return UNPAID
    const output = precompile.run(view, this.#checkDeadline)
    if (typeof output === 'string') {
      this.callbacks.onPrecompileError(output)
      return FAILED
    }
    if (output.length > RETURN_END - RETURN) return UNPAID
    this.bytes.set(output, RETURN)
    this.runtime.setReturnSize(output.length)
    return cost
  }

  readonly #checkDeadline = () => this.callbacks.checkDeadline()

  #refreshViews(): void {
    const { buffer } = this.runtime.memory
    this.#bytes = new Uint8Array(buffer)
    this.#u32s = new Uint32Array(buffer)
    this.#u64s = new BigUint64Array(buffer)
  }
}

const FAILED = -1
const UNPAID = -2
const NO_BYTES = new Uint8Array()
const EMPTY = Hash.toBytes(EMPTY_CODE_HASH)
const EMPTY_WORDS = new Uint32Array(EMPTY.slice().buffer)
const scratch32 = new Uint8Array(32)

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

/** Value of a hex digit, 0-9 or a-f. */
function nibble(text: string, at: number): number {
  const code = text.charCodeAt(at)
  return (code & 15) + 9 * (code >>> 6) // branch-free: hex digits are unpredictable
}

/** The state of an instance before its first lease. */
const EMPTY_STATE: StateReader = {
  account: () => null,
  code: () => NO_BYTES,
  storage: () => 0n,
  slots: () => [],
}

const NO_CALLBACKS: HostCallbacks = {
  blockHash: () => new Uint8Array(32),
  precompile: () => null,
  refuel: () => 0,
  checkDeadline: () => {},
  onPrecompileError: () => {},
  onConsoleCall: () => {},
}
