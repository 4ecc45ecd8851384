import { objectFields } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import type { Answer } from './answer.ts'
import type { Question, QuestionKind } from '../question.ts'

/** The answers of a session in their order, as JSON, for `replay`. */
export interface Recording {
  readonly version: 1
  readonly answers: readonly RecordedAnswer[]
}

export interface RecordedAnswer {
  readonly origin: string
  readonly method: string
  readonly kind: QuestionKind
  /** the question replaced another one whose contents had changed */
  readonly isAgain: boolean
  readonly answer: Answer
}

/**
 * Answers questions from a recording. Order counts within one origin only, since requests of two pages may arrive in another order than when they were
 * recorded. Replacement questions depend on timing (a fee that rises): one that was not recorded gets the answer of the question before it,
 * and a recorded one that does not occur is skipped.
 */
export class Replay {
  #remaining: readonly RecordedAnswer[]
  /** the last answer of each origin */
  readonly #last = new Map<string, RecordedAnswer>()

  /** Throws Error for an invalid recording. */
  constructor(recording: Recording) {
    if (!isRecording(recording)) throw new Error(`not a recording: expected ${SHAPE}`)
    this.#remaining = recording.answers
  }

  /** Recorded answers whose question did not occur. */
  get remaining(): readonly RecordedAnswer[] {
    return this.#remaining.filter(({ isAgain }) => !isAgain)
  }

  /** Returns the answer to `question`, or the reason why there is none. */
  take(question: Question): Answer | string {
    const isAgain = question.replaces !== null
    const next = this.#remaining.find((each) => each.origin === question.origin && (isAgain || !each.isAgain))
    if (isAgain && (next === undefined || !next.isAgain || !isFor(next, question))) {
      const last = this.#last.get(question.origin)
      if (last !== undefined && isFor(last, question)) return last.answer
    }
    const fault = mismatch(next, question)
    if (next === undefined || fault !== null) return fault ?? ''
    this.#last.set(question.origin, next)
    // Also drops the recorded replacement questions before it, which did not occur.
    const at = this.#remaining.indexOf(next)
    this.#remaining = this.#remaining.filter((each, i) => i > at || (i < at && each.origin !== question.origin))
    return next.answer
  }
}

const SHAPE = '{ version: 1, answers: [{ origin, method, kind, isAgain, answer }, …] }'

function isFor(recorded: RecordedAnswer, { kind, method }: Question): boolean {
  return recorded.kind === kind && recorded.method === method
}

/** null if the answer is for this question. */
function mismatch(next: RecordedAnswer | undefined, question: Question): string | null {
  const came = `${nameOf(question)} came`
  if (next === undefined) return `the recording holds no further answer for ${question.origin}, but ${came}`
  if (!isFor(next, question)) return `the recording expects ${nameOf(next)} next, but ${came}`
  const missing = missingAccount(next.answer, question)
  return missing === null ? null : `the recording expects ${nameOf(next)} to offer ${missing}, but ${came} without it`
}

/** Such as `eth_requestAccounts of http://localhost:3000 (connect)`. */
export function nameOf({ origin, method, kind }: Pick<Question, 'origin' | 'method' | 'kind'>): string {
  return `${method} of ${origin} (${kind})`
}

function missingAccount(answer: Answer, question: Question): Address | null {
  if (answer.type !== 'approved' || question.kind !== 'connect') return null
  return answer.accounts?.find((address) => !question.accounts.some((offered) => offered.address === address)) ?? null
}

/** Checked in full, since a recording may come from an edited file. */
function isRecording(value: unknown): boolean {
  const { version, answers } = objectFields(value)
  return version === 1 && Array.isArray(answers) && answers.every(isRecordedAnswer)
}

function isRecordedAnswer(value: unknown): boolean {
  const { origin, method, kind, isAgain, answer } = objectFields(value)
  return [origin, method, kind].every((text) => typeof text === 'string') && typeof isAgain === 'boolean' && isAnswer(answer)
}

function isAnswer(value: unknown): boolean {
  const { type, accounts, code, message } = objectFields(value)
  if (type === 'approved') return accounts === null || (Array.isArray(accounts) && accounts.length > 0)
  const isCode = code === null || Number.isSafeInteger(code)
  return type === 'rejected' && isCode && (message === null || typeof message === 'string')
}
