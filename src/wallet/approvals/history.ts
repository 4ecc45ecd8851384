import type { Answer } from './answer.ts'
import { RECORDED_ANSWERS, REMEMBERED_ANSWERS } from '../limits.ts'
import type { Question } from '../question.ts'
import type { RecordedAnswer, Recording } from './recording.ts'

/** Outcomes of answered and withdrawn questions, the current recording, and failures for `assertAnswered`. */
export class ApprovalHistory {
  readonly #outcomes = new Map<string, string>()
  #recorded: RecordedAnswer[] | null = null
  #problems: string[] = []

  /** `outcome`: such as `was approved`. Keeps the newest REMEMBERED_ANSWERS. */
  setOutcome(id: string, outcome: string): void {
    this.#outcomes.set(id, outcome)
    if (this.#outcomes.size <= REMEMBERED_ANSWERS) return
    for (const oldest of this.#outcomes.keys()) {
      this.#outcomes.delete(oldest)
      return
    }
  }

  /** null: unknown id, still pending, or dropped because of its age. */
  outcomeOf(id: string): string | null {
    return this.#outcomes.get(id) ?? null
  }

  /** Keeps a failure for the end of a test: an app may swallow the error that it receives. */
  reportProblem(sentence: string): void {
    if (this.#problems.length < REMEMBERED_ANSWERS) this.#problems.push(sentence)
  }

  takeProblems(): readonly string[] {
    const taken = this.#problems
    this.#problems = []
    return taken
  }

  /** Begins a recording, to which answers are appended until the next one begins. */
  record(): Recording {
    const answers: RecordedAnswer[] = []
    this.#recorded = answers
    return { version: 1, answers }
  }

  recordAnswer({ origin, method, kind, replaces }: Question, answer: Answer): void {
    if (this.#recorded === null) return
    if (this.#recorded.length < RECORDED_ANSWERS) this.#recorded.push({ origin, method, kind, isAgain: replaces !== null, answer })
    else this.reportProblem(`the recording is full: it holds ${RECORDED_ANSWERS} answers`)
  }

  /** Ends the recording and drops the problems. Outcomes are kept. */
  clear(): void {
    this.#recorded = null
    this.#problems = []
  }
}
