import { Header } from '../../eth/index.ts'
import type { Block, Hash, Hex } from '../../eth/index.ts'
import { NO_WRITES } from '../../evm/index.ts'
import type { WriteSet } from '../../evm/index.ts'
import type { ChainParts } from '../chainparts.ts'
import { timestampMsOf } from '../sequencing/chaintime.ts'
import type { ChainTime } from '../sequencing/chaintime.ts'
import type { Mempool } from '../pool/mempool.ts'
import type { OpenBlockRecord } from '../sequencing/openblockrecord.ts'
import { flashblockOf } from '../sequencing/openblock.ts'
import { mergeWrites } from '../state/writesetbuilder.ts'
import type { HeadEvent, RewindCause } from '../view/head.ts'

/** A head event as plain data, from which another process repeats it without execution. */
export type ChainChange = FlashblockChange | SealedChange | EditChange | RewindChange

export interface FlashblockChange {
  readonly kind: 'flashblock'
  readonly isPromise: boolean
  readonly payloadId: Hex
  readonly index: number
  /** The hash that the block would have if it were sealed now. */
  readonly blockHash: Hash
  /** The pending block with its transactions and receipts from `firstTransaction` on. */
  readonly block: Block
  readonly firstTransaction: number
  readonly writes: WriteSet
}

export interface SealedChange {
  readonly kind: 'sealed'
  /** With its transactions and receipts from `firstTransaction` on; those before it are in its flashblocks. */
  readonly block: Block
  /** 0: the change contains the whole block. */
  readonly firstTransaction: number
  /** Those after its last flashblock, or all of the whole block. */
  readonly writes: WriteSet
}

export interface EditChange {
  readonly kind: 'edit'
  readonly writes: WriteSet
  /** Wei, of the next block only. */
  readonly nextBaseFee: bigint | null
}

export interface RewindChange {
  readonly kind: 'rewind'
  readonly cause: RewindCause
  /** The block that is the head afterwards. */
  readonly number: number
  /** False if only the pending block is retracted. */
  readonly isSealedRewound: boolean
  readonly writes: WriteSet
  readonly repromised: readonly Hash[]
}

/** The chain's head, pending block or state differ from those that a change follows. Nothing has changed. */
export class ChangeGap extends Error {
  override readonly name = 'ChangeGap'
}

/** Turns head events into changes. It sees every event, in their order. */
export class ChangeRecorder {
  /** Transactions of the pending block, which a sealed block continues. */
  #pendingCount = 0
  /** Of the flashblocks so far, while they have no transaction: on an L1 chain the sealed block may have none either, and is then sent whole. */
  #emptyWrites = NO_WRITES

  changeOf(event: HeadEvent): ChainChange {
    if (event.kind === 'edit') return { kind: 'edit', writes: event.writes, nextBaseFee: event.view.nextBaseFee }
    if (event.kind === 'rewind') {
      this.#endPending()
      const { cause, view, removed, writes, repromised } = event
      const isSealedRewound = removed.length > 0 || writes !== undefined
      return {
        kind: 'rewind',
        cause,
        number: view.head.header.number,
        isSealedRewound,
        writes: writes ?? NO_WRITES,
        repromised: [...(repromised ?? [])],
      }
    }
    if (event.sealed) {
      const firstTransaction = this.#pendingCount
      const writes = firstTransaction === 0 ? mergeWrites(this.#emptyWrites, event.writes) : event.writes
      this.#endPending()
      return { kind: 'sealed', block: blockFrom(event.block, firstTransaction), firstTransaction, writes }
    }
    const { isPromise, block, flashblock, firstTransaction, writes } = event
    this.#pendingCount = block.transactions.length
    if (this.#pendingCount === 0) this.#emptyWrites = mergeWrites(this.#emptyWrites, writes)
    const { payloadId, index, diff } = flashblock
    return {
      kind: 'flashblock',
      isPromise,
      payloadId,
      index,
      blockHash: diff.blockHash,
      block: blockFrom(block, firstTransaction),
      firstTransaction,
      writes,
    }
  }

  #endPending(): void {
    this.#pendingCount = 0
    this.#emptyWrites = NO_WRITES
  }
}

function blockFrom(block: Block, firstTransaction: number): Block {
  if (firstTransaction === 0) return block
  return { ...block, transactions: block.transactions.slice(firstTransaction), receipts: block.receipts.slice(firstTransaction) }
}

/** Repeats the changes of another process on a chain that builds no blocks. Callers hold the chain's mutex. */
export class Follower {
  readonly #parts: () => ChainParts
  readonly #time: () => ChainTime

