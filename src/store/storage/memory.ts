import type { Hash } from '../../eth/index.ts'
import { StorageError } from './backend.ts'
import { RecordLog } from './recordlog.ts'
import type { Records, SectionChange, SectionEntry, StorageBackend, StorageChange, ChainMetadata } from './backend.ts'

/** Storage that ends with the process. It stores no state, which the chain holds in memory anyway. Pages are shared, not copied. */
export class MemoryStorage implements StorageBackend {
  readonly state = null
  readonly isVolatile = true
  readonly records: Records
  #meta: ChainMetadata | null = null
  #stateRoot: Hash | null = null
  #openBlockRecord: Uint8Array | null = null
  readonly firstBlock: number
  readonly #blocks = new RecordLog()
  readonly #heads = new Map<number, Uint8Array>()
  readonly #pages = new Map<number, Uint8Array[]>()
  #pageBytes = 0

  /** `records`: kept from a storage that this one replaces. */
  constructor(firstBlock = 0, records: Records = new MemoryRecords()) {
    this.firstBlock = firstBlock
    this.records = records
  }

  get meta(): ChainMetadata | null {
    return this.#meta
  }

  get height(): number {
    return this.firstBlock + this.#blocks.count - 1
  }

  get stateRoot(): Hash | null {
    return this.#stateRoot
  }

  get openBlockRecord(): Uint8Array | null {
    return this.#openBlockRecord
  }

  block(number: number): Uint8Array | null {
    return this.#blocks.at(number - this.firstBlock)
  }

  sections(): readonly SectionEntry[] {
    return Array.from(this.#heads, ([id, head]) => ({ id, head })).sort((a, b) => a.id - b.id)
  }

  page(section: number, page: number): Uint8Array {
    const bytes = this.#pages.get(section)?.[page]
    if (bytes === undefined) throw missingPage(section, page)
    return bytes
  }

  commit(change: StorageChange): void {
    checkBlocks(change, this.height, this.firstBlock)
    if (change.meta !== undefined) this.#meta = change.meta
    if (change.truncateTo !== undefined) this.#blocks.truncate(change.truncateTo + 1 - this.firstBlock)
    for (const { record } of change.blocks ?? []) this.#blocks.push(record)
    if (change.stateRoot !== undefined) this.#stateRoot = change.stateRoot
    if (change.sections !== undefined) this.#keepSections(change.sections)
    if (change.openBlockRecord !== undefined) this.#openBlockRecord = change.openBlockRecord
  }

  writeOpenBlockRecord(openBlockRecord: Uint8Array | null): void {
    this.#openBlockRecord = openBlockRecord
  }

  sizeBytes(): number {
    return this.#blocks.sizeBytes + this.#pageBytes
  }

  async close(): Promise<void> {
    this.#blocks.close()
  }

  #keepSections({ remove, pages, heads }: SectionChange): void {
    for (const id of remove) {
      this.#countPages(this.#pages.get(id) ?? [], -1)
      this.#pages.delete(id)
      this.#heads.delete(id)
    }
    for (const { section, page, bytes } of pages) {
      const kept = this.#pages.get(section) ?? []
      const before = kept[page]
      this.#countPages(before === undefined ? [] : [before], -1)
      kept[page] = bytes
      this.#pages.set(section, kept)
      this.#countPages([bytes], 1)
    }
    for (const { id, head } of heads) this.#heads.set(id, head)
  }

  #countPages(pages: readonly Uint8Array[], sign: 1 | -1): void {
    for (const { length } of pages) this.#pageBytes += sign * length
  }
}

class MemoryRecords implements Records {
  readonly #values = new Map<string, Uint8Array>()
  /** the values before the open transaction */
  #before: Map<string, Uint8Array | null> | null = null

  get(key: string): Uint8Array | null {
    return this.#values.get(key) ?? null
  }

  put(key: string, value: Uint8Array | null): void {
    if (this.#before !== null && !this.#before.has(key)) this.#before.set(key, this.get(key))
    if (value === null) this.#values.delete(key)
    else this.#values.set(key, new Uint8Array(value))
  }

  *entries(prefix: string): Iterable<[string, Uint8Array]> {
    const keys = [...this.#values.keys()].filter((key) => key.startsWith(prefix))
    for (const key of keys.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))) {
      const value = this.#values.get(key)
      if (value !== undefined) yield [key, value]
    }
  }

  transaction<T>(work: () => T): T {
    if (this.#before !== null) return work()
    this.#before = new Map()
    try {
      return work()
    } catch (error) {
      const before = this.#before
      this.#before = null
      for (const [key, value] of before) this.put(key, value)
      throw error
    } finally {
      this.#before = null
    }
  }
}

/** Throws RangeError unless the blocks continue the chain after its truncation. */
export function checkBlocks({ truncateTo, blocks }: StorageChange, height: number, firstBlock = 0): void {
  if (truncateTo !== undefined && (truncateTo < firstBlock - 1 || truncateTo > height)) {
    throw new RangeError(`cannot truncate to block ${truncateTo}: the newest block is ${height}`)
  }
  let next = (truncateTo ?? height) + 1
  for (const { number } of blocks ?? []) {
    if (number !== next) throw new RangeError(`block ${number} is not the next one, ${next}`)
    next++
  }
}

export function missingPage(section: number, page: number): StorageError {
  return new StorageError(
    'corrupt',
    `page ${page} of section ${section} of the log index is missing; restore the data directory from a copy, or use another --data directory`,
  )
}
