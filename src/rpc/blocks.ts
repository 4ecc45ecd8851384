import type { BlockTag, Chain, LocatedTransaction, View } from '../chain/index.ts'
import type { Block, Hash, Transaction } from '../eth/index.ts'
import { Hex } from '../eth/index.ts'
import type { Compat } from '../compat.ts'
import type { StateReader } from '../evm/index.ts'
import { CODE, RpcError } from '../jsonrpc/index.ts'
import { LATEST } from '../jsonrpc/schema.ts'
import type { BlockRef } from '../jsonrpc/schema.ts'

/** Returns the block of a parameter, `latest` by default, or null. Throws BlockIsUpstream on a fork. */
export function findBlock(view: View, ref: BlockRef = LATEST): Block | null {
  const block = lookUp(view, ref)
  const number = ref.kind === 'number' ? ref.number : block?.header.number
  if (number !== undefined && number <= (view.forkNumber ?? -1)) throw new BlockIsUpstream()
  return block
}

function lookUp(view: View, ref: BlockRef): Block | null {
  if (ref.kind === 'tag') return view.byTag(ref.tag)
  return ref.kind === 'number' ? view.byNumber(ref.number) : view.byHash(ref.hash)
}

/**
 * Returns the number of the sealed block of a parameter without reading it; null for the block under construction and an unknown one. Throws
 * BlockIsUpstream on a fork.
 */
export function sealedNumber(view: View, ref: BlockRef = LATEST): number | null {
  const number = numberOf(view, ref)
  if (number !== null && number <= (view.forkNumber ?? -1)) throw new BlockIsUpstream()
  return number
}

function numberOf(view: View, ref: BlockRef): number | null {
  if (ref.kind === 'tag') return TAGGED[ref.tag](view)
  if (ref.kind === 'hash') return view.numberOf(ref.hash)
  return ref.number <= view.head.header.number ? ref.number : null
}

/** The block is the one that the chain is forked from, or an older one: the request is forwarded. */
export class BlockIsUpstream extends Error {
  override readonly name = 'BlockIsUpstream'

  constructor() {
    super('the block is read from upstream')
  }
}

const TAGGED: Readonly<Record<BlockTag, (view: View) => number | null>> = {
  latest: ({ head }) => head.header.number,
  pending: ({ head, pending }) => (pending === null ? head.header.number : null),
  safe: ({ safeNumber }) => safeNumber,
  finalized: ({ finalizedNumber }) => finalizedNumber,
  earliest: ({ firstNumber }) => firstNumber,
}

/** As `findBlock`, for methods without a null result. Throws RpcError -32001 that names the block. */
export function requireBlock(view: View, ref: BlockRef = LATEST): Block {
  return assertFound(view, ref, findBlock(view, ref))
}

function assertFound(view: View, ref: BlockRef, block: Block | null): Block {
  if (block !== null) return block
  throw blockNotFound(ref, view)
}

/** Returns the block whose state a method reads: with `--latest promised`, `latest` and no block at all are the pending block. */
export function stateRef({ latestState }: Compat, ref: BlockRef = LATEST): BlockRef {
  return latestState === 'promised' && ref.kind === 'tag' && ref.tag === 'latest' ? PENDING : ref
}

const PENDING: BlockRef = { kind: 'tag', tag: 'pending' }

/** As `findBlock`, for the block whose state a method reads: that of the fork block is local, and edits may have changed it. */
export function findStateBlock(view: View, ref: BlockRef = LATEST): Block | null {
  const block = lookUp(view, ref)
  return block !== null && block.header.number === view.forkNumber ? block : findBlock(view, ref)
}

/** As `requireBlock`, for the block whose state a method reads. */
export function requireStateBlock(view: View, compat: Compat, ref?: BlockRef): Block {
  const stated = stateRef(compat, ref)
  return assertFound(view, stated, findStateBlock(view, stated))
}

/** Returns the state after the block. Throws RpcError -32001, and PrunedState (code 4444). */
export function requireState(view: View, compat: Compat, ref?: BlockRef): StateReader {
  return view.state(requireStateBlock(view, compat, ref))
}

/** Finds a sealed, a pre-confirmed or a pooled transaction; a pooled one has no place. */
export function findTransaction(
  { head, pool }: Chain,
  hash: Hash,
): { readonly tx: Transaction; readonly place: LocatedTransaction | null } | null {
  const place = head.view.locate(hash)
  const tx = place === null ? pool.get(hash) : place.block.transactions[place.index]
  return tx === null || tx === undefined ? null : { tx, place }
}

function blockNotFound(ref: BlockRef, view: View): RpcError {
  const head = Hex.fromQuantity(view.head.header.number)
  if (ref.kind === 'number') {
    return new RpcError(CODE.notFound, `block not found: ${Hex.fromQuantity(ref.number)}, the latest is ${head}`)
  }
  return new RpcError(CODE.notFound, `block not found: ${ref.kind === 'hash' ? ref.hash : ref.tag}`)
}
