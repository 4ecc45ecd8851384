import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { RpcError } from '../../jsonrpc/index.ts'
import { Approvals } from './approvals.ts'
import { ORIGIN, OTHER, connectDraft, sendDraft, signDraft } from './approvals.fixture.ts'
import { WAITING_QUESTIONS, WAITING_QUESTIONS_PER_ORIGIN } from '../limits.ts'
import type { Prompt } from './prompts.ts'
import type { Draft, Question, QuestionKind } from '../question.ts'

// Invariants of the queue under any sequence of steps.

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A step of an app, a user, a script or the owner of the wallet. Numbers are indexes into the existing items. */
type Step =
  | { readonly does: 'ask'; readonly draft: Draft; readonly replaces: number | null }
  | { readonly does: 'approve' | 'reject' | 'withdraw' | 'leave' | 'settle'; readonly which: number }
  | { readonly does: 'next'; readonly kind: QuestionKind | null }
  | { readonly does: 'policy'; readonly policy: 'ask' | 'approve' | 'reject' }
  | { readonly does: 'rule'; readonly kind: QuestionKind; readonly verdict: 'approve' | 'reject' }
  | { readonly does: 'unrule' }
  | { readonly does: 'latency' | 'wait'; readonly ms: number }

const which = fc.nat(7)
const origin = fc.constantFrom(ORIGIN, OTHER, 'local', 'a script')
const kind = fc.constantFrom<QuestionKind>('sign', 'send', 'connect')
const draft = fc.oneof(
  origin.map((each) => connectDraft(each)),
  origin.map((each) => signDraft(each)),
  fc.constant(sendDraft(1n)),
)

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ does: fc.constant('ask' as const), draft, replaces: fc.option(which, { freq: 5 }) }) },
  { weight: 6, arbitrary: fc.record({ does: fc.constantFrom('approve', 'reject', 'withdraw', 'leave', 'settle'), which }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('next' as const), kind: fc.option(kind) }) },
  fc.record({ does: fc.constant('policy' as const), policy: fc.constantFrom('ask', 'ask', 'approve', 'reject') }),
  fc.record({ does: fc.constant('rule' as const), kind, verdict: fc.constantFrom('approve', 'reject') }),
  fc.constant({ does: 'unrule' as const }),
  fc.record({ does: fc.constantFrom('latency', 'wait'), ms: fc.constantFrom(0, 10, 60) }),
)

type Outcome = { readonly id: string } | { readonly code: number }

/** A queue with its events, the outcome of each request and the prompts it has returned. */
class Simulation {
  readonly approvals = new Approvals({ answerWithinMs: 50 })
  /** the events of each question, without the requests that join it */
  readonly events = new Map<string, string[]>()
  readonly outcomes: (Outcome | null)[] = []
  readonly handed: Prompt[] = []
  /** calls of next() that have neither resolved nor rejected */
  waitingPrompts = 0
  readonly #leaves: AbortController[] = []
  readonly #rules: (() => void)[] = []

  constructor() {
    this.approvals.subscribe(({ type, question }) => {
      if (type !== 'joined') this.events.set(question.id, [...(this.events.get(question.id) ?? []), type])
    })
  }

  take(next: Step): void {
    const { approvals } = this
    if (next.does === 'ask') this.#ask(next.draft, next.replaces)
    else if (next.does === 'next') this.#next(next.kind)
    else if (next.does === 'policy') approvals.setPolicy(next.policy)
    else if (next.does === 'latency') approvals.setLatency(next.ms)
    else if (next.does === 'rule') this.#rules.push(approvals.rule((question) => (question.kind === next.kind ? next.verdict : null)))
    else if (next.does === 'unrule') this.#rules.pop()?.()
    else if (next.does === 'leave') this.#leaves[next.which]?.abort()
    else if ('which' in next) this.#answer(next.does, next.which)
  }

