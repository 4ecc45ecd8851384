/** Version of a cell that holds nothing. */
const NO_VERSION = -1
/** Up to this length arrays grow by one: V8 would reserve 17 places for the second entry, and most keys never have more. */
const EXACT_GROWTH = 16

/**
 * One key's value at every version: the newest inline, older ones in parallel arrays. Most keys are written once and have no older values.
 * Absent and deleted keys read as `absent`.
 */
export class Cell<V> {
  readonly #absent: V
  #version = NO_VERSION
  #value: V
  #older: OlderEntries<V> | null = null

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
    const index = lastAtOrBelow(this.#older, version)
    return index < 0 ? this.#absent : this.#older!.values[index]!
  }

  /** `version` must be above all versions written before. */
  write(version: number, value: V): void {
    if (this.#version !== NO_VERSION) this.#older = append(this.#older, this.#version, this.#value)
    this.#version = version
    this.#value = value
  }

  /** Removes the newest entry. */
  undo(): void {
    const older = this.#older
    this.#version = older?.versions.pop() ?? NO_VERSION
    this.#value = older === null ? this.#absent : older.values.pop()!
    if (older !== null && older.versions.length === older.start) this.#older = null
  }

  /** Drops entries that only versions below `floor` can read. Returns the number of dropped entries. */
  prune(floor: number): number {
    const before = this.#entryCount()
    if (this.#version > floor) this.#older = dropBefore(this.#older, lastAtOrBelow(this.#older, floor), this.#absent)
    else this.#dropOlder()
    return before - this.#entryCount()
  }

  #dropOlder(): void {
    this.#older = null
    if (this.#value === this.#absent) this.#version = NO_VERSION
  }

  #entryCount(): number {
    const older = this.#older === null ? 0 : this.#older.versions.length - this.#older.start
    return older + (this.#version === NO_VERSION ? 0 : 1)
  }
}

/** Ascending versions and their values; entries before `start` are pruned. Never empty. */
interface OlderEntries<V> {
  versions: number[]
  values: V[]
  start: number
}

function append<V>(older: OlderEntries<V> | null, version: number, value: V): OlderEntries<V> {
  if (older === null) return { versions: [version], values: [value], start: 0 }
  if (older.versions.length < EXACT_GROWTH) {
    older.versions = older.versions.concat(version)
    older.values = older.values.concat(value)
  } else {
    older.versions.push(version)
    older.values.push(value)
  }
  return older
}

/** Returns the index of the last entry at or below `version`, or -1. */
function lastAtOrBelow<V>(older: OlderEntries<V> | null, version: number): number {
  if (older === null) return -1
  const { versions, start } = older
  let low = start
  let high = versions.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (versions[middle]! <= version) low = middle + 1
    else high = middle
  }
  return low === start ? -1 : low - 1
}

/** Keeps the entries from `index` on, without a leading absent value. */
function dropBefore<V>(older: OlderEntries<V> | null, index: number, absent: V): OlderEntries<V> | null {
  if (older === null || index < 0) return older
  const start = older.values[index] === absent ? index + 1 : index
  if (start === older.versions.length) return null
  older.values.fill(absent, older.start, start)
  older.start = start
  return start * 2 > older.versions.length ? compact(older) : older
}

/** Compacts only after half of the array is pruned: copying at every prune would make pruning linear in the history. */
function compact<V>({ versions, values, start }: OlderEntries<V>): OlderEntries<V> {
  return { versions: versions.slice(start), values: values.slice(start), start: 0 }
}
