import { Hex } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import { invalidParams } from '../../jsonrpc/index.ts'
import type { RpcError } from '../../jsonrpc/index.ts'
import { cancelled } from '../errors.ts'
import { QUESTION_DEPTH } from '../limits.ts'
import { Answer } from './answer.ts'
import type { Draft, Question } from '../question.ts'
import type { Decision } from './policyengine.ts'

export interface Approved {
  readonly id: string
  /** accounts to reveal, of a connect question; the first is selected. null for other kinds */
  readonly accounts: readonly Address[] | null
}

/** A request that waits for the answer. */
export interface Requester {
  readonly resolve: (approved: Approved) => void
  readonly refuse: (reason: RpcError) => void
  /** the error of a rejection without a code */
  readonly rejection: () => RpcError
  readonly signal: AbortSignal | null
}

/** A question of the queue with the requests that wait for its answer. */
export class PendingQuestion {
  readonly question: Question
  /** null: a user or a script answers */
  decision: Decision | null = null
  /** `next()` has returned it to a script */
  isHandedOut = false
  /** clears its timer: the latency of an automatic answer, or `answerWithinMs` */
  stop: () => void = () => {}
  /** requesters, each with the function that removes its abort listener; several for duplicate connect questions */
  readonly #requesters = new Map<Requester, () => void>()

  /** Throws RpcError -32602 for a draft that cannot be JSON. */
  constructor(draft: Draft, createdAt: number, replaces: string | null) {
    this.question = frozen(draft, { id: newId(), createdAt, replaces })
  }

  get requesterCount(): number {
    return this.#requesters.size
  }

  /** True if no automatic answer is due and no script holds it. */
  get isOpen(): boolean {
    return this.decision === null && !this.isHandedOut
  }

  /** An aborted signal refuses its own request; the abort of the last one calls `onAbandoned` instead. */
  join(requester: Requester, onAbandoned: (reason: RpcError) => void): void {
    const { signal } = requester
    if (signal === null) return void this.#requesters.set(requester, () => {})
    const onAbort = () => {
      if (this.#requesters.size === 1) return onAbandoned(cancelled(signal))
      this.#remove(requester)
      requester.refuse(cancelled(signal))
    }
    signal.addEventListener('abort', onAbort)
    this.#requesters.set(requester, () => signal.removeEventListener('abort', onAbort))
  }

  answer(answer: Answer): void {
    this.#settle(({ resolve, refuse, rejection }) => {
      if (answer.type === 'approved') resolve({ id: this.question.id, accounts: answer.accounts })
      else refuse(Answer.refusal(answer, rejection))
    })
  }

  refuse(reason: RpcError): void {
    this.#settle(({ refuse }) => refuse(reason))
  }

  /** True if both ask to connect the same accounts: two tabs, or a page that sends the request twice. */
  isDuplicateOf(draft: Draft): boolean {
    const { question } = this
    if (draft.kind !== 'connect' || question.kind !== 'connect') return false
    if (question.origin !== draft.origin || question.method !== draft.method || question.chain.chainId !== draft.chain.chainId) return false
    return String(question.accounts.map(({ address }) => address)) === String(draft.accounts.map(({ address }) => address))
  }

  #settle(notify: (requester: Requester) => void): void {
    this.stop()
    for (const requester of [...this.#requesters.keys()]) {
      this.#remove(requester)
      notify(requester)
    }
  }

  #remove(requester: Requester): void {
    this.#requesters.get(requester)?.()
    this.#requesters.delete(requester)
  }
}

interface Identity {
  readonly id: string
  readonly createdAt: number
  readonly replaces: string | null
}

/** A deep-frozen copy: in process a draft may hold objects of the app, and the question must stay equal to what is signed. */
function frozen(draft: Draft, identity: Identity): Question {
  const question = copyOf(draft, identity)
  if (isDeeper(question, QUESTION_DEPTH)) {
    const message = `${draft.method} holds values that nest deeper than ${QUESTION_DEPTH}, which cannot be shown`
    throw invalidParams(message, { reason: 'too-deep', limit: QUESTION_DEPTH })
  }
  return question
}

function copyOf(draft: Draft, identity: Identity): Question {
  try {
    return JSON.parse(JSON.stringify({ ...draft, ...identity }), (_, value: unknown) => Object.freeze(value)) as Question // a draft with its identity is a question
  } catch (error) {
    throw invalidParams(`${draft.method} holds a value that JSON cannot: ${String(error)}`, { reason: 'not-json' })
  }
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((each) => isDeeper(each, levels - 1))
}

/** 32 hex digits, 128 random bits. */
function newId(): string {
  return Hex.fromBytes(crypto.getRandomValues(new Uint8Array(16))).slice(2)
}
