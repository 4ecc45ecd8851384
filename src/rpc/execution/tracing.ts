import type { LocatedTransaction, ViewScope, View } from '../../chain/index.ts'
import type { Block, Hash } from '../../eth/index.ts'
import { TraceBudget, TraceTooLarge } from '../../evm/index.ts'
import type { Deadline, TraceFactory } from '../../evm/index.ts'
import type { Compat } from '../../compat.ts'
import { BlockNotFound, findBlock, findStateBlock } from '../blocks.ts'
import { BlockRun } from './blockrun.ts'
import { CODE, RpcError } from '../../jsonrpc/index.ts'
import type { BlockRef } from '../../jsonrpc/schema.ts'
import { TRACE_BYTES } from '../limits.ts'

/** Sealed or pre-confirmed. Throws RpcError -32000. */
export function locateIncluded(view: View, transactionHash: Hash): LocatedTransaction {
  const place = view.locate(transactionHash)
  if (place === null) throw new RpcError(CODE.server, 'transaction not found')
  return place
}

/** Returns the block whose transactions are traced. Throws BlockNotFound. */
export function requireTracedBlock(view: View, ref?: BlockRef): Block {
  const block = findBlock(view, ref)
  if (block === null) throw new BlockNotFound('traces', ref, view)
  return block
}

/** Returns the block on whose state a call is traced. Throws BlockNotFound. */
export function requireCallBlock(view: View, compat: Compat, ref?: BlockRef): Block {
  const block = findStateBlock(view, compat, ref)
  if (block === null) throw new BlockNotFound('traced call', ref, view)
  return block
}

/** Returns the block and the state before it. */
export function needsOfRun(view: View, block: Block): ViewScope {
  const { number } = block.header
  const parent = view.byNumber(number - 1)
  return { states: parent === null ? [] : [parent], blocks: [block], hashesBelow: [number] }
}

export function joinedNeeds(needs: readonly ViewScope[]): ViewScope {
  return {
    states: needs.flatMap(({ states }) => states),
    blocks: needs.flatMap(({ blocks }) => blocks),
    hashesBelow: needs.flatMap(({ hashesBelow }) => hashesBelow),
  }
}

export function withRun<T>(view: View, block: Block, deadline: Deadline, work: (run: BlockRun) => T): T {
  const run = new BlockRun(view, block, deadline)
  try {
    return work(run)
  } finally {
    run.release()
  }
}

/** Returns the result of a tracer for the transaction at a place. */
export function traceAt(
  view: View,
  { block, index }: LocatedTransaction,
  make: TraceFactory,
  budget: TraceBudget,
  deadline: Deadline,
): string {
  return withRun(view, block, deadline, (run) => {
    run.skipTo(index)
    return run.trace(make, budget)
  })
}

/** Runs `work` with the budget of one answer. Throws RpcError -32003 if the traces are larger. */
export function withinBudget<T>(work: (budget: TraceBudget) => T): T {
  try {
    return work(new TraceBudget(TRACE_BYTES))
  } catch (error) {
    if (error instanceof TraceTooLarge) throw new RpcError(CODE.responseTooLarge, error.message)
    throw error
  }
}
