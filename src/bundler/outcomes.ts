import type { Hash } from '../eth/index.ts'
import type { RpcError } from '../jsonrpc/index.ts'
import { operationBytes } from './bundlegas.ts'
import { OUTCOMES, OUTCOME_BYTES } from './limits.ts'
import type { Candidate } from './validation.ts'

/** The final state of an operation that left the pool. */
export interface Outcome {
  /** that of the pooled operation */
  readonly id: number
  readonly candidate: Candidate
  readonly status: 'included' | 'failed' | 'rejected'
  readonly transaction: Hash | null
  readonly reason: RpcError | null
  readonly failedBundles: number
  readonly replacedBy: Hash | null
}

/** The newest outcomes by the hash of the operation, at most OUTCOMES with OUTCOME_BYTES. */
export class Outcomes {
  readonly #byHash = new Map<Hash, Outcome>()
  #bytes = 0

  get(hash: Hash): Outcome | undefined {
    return this.#byHash.get(hash)
  }

  all(): readonly Outcome[] {
    return [...this.#byHash.values()]
  }

  set(outcome: Outcome): void {
    this.delete(outcome.candidate.hash)
    this.#byHash.set(outcome.candidate.hash, outcome)
    this.#bytes += operationBytes(outcome.candidate.operation)
    for (const oldest of this.#byHash.keys()) {
      if (this.#byHash.size <= OUTCOMES && this.#bytes <= OUTCOME_BYTES) return
      this.delete(oldest)
    }
  }

  delete(hash: Hash): void {
    const outcome = this.#byHash.get(hash)
    if (outcome !== undefined) this.#bytes -= operationBytes(outcome.candidate.operation)
    this.#byHash.delete(hash)
  }

  clear(): void {
    this.#byHash.clear()
    this.#bytes = 0
  }
}
