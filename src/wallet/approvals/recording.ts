import type { Address } from '../../eth/index.ts'
import type { Answer } from './answer.ts'
import type { Question, QuestionKind } from '../question.ts'

/** The answers of a session in their order, as JSON: to be kept in a file and given to `replay`. */
export interface Recording {
  readonly version: 1
  readonly answers: readonly RecordedAnswer[]
}

export interface RecordedAnswer {
  readonly origin: string
  readonly method: string
  readonly kind: QuestionKind
  /** the question stood for another one, because what that asked about had changed */
  readonly isAgain: boolean
  readonly answer: Answer
}

/**
 * A recording that answers questions. Every origin has its own order: two pages need not ask in the same order as when they were recorded.
 * Nor need a fee have risen again at the same moment: what is asked again is answered as before, and what was asked again then is left out.
 */
export class Replay {
  #left: readonly RecordedAnswer[]
  /** what each origin was answered last */
  readonly #last = new Map<string, RecordedAnswer>()

  /** Throws Error for what is no recording. */
  constructor(recording: Recording) {
    if (!isRecording(recording)) throw new Error(`not a recording: expected ${SHAPE}`)
    this.#left = recording.answers
  }

  /** What no question has come for. */
  get left(): readonly RecordedAnswer[] {
    return this.#left.filter(({ isAgain }) => !isAgain)
  }

  /** The answer to `question`, or a sentence why there is none. */
  take(question: Question): Answer | string {
    const isAgain = question.replaces !== null
    const next = this.#left.find((each) => each.origin === question.origin && (isAgain || !each.isAgain))
    if (isAgain && (next === undefined || !next.isAgain || !isFor(next, question))) {
      const last = this.#last.get(question.origin)
      if (last !== undefined && isFor(last, question)) return last.answer
    }
    const fault = mismatch(next, question)
    if (next === undefined || fault !== null) return fault ?? ''
    this.#last.set(question.origin, next)
    // Those before it that were asked again have had their chance.
    const at = this.#left.indexOf(next)
    this.#left = this.#left.filter((each, i) => i > at || (i < at && each.origin !== question.origin))
    return next.answer
  }
}

const SHAPE = '{ version: 1, answers: [{ origin, method, kind, isAgain, answer }, …] }'

function isFor(recorded: RecordedAnswer, { kind, method }: Question): boolean {
  return recorded.kind === kind && recorded.method === method
}

/** null: the answer is for this question. */
function mismatch(next: RecordedAnswer | undefined, question: Question): string | null {
  const came = `${nameOf(question)} came`
  if (next === undefined) return `the recording holds no further answer for ${question.origin}, but ${came}`
  if (!isFor(next, question)) return `the recording expects ${nameOf(next)} next, but ${came}`
  const stranger = strangerIn(next.answer, question)
  return stranger === null ? null : `the recording expects ${nameOf(next)} to offer ${stranger}, but ${came} without it`
}

/** Such as `eth_requestAccounts of http://localhost:3000 (connect)`. */
export function nameOf({ origin, method, kind }: Pick<Question, 'origin' | 'method' | 'kind'>): string {
  return `${method} of ${origin} (${kind})`
}

function strangerIn(answer: Answer, question: Question): Address | null {
  if (answer.type !== 'approved' || question.kind !== 'connect') return null
  return answer.accounts?.find((address) => !question.accounts.some((offered) => offered.address === address)) ?? null
}

/** It may come from a file that people edit. */
function isRecording(value: unknown): boolean {
  const { version, answers } = fieldsOf(value)
  return version === 1 && Array.isArray(answers) && answers.every(isRecordedAnswer)
}

function isRecordedAnswer(value: unknown): boolean {
  const { origin, method, kind, isAgain, answer } = fieldsOf(value)
  return [origin, method, kind].every((text) => typeof text === 'string') && typeof isAgain === 'boolean' && isAnswer(answer)
}

function isAnswer(value: unknown): boolean {
  const { type, accounts, code, message } = fieldsOf(value)
  if (type === 'approved') return accounts === null || (Array.isArray(accounts) && accounts.length > 0)
  const isCode = code === null || Number.isSafeInteger(code)
  return type === 'rejected' && isCode && (message === null || typeof message === 'string')
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {} // any object has this shape
}
