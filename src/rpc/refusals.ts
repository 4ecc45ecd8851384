import { StateNotInMemory, PoolError, PrunedState, RewoundState } from '../chain/index.ts'
import { EngineOutOfMemory, InvalidTransaction, PrecompileNotLoaded, OutOfTime } from '../evm/index.ts'
import { CorruptRecord, CorruptSection, StorageError } from '../store/index.ts'
import { CODE, RpcError } from '../jsonrpc/index.ts'

/** Returns the RpcError for a refusal of a lower layer, or null for a bug. */
export function refusalOf(error: unknown): RpcError | null {
  if (error instanceof RpcError) return error
  if (error instanceof OutOfTime || error instanceof EngineOutOfMemory) return new RpcError(CODE.server, error.message)
  // In a browser, where code cannot be loaded synchronously, `loadPrecompiles` may still be running.
  if (error instanceof PrecompileNotLoaded) return new RpcError(CODE.server, 'a precompile of this call is still loading; ask again')
  if (error instanceof StateNotInMemory) return new RpcError(CODE.pruned, error.message)
  if (error instanceof PrunedState)
    return new RpcError(
      CODE.pruned,
      'the state of that block is pruned: it is no longer kept (--state-history keeps more, --data all, or as much as --prune says)',
    )
  if (error instanceof RewoundState)
    return new RpcError(CODE.notFound, 'the block was taken back by a reorg, revert or reset meanwhile; ask for it again by number or tag')
  // The disk is full or damaged.
  if (error instanceof StorageError || error instanceof CorruptRecord || error instanceof CorruptSection)
    return new RpcError(CODE.server, error.message)
  if (error instanceof PoolError || error instanceof InvalidTransaction) return new RpcError(CODE.server, error.message)
  return null
}
