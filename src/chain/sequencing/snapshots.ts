import type { Transaction } from '../../eth/index.ts'
import type { Knobs } from './testoverrides.ts'
import { SNAPSHOTS } from '../limits.ts'
import type { Mempool } from '../pool/mempool.ts'
import type { SealedChain } from '../view/sealedchain.ts'
import type { ChainTime, TimeMark } from './chaintime.ts'

/** A moment that one can go back to: the newest block, the state after it, and all that was set or waited. */
export interface Snapshot {
  readonly number: number
  readonly version: number
  readonly time: TimeMark
  readonly pool: readonly Transaction[]
  readonly knobs: Knobs
}

export interface SnapshotsParts {
  readonly sealed: SealedChain
  readonly pool: Mempool
  readonly time: ChainTime
  readonly knobs: Knobs
}

/** The snapshots, oldest first. Their ids count up and are never given twice. */
export class Snapshots {
  readonly #parts: SnapshotsParts
  readonly #byId = new Map<string, Snapshot>()
  #count = 0

  constructor(parts: SnapshotsParts) {
    this.#parts = parts
  }

  /** The version of the state that the oldest one needs: nothing from it on may be forgotten. Infinity without any. */
  get oldestVersion(): number {
    return this.#byId.values().next().value?.version ?? Number.POSITIVE_INFINITY
  }

  /** The ids, each with its block's number. */
  list(): { readonly id: string; readonly number: number }[] {
    return [...this.#byId].map(([id, { number }]) => ({ id, number }))
  }

  /** Remembers the chain as it stands; nothing may be open. Answers the id. Beyond the limit the oldest one is forgotten. */
  take(): string {
    const { sealed, pool, time, knobs } = this.#parts
    const id = `0x${(++this.#count).toString(16)}`
    this.#byId.set(id, {
      number: sealed.head.header.number,
      version: sealed.headVersion,
      time: time.mark(),
      pool: pool.all(),
      knobs: { ...knobs },
    })
    const oldest = this.#byId.keys().next().value
    if (this.#byId.size > SNAPSHOTS && oldest !== undefined) this.#byId.delete(oldest)
    return id
  }

  /** Null: there is none of this id. */
  get(id: string): Snapshot | null {
    return this.#byId.get(id) ?? null
  }

  /** Forgets one, and all later ones with it. */
  use(id: string): void {
    for (const other of [...this.#byId.keys()]) if (BigInt(other) >= BigInt(id)) this.#byId.delete(other)
  }

  /** Forgets those of blocks above `number`. */
  dropAbove(number: number): void {
    for (const [id, snapshot] of this.#byId) if (snapshot.number > number) this.#byId.delete(id)
  }

  clear(): void {
    this.#byId.clear()
  }
}
