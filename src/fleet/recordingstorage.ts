import { BlockRecord } from '../store/index.ts'
import type { ChainMetadata, SectionEntry, StateBackend, StorageBackend, StorageChange } from '../store/index.ts'
import type { Hash } from '../eth/index.ts'
import type { StoreChange } from './database.ts'
import { SharedRecords } from './sharedrecords.ts'

/** A storage that reports what was committed to it. */
export class RecordingStorage implements StorageBackend {
  readonly firstBlock: number
  readonly state: StateBackend | null
  readonly records: SharedRecords
  readonly isVolatile: boolean
  readonly #storage: StorageBackend
  #onChange: ((change: StoreChange) => void) | null = null

  constructor(storage: StorageBackend) {
    this.#storage = storage
    this.firstBlock = storage.firstBlock
    this.state = storage.state
    this.records = new SharedRecords(storage.records)
    this.isVolatile = storage.isVolatile
  }

  /** Reports the changes from now on; null ends that. */
  record(onChange: ((change: StoreChange) => void) | null): void {
    this.#onChange = onChange
  }

  commit(change: StorageChange): void {
    // The bytes of the records are valid until the commit returns.
    const recorded = this.#onChange === null ? null : copyOf(change)
    this.#storage.commit(change)
    if (recorded !== null) this.#onChange?.(recorded)
  }

  get meta(): ChainMetadata | null {
    return this.#storage.meta
  }

  get height(): number {
    return this.#storage.height
  }

  get stateRoot(): Hash | null {
    return this.#storage.stateRoot
  }

  get openBlockRecord(): Uint8Array | null {
    return this.#storage.openBlockRecord
  }

  block(number: number): Uint8Array | null {
    return this.#storage.block(number)
  }

  sections(): readonly SectionEntry[] {
    return this.#storage.sections()
  }

  page(section: number, page: number): Uint8Array {
    return this.#storage.page(section, page)
  }

  writeOpenBlockRecord(record: Uint8Array | null): void {
    this.#storage.writeOpenBlockRecord(record)
  }

  sizeBytes(): number {
    return this.#storage.sizeBytes()
  }

  close(): Promise<void> {
    return this.#storage.close()
  }
}

/** Null if neither blocks nor state change. */
function copyOf({ truncateTo, blocks = [], edits, stateRoot }: StorageChange): StoreChange | null {
  if (truncateTo === undefined && blocks.length === 0 && edits === undefined) return null
  return {
    ...(truncateTo === undefined ? undefined : { truncateTo }),
    blocks: blocks.map(({ number, record: bytes, writes }) => {
      const record = new BlockRecord(bytes.slice())
      return { number, hash: record.hash, record: record.bytes, writes, stateRoot: record.header().stateRoot }
    }),
    ...(edits === undefined ? undefined : { edits }),
    ...(stateRoot === undefined ? undefined : { stateRoot }),
  }
}
