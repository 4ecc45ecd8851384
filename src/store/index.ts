export {
  layered,
  layOn,
  mergeAccounts,
  readStateAccounts,
  readStateFile,
  StateFileError,
  stateFileText,
  stateOf,
} from './statefile/index.ts'
export type { StateAccount, StateFile } from './statefile/index.ts'
export { MemoryShelf, ShelfError, openLmdb } from './shelf/index.ts'
export type { Records, SectionEntry, Shelf, ShelfChange, ShelfErrorReason, ShelfMeta, StateShelf } from './shelf/index.ts'
export { CorruptSection } from './index/index.ts'
export { CorruptRecord } from './record/index.ts'
export { MemoryStore } from './memory.ts'
export { releaseBuffer, detachBuffer } from './json/index.ts'
export { CutOff, Store } from './store.ts'
export type { StoreOptions } from './store.ts'
