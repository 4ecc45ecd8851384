import { RpcError, invalidParams } from '../../jsonrpc/index.ts'
import { Answer } from './answer.ts'
import type { AnsweredBy } from './answer.ts'
import { cancelled, rejected, walletClosed, withdrawn } from '../errors.ts'
import { ApprovalHistory } from './history.ts'
import { WAITING_QUESTIONS_PER_ORIGIN } from '../limits.ts'
import { PromptWaiters, matchesFilter } from './prompts.ts'
import type { Prompt, PromptFilter } from './prompts.ts'
import type { Choice, Draft, Question } from '../question.ts'
import { nameOf } from './recording.ts'
import type { Recording } from './recording.ts'
import type { Policy, Rule } from './rules.ts'
import { callAfter, checkedDelay } from './timing.ts'
import { ApprovalQueue, queueFull, displacedError } from './queue.ts'
import { PolicyEngine } from './policyengine.ts'
import type { Decision, Verdict } from './policyengine.ts'
import { PendingQuestion } from './pending.ts'
import type { Approved, Requester } from './pending.ts'

export type { Answer, AnsweredBy } from './answer.ts'
export type { Prompt, PromptFilter } from './prompts.ts'
export type { Approved } from './pending.ts'

interface ApprovalsOptions {
  /** default: `ask` */
  readonly policy?: Policy
  /** delay of automatic answers; default: 0 */
  readonly latencyMs?: number
  /** a question that is not answered by then is refused; null, the default: no limit */
  readonly answerWithinMs?: number | null
  /** Unix time in milliseconds */
  readonly now?: () => number
  /** receives what a listener throws; by default it is thrown in a microtask */
  readonly onError?: (error: unknown) => void
}

export interface AskOptions {
  /** aborted when the request is cancelled: the question is withdrawn, with the reason if that is an RpcError */
  readonly signal?: AbortSignal | null
  /** id of the question that this one replaces; it is withdrawn if it is still pending */
  readonly replaces?: string | null
  /** the error of a rejection without a code; default: 4001 */
  readonly rejection?: () => RpcError
}

export type ApprovalEvent =
  | { readonly type: 'asked'; readonly question: Question }
  /** another request waits for the answer to a question that is pending */
  | { readonly type: 'joined'; readonly question: Question }
  | { readonly type: 'answered'; readonly question: Question; readonly outcome: Answer; readonly by: AnsweredBy }
  | { readonly type: 'withdrawn'; readonly question: Question; readonly reason: RpcError }

/**
 * The queue of questions that a user answers on the page and a script answers in process. Each question is answered once, by the first
 * answer, or withdrawn. Precedence: a replayed recording, the first rule that answers, the policy, a script that waits in `next`. A pending
 * question is also on the page, where a user can answer it.
 */
export class Approvals {
  readonly #queue = new ApprovalQueue()
  readonly #promptWaiters = new PromptWaiters()
  readonly #history = new ApprovalHistory()
  readonly #policyEngine: PolicyEngine
  readonly #listeners = new Set<{ readonly listener: (event: ApprovalEvent) => void }>()
  readonly #initial: { readonly policy: Policy; readonly latencyMs: number }
  readonly #answerWithinMs: number | null
  readonly #now: () => number
  readonly #onError: (error: unknown) => void
  #latencyMs: number
  #askedAt = 0
  #isClosed = false

  /** Throws RangeError for delays that a timer cannot keep. */
  constructor(options: ApprovalsOptions = {}) {
    const { policy = 'ask', latencyMs = 0, answerWithinMs = null, now = Date.now, onError = throwLater } = options
    this.#initial = { policy, latencyMs: checkedDelay(latencyMs, 'latencyMs') }
    this.#latencyMs = latencyMs
    this.#answerWithinMs = answerWithinMs === null ? null : checkedDelay(answerWithinMs, 'answerWithinMs')
    this.#policyEngine = new PolicyEngine(policy)
    this.#now = now
    this.#onError = onError
  }

  // --- asking -------------------------------------------------------------------------------------------------------

