import { RpcError, invalidParams } from '../../jsonrpc/index.ts'
import { Answer } from './answer.ts'
import type { AnsweredBy } from './answer.ts'
import { WALLET_CODE, rejected } from '../errors.ts'
import { Journal } from './journal.ts'
import { WAITING_QUESTIONS_PER_ORIGIN } from '../limits.ts'
import { Prompts, fits } from './prompts.ts'
import type { Prompt, PromptFilter } from './prompts.ts'
import type { Choice, Draft, Question } from '../question.ts'
import { nameOf } from './recording.ts'
import type { Recording } from './recording.ts'
import type { Policy, Rule } from './rules.ts'
import { after, delay } from './timing.ts'
import { Turns, crowded, displaced } from './turns.ts'
import { Deciders } from './verdict.ts'
import type { Decision, Verdict } from './verdict.ts'
import { Waiting } from './waiting.ts'
import type { Approved, Asker } from './waiting.ts'

export type { Answer, AnsweredBy } from './answer.ts'
export type { Prompt, PromptFilter } from './prompts.ts'
export type { Approved } from './waiting.ts'

export interface ApprovalsOptions {
  /** `ask` */
  readonly policy?: Policy
  /** 0: what answers by itself answers at once */
  readonly latencyMs?: number
  /** null, the default: a question waits for as long as the one who asked it does */
  readonly answerWithinMs?: number | null
  /** Unix time in milliseconds */
  readonly now?: () => number
  /** gets what a listener throws; unless given, it is thrown again where nothing can catch it */
  readonly onError?: (error: unknown) => void
}

export interface AskOptions {
  /** aborted when nobody wants the answer any more: the question is withdrawn */
  readonly signal?: AbortSignal | null
  /** id of the question that this one stands for. When that one still waits, it is withdrawn */
  readonly replaces?: string | null
  /** what a refusal without a code of its own becomes: 4001 */
  readonly rejection?: () => RpcError
}

export type ApprovalEvent =
  | { readonly type: 'asked'; readonly question: Question }
  | { readonly type: 'answered'; readonly question: Question; readonly outcome: Answer; readonly by: AnsweredBy }
  | { readonly type: 'withdrawn'; readonly question: Question; readonly reason: RpcError }

/**
 * The one queue of questions under both hands, the person's and the script's. Every question is answered once, by whoever comes first, or
 * withdrawn. In this order it is offered to: a recording that is replayed, the rules (the first that answers), the policy, scripts that
 * wait in `next`. Meanwhile a person sees it on the page and may answer it there.
 */
export class Approvals {
  readonly #waiting = new Turns()
  readonly #prompts = new Prompts()
  readonly #journal = new Journal()
  readonly #deciders: Deciders
  readonly #listeners = new Set<{ readonly listener: (event: ApprovalEvent) => void }>()
  readonly #initial: { readonly policy: Policy; readonly latencyMs: number }
  readonly #answerWithinMs: number | null
  readonly #now: () => number
  readonly #onError: (error: unknown) => void
  #latencyMs: number
  #askedAt = 0
  #isClosed = false

  /** Throws RangeError for times that no timer can keep. */
  constructor(options: ApprovalsOptions = {}) {
    const { policy = 'ask', latencyMs = 0, answerWithinMs = null, now = Date.now, onError = throwLater } = options
    this.#initial = { policy, latencyMs: delay(latencyMs, 'latencyMs') }
    this.#latencyMs = latencyMs
    this.#answerWithinMs = answerWithinMs === null ? null : delay(answerWithinMs, 'answerWithinMs')
    this.#deciders = new Deciders(policy)
    this.#now = now
    this.#onError = onError
  }

  // --- asking -------------------------------------------------------------------------------------------------------

