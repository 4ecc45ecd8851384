import { Hash } from '../../eth/index.ts'
import { compile, compileSteps } from './compile.ts'
import type { Compiled } from './compile.ts'
import { CACHED_MODULE_BYTES_MAX, COMPILE_QUEUE_MAX, COMPILE_SLICE_MS, MODULES_MAX, REFUSED_MAX } from './limits.ts'
import { tier1 } from './settings.ts'
import { WebAssembly } from '../webassembly.ts'

/** A code compiled for one set of opcodes and prices, shared by all runtime instances of the process. */
export interface CompiledModule {
  readonly hash: Hash
  readonly module: object
  readonly ranks: Uint16Array
  /** size of the wasm module */
  readonly bytes: number
}

/** Compiled modules, least recently used first. */
const modules = new Map<string, CompiledModule>()
const refused = new Set<string>()
/** codes that produced a mismatch or a trap */
const miscompiled = new Set<Hash>()
let cachedBytes = 0

/** Part of a rules block that compiled code depends on: prices and presence of the opcodes. */
const OPCODE_BYTES = 2_048
const rulesKeys = new WeakMap<Uint8Array, string>()

/**
 * Returns the module of a code under a rules block. null: the code is interpreted; undefined: compilation is queued. `synchronous`:
 * compiles before returning.
 */
export function compiledModule(code: Uint8Array, rules: Uint8Array, synchronous: boolean): CompiledModule | null | undefined {
  const hash = Hash.keccak(code)
  const { operationsPerFunction } = tier1.settings
  const key = `${hash} ${rulesKey(rules)} ${operationsPerFunction}`
  if (miscompiled.has(hash) || refused.has(key)) return null
  const known = modules.get(key)
  if (known === undefined) {
    const job = { key, hash, code, rules, operationsPerFunction }
    if (synchronous) return runJob(job)
    if (queue.size < COMPILE_QUEUE_MAX) queue.set(key, job)
    runQueue()
    return undefined
  }
  modules.delete(key)
  modules.set(key, known)
  return known
}

interface CompileJob {
  readonly key: string
  readonly hash: Hash
  readonly code: Uint8Array
  readonly rules: Uint8Array
  readonly operationsPerFunction: number
}

/** Queued compilations, oldest first. */
const queue = new Map<string, CompileJob>()
let isRunning = false
let idle = Promise.resolve()

/** Resolves when the queue is empty. */
export function whenIdle(): Promise<void> {
  return idle
}

function runQueue(): void {
  if (isRunning) return
  isRunning = true
  idle = (async () => {
    for (;;) {
      await nextTurn()
      const [job] = queue.values()
      if (job === undefined) break
      await runQueuedJob(job)
      queue.delete(job.key) // a promotion meanwhile does not queue it again
    }
    isRunning = false
  })()
}

/** Requests are served between slices, and the engine's compiler runs on other threads. */
async function runQueuedJob(job: CompileJob): Promise<void> {
  try {
    const steps = compileSteps(job.code, job.rules, job.operationsPerFunction)
    let untilMs = performance.now() + COMPILE_SLICE_MS
    let step = steps.next()
    for (; step.done !== true; step = steps.next()) {
      if (performance.now() < untilMs) continue
      await nextTurn()
      untilMs = performance.now() + COMPILE_SLICE_MS
    }
    keep(job, step.value, step.value === null ? null : await WebAssembly.compile(step.value.wasm))
  } catch (error) {
    refuseFailed(job, error)
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0))
}

function runJob(job: CompileJob): CompiledModule | null {
  try {
    const compiled = compile(job.code, job.rules, job.operationsPerFunction)
    return keep(job, compiled, compiled === null ? null : new WebAssembly.Module(compiled.wasm))
  } catch (error) {
    return refuseFailed(job, error)
  }
}

function keep({ key, hash }: CompileJob, compiled: Compiled | null, module: object | null): CompiledModule | null {
  if (compiled === null || module === null) {
    addBounded(refused, key)
    return null
  }
  const kept = { hash, module, ranks: compiled.ranks, bytes: compiled.wasm.length }
  modules.set(key, kept)
  cachedBytes += kept.bytes
  evict()
  return kept
}

/** An error in the compiler must not fail the message. */
function refuseFailed({ key, hash }: CompileJob, error: unknown): null {
  tier1.settings.onMismatch(`the code ${hash} does not compile: ${String(error)}`)
  addBounded(refused, key)
  return null
}

/** Excludes a code from compilation in this process. */
export function markMiscompiled(hash: Hash): void {
  addBounded(miscompiled, hash)
}

/** Number of cached modules and their bytes. */
export function moduleCacheUsage(): { readonly count: number; readonly bytes: number } {
  return { count: modules.size, bytes: cachedBytes }
}

function evict(): void {
  for (const [key, { bytes }] of modules) {
    if (modules.size <= MODULES_MAX && cachedBytes <= CACHED_MODULE_BYTES_MAX) return
    modules.delete(key)
    cachedBytes -= bytes
  }
}

function addBounded<T>(all: Set<T>, one: T): void {
  all.add(one)
  if (all.size <= REFUSED_MAX) return
  for (const oldest of all) {
    all.delete(oldest)
    return
  }
}

function rulesKey(rules: Uint8Array): string {
  let name = rulesKeys.get(rules)
  if (name === undefined) rulesKeys.set(rules, (name = Hash.keccak(rules.subarray(0, OPCODE_BYTES))))
  return name
}
