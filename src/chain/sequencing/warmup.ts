import type { Hash, Transaction } from '../../eth/index.ts'
import { World, executeTransaction } from '../../evm/index.ts'
import type { BlockContext } from '../../evm/index.ts'
import { FETCH_ROUNDS, WARM_BLOCKS } from '../limits.ts'
import type { Mempool } from '../pool/mempool.ts'
import { isImpersonated } from '../pool/validation.ts'
import type { AccessListCall, BaseState, MissingState } from '../state/basestate.ts'
import type { StateHistory } from '../state/history.ts'

interface WarmupDeps {
  readonly pool: Mempool
  readonly history: StateHistory
  readonly base: BaseState
  /** Environments of the coming block and of those after it, at least one. */
  readonly contexts: (count: number) => readonly BlockContext[]
  /** Called after a fetch for which no caller waits. */
  readonly onWarm: () => void
  /** Called with the error of a fetch for which no caller waits; the transaction is then dropped. */
  readonly onFailure: (error: unknown, tx: Transaction) => void
}

/**
 * Makes the state that pooled transactions read local before a block includes them, so that no block waits for upstream. A transaction that
 * still misses a value in its block is fetched for again, and its sender waits for a later block.
 */
export class Warmup {
  readonly #deps: WarmupDeps
  readonly #fetches = new Map<Hash, Promise<void>>()
  #ended = 0

  constructor(deps: WarmupDeps) {
    this.#deps = deps
  }

  /** The number of fetches that have ended: each makes a transaction warm. */
  get ended(): number {
    return this.#ended
  }

  /** False while values that the transaction reads are fetched. */
  isWarm({ hash }: Transaction): boolean {
    return !this.#fetches.has(hash)
  }

  /**
   * Starts to fetch what the transaction reads, and `missed`, what it missed in a block. Resolves also when it leaves the pool. Rejects with
   * UpstreamError.
   */
  warm(tx: Transaction, missed: MissingState | null = null): Promise<void> {
    const running = this.#fetches.get(tx.hash)
    if (running !== undefined) return running
    const fetch = Promise.race([this.#fetchFor(tx, missed), this.#deps.pool.left(tx.hash)]).finally(() => {
      this.#fetches.delete(tx.hash)
      this.#ended++
    })
    this.#fetches.set(tx.hash, fetch)
    return fetch
  }

  /** As `warm`, for a caller that does not wait. */
  warmBehind(tx: Transaction, missed: MissingState | null = null): void {
    this.warm(tx, missed).then(this.#deps.onWarm, (error: unknown) => this.#deps.onFailure(error, tx))
  }

  /** Throws ColdTransactions if some of these are not warm. */
  assertWarm(hashes: ReadonlySet<Hash>): void {
    const fetches = [...this.#fetches].flatMap(([hash, fetch]) => (hashes.has(hash) ? [fetch] : []))
    if (fetches.length > 0) throw new ColdTransactions(Promise.allSettled(fetches))
  }

  async #fetchFor(tx: Transaction, missed: MissingState | null): Promise<void> {
    const { base, contexts } = this.#deps
    let [context] = contexts(1)
    // Blocks that come during a fetch. A slot that the transaction reads may depend on its block, so those of the blocks until then are fetched together.
    let ahead = 0
    if (missed !== null) await base.fetch(missed.keys)
    for (let round = 0; round < FETCH_ROUNDS; round++) {
      const [next, ...later] = contexts(ahead + 1)
      // Without a further block the same context in all rounds: the time goes on, and the slots may depend on it.
      if (next!.env.number !== context!.env.number) context = next
      const keys = this.#missingKeys(tx, context!)
      if (keys.length === 0) return
      await base.fetch([...keys, ...later.flatMap((other) => this.#missingKeys(tx, other))], round === 0 ? callOf(tx) : undefined)
      ahead = Math.min(WARM_BLOCKS, Math.max(ahead, 2 * (contexts(1)[0]!.env.number - context!.env.number)))
    }
  }

  /** Executes the transaction on the newest state, and discards the result. */
  #missingKeys(tx: Transaction, context: BlockContext): MissingState['keys'] {
    const { history } = this.#deps
    return history.missingKeysOf(() => {
      const world = new World(history.at(history.version))
      try {
        // Earlier transactions of the sender may not be executed yet.
        executeTransaction(tx, context, world, { skipSenderCheck: isImpersonated(tx), skipNonce: true })
      } finally {
        world.release()
      }
    })
  }
}

function callOf({ from, to, data, value, gas }: Transaction): AccessListCall {
  return { from, to, data, value, gas }
}

/** A block is to include transactions whose state is fetched. `settled` resolves when each is warm, has left the pool, or could not be fetched. */
export class ColdTransactions extends Error {
  override readonly name = 'ColdTransactions'
  readonly settled: Promise<unknown>

  constructor(settled: Promise<unknown>) {
    super('the state of transactions is not local yet')
    this.settled = settled
  }
}
