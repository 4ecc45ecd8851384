import type { Database } from './database.ts'
import { FleetError } from './errors.ts'
import { COMMIT_RETRY_MS } from './limits.ts'
import type { RecordChange } from './sharedrecords.ts'

interface RecordCommitterDeps {
  readonly database: Pick<Database, 'commitRecords'>
  readonly epoch: number
  readonly onDeposed: (error: FleetError) => void
}

/** Writes the records of wallet, sponsor and bundler to the database, in the order of their changes; those of one moment in one transaction. */
export class RecordCommitter {
  readonly #deps: RecordCommitterDeps
  #waiting = new Map<string, Uint8Array | null>()
  #work: Promise<void> = Promise.resolve()
  #isWorking = false
  #isClosed = false

  constructor(deps: RecordCommitterDeps) {
    this.#deps = deps
  }

  readonly add = ([key, value]: RecordChange): void => {
    this.#waiting.set(key, value)
    if (this.#isWorking) return
    this.#isWorking = true
    this.#work = Promise.resolve().then(() => this.#run())
    // A failure is reported by `settled`.
    this.#work.catch(() => undefined)
  }

  /** Resolves when everything written until now is in the database. Rejects with FleetError `deposed`, and after `close` if it is unreachable. */
  async settled(): Promise<void> {
    do await this.#work
    while (this.#isWorking)
  }

  close(): void {
    this.#isClosed = true
  }

  async #run(): Promise<void> {
    const { database, epoch, onDeposed } = this.#deps
    try {
      while (this.#waiting.size > 0) {
        const changes = this.#waiting
        this.#waiting = new Map()
        for (;;) {
          const error = await attempt(() => database.commitRecords(epoch, changes))
          if (error === null) break
          if (error.reason === 'deposed') onDeposed(error)
          if (error.reason === 'deposed' || this.#isClosed) throw error
          await new Promise((resolve) => setTimeout(resolve, COMMIT_RETRY_MS))
        }
      }
    } finally {
      this.#isWorking = false
    }
  }
}

async function attempt(work: () => Promise<void>): Promise<FleetError | null> {
  try {
    await work()
    return null
  } catch (error) {
    if (error instanceof FleetError) return error
    throw error
  }
}
