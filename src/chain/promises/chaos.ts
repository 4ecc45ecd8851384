import type { Hash, Transaction } from '../../eth/index.ts'
import type { Mempool } from '../pool/mempool.ts'
import type { CadenceKind } from '../sequencing/cadence.ts'
import type { Head, HeadEvent } from '../view/head.ts'
import type { ChaosProfile } from './chaosprofile.ts'
import type { PromiseControl } from './control.ts'
import { ChainClosed } from '../chainclosed.ts'
import { MiningEnded } from '../miningended.ts'
import { OutOfRange } from '../outofrange.ts'
import { PromiseError } from './promiseerror.ts'
import { seededRandom } from './random.ts'

/** Errors of moves that are not possible now, or that the end of the process ended. */
const REFUSALS = [PromiseError, OutOfRange, MiningEnded, ChainClosed]

interface ChaosDeps {
  readonly head: Head
  readonly pool: Mempool
  readonly promises: PromiseControl
  readonly cadence: () => CadenceKind
  readonly seed: string
  readonly onBug: (error: unknown) => void
}

/** Disturbs a chain at the rates of a profile, under cadences that follow the clock. With a manual clock equal seeds give equal runs. */
export class Chaos {
  readonly #profile: ChaosProfile
  readonly #deps: ChaosDeps
  readonly #random: () => number
  readonly #stops: readonly (() => void)[]
  /** True while a flashblock's faults run; those announce flashblocks themselves. */
  #isBusy = false

  constructor(profile: ChaosProfile, deps: ChaosDeps) {
    this.#profile = profile
    this.#deps = deps
    this.#random = seededRandom(`chaos ${deps.seed}`)
    this.#stops = [deps.pool.subscribe((tx) => this.#onTransaction(tx)), deps.head.subscribe((event) => this.#onHeadEvent(event))]
    this.#setJitter()
  }

  stop(): void {
    for (const stop of this.#stops) stop()
  }

  get #isActive(): boolean {
    const kind = this.#deps.cadence()
    return kind === 'preconf' || kind === 'native'
  }

  #setJitter(): void {
    this.#start([() => this.#deps.promises.setPace({ jitter: this.#profile.jitter })])
  }

  #onTransaction({ hash }: Transaction): void {
    if (!this.#isActive) return
    const { delay, delayFlashblocks, drop } = this.#profile
    const { promises } = this.#deps
    if (this.#happens(drop)) this.#start([() => promises.drop(hash)])
    else if (this.#happens(delay)) this.#start([() => promises.delay({ hash }, { flashblocks: this.#upTo(delayFlashblocks) })])
  }

  #onHeadEvent(event: HeadEvent): void {
    // Those end the faults of the schedule.
    if (event.kind === 'rewind' && (event.cause === 'reset' || event.cause === 'restart')) this.#setJitter()
    if (event.kind !== 'block' || this.#isBusy || !this.#isActive) return
    const moves = event.sealed ? this.#movesOfBlock() : event.isPromise ? this.#movesOfFlashblock(event.view.flashblockIndex) : []
    if (moves.length === 0) return
    this.#isBusy = true
    this.#start(moves, () => (this.#isBusy = false))
  }

  #movesOfBlock(): (() => Promise<unknown>)[] {
    const { failOver, failOverBlocks, lateSeal, lateSealMs } = this.#profile
    const { promises, cadence } = this.#deps
    const moves: (() => Promise<unknown>)[] = []
    if (this.#happens(failOver)) moves.push(() => promises.failOver(this.#upTo(failOverBlocks)))
    if (this.#happens(lateSeal) && cadence() === 'preconf') moves.push(() => promises.delaySeal(this.#upTo(lateSealMs)))
    if (cadence() === 'native') moves.push(...this.#stalls())
    return moves
  }

  #movesOfFlashblock(index: number): (() => Promise<unknown>)[] {
    if (index === 0) return []
    const { retract, retractAll, reorder, missFlashblock } = this.#profile
    const { promises } = this.#deps
    const moves: (() => Promise<unknown>)[] = []
    if (this.#happens(retract)) moves.push(() => this.#retractOne())
    if (this.#happens(retractAll)) moves.push(() => promises.retract('all'))
    if (this.#happens(reorder)) moves.push(() => this.#reorder())
    if (this.#happens(missFlashblock)) moves.push(() => promises.missFlashblocks(1))
    moves.push(...this.#stalls())
    return moves
  }

  #stalls(): (() => Promise<unknown>)[] {
    const { stall, stallMs } = this.#profile
    return this.#happens(stall) ? [() => this.#deps.promises.stall(this.#upTo(stallMs))] : []
  }

  async #retractOne(): Promise<void> {
    const promised = this.#promised()
    const chosen = promised[this.#upTo(promised.length) - 1]
    if (chosen !== undefined) await this.#deps.promises.retract({ hash: chosen.hash })
  }

  /** Draws an order in which the nonces of each sender ascend. */
  async #reorder(): Promise<void> {
    const left = [...this.#promised()]
    const order: Hash[] = []
    while (left.length > 0) {
      const { from } = left[this.#upTo(left.length) - 1]!
      const [next] = left.splice(
        left.findIndex((tx) => tx.from === from),
        1,
      )
      order.push(next!.hash)
    }
    if (order.length > 1) await this.#deps.promises.reorder(order)
  }

  #promised(): readonly Transaction[] {
    return this.#deps.head.view.pending?.transactions.filter(({ deposit }) => deposit === null) ?? []
  }

  #happens(rate: number): boolean {
    return rate > 0 && this.#random() < rate
  }

  /** A whole number from 1. */
  #upTo(max: number): number {
    return 1 + Math.floor(this.#random() * max)
  }

  /** Moves that are no longer possible when their turn comes are left out. */
  #start(moves: readonly (() => Promise<unknown>)[], onEnd: () => void = () => undefined): void {
    const run = async (): Promise<void> => {
      for (const move of moves) {
        try {
          await move()
        } catch (error) {
          if (!REFUSALS.some((refusal) => error instanceof refusal)) this.#deps.onBug(error)
        }
      }
      onEnd()
    }
    void run()
  }
}
