import { CODE, RpcError, isLoopbackName } from '../../jsonrpc/index.ts'
import { WAITING_QUESTIONS, WAITING_QUESTIONS_PER_ORIGIN } from '../limits.ts'
import { LOCAL_ORIGIN } from '../sites.ts'
import type { PendingQuestion } from './pending.ts'

/**
 * The pending questions in round-robin order: one question of each site in turn, the questions of one site in the order in which they were
 * added. The first question changes only when it is removed: new questions never replace the one that a user reads. Removing the first
 * question keeps the order of the others.
 */
export class ApprovalQueue {
  readonly #byId = new Map<string, PendingQuestion>()
  /** by site, in round-robin order; no list is empty */
  readonly #sites = new Map<string, readonly PendingQuestion[]>()

  get(id: string): PendingQuestion | null {
    return this.#byId.get(id) ?? null
  }

  /** In no particular order. */
  all(): Iterable<PendingQuestion> {
    return this.#byId.values()
  }

  /** null if the queue is empty */
  get first(): PendingQuestion | null {
    for (const [first] of this.#sites.values()) return first ?? null
    return null
  }

  inOrder(): readonly PendingQuestion[] {
    const order: PendingQuestion[] = []
    for (let round = 0; order.length < this.#byId.size; round++) {
      for (const list of this.#sites.values()) {
        const pending = list[round]
        if (pending !== undefined) order.push(pending)
      }
    }
    return order
  }

  /** The first question of a site puts the site at the end of the round. */
  add(pending: PendingQuestion): void {
    const site = siteOf(pending.question.origin)
    this.#byId.set(pending.question.id, pending)
    this.#sites.set(site, [...(this.#sites.get(site) ?? []), pending])
  }

  /** A site whose first question is removed moves to the end of the round. */
  delete(pending: PendingQuestion): void {
    if (!this.#byId.delete(pending.question.id)) return
    const site = siteOf(pending.question.origin)
    const before = this.#sites.get(site) ?? []
    const left = before.filter((each) => each !== pending)
    if (before[0] === pending) this.#sites.delete(site)
    if (left.length > 0) this.#sites.set(site, left)
  }

  /**
   * Returns the question to withdraw so that `origin` can add one; null if there is room. `replaced`: the pending question that the new one
   * takes the place of, so its slot is free.
   *
   * A full queue takes a question from the domain with the most questions, provided that it keeps at least as many as the domain of
   * `origin` then has; else from another site of the same domain, on the same condition. Within a domain it is the newest of the site with the
   * most. The first question of the queue and those that `next()` has handed out are never withdrawn. Throws RpcError -32005 if there is none.
   */
  questionToDisplace(origin: string, replaced: PendingQuestion | null = null): PendingQuestion | null {
    const site = siteOf(origin)
    const own = (this.#sites.get(site) ?? []).filter((each) => each !== replaced)
    const open = own.filter(({ decision }) => decision === null).length
    if (open >= WAITING_QUESTIONS_PER_ORIGIN) throw queueFull(`${open} questions of ${site === LOCAL_ORIGIN ? 'programs' : site} wait`)
    if (replaced !== null || this.#byId.size < WAITING_QUESTIONS) return null
    const domains = this.#byDomain()
    const ownDomain = domains.get(domainOf(site)) ?? []
    const largerDomains = [...domains.values()]
      .filter((lists) => countOf(lists) >= countOf(ownDomain) + 2)
      .toSorted((a, b) => countOf(b) - countOf(a))
    const candidates = [...largerDomains, ownDomain.filter((list) => list.length >= own.length + 2)]
    for (const lists of candidates) {
      const newest = this.#newestOf(lists)
      if (newest !== null) return newest
    }
    throw queueFull(`${WAITING_QUESTIONS} questions wait`)
  }

  /** The newest withdrawable question of the longest list, and of lists of equal length of the one that is last in the round. */
  #newestOf(lists: Lists): PendingQuestion | null {
    const { first } = this
    for (const list of lists.toReversed().toSorted((a, b) => b.length - a.length)) {
      const newest = list.findLast((each) => each !== first && !each.isHandedOut)
      if (newest !== undefined) return newest
    }
    return null
  }

  #byDomain(): ReadonlyMap<string, Lists> {
    const domains = new Map<string, Lists>()
    for (const [site, list] of this.#sites) domains.set(domainOf(site), [...(domains.get(domainOf(site)) ?? []), list])
    return domains
  }
}

/** The questions of several sites. */
type Lists = readonly (readonly PendingQuestion[])[]

function countOf(lists: Lists): number {
  return lists.reduce((count, list) => count + list.length, 0)
}

/**
 * The last two labels of a site's host name, since one server can have pages on any number of names below its domain, or on
 * `a.localhost:3000`, `b.localhost:3000`, `127.0.0.2:3000` …. Decides only shares of a full queue, so `co.uk` may count as one domain.
 */
function domainOf(site: string): string {
  const { hostname, port } = URL.canParse(site) ? new URL(site) : { hostname: site, port: '' }
  if (isLoopbackName(hostname)) return `localhost:${port}`
  return ADDRESS.test(hostname) ? hostname : hostname.split('.').slice(-2).join('.')
}

const ADDRESS = /^[\d.]+$|^\[/

/** All programs count as one site: no browser authenticates an origin that is not a web origin, so one program could use any number of them. */
function siteOf(origin: string): string {
  return origin.includes('://') ? origin : LOCAL_ORIGIN
}

/** `what` such as `20 questions of https://app.example wait`. */
export function queueFull(what: string): RpcError {
  const message = `too many requests: ${what} for an answer already; ask again when one of them is answered`
  return new RpcError(CODE.limitExceeded, message, { reason: 'too-many-questions' })
}

/** For the site whose question was displaced. Does not name the other site. */
export function displacedError(): RpcError {
  const why = `${WAITING_QUESTIONS} questions wait for an answer, and this site has the most of them, so its newest one was withdrawn for another site`
  return new RpcError(CODE.limitExceeded, `too many requests: ${why}; ask again when one of yours is answered`, {
    reason: 'too-many-questions',
  })
}
