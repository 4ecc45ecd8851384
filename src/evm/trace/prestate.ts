import { Address, Delegation, EMPTY_CODE_HASH, Hash, Hex } from '../../eth/index.ts'
import type { Account, StateReader } from '../state.ts'
import { isEmpty } from '../world.ts'
import { isPreExecutionError } from './exceptions.ts'
import { OP } from '../opcodes.ts'
import type { Trace, TraceContext } from './trace.ts'
import type { FrameEntry, OpContext, Tracer } from './tracer.ts'

interface PrestateOptions {
  /** only what changed, before and after, instead of everything touched */
  readonly diffMode: boolean
  readonly disableCode: boolean
  readonly disableStorage: boolean
  /** includes accounts that did not exist; excludes `diffMode` */
  readonly includeEmpty: boolean
}

/** geth's prestateTracer: the touched accounts and slots with their values before the transaction. */
export function prestateTrace(start: TraceContext, options: PrestateOptions): Trace {
  const tracer = new PrestateTracer(start)
  const report = new PrestateReport(start, options)
  return {
    tracer,
    json: () => jsonOf(options.diffMode ? report.changes(tracer.slots) : report.before(tracer.slots)),
  }
}

type Slots = ReadonlyMap<Address, ReadonlySet<Hash>>

/** An access that is not recorded until its opcode has been paid. */
interface Pending {
  readonly address: Address
  readonly slot: Hash | null
}

const ENTRY_BYTES = 160
const ACCOUNT_READERS: ReadonlySet<number> = new Set([OP.BALANCE, OP.EXTCODESIZE, OP.EXTCODECOPY, OP.EXTCODEHASH])
const CREATIONS: ReadonlySet<string> = new Set(['CREATE', 'CREATE2'])

/** Collects touched accounts and their slots. */
class PrestateTracer implements Tracer {
  readonly slots = new Map<Address, Set<Hash>>()
  readonly #start: TraceContext
  #pending: Pending | null = null

  constructor(start: TraceContext) {
    this.#start = start
    const { message, context, stateBefore } = start
    this.#touch(message.from)
    if (message.to !== null) this.#touchCallee(message.to, stateBefore)
    this.#touch(context.env.coinbase)
    for (const { authority } of message.authorizationList) if (authority !== null) this.#touch(authority)
  }

  step(machine: OpContext): void {
    this.#finishPending()
    const { op } = machine
    if (op === OP.SLOAD || op === OP.SSTORE) {
      if (machine.stackSize > 0) this.#pending = { address: machine.address, slot: Hash.fromBigint(machine.stack(0)) }
    } else if (ACCOUNT_READERS.has(op)) {
      if (machine.stackSize > 0) this.#pending = { address: Address.fromBigint(machine.stack(0)), slot: null }
    }
  }

  fault(_: OpContext, __: bigint, failure: string): void {
    if (isPreExecutionError(failure)) this.#pending = null
  }

  enter({ kind, to, depth }: FrameEntry): void {
    this.#finishPending()
    // The outermost callee was recorded before the transaction started.
    if (CREATIONS.has(kind) || kind === 'SELFDESTRUCT') this.#touch(to)
    else if (depth > 0) this.#touchCallee(to, this.#start.state)
  }

  exit(): void {
    this.#finishPending()
  }

  #finishPending(): void {
    const pending = this.#pending
    if (pending === null) return
    this.#pending = null
    const slots = this.#touch(pending.address)
    if (pending.slot === null || slots.has(pending.slot)) return
    this.#start.budget.take(ENTRY_BYTES)
    slots.add(pending.slot)
  }

  /** Records an account and, since EIP-7702, the account that holds its code. */
  #touchCallee(address: Address, state: StateReader): void {
    this.#touch(address)
    const target = this.#start.context.rules.has('prague') ? Delegation.of(codeOf(state, address)) : null
    if (target !== null) this.#touch(target)
  }

  #touch(address: Address): Set<Hash> {
    const known = this.slots.get(address)
    if (known !== undefined) return known
    this.#start.budget.take(ENTRY_BYTES)
    const slots = new Set<Hash>()
    this.slots.set(address, slots)
    return slots
  }
}

const EMPTY_ACCOUNT: Account = { nonce: 0n, balance: 0n, codeHash: EMPTY_CODE_HASH }

/** JSON with integers above 2^53, such as a nonce of 64 bits. Its texts are keys and hex. */
type Json = string | bigint | { readonly [key: string]: Json }
type AccountJson = Record<string, Json>
type StateJson = Record<Address, AccountJson>

/** Writes the result in geth's format. */
class PrestateReport {
  readonly #start: TraceContext
  readonly #options: PrestateOptions

