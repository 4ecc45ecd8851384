import type { PositionList } from './positionlist.ts'

/** The items of a key in a part. */
export interface Postings {
  readonly key: number
  /** an upper bound: includes truncated items and, in the tail, items of other keys in the same slot */
  readonly count: number
  readonly page: number
  readonly row: number
}

/**
 * A range of whole blocks with an index of their items: a section, or the tail in memory. An item's position is its number minus the part's
 * first item.
 */
export interface IndexPart {
  readonly firstBlock: number
  readonly firstItem: number
  readonly blocks: number
  readonly items: number
  /** the position of each block; only the first `blocks` entries are valid */
  readonly starts: Uint32Array
  /** the position of each block's first log */
  readonly logStarts: Uint32Array
  probe(key: number): Postings | null
  /** Appends the ascending positions from `from` to before `to`. */
  read(postings: Postings, from: number, to: number, out: PositionList): void
  /** Returns an upper bound of the number that `read` appends. */
  countWithin(postings: Postings, from: number, to: number): number
}

/** Returns the block that contains a position, by galloping search from `block` on. */
export function blockAt({ starts, blocks }: IndexPart, position: number, block = 0): number {
  const isIn = (candidate: number): boolean => candidate < blocks && (starts[candidate] as number) <= position // in range
  let step = 1
  for (; isIn(block + step); step *= 2) block += step
  for (; step > 0; step >>= 1) if (isIn(block + step)) block += step
  return block
}

/** Returns the position of a block, the end of the part for the block after the last. */
export function positionOf({ starts, blocks, items }: IndexPart, block: number): number {
  return block < blocks ? (starts[block] as number) : items // in range
}
