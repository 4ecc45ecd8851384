import type { Hash } from '../../eth/index.ts'
import {
  C_BYTES,
  C_GAS,
  C_COMPILED,
  C_JUMPS,
  C_SIZE,
  TIER1_LAST_RUN,
  TIER1_SLOTS,
  TIER1_RANKS,
  TIER1_RANKS_SIZE,
} from '../runtime/layout.ts'
import { type CompiledModule, compiledModule, whenIdle } from './modulecache.ts'
import { COMPILED_DEPTH_MAX } from './limits.ts'
import { tier1 } from './settings.ts'
import { IMPORTS } from './imports.ts'
import { WebAssembly } from '../webassembly.ts'

/** The runtime instance as Tier 1 uses it. */
export interface TierHost {
  readonly runtime: object & { setTier(depthMax: number, promoteAt: number, first: number): void; currentMessage(): number }
  readonly bytes: Uint8Array
  u32(at: number): number
  setU32(at: number, value: number): void
}

/** A compiled module in the table of one instance. */
interface Installed {
  readonly compiled: CompiledModule
  readonly record: number
}

const REFUSED = 0xffff_ffff
const NOT_NOW = 0
/** gas units of the runtime's counters */
const GAS_UNIT = 256n
const IMMEDIATELY = -(2 ** 31)
const NEVER = 2 ** 31 - 1

interface Table {
  readonly length: number
  grow(by: number): number
  set(index: number, value: unknown): void
}

/** Tier 1 of one runtime instance: its table of compiled modules. */
export class Tier {
  readonly #host: TierHost
  readonly #table: Table
  readonly #first: number
  readonly #installed: (Installed | null)[] = Array<null>(TIER1_SLOTS).fill(null)
  readonly #refused = new Set<number>()
  /** code records that wait for compilation */
  #compiling = new Set<number>()
  #rules: Uint8Array = new Uint8Array()
  #version = -1
  /** last value set in the runtime; -1: none */
  #depthMax = -1

  constructor(host: TierHost) {
    this.#host = host
    const { table } = host.runtime as unknown as { readonly table: Table } // exported by the runtime, see scripts/runtime.mjs
    this.#table = table
    this.#first = table.grow(TIER1_SLOTS)
  }

  /** Applies settings and rules before a message, which runs compiled code or not. */
  prepare(rules: Uint8Array, isCompiled: boolean): void {
    if (rules !== this.#rules || tier1.version !== this.#version) {
      this.#rules = rules
      this.#version = tier1.version
      this.#depthMax = -1
      this.uninstallAll()
    }
    const depth = isCompiled ? COMPILED_DEPTH_MAX : 0
    if (depth === this.#depthMax) return
    this.#depthMax = depth
    this.#host.runtime.setTier(depth, promoteAt(tier1.settings.promoteAtGas), this.#first)
  }

  /** Called by the runtime when a code record reaches the promotion threshold. Returns its table index + 1, NOT_NOW or REFUSED. */
  promote(record: number): number {
    const host = this.#host
    if (this.#compiling.has(record)) return NOT_NOW
    const size = host.u32(record + C_SIZE)
    const code = host.bytes.slice(record + C_BYTES, record + C_BYTES + size)
    const compiled = compiledModule(code, this.#rules, tier1.settings.promoteAtGas === 0n)
    if (compiled === undefined) return this.#awaitCompilation(record)
    if (compiled === null) {
      this.#refused.add(record)
      return REFUSED
    }
    const slot = this.#freeSlot()
    if (slot < 0) return NOT_NOW
    try {
      this.#install(compiled, record, slot)
    } catch (error) {
      // Out of memory, or a module that does not match this runtime.
      tier1.settings.onMismatch(`the code ${compiled.hash} has no place: ${String(error)}`)
      this.#refused.add(record)
      return REFUSED
    }
    return this.#first + slot + 1
  }

  /** Hashes of the codes that ran compiled in the last message. */
  *ranInLastMessage(): Iterable<Hash> {
    const message = this.#host.runtime.currentMessage()
    for (const [slot, installed] of this.#installed.entries()) {
      if (installed !== null && this.#host.u32(TIER1_LAST_RUN + 4 * slot) === message >>> 0) yield installed.compiled.hash
    }
  }

  /** Removes all modules; codes are promoted again when they are next called. */
  uninstallAll(): void {
    for (const [slot, installed] of this.#installed.entries()) {
      if (installed === null) continue
      this.#host.setU32(installed.record + C_COMPILED, 0)
      this.#clearSlot(slot)
    }
    for (const record of this.#refused) this.#host.setU32(record + C_COMPILED, 0)
    this.#refused.clear()
  }

  /** Removes all modules after their code records have been cleared. */
  clearCodes(): void {
    for (const [slot, installed] of this.#installed.entries()) if (installed !== null) this.#clearSlot(slot)
    this.#refused.clear()
    this.#compiling = new Set()
  }

  #install(compiled: CompiledModule, record: number, slot: number): void {
    const host = this.#host
    const ranks = TIER1_RANKS + slot * TIER1_RANKS_SIZE
    host.bytes.set(new Uint8Array(compiled.ranks.buffer, compiled.ranks.byteOffset, compiled.ranks.byteLength), ranks)
    const { exports } = new WebAssembly.Instance(compiled.module, { e: this.#importsFor(host.u32(record + C_JUMPS), ranks) })
    this.#table.set(this.#first + slot, (exports as { readonly entry: unknown }).entry)
    this.#installed[slot] = { compiled, record }
  }

  #awaitCompilation(record: number): number {
    const compiling = this.#compiling
    compiling.add(record)
    void whenIdle().then(() => compiling.delete(record))
    return NOT_NOW
  }

  #importsFor(jumps: number, ranks: number): object {
    const exports = this.#host.runtime as unknown as Record<string, unknown> // functions, globals and memory, by name
    const addresses: Record<string, unknown> = { jumps, ranks }
    return Object.fromEntries(IMPORTS.map(({ name }) => [name, addresses[name] ?? exports[name]]))
  }

  /** A free slot, else that of the least recently run module; -1: all ran in this message. */
  #freeSlot(): number {
    const free = this.#installed.indexOf(null)
    if (free >= 0) return free
    const now = this.#host.runtime.currentMessage() >>> 0
    const age = (slot: number) => (now - this.#host.u32(TIER1_LAST_RUN + 4 * slot)) >>> 0
    const [oldest] = [...this.#installed.keys()].toSorted((a, b) => age(b) - age(a))
    if (oldest === undefined || age(oldest) === 0) return -1
    this.#evict(oldest)
    return oldest
  }

  /** Removes a module and resets the gas counter of its code. */
  #evict(slot: number): void {
    const installed = this.#installed[slot]
    if (installed === undefined || installed === null) return
    this.#host.setU32(installed.record + C_COMPILED, 0)
    this.#host.setU32(installed.record + C_GAS, 0)
    this.#clearSlot(slot)
  }

  #clearSlot(slot: number): void {
    this.#installed[slot] = null
    this.#table.set(this.#first + slot, null)
    this.#host.setU32(TIER1_LAST_RUN + 4 * slot, 0)
  }
}

/**
 * In units of the runtime. For 0n below any counter: a code's counter can be negative while it includes its callees' gas but not yet its
 * own.
 */
function promoteAt(gas: bigint): number {
  return gas === 0n ? IMMEDIATELY : Math.min(Number(gas / GAS_UNIT), NEVER)
}