  /**
   * Resolves when the question is approved. Rejects with RpcError: the refusal (4001 with reason `rejected`, unless who refused or `rejection`
   * says otherwise); 4001 with reason `unanswered`, `withdrawn`, `superseded`, `replay-mismatch` or `rule-failed`; -32005 when too many wait,
   * also while this one waits already, if its site has the most and a site with fewer asks;
   * 4900 when the wallet is closed; -32602 for a draft that JSON cannot hold.
   */
  async ask(draft: Draft, options: AskOptions = {}): Promise<Approved> {
    const { signal = null, replaces = null, rejection = rejected } = options
    if (this.#isClosed) throw closed()
    if (signal?.aborted === true) throw withdrawn()
    return new Promise((resolve, refuse) => this.#ask(draft, replaces, { resolve, refuse, rejection, signal }))
  }

  /** Ends a question that has lost its reason, such as when the site was disconnected. Its askers get `reason`. One that no longer waits is left alone. */
  withdraw(id: string, reason: RpcError): void {
    const waiting = this.#waiting.get(id)
    if (waiting !== null) this.#withdraw(waiting, reason)
  }

  // --- looking ------------------------------------------------------------------------------------------------------

  /** One question of each site in turn, the questions of one site oldest first. The first one changes only when it leaves. */
  get pending(): readonly Question[] {
    return this.#waiting.inOrder().map(({ question }) => question)
  }

  /** null: it does not wait, or never did. */
  find(id: string): Question | null {
    return this.#waiting.get(id)?.question ?? null
  }

  /** `listener` gets every event until what it returns is called. */
  subscribe(listener: (event: ApprovalEvent) => void): () => void {
    const added = { listener }
    this.#listeners.add(added)
    return () => void this.#listeners.delete(added)
  }

  // --- answering ----------------------------------------------------------------------------------------------------

  /**
   * The first question of `pending` that fits and that no call of `next` has handed out yet; waits for one. Questions that a rule, the policy or a
   * recording answers are not handed out. Calls that wait are served in their order. Rejects with an Error that says what was waited for.
   */
  async next(filter: PromptFilter = {}): Promise<Prompt> {
    if (this.#isClosed) throw new Error('the wallet is closed: no question will come')
    const { timeoutMs = this.#answerWithinMs } = filter
    if (timeoutMs !== null) delay(timeoutMs, 'timeoutMs')
    for (const waiting of this.#waiting.inOrder()) {
      if (waiting.isOpen && fits(waiting.question, filter)) return this.#handOut(waiting)
    }
    return this.#prompts.wait(filter, timeoutMs, (ms) => this.#nothingCame(filter, ms))
  }

  /** `id`: the first of `pending` unless said. Throws RpcError -32602 when it does not wait (any more), or does not offer what `choice` chooses. */
  approve(id?: string, choice: Choice = {}): void {
    const waiting = this.#waitingFor(id)
    this.#answer(waiting, Answer.approved(waiting.question, choice), 'hand')
  }

  /** `id`: the first of `pending` unless said. `code`: the question's own unless said, 4001 or 5750. Throws RpcError -32602 as `approve` does. */
  reject(id?: string, code?: number, message?: string): void {
    this.#answer(this.#waitingFor(id), Answer.rejected(code, message), 'hand')
  }

  // --- answering without a hand -------------------------------------------------------------------------------------

  get policy(): Policy {
    return this.#deciders.policy
  }

  /** Holds for the questions that wait, too, but for those that `next` has handed out: a script has them in hand. */
  setPolicy(policy: Policy): void {
    this.#deciders.policy = policy
    this.#decideAgain()
  }

  /** Adds a rule behind those that there are, for the questions that wait as for those to come. Returns what removes it. */
  rule(rule: Rule): () => void {
    const remove = this.#deciders.add(rule)
    this.#decideAgain()
    return () => {
      remove()
      this.#decideAgain()
    }
  }

  get latencyMs(): number {
    return this.#latencyMs
  }

  /** From now on rules, policy and recordings answer that late. Throws RangeError. */
  setLatency(ms: number): void {
    this.#latencyMs = delay(ms, 'latency')
  }

  /** Begins a recording. What is answered from now on is appended to it, until the next one begins. */
  record(): Recording {
    return this.#journal.record()
  }

  /**
   * Answers every question as it was recorded, instead of rules and policy, until what it returns is called. A question that does not come as
   * recorded is refused: 4001, reason `replay-mismatch`, with a sentence that `assertAnswered` repeats. Throws Error for what is no recording.
   */
  replay(recording: Recording): () => void {
    const end = this.#deciders.replay(recording)
    this.#decideAgain()
    return end
  }

  // --- the end ------------------------------------------------------------------------------------------------------

  /**
   * For the end of a test. Throws one Error with a sentence for every question that waits, every one that nobody answered in time, every
   * mismatch of a recording, every rule that failed and every recorded answer that was not asked for.
   */
  assertAnswered(): void {
    const waiting = this.#waiting.inOrder().map((each) => this.#forgotten(each))
    const sentences = [...this.#journal.takeComplaints(), ...waiting, ...this.#deciders.missed]
    if (sentences.length > 0) throw new Error(sentences.join('\n'))
  }

  /** As new, for the next test: what waits is refused, rules, recordings and complaints are forgotten, policy and latency are as given at first. */
  reset(): void {
    this.#deciders.clear(this.#initial.policy)
    this.#latencyMs = this.#initial.latencyMs
    this.#end(() => withdrawn('the wallet was reset before it was answered'), 'the wallet was reset: no question came')
    this.#journal.clear()
  }

  /** Throws RpcError 4900 when the wallet is closed. */
  assertOpen(): void {
    if (this.#isClosed) throw closed()
  }

  /** Refuses everything that waits, and everything that comes. */
  close(): void {
    this.#isClosed = true
    this.#end(closed, 'the wallet was closed: no question came')
  }

  #end(reason: () => RpcError, sentence: string): void {
    for (const waiting of this.#waiting.inOrder()) this.#withdraw(waiting, reason())
    this.#prompts.refuseAll(sentence)
  }

  // --- the way of a question ----------------------------------------------------------------------------------------

  #ask(draft: Draft, replaces: string | null, asker: Asker): void {
    const twin = replaces === null ? this.#twinOf(draft) : null
    if (twin !== null) return this.#join(twin, asker)
    // Whatever refuses the question throws before anything has changed.
    const displacedOne = this.#waiting.displacedBy(draft.origin)
    const waiting = this.#created(draft, replaces)
    this.#waiting.add(waiting)
    this.#join(waiting, asker)
    if (replaces !== null) this.#supersede(replaces, waiting.question.id)
    if (displacedOne !== null && this.#has(displacedOne)) this.#withdraw(displacedOne, displaced())
    this.#emit({ type: 'asked', question: waiting.question })
    if (this.#has(waiting)) this.#apply(waiting, this.#deciders.decide(waiting.question)) // a listener may have answered it
  }

  #created(draft: Draft, replaces: string | null): Waiting {
    // Never earlier than the one before, so that the order within a site is that of age even when a clock is set back.
    this.#askedAt = Math.max(this.#askedAt, this.#now())
    return new Waiting(draft, this.#askedAt, replaces)
  }

  #join(waiting: Waiting, asker: Asker): void {
    waiting.join(asker, withdrawn, () => this.#withdraw(waiting, withdrawn()))
  }

  /** On to the answer that was decided, or to the hand. */
  #apply(waiting: Waiting, verdict: Verdict): void {
    if (!this.#has(waiting)) return // a rule answered it with its own hands
    waiting.stop()
    if (verdict instanceof RpcError) return this.#fail(waiting, verdict)
    waiting.decision = verdict
    if (verdict !== null) return this.#answerLater(waiting, verdict)
    const limitMs = this.#answerWithinMs
    if (limitMs !== null) waiting.stop = after(limitMs, () => this.#fail(waiting, rejected(this.#forgotten(waiting), 'unanswered')))
    this.#prompts.take(waiting.question)?.(this.#handOut(waiting))
  }

  #answerLater(waiting: Waiting, { answer, by }: Decision): void {
    if (this.#latencyMs === 0) return this.#answer(waiting, answer, by)
    waiting.stop = after(this.#latencyMs, () => this.#answer(waiting, answer, by))
  }

  /** A script that has a question in hand keeps it, and what a recording says of one stands. */
  #decideAgain(): void {
    for (const waiting of this.#waiting.inOrder()) {
      if (waiting.isHandedOut || waiting.decision?.by === 'recording') continue
      const verdict = this.#deciders.decide(waiting.question)
      if (verdict instanceof RpcError || !isSame(waiting.decision, verdict)) this.#apply(waiting, verdict)
    }
  }

  #handOut(waiting: Waiting): Prompt {
    waiting.isHandedOut = true
    const { question } = waiting
    return {
      question,
      approve: (choice) => this.approve(question.id, choice),
      reject: (code, message) => this.reject(question.id, code, message),
    }
  }

  #answer(waiting: Waiting, answer: Answer, by: AnsweredBy): void {
    const { question } = waiting
    this.#leave(waiting, `was ${answer.type} already, ${BY[by]}`)
    this.#journal.note(question, answer)
    waiting.answer(answer)
    this.#emit({ type: 'answered', question, outcome: answer, by })
  }

  #withdraw(waiting: Waiting, reason: RpcError): void {
    this.#leave(waiting, `was withdrawn: ${reason.message.slice(0, 500)}`)
    waiting.refuse(reason)
    this.#emit({ type: 'withdrawn', question: waiting.question, reason })
  }

  #fail(waiting: Waiting, reason: RpcError): void {
    this.#journal.complain(reason.message)
    this.#withdraw(waiting, reason)
  }

  #leave(waiting: Waiting, past: string): void {
    this.#waiting.delete(waiting)
    this.#journal.remember(waiting.question.id, past)
  }

  #supersede(id: string, by: string): void {
    const reason = `what it asked about has changed: question ${by} stands for it now`
    const waiting = this.#waiting.get(id)
    if (waiting !== null) return this.#withdraw(waiting, rejected(reason, 'superseded'))
    const past = this.#journal.pastOf(id)
    if (past !== null) this.#journal.remember(id, `${past}; ${reason}`)
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

  // --- what waits ---------------------------------------------------------------------------------------------------

  #has({ question }: Waiting): boolean {
    return this.#waiting.get(question.id) !== null
  }

  #waitingFor(id: string | undefined): Waiting {
    const found = id === undefined ? this.#waiting.first : this.#waiting.get(id)
    if (found !== null) return found
    if (id === undefined) throw invalidParams('no question waits for an answer', { reason: 'nothing-pending' })
    const past = this.#journal.pastOf(id)
    throw past === null ? unknownQuestion(id) : invalidParams(`question ${id} ${past}`, { reason: 'already-answered', id })
  }

  #twinOf(draft: Draft): Waiting | null {
    for (const waiting of this.#waiting.all()) {
      if (!waiting.isTwinOf(draft)) continue
      if (waiting.askers < WAITING_QUESTIONS_PER_ORIGIN) return waiting
      throw crowded(`${waiting.askers} requests of ${draft.origin} to connect wait`)
    }
    return null
  }

