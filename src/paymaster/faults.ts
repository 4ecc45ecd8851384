import { schema } from '../jsonrpc/index.ts'
import type { Schema } from '../jsonrpc/index.ts'
import { MAX_FAULT_DELAY_MS } from './limits.ts'

/** Faults for tests of apps and wallets. The last four alter the signed data or the named paymaster. */
export const FAULT_KINDS = ['refuse', 'http-500', 'slow', 'wrong-signature', 'expired', 'differ', 'empty-deposit'] as const
export type FaultKind = (typeof FAULT_KINDS)[number]

export interface Fault {
  readonly kind: FaultKind
  /** delay of `slow`, 10,000 by default */
  readonly delayMs?: number
  /** ends after this many requests; unlimited unless given */
  readonly times?: number
}

/** The method of a request: pm_getPaymasterStubData or pm_getPaymasterData. */
export type Stage = 'stub' | 'final'

interface FaultRule {
  readonly stages: readonly Stage[]
  /** the signature is unusable, so nothing is reserved */
  readonly isUnusable: boolean
}

export const FAULT_RULES: Readonly<Record<FaultKind, FaultRule>> = {
  refuse: { stages: ['stub', 'final'], isUnusable: true },
  'http-500': { stages: ['stub', 'final'], isUnusable: true },
  slow: { stages: ['stub', 'final'], isUnusable: false },
  'wrong-signature': { stages: ['final'], isUnusable: true },
  expired: { stages: ['final'], isUnusable: true },
  differ: { stages: ['final'], isUnusable: true },
  'empty-deposit': { stages: ['stub', 'final'], isUnusable: true },
}

/** Holds the current fault. */
export class FaultInjector {
  #current: Fault | null = null

  get current(): Fault | null {
    return this.#current
  }

  set(fault: Fault | null): void {
    this.#current = fault
  }

  /** Returns the fault that applies to a request of this stage and decrements its count. */
  take(stage: Stage): Fault | null {
    const fault = this.#current
    if (fault === null || !FAULT_RULES[fault.kind].stages.includes(stage)) return null
    if (fault.times !== undefined) this.#current = fault.times <= 1 ? null : { ...fault, times: fault.times - 1 }
    return fault
  }
}

const FIELDS = schema.object({
  kind: schema.oneOf(...FAULT_KINDS),
  delayMs: schema.maybe(schema.integer),
  times: schema.maybe(schema.integer),
})

export const FAULT_SCHEMA: Schema<Fault> = schema.titled('fault', {
  json: FIELDS.json,
  parse: (value, path) => {
    const { kind, delayMs, times } = FIELDS.parse(value, path)
    if (delayMs !== undefined && kind !== 'slow') throw schema.refused(`${path}.delayMs`, `only the fault slow has a delay, not ${kind}`)
    if (delayMs !== undefined && delayMs > MAX_FAULT_DELAY_MS)
      throw schema.refused(`${path}.delayMs`, `${delayMs} is more than ${MAX_FAULT_DELAY_MS}`)
    if (times === 0) throw schema.refused(`${path}.times`, 'must be 1 or more; null instead of a fault removes it')
    return { kind, ...(delayMs === undefined ? null : { delayMs }), ...(times === undefined ? null : { times }) }
  },
})
