import { Hash } from '../../eth/index.ts'
import { DELETED_PAGES_PER_COMMIT } from '../limits.ts'
import { withChecksum, verifyChecksum } from './checksum.ts'
import { STORAGE_FORMAT, StorageError } from './backend.ts'
import type { SectionChange, SectionEntry, ChainMetadata } from './backend.ts'
import { copyOf, numberKey } from './environment.ts'
import type { Tables } from './environment.ts'

/** The state of the storage after a commit, cached in memory. */
export interface Metadata {
  readonly meta: ChainMetadata | null
  readonly height: number
  /** the oldest block whose state is stored */
  readonly floor: number
  /** the floor that pruning is to reach */
  readonly targetFloor: number
  readonly stateRoot: Hash | null
  /** Counts commits with a record of the open block: entries of the log files that name another commit are stale. */
  readonly openBlockCommit: number
  /** removed sections whose pages are not all deleted */
  readonly tombstoned: readonly number[]
}

export type MutableMetadata = { -readonly [Field in keyof Metadata]: Metadata[Field] }

/** Throws StorageError (newer-format, corrupt). */
export function readMetadata(tables: Tables): Metadata {
  const meta = readChainMetadata(tables)
  const stored = readJson(tables, METADATA) as Partial<StoredMetadata> // written by putMetadata
  const height = heightOf(tables)
  // A difference means that LMDB returned an older version of a page.
  if ((stored.height ?? -1) !== height) throw heightMismatch(stored.height ?? -1, height)
  if ((stored.hasMeta ?? false) !== (meta !== null)) throw unreadableEntry(META)
  return {
    meta,
    height,
    floor: stored.floor ?? 0,
    targetFloor: stored.wantedFloor ?? 0,
    stateRoot: stored.stateRoot === undefined || stored.stateRoot === null ? null : Hash.from(stored.stateRoot),
    openBlockCommit: stored.journal ?? 0,
    tombstoned: stored.doomed ?? [],
  }
}

export function putMetadata(tables: Tables, { meta, height, floor, targetFloor, stateRoot, openBlockCommit, tombstoned }: Metadata): void {
  const stored: StoredMetadata = {
    hasMeta: meta !== null,
    height,
    floor,
    wantedFloor: targetFloor,
    stateRoot,
    journal: openBlockCommit,
    doomed: tombstoned,
  }
  tables.about.putSync(METADATA, withChecksum(Buffer.from(JSON.stringify(stored))))
}

export function putChainMetadata(tables: Tables, { format, genesisHash }: ChainMetadata): void {
  tables.about.putSync(META, withChecksum(Buffer.from(JSON.stringify({ format, genesisHash }))))
}

/** Throws StorageError (corrupt). */
export function readOpenBlockRecord(tables: Tables): Uint8Array | null {
  const bytes = copyOf(tables.about.getBinary(OPEN_BLOCK))
  return bytes === null ? null : (verifyChecksum(bytes) ?? fail(unreadableEntry(OPEN_BLOCK)))
}

export function putOpenBlockRecord(tables: Tables, openBlockRecord: Uint8Array | null, metadata: MutableMetadata): void {
  if (openBlockRecord === null) tables.about.removeSync(OPEN_BLOCK)
  else tables.about.putSync(OPEN_BLOCK, withChecksum(openBlockRecord))
  metadata.openBlockCommit++
}

/** Deletes the pages of removed sections in bounded steps: a large section has thousands. */
export function putSections(tables: Tables, { remove, pages, heads }: SectionChange, metadata: MutableMetadata): void {
  for (const id of remove) tables.sections.removeSync(numberKey(id))
  if (remove.length > 0) metadata.tombstoned = [...new Set([...metadata.tombstoned, ...remove])]
  const put = new Set(pages.map(({ section }) => section))
  if (metadata.tombstoned.some((id) => put.has(id))) metadata.tombstoned = deletePages(tables, metadata.tombstoned, Infinity)
  for (const { section, page, bytes } of pages) tables.pages.putSync(numberKey(section, page), bytes)
  for (const { id, head } of heads) tables.sections.putSync(numberKey(id), head)
  if (metadata.tombstoned.length > 0) metadata.tombstoned = deletePages(tables, metadata.tombstoned, DELETED_PAGES_PER_COMMIT)
}

/** Returns the sections that still have pages. */
function deletePages(tables: Tables, tombstoned: readonly number[], limit: number): readonly number[] {
  let left = limit
  for (const [index, id] of tombstoned.entries()) {
    if (left <= 0) return tombstoned.slice(index)
    const some = Number.isFinite(left) ? { limit: left } : {}
    const keys = [...tables.pages.getKeys({ start: numberKey(id), end: numberKey(id + 1), ...some })]
    for (const key of keys) tables.pages.removeSync(key)
    left -= keys.length
    if (left <= 0) return tombstoned.slice(index)
  }
  return []
}

/** The JSON under METADATA; its names come from format 1. */
interface StoredMetadata {
  readonly hasMeta: boolean
  readonly height: number
  readonly floor: number
  readonly wantedFloor: number
  readonly stateRoot: string | null
  readonly journal: number
  readonly doomed: readonly number[]
}

/** The format is checked before the other keys, which a newer format may change. */
function readChainMetadata(tables: Tables): ChainMetadata | null {
  if (!tables.about.doesExist(META)) return null
  const stored = readJson(tables, META) as Partial<Record<string, string | number>> // written by putChainMetadata
  const { format, genesisHash } = stored
  if (typeof format === 'number' && format > STORAGE_FORMAT) throw newerFormat(format)
  if (typeof format !== 'number' || typeof genesisHash !== 'string') throw unreadableEntry(META)
  return { format, genesisHash: Hash.from(genesisHash) }
}

function heightOf(tables: Tables): number {
  for (const key of tables.blocks.getKeys({ reverse: true, limit: 1 })) return Buffer.from(key).readUInt32BE(0)
  return -1
}

export function readSections(tables: Tables): readonly SectionEntry[] {
  return [...tables.sections.getRange({})].map(({ key, value }) => ({ id: Buffer.from(key).readUInt32BE(0), head: copyOf(value)! })) // every key has a value
}

function readJson(tables: Tables, key: Uint8Array): object {
  const bytes = copyOf(tables.about.getBinary(key))
  if (bytes === null) return {}
  const text = verifyChecksum(bytes) ?? fail(unreadableEntry(key))
  try {
    const value: unknown = JSON.parse(Buffer.from(text).toString('utf8'))
    if (typeof value === 'object' && value !== null) return value
  } catch {
    // reported below
  }
  throw unreadableEntry(key)
}

function newerFormat(format: number): StorageError {
  return new StorageError(
    'newer-format',
    `the data directory was written by a newer pocketchain (format ${format}, this one reads up to ${STORAGE_FORMAT}); use that version or choose another --data directory`,
  )
}

function heightMismatch(written: number, found: number): StorageError {
  return new StorageError(
    'corrupt',
    `the newest block of the data directory should be ${written} and is ${found}; restore it from a copy, or choose another one`,
  )
}

function fail(error: Error): never {
  throw error
}

function unreadableEntry(key: Uint8Array): StorageError {
  return new StorageError(
    'corrupt',
    `the entry '${Buffer.from(key).toString()}' of the data directory cannot be read; restore it from a copy`,
  )
}

const META = Buffer.from('meta')
const METADATA = Buffer.from('standing')
const OPEN_BLOCK = Buffer.from('promises')
