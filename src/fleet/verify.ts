import { CADENCES, Chain, ImportError, ManualClock, replayBlock } from '../chain/index.ts'
import { Hash } from '../eth/index.ts'
import { BlockRecord, MemoryStore } from '../store/index.ts'
import { Database } from './database.ts'
import type { StoredBlock } from './database.ts'
import { Definition } from './definition.ts'
import { FleetError } from './errors.ts'
import { BLOCKS_IN_MEMORY } from './limits.ts'

/** Blocks that were executed again. */
export interface VerifiedBlocks {
  readonly from: number
  readonly to: number
  readonly transactions: number
}

interface VerifyOptions {
  /** the first block that is executed; those before it are only loaded. 1 by default */
  readonly from?: number
  /** the newest block by default */
  readonly to?: number
  /** called after each piece of blocks */
  readonly onProgress?: (number: number, to: number) => void
}

/**
 * Executes blocks of a fleet's database again, from its genesis, and compares headers, hashes and state roots. Rejects with FleetError for the first
 * difference, and for servers that cannot be used.
 */
export async function verifyFleet(
  url: string,
  { from = 1, to, onProgress = () => undefined }: VerifyOptions = {},
): Promise<VerifiedBlocks> {
  const database = await Database.connect(url)
  try {
    const stored = await database.chain()
    if (stored === null) throw new FleetError('database', 'the database holds no chain yet; start a sequencer first (--role sequencer)')
    const { head } = await database.position()
    const last = Math.min(to ?? head, head)
    if (from < 1 || from > last) throw new FleetError('options', `blocks 1 to ${head} can be verified, not ${from} to ${to ?? head}`)
    const chain = chainOf(Definition.decode(stored.definition))
    let transactions = 0
    for await (const blocks of database.blocks(0, last)) {
      for (const block of blocks) transactions += await verifyBlock(chain, block, from)
      onProgress(blocks.at(-1)?.number ?? last, last)
    }
    return { from, to: last, transactions }
  } finally {
    await database.close()
  }
}

function chainOf({ genesis, settings }: Definition): Chain {
  return new Chain({
    ...settings,
    genesis,
    store: new MemoryStore(),
    historyBlocks: BLOCKS_IN_MEMORY,
    clock: new ManualClock(genesis.timestamp * 1_000),
    cadence: CADENCES.manual,
    order: 'fees',
    instanceId: Hash.zero,
    onBug: (error) => {
      throw error
    },
  })
}

/** Returns the number of transactions that were executed. */
async function verifyBlock(chain: Chain, { number, hash, record, writes, edits, stateRoot }: StoredBlock, from: number): Promise<number> {
  const block = new BlockRecord(record).decode()
  const isExecuted = number >= from && number > 0
  if (number === 0) assertSame(number, 'hash', hash, chain.genesis.hash)
  else if (isExecuted) await replay(chain, block)
  else await chain.follow({ kind: 'sealed', block, firstTransaction: 0, writes })
  for (const each of edits) await chain.follow({ kind: 'edit', writes: each, nextBaseFee: null })
  const { history, headVersion } = chain.sealed
  if (isExecuted) assertSame(number, 'state root', stateRoot, history.stateRoot(headVersion))
  assertSame(number, 'hash', hash, chain.sealed.head.hash)
  return isExecuted ? block.transactions.length : 0
}

async function replay(chain: Chain, block: Parameters<typeof replayBlock>[1]): Promise<void> {
  try {
    await replayBlock(chain, block)
  } catch (error) {
    throw error instanceof ImportError ? new FleetError('database', `the database is damaged: ${error.message}`, error) : error
  }
}

function assertSame(number: number, what: string, stored: Hash, computed: Hash): void {
  if (stored !== computed)
    throw new FleetError(
      'database',
      `the database is damaged: block ${number} has the ${what} ${stored}, and executing it gives ${computed}`,
    )
}
