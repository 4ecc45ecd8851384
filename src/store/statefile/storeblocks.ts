import { StateHistory, genesisBlock } from '../../chain/index.ts'
import type { Genesis } from '../../chain/index.ts'
import { NO_WRITES } from '../../evm/index.ts'
import type { WriteSet } from '../../evm/index.ts'
import { BlockRecord } from '../record/index.ts'
import { STORAGE_FORMAT } from '../storage/index.ts'
import type { StorageBackend } from '../storage/index.ts'

/**
 * Stores the blocks of a state file in an empty backend. One that stores state also gets that of the newest block; then `genesis` must be
 * the blocks' genesis, else the result is false and the backend stays empty. Throws what the backend throws.
 */
export function storeBlocks(storage: StorageBackend, records: readonly Uint8Array[], genesis: Genesis, headState: WriteSet): boolean {
  const first = new BlockRecord(records[0]!) // a file with blocks has one
  const height = records.length - 1
  if (storage.state !== null && genesisBlock(genesis, new StateHistory(genesis.state)).hash !== first.hash) return false
  storage.commit({
    meta: { format: STORAGE_FORMAT, genesisHash: first.hash },
    blocks: records.map((record, number) => ({ number, record, writes: NO_WRITES })),
    ...(storage.state === null ? {} : { edits: headState, stateRoot: new StateHistory(headState).stateRoot(), floor: height }),
  })
  // Pruning the unknown older state takes several commits.
  while (storage.state !== null && storage.state.floor < height) storage.commit({})
  return true
}
