import { JsonRecords } from '../jsonrpc/index.ts'
import type { Records } from '../jsonrpc/index.ts'
import { EntryJson } from './entry.ts'
import type { Entry } from './entry.ts'
import { LedgerFormat } from './format.ts'
import type { Totals } from './totals.ts'

/** Identifies the nonce of an operation, before and after signing. */
export type NonceOf = Pick<Entry, 'chainId' | 'entryPoint' | 'sender' | 'nonce'>

/** All entries of the ledger but refusals, in memory and in records, with their totals. */
export class LedgerEntries {
  readonly #records: Records
  readonly #totals: Totals
  readonly #prefix: string
  /** by id, ascending */
  readonly #entries = new Map<number, Entry>()
  readonly #open = new Set<number>()
  /** ids by chain, EntryPoint, sender and nonce: several policies may sign for one nonce, and reorgs may repeat one */
  readonly #byNonce = new Map<string, readonly number[]>()
  #writes = 0
  #isFormatRecorded: boolean
  /** changes of the current `atomically`; `null` outside */
  #staged: Change[] | null = null

  constructor(records: Records, totals: Totals, prefix: string) {
    this.#records = records
    this.#totals = totals
    this.#prefix = prefix
    this.#isFormatRecorded = LedgerFormat.isRecorded(records)
  }

  /** Loads the records and returns the highest id; 0 without records. */
  load(onError: (error: unknown) => void): number {
    let lastId = 0
    for (const [key, value] of JsonRecords.entries(this.#records, this.#prefix)) {
      lastId = Math.max(lastId, EntryJson.idOf(this.#prefix, key))
      try {
        this.#add(EntryJson.read(value))
      } catch (error) {
        onError(new Error(`the record ${key} is not an entry of the sponsor's ledger and is ignored`, { cause: error }))
      }
    }
    return lastId
  }

  // --- queries ----------------------------------------------------------------------------------------------------------

  /** Returns all entries, the oldest first. */
  all(): readonly Entry[] {
    return [...this.#entries.values()]
  }

  /** Returns reserved and included entries, in the order of their opening. */
  open(): readonly Entry[] {
    return [...this.#open].flatMap((id) => this.#entries.get(id) ?? [])
  }

  /** Returns the entries of a nonce. */
  of(nonce: NonceOf): readonly Entry[] {
    return (this.#byNonce.get(nonceKey(nonce)) ?? []).flatMap((id) => this.#entries.get(id) ?? [])
  }

  oldestClosed(count: number): readonly Entry[] {
    const closed: Entry[] = []
    for (const entry of this.#entries.values()) {
      if (closed.length === count) break
      if (!isOpen(entry)) closed.push(entry)
    }
    return closed
  }

  get openCount(): number {
    return this.#open.size
  }

  get closedCount(): number {
    return this.#entries.size - this.#open.size
  }

  /** number of entry writes */
  get writes(): number {
    return this.#writes
  }

  // --- changes ----------------------------------------------------------------------------------------------------------

  /** Writes all puts and removals of `work` in one transaction. If that fails, no change remains and the error is rethrown. */
  atomically(work: () => void): void {
    if (this.#staged !== null) return work()
    const staged: Change[] = []
    this.#staged = staged
    try {
      work()
      if (staged.length > 0) this.#write(staged)
      this.#writes += staged.length
    } catch (error) {
      for (const [before, after] of staged.toReversed()) this.#exchange(after, before)
      throw error
    } finally {
      this.#staged = null
    }
  }

  #write(staged: readonly Change[]): void {
    JsonRecords.together(this.#records, () => {
      if (!this.#isFormatRecorded) LedgerFormat.record(this.#records)
      for (const [, after, key] of staged) JsonRecords.put(this.#records, key, after && EntryJson.write(after))
    })
    this.#isFormatRecorded = true
  }

  /** Adds or replaces an entry. Durable when it returns, or when the enclosing `atomically` does. */
  put(entry: Entry): void {
    this.#change(this.#entries.get(entry.id) ?? null, entry)
  }

  remove(entry: Entry): void {
    this.#change(entry, null)
  }

  /** Replaces an entry in memory only. */
  hold(entry: Entry): void {
    const before = this.#entries.get(entry.id)
    if (before === undefined) throw new Error(`there is no entry ${entry.id}`)
    this.#replace(before, entry)
  }

  /** Removes an entry from memory only. */
  release(entry: Entry): void {
    const key = nonceKey(entry)
    const rest = (this.#byNonce.get(key) ?? []).filter((id) => id !== entry.id)
    if (rest.length === 0) this.#byNonce.delete(key)
    else this.#byNonce.set(key, rest)
    this.#entries.delete(entry.id)
    this.#open.delete(entry.id)
    this.#totals.remove(entry)
  }

  #change(before: Entry | null, after: Entry | null): void {
    const { id } = (after ?? before) as Entry // one of them is given
    this.atomically(() => {
      this.#staged?.push([before, after, EntryJson.key(this.#prefix, id)])
      this.#exchange(before, after)
    })
  }

  #exchange(before: Entry | null, after: Entry | null): void {
    if (before !== null && after !== null) this.#replace(before, after)
    else if (after !== null) this.#add(after)
    else if (before !== null) this.release(before)
  }

  #add(entry: Entry): void {
    const key = nonceKey(entry)
    this.#byNonce.set(key, [...(this.#byNonce.get(key) ?? []), entry.id])
    this.#entries.set(entry.id, entry)
    this.#totals.add(entry)
    if (isOpen(entry)) this.#open.add(entry.id)
  }

  #replace(before: Entry, after: Entry): void {
    this.#entries.set(after.id, after)
    this.#totals.remove(before)
    this.#totals.add(after)
    if (isOpen(after)) this.#open.add(after.id)
    else this.#open.delete(after.id)
  }
}

type Change = readonly [before: Entry | null, after: Entry | null, key: string]

function nonceKey({ chainId, entryPoint, sender, nonce }: NonceOf): string {
  return `${chainId} ${entryPoint} ${sender} ${nonce.toString(16)}`
}

/** Returns whether the chain may still change the state of an entry. */
export function isOpen({ state }: Entry): boolean {
  return state === 'reserved' || state === 'included'
}