  /**
   * Resolves when the question is approved. Rejects with RpcError: the rejection (by default 4001 with reason `rejected`); 4001 with reason `unanswered`, `withdrawn`, `superseded`, `replay-mismatch` or `rule-failed`; -32005 when the
   * queue is full, also later, if this question is displaced by one of another site; 4900 when the wallet is closed; -32602 for a draft that
   * cannot be JSON.
   */
  async ask(draft: Draft, options: AskOptions = {}): Promise<Approved> {
    const { signal = null, replaces = null, rejection = rejected } = options
    if (this.#isClosed) throw walletClosed()
    if (signal?.aborted === true) throw cancelled(signal)
    return new Promise((resolve, refuse) => this.#ask(draft, replaces, { resolve, refuse, rejection, signal }))
  }

  /** Withdraws a question, such as when its site was disconnected; its requests reject with `reason`. Without effect if it is not pending. */
  withdraw(id: string, reason: RpcError): void {
    const pending = this.#queue.get(id)
    if (pending !== null) this.#withdraw(pending, reason)
  }

  // --- reading ------------------------------------------------------------------------------------------------------

  /** One question of each site in turn, the questions of one site oldest first. The first one changes only when it is answered or withdrawn. */
  get pending(): readonly Question[] {
    return this.#queue.inOrder().map(({ question }) => question)
  }

  /** null if it is not pending. */
  find(id: string): Question | null {
    return this.#queue.get(id)?.question ?? null
  }

  /** Calls `listener` with every event. Returns the function that unsubscribes. */
  subscribe(listener: (event: ApprovalEvent) => void): () => void {
    const added = { listener }
    this.#listeners.add(added)
    return () => void this.#listeners.delete(added)
  }

  // --- answering ----------------------------------------------------------------------------------------------------

  /**
   * Resolves with the first question of `pending` that matches and that no call of `next` has returned yet, or waits for one. Questions that
   * are answered automatically are not returned. Calls that wait are served in their order. Rejects with an Error after the timeout.
   */
  async next(filter: PromptFilter = {}): Promise<Prompt> {
    if (this.#isClosed) throw new Error('the wallet is closed: no question will come')
    const { timeoutMs = this.#answerWithinMs } = filter
    if (timeoutMs !== null) checkedDelay(timeoutMs, 'timeoutMs')
    for (const pending of this.#queue.inOrder()) {
      if (pending.isOpen && matchesFilter(pending.question, filter)) return this.#handOut(pending)
    }
    return this.#promptWaiters.wait(filter, timeoutMs, (ms) => this.#timeoutMessage(filter, ms))
  }

  /** `id`: default is the first of `pending`. Throws RpcError -32602 if it is not pending, or does not offer an account of `choice`. */
  approve(id?: string, choice: Choice = {}): void {
    const pending = this.#required(id)
    this.#answer(pending, Answer.approved(pending.question, choice), 'manual')
  }

  /** `id`: by default the first of `pending`. `code`: by default the code of the question, 4001 or 5750. Throws RpcError -32602 as `approve`. */
  reject(id?: string, code?: number, message?: string): void {
    this.#answer(this.#required(id), Answer.rejected(code, message), 'manual')
  }

  // --- automatic answers --------------------------------------------------------------------------------------------

  get policy(): Policy {
    return this.#policyEngine.policy
  }

  /** Applies to pending questions too, except those that `next` has returned: their script answers them. */
  setPolicy(policy: Policy): void {
    this.#policyEngine.policy = policy
    this.#redecide()
  }

  /** Adds a rule after the existing ones, for pending questions too. Returns a function that removes it. */
  rule(rule: Rule): () => void {
    const remove = this.#policyEngine.add(rule)
    this.#redecide()
    return () => {
      remove()
      this.#redecide()
    }
  }

  get latencyMs(): number {
    return this.#latencyMs
  }

  /** Delays later answers of rules, policy and recordings. Throws RangeError. */
  setLatency(ms: number): void {
    this.#latencyMs = checkedDelay(ms, 'latency')
  }

  /** Begins a recording, to which answers are appended until the next one begins. */
  record(): Recording {
    return this.#history.record()
  }

  /**
   * Answers every question from a recording instead of rules and policy, until the returned function is called. A question that differs from the
   * recording is refused with 4001, reason `replay-mismatch`; `assertAnswered` reports it. Throws Error for an invalid recording.
   */
  replay(recording: Recording): () => void {
    const end = this.#policyEngine.replay(recording)
    this.#redecide()
    return end
  }

  // --- the end ------------------------------------------------------------------------------------------------------

  /**
   * For the end of a test. Throws one Error with a sentence for each pending question, each that was not answered in time, each mismatch of a
   * recording, each rule that failed and each recorded answer whose question did not occur.
   */
  assertAnswered(): void {
    const pending = this.#queue.inOrder().map((each) => this.#unansweredMessage(each))
    const sentences = [...this.#history.takeProblems(), ...pending, ...this.#policyEngine.unusedAnswers]
    if (sentences.length > 0) throw new Error(sentences.join('\n'))
  }

  /** Refuses pending questions, removes rules, recordings and reported failures, and restores the initial policy and latency. */
  reset(): void {
    this.#policyEngine.clear(this.#initial.policy)
    this.#latencyMs = this.#initial.latencyMs
    this.#end(() => withdrawn('the wallet was reset before it was answered'), 'the wallet was reset: no question came')
    this.#history.clear()
  }

  /** Throws RpcError 4900 when the wallet is closed. */
  assertOpen(): void {
    if (this.#isClosed) throw walletClosed()
  }

  /** Refuses pending and later questions. */
  close(): void {
    this.#isClosed = true
    this.#end(walletClosed, 'the wallet was closed: no question came')
  }

  #end(reason: () => RpcError, sentence: string): void {
    for (const pending of this.#queue.inOrder()) this.#withdraw(pending, reason())
    this.#promptWaiters.refuseAll(sentence)
  }

  // --- life of a question -------------------------------------------------------------------------------------------

  #ask(draft: Draft, replaces: string | null, requester: Requester): void {
    const duplicate = replaces === null ? this.#duplicateOf(draft) : null
    if (duplicate !== null) {
      this.#join(duplicate, requester)
      return this.#emit({ type: 'joined', question: duplicate.question })
    }
    // Both can throw, so they precede every change.
    const displaced = this.#queue.questionToDisplace(draft.origin, replaces === null ? null : this.#queue.get(replaces))
    const pending = this.#created(draft, replaces)
    this.#queue.add(pending)
    this.#join(pending, requester)
    if (replaces !== null) this.#supersede(replaces, pending.question.id)
    if (displaced !== null && this.#has(displaced)) this.#withdraw(displaced, displacedError())
    this.#emit({ type: 'asked', question: pending.question })
    if (this.#has(pending)) this.#apply(pending, this.#policyEngine.decide(pending.question)) // a listener may have answered it
  }

  #created(draft: Draft, replaces: string | null): PendingQuestion {
    // Monotonic, so that the order within a site equals the order of createdAt even if the clock is set back.
    this.#askedAt = Math.max(this.#askedAt, this.#now())
    return new PendingQuestion(draft, this.#askedAt, replaces)
  }

  #join(pending: PendingQuestion, requester: Requester): void {
    pending.join(requester, (reason) => this.#withdraw(pending, reason))
  }

  /** Schedules the automatic answer, or hands the question to a script that waits. */
  #apply(pending: PendingQuestion, verdict: Verdict): void {
    if (!this.#has(pending)) return // a rule called approve() or reject() itself
    pending.stop()
    if (verdict instanceof RpcError) return this.#fail(pending, verdict)
    pending.decision = verdict
    if (verdict !== null) return this.#answerLater(pending, verdict)
    const limitMs = this.#answerWithinMs
    if (limitMs !== null)
      pending.stop = callAfter(limitMs, () => this.#fail(pending, rejected(this.#unansweredMessage(pending), 'unanswered')))
    this.#promptWaiters.take(pending.question)?.(this.#handOut(pending))
  }

  #answerLater(pending: PendingQuestion, { answer, by }: Decision): void {
    if (this.#latencyMs === 0) return this.#answer(pending, answer, by)
    pending.stop = callAfter(this.#latencyMs, () => this.#answer(pending, answer, by))
  }

  /** Skips questions that a script holds or a recording answers. */
  #redecide(): void {
    for (const pending of this.#queue.inOrder()) {
      if (pending.isHandedOut || pending.decision?.by === 'recording') continue
      const verdict = this.#policyEngine.decide(pending.question)
      if (verdict instanceof RpcError || !isSame(pending.decision, verdict)) this.#apply(pending, verdict)
    }
  }

  #handOut(pending: PendingQuestion): Prompt {
    pending.isHandedOut = true
    const { question } = pending
    return {
      question,
      approve: (choice) => this.approve(question.id, choice),
      reject: (code, message) => this.reject(question.id, code, message),
    }
  }

  #answer(pending: PendingQuestion, answer: Answer, by: AnsweredBy): void {
    const { question } = pending
    this.#remove(pending, `was ${answer.type} already, ${BY[by]}`)
    this.#history.recordAnswer(question, answer)
    pending.answer(answer)
    this.#emit({ type: 'answered', question, outcome: answer, by })
  }

  #withdraw(pending: PendingQuestion, reason: RpcError): void {
    this.#remove(pending, `was withdrawn: ${reason.message.slice(0, 500)}`)
    pending.refuse(reason)
    this.#emit({ type: 'withdrawn', question: pending.question, reason })
  }

  #fail(pending: PendingQuestion, reason: RpcError): void {
    this.#history.reportProblem(reason.message)
    this.#withdraw(pending, reason)
  }

  #remove(pending: PendingQuestion, outcome: string): void {
    this.#queue.delete(pending)
    this.#history.setOutcome(pending.question.id, outcome)
  }

  #supersede(id: string, by: string): void {
    const reason = `its content has changed: question ${by} replaces it`
    const pending = this.#queue.get(id)
    if (pending !== null) return this.#withdraw(pending, rejected(reason, 'superseded'))
    const outcome = this.#history.outcomeOf(id)
    if (outcome !== null) this.#history.setOutcome(id, `${outcome}; ${reason}`)
  }

  #emit(event: ApprovalEvent): void {
    for (const { listener } of [...this.#listeners]) {
      try {
        listener(event)
      } catch (error) {
        this.#onError(error)
      }
    }
  }

  // --- pending questions --------------------------------------------------------------------------------------------

  #has({ question }: PendingQuestion): boolean {
    return this.#queue.get(question.id) !== null
  }

  #required(id: string | undefined): PendingQuestion {
    const found = id === undefined ? this.#queue.first : this.#queue.get(id)
    if (found !== null) return found
    if (id === undefined) throw invalidParams('no question waits for an answer', { reason: 'nothing-pending' })
    const outcome = this.#history.outcomeOf(id)
    throw outcome === null ? unknownQuestion(id) : invalidParams(`question ${id} ${outcome}`, { reason: 'already-answered', id })
  }

