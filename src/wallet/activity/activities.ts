import { Hex } from '../../eth/index.ts'
import type { Address, Transaction } from '../../eth/index.ts'
import type { Records } from '../../jsonrpc/index.ts'
import type { Approvals } from '../approvals/approvals.ts'
import type { Batches, FollowedTransaction } from '../batches/batches.ts'
import { BatchRecord } from '../batches/batchrecord.ts'
import { outcomeOf, upgradeOutcomeOf } from './outcome.ts'
import type { ActivityOutcome } from './outcome.ts'
import { chainLabel } from '../chains/chain.ts'
import type { WalletChain } from '../chains/chain.ts'
import { ACTIVITIES, ACTIVITY_PAGE } from '../limits.ts'
import type { CallView } from '../question.ts'
import { Activity } from './activity.ts'

/** An activity with what became of it, as the page shows it. */
export interface ActivityView extends Activity {
  /** null: nothing is to be sent */
  readonly outcome: ActivityOutcome | null
}

export interface ActivityQuery {
  readonly account?: Address | undefined
  readonly origin?: string | undefined
  /** id; only older ones are returned */
  readonly before?: string | undefined
  readonly limit?: number | undefined
}

interface ActivitiesOptions {
  readonly approvals: Approvals
  readonly batches: Batches
  readonly records: Records
  readonly onError: (error: unknown) => void
  /** Unix time, milliseconds; default: Date.now */
  readonly now?: () => number
}

/**
 * The permissions, signatures and transactions of the wallet, newest first: each approved question, and each transaction that its page requested. The newest
 * ACTIVITIES are kept in the records.
 */
export class Activities {
  readonly #options: ActivitiesOptions
  readonly #now: () => number
  /** by id, oldest first */
  readonly #activities = new Map<string, Activity>()
  /** ids by the record of the sent batch or transaction; an upgrade and its batch share one */
  readonly #ids = new Map<string, Set<string>>()
  /** ids of activities of an earlier process: one without a record was not sent, or its record was removed for its age */
  readonly #loaded = new Set<string>()
  readonly #listeners = new Set<(changed: readonly ActivityView[]) => void>()
  readonly #changed = new Set<string>()

  constructor(options: ActivitiesOptions) {
    this.#options = options
    this.#now = options.now ?? Date.now
    for (const activity of Activity.all(options.records, options.onError)) {
      this.#index(activity)
      this.#loaded.add(activity.id)
    }
    options.approvals.subscribe((event) => {
      if (event.type !== 'answered' || event.outcome.type !== 'approved') return
      this.#add(Activity.ofQuestion(event.question, event.outcome.accounts, event.by, this.#now()))
    })
    options.batches.subscribeRecords((record) => {
      for (const id of this.#ids.get(BatchRecord.key(record)) ?? []) this.#notify(id)
    })
  }

  /** Returns a page of activities, newest first, and the id to continue before; null: there are no older ones. */
  page({ account, origin, before, limit = ACTIVITY_PAGE }: ActivityQuery): {
    readonly activities: readonly ActivityView[]
    readonly next: string | null
  } {
    const newestFirst = this.all()
    const start = before === undefined ? 0 : newestFirst.findIndex(({ id }) => id === before) + 1
    if (before !== undefined && start === 0) return { activities: [], next: null }
    const wanted = newestFirst.slice(start).filter((each) => {
      if (origin !== undefined && each.origin !== origin) return false
      return account === undefined || each.account === account || each.accounts.includes(account)
    })
    const found = wanted.slice(0, limit)
    return { activities: found.map((each) => this.#viewOf(each)), next: wanted.length > limit ? (found.at(-1)?.id ?? null) : null }
  }

  /** Null: there is none with that id. */
  find(id: string): ActivityView | null {
    const activity = this.#activities.get(id)
    return activity === undefined ? null : this.#viewOf(activity)
  }

  /** All of them, newest first. */
  all(): readonly Activity[] {
    return [...this.#activities.values()].toReversed()
  }

  /** Adds a transaction that the wallet's page requested and the node has accepted, and tracks it. */
  async sent(
    kind: 'revoke' | 'downgrade',
    method: string,
    origin: string,
    transaction: Transaction,
    from: Address,
    chain: WalletChain,
    calls: readonly CallView[],
  ): Promise<void> {
    const id = Hex.fromBytes(crypto.getRandomValues(new Uint8Array(16))).slice(2)
    this.#add(Activity.ofCall({ id, kind, origin, method, at: this.#now(), account: from, chain: chainLabel(chain), calls }))
    await this.follow({ id, origin, from, chain, transaction, isUnsure: false })
  }

  /** Tracks a transaction for its activity. Never rejects: that would say that nothing was sent. */
  async follow(sent: FollowedTransaction): Promise<void> {
    const { batches, onError } = this.#options
    try {
      if (await batches.follow(sent)) return
      const activity = this.#activities.get(sent.id)
      if (activity !== undefined) this.#add({ ...activity, untrackedHash: sent.transaction.hash })
    } catch (error) {
      onError(error)
    }
  }

  /** Notes that an approved question led to nothing. */
  fail(id: string, why: string): void {
    const activity = this.#activities.get(id)
    if (activity !== undefined) this.#add({ ...activity, failure: why })
  }

  /** Calls `listener` with the activities that are new or have changed; changes in one microtask are one call. Returns the function that unsubscribes. */
  subscribe(listener: (changed: readonly ActivityView[]) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  #viewOf(activity: Activity): ActivityView {
    const { id, kind, origin, account, batchId } = activity
    if (batchId === null || account === null) return { ...activity, outcome: null }
    const record = this.#options.batches.record({ origin, from: account, id: batchId })
    const outcome = outcomeOf(record, activity, this.#loaded.has(id))
    return { ...activity, outcome: kind === 'upgrade' ? upgradeOutcomeOf(outcome) : outcome }
  }

  #add(activity: Activity): void {
    this.#index(activity)
    Activity.put(this.#options.records, activity)
    this.#prune()
    this.#notify(activity.id)
  }

  #index(activity: Activity): void {
    const { id, origin, account, batchId } = activity
    this.#activities.set(id, activity)
    if (batchId === null || account === null) return
    const key = BatchRecord.key({ origin, from: account, id: batchId })
    this.#ids.set(key, (this.#ids.get(key) ?? new Set()).add(id))
  }

  #prune(): void {
    for (const activity of this.#activities.values()) {
      if (this.#activities.size <= ACTIVITIES) return
      const { id, origin, account, batchId } = activity
      this.#activities.delete(id)
      this.#loaded.delete(id)
      if (batchId !== null && account !== null) this.#forgetRecord(BatchRecord.key({ origin, from: account, id: batchId }), id)
      Activity.remove(this.#options.records, activity)
    }
  }

  #forgetRecord(key: string, id: string): void {
    const ids = this.#ids.get(key)
    ids?.delete(id)
    if (ids?.size === 0) this.#ids.delete(key)
  }

  #notify(id: string): void {
    if (this.#listeners.size === 0) return
    if (this.#changed.size === 0) queueMicrotask(() => this.#flush())
    this.#changed.add(id)
  }

  #flush(): void {
    const views = [...this.#changed].flatMap((id) => this.find(id) ?? [])
    this.#changed.clear()
    for (const listener of [...this.#listeners]) {
      try {
        listener(views)
      } catch (error) {
        this.#options.onError(error)
      }
    }
  }
}
