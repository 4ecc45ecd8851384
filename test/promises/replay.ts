import type { Chain, PromiseRecord } from '../../src/chain/index.ts'
import type { Block, Hash, Receipt } from '../../src/eth/index.ts'
import { Difference } from './followers.ts'

interface Promised {
  readonly hash: Hash
  readonly blockNumber: number
  readonly receipt: Receipt
  readonly transactionIndex: number
  sealedAs: Hash | null
  outcome: 'open' | 'kept' | 'changed' | 'retracted'
}

/** Blocks after which a promise is compared with the ledger's record and dropped; deeper than every reorg. */
const SETTLED_BLOCKS = 16

/** Notes each promise when a flashblock announces it, and determines what became of it by comparing the chain before and after each step. */
export class Replay {
  readonly #chain: Chain
  readonly #open = new Map<Hash, Promised>()
  readonly #settled: Promised[] = []
  compared = 0
  readonly totals = { kept: 0, changed: 0, retracted: 0 }

  constructor(chain: Chain) {
    this.#chain = chain
    chain.head.subscribe((event) => {
      if (event.kind === 'block' && !event.sealed && event.isPromise) this.#onFlashblock(event.block, event.firstTransaction)
    })
  }

  /** Call after each step that adds at most one flashblock, seals at most one block, or makes one move. Throws Difference. */
  step(): void {
    const { view } = this.#chain.head
    const pending = userTransactions(view.pending)
    for (const promise of this.#settled) this.#checkSealed(promise)
    for (const promise of [...this.#open.values()]) if (!pending.has(promise.hash)) this.#settle(promise)
    this.#forget(view.head.header.number - SETTLED_BLOCKS)
  }

  #onFlashblock(block: Block, firstTransaction: number): void {
    for (const [hash, { receipt, index }] of userTransactions(block)) {
      if (index < firstTransaction || this.#open.has(hash)) continue
      this.#open.set(hash, { hash, blockNumber: block.header.number, receipt, transactionIndex: index, sealedAs: null, outcome: 'open' })
    }
  }

  #settle(promise: Promised): void {
    this.#open.delete(promise.hash)
    this.#settled.push(promise)
    const block = this.#chain.head.view.byNumber(promise.blockNumber)
    const sealed = userTransactions(block).get(promise.hash)
    if (block === null || sealed === undefined) return this.#end(promise, 'retracted')
    promise.sealedAs = block.hash
    this.#end(promise, isSame(promise, sealed.receipt, sealed.index) ? 'kept' : 'changed')
  }

  #checkSealed(promise: Promised): void {
    if (promise.sealedAs === null || this.#chain.head.view.byHash(promise.sealedAs) !== null) return
    promise.sealedAs = null
    this.#end(promise, 'retracted')
  }

  #end(promise: Promised, outcome: 'kept' | 'changed' | 'retracted'): void {
    promise.outcome = outcome
    this.totals[outcome]++
  }

  /** The ledger's records of a transaction, oldest first, have the outcomes of its promises. */
  #forget(below: number): void {
    while (this.#settled.length > 0 && this.#settled[0]!.blockNumber < below) {
      const promise = this.#settled.shift()!
      const record = this.#recordOf(promise)
      this.compared++
      if (record?.outcome !== promise.outcome) {
        throw new Difference(
          `the ledger has ${record?.outcome ?? 'no record'} for ${promise.hash} of block ${promise.blockNumber}, not ${promise.outcome}`,
        )
      }
    }
  }

  /** Several promises of one transaction in one block are compared by their newest record only. */
  #recordOf({ hash, blockNumber, outcome }: Promised): PromiseRecord | null {
    const newest = this.#chain.ledger.find(hash)
    if (newest !== null && newest.blockNumber === blockNumber && newest.outcome === outcome) return newest
    const { promises } = this.#chain.ledger.page({ hash, blockNumber, limit: 64 })
    return promises.find((record) => record.outcome === outcome) ?? promises[0] ?? null
  }
}

function userTransactions(block: Block | null): ReadonlyMap<Hash, { readonly receipt: Receipt; readonly index: number }> {
  const found = new Map<Hash, { readonly receipt: Receipt; readonly index: number }>()
  for (const [index, { hash, deposit }] of (block?.transactions ?? []).entries()) {
    if (deposit === null) found.set(hash, { receipt: block!.receipts[index]!, index })
  }
  return found
}

function isSame({ receipt, transactionIndex }: Promised, sealed: Receipt, index: number): boolean {
  return (
    receipt === sealed ||
    (transactionIndex === index &&
      receipt.status === sealed.status &&
      receipt.gasUsed === sealed.gasUsed &&
      receipt.cumulativeGasUsed === sealed.cumulativeGasUsed &&
      receipt.logs.length === sealed.logs.length &&
      receipt.logs.every(({ data }, i) => Buffer.compare(data, sealed.logs[i]!.data) === 0))
  )
}
