import type { Hash } from '../../eth/index.ts'
import { C_BYTES, C_GAS, C_HOT, C_JUMPS, C_SIZE, HOT_MARKS, HOT_PLACES, HOT_RANKS, HOT_RANKS_SIZE } from '../runtime/layout.ts'
import { type Form, formOf, whenCompiled } from './forms.ts'
import { COMPILED_DEPTH_MAX } from './limits.ts'
import { tier1 } from './settings.ts'
import { IMPORTS } from './surface.ts'
import { WebAssembly } from './webassembly.ts'

/** What a runtime's instance shows to compiled code, and what is asked of it here. */
export interface Host {
  readonly runtime: object & { setTier(mostActive: number, promoteAt: number, first: number): void; currentMessage(): number }
  readonly bytes: Uint8Array
  u32(at: number): number
  setU32(at: number, value: number): void
}

/** A compiled form in one instance. */
interface Resident {
  readonly form: Form
  readonly record: number
}

const REFUSED = 0xffff_ffff
const NOT_NOW = 0
/** the runtime counts gas in units of this */
const GAS_UNIT = 256n
const AT_ONCE = -(2 ** 31)
const NEVER = 2 ** 31 - 1

interface Table {
  readonly length: number
  grow(by: number): number
  set(index: number, value: unknown): void
}

/** Tier 1 of one instance of the runtime: which codes have a compiled form in its table. */
export class Tier {
  readonly #host: Host
  readonly #table: Table
  readonly #first: number
  readonly #residents: (Resident | null)[] = Array<null>(HOT_PLACES).fill(null)
  readonly #refused = new Set<number>()
  /** whose codes are being compiled */
  #waiting = new Set<number>()
  #rules: Uint8Array = new Uint8Array()
  #version = -1
  /** what the runtime was told: compiled frames within one another; -1: nothing yet */
  #depth = -1

  constructor(host: Host) {
    this.#host = host
    const { table } = host.runtime as unknown as { readonly table: Table } // exported by the runtime, see scripts/runtime.mjs
    this.#table = table
    this.#first = table.grow(HOT_PLACES)
  }

  /** Before a message: the settings and the rules as they are now. `interpretOnly`: this once without compiled code. */
  prepare(rules: Uint8Array, interpretOnly = false): void {
    if (rules !== this.#rules || tier1.version !== this.#version) {
      this.#rules = rules
      this.#version = tier1.version
      this.#depth = -1
      this.dismissAll()
    }
    const depth = tier1.settings.mode === 'off' || interpretOnly ? 0 : COMPILED_DEPTH_MAX
    if (depth === this.#depth) return
    this.#depth = depth
    this.#host.runtime.setTier(depth, promoteAt(tier1.settings.promoteAtGas), this.#first)
  }

  /** The runtime asks: this code record has burnt enough. Answers the place in its table + 1, or that there is none (yet). */
  promote(record: number): number {
    const host = this.#host
    if (this.#waiting.has(record)) return NOT_NOW
    const size = host.u32(record + C_SIZE)
    const code = host.bytes.slice(record + C_BYTES, record + C_BYTES + size)
    const form = formOf(code, this.#rules, tier1.settings.promoteAtGas === 0n)
    if (form === undefined) return this.#wait(record)
    if (form === null) {
      this.#refused.add(record)
      return REFUSED
    }
    const place = this.#freePlace()
    if (place < 0) return NOT_NOW
    try {
      this.#install(form, record, place)
    } catch (error) {
      // No memory for it, or a module that does not fit this runtime.
      tier1.settings.onDifference(`the code ${form.hash} has no place: ${String(error)}`)
      this.#refused.add(record)
      return REFUSED
    }
    return this.#first + place + 1
  }

  /** The codes that ran compiled in the message that ran last: hashes. */
  *ranLast(): Iterable<Hash> {
    const message = this.#host.runtime.currentMessage()
    for (const [place, resident] of this.#residents.entries()) {
      if (resident !== null && this.#host.u32(HOT_MARKS + 4 * place) === message >>> 0) yield resident.form.hash
    }
  }

  /** Everything is asked for anew when it is next called. */
  dismissAll(): void {
    for (const [place, resident] of this.#residents.entries()) {
      if (resident === null) continue
      this.#host.setU32(resident.record + C_HOT, 0)
      this.#vacate(place)
    }
    for (const record of this.#refused) this.#host.setU32(record + C_HOT, 0)
    this.#refused.clear()
  }

  /** The records are gone: what they said is not to be changed. */
  forgetCodes(): void {
    for (const [place, resident] of this.#residents.entries()) if (resident !== null) this.#vacate(place)
    this.#refused.clear()
    this.#waiting = new Set()
  }

  #install(form: Form, record: number, place: number): void {
    const host = this.#host
    const ranks = HOT_RANKS + place * HOT_RANKS_SIZE
    host.bytes.set(new Uint8Array(form.ranks.buffer, form.ranks.byteOffset, form.ranks.byteLength), ranks)
    const { exports } = new WebAssembly.Instance(form.module, { e: this.#surface(host.u32(record + C_JUMPS), ranks) })
    this.#table.set(this.#first + place, (exports as { readonly entry: unknown }).entry)
    this.#residents[place] = { form, record }
  }

  #wait(record: number): number {
    const waiting = this.#waiting
    waiting.add(record)
    void whenCompiled().then(() => waiting.delete(record))
    return NOT_NOW
  }

  #surface(jumps: number, ranks: number): object {
    const exports = this.#host.runtime as unknown as Record<string, unknown> // functions, globals and memory, by name
    const own: Record<string, unknown> = { jumps, ranks }
    return Object.fromEntries(IMPORTS.map(({ name }) => [name, own[name] ?? exports[name]]))
  }

  /** The first that is free, else the one that ran longest ago; -1: all have run in this message. */
  #freePlace(): number {
    const free = this.#residents.indexOf(null)
    if (free >= 0) return free
    const now = this.#host.runtime.currentMessage() >>> 0
    const age = (place: number) => (now - this.#host.u32(HOT_MARKS + 4 * place)) >>> 0
    const [oldest] = [...this.#residents.keys()].toSorted((a, b) => age(b) - age(a))
    if (oldest === undefined || age(oldest) === 0) return -1
    this.#dismiss(oldest)
    return oldest
  }

  /** Its code is interpreted from now on, and has to earn its place again. */
  #dismiss(place: number): void {
    const resident = this.#residents[place]
    if (resident === undefined || resident === null) return
    this.#host.setU32(resident.record + C_HOT, 0)
    this.#host.setU32(resident.record + C_GAS, 0)
    this.#vacate(place)
  }

  #vacate(place: number): void {
    this.#residents[place] = null
    this.#table.set(this.#first + place, null)
    this.#host.setU32(HOT_MARKS + 4 * place, 0)
  }
}

/** In the runtime's units. At 0n at once: a code's sum may stand below zero while its callees' gas is counted and its own is not yet. */
function promoteAt(gas: bigint): number {
  return gas === 0n ? AT_ONCE : Math.min(Number(gas / GAS_UNIT), NEVER)
}
