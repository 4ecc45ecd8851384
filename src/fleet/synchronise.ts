import type { WriteSet } from '../evm/index.ts'
import type { StorageBackend } from '../store/index.ts'
import { BlockRecord, STORAGE_FORMAT } from '../store/index.ts'
import type { Database, StoredBlock } from './database.ts'
import { WriteSets } from '../store/index.ts'

/** Called after each piece, with the newest block that is there and the newest one that will be. */
export type OnBlocks = (number: number, head: number) => void

/**
 * Brings a storage, which no store has opened yet, to the database's blocks 0 to `head`: removes those that differ and adds those that are missing. The
 * newest common block is written again, because its edits may differ. Rejects with FleetError, and with store errors.
 */
export async function synchronise(storage: StorageBackend, database: Database, head: number, onBlocks: OnBlocks): Promise<void> {
  const common = await newestCommonBlock(storage, database, head)
  const from = Math.max(0, common)
  if (storage.height >= from) storage.commit({ truncateTo: from - 1 })
  for await (const blocks of database.blocks(from, head)) {
    commitAll(storage, blocks)
    onBlocks(blocks.at(-1)?.number ?? head, head)
  }
}

/** A block's hash determines all before it, so that a binary search finds it. -1: none. */
async function newestCommonBlock(storage: StorageBackend, database: Database, head: number): Promise<number> {
  let [low, high] = [-1, Math.min(storage.height, head)]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    const record = storage.block(middle)
    const isCommon = record !== null && new BlockRecord(record).hash === (await database.hashOf(middle))
    if (isCommon) low = middle
    else high = middle - 1
  }
  return low
}

/** One commit up to each block with edits, which belong to the newest block of their commit. */
function commitAll(storage: StorageBackend, blocks: readonly StoredBlock[]): void {
  let start = 0
  for (const [index, { edits }] of blocks.entries()) {
    if (edits.length === 0 && index < blocks.length - 1) continue
    const some = blocks.slice(start, index + 1)
    commit(storage, some, edits[0])
    for (const each of edits.slice(1)) commit(storage, [], each, some.at(-1))
    start = index + 1
  }
}

function commit(storage: StorageBackend, blocks: readonly StoredBlock[], edits: WriteSet | undefined, newest = blocks.at(-1)): void {
  const [first] = blocks
  storage.commit({
    ...(first?.number === 0 ? { meta: { format: STORAGE_FORMAT, genesisHash: first.hash } } : undefined),
    blocks,
    ...(edits === undefined || WriteSets.isEmpty(edits) ? undefined : { edits }),
    ...(newest === undefined ? undefined : { stateRoot: newest.stateRoot }),
  })
}
