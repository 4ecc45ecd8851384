import { Hash } from '../../eth/index.ts'
import { compile } from './compile.ts'
import { ALL_MODULE_BYTES_MAX, MODULES_MAX, ORDERS_MAX, REFUSED_MAX } from './limits.ts'
import { tier1 } from './settings.ts'
import { WebAssembly } from './webassembly.ts'

/** A code compiled for a set of opcodes and prices, for all instances of the runtime in this process. */
export interface Form {
  readonly hash: Hash
  readonly module: object
  readonly ranks: Uint16Array
  /** of the module */
  readonly bytes: number
}

/** What has been compiled, the form that was asked for last at the end. */
const forms = new Map<string, Form>()
const refused = new Set<string>()
/** codes of which the shadow mode has found that their compiled form is wrong */
const distrusted = new Set<Hash>()
let allBytes = 0

/** Bytes of a rules block that compiled code depends on: prices and presence of the opcodes. */
const OPCODE_BYTES = 2_048
const ruleNames = new WeakMap<Uint8Array, string>()

/**
 * The form of a code under a rules block. null: it is interpreted; undefined: it is being compiled, when this thread has nothing better to do,
 * unless `atOnce` says that it is waited for.
 */
export function formOf(code: Uint8Array, rules: Uint8Array, atOnce: boolean): Form | null | undefined {
  const hash = Hash.keccak(code)
  const { operationsPerFunction } = tier1.settings
  const key = `${hash} ${nameOf(rules)} ${operationsPerFunction}`
  if (distrusted.has(hash) || refused.has(key)) return null
  const known = forms.get(key)
  if (known === undefined) {
    const order = { key, hash, code, rules, operationsPerFunction }
    if (atOnce) return make(order)
    if (orders.size < ORDERS_MAX) orders.set(key, order)
    work()
    return undefined
  }
  forms.delete(key)
  forms.set(key, known)
  return known
}

interface Order {
  readonly key: string
  readonly hash: Hash
  readonly code: Uint8Array
  readonly rules: Uint8Array
  readonly operationsPerFunction: number
}

/** What is to be compiled, the oldest first. */
const orders = new Map<string, Order>()
let isAtWork = false
let idle = Promise.resolve()

/** Resolves when nothing is left to compile. */
export function whenCompiled(): Promise<void> {
  return idle
}

function work(): void {
  if (isAtWork) return
  isAtWork = true
  idle = (async () => {
    for (;;) {
      // One code a turn: requests that wait come in between.
      await new Promise((resolve) => setTimeout(resolve, 0))
      const [order] = orders.values()
      if (order === undefined) break
      orders.delete(order.key)
      make(order)
    }
    isAtWork = false
  })()
}

function make(order: Order): Form | null {
  const form = tryToMake(order)
  if (form === null) {
    remember(refused, order.key)
    return null
  }
  forms.set(order.key, form)
  allBytes += form.bytes
  makeRoom()
  return form
}

/** A compiler that stumbles is no reason for a message to fail. */
function tryToMake({ hash, code, rules, operationsPerFunction }: Order): Form | null {
  try {
    const compiled = compile(code, rules, operationsPerFunction)
    if (compiled === null) return null
    return { hash, module: new WebAssembly.Module(compiled.wasm), ranks: compiled.ranks, bytes: compiled.wasm.length }
  } catch (error) {
    tier1.settings.onDifference(`the code ${hash} does not compile: ${String(error)}`)
    return null
  }
}

/** Never again in this process. */
export function distrust(hash: Hash): void {
  remember(distrusted, hash)
}

/** How many forms there are, and the bytes of their modules. */
export function formsHeld(): { readonly count: number; readonly bytes: number } {
  return { count: forms.size, bytes: allBytes }
}

function makeRoom(): void {
  for (const [key, { bytes }] of forms) {
    if (forms.size <= MODULES_MAX && allBytes <= ALL_MODULE_BYTES_MAX) return
    forms.delete(key)
    allBytes -= bytes
  }
}

function remember<T>(all: Set<T>, one: T): void {
  all.add(one)
  if (all.size <= REFUSED_MAX) return
  for (const oldest of all) {
    all.delete(oldest)
    return
  }
}

function nameOf(rules: Uint8Array): string {
  let name = ruleNames.get(rules)
  if (name === undefined) ruleNames.set(rules, (name = Hash.keccak(rules.subarray(0, OPCODE_BYTES))))
  return name
}
