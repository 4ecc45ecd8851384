import { StateHistory, genesisBlock } from '../../chain/index.ts'
import type { Genesis } from '../../chain/index.ts'
import type { WriteSet } from '../../evm/index.ts'
import { BlockRecord } from '../record/index.ts'
import { SHELF_FORMAT } from '../shelf/index.ts'
import type { Shelf } from '../shelf/index.ts'

/**
 * Lays the blocks of a state file on a shelf that is empty; on one that keeps state, with that of the newest block, and then `genesis` must be
 * theirs: answers false, with the shelf still empty, when it is not. Throws what the shelf throws.
 */
export function layOn(shelf: Shelf, records: readonly Uint8Array[], genesis: Genesis, headState: WriteSet): boolean {
  const first = new BlockRecord(records[0]!) // there is one in every file with blocks
  const height = records.length - 1
  if (shelf.state !== null && genesisBlock(genesis, new StateHistory(genesis.state)).hash !== first.hash) return false
  shelf.commit({
    meta: { format: SHELF_FORMAT, genesisHash: first.hash },
    blocks: records.map((record, number) => ({ number, record, writes: NO_WRITES })),
    ...(shelf.state === null ? {} : { edits: headState, stateRoot: new StateHistory(headState).stateRoot(), floor: height }),
  })
  // Older state is unknown, and forgetting it takes several commits.
  while (shelf.state !== null && shelf.state.floor < height) shelf.commit({})
  return true
}

const NO_WRITES: WriteSet = { accounts: new Map(), storage: new Map(), codes: new Map() }
