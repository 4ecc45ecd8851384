import type { Address, Hash, Transaction } from '../eth/index.ts'
import type { ChainParts } from './chainparts.ts'
import { FETCH_ROUNDS } from './limits.ts'
import type { Mutex } from './mutex.ts'
import type { Mempool } from './pool/mempool.ts'
import type { BlockTicker } from './sequencing/blockticker.ts'
import type { Warmup } from './sequencing/warmup.ts'
import { UpstreamError } from './state/upstreamerror.ts'

interface SubmissionsDeps {
  readonly mutex: Mutex
  readonly ticker: BlockTicker
  readonly pool: Mempool
  readonly parts: () => ChainParts
  readonly withFetches: <T>(work: () => Promise<T>) => Promise<T>
  readonly onBug: (error: unknown) => void
}

/** Admits transactions to the pool. On a fork, fetches what they read, outside the mutex; under `instant`, seals them. */
export class Submissions {
  readonly #deps: SubmissionsDeps
  /** On a fork: the newest submission of each sender, while it is not in the pool. */
  readonly #newest = new Map<Address, Promise<Transaction>>()

  constructor(deps: SubmissionsDeps) {
    this.#deps = deps
  }

  /** See Chain.submit. */
  submit(transaction: Transaction | (() => Transaction), from = sender(transaction)): Promise<Hash> {
    const { mutex, ticker, parts } = this.#deps
    const { warmup } = parts()
    if (warmup !== null) return this.#submitOnFork(transaction, from, warmup)
    return mutex.runExclusive(async () => {
      const tx = this.#admit(transaction)
      if (ticker.isInstant) await this.#sealOrDrop(tx)
      return tx.hash
    })
  }

  /** Under `instant` a transaction that missed state in its block, and for which no submission waits, is sealed after the fetch. */
  sealWarm(): void {
    const { mutex, ticker, onBug } = this.#deps
    mutex.runExclusive(() => (ticker.isInstant ? ticker.sealExecutable() : undefined)).catch(onBug)
  }

  /** Drops a transaction whose state could not be fetched, and for which no submission waits. */
  async onFetchFailure(reason: unknown, tx: Transaction): Promise<void> {
    const { onBug } = this.#deps
    try {
      const isDropped = await this.#drop(tx)
      if (!(reason instanceof UpstreamError)) onBug(reason)
      else if (isDropped) onBug(dropped(reason, tx))
    } catch (error) {
      onBug(error)
    }
  }

  #admit(transaction: Transaction | (() => Transaction)): Transaction {
    const tx = typeof transaction === 'function' ? transaction() : transaction
    this.#deps.parts().admission.admit(tx)
    return tx
  }

  async #sealOrDrop(tx: Transaction): Promise<void> {
    const { ticker, pool, onBug } = this.#deps
    try {
      await ticker.sealExecutable()
    } catch (error) {
      // A later block failed. The pool may still have the transaction, until its block is announced.
      if (this.#isSealed(tx)) return onBug(error)
      pool.drop(tx.hash)
      throw error
    }
  }

  /**
   * The state that the transaction reads is fetched after admission. With a schedule of blocks nothing waits for it; without one the
   * submission does.
   */
  async #submitOnFork(transaction: Transaction | (() => Transaction), from: Address | null, warmup: Warmup): Promise<Hash> {
    const { mutex, ticker, pool, withFetches } = this.#deps
    const admit = () =>
      withFetches(() =>
        mutex.runExclusive(() => {
          const admitted = this.#admit(transaction)
          if (ticker.cadence.kind === 'preconf' || ticker.cadence.kind === 'native') warmup.warmBehind(admitted)
          return admitted
        }),
      )
    const tx = await (from === null ? admit() : this.#inOrder(from, admit))
    const { kind } = ticker.cadence
    if (kind !== 'instant' && kind !== 'manual') return tx.hash
    await this.#warmOrDrop(tx, warmup)
    if (kind === 'manual') return tx.hash
    for (let round = 0; round < FETCH_ROUNDS && pool.has(tx.hash); round++) {
      await mutex.runExclusive(() => (ticker.isInstant ? this.#sealOrDrop(tx) : undefined))
      if (warmup.isWarm(tx)) break
      await this.#warmOrDrop(tx, warmup)
    }
    return tx.hash
  }

  /** Its nonce may come after those of the sender's earlier submissions, which may wait for state without the mutex. */
  #inOrder(from: Address, admit: () => Promise<Transaction>): Promise<Transaction> {
    const before = this.#newest.get(from)
    // At once without an earlier one: what is requested later must come later.
    const admitted = before === undefined ? admit() : before.then(admit, admit)
    this.#newest.set(from, admitted)
    const forget = () => {
      if (this.#newest.get(from) === admitted) this.#newest.delete(from)
    }
    admitted.then(forget, forget)
    return admitted
  }

  async #warmOrDrop(tx: Transaction, warmup: Warmup): Promise<void> {
    try {
      await warmup.warm(tx)
    } catch (error) {
      await this.#drop(tx)
      if (!this.#isSealed(tx)) throw error
    }
  }

  /** Returns false if the pool no longer has the transaction. */
  #drop({ hash }: Transaction): Promise<boolean> {
    const { mutex, pool } = this.#deps
    return mutex.runExclusive(() => pool.drop(hash))
  }

  /** True if a block has the transaction, for example one that did not need the state that could not be fetched. */
  #isSealed({ hash }: Transaction): boolean {
    return this.#deps.parts().sealed.store.locate(hash) !== null
  }
}

function sender(transaction: Transaction | (() => Transaction)): Address | null {
  return typeof transaction === 'function' ? null : transaction.from
}

function dropped({ reason, message }: UpstreamError, { hash }: Transaction): UpstreamError {
  return new UpstreamError(reason, `transaction ${hash} is dropped, because state that it reads is not available: ${message}`)
}
