import { mergeWrites } from '../chain/index.ts'
import type { Chain, ChainChange } from '../chain/index.ts'
import { NO_WRITES } from '../evm/index.ts'
import type { WriteSet } from '../evm/index.ts'
import { BlockRecord } from '../store/index.ts'
import type { Database, Position, StoredBlock } from './database.ts'

type Blocks = Pick<Database, 'blocks' | 'hashOf' | 'position'>

/**
 * Brings a chain that builds no blocks to the blocks of the database, and returns its position. Blocks that both have are not announced again, unless one was
 * removed and made again with other changes by dev methods. Rejects with FleetError, and with store errors.
 */
export async function readBlocks(chain: Chain, database: Blocks): Promise<Position> {
  for (let position = await database.position(); ;) {
    const start = await commonBlock(chain, database, position.head)
    if (start < chain.sealed.head.header.number) await chain.follow(rewindTo(start))
    for await (const blocks of database.blocks(start, position.head)) {
      for (const block of blocks) {
        if (block.number === start) await takeState(chain, block)
        else await append(chain, block)
      }
    }
    const now = await database.position()
    if (now.commit === position.commit) return now
    position = now
  }
}

/** Changes the state after the head, which both have, to the state in the database. */
async function takeState(chain: Chain, block: StoredBlock): Promise<void> {
  const isSame = () => chain.sealed.history.stateRoot(chain.sealed.headVersion) === block.stateRoot
  if (isSame()) return
  // Flashblocks on another state, which would be below the edits.
  await chain.forgetPending()
  // The chain has the first of the edits, or those of another block of this hash.
  if (block.edits.length > 0) await chain.follow({ kind: 'edit', writes: merged(block.edits), nextBaseFee: null })
  if (isSame()) return
  await chain.follow(block.number === 0 ? rewindTo(0) : rewind(block.number - 1, 'failOver'))
  if (block.number > 0) await append(chain, block)
  else await edit(chain, block)
  if (!isSame())
    throw new Error(
      `the state after block ${block.number} differs from the database; start this process again with an empty data directory`,
    )
}

async function append(chain: Chain, block: StoredBlock): Promise<void> {
  await chain.follow({ kind: 'sealed', block: new BlockRecord(block.record).decode(), firstTransaction: 0, writes: block.writes })
  await edit(chain, block)
}

async function edit(chain: Chain, { edits }: StoredBlock): Promise<void> {
  for (const writes of edits) await chain.follow({ kind: 'edit', writes, nextBaseFee: null })
}

/** The values after all of the edits, unless an account was removed and made again between them. */
function merged(edits: readonly WriteSet[]): WriteSet {
  const { accounts, storage, codes } = edits.reduce(mergeWrites, NO_WRITES)
  return { accounts, storage: new Map([...storage].filter(([address]) => accounts.get(address) !== null)), codes }
}

/** A block's hash determines all before it, so that a binary search finds the newest block that both have. */
async function commonBlock(chain: Chain, database: Blocks, head: number): Promise<number> {
  const { store } = chain.sealed
  const isCommon = async (number: number) => store.hashOf(number) === (await database.hashOf(number))
  let [low, high] = [0, Math.min(head, store.height)]
  if (await isCommon(high)) return high
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (await isCommon(middle)) low = middle
    else high = middle - 1
  }
  return low
}

/** To block 0 without its edits. */
function rewindTo(number: number): ChainChange {
  return rewind(number, number === 0 ? 'reset' : 'failOver')
}

function rewind(number: number, cause: 'reset' | 'failOver'): ChainChange {
  return { kind: 'rewind', cause, number, isSealedRewound: true, writes: NO_WRITES, repromised: [] }
}
