export { MemoryShelf } from './memory.ts'
export { openLmdb } from './lmdb.ts'
export { SHELF_FORMAT, ShelfError } from './shelf.ts'
export type {
  Records,
  SectionEntry,
  SectionChange,
  Shelf,
  ShelfBlock,
  ShelfChange,
  ShelfErrorReason,
  ShelfMeta,
  StateShelf,
} from './shelf.ts'
