import type { CommitPort } from '../chain/index.ts'
import type { Database, Position, StoreChange } from './database.ts'
import { FleetError } from './errors.ts'
import { COMMIT_RETRY_MS } from './limits.ts'

interface CommitterDeps {
  readonly database: Pick<Database, 'commit' | 'position'>
  /** The lease, and where the database stood when it was taken. */
  readonly position: Pick<Position, 'epoch' | 'commit'>
  readonly nextFrame: () => number
  readonly onDeposed: (error: FleetError) => void
  /** Called when the database cannot be reached, and when it can again. */
  readonly onReachable: (isReachable: boolean, reason: string) => void
  /** Milliseconds by the local clock at which the newest successful renewal of the lease was sent. */
  readonly renewedMs: () => number
  /** Milliseconds after that for which promises continue while the database is unreachable. */
  readonly outageMs: number
}

/**
 * Commits the flushed changes of the sequencer's store to the database, under its epoch. While the database is unreachable the commit waits, and nothing is
 * announced.
 */
export class Committer implements CommitPort {
  readonly #deps: CommitterDeps
  #changes: StoreChange[] = []
  #commit: number
  #isClosed = false
  /** Why the changes are not committed any more. null: they are. */
  #givenUp: FleetError | null = null
  /** Milliseconds by the local clock since which the database may be unreachable. null: it is reachable. */
  #awaySinceMs: number | null = null

  constructor(deps: CommitterDeps) {
    this.#deps = deps
    this.#commit = deps.position.commit
  }

  /** Number of the newest commit. */
  get newest(): number {
    return this.#commit
  }

  get isAway(): boolean {
    return this.#awaySinceMs !== null
  }

  get isPending(): boolean {
    return this.#changes.length > 0
  }

  get allowed(): CommitPort['allowed'] {
    if (this.#awaySinceMs === null) return 'blocks'
    return performance.now() - this.#awaySinceMs < this.#deps.outageMs ? 'promises' : 'nothing'
  }

  /** Returns whether the database responds. */
  noticeReachable(isReachable: boolean, reason: string): void {
    if (isReachable === (this.#awaySinceMs === null)) return
    this.#awaySinceMs = isReachable ? null : this.#deps.renewedMs()
    this.#deps.onReachable(isReachable, reason)
  }

  readonly add = (change: StoreChange): void => {
    this.#changes.push(change)
  }

  /** Rejects with FleetError `deposed` when another process has the lease, and after `close` with the reason of the first attempt that failed. */
  async commit(): Promise<void> {
    const changes = [...this.#changes]
    if (changes.length === 0) return
    const commit = this.#commit + 1
    for (;;) {
      if (this.#givenUp !== null) throw this.#givenUp
      const error = await this.#attempt(changes, commit)
      if (error === null) {
        this.noticeReachable(true, '')
        this.#commit = commit
        this.#changes.splice(0, changes.length)
        return
      }
      if (error.reason === 'deposed') this.#deps.onDeposed(error)
      if (this.#isClosed) this.#givenUp ??= error
      if (error.reason === 'deposed' || this.#isClosed) throw error
      this.noticeReachable(false, error.message)
      await new Promise((resolve) => setTimeout(resolve, COMMIT_RETRY_MS))
    }
  }

  /** A failed attempt is not repeated from now on. */
  close(): void {
    this.#isClosed = true
  }

  /** No attempt begins from now on. */
  giveUp(reason: FleetError): void {
    this.#givenUp ??= reason
  }

  /**
   * Returns null if the changes are committed, by this attempt or by an earlier one whose answer was lost: the database refuses both a second attempt and
   * another epoch, and its position shows which it was.
   */
  async #attempt(changes: readonly StoreChange[], commit: number): Promise<FleetError | null> {
    const { database, position, nextFrame } = this.#deps
    try {
      await database.commit({ epoch: position.epoch, commit, frame: nextFrame(), changes })
      return null
    } catch (error) {
      if (!(error instanceof FleetError)) throw error
      if (error.reason !== 'deposed') return error
      const now = await positionOf(database)
      if (now instanceof FleetError) return now
      return now.epoch === position.epoch && now.commit === commit ? null : error
    }
  }
}

async function positionOf(database: CommitterDeps['database']): Promise<Position | FleetError> {
  try {
    return await database.position()
  } catch (error) {
    if (error instanceof FleetError) return error
    throw error
  }
}