  #duplicateOf(draft: Draft): PendingQuestion | null {
    for (const pending of this.#queue.all()) {
      if (!pending.isDuplicateOf(draft)) continue
      if (pending.requesterCount < WAITING_QUESTIONS_PER_ORIGIN) return pending
      throw queueFull(`${pending.requesterCount} requests of ${draft.origin} to connect wait`)
    }
    return null
  }

  // --- messages -----------------------------------------------------------------------------------------------------

  #unansweredMessage({ question, isHandedOut }: PendingQuestion): string {
    const { method, origin, kind, createdAt } = question
    const waits = `no answer: ${method} of ${origin} has been waiting for approval (${kind}) for ${Math.max(0, this.#now() - createdAt)} ms`
    if (isHandedOut) return `${waits}; next() has handed it out, but neither approve() nor reject() of what it gave was called`
    return `${waits}; answer it with (await wallet.approvals.next()).approve(), a rule, or wallet.approvals.setPolicy('approve')`
  }

  #timeoutMessage({ kind, origin }: PromptFilter, timeoutMs: number): string {
    const wanted = `${kind === undefined ? '' : ` of kind ${kind}`}${origin === undefined ? '' : ` of ${origin}`}`
    const names = this.pending.slice(0, 5).map(nameOf)
    const others = names.length === 0 ? 'no other waits' : `those that wait are ${names.join(', ')}`
    const policy = this.policy === 'ask' ? '' : `; the policy '${this.policy}' answers before next() sees a question`
    return `no question${wanted} came within ${timeoutMs} ms; ${others}${policy}`
  }
}

const BY: Readonly<Record<AnsweredBy, string>> = {
  manual: 'by hand or by script',
  rule: 'by a rule',
  policy: 'by the policy',
  recording: 'by a recording',
}

function isSame(a: Decision | null, b: Decision | null): boolean {
  return a?.answer.type === b?.answer.type && a?.by === b?.by
}

/** A listener that throws must not break the queue. */
function throwLater(error: unknown): void {
  queueMicrotask(() => {
    throw error
  })
}

function unknownQuestion(id: string): RpcError {
  const message = `there is no question ${id.slice(0, 100)}: see pocketchain_approvals for those that wait`
  return invalidParams(message, { reason: 'unknown-question' })
}
