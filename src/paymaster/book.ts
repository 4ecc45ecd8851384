import { JsonRecords } from '../jsonrpc/index.ts'
import type { Records } from '../jsonrpc/index.ts'
import { EntryJson } from './entry.ts'
import type { Entry } from './entry.ts'
import { LedgerFormat } from './format.ts'
import type { Tallies } from './tallies.ts'

/** What an operation is before anybody has signed it, and after. */
export type NonceOf = Pick<Entry, 'chainId' | 'entryPoint' | 'sender' | 'nonce'>

/** The lines of the ledger but for refusals, in memory and as records, and the tallies over them. */
export class Book {
  readonly #records: Records
  readonly #tallies: Tallies
  readonly #prefix: string
  /** by id, the oldest first */
  readonly #entries = new Map<number, Entry>()
  readonly #open = new Set<number>()
  /** ids by chain, EntryPoint, sender and nonce: policies may have signed for the same one, and a chain may have gone back */
  readonly #byNonce = new Map<string, readonly number[]>()
  #writes = 0
  #isFormatTold: boolean
  /** what has changed and is not written yet; null: nobody gathers changes */
  #staged: Change[] | null = null

  constructor(records: Records, tallies: Tallies, prefix: string) {
    this.#records = records
    this.#tallies = tallies
    this.#prefix = prefix
    this.#isFormatTold = LedgerFormat.isTold(records)
  }

  /** Takes over what an older process has left, and answers the last id that it gave away; 0: none. */
  load(onError: (error: unknown) => void): number {
    let lastId = 0
    for (const [key, value] of JsonRecords.entries(this.#records, this.#prefix)) {
      lastId = Math.max(lastId, EntryJson.idOf(this.#prefix, key))
      try {
        this.#add(EntryJson.read(value))
      } catch (error) {
        onError(new Error(`the record ${key} is no entry of the sponsor's ledger and is left out`, { cause: error }))
      }
    }
    return lastId
  }

  // --- questions --------------------------------------------------------------------------------------------------------

  /** The oldest first. */
  all(): readonly Entry[] {
    return [...this.#entries.values()]
  }

  /** Reserved and included, in the order in which they became that. */
  open(): readonly Entry[] {
    return [...this.#open].flatMap((id) => this.#entries.get(id) ?? [])
  }

  /** Of one nonce. */
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

  /** how often an entry was written */
  get writes(): number {
    return this.#writes
  }

  // --- changes ----------------------------------------------------------------------------------------------------------

  /** All that `work` puts and removes is written in one go. When it cannot be, nothing has changed, and what it throws is thrown on. */
  together(work: () => void): void {
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
      if (!this.#isFormatTold) LedgerFormat.tell(this.#records)
      for (const [, after, key] of staged) JsonRecords.put(this.#records, key, after && EntryJson.write(after))
    })
    this.#isFormatTold = true
  }

  /** A new line, or what stands in the place of the one with its id. Durable when it returns, or with `together`. */
  put(entry: Entry): void {
    this.#change(this.#entries.get(entry.id) ?? null, entry)
  }

  remove(entry: Entry): void {
    this.#change(entry, null)
  }

  /** As `put`, of a line that there is, and not written. */
  hold(entry: Entry): void {
    const before = this.#entries.get(entry.id)
    if (before === undefined) throw new Error(`there is no entry ${entry.id}`)
    this.#replace(before, entry)
  }

  /** As `remove`, of a line whose record somebody else has removed. */
  release(entry: Entry): void {
    const key = nonceKey(entry)
    const rest = (this.#byNonce.get(key) ?? []).filter((id) => id !== entry.id)
    if (rest.length === 0) this.#byNonce.delete(key)
    else this.#byNonce.set(key, rest)
    this.#entries.delete(entry.id)
    this.#open.delete(entry.id)
    this.#tallies.remove(entry)
  }

  #change(before: Entry | null, after: Entry | null): void {
    const { id } = (after ?? before) as Entry // one of them is given
    this.together(() => {
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
    this.#tallies.add(entry)
    if (isOpen(entry)) this.#open.add(entry.id)
  }

  #replace(before: Entry, after: Entry): void {
    this.#entries.set(after.id, after)
    this.#tallies.remove(before)
    this.#tallies.add(after)
    if (isOpen(after)) this.#open.add(after.id)
    else this.#open.delete(after.id)
  }
}

type Change = readonly [before: Entry | null, after: Entry | null, key: string]

function nonceKey({ chainId, entryPoint, sender, nonce }: NonceOf): string {
  return `${chainId} ${entryPoint} ${sender} ${nonce.toString(16)}`
}

/** Something may still become of it. */
export function isOpen({ state }: Entry): boolean {
  return state === 'reserved' || state === 'included'
}
