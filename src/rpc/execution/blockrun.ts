import { isImpersonated } from '../../chain/index.ts'
import type { View } from '../../chain/index.ts'
import type { Block, Transaction } from '../../eth/index.ts'
import { beginBlock, executeTransaction, StateOverlay, World } from '../../evm/index.ts'
import type { BlockContext, Deadline, ExecuteOptions, Executed, StateReader, TraceBudget, TraceFactory } from '../../evm/index.ts'

/**
 * Executes a block again on the state before it, transaction by transaction, because receipts have neither outputs nor traces. Its creator
 * releases it.
 */
export class BlockRun {
  readonly #block: Block
  readonly #context: BlockContext
  readonly #before: StateOverlay
  readonly #deadline: Deadline | null
  /** traced from the first traced transaction on; the untraced one is faster */
  #world: World
  #isTraced = false
  #next = 0
  #logIndex = 0

  /** `deadline`: of the whole run; null: none. Throws PrunedState if the state before the block is pruned. */
  constructor(view: View, block: Block, deadline: Deadline | null = null) {
    const parent = view.byNumber(block.header.number - 1)
    if (parent === null) throw new Error(`block ${block.header.number} has no parent in this view`)
    this.#block = block
    this.#context = view.context(block)
    const state = view.state(parent)
    this.#before = new StateOverlay(state)
    this.#deadline = deadline
    this.#world = new World(state)
    beginBlock(this.#context, this.#world)
  }

  /** Runs the transactions before `index`. */
  skipTo(index: number): void {
    while (this.#next < index) this.next()
  }

  /** Runs the next transaction. */
  next(): Executed {
    return this.#run(this.#transaction())
  }

  /** Runs the next transaction under a tracer and returns geth's JSON. Throws TraceTooLarge, OutOfTime. */
  trace(make: TraceFactory, budget: TraceBudget): string {
    const tx = this.#transaction()
    const before = this.state()
    if (!this.#isTraced) this.#enableTracing()
    const { hash: blockHash, header } = this.#block
    const place = {
      blockHash,
      blockNumber: header.number,
      transactionHash: tx.hash,
      transactionIndex: this.#next,
      logIndex: this.#logIndex,
    }
    const { tracer, json } = make({ message: tx, context: this.#context, stateBefore: before, state: this.#world, location: place, budget })
    return json(this.#run(tx, { tracer }))
  }

  /** The state before the next transaction, until that runs. */
  state(): StateReader {
    this.#before.apply(this.#world.writes())
    this.#world.rebase(this.#before)
    return this.#before
  }

  release(): void {
    this.#world.release()
  }

  #enableTracing(): void {
    this.#world.release()
    this.#world = new World(this.#before, { traced: true })
    this.#isTraced = true
  }

  #transaction(): Transaction {
    const tx = this.#block.transactions[this.#next]
    if (tx === undefined) throw new RangeError(`block ${this.#block.header.number} has no transaction ${this.#next}`)
    return tx
  }

  #run(tx: Transaction, more: ExecuteOptions = {}): Executed {
    const deadline = this.#deadline === null ? {} : { deadline: this.#deadline }
    const executed = executeTransaction(tx, this.#context, this.#world, { skipSenderCheck: isImpersonated(tx), ...deadline, ...more })
    this.#next++
    this.#logIndex += executed.logs.length
    return executed
  }
}