  readonly #pool: () => Mempool

  constructor(parts: () => ChainParts, time: () => ChainTime, pool: () => Mempool) {
    this.#parts = parts
    this.#time = time
    this.#pool = pool
  }

  /** Throws ChangeGap for a change that does not follow, InconsistentWrites and store errors. */
  apply(change: ChainChange): void {
    if (change.kind === 'flashblock') this.#promise(change)
    else if (change.kind === 'sealed') this.#seal(change)
    else if (change.kind === 'edit') this.#edit(change)
    else this.#rewind(change)
  }

  /**
   * Seals the pending block as promised, for a process that builds blocks from now on. If that is impossible, it is announced as retracted, and its
   * transactions are in the pool. Throws store errors.
   */
  takeOver(): void {
    const { head, sealed, sequencer, viewFactory } = this.#parts()
    const { pending } = head.view
    if (pending === null) return
    sealed.revertOpenState()
    const deposits = pending.transactions.findIndex(({ deposit }) => deposit === null)
    if (deposits >= 0 && sequencer.recover(recordOf(pending, deposits))) return
    this.#pool().reinsert(pending.transactions.filter(({ deposit }) => deposit === null))
    head.announce({ kind: 'rewind', cause: 'failOver', view: viewFactory.create(), removed: [], retracted: pending })
  }

  /** Drops the pending block, announced as retracted: a part of it is missing. */
  forgetPending(): void {
    const { head, sealed, viewFactory } = this.#parts()
    const { pending } = head.view
    if (pending === null) return
    sealed.revertOpenState()
    head.announce({ kind: 'rewind', cause: 'discard', view: viewFactory.create(), removed: [], retracted: pending })
  }

  #promise({ block, payloadId, index, blockHash, firstTransaction, isPromise, writes }: FlashblockChange): void {
    const { head, sealed, viewFactory } = this.#parts()
    const whole = this.#continued(block, firstTransaction)
    if (index > 0 && head.view.pending === null) {
      throw new ChangeGap(`flashblock ${index} of block ${block.header.number} follows flashblocks that are not known`)
    }
    this.#announceNew(block)
    sealed.history.apply(writes)
    head.announce({
      kind: 'block',
      sealed: false,
      isPromise,
      view: viewFactory.create(whole, index),
      block: whole,
      flashblock: flashblockOf(whole, { payloadId, index, blockHash, firstTransaction }),
      firstTransaction,
      writes,
    })
  }

