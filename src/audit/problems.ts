import { visibleText } from '../eth/index.ts'
import { PROBLEM_EXAMPLE_CHARS, PROBLEM_KINDS } from './limits.ts'

/** Something irregular that an endpoint did. */
export interface Problem {
  readonly kind: string
  readonly count: number
  /** the first one */
  readonly example: string
}

/** Counts irregularities by kind. */
export class Problems {
  readonly #kinds = new Map<string, { count: number; readonly example: string }>()

  /** `example` may contain untrusted text. */
  add(kind: string, example: string): void {
    const known = this.#kinds.get(kind)
    if (known !== undefined) known.count++
    else if (this.#kinds.size < PROBLEM_KINDS) this.#kinds.set(kind, { count: 1, example: visibleText(example, PROBLEM_EXAMPLE_CHARS) })
  }

  list(): readonly Problem[] {
    return [...this.#kinds].map(([kind, { count, example }]) => ({ kind, count, example }))
  }
}
