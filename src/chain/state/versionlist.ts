/**
 * Entries of consecutive versions; the oldest and the newest can be removed.
 * Not a Map: one with deletions is rebuilt again and again, and the scavenger of V8 keeps the values of a discarded table, which is the next
 * table. Every entry that was ever in a Map then stays until the next full collection.
 */
export class VersionList<E> {
  /** Version of the first place. */
  #base = 0
  /** The oldest entry's place; those before it are empty. */
  #start = 0
  #entries: (E | null)[] = []

  get size(): number {
    return this.#entries.length - this.#start
  }

  get(version: number): E | undefined {
    return this.#entries[version - this.#base] ?? undefined
  }

  /** Replaces the newest entry, or adds the next one. The first version is 0. */
  set(version: number, entry: E): void {
    this.#entries[version - this.#base] = entry
  }

  removeNewest(): void {
    this.#entries.pop()
  }

  /** Compacts only after half of the places are empty. */
  removeOldest(): void {
    this.#entries[this.#start++] = null
    if (this.#start * 2 <= this.#entries.length) return
    this.#entries = this.#entries.slice(this.#start)
    this.#base += this.#start
    this.#start = 0
  }
}
