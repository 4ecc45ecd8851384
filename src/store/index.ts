export {
  JsonField,
  assertSameFork,
  genesisText,
  readGenesis,
  overlayState,
  storeBlocks,
  mergeAccounts,
  readStateAccounts,
  readStateFile,
  StateFileError,
  historyOf,
  stateFileText,
  writeSetOf,
} from './statefile/index.ts'
export type { StateAccount, StateFile } from './statefile/index.ts'
export { MemoryStorage, STORAGE_FORMAT, StorageError, openLmdb } from './storage/index.ts'
export type {
  Records,
  SectionEntry,
  StorageBackend,
  StorageBlock,
  StorageChange,
  StorageErrorReason,
  ChainMetadata,
  StateBackend,
} from './storage/index.ts'
export { CorruptSection } from './index/index.ts'
export { BlockRecord, CorruptRecord, encodeBlock } from './record/index.ts'
export { MemoryStore } from './memory.ts'
export { releaseBuffer, detachBuffer } from './json/index.ts'
export { BlockRemoved, Store } from './store.ts'
export type { StoreOptions } from './store.ts'
export { WriteSets } from './writesets.ts'
export type { StateFileOptions } from './statefile/index.ts'
