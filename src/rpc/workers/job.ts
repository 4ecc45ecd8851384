import { StateNotInMemory } from '../../chain/index.ts'
import type { PartialView } from '../../chain/index.ts'
import type { Task } from '../execution/workerport.ts'
import type { JsonText } from '../texts.ts'

/** Throws what `toPartialView` throws. */
export type Cut = (task: Task) => PartialView

/** A task, and the one who waits for it. */
export class Job {
  readonly task: Task
  readonly #cut: Cut
  /** null: to be worked out by whoever asked */
  readonly resolve: (answer: JsonText | null) => void
  readonly reject: (error: unknown) => void

  constructor(task: Task, cut: Cut, resolve: Job['resolve'], reject: Job['reject']) {
    this.task = task
    this.#cut = cut
    this.resolve = resolve
    this.reject = reject
  }

  /** As it is to be cut now: chains go on while a job waits. Null: what it needs is gone, and it was rejected. */
  slice(): PartialView | null {
    try {
      return this.#cut(this.task)
    } catch (error) {
      // State that only the store holds stays where the store is.
      if (error instanceof StateNotInMemory) this.resolve(null)
      else this.reject(error)
      return null
    }
  }
}
