/**
 * Values by block number in a fixed number of places, with a limit of their total size. A block's place follows from its number, so that
 * consecutive blocks displace the oldest ones.
 * Not a Map: one with deletions is rebuilt again and again, and the scavenger of V8 keeps the values of a discarded table, which is the next
 * table. A Map of the 64 newest blocks kept every block until the next full collection.
 */
export class BlockCache<V> {
  readonly #places: (Place<V> | null)[]
  readonly #maxBytes: number
  #sizeBytes = 0

  constructor(places: number, maxBytes = Number.POSITIVE_INFINITY) {
    this.#places = Array.from({ length: places }, () => null)
    this.#maxBytes = maxBytes
  }

  get(number: number): V | null {
    const place = this.#places[number % this.#places.length] ?? null
    return place?.number === number ? place.value : null
  }

  /** A value larger than the limit displaces all others. */
  set(number: number, value: V, sizeBytes = 0): void {
    const { length } = this.#places
    this.#empty(number % length)
    this.#places[number % length] = { number, value, sizeBytes }
    this.#sizeBytes += sizeBytes
    for (let later = 1; later < length && this.#sizeBytes > this.#maxBytes; later++) this.#empty((number + later) % length)
  }

  /** Removes the blocks above `height`. */
  truncate(height: number): void {
    for (const [index, place] of this.#places.entries()) if (place !== null && place.number > height) this.#empty(index)
  }

  #empty(index: number): void {
    this.#sizeBytes -= this.#places[index]?.sizeBytes ?? 0
    this.#places[index] = null
  }
}

interface Place<V> {
  readonly number: number
  readonly value: V
  readonly sizeBytes: number
}
