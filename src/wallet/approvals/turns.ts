import { CODE, RpcError } from '../../jsonrpc/index.ts'
import { WAITING_QUESTIONS, WAITING_QUESTIONS_PER_ORIGIN } from '../limits.ts'
import { LOCAL_ORIGIN } from '../sites.ts'
import type { Waiting } from './waiting.ts'

/**
 * The waiting questions, in the order in which they are handed out: one question of each site in turn, the questions of one site in the order
 * in which they were asked. The first question stays the first until it leaves: questions that arrive never change which one a person reads.
 * When the first question leaves, the order of the others stays the same.
 */
export class Turns {
  readonly #byId = new Map<string, Waiting>()
  /** by site; the site whose turn it is comes first. No list is empty. */
  readonly #sites = new Map<string, readonly Waiting[]>()

  get size(): number {
    return this.#byId.size
  }

  get(id: string): Waiting | null {
    return this.#byId.get(id) ?? null
  }

  /** In no order that matters. */
  all(): Iterable<Waiting> {
    return this.#byId.values()
  }

  /** Null if no question waits. */
  get first(): Waiting | null {
    for (const [first] of this.#sites.values()) return first ?? null
    return null
  }

  inOrder(): readonly Waiting[] {
    const order: Waiting[] = []
    for (let round = 0; order.length < this.size; round++) {
      for (const list of this.#sites.values()) {
        const waiting = list[round]
        if (waiting !== undefined) order.push(waiting)
      }
    }
    return order
  }

  /** A site that had no question waits for its turn behind all others. */
  add(waiting: Waiting): void {
    const site = siteOf(waiting.question.origin)
    this.#byId.set(waiting.question.id, waiting)
    this.#sites.set(site, [...(this.#sites.get(site) ?? []), waiting])
  }

  /** A site whose first question leaves has had its turn. */
  delete(waiting: Waiting): void {
    if (!this.#byId.delete(waiting.question.id)) return
    const site = siteOf(waiting.question.origin)
    const before = this.#sites.get(site) ?? []
    const left = before.filter((each) => each !== waiting)
    const hadTurn = before[0] === waiting
    if (hadTurn) this.#sites.delete(site)
    if (left.length > 0) this.#sites.set(site, left)
  }

  /**
   * The question that leaves so that `origin` can ask one more; null if there is room. When the queue is full, it is one of the owner
   * (`ownerOf`) with the most questions, if that keeps at least as many as the owner of `origin` then has; or else one of another site of the
   * same owner, if that keeps at least as many as `origin` then has. Within the owner it is the newest of the site with the most. Who loses one
   * has two or more and keeps the first, so the question that a person reads is never taken. Throws RpcError -32005 if there is no room.
   */
  displacedBy(origin: string): Waiting | null {
    const site = siteOf(origin)
    const own = this.#sites.get(site) ?? []
    const open = own.filter(({ decision }) => decision === null).length
    if (open >= WAITING_QUESTIONS_PER_ORIGIN) throw crowded(`${open} questions of ${site === LOCAL_ORIGIN ? 'programs' : site} wait`)
    if (this.size < WAITING_QUESTIONS) return null
    const owners = this.#byOwner()
    const mates = owners.get(ownerOf(site)) ?? []
    const largest = [...owners.values()].reduce((most, lists) => (countOf(lists) > countOf(most) ? lists : most), [])
    const newest = countOf(largest) >= countOf(mates) + 2 ? newestOf(largest, 1) : newestOf(mates, own.length + 2)
    if (newest === null) throw crowded(`${WAITING_QUESTIONS} questions wait`)
    return newest
  }

  #byOwner(): ReadonlyMap<string, Lists> {
    const owners = new Map<string, Lists>()
    for (const [site, list] of this.#sites) owners.set(ownerOf(site), [...(owners.get(ownerOf(site)) ?? []), list])
    return owners
  }
}

/** The questions of several sites. */
type Lists = readonly (readonly Waiting[])[]

function countOf(lists: Lists): number {
  return lists.reduce((count, list) => count + list.length, 0)
}

/** Of the longest list, of equally long ones the one whose turn comes last; null if that is shorter than `least`. */
function newestOf(lists: Lists, least: number): Waiting | null {
  const longest = lists.reduce((most, list) => (list.length >= most.length ? list : most), [])
  return longest.length < least ? null : (longest.at(-1) ?? null)
}

/**
 * Whose name a site has, as far as names tell: one server may have pages on `a.localhost:3000`, `b.localhost:3000`, `127.0.0.2:3000` …, or on
 * each name below a domain. For shares of the full queue alone, so it does no harm that `co.uk` counts as one owner.
 */
function ownerOf(site: string): string {
  const { hostname, port } = URL.canParse(site) ? new URL(site) : { hostname: site, port: '' }
  if (LOOPBACK.test(hostname)) return `localhost:${port}`
  return ADDRESS.test(hostname) ? hostname : hostname.split('.').slice(-2).join('.')
}

/** A server may listen on every address and name of this computer. */
const LOOPBACK = /^(.+\.)?localhost$|^127\.[\d.]+$|^\[::1\]$/
const ADDRESS = /^[\d.]+$|^\[/

/** All programs are one site: no browser vouches for a name that is not a web origin, so a program could take any number of them. */
function siteOf(origin: string): string {
  return origin.includes('://') ? origin : LOCAL_ORIGIN
}

/** `what` such as `20 questions of https://app.example wait`. */
export function crowded(what: string): RpcError {
  const message = `too many requests: ${what} for an answer already; ask again when one of them is answered`
  return new RpcError(CODE.limitExceeded, message, { reason: 'too-many-questions' })
}

/** For the asker of a question that was displaced. Does not name the other site. */
export function displaced(): RpcError {
  const why = `${WAITING_QUESTIONS} questions wait for an answer, and this site has the most of them, so its newest one was withdrawn for another site`
  return new RpcError(CODE.limitExceeded, `too many requests: ${why}; ask again when one of yours is answered`, {
    reason: 'too-many-questions',
  })
}
