import { Hash } from '../../eth/index.ts'
import { SWEPT_PAGES_PER_COMMIT } from '../limits.ts'
import { checked, unchecked } from './checked.ts'
import { SHELF_FORMAT, ShelfError } from './shelf.ts'
import type { SectionChange, SectionEntry, ShelfMeta } from './shelf.ts'
import { copyOf, numberKey } from './trees.ts'
import type { Trees } from './trees.ts'

/** How things stand after a commit: small, and held in memory. */
export interface Standing {
  readonly meta: ShelfMeta | null
  readonly height: number
  /** the oldest block whose state is there */
  readonly floor: number
  /** what pruning is on its way to */
  readonly wantedFloor: number
  readonly stateRoot: Hash | null
  /** counts the commits that brought a journal: entries of the journal files that follow another one are nothing */
  readonly journal: number
  /** removed sections whose pages are still there */
  readonly doomed: readonly number[]
}

export type MutableStanding = { -readonly [Field in keyof Standing]: Standing[Field] }

/** Throws ShelfError (newer-format, corrupt) when it is not what this program writes. */
export function readStanding(trees: Trees): Standing {
  const meta = readMeta(trees)
  const stored = readJson(trees, STANDING) as Partial<StoredStanding> // ours: written by putStanding
  const height = heightOf(trees)
  // The newest block is the one that the last commit left, or a piece of the file has lost its way.
  if ((stored.height ?? -1) !== height) throw lostBlocks(stored.height ?? -1, height)
  if ((stored.hasMeta ?? false) !== (meta !== null)) throw unreadableText(META)
  return {
    meta,
    height,
    floor: stored.floor ?? 0,
    wantedFloor: stored.wantedFloor ?? 0,
    stateRoot: stored.stateRoot === undefined || stored.stateRoot === null ? null : Hash.from(stored.stateRoot),
    journal: stored.journal ?? 0,
    doomed: stored.doomed ?? [],
  }
}

export function putStanding(trees: Trees, { meta, height, floor, wantedFloor, stateRoot, journal, doomed }: Standing): void {
  const stored: StoredStanding = { hasMeta: meta !== null, height, floor, wantedFloor, stateRoot, journal, doomed }
  trees.about.putSync(STANDING, checked(Buffer.from(JSON.stringify(stored))))
}

export function putMeta(trees: Trees, { format, genesisHash }: ShelfMeta): void {
  trees.about.putSync(META, checked(Buffer.from(JSON.stringify({ format, genesisHash }))))
}

/** Throws ShelfError (corrupt). */
export function promisesOf(trees: Trees): Uint8Array | null {
  const bytes = copyOf(trees.about.getBinary(PROMISES))
  return bytes === null ? null : (unchecked(bytes) ?? failing(unreadableText(PROMISES)))
}

export function putPromises(trees: Trees, promises: Uint8Array | null, standing: MutableStanding): void {
  if (promises === null) trees.about.removeSync(PROMISES)
  else trees.about.putSync(PROMISES, checked(promises))
  standing.journal++
}

/** The pages of removed sections go a few at a time: a large one has thousands. */
export function putSections(trees: Trees, { remove, pages, heads }: SectionChange, standing: MutableStanding): void {
  for (const id of remove) trees.sections.removeSync(numberKey(id))
  if (remove.length > 0) standing.doomed = [...new Set([...standing.doomed, ...remove])]
  const put = new Set(pages.map(({ section }) => section))
  if (standing.doomed.some((id) => put.has(id))) standing.doomed = sweep(trees, standing.doomed, Infinity)
  for (const { section, page, bytes } of pages) trees.pages.putSync(numberKey(section, page), bytes)
  for (const { id, head } of heads) trees.sections.putSync(numberKey(id), head)
  if (standing.doomed.length > 0) standing.doomed = sweep(trees, standing.doomed, SWEPT_PAGES_PER_COMMIT)
}

/** Answers whose pages are not all gone. */
function sweep(trees: Trees, doomed: readonly number[], limit: number): readonly number[] {
  let left = limit
  for (const [index, id] of doomed.entries()) {
    if (left <= 0) return doomed.slice(index)
    const some = Number.isFinite(left) ? { limit: left } : {}
    const keys = [...trees.pages.getKeys({ start: numberKey(id), end: numberKey(id + 1), ...some })]
    for (const key of keys) trees.pages.removeSync(key)
    left -= keys.length
    if (left <= 0) return doomed.slice(index)
  }
  return []
}

interface StoredStanding {
  readonly hasMeta: boolean
  readonly height: number
  readonly floor: number
  readonly wantedFloor: number
  readonly stateRoot: string | null
  readonly journal: number
  readonly doomed: readonly number[]
}

/** The format comes first, so that it can be read whatever the rest is. */
function readMeta(trees: Trees): ShelfMeta | null {
  if (!trees.about.doesExist(META)) return null
  const stored = readJson(trees, META) as Partial<Record<string, string | number>> // ours: written by putMeta
  const { format, genesisHash } = stored
  if (typeof format === 'number' && format > SHELF_FORMAT) throw newerFormat(format)
  if (typeof format !== 'number' || typeof genesisHash !== 'string') throw unreadableText(META)
  return { format, genesisHash: Hash.from(genesisHash) }
}

function heightOf(trees: Trees): number {
  for (const key of trees.blocks.getKeys({ reverse: true, limit: 1 })) return Buffer.from(key).readUInt32BE(0)
  return -1
}

export function sectionsOf(trees: Trees): readonly SectionEntry[] {
  return [...trees.sections.getRange({})].map(({ key, value }) => ({ id: Buffer.from(key).readUInt32BE(0), head: copyOf(value)! })) // it has one
}

function readJson(trees: Trees, key: Uint8Array): object {
  const bytes = copyOf(trees.about.getBinary(key))
  if (bytes === null) return {}
  const text = unchecked(bytes) ?? failing(unreadableText(key))
  try {
    const value: unknown = JSON.parse(Buffer.from(text).toString('utf8'))
    if (typeof value === 'object' && value !== null) return value
  } catch {
    // what follows says it
  }
  throw unreadableText(key)
}

function newerFormat(format: number): ShelfError {
  return new ShelfError(
    'newer-format',
    `the data directory was written by a newer pocketchain (format ${format}, this one reads up to ${SHELF_FORMAT}); use that version or choose another --data directory`,
  )
}

function lostBlocks(written: number, found: number): ShelfError {
  return new ShelfError(
    'corrupt',
    `the newest block of the data directory should be ${written} and is ${found}; restore it from a copy, or choose another one`,
  )
}

function failing(error: Error): never {
  throw error
}

function unreadableText(key: Uint8Array): ShelfError {
  return new ShelfError(
    'corrupt',
    `the entry '${Buffer.from(key).toString()}' of the data directory cannot be read; restore it from a copy`,
  )
}

const META = Buffer.from('meta')
const STANDING = Buffer.from('standing')
const PROMISES = Buffer.from('promises')
