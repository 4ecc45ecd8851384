import type { WriteSet } from '../evm/index.ts'
import { FEED_KEYS, FEED_SET_KEYS, FEED_VERSIONS } from './limits.ts'
import type { StateHistory } from './state.ts'

/** What a replica is told, in this order. Plain data but for `writes`, of which the three maps matter. */
export type FeedStep =
  /** `version` null: more of it comes */
  | { readonly kind: 'writes'; readonly version: number | null; readonly writes: WriteSet }
  | { readonly kind: 'rewind'; readonly version: number }

/**
 * What one replica of the state knows, and how it gets to know more: the write set of each version, or that some were taken back. It is told
 * only when it is needed, so a replica that rests costs nothing; one that has fallen too far behind is given up for a new one.
 */
export class Feed {
  readonly #history: StateHistory
  /** what the replica has, oldest first, each with what tells it from a later version of the same number */
  readonly #known = new Map<number, object | undefined>()

  constructor(history: StateHistory) {
    this.#history = history
  }

  /** The whole state at `version`, for a replica that has nothing. Throws PrunedState, RewoundState: also between two steps. */
  *begin(version: number): Iterable<FeedStep> {
    this.#learn(version)
    for (const writes of this.#history.whole(version, FEED_SET_KEYS)) yield { kind: 'writes', version: null, writes }
    yield { kind: 'writes', version, writes: NOTHING }
  }

  /** What brings it to `versions`, which can be read now; whoever asks passes it on. Null: it cannot follow, and nothing has happened. */
  follow(versions: Iterable<number>): readonly FeedStep[] | null {
    const wanted = [...versions]
    const newest = this.#newestThatStands()
    if (newest === null) return null
    const last = Math.max(newest, ...wanted)
    if (!wanted.every((version) => version > newest || this.#known.has(version))) return null
    const learned = this.#between(newest, last)
    if (learned === null) return null
    const rewound = [...this.#known.keys()].filter((version) => version > newest)
    for (const version of rewound) this.#known.delete(version)
    for (const { version } of learned) this.#learn(version)
    return rewound.length === 0 ? learned : [{ kind: 'rewind', version: newest }, ...learned]
  }

  /** Null: too much at a time, or no longer there. */
  #between(from: number, to: number): { kind: 'writes'; version: number; writes: WriteSet }[] | null {
    if (to > from && (to - from >= FEED_VERSIONS || from < this.#history.floor)) return null
    const steps: { kind: 'writes'; version: number; writes: WriteSet }[] = []
    let keys = 0
    for (let version = from + 1; version <= to; version++) {
      const writes = this.#history.writesAt(version)
      if ((keys += writes.size) > FEED_KEYS) return null
      steps.push({ kind: 'writes', version, writes })
    }
    return steps
  }

  #learn(version: number): void {
    this.#known.set(version, this.#history.at(version).identity)
    forgetOldest(this.#known)
  }

  /** The newest version that it has and that was not taken back; null: all were. */
  #newestThatStands(): number | null {
    const { floor, version: newest } = this.#history
    for (const [version, identity] of [...this.#known].reverse()) {
      if (version < floor || (version <= newest && this.#history.at(version).identity === identity)) return version
    }
    return null
  }
}

/** Both sides forget by this rule, so that each knows what the other has. Answers what is forgotten. */
export function forgetOldest(known: Map<number, unknown>): void {
  for (const version of known.keys()) {
    if (known.size <= FEED_VERSIONS) return
    known.delete(version)
  }
}

const NOTHING: WriteSet = { accounts: new Map(), storage: new Map(), codes: new Map() }
