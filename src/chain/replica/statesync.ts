import { NO_WRITES } from '../../evm/index.ts'
import type { WriteSet } from '../../evm/index.ts'
import { SYNC_KEYS, SYNC_CHUNK_KEYS, SYNC_VERSIONS } from '../limits.ts'
import type { StateHistory } from '../state/history.ts'

/** A step for a replica, to be applied in order. Plain data except `writes`, of which the three maps are sent. */
export type StateSyncStep =
  /** `version` is `null` for all but the last chunk. */
  | { readonly kind: 'writes'; readonly version: number | null; readonly writes: WriteSet }
  | { readonly kind: 'rewind'; readonly version: number }

/**
 * Computes the steps that bring one replica's state up to date: write sets and rewinds. Computed on demand, so an idle replica costs
 * nothing; a replica too far behind is replaced.
 */
export class StateSync {
  readonly #history: StateHistory
  /** Versions that the replica holds, oldest first, each with the object that distinguishes it from a later version of the same number. */
  readonly #synced = new Map<number, object | undefined>()

  constructor(history: StateHistory) {
    this.#history = history
  }

  /** Yields the whole state at `version`, for an empty replica. Throws PrunedState or RewoundState, also between two steps. */
  *start(version: number): Iterable<StateSyncStep> {
    this.#markSynced(version)
    const cleared = this.#history.clearedAccounts(version)
    if (cleared.size > 0) yield { kind: 'writes', version: null, writes: { ...NO_WRITES, accounts: cleared } }
    for (const writes of this.#history.dump(version, SYNC_CHUNK_KEYS)) yield { kind: 'writes', version: null, writes }
    yield { kind: 'writes', version, writes: NO_WRITES }
  }

  /**
   * Returns the steps that bring the replica to `versions`, which must be readable; the caller must apply them. Returns `null` and changes
   * nothing when the replica has to be replaced.
   */
  catchUp(versions: Iterable<number>): readonly StateSyncStep[] | null {
    const wanted = [...versions]
    const newest = this.#newestLive()
    if (newest === null) return null
    const last = Math.max(newest, ...wanted)
    if (!wanted.every((version) => version > newest || this.#synced.has(version))) return null
    const added = this.#stepsBetween(newest, last)
    if (added === null) return null
    const rewound = [...this.#synced.keys()].filter((version) => version > newest)
    for (const version of rewound) this.#synced.delete(version)
    for (const { version } of added) this.#markSynced(version)
    return rewound.length === 0 ? added : [{ kind: 'rewind', version: newest }, ...added]
  }

  /** Returns `null` if the steps exceed the limits or the versions are pruned. */
  #stepsBetween(from: number, to: number): { kind: 'writes'; version: number; writes: WriteSet }[] | null {
    if (to > from && (to - from >= SYNC_VERSIONS || from < this.#history.oldestVersion)) return null
    const steps: { kind: 'writes'; version: number; writes: WriteSet }[] = []
    let keys = 0
    for (let version = from + 1; version <= to; version++) {
      const writes = this.#history.writesAt(version)
      if ((keys += writes.size) > SYNC_KEYS) return null
      steps.push({ kind: 'writes', version, writes })
    }
    return steps
  }

  #markSynced(version: number): void {
    this.#synced.set(version, this.#history.identityOf(version))
    forgetOldest(this.#synced)
  }

  /** Returns the newest version that the replica holds and that was not rewound, or `null`. */
  #newestLive(): number | null {
    const { oldestVersion, version: newest } = this.#history
    for (const [version, identity] of [...this.#synced].reverse()) {
      if (version < oldestVersion || (version <= newest && this.#history.identityOf(version) === identity)) return version
    }
    return null
  }
}

/** Drops versions above SYNC_VERSIONS. Both sides use it, so they agree on what the replica holds. */
export function forgetOldest(synced: Map<number, unknown>): void {
  for (const version of synced.keys()) {
    if (synced.size <= SYNC_VERSIONS) return
    synced.delete(version)
  }
}