  #ask(sent: Draft, replaces: number | null): void {
    const at = this.outcomes.push(null) - 1
    const leave = new AbortController()
    this.#leaves.push(leave)
    const id = replaces === null ? null : ([...this.events.keys()][replaces] ?? null)
    this.approvals.ask(sent, { signal: leave.signal, replaces: id }).then(
      (approved) => this.#settle(at, approved),
      (error: RpcError) => this.#settle(at, error),
    )
  }

  #settle(at: number, outcome: Outcome): void {
    expect(this.outcomes[at]).toBeNull()
    this.outcomes[at] = outcome
  }

  #next(wanted: QuestionKind | null): void {
    this.waitingPrompts++
    this.approvals.next(wanted === null ? {} : { kind: wanted }).then(
      (prompt) => void (this.waitingPrompts--, this.handed.push(prompt)),
      () => void this.waitingPrompts--,
    )
  }

  /** An answer is accepted if and only if the question is pending. */
  #answer(does: 'approve' | 'reject' | 'withdraw' | 'settle', at: number): void {
    const prompt = this.handed[at]
    const id = does === 'settle' ? prompt?.question.id : [...this.events.keys()][at]
    if (id === undefined) return
    const waits = this.approvals.find(id) !== null
    const events = this.events.get(id)?.length
    try {
      if (does === 'withdraw') this.approvals.withdraw(id, new RpcError(4100, 'gone'))
      else if (does === 'settle') prompt?.approve()
      else this.approvals[does](id)
      if (does !== 'withdraw') expect(waits).toBe(true)
    } catch (error) {
      expect(waits).toBe(false)
      expect(error).toMatchObject({ code: -32602, data: { reason: 'already-answered' } })
    }
    expect(this.events.get(id)).toHaveLength(waits ? 2 : (events ?? 0))
    expect(this.approvals.find(id)).toBeNull()
  }

  /** Checks the invariants. */
  check(): void {
    const { pending } = this.approvals
    // Pending are exactly the questions without a final event; those of one site in the order of their first event.
    const open = [...this.events].filter(([, events]) => events.length === 1).map(([id]) => id)
    expect(pending.map(({ id }) => id).toSorted()).toEqual(open.toSorted())
    for (const site of new Set(pending.map(siteOf))) {
      const own = pending.filter((question) => siteOf(question) === site)
      expect(own.map(({ id }) => id)).toEqual(open.filter((id) => own.some((question) => question.id === id)))
      expect(own.map(({ createdAt }) => createdAt)).toEqual(own.map(({ createdAt }) => createdAt).toSorted((a, b) => a - b))
    }
    expectRoundRobin(pending)
    this.#checkFirst(pending)
    for (const events of this.events.values()) expect([['asked'], ['asked', 'answered'], ['asked', 'withdrawn']]).toContainEqual(events)
    const handed = this.handed.map(({ question }) => question.id)
    expect(new Set(handed).size).toBe(handed.length)
  }

  #first: Question | null = null

  /** The first question stays the first until it is removed. */
  #checkFirst([first]: readonly Question[]): void {
    const before = this.#first
    if (before !== null && this.approvals.find(before.id) !== null) expect(first).toBe(before)
    this.#first = first ?? null
  }
}

const siteOf = ({ origin }: Question): string => (origin.includes('://') ? origin : 'local')

/** Round n has one question of each site with at least n, in the order of the round before. */
function expectRoundRobin(pending: readonly Question[]): void {
  const sites = pending.map(siteOf)
  const order = [...new Set(sites)]
  const countOf = (site: string): number => sites.filter((each) => each === site).length
  const most = Math.max(0, ...order.map(countOf))
  const rounds = Array.from({ length: most }, (_, round) => order.filter((site) => countOf(site) > round))
  expect(sites).toEqual(rounds.flat())
}

