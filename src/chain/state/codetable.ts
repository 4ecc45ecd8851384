import { EMPTY_CODE_HASH } from '../../eth/index.ts'
import type { Hash } from '../../eth/index.ts'

const NO_CODE = new Uint8Array()

/** A code, `null` if only a base state has it, and the number of its uses. */
interface Entry {
  code: Uint8Array | null
  useCount: number
}

/**
 * Contract codes by hash, each kept while it has a use. A use is a run of consecutive values of one account with that code: a contract
 * whose balance changes in each block has one use.
 */
export class CodeTable {
  readonly #entries = new Map<Hash, Entry>()

  /** Number of codes, without the empty one. */
  get size(): number {
    let count = 0
    for (const { code } of this.#entries.values()) if (code !== null) count++
    return count
  }

  has(hash: Hash): boolean {
    return this.get(hash) !== undefined
  }

  get(hash: Hash): Uint8Array | undefined {
    return hash === EMPTY_CODE_HASH ? NO_CODE : (this.#entries.get(hash)?.code ?? undefined)
  }

  /** Sets the code of a hash in use; ignored for one without a use. */
  set(hash: Hash, code: Uint8Array): void {
    const entry = this.#entries.get(hash)
    if (entry !== undefined) entry.code ??= code
  }

  /** Adds a use. */
  retain(hash: Hash | undefined): void {
    if (hash === undefined || hash === EMPTY_CODE_HASH) return
    const entry = this.#entries.get(hash)
    if (entry === undefined) this.#entries.set(hash, { code: null, useCount: 1 })
    else entry.useCount++
  }

  /** Ends a use; the last one drops the code. */
  release(hash: Hash | undefined): void {
    const entry = hash === undefined ? undefined : this.#entries.get(hash)
    if (entry !== undefined && --entry.useCount === 0) this.#entries.delete(hash as Hash) // it has an entry
  }

  clear(): void {
    this.#entries.clear()
  }
}
