import { GWEI, RICH, below, random, testChain } from '../../src/chain/chain.fixture.ts'
import type { TestChain } from '../../src/chain/chain.fixture.ts'
import { PoolError, PromiseError } from '../../src/chain/index.ts'
import type { CadenceKind } from '../../src/chain/index.ts'
import { Address, Hex, Transaction } from '../../src/eth/index.ts'
import type { Hash } from '../../src/eth/index.ts'
import { Difference, Followers } from './followers.ts'
import { Replay } from './replay.ts'

/** Counts its calls, and logs the count: its result depends on the order of the calls. */
const COUNTER = Address.from('0x00000000000000000000000000000000000c0017')
const COUNTER_CODE = Hex.toBytes('0x60005460010180600055600052602a60206000a100')
const FLASHBLOCK_MS = 200

export interface Progress {
  readonly transactions: number
  readonly moves: number
  readonly blocks: number
  readonly compared: number
  readonly totals: Readonly<Record<string, number>>
}

export interface FuzzOptions {
  readonly seed: number
  readonly transactions: number
  readonly cadence: Extract<CadenceKind, 'preconf' | 'native'>
  readonly onProgress?: (progress: Progress) => void
}

/**
 * Sends transactions and makes control moves and reorgs at random. After every step each subscriber's view is compared with the node's, and
 * what became of each promise with the ledger. Throws Difference with the seed and the step.
 */
export async function fuzzPromises({ seed, transactions, cadence, onProgress }: FuzzOptions): Promise<Progress> {
  const parts = testChain(cadence, { historyBlocks: 64 })
  const { chain } = parts
  await chain.edit((world) => world.setCode(COUNTER, COUNTER_CODE))
  const followers = new Followers(chain)
  await chain.start()
  const replay = new Replay(chain)
  const run = new Run(parts, seed)
  let step = 0
  const progress = (): Progress => {
    const { compared, totals } = replay
    return { transactions: run.sent, moves: run.moves, blocks: chain.head.view.head.header.number, compared, totals }
  }
  try {
    for (; run.sent < transactions; step++) {
      await run.step(() => {
        followers.compare()
        replay.step()
      })
      if (parts.bugs.length > 0) throw parts.bugs[0] as Error
      onProgress?.(progress())
    }
    const { kept, changed, retracted } = chain.ledger.totals
    const { totals } = replay
    if (kept !== totals.kept || changed !== totals.changed || retracted !== totals.retracted) {
      throw new Difference(`the ledger counts ${kept} kept, ${changed} changed, ${retracted} retracted, not ${JSON.stringify(totals)}`)
    }
    return progress()
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Difference(`seed ${seed}, step ${step}, after ${run.last}: ${reason}`, { cause: error })
  } finally {
    followers.close()
    await chain.stop()
  }
}

/** One random sequence. */
class Run {
  sent = 0
  moves = 0
  last = 'nothing'
  readonly #parts: TestChain
  readonly #next: () => number

  constructor(parts: TestChain, seed: number) {
    this.#parts = parts
    this.#next = random(seed)
  }

  /** Sends some transactions, makes a move now and then, and advances the clock by a flashblock; `check` after each of them. */
  async step(check: () => void): Promise<void> {
    const count = this.#below(8)
    for (let i = 0; i < count; i++) await this.#attempt('send', () => this.#send())
    check()
    if (this.#below(3) === 0) {
      const [name, move] = this.#moves[this.#below(this.#moves.length)]!
      await this.#attempt(name, move)
      this.moves++
      check()
    }
    this.last = 'a flashblock'
    await this.#parts.clock.advance(FLASHBLOCK_MS)
    check()
  }

