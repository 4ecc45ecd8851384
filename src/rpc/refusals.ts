import {
  ChainClosed,
  MiningEnded,
  NoProofs,
  OutOfRange,
  StateNotInMemory,
  PoolError,
  PrunedState,
  RewoundState,
  UpstreamError,
} from '../chain/index.ts'
import { EngineOutOfMemory, InvalidTransaction, PrecompileNotLoaded, OutOfTime, UnsupportedFork } from '../evm/index.ts'
import { CorruptRecord, CorruptSection, StorageError } from '../store/index.ts'
import type { Compat } from '../compat.ts'
import { CODE, RpcError, invalidParams } from '../jsonrpc/index.ts'
import { UnknownAccount } from './accounts.ts'
import { BlockNotFound } from './blocks.ts'

/** The refusals with `rejectedTransactionCode`. */
const REJECTED: ReadonlySet<string> = new Set([
  'already-known',
  'nonce-too-low',
  'replacement-underpriced',
  'underpriced',
  'invalid',
  'insufficient-funds',
  'insufficient-funds-for-transfer',
  'fee-cap-below-base-fee',
  'blob-fee-cap-below-base-fee',
  'tip-above-fee-cap',
])

/** geth's words in anvil, where they differ. */
const ANVIL_WORDS: ReadonlyMap<string, string> = new Map([
  ['insufficient funds for gas * price + value', 'Insufficient funds for gas * price + value'],
  ['insufficient funds for transfer', 'Insufficient funds for gas * price + value'],
  ['already known', 'transaction already imported'],
  ['exceeds block gas limit', 'intrinsic gas too high -- tx.gas_limit > env.block.gas_limit'],
  ['EIP-7702 transaction with empty auth list', 'empty authorization list'],
])

/** Returns the message of a refused transaction in the words of the profile. */
export function refusalMessage(message: string, { refusalWording }: Compat): string {
  if (refusalWording === 'geth') return message
  const words = message.replace(/^err: /, '').split(/: | \(/, 1)[0] ?? message // the values follow
  return ANVIL_WORDS.get(words) ?? words
}

/** Returns the RpcError for a refusal of a lower layer, or null for a bug. */
export function refusalOf(error: unknown, compat: Compat): RpcError | null {
  if (error instanceof UnknownAccount)
    return new RpcError(compat.unknownAccountCode, compat.refusalWording === 'anvil' ? 'No Signer available' : error.message)
  if (error instanceof RpcError) return error
  if (error instanceof BlockNotFound) return error.toRpcError(compat)
  if (error instanceof OutOfTime || error instanceof EngineOutOfMemory || error instanceof UnsupportedFork)
    return new RpcError(CODE.server, error.message)
  // In a browser, where code cannot be loaded synchronously, `loadPrecompiles` may still be running.
  if (error instanceof PrecompileNotLoaded) return new RpcError(CODE.server, 'a precompile of this call is still loading; retry')
  if (error instanceof OutOfRange) return invalidParams(error.message)
  if (error instanceof MiningEnded || error instanceof ChainClosed) return new RpcError(CODE.server, error.message)
  if (error instanceof UpstreamError) return new RpcError(CODE.server, error.message)
  if (error instanceof NoProofs) return new RpcError(CODE.pruned, error.message)
  if (error instanceof StateNotInMemory) return new RpcError(CODE.pruned, error.message)
  if (error instanceof PrunedState)
    return new RpcError(
      CODE.pruned,
      'the state of that block is pruned (--state-history sets how much is kept in memory, --prune how much with --data)',
    )
  if (error instanceof RewoundState)
    return new RpcError(CODE.notFound, 'the block was removed by a reorg, revert or reset; request it again by number or tag')
  // The disk is full or damaged.
  if (error instanceof StorageError || error instanceof CorruptRecord || error instanceof CorruptSection)
    return new RpcError(CODE.server, error.message)
  if (error instanceof PoolError || error instanceof InvalidTransaction)
    return new RpcError(REJECTED.has(error.code) ? compat.rejectedTransactionCode : CODE.server, refusalMessage(error.message, compat))
  return null
}
