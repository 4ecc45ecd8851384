import type { Mutex } from '../mutex.ts'
import type { Mempool } from '../pool/mempool.ts'
import type { PoolBlock } from '../view/poolblock.ts'
import type { View } from '../view/view.ts'
import type { Cadence } from './cadence.ts'
import type { ChainTime } from './chaintime.ts'

interface PoolBlocksDeps {
  readonly pool: Mempool
  readonly mutex: Mutex
  readonly time: ChainTime
  readonly cadence: () => Cadence
  /** true while a run guesses the state that is not local */
  readonly isGuessing: () => boolean
  /** counts the fetches for transactions that have ended */
  readonly fetches: () => number
  readonly build: () => PoolBlock | null
}

/** The inputs of a pool block. */
interface BuiltFrom {
  readonly view: View
  readonly poolVersion: number
  readonly changes: number
  readonly fetches: number
  readonly timestampMs: number
}

/**
 * Builds the pool's block on request, under the cadences that do not promise the pool: manual and native. Keeps it until the head, the pool,
 * a setting or the next block's timestamp changes, or on a fork the state of a transaction has become local.
 */
export class PoolBlocks {
  readonly #deps: PoolBlocksDeps
  #last: { readonly from: BuiltFrom; readonly poolBlock: PoolBlock | null } | null = null

  constructor(deps: PoolBlocksDeps) {
    this.#deps = deps
  }

  /** Returns the block on the head of the current View, or `null`. Throws MissingState. */
  on(view: View): PoolBlock | null {
    const { pool, mutex, time, cadence, isGuessing, fetches, build } = this.#deps
    const { kind } = cadence()
    if (pool.size === 0 || (kind !== 'manual' && kind !== 'native')) return (this.#last = null)
    if (isGuessing()) return build()
    const timestampMs = time.nextTimestampMs(view.head, kind === 'native')
    const from = { view, poolVersion: pool.version, changes: mutex.changes, fetches: fetches(), timestampMs }
    if (this.#last === null || !isSame(this.#last.from, from)) this.#last = { from, poolBlock: build() }
    return this.#last.poolBlock
  }
}

function isSame(a: BuiltFrom, b: BuiltFrom): boolean {
  if (a.view !== b.view || a.poolVersion !== b.poolVersion || a.changes !== b.changes) return false
  return a.fetches === b.fetches && a.timestampMs === b.timestampMs
}
