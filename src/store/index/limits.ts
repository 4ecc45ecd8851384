/** Sizes of the index's parts and steps. Tests use smaller ones. */
export interface IndexLimits {
  /** Items at which the tail becomes a section. A single larger block exceeds it. */
  readonly tailItems: number
  /** Sections of one level that are merged into one of the next. */
  readonly fanOut: number
  /** Sections of one level that are merged while nothing is appended: each costs a query about 1 us. */
  readonly idleFanOut: number
  /** Items per section, at most 2^24. */
  readonly sectionItems: number
  /** Blocks per section: nearly empty blocks take 8 bytes of header each. */
  readonly sectionBlocks: number
  /** Ids rotate below this number, and exceed it only if all are used. A chain of a thousand million logs has 150 sections. */
  readonly sectionIds: number
  /** Approximate size of a page. Reading one costs a checksum over it: a rare value in 50 sections costs 50. */
  readonly pageBytes: number
  /** Longer lists of items have pages of their own. */
  readonly inlineBytes: number
  /** Verified pages kept in memory. */
  readonly cachedPages: number

  /** Rows and items per step of a merge. */
  readonly stepUnits: number
  /** Unsaved pages at which idle merging asks to be saved: a merge may write thousands. */
  readonly unsavedPages: number
  /** Speed of a merge relative to appending: it ends before the next one of its level begins. */
  readonly mergePace: number

  /** Items per window of a query, which holds 4 bytes for each. */
  readonly windowItems: number
  /** Transactions of an address per window. */
  readonly windowPositions: number
  /** Shorter ranges are always scanned. */
  readonly scanItems: number
  /** Cost of looking up a key in a section, in scanned items (0.1 us each). */
  readonly probeCost: number
  /** Cost of verifying a candidate on its record, in scanned items. */
  readonly candidateCost: number
  /** With fewer candidates the lists of other positions are not intersected: verifying costs the same. */
  readonly intersectCandidates: number
  /** A list longer than the candidates by this factor costs more to read than it saves. */
  readonly intersectFactor: number
}

export const LIMITS: IndexLimits = {
  // 3 ms of sorting and writing. With a quarter of it and a fan-out of 16, ten million logs were merged twice instead of once.
  tailItems: 16_384,
  fanOut: 32,
  idleFanOut: 4,
  sectionItems: 2 ** 24,
  sectionBlocks: 2 ** 20,
  sectionIds: 256,
  // four LMDB pages less the 16-byte header of a large value
  pageBytes: 4 * 4_096 - 16,
  inlineBytes: 2_048,
  cachedPages: 1_024,
  // 0.1 ms
  stepUnits: 2_048,
  unsavedPages: 256,
  mergePace: 1.5,
  windowItems: 2 ** 20,
  windowPositions: 256,
  scanItems: 256,
  probeCost: 8,
  candidateCost: 8,
  intersectCandidates: 256,
  intersectFactor: 32,
}

/** Concurrent merges: one per level, far fewer than this. */
export const MERGES = 16
