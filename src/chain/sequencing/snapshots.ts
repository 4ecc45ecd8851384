import type { Transaction } from '../../eth/index.ts'
import type { TestOverrides } from './testoverrides.ts'
import { SNAPSHOTS } from '../limits.ts'
import type { Mempool } from '../pool/mempool.ts'
import type { SealedChain } from '../view/sealedchain.ts'
import type { ChainTime, TimeSnapshot } from './chaintime.ts'

/** Chain state to revert to: the newest block, the state version after it, the time, pool and overrides. */
interface Snapshot {
  readonly number: number
  readonly version: number
  readonly time: TimeSnapshot
  readonly pool: readonly Transaction[]
  readonly overrides: TestOverrides
}

interface SnapshotsDeps {
  readonly sealed: SealedChain
  readonly pool: Mempool
  readonly time: ChainTime
  readonly overrides: TestOverrides
  /** From 1, ascending. */
  readonly nextId: () => number
}

/** Snapshots by id, oldest first. Ids are ascending and never reused, also not when the chain starts again. */
export class Snapshots {
  readonly #deps: SnapshotsDeps
  readonly #byId = new Map<string, Snapshot>()
  /** the pool's transactions at a version of it, shared by the snapshots taken meanwhile */
  #pool: { readonly version: number; readonly transactions: readonly Transaction[] } | null = null

  constructor(deps: SnapshotsDeps) {
    this.#deps = deps
  }

  /**
   * State version of the oldest snapshot to which the chain can revert, the lower bound for pruning; Infinity without one. Below the state that the store
   * keeps, a revert is refused.
   */
  get oldestVersion(): number {
    const oldestBlock = this.#deps.sealed.persistedState?.oldestBlock ?? 0
    for (const { number, version } of this.#byId.values()) if (number >= oldestBlock) return version
    return Number.POSITIVE_INFINITY
  }

  /** Returns the ids with their block numbers. */
  list(): { readonly id: string; readonly number: number }[] {
    return [...this.#byId].map(([id, { number }]) => ({ id, number }))
  }

  /** Takes a snapshot and returns its id; no block may be open. Drops the oldest one above the limit. */
  create(): string {
    const { sealed, time, overrides, nextId } = this.#deps
    const id = `0x${nextId().toString(16)}`
    this.#byId.set(id, {
      number: sealed.head.header.number,
      version: sealed.headVersion,
      time: time.snapshot(),
      pool: this.#poolNow(),
      overrides: { ...overrides },
    })
    const oldest = this.#byId.keys().next().value
    if (this.#byId.size > SNAPSHOTS && oldest !== undefined) this.#byId.delete(oldest)
    return id
  }

  #poolNow(): readonly Transaction[] {
    const { pool } = this.#deps
    if (this.#pool?.version !== pool.version) this.#pool = { version: pool.version, transactions: pool.all() }
    return this.#pool.transactions
  }

  /** Returns `null` for an unknown id. */
  get(id: string): Snapshot | null {
    return this.#byId.get(id) ?? null
  }

  /** Deletes a snapshot and all later ones. */
  consume(id: string): void {
    for (const other of [...this.#byId.keys()]) if (BigInt(other) >= BigInt(id)) this.#byId.delete(other)
  }

  /** Deletes the snapshots of blocks above `number`. */
  dropAbove(number: number): void {
    for (const [id, snapshot] of this.#byId) if (snapshot.number > number) this.#byId.delete(id)
  }

  clear(): void {
    this.#pool = null
    this.#byId.clear()
  }
}
