import type { Answer } from './answer.ts'
import { RECORDED_ANSWERS, REMEMBERED_ANSWERS } from '../limits.ts'
import type { Question } from '../question.ts'
import type { RecordedAnswer, Recording } from './recording.ts'

/** What is remembered of questions that no longer wait. */
export class Journal {
  readonly #past = new Map<string, string>()
  #recorded: RecordedAnswer[] | null = null
  #complaints: string[] = []

  /** `past`: what became of the question, such as `was approved`. */
  remember(id: string, past: string): void {
    this.#past.set(id, past)
    if (this.#past.size <= REMEMBERED_ANSWERS) return
    for (const oldest of this.#past.keys()) {
      this.#past.delete(oldest)
      return
    }
  }

  /** null: it was never asked, waits, or was too long ago. */
  pastOf(id: string): string | null {
    return this.#past.get(id) ?? null
  }

  /** What went wrong unseen, for the end of a test: an app may swallow the error that it got. */
  complain(sentence: string): void {
    if (this.#complaints.length < REMEMBERED_ANSWERS) this.#complaints.push(sentence)
  }

  takeComplaints(): readonly string[] {
    const taken = this.#complaints
    this.#complaints = []
    return taken
  }

  /** Answers from now on are appended to it, until the next one begins. */
  record(): Recording {
    const answers: RecordedAnswer[] = []
    this.#recorded = answers
    return { version: 1, answers }
  }

  note({ origin, method, kind, replaces }: Question, answer: Answer): void {
    if (this.#recorded === null) return
    if (this.#recorded.length < RECORDED_ANSWERS) this.#recorded.push({ origin, method, kind, isAgain: replaces !== null, answer })
    else this.complain(`the recording is full: it holds ${RECORDED_ANSWERS} answers`)
  }

  /** Ends the recording and forgets the complaints. What became of questions stays known. */
  clear(): void {
    this.#recorded = null
    this.#complaints = []
  }
}
