import type { Places } from './places.ts'

/** Where the items of a key stand in a part. */
export interface Postings {
  readonly key: number
  /** items of the key, or more: of those that were cut off, or in the tail of another key */
  readonly count: number
  readonly page: number
  readonly row: number
}

/**
 * A stretch of whole blocks that answers for the keys of their items: a section, or the tail in memory. The place of an item is its number
 * less the part's first.
 */
export interface Part {
  readonly firstBlock: number
  readonly firstItem: number
  readonly blocks: number
  readonly items: number
  /** the place of each block; only the first `blocks` count */
  readonly starts: Uint32Array
  /** the place of each block's first log, where it has one */
  readonly logStarts: Uint32Array
  probe(key: number): Postings | null
  /** Adds the rising places from `from` to before `to`, which is within the part. */
  read(postings: Postings, from: number, to: number, out: Places): void
  /** How many `read` would add, or a few more. */
  countWithin(postings: Postings, from: number, to: number): number
}

/** Which of the part's blocks has the place, of those from `block` on: the nearer, the sooner found. */
export function blockAt({ starts, blocks }: Part, place: number, block = 0): number {
  const isIn = (candidate: number): boolean => candidate < blocks && (starts[candidate] as number) <= place // in range
  let step = 1
  for (; isIn(block + step); step *= 2) block += step
  for (; step > 0; step >>= 1) if (isIn(block + step)) block += step
  return block
}

/** Where the part's block begins, or behind the last of them, the part ends. */
export function placeOf({ starts, blocks, items }: Part, block: number): number {
  return block < blocks ? (starts[block] as number) : items // in range
}