  #seal({ block, firstTransaction, writes }: SealedChange): void {
    const { head, sealed, viewFactory, overrides, snapshots } = this.#parts()
    const whole = this.#continued(block, firstTransaction)
    this.#announceNew(block)
    if (firstTransaction === 0 && head.view.pending !== null) this.#replacePending(head.view.pending, whole)
    sealed.history.apply(writes)
    sealed.append(whole)
    sealed.flush()
    overrides.nextBaseFee = null
    this.#time().onSealed(timestampMsOf(whole))
    head.announce({ kind: 'block', sealed: true, view: viewFactory.create(), block: whole, writes })
    sealed.prune(snapshots.oldestVersion)
  }

  /** The pool is the sequencer's: its transactions are announced here when they are promised or sealed. */
  #announceNew({ transactions }: Block): void {
    const { view } = this.#parts().head
    for (const tx of transactions) if (tx.deposit === null && view.locate(tx.hash) === null) this.#pool().announce(tx)
  }

  /** A block that is not built from the known flashblocks; what it does not contain of them is announced as retracted. */
  #replacePending(pending: Block, { transactions }: Block): void {
    const { head, sealed, viewFactory } = this.#parts()
    sealed.revertOpenState()
    if (pending.transactions.every(({ hash }, index) => transactions[index]?.hash === hash)) return
    const repromised = new Set(transactions.map(({ hash }) => hash))
    head.announce({ kind: 'rewind', cause: 'failOver', view: viewFactory.create(), removed: [], retracted: pending, repromised })
  }

  #edit({ writes, nextBaseFee }: EditChange): void {
    const { head, sealed, viewFactory, overrides } = this.#parts()
    if (writes.accounts.size + writes.storage.size + writes.codes.size > 0) sealed.edit(writes)
    overrides.nextBaseFee = nextBaseFee
    head.announce({ kind: 'edit', view: viewFactory.create(), writes })
  }

  #rewind({ cause, number, isSealedRewound, writes, repromised }: RewindChange): void {
    const { head, sealed, viewFactory } = this.#parts()
    const retracted = head.view.pending
    if (number > sealed.head.header.number) throw new ChangeGap(`a rewind to block ${number} follows block ${sealed.head.header.number}`)
    const removed = isSealedRewound ? this.#removeAbove(cause, number, writes) : []
    if (!isSealedRewound) sealed.revertOpenState()
    head.announce({
      kind: 'rewind',
      cause,
      view: viewFactory.create(),
      removed,
      retracted,
      ...(isSealedRewound ? { writes } : undefined),
      ...(repromised.length === 0 ? undefined : { repromised: new Set(repromised) }),
    })
  }

  #removeAbove(cause: RewindCause, number: number, writes: WriteSet): readonly Block[] {
    const { sealed } = this.#parts()
    if (cause === 'reset') return sealed.resetToGenesis().removed
    const { removed } = sealed.rewind(number)
    if (writes.accounts.size + writes.storage.size > 0) sealed.edit(writes)
    return removed
  }

  /** Returns the block with the transactions before `firstTransaction`, which the pending block has. */
  #continued(block: Block, firstTransaction: number): Block {
    const { head, sealed } = this.#parts()
    const { number, parentHash } = block.header
    if (parentHash !== sealed.head.hash) {
      throw new ChangeGap(`block ${number} follows ${parentHash}, and the head is ${sealed.head.hash}, block ${sealed.head.header.number}`)
    }
    if (firstTransaction === 0) return block
    const { pending } = head.view
    if (pending === null || pending.transactions.length !== firstTransaction) {
      throw new ChangeGap(`block ${number} continues ${firstTransaction} transactions, and ${pending?.transactions.length ?? 0} are known`)
    }
    return {
      ...block,
      transactions: [...pending.transactions, ...block.transactions],
      receipts: [...pending.receipts, ...block.receipts],
    }
  }
}

/** The record of the sequencer's open block, from the block's flashblocks. */
function recordOf({ header, transactions, timestampMs, withdrawals }: Block, deposits: number): OpenBlockRecord {
  const { parentHash, timestamp, mixHash, coinbase, gasLimit, extraData, parentBeaconBlockRoot, baseFeePerGas, difficulty } = header
  return {
    parentHash,
    promisedHash: Header.hash(header),
    attributes: {
      timestamp,
      timestampMs,
      prevRandao: mixHash,
      feeRecipient: coinbase,
      gasLimit,
      extraData,
      parentBeaconBlockRoot,
      withdrawals,
      baseFeePerGas,
      difficulty,
      ommers: [],
    },
    transactions,
    deposits,
  }
}
