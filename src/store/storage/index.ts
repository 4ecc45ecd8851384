export { MemoryStorage } from './memory.ts'
export { openLmdb } from './lmdb.ts'
export { STORAGE_FORMAT, StorageError } from './backend.ts'
export type {
  Records,
  SectionEntry,
  SectionChange,
  StorageBackend,
  StorageBlock,
  StorageChange,
  StorageErrorReason,
  ChainMetadata,
  StateBackend,
} from './backend.ts'
