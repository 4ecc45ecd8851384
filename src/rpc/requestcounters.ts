import type { Caller } from './context.ts'

type Tier = Caller['tier']

/** Upper bounds of the latency buckets, seconds. One more bucket counts longer requests. */
export const LATENCY_BOUNDS_S: readonly number[] = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10]

/** Label of the calls to methods that the node does not have: method names of clients would be an unbounded set of labels. */
const UNKNOWN_METHOD = 'unknown'

/** Counts of one tier since the start of the node. */
export interface TierCounts {
  /** calls by method; a batch counts each of its items */
  readonly calls: ReadonlyMap<string, { readonly count: number }>
  /** errors by code */
  readonly errors: ReadonlyMap<number, number>
  readonly latency: Latency
}

/** Durations of the answers to whole bodies, in buckets that do not include each other. */
export interface Latency {
  /** one more than LATENCY_BOUNDS_S */
  readonly buckets: readonly number[]
  readonly sumMs: number
}

/** Counts the requests over HTTP and WebSocket. One call costs a map lookup and an increment, one body a few comparisons. */
export class RequestCounters {
  readonly #tiers: Readonly<Record<Tier, MutableCounts>>

  /** `isKnown` returns whether the node has the method. */
  constructor(isKnown: (method: string) => boolean) {
    this.#tiers = { dedicated: new MutableCounts(isKnown), public: new MutableCounts(isKnown) }
  }

  of(tier: Tier): TierCounts {
    return this.#tiers[tier]
  }

  addCall(tier: Tier, method: string): void {
    this.#tiers[tier].addCall(method)
  }

  addError(tier: Tier, code: number): void {
    const { errors } = this.#tiers[tier]
    errors.set(code, (errors.get(code) ?? 0) + 1)
  }

  addDuration(tier: Tier, durationMs: number): void {
    this.#tiers[tier].latency.add(durationMs)
  }
}

class MutableCounts implements TierCounts {
  readonly calls = new Map<string, { count: number }>()
  readonly errors = new Map<number, number>()
  readonly latency = new MutableLatency()
  readonly #isKnown: (method: string) => boolean

  constructor(isKnown: (method: string) => boolean) {
    this.#isKnown = isKnown
  }

  addCall(method: string): void {
    const counter = this.calls.get(method) ?? this.#counterOf(this.#isKnown(method) ? method : UNKNOWN_METHOD)
    counter.count++
  }

  #counterOf(label: string): { count: number } {
    const known = this.calls.get(label)
    if (known !== undefined) return known
    const counter = { count: 0 }
    this.calls.set(label, counter)
    return counter
  }
}

class MutableLatency implements Latency {
  readonly buckets: number[] = Array.from({ length: BOUNDS_MS.length + 1 }, () => 0)
  sumMs = 0

  add(durationMs: number): void {
    this.sumMs += durationMs
    let bucket = 0
    while (bucket < BOUNDS_MS.length && durationMs > BOUNDS_MS[bucket]!) bucket++
    this.buckets[bucket]!++
  }
}

const BOUNDS_MS = LATENCY_BOUNDS_S.map((seconds) => seconds * 1_000)
