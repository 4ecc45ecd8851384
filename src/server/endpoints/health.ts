import type { Chain } from '../../chain/index.ts'
import { LATE_MS, LATE_TICKS } from '../limits.ts'

/** Response of the probes. */
export interface Status {
  readonly ready: boolean
  /** one sentence when not ready */
  readonly reason: string | null
  readonly chainId: number
  readonly cadence: string
  readonly head: { readonly number: number; readonly hash: string; readonly timestamp: number }
  readonly pending: { readonly number: number; readonly flashblockIndex: number } | null
  /** milliseconds of chain clock since the last flashblock or block */
  readonly flashblockAgeMs: number
  /** differs for each start: equal chain ids do not mean the same chain */
  readonly instanceId: string
}

/** Reports whether blocks and flashblocks are produced on time. */
export class Health {
  readonly #chain: Chain
  readonly #fleetProblem: () => string | null
  readonly #unsubscribe: () => void
  #lastEventMs: number

  /** `fleetProblem` returns why a process of a fleet is not ready, or null. */
  constructor(chain: Chain, fleetProblem: () => string | null = () => null) {
    this.#chain = chain
    this.#fleetProblem = fleetProblem
    this.#lastEventMs = chain.clock.nowMs()
    this.#unsubscribe = chain.head.subscribe(() => {
      this.#lastEventMs = chain.clock.nowMs()
    })
  }

  status(): Status {
    const { view } = this.#chain.head
    const { header, hash } = view.head
    const ageMs = Math.max(0, this.#chain.clock.nowMs() - this.#lastEventMs)
    const reason = this.#fleetProblem() ?? this.#lateReason(ageMs)
    return {
      ready: reason === null,
      reason,
      chainId: view.config.chainId,
      cadence: this.#chain.cadence.kind,
      head: { number: header.number, hash, timestamp: header.timestamp },
      pending: view.pending === null ? null : { number: view.pending.header.number, flashblockIndex: view.flashblockIndex },
      flashblockAgeMs: ageMs,
      instanceId: this.#chain.instanceId,
    }
  }

  close(): void {
    this.#unsubscribe()
  }

  /** Cadences without an interval are never late. */
  #lateReason(ageMs: number): string | null {
    const intervalMs = this.#intervalMs()
    if (intervalMs === null) return null
    const limitMs = Math.max(LATE_MS, LATE_TICKS * intervalMs)
    return ageMs <= limitMs ? null : `no flashblock for ${ageMs} ms; one is due every ${intervalMs} ms`
  }

  #intervalMs(): number | null {
    const { cadence } = this.#chain
    if (cadence.kind === 'preconf') return cadence.flashblockMs
    return cadence.kind === 'native' ? cadence.blockTimeMs : null
  }
}