  // --- sentences ----------------------------------------------------------------------------------------------------

  #forgotten({ question, isHandedOut }: Waiting): string {
    const { method, origin, kind, createdAt } = question
    const waits = `nobody answered: ${method} of ${origin} waits for approval (${kind}) since ${Math.max(0, this.#now() - createdAt)} ms`
    if (isHandedOut) return `${waits}; next() has handed it out, but neither approve() nor reject() of what it gave was called`
    return `${waits}; answer it with (await wallet.approvals.next()).approve(), a rule, or wallet.approvals.setPolicy('approve')`
  }

  #nothingCame({ kind, origin }: PromptFilter, timeoutMs: number): string {
    const wanted = `${kind === undefined ? '' : ` of kind ${kind}`}${origin === undefined ? '' : ` of ${origin}`}`
    const names = this.pending.slice(0, 5).map(nameOf)
    const others = names.length === 0 ? 'no other waits' : `those that wait are ${names.join(', ')}`
    const policy = this.policy === 'ask' ? '' : `; the policy '${this.policy}' answers before next() sees a question`
    return `no question${wanted} came within ${timeoutMs} ms; ${others}${policy}`
  }
}

const BY: Readonly<Record<AnsweredBy, string>> = {
  hand: 'by hand or by script',
  rule: 'by a rule',
  policy: 'by the policy',
  recording: 'by a recording',
}

function isSame(a: Decision | null, b: Decision | null): boolean {
  return a?.answer.type === b?.answer.type && a?.by === b?.by
}

/** A listener that breaks must not break the queue. */
function throwLater(error: unknown): void {
  queueMicrotask(() => {
    throw error
  })
}

function withdrawn(why = 'the one who asked has gone'): RpcError {
  return rejected(`the question was withdrawn: ${why}`, 'withdrawn')
}

function closed(): RpcError {
  return new RpcError(WALLET_CODE.disconnected, 'the wallet is closed', { reason: 'wallet-closed' })
}

function unknownQuestion(id: string): RpcError {
  const message = `there is no question ${id.slice(0, 100)}: see pocketchain_approvals for those that wait`
  return invalidParams(message, { reason: 'unknown-question' })
}
