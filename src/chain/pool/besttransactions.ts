import type { Transaction } from '../../eth/index.ts'

/** Selection order: by effective priority fee, or by arrival. */
export type PoolOrder = 'fees' | 'fifo'

/** What a block charges, in wei. */
export interface BlockPrices {
  /** 0n before London */
  readonly baseFeePerGas: bigint
  /** 0n without blobs */
  readonly blobBaseFee: bigint
}

/** True if the fee caps of a transaction are at least these prices. */
export function pays(tx: Transaction, { baseFeePerGas, blobBaseFee }: BlockPrices): boolean {
  return tx.maxFeePerGas >= baseFeePerGas && (tx.type !== 3 || tx.maxFeePerBlobGas >= blobBaseFee)
}

/** A transaction in the pool. */
export interface PoolEntry {
  readonly tx: Transaction
  /** Sequence number; orders transactions of equal fee. */
  readonly arrival: number
  /** True after the pool's listeners were notified. */
  isAnnounced: boolean
}

/** One sender's transactions and the next one to select. */
export interface SenderCursor {
  readonly queue: ReadonlyMap<bigint, PoolEntry>
  top: PoolEntry
}

/** Iterates over the executable transactions in pool order; by nonce within a sender. */
export class BestTransactions {
  readonly #heap: SenderCursor[]
  readonly #prices: BlockPrices
  readonly #isBetter: Comparison
  readonly #isHeld: (tx: Transaction) => boolean

  constructor(runs: SenderCursor[], prices: BlockPrices, order: PoolOrder, isHeld: (tx: Transaction) => boolean) {
    this.#heap = runs
    this.#prices = prices
    this.#isHeld = isHeld
    this.#isBetter = order === 'fifo' ? byArrival : byTip(prices.baseFeePerGas)
    for (let i = (runs.length >> 1) - 1; i >= 0; i--) this.#siftDown(i)
  }

  /** Yields the remaining transactions, best first. */
  *[Symbol.iterator](): Iterator<Transaction> {
    for (let tx = this.peek(); tx !== null; tx = this.peek()) {
      yield tx
      this.shift()
    }
  }

  /** Returns the best remaining transaction, or `null`. */
  peek(): Transaction | null {
    return this.#heap[0]?.top.tx ?? null
  }

  /** Replaces the best transaction with the same sender's next one. */
  shift(): void {
    const cursor = this.#heap[0]
    if (cursor === undefined) return
    const next = cursor.queue.get(cursor.top.tx.nonce + 1n)
    if (next === undefined || !pays(next.tx, this.#prices) || this.#isHeld(next.tx)) this.#removeTop()
    else cursor.top = next
    this.#siftDown(0)
  }

  /** Removes the best transaction's sender. */
  pop(): void {
    this.#removeTop()
    this.#siftDown(0)
  }

  #removeTop(): void {
    const last = this.#heap.pop()
    if (last !== undefined && this.#heap.length > 0) this.#heap[0] = last
  }

  #siftDown(start: number): void {
    const heap = this.#heap
    for (let i = start; ;) {
      const left = 2 * i + 1
      const right = left + 1
      let best = i
      if (left < heap.length && this.#isBetter(heap[left]!.top, heap[best]!.top)) best = left
      if (right < heap.length && this.#isBetter(heap[right]!.top, heap[best]!.top)) best = right
      if (best === i) return
      ;[heap[i], heap[best]] = [heap[best]!, heap[i]!]
      i = best
    }
  }
}

type Comparison = (a: PoolEntry, b: PoolEntry) => boolean

function byArrival(a: PoolEntry, b: PoolEntry): boolean {
  return a.arrival < b.arrival
}

function byTip(baseFee: bigint): Comparison {
  return (a, b) => {
    const tipA = effectiveTip(a.tx, baseFee)
    const tipB = effectiveTip(b.tx, baseFee)
    return tipA === tipB ? a.arrival < b.arrival : tipA > tipB
  }
}

/** Priority fee per gas that the fee recipient receives, in wei. */
export function effectiveTip(tx: Transaction, baseFee: bigint): bigint {
  const headroom = tx.maxFeePerGas - baseFee
  return headroom < tx.maxPriorityFeePerGas ? headroom : tx.maxPriorityFeePerGas
}