  readonly #moves: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['retract one', () => this.#promises.retract({ hash: this.#promised() }, this.#into())],
    ['retract one', () => this.#promises.retract({ hash: this.#promised() }, this.#into())],
    ['retract flashblocks', () => this.#promises.retract({ fromFlashblock: 1 + this.#below(10) }, this.#into())],
    ['retract all', () => this.#promises.retract('all', this.#into())],
    ['reorder', () => this.#promises.reorder(this.#shuffled())],
    ['reorder', () => this.#promises.reorder(this.#shuffled())],
    ['insert', () => this.#promises.insert((nonceOf) => this.#transaction(this.#sender(), nonceOf), this.#place())],
    ['replace', () => this.#promises.replace(this.#promised(), ({ from, nonce }) => this.#transaction(from, () => nonce))],
    ['drop', () => this.#promises.drop(this.#below(2) === 0 ? this.#promised() : this.#pooled())],
    ['hold', () => this.#promises.hold(this.#below(2) === 0 ? { hash: this.#pooled() } : { from: this.#sender() })],
    ['delay', () => this.#promises.delay({ hash: this.#pooled() }, { flashblocks: this.#below(4) })],
    ['release', () => this.#promises.release()],
    ['release', () => this.#promises.release()],
    ['miss', () => this.#promises.missFlashblocks(1 + this.#below(3))],
    ['late seal', () => this.#promises.delaySeal(this.#below(500))],
    ['stall', () => this.#promises.stall(this.#below(1_000))],
    ['pace', () => this.#promises.setPace({ jitter: this.#below(2) * 0.4 })],
    ['fail over', () => this.#promises.failOver(this.#below(3))],
    ['reorg', () => this.#parts.chain.reorg(1 + this.#below(3), this.#replacements())],
    ['rollback', () => this.#parts.chain.rollback(1 + this.#below(2))],
    ['mine', () => this.#parts.chain.mine(1)],
    ['edit', () => this.#parts.chain.edit((world) => world.setBalance(this.#sender(), 10n ** 22n))],
  ]

  get #promises() {
    return this.#parts.chain.promises
  }

  async #send(): Promise<void> {
    const { pool, sealed } = this.#parts.chain
    const from = this.#sender()
    const { history } = sealed
    const nonce = pool.nextNonce(from, history.at(history.version).account(from)?.nonce ?? 0n)
    await this.#parts.chain.submit(this.#transaction(from, () => nonce))
    this.sent++
  }

  #transaction(from: Address, nonceOf: (address: Address) => bigint): Transaction {
    const nonce = nonceOf(from)
    const call = this.#below(3) > 0 ? { to: COUNTER, gas: 60_000n } : { to: RICH[this.#below(RICH.length)]!, value: 1n, gas: 21_000n }
    const tip = BigInt(1 + this.#below(1_000))
    return Transaction.unsigned(
      { type: 2, chainId: 31_337, nonce, ...call, maxFeePerGas: 100n * GWEI, maxPriorityFeePerGas: (tip * GWEI) / 100n },
      from,
    )
  }

  /** Throws PromiseError if nothing is promised. */
  #promised(): Hash {
    const promised = this.#order()
    const chosen = promised[this.#below(promised.length)]
    if (chosen === undefined) throw new PromiseError('nothing is promised')
    return chosen
  }

  #pooled(): Hash {
    const all = this.#parts.chain.pool.all()
    const chosen = all[this.#below(all.length)]
    if (chosen === undefined) throw new PromiseError('the pool is empty')
    return chosen.hash
  }

  #order(): readonly Hash[] {
    const { pending } = this.#parts.chain.head.view
    return (pending?.transactions ?? []).flatMap(({ hash, deposit }) => (deposit === null ? [hash] : []))
  }

  /** Also orders in which nonces descend, which are refused. */
  #shuffled(): readonly Hash[] {
    const left = [...this.#order()]
    const order: Hash[] = []
    const isValid = this.#below(4) > 0
    const { pending } = this.#parts.chain.head.view
    const fromOf = new Map((pending?.transactions ?? []).map(({ hash, from }) => [hash, from]))
    while (left.length > 0) {
      const drawn = this.#below(left.length)
      const index = isValid ? left.findIndex((hash) => fromOf.get(hash) === fromOf.get(left[drawn]!)) : drawn
      order.push(...left.splice(index, 1))
    }
    return order
  }

  #place() {
    const hash = this.#promised()
    return this.#below(2) === 0 ? { before: hash } : { after: hash }
  }

  #into(): 'pool' | 'nowhere' {
    return this.#below(2) === 0 ? 'pool' : 'nowhere'
  }

  #replacements(): { readonly tx: Transaction; readonly block: number }[] {
    return this.#below(2) === 0 ? [] : [{ tx: this.#transaction(this.#sender(), () => 0n), block: 0 }]
  }

  #sender(): Address {
    return RICH[this.#below(RICH.length)]!
  }

  #below(bound: number): number {
    return below(this.#next, bound)
  }

  /** Moves that the chain refuses have changed nothing, which the next check shows. */
  async #attempt(name: string, move: () => Promise<unknown>): Promise<void> {
    this.last = name
    try {
      await move()
    } catch (error) {
      if (!(error instanceof PromiseError) && !(error instanceof PoolError) && !(error instanceof RangeError)) throw error
    }
  }
}