  constructor(start: TraceContext, options: PrestateOptions) {
    this.#start = start
    this.#options = options
  }

  before(touched: Slots): StateJson {
    const state: StateJson = {}
    for (const address of sorted(touched.keys())) {
      const account = this.#start.stateBefore.account(address) ?? EMPTY_ACCOUNT
      if (!isEmpty(account) || this.#options.includeEmpty) state[address] = this.#accountJson(account, this.#slotsJson(address, touched))
    }
    return state
  }

  changes(touched: Slots): { readonly post: StateJson; readonly pre: StateJson } {
    const post: StateJson = {}
    const pre: StateJson = {}
    for (const address of sorted(touched.keys())) {
      const old = this.#start.stateBefore.account(address) ?? EMPTY_ACCOUNT
      const current = this.#start.state.account(address)
      // For a destroyed account `pre` contains every touched slot and `post` nothing.
      const slots = current === null ? this.#slotsJson(address, touched) : this.#changedSlots(address, touched)
      const after = current === null ? null : this.#afterJson(address, old, current, Object.keys(slots))
      if (after !== null) post[address] = after
      if (isEmpty(old) || (current !== null && after === null)) continue
      const known = current === null ? slots : Object.fromEntries(Object.entries(slots).filter(([, value]) => value !== Hash.zero))
      pre[address] = this.#accountJson(old, known)
    }
    return { post, pre }
  }

  #accountJson({ balance, nonce, codeHash }: Account, slots: Readonly<Record<string, Hash>>): AccountJson {
    const hasCode = codeHash !== EMPTY_CODE_HASH
    return {
      balance: Hex.fromQuantity(balance),
      ...(hasCode && !this.#options.disableCode ? { code: this.#codeText(this.#start.stateBefore, codeHash) } : undefined),
      ...(hasCode ? { codeHash } : undefined),
      ...(nonce === 0n ? undefined : { nonce }),
      ...(Object.keys(slots).length === 0 ? undefined : { storage: slots }),
    }
  }

  /** Changed fields; null if there are none. */
  #afterJson(address: Address, old: Account, current: Account, changedSlots: readonly string[]): AccountJson | null {
    const after: AccountJson = {}
    let modified = changedSlots.length > 0
    const set = (key: string, value: Json) => {
      modified = true
      after[key] = value
    }
    if (current.balance !== old.balance) set('balance', Hex.fromQuantity(current.balance))
    if (current.codeHash !== old.codeHash) {
      if (!this.#options.disableCode) set('code', this.#codeText(this.#start.state, current.codeHash))
      set('codeHash', current.codeHash)
    }
    if (current.nonce !== old.nonce) set('nonce', current.nonce)
    const values = changedSlots.map((slot) => [slot, this.#start.state.storage(address, slot as Hash)] as const) // keys of changedSlots
    const left = values.filter(([, value]) => value !== 0n)
    if (left.length > 0) after['storage'] = Object.fromEntries(left.map(([slot, value]) => [slot, Hash.fromBigint(value)]))
    return modified ? after : null
  }

  /** Values of all touched slots before the transaction. */
  #slotsJson(address: Address, touched: Slots): Record<string, Hash> {
    if (this.#options.disableStorage) return {}
    const slots = sorted(touched.get(address) ?? [])
    return Object.fromEntries(slots.map((slot) => [slot, Hash.fromBigint(this.#start.stateBefore.storage(address, slot))]))
  }

  /** Values before the transaction, of the slots that changed. */
  #changedSlots(address: Address, touched: Slots): Record<string, Hash> {
    const all = Object.entries(this.#slotsJson(address, touched))
    return Object.fromEntries(all.filter(([slot, value]) => this.#start.state.storage(address, slot as Hash) !== BigInt(value))) // keys of #slotsJson
  }

  #codeText(state: StateReader, codeHash: Hash): Hex {
    const code = codeHash === EMPTY_CODE_HASH ? new Uint8Array() : state.code(codeHash)
    this.#start.budget.take(code.length * 2)
    return Hex.fromBytes(code)
  }
}

function codeOf(state: StateReader, address: Address): Uint8Array {
  const codeHash = state.account(address)?.codeHash ?? EMPTY_CODE_HASH
  return codeHash === EMPTY_CODE_HASH ? new Uint8Array() : state.code(codeHash)
}

/** As JSON.stringify, which refuses a bigint. */
function jsonOf(value: Json): string {
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'string') return `"${value}"`
  return `{${Object.entries(value)
    .map(([key, each]) => `"${key}":${jsonOf(each)}`)
    .join(',')}}`
}

function sorted<T extends string>(values: Iterable<T>): T[] {
  return [...values].sort()
}