describe('any sequence of steps', () => {
  it('settles every promise, answers no question twice, keeps the first question first and alternates between sites', async () => {
    const sequence = fc.array(step, { minLength: 1, maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(sequence, async (steps) => {
        const simulation = new Simulation()
        for (const next of steps) {
          simulation.take(next)
          await vi.advanceTimersByTimeAsync(next.does === 'wait' ? next.ms : 0)
          simulation.check()
        }
        simulation.approvals.close()
        await vi.advanceTimersByTimeAsync(0)
        simulation.check()
        expect(simulation.approvals.pending).toEqual([])
        expect(simulation.outcomes).not.toContain(null)
        expect(simulation.waitingPrompts).toBe(0)
        expect(vi.getTimerCount()).toBe(0)
      }),
      { numRuns: 500 },
    )
  })

  it('settles every request without close() when answerWithinMs is set', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 30 }), async (steps) => {
        const simulation = new Simulation()
        for (const next of steps) simulation.take(next)
        // 60 ms of latency, and 50 ms of answerWithinMs after a change of policy drops the answer.
        await vi.advanceTimersByTimeAsync(120)
        expect(simulation.approvals.pending).toEqual([])
        expect(simulation.outcomes).not.toContain(null)
        expect(simulation.waitingPrompts).toBe(0)
      }),
      { numRuns: 300 },
    )
  })

  it('approves nothing without an approval', async () => {
    const withoutApprovals = step.filter(
      (each) => !['approve', 'settle'].includes(each.does) && !(each.does === 'policy' && each.policy === 'approve'),
    )
    const steps = fc.array(
      withoutApprovals.filter((each) => each.does !== 'rule' || each.verdict === 'reject'),
      { maxLength: 40 },
    )
    await fc.assert(
      fc.asyncProperty(steps, async (taken) => {
        const simulation = new Simulation()
        for (const next of taken) simulation.take(next)
        await vi.advanceTimersByTimeAsync(120)
        simulation.approvals.close()
        await vi.advanceTimersByTimeAsync(0)
        for (const outcome of simulation.outcomes) expect(outcome).toHaveProperty('code')
      }),
      { numRuns: 200 },
    )
  })
})

describe('a queue that sites flood', () => {
  const SITES = 16
  const flooding = fc.record({
    // The site of the next question.
    origins: fc.array(fc.nat(SITES - 1), { minLength: 250, maxLength: 500 }),
    // The first question is answered after this number of questions.
    every: fc.integer({ min: 3, max: 60 }),
  })
  const drafts = Array.from({ length: SITES }, (_, i) => signDraft(i === 0 ? 'local' : `https://site-${i}.example`))

  it('admits a site with few questions, displaces one of the site with the most, and rejects only with -32005', async () => {
    await fc.assert(
      fc.asyncProperty(flooding, async ({ origins, every }) => {
        const approvals = new Approvals()
        const refusals: unknown[] = []
        let answered = 0
        for (const [at, site] of origins.entries()) {
          const before = approvals.pending
          const [draft] = drafts.slice(site)
          if (draft === undefined) throw new Error('every site has a draft')
          const counts = new Map<string, number>()
          for (const { origin: each } of before) counts.set(each, (counts.get(each) ?? 0) + 1)
          const own = counts.get(draft.origin) ?? 0
          approvals.ask(draft).catch((error: RpcError) => refusals.push(error.code))
          const after = approvals.pending
          const isTaken = after.filter(({ origin: each }) => each === draft.origin).length === own + 1
          const hasRoom = before.length < WAITING_QUESTIONS || own + 2 <= Math.max(...counts.values())
          if (isTaken !== (own < WAITING_QUESTIONS_PER_ORIGIN && hasRoom)) expect([at, own, counts]).toBeNull()
          if (!isTaken) expect(after.map(({ id }) => id)).toEqual(before.map(({ id }) => id))
          if (after.length > WAITING_QUESTIONS || (before.length > 0 && after[0] !== before[0])) expect([at, after]).toBeNull()
          if (at % every !== 0) continue
          expectRoundRobin(after)
          approvals.approve()
          answered++
          // The site whose question was answered is first again only if no other site has one.
          const left = approvals.pending
          const isAlone = left.every(({ origin: each }) => each === after[0]?.origin)
          if (!isAlone) expect(left[0]?.origin).not.toBe(after[0]?.origin)
        }
        await vi.advanceTimersByTimeAsync(0)
        expect(answered + refusals.length + approvals.pending.length).toBe(origins.length)
        expect(refusals.filter((code) => code !== -32005)).toEqual([])
        approvals.close()
      }),
      { numRuns: 10 },
    )
  })
})
