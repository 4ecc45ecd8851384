import { WAITING_PROMPTS } from '../limits.ts'
import type { Choice, Question, QuestionKind } from '../question.ts'
import { after } from './timing.ts'

/** A question in the hands of a script. Its answers are for this very question; they throw as those of `Approvals` do. */
export interface Prompt {
  readonly question: Question
  readonly approve: (choice?: Choice) => void
  readonly reject: (code?: number, message?: string) => void
}

export interface PromptFilter {
  readonly kind?: QuestionKind
  readonly origin?: string
  /** as long as a question may wait for its answer, unless said; null: without end */
  readonly timeoutMs?: number | null
}

/** Scripts that wait for a question, in the order in which they came. */
export class Prompts {
  readonly #waiting = new Set<WaitingPrompt>()

  /** `late`: the sentence when no question came in time. */
  wait(filter: PromptFilter, timeoutMs: number | null, late: (timeoutMs: number) => string): Promise<Prompt> {
    if (this.#waiting.size >= WAITING_PROMPTS) throw new Error(`${WAITING_PROMPTS} calls of next() wait for a question already`)
    return new Promise((resolve, refuse) => {
      const waiting: WaitingPrompt = { filter, resolve, refuse, stop: () => {} }
      this.#waiting.add(waiting)
      if (timeoutMs !== null) waiting.stop = after(timeoutMs, () => this.#leave(waiting).refuse(new Error(late(timeoutMs))))
    })
  }

  /** To the first that waits for such a question; null: nobody does. */
  take(question: Question): ((prompt: Prompt) => void) | null {
    for (const waiting of this.#waiting) {
      if (fits(question, waiting.filter)) return this.#leave(waiting).resolve
    }
    return null
  }

  refuseAll(sentence: string): void {
    for (const waiting of [...this.#waiting]) this.#leave(waiting).refuse(new Error(sentence))
  }

  #leave(waiting: WaitingPrompt): WaitingPrompt {
    waiting.stop()
    this.#waiting.delete(waiting)
    return waiting
  }
}

interface WaitingPrompt {
  readonly filter: PromptFilter
  readonly resolve: (prompt: Prompt) => void
  readonly refuse: (error: Error) => void
  stop: () => void
}

export function fits(question: Question, { kind, origin }: PromptFilter): boolean {
  return (kind === undefined || kind === question.kind) && (origin === undefined || origin === question.origin)
}
