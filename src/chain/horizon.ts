import type { Block } from '../eth/index.ts'
import type { ChainConfig } from '../evm/index.ts'
import { FINALIZED_EPOCHS, SAFE_EPOCHS } from '../compat.ts'
import type { Knobs } from './knobs.ts'
import type { SimulatedL1 } from './l1.ts'
import type { SealedChain } from './sealed.ts'
import { View } from './view.ts'

export interface HorizonParts {
  readonly config: ChainConfig
  readonly sealed: SealedChain
  readonly l1: SimulatedL1
  readonly knobs: Knobs
}

/** Makes the Views: what can be seen of the chain as it stands, and how much of that counts as safe and as finalized. */
export class Horizon {
  readonly #parts: HorizonParts
  #version = 0
  #importedNumber = 0
  /** what `#behind` answered last, by epochs: the next answer is near */
  readonly #last = new Map<number, number>()

  constructor(parts: HorizonParts) {
    this.#parts = parts
  }

  /** Of this moment, for the event that the chain has come to. `pending` is the open block, if any of it is published. */
  view(pending: Block | null = null, flashblockIndex = -1): View {
    const { config, sealed, knobs } = this.#parts
    const { history, head, headVersion, store, rewinds, retractions } = sealed
    const { identity } = history.at(headVersion)
    // Whoever goes back asks for a View: what is built anew up there is ours, and no more final than any of our blocks.
    this.#importedNumber = Math.min(this.#importedNumber, head.header.number)
    return new View({
      version: ++this.#version,
      config,
      head,
      pending,
      flashblockIndex,
      safeNumber: this.#behind(SAFE_EPOCHS),
      finalizedNumber: this.#behind(FINALIZED_EPOCHS),
      blocks: store,
      kept: store.kept,
      blockHash: sealed.blockHash,
      history,
      headVersion,
      pendingVersion: history.version,
      nextBaseFee: knobs.nextBaseFee,
      versionAfter: (number) => sealed.versionAfter(number),
      isRewound: () => sealed.rewinds !== rewinds,
      isHeadKept: () => history.isStill(headVersion, identity),
      isHeadEdited: sealed.watchEdits(),
      isCut: sealed.watchCuts(),
      isRetracted: () => sealed.retractions !== retractions,
    })
  }

  /** Block `number` is somebody else's: it and all before it are safe and final as long as they are here. */
  imported(number: number): void {
    this.#importedNumber = Math.max(this.#importedNumber, number)
  }

  /** The newest block whose L1 origin is `epochs` older than the head's; what was imported is final. */
  #behind(epochs: number): number {
    const { sealed, l1 } = this.#parts
    const limit = l1.epochStart(l1.epoch(sealed.head.header.timestamp) - epochs + 1)
    const head = sealed.head.header.number
    const isBehind = (number: number) => (sealed.timestampOf(number) ?? Number.POSITIVE_INFINITY) < limit
    let number = Math.min(this.#last.get(epochs) ?? head, head)
    while (number < head && isBehind(number + 1)) number++
    while (number > this.#importedNumber && !isBehind(number)) number--
    number = Math.max(number, this.#importedNumber)
    this.#last.set(epochs, number)
    return number
  }
}
