import { isImpersonated } from '../chain/index.ts'
import type { View } from '../chain/index.ts'
import { Hex } from '../eth/index.ts'
import type { Block } from '../eth/index.ts'
import { World, beginBlock, executeTransaction } from '../evm/index.ts'
import type { Executed } from '../evm/index.ts'
import { blockJson, transactionJson } from './json.ts'
import type { Json } from './json.ts'
import { revertReason } from './revert.ts'

/** A sealed block with whole transactions and what each of them returned: `output`, and `revertReason` when it gave one. */
export async function replayed(view: View, block: Block): Promise<Json> {
  const executed = await replay(view, block)
  const transactions = block.transactions.map((tx, index) => ({ ...transactionJson(tx, { block, index }), ...outputJson(executed[index]) }))
  return { ...blockJson(block, false), transactions }
}

/** Runs a block again on the state before it: receipts do not keep what a transaction returned. Throws PrunedState. */
async function replay(view: View, block: Block): Promise<readonly Executed[]> {
  const parent = view.byNumber(block.header.number - 1)
  if (parent === null) throw new Error(`block ${block.header.number} has no parent in this view`)
  const context = view.context(block)
  const world = new World(view.state(parent))
  await beginBlock(context, world)
  const executed: Executed[] = []
  for (const tx of block.transactions) {
    executed.push(await executeTransaction(tx, context, world, { anySender: isImpersonated(tx) }))
  }
  return executed
}

function outputJson(executed: Executed | undefined): Json {
  if (executed === undefined) return {}
  const reason = executed.outcome.kind === 'revert' ? revertReason(executed.output) : null
  return { output: Hex.fromBytes(executed.output), ...(reason === null ? undefined : { revertReason: reason }) }
}
