import { WAITING_PROMPTS } from '../limits.ts'
import type { Choice, Question, QuestionKind } from '../question.ts'
import { callAfter } from './timing.ts'

/** A question that `next()` returned to a script. `approve` and `reject` answer it, and throw as those of `Approvals`. */
export interface Prompt {
  readonly question: Question
  readonly approve: (choice?: Choice) => void
  readonly reject: (code?: number, message?: string) => void
}

export interface PromptFilter {
  readonly kind?: QuestionKind
  readonly origin?: string
  /** default: `answerWithinMs`; null: no limit */
  readonly timeoutMs?: number | null
}

/** Calls of `next()` that wait for a question, in their order. */
export class PromptWaiters {
  readonly #waiting = new Set<WaitingPrompt>()

  /** `timeoutMessage`: the error message after `timeoutMs`. */
  wait(filter: PromptFilter, timeoutMs: number | null, timeoutMessage: (timeoutMs: number) => string): Promise<Prompt> {
    if (this.#waiting.size >= WAITING_PROMPTS) throw new Error(`${WAITING_PROMPTS} calls of next() wait for a question already`)
    return new Promise((resolve, refuse) => {
      const waiting: WaitingPrompt = { filter, resolve, refuse, stop: () => {} }
      this.#waiting.add(waiting)
      if (timeoutMs !== null) waiting.stop = callAfter(timeoutMs, () => this.#remove(waiting).refuse(new Error(timeoutMessage(timeoutMs))))
    })
  }

  /** Removes the first waiter whose filter matches and returns its `resolve`; null if there is none. */
  take(question: Question): ((prompt: Prompt) => void) | null {
    for (const waiting of this.#waiting) {
      if (matchesFilter(question, waiting.filter)) return this.#remove(waiting).resolve
    }
    return null
  }

  refuseAll(sentence: string): void {
    for (const waiting of [...this.#waiting]) this.#remove(waiting).refuse(new Error(sentence))
  }

  #remove(waiting: WaitingPrompt): WaitingPrompt {
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

export function matchesFilter(question: Question, { kind, origin }: PromptFilter): boolean {
  return (kind === undefined || kind === question.kind) && (origin === undefined || origin === question.origin)
}
