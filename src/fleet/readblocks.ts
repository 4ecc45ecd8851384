import type { Chain, ChainChange } from '../chain/index.ts'
import { BlockRecord } from '../store/index.ts'
import type { Database, Position } from './database.ts'

type Blocks = Pick<Database, 'blocks' | 'hashOf' | 'position'>

/** Brings a chain that builds no blocks to the blocks of the database, and returns its position. Rejects with FleetError, and with store errors. */
export async function readBlocks(chain: Chain, database: Blocks): Promise<Position> {
  for (let position = await database.position(); ;) {
    const start = await commonBlock(chain, database, position.head)
    const { head, history, headVersion } = chain.sealed
    for await (const blocks of database.blocks(start, position.head)) {
      for (const { number, record, writes, edits, stateRoot } of blocks) {
        if (number === start && number === head.header.number && history.stateRoot(headVersion) === stateRoot) continue
        if (number === start) await chain.follow(rewindTo(Math.max(0, number - 1), number === 0))
        if (number > 0) await chain.follow({ kind: 'sealed', block: new BlockRecord(record).decode(), firstTransaction: 0, writes })
        for (const each of edits) await chain.follow({ kind: 'edit', writes: each, nextBaseFee: null })
      }
    }
    const now = await database.position()
    if (now.commit === position.commit) return now
    position = now
  }
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

function rewindTo(number: number, isReset: boolean): ChainChange {
  const writes = { accounts: new Map(), storage: new Map(), codes: new Map() }
  return { kind: 'rewind', cause: isReset ? 'reset' : 'failOver', number, isSealedRewound: true, writes, repromised: [] }
}
