/** How the index is cut up and worked through. Tests have smaller sizes, so that everything happens often. */
export interface IndexLimits {
  /** The tail in memory is made a section before it would have more items. Only a block that is larger by itself makes a larger one. */
  readonly tailItems: number
  /** So many sections of a level become one of the next. */
  readonly fanOut: number
  /** Of a section, at most 2^24: no merge makes a larger one. */
  readonly sectionItems: number
  /** Of a section: a chain of nearly empty blocks has 8 bytes of head for each of them. */
  readonly sectionBlocks: number
  /** Sections have these numbers in turn, and others only when all are used. A chain of a thousand million logs has 150 sections. */
  readonly sectionIds: number
  /** Of a page, about. Reading a page costs a checksum over it, so a rare value in 50 sections costs 50 of them. */
  readonly pageBytes: number
  /** A longer list of items leaves its page for pages of its own. */
  readonly inlineBytes: number
  /** Pages kept as they were read and checked. */
  readonly cachedPages: number

  /** Merging is done in steps of about so many rows and items. */
  readonly stepUnits: number
  /** A merge goes so much faster than what it merges was appended: it has ended before the next of its level begins. */
  readonly mergePace: number

  /** A query goes through its range in pieces of so many items: what it holds at a time is 4 bytes for each. */
  readonly windowItems: number
  /** Transactions of an address are read in pieces of about so many. */
  readonly windowPlaces: number
  /** A range of fewer items is scanned, whatever is asked. */
  readonly scanItems: number
  /** What it costs to find a key in a section, in items scanned instead (0.1 us each) */
  readonly probeCost: number
  /** What it costs to look at one candidate on its record's bytes, likewise. */
  readonly candidateCost: number
  /** Fewer candidates are not thinned out by the lists of other positions: looking at them is as cheap. */
  readonly intersectCandidates: number
  /** A list that is longer than the candidates by more than this factor costs more to read than it saves. */
  readonly intersectFactor: number
}

export const LIMITS: IndexLimits = {
  // 3 ms of sorting and writing at once. With a quarter of it and 16 for the next, ten million logs were merged twice instead of once.
  tailItems: 16_384,
  fanOut: 32,
  sectionItems: 2 ** 24,
  sectionBlocks: 2 ** 20,
  sectionIds: 256,
  // Four pages of LMDB less the 16 bytes that it puts before a large value.
  pageBytes: 4 * 4_096 - 16,
  inlineBytes: 2_048,
  cachedPages: 1_024,
  // 0.1 ms.
  stepUnits: 2_048,
  mergePace: 1.5,
  windowItems: 2 ** 20,
  windowPlaces: 256,
  scanItems: 256,
  probeCost: 8,
  candidateCost: 8,
  intersectCandidates: 256,
  intersectFactor: 32,
}

/** Merges under way at a time are one per level, which is far fewer. */
export const MERGES = 16
