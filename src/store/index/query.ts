import type { ByteFilter } from '../record/bytefilter.ts'
import { KIND, keyOfBytes } from './keys.ts'
import type { IndexLimits } from './limits.ts'
import type { Part, Postings } from './part.ts'
import { Places } from './places.ts'

/** A position of a filter that does not accept everything: the keys of which a log has one. */
export type Term = Float64Array

/** The positions that say something, those with the fewest alternatives first. */
export function termsOf({ addresses, topics }: ByteFilter): readonly Term[] {
  const terms = [addresses, ...topics].map((accepted, i) => accepted && keysOf(i === 0 ? KIND.address : KIND.topic + i - 1, accepted))
  return terms.filter((term) => term !== null).toSorted((a, b) => a.length - b.length)
}

/** Rising, so that neighbours are found in one page. */
function keysOf(kind: number, values: readonly Uint8Array[]): Float64Array {
  return new Float64Array(new Set(values.map((value) => keyOfBytes(kind, value)))).sort()
}

/** What a part has of a position's values. */
interface Found {
  readonly count: number
  readonly lists: readonly Postings[]
}

/** How a query is answered from one part: the position with the fewest items, then the others. */
export class PartPlan {
  readonly part: Part
  /** what it took to find out, in items scanned */
  readonly cost: number
  readonly #found: readonly Found[]
  readonly #limits: IndexLimits

  /** @param terms one or more */
  constructor(part: Part, terms: readonly Term[], limits: IndexLimits) {
    const { probeCost, candidateCost } = limits
    let cost = 0
    /** items to look at, at most */
    let count = part.items
    const found: Found[] = []
    for (const term of terms) {
      // To look at the candidates that are left is cheaper than to ask for so many keys.
      if (found.length > 0 && term.length * probeCost > count * candidateCost) break
      const next = find(part, term)
      cost += term.length * probeCost
      count = Math.min(count, next.count)
      found.push(next)
      if (count === 0) break
    }
    this.part = part
    this.#limits = limits
    this.cost = cost
    this.#found = found.sort((a, b) => a.count - b.count)
  }

  /** Items to look at in a piece of the part, at most, or a few more. Reads no more than the ends of lists, and no more lists than `candidates`. */
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

  /** The places of the items to look at, rising. */
  candidates(from: number, to: number): Uint32Array {
    const [rarest, ...others] = this.#found
    const places = this.#read(rarest?.lists ?? [], from, to)
    const { intersectCandidates, intersectFactor } = this.#limits
    const share = (to - from) / this.part.items
    for (const { lists, count } of others) {
      if (places.size < intersectCandidates) break
      if (count * share < places.size * intersectFactor) places.intersect(this.#read(lists, from, to))
    }
    return places.view()
  }

  #read(lists: readonly Postings[], from: number, to: number): Places {
    const places = new Places()
    for (const list of lists) this.part.read(list, from, to, places)
    if (lists.length > 1) places.merge()
    return places
  }
}

function find(part: Part, term: Term): Found {
  const lists: Postings[] = []
  let count = 0
  for (const key of term) {
    const list = part.probe(key)
    if (list === null) continue
    lists.push(list)
    count += list.count
  }
  return { count, lists }
}
