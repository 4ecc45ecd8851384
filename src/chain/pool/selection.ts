import type { Transaction } from '../../eth/index.ts'

/** How transactions are picked: by effective priority fee, or as they came. */
export type PoolOrder = 'fees' | 'fifo'

/** A transaction in the pool. */
export interface Entry {
  readonly tx: Transaction
  /** arrival number; decides between equal fees */
  readonly arrival: number
  /** its listeners have heard of it */
  isAnnounced: boolean
}

/** One sender's queue, and how far the walk has come in it. */
export interface Run {
  readonly queue: ReadonlyMap<bigint, Entry>
  top: Entry
}

/** Walks the executable transactions; within a sender always by nonce. */
export class Selection {
  readonly #heap: Run[]
  readonly #baseFee: bigint
  readonly #better: Better

  constructor(runs: Run[], baseFee: bigint, order: PoolOrder) {
    this.#heap = runs
    this.#baseFee = baseFee
    this.#better = order === 'fifo' ? byArrival : byTip(baseFee)
    for (let i = (runs.length >> 1) - 1; i >= 0; i--) this.#sink(i)
  }

  /** All that is left, best first. */
  *[Symbol.iterator](): Iterator<Transaction> {
    for (let tx = this.peek(); tx !== null; tx = this.peek()) {
      yield tx
      this.take()
    }
  }

  /** The best transaction left, or null. */
  peek(): Transaction | null {
    return this.#heap[0]?.top.tx ?? null
  }

  /** Takes the best one; its sender's next nonce stands in its place. */
  take(): void {
    const run = this.#heap[0]
    if (run === undefined) return
    const next = run.queue.get(run.top.tx.nonce + 1n)
    if (next === undefined || next.tx.maxFeePerGas < this.#baseFee) this.#removeTop()
    else run.top = next
    this.#sink(0)
  }

  /** Leaves the best one's sender out for the rest of this walk. */
  skipSender(): void {
    this.#removeTop()
    this.#sink(0)
  }

  #removeTop(): void {
    const last = this.#heap.pop()
    if (last !== undefined && this.#heap.length > 0) this.#heap[0] = last
  }

  #sink(start: number): void {
    const heap = this.#heap
    for (let i = start; ;) {
      const left = 2 * i + 1
      const right = left + 1
      let best = i
      if (left < heap.length && this.#better(heap[left]!.top, heap[best]!.top)) best = left
      if (right < heap.length && this.#better(heap[right]!.top, heap[best]!.top)) best = right
      if (best === i) return
      ;[heap[i], heap[best]] = [heap[best]!, heap[i]!]
      i = best
    }
  }
}

type Better = (a: Entry, b: Entry) => boolean

function byArrival(a: Entry, b: Entry): boolean {
  return a.arrival < b.arrival
}

function byTip(baseFee: bigint): Better {
  return (a, b) => {
    const tipA = effectiveTip(a.tx, baseFee)
    const tipB = effectiveTip(b.tx, baseFee)
    return tipA === tipB ? a.arrival < b.arrival : tipA > tipB
  }
}

/** What the block's builder gets per gas, in wei. */
export function effectiveTip(tx: Transaction, baseFee: bigint): bigint {
  const room = tx.maxFeePerGas - baseFee
  return room < tx.maxPriorityFeePerGas ? room : tx.maxPriorityFeePerGas
}
