import type { ByteFilter } from '../record/bytefilter.ts'
import { KIND, keyOfBytes } from './keys.ts'
import type { IndexLimits } from './limits.ts'
import type { IndexPart, Postings } from './indexpart.ts'
import { PositionList } from './positionlist.ts'

/** The keys that a filter accepts at one position. */
export type Term = Float64Array

/** Returns the terms of the positions with a condition, those with the fewest alternatives first. */
export function termsOf({ addresses, topics }: ByteFilter): readonly Term[] {
  const terms = [addresses, ...topics].map((accepted, i) => accepted && keysOf(i === 0 ? KIND.address : KIND.topic + i - 1, accepted))
  return terms.filter((term) => term !== null).toSorted((a, b) => a.length - b.length)
}

/** Ascending, so that neighbouring keys are on one page. */
function keysOf(kind: number, values: readonly Uint8Array[]): Float64Array {
  return new Float64Array(new Set(values.map((value) => keyOfBytes(kind, value)))).sort()
}

/** The lists of a part for the keys of a term. */
interface Found {
  readonly count: number
  readonly lists: readonly Postings[]
}

/** The plan of a query on one part: read the term with the fewest items, then intersect the others. */
export class QueryPlan {
  readonly part: IndexPart
  /** cost of planning, in scanned items */
  readonly cost: number
  readonly #found: readonly Found[]
  readonly #limits: IndexLimits

  private constructor(part: IndexPart, cost: number, found: readonly Found[], limits: IndexLimits) {
    this.part = part
    this.cost = cost
    this.#found = found
    this.#limits = limits
  }

  /** Returns null if the part has no item of some term. @param terms one or more */
  static of(part: IndexPart, terms: readonly Term[], limits: IndexLimits): QueryPlan | null {
    const { probeCost, candidateCost } = limits
    let cost = 0
    /** upper bound of the items to verify */
    let count = part.items
    const found: Found[] = []
    for (const term of terms) {
      // Verifying the remaining candidates is cheaper than looking up this number of keys.
      if (found.length > 0 && term.length * probeCost > count * candidateCost) break
      const next = find(part, term)
      if (next === null) return null
      cost += term.length * probeCost
      count = Math.min(count, next.count)
      found.push(next)
    }
    return new QueryPlan(
      part,
      cost,
      found.sort((a, b) => a.count - b.count),
      limits,
    )
  }

  /** Returns an upper bound of the candidates in a range. Reads only the ends of lists, and only lists that `candidates` reads. */
  countWithin(from: number, to: number): number {
    let count = to - from
    for (const [i, { lists }] of this.#found.entries()) {
      if (i > 0 && count < this.#limits.intersectCandidates) break
      count = Math.min(
        count,
        lists.reduce((sum, list) => sum + this.part.countWithin(list, from, to), 0),
      )
    }
    return count
  }

  /** Returns the positions of the candidates, ascending. */
  candidates(from: number, to: number): Uint32Array {
    const [rarest, ...others] = this.#found
    const positions = this.#read(rarest?.lists ?? [], from, to)
    const { intersectCandidates, intersectFactor } = this.#limits
    const share = (to - from) / this.part.items
    for (const { lists, count } of others) {
      if (positions.size < intersectCandidates) break
      if (count * share < positions.size * intersectFactor) positions.intersect(this.#read(lists, from, to))
    }
    return positions.view()
  }

  #read(lists: readonly Postings[], from: number, to: number): PositionList {
    const positions = new PositionList()
    for (const list of lists) this.part.read(list, from, to, positions)
    if (lists.length > 1) positions.merge()
    return positions
  }
}

function find(part: IndexPart, term: Term): Found | null {
  let lists: Postings[] | null = null
  let count = 0
  for (const key of term) {
    const list = part.probe(key)
    if (list === null) continue
    lists ??= []
    lists.push(list)
    count += list.count
  }
  return lists === null ? null : { count, lists }
}
