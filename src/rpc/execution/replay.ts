import type { View } from '../../chain/index.ts'
import { Hex } from '../../eth/index.ts'
import type { Block } from '../../eth/index.ts'
import { revertReason } from '../../evm/index.ts'
import type { Executed } from '../../evm/index.ts'
import { BlockRun } from './blockrun.ts'
import { blockJson, transactionJson } from '../json.ts'
import type { Json } from '../json.ts'

/** Returns a sealed block with full transactions, each with its `output` and, if it has one, its `revertReason`. */
export function replayedBlockJson(view: View, block: Block): Json {
  const executed = replay(view, block)
  const transactions = block.transactions.map((tx, index) => ({ ...transactionJson(tx, { block, index }), ...outputJson(executed[index]) }))
  return { ...blockJson(block, false), transactions }
}

function replay(view: View, block: Block): readonly Executed[] {
  const run = new BlockRun(view, block)
  try {
    return block.transactions.map(() => run.next())
  } finally {
    run.release()
  }
}

function outputJson(executed: Executed | undefined): Json {
  if (executed === undefined) return {}
  const reason = executed.outcome.kind === 'revert' ? revertReason(executed.output) : null
  return { output: Hex.fromBytes(executed.output), ...(reason === null ? undefined : { revertReason: reason }) }
}
