/** The version before all: a cell that holds nothing. */
const NEVER = -1
/** Up to here arrays grow by exactly one: V8 would reserve 17 places for the second entry, and most keys never have more. */
const EXACT_GROWTH = 16

/**
 * One key's value through the versions: the newest inline, older ones behind it in parallel arrays. Most keys are written
 * once and have no past. A key that was never written reads as `absent`, and so does one that was deleted.
 */
export class Cell<V> {
  readonly #absent: V
  #version = NEVER
  #value: V
  #past: Past<V> | null = null

  constructor(absent: V) {
    this.#absent = absent
    this.#value = absent
  }

  get newest(): V {
    return this.#value
  }

  /** Nothing can be read from it at any version. */
  get isDead(): boolean {
    return this.#past === null && this.#value === this.#absent
  }

  at(version: number): V {
    if (this.#version <= version) return this.#value
    const index = lastUntil(this.#past, version)
    return index < 0 ? this.#absent : this.#past!.values[index]!
  }

  /** `version` is above every one written before. */
  write(version: number, value: V): void {
    if (this.#version !== NEVER) this.#past = append(this.#past, this.#version, this.#value)
    this.#version = version
    this.#value = value
  }

  /** Takes the newest entry back. */
  undo(): void {
    const past = this.#past
    this.#version = past?.versions.pop() ?? NEVER
    this.#value = past === null ? this.#absent : past.values.pop()!
    if (past !== null && past.versions.length === past.start) this.#past = null
  }

  /** Forgets what only versions below `floor` could read. Answers how many entries that were. */
  prune(floor: number): number {
    const before = this.#entryCount()
    if (this.#version > floor) this.#past = dropUntil(this.#past, lastUntil(this.#past, floor), this.#absent)
    else this.#forgetPast()
    return before - this.#entryCount()
  }

  #forgetPast(): void {
    this.#past = null
    if (this.#value === this.#absent) this.#version = NEVER
  }

  #entryCount(): number {
    const past = this.#past === null ? 0 : this.#past.versions.length - this.#past.start
    return past + (this.#version === NEVER ? 0 : 1)
  }
}

/** Ascending versions and their values; what is before `start` is pruned. Never without an entry. */
interface Past<V> {
  versions: number[]
  values: V[]
  start: number
}

function append<V>(past: Past<V> | null, version: number, value: V): Past<V> {
  if (past === null) return { versions: [version], values: [value], start: 0 }
  if (past.versions.length < EXACT_GROWTH) {
    past.versions = past.versions.concat(version)
    past.values = past.values.concat(value)
  } else {
    past.versions.push(version)
    past.values.push(value)
  }
  return past
}

/** Index of the last entry at or below `version`, -1 if there is none. */
function lastUntil<V>(past: Past<V> | null, version: number): number {
  if (past === null) return -1
  const { versions, start } = past
  let low = start
  let high = versions.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (versions[middle]! <= version) low = middle + 1
    else high = middle
  }
  return low === start ? -1 : low - 1
}

/** Keeps the entries from `index` on, without that one if it says what no entry says too. */
function dropUntil<V>(past: Past<V> | null, index: number, absent: V): Past<V> | null {
  if (past === null || index < 0) return past
  const start = past.values[index] === absent ? index + 1 : index
  if (start === past.versions.length) return null
  past.values.fill(absent, past.start, start)
  past.start = start
  return start * 2 > past.versions.length ? compact(past) : past
}

/** Moving the rest for every pruned version would cost as much as the history is long. */
function compact<V>({ versions, values, start }: Past<V>): Past<V> {
  return { versions: versions.slice(start), values: values.slice(start), start: 0 }
}
