import { StateNotInMemory } from '../../chain/index.ts'
import type { PartialView } from '../../chain/index.ts'
import type { Task } from '../execution/workerport.ts'
import type { JsonText } from '../texts.ts'

/** A task in the queue, with the promise of its caller. */
export class Job {
  readonly task: Task
  readonly #slice: (task: Task) => PartialView
  /** null: the caller has to compute the result itself */
  readonly resolve: (answer: JsonText | null) => void
  readonly reject: (error: unknown) => void

  /** `slice` throws the errors of `toPartialView`. */
  constructor(task: Task, slice: (task: Task) => PartialView, resolve: Job['resolve'], reject: Job['reject']) {
    this.task = task
    this.#slice = slice
    this.resolve = resolve
    this.reject = reject
  }

  /** Returns the slice of the current chain, which may have changed while the job waited. Null: the job was settled, because its state is gone. */
  slice(): PartialView | null {
    try {
      return this.#slice(this.task)
    } catch (error) {
      // A thread has the state in memory only, so the main thread reads the storage.
      if (error instanceof StateNotInMemory) this.resolve(null)
      else this.reject(error)
      return null
    }
  }
}
