import { schema } from '../jsonrpc/index.ts'
import type { Schema } from '../jsonrpc/index.ts'
import { MOST_FAULT_DELAY_MS } from './limits.ts'

/** What a test can have the service do wrong. The last three are wrong in the final answer, or in both. */
export const FAULT_KINDS = ['refuse', 'http-500', 'slow', 'wrong-signature', 'expired', 'differ', 'empty-deposit'] as const
export type FaultKind = (typeof FAULT_KINDS)[number]

export interface Fault {
  readonly kind: FaultKind
  /** of `slow`: 10,000 */
  readonly delayMs?: number
  /** after so many requests that it was for it is over; it stays unless given */
  readonly times?: number
}

/** Which of the two requests it is for. */
export type Stage = 'stub' | 'final'

interface FaultRow {
  readonly stages: readonly Stage[]
  /** what is signed under it nobody can use, so nothing is reserved for it */
  readonly isUseless: boolean
}

export const FAULTS: Readonly<Record<FaultKind, FaultRow>> = {
  refuse: { stages: ['stub', 'final'], isUseless: true },
  'http-500': { stages: ['stub', 'final'], isUseless: true },
  slow: { stages: ['stub', 'final'], isUseless: false },
  'wrong-signature': { stages: ['final'], isUseless: true },
  expired: { stages: ['final'], isUseless: true },
  differ: { stages: ['final'], isUseless: true },
  'empty-deposit': { stages: ['stub', 'final'], isUseless: true },
}

/** The fault that holds now. */
export class Faults {
  #current: Fault | null = null

  get current(): Fault | null {
    return this.#current
  }

  set(fault: Fault | null): void {
    this.#current = fault
  }

  /** The fault that a request of this stage meets; null: none. One of those that it was set for is used up. */
  take(stage: Stage): Fault | null {
    const fault = this.#current
    if (fault === null || !FAULTS[fault.kind].stages.includes(stage)) return null
    if (fault.times !== undefined) this.#current = fault.times <= 1 ? null : { ...fault, times: fault.times - 1 }
    return fault
  }
}

const FIELDS = schema.object({
  kind: schema.oneOf(...FAULT_KINDS),
  delayMs: schema.maybe(schema.integer),
  times: schema.maybe(schema.integer),
})

export const FAULT: Schema<Fault> = schema.titled('fault', {
  json: FIELDS.json,
  parse: (value, path) => {
    const { kind, delayMs, times } = FIELDS.parse(value, path)
    if (delayMs !== undefined && kind !== 'slow') throw schema.refused(`${path}.delayMs`, `only the fault slow has a delay, not ${kind}`)
    if (delayMs !== undefined && delayMs > MOST_FAULT_DELAY_MS)
      throw schema.refused(`${path}.delayMs`, `${delayMs} is more than ${MOST_FAULT_DELAY_MS}`)
    if (times === 0) throw schema.refused(`${path}.times`, 'must be 1 or more; null instead of a fault ends it')
    return { kind, ...(delayMs === undefined ? null : { delayMs }), ...(times === undefined ? null : { times }) }
  },
})
