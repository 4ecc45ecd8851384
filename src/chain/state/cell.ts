/** Version of a cell that holds nothing. */
const NO_VERSION = -1
/** Up to this length arrays grow by one entry: V8 would reserve 17 places for the second one, and most keys never have more. */
const EXACT_GROWTH = 32

/**
 * One key's value at every version: the newest inline, older ones in an array, each after its version. Most keys are written once and have no
 * older values, or have one: the slots of the system contracts' ring buffers. With an array for versions and one for values those took two
 * and a half times as much.
 * Absent and deleted keys read as `absent`.
 */
export class Cell<V> {
  readonly #absent: V
  #version = NO_VERSION
  #value: V
  /** Ascending versions, each followed by its value; those before `#start` are pruned. `null` if there are none. */
  #older: (number | V)[] | null = null
  #start = 0

  constructor(absent: V) {
    this.#absent = absent
    this.#value = absent
  }

  get newest(): V {
    return this.#value
  }

  /** True if every version reads as absent. */
  get isEmpty(): boolean {
    return this.#older === null && this.#value === this.#absent
  }

  at(version: number): V {
    if (this.#version <= version) return this.#value
    const place = this.#lastAtOrBelow(version)
    return place < 0 ? this.#absent : (this.#older![place + 1] as V) // follows its version
  }

  /** `version` must be above all versions written before. */
  write(version: number, value: V): void {
    if (this.#version !== NO_VERSION) this.#append(this.#version, this.#value)
    this.#version = version
    this.#value = value
  }

  /** Removes the newest entry. */
  undo(): void {
    const older = this.#older
    this.#value = older === null ? this.#absent : (older.pop() as V) // the last one's value, then its version
    this.#version = older === null ? NO_VERSION : (older.pop() as number)
    if (older?.length === this.#start) this.#dropAll()
  }

  /** Yields the values that `prune` would drop and that are not absent, oldest first. */
  *readableOnlyBelow(floor: number): Iterable<V> {
    const older = this.#older
    if (older === null) return
    const kept = this.#version > floor ? this.#lastAtOrBelow(floor) : older.length
    for (let place = this.#start; place < kept; place += 2) yield older[place + 1] as V // follows its version
  }

  /** Drops entries that only versions below `floor` can read. Returns the number of dropped entries. */
  prune(floor: number): number {
    const before = this.#entryCount()
    if (this.#version > floor) this.#dropBefore(this.#lastAtOrBelow(floor))
    else {
      this.#dropAll()
      if (this.#value === this.#absent) this.#version = NO_VERSION
    }
    return before - this.#entryCount()
  }

  #append(version: number, value: V): void {
    const older = this.#older
    if (older === null) this.#older = [version, value]
    else if (older.length < EXACT_GROWTH) this.#older = [...older, version, value]
    else older.push(version, value)
  }

  /** Returns the place of the last entry at or below `version`, or -1. */
  #lastAtOrBelow(version: number): number {
    const older = this.#older
    if (older === null) return -1
    const first = this.#start / 2
    let low = first
    let high = older.length / 2
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((older[middle * 2] as number) <= version) low = middle + 1 // an even place has a version
      else high = middle
    }
    return low === first ? -1 : (low - 1) * 2
  }

  /** Keeps the entries from a place on, without a leading absent value. Compacts only after half is pruned: copying at every prune would be linear. */
  #dropBefore(place: number): void {
    const older = this.#older
    if (older === null || place < 0) return
    const start = older[place + 1] === this.#absent ? place + 2 : place
    if (start === older.length) return this.#dropAll()
    older.fill(this.#absent, this.#start, start)
    this.#start = start
    if (start * 2 <= older.length) return
    this.#older = older.slice(start)
    this.#start = 0
  }

  #dropAll(): void {
    this.#older = null
    this.#start = 0
  }

  #entryCount(): number {
    const older = this.#older === null ? 0 : (this.#older.length - this.#start) / 2
    return older + (this.#version === NO_VERSION ? 0 : 1)
  }
}
