import type { BlockTag, Chain, LocatedTransaction, View } from '../chain/index.ts'
import type { Address, Block, Hash, Transaction } from '../eth/index.ts'
import { Hex } from '../eth/index.ts'
import type { Compat } from '../compat.ts'
import type { StateReader } from '../evm/index.ts'
import { CODE, RpcError, invalidParams } from '../jsonrpc/index.ts'
import { LATEST } from '../jsonrpc/schema.ts'
import type { BlockRef } from '../jsonrpc/schema.ts'

/**
 * Returns the block of a parameter, `latest` by default, or null. `pending` includes pool transactions under cadences that do not promise
 * them. Throws BlockIsUpstream on a fork.
 */
export function findBlock(view: View, ref: BlockRef = LATEST): Block | null {
  const block = lookUp(view, ref)
  const number = ref.kind === 'number' ? ref.number : block?.header.number
  if (number !== undefined && number <= (view.forkNumber ?? -1)) throw new BlockIsUpstream()
  return block
}

function lookUp(view: View, ref: BlockRef): Block | null {
  if (ref.kind === 'tag') return ref.tag === 'pending' ? view.pendingWithPool : view.byTag(ref.tag)
  return ref.kind === 'number' ? view.byNumber(ref.number) : view.byHash(ref.hash)
}

/** Returns `latest` for `pending` if nothing is pre-confirmed, for methods that return receipts: pool transactions have no receipts. */
export function refForReceipts({ pending }: View, ref: BlockRef): BlockRef {
  return ref.kind === 'tag' && ref.tag === 'pending' && pending === null ? LATEST : ref
}

/**
 * Returns the number of the sealed block of a parameter without reading it; null for the block under construction and an unknown one. Throws
 * BlockIsUpstream on a fork.
 */
export function sealedBlockNumber(view: View, ref: BlockRef = LATEST): number | null {
  const number = numberOf(view, ref)
  const asked = ref.kind === 'number' ? ref.number : number
  if (asked !== null && asked <= (view.forkNumber ?? -1)) throw new BlockIsUpstream()
  return number
}

function numberOf(view: View, ref: BlockRef): number | null {
  if (ref.kind === 'tag') return TAGGED[ref.tag](view)
  if (ref.kind === 'hash') return view.numberOf(ref.hash)
  return ref.number >= view.firstNumber && ref.number <= view.head.header.number ? ref.number : null
}

/** The requested block is the fork block or an older one, so the request is forwarded to upstream. */
export class BlockIsUpstream extends Error {
  override readonly name = 'BlockIsUpstream'

  constructor() {
    super('the block is read from upstream')
  }
}

const TAGGED: Readonly<Record<BlockTag, (view: View) => number | null>> = {
  latest: ({ head }) => head.header.number,
  pending: ({ head, pendingWithPool }) => (pendingWithPool === head ? head.header.number : null),
  safe: ({ safeNumber }) => safeNumber,
  finalized: ({ finalizedNumber }) => finalizedNumber,
  earliest: ({ firstNumber }) => firstNumber,
}

/** As `findBlock`, for methods without a null result. Throws BlockNotFound. */
export function requireBlock(view: View, ref: BlockRef = LATEST): Block {
  return required(findBlock(view, ref), view, ref)
}

/** Returns the block whose state a method reads, or null. With `--latest promised`, `latest` and an absent block parameter select the promised block. */
export function findStateBlock(view: View, { latestState }: Compat, ref: BlockRef = LATEST): Block | null {
  if (latestState === 'promised' && ref.kind === 'tag' && ref.tag === 'latest') return view.byTag('pending')
  // The first block of the chain, not of this node.
  if (ref.kind === 'tag' && ref.tag === 'earliest' && (view.forkNumber ?? 0) > 0) throw new BlockIsUpstream()
  const block = lookUp(view, ref)
  // The state of the fork block is local until it is pruned, and edits may have changed it.
  return block !== null && block.header.number === view.forkNumber && !view.isPruned(block) ? block : findBlock(view, ref)
}

/** As `requireBlock`, for the block whose state a method reads. */
export function requireStateBlock(view: View, compat: Compat, ref?: BlockRef): Block {
  return required(findStateBlock(view, compat, ref), view, ref)
}

/** Returns the state after the block. Throws BlockNotFound, and PrunedState (code 4444). */
export function requireState(view: View, compat: Compat, ref?: BlockRef): StateReader {
  return view.state(requireStateBlock(view, compat, ref))
}

/** Returns an account's nonce after its pre-confirmed and consecutive pooled transactions. */
export function pendingNonce({ head: { view }, pool }: Chain, address: Address): bigint {
  const promised = nonceOf(view.state(view.byTag('pending')), address)
  const next = pool.nextNonce(address, promised)
  // Without a transaction of its own in the pool, others can raise its nonce: an authorization, a call of a factory.
  return next > promised ? next : nonceOf(view.state(view.pendingWithPool), address)
}

export function nonceOf(state: StateReader, address: Address): bigint {
  return state.account(address)?.nonce ?? 0n
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

function required(block: Block | null, view: View, ref: BlockRef = LATEST): Block {
  if (block !== null) return block
  throw new BlockNotFound('state', ref, view)
}

/** What a method reads of the block: the state after it, its logs, the traces of its transactions, or the state on which calls are traced. */
type BlockUse = 'state' | 'logs' | 'traces' | 'traced call'

/** The chain does not have the block. On a fork, upstream may have the one of a hash. */
export class BlockNotFound extends Error {
  override readonly name = 'BlockNotFound'
  readonly #use: BlockUse
  readonly #ref: BlockRef
  readonly #headNumber: number
  readonly #code: number

  /** `code`: of the error under profiles that name the block; -32001 by default, -32000 for traces (geth). */
  constructor(use: BlockUse, ref: BlockRef | undefined, view: View, code?: number) {
    super('the chain does not have the block')
    this.#use = use
    this.#ref = ref ?? LATEST
    this.#headNumber = view.head.header.number
    this.#code = code ?? (isTrace(use) ? CODE.server : CODE.notFound)
  }

  toRpcError({ unknownBlock }: Compat): RpcError {
    return unknownBlock === 'anvil' ? this.#ofAnvil() : new RpcError(this.#code, this.#namingMessage())
  }

  #namingMessage(): string {
    const ref = this.#ref
    if (isTrace(this.#use)) return `block ${ref.kind === 'number' ? `#${ref.number}` : hashOrTag(ref)} not found`
    if (ref.kind !== 'number') return `block not found: ${hashOrTag(ref)}`
    return `block not found: ${Hex.fromQuantity(ref.number)}, the latest is ${Hex.fromQuantity(this.#headNumber)}`
  }

  #ofAnvil(): RpcError {
    if (this.#use === 'logs') return new RpcError(CODE.server, 'unknown block')
    if (this.#ref.kind !== 'number' || this.#use === 'traces') return new RpcError(CODE.notFound, 'Resource not found')
    return invalidParams(`BlockOutOfRangeError: block height is ${this.#headNumber} but requested was ${this.#ref.number}`)
  }
}

function isTrace(use: BlockUse): boolean {
  return use === 'traces' || use === 'traced call'
}

function hashOrTag(ref: Exclude<BlockRef, { kind: 'number' }>): string {
  return ref.kind === 'hash' ? ref.hash : ref.tag
}

/** Returns a block that the view is known to have. */
export function blockAt(view: View, number: number): Block {
  const block = view.byNumber(number)
  if (block === null) throw new Error(`block ${number} is missing from its view`)
  return block
}
