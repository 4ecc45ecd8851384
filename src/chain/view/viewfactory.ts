import type { Block } from '../../eth/index.ts'
import type { ChainConfig } from '../../evm/index.ts'
import { FINALIZED_EPOCHS, SAFE_EPOCHS } from '../../compat.ts'
import type { SimulatedL1 } from '../l1.ts'
import type { NextBlock } from './nextblock.ts'
import type { PoolBlock } from './poolblock.ts'
import type { SealedChain } from './sealedchain.ts'
import { View } from './view.ts'

interface ViewFactoryDeps {
  readonly config: ChainConfig
  readonly sealed: SealedChain
  readonly l1: SimulatedL1
  /** `nextBaseFee` in wei, of the next block only; it may change. */
  readonly overrides: { readonly nextBaseFee: bigint | null }
  /** The block of unpromised pool transactions on a View's head; `null` for all but the current View. */
  readonly poolBlockOn: (view: View) => PoolBlock | null
  readonly nextBlockAfter: (parent: Block) => NextBlock
  /** Version of the next View; each is above the former. */
  readonly nextVersion: () => number
}

/** Creates Views of the current chain, with its safe and finalized blocks. */
export class ViewFactory {
  readonly #deps: ViewFactoryDeps
  #importedNumber: number
  /** Last result of `#blockEpochsBehind` by epochs; the next one is near it. */
  readonly #lastResult = new Map<number, number>()

  constructor(deps: ViewFactoryDeps) {
    this.#deps = deps
    this.#importedNumber = deps.sealed.store.firstBlock
  }

  /** Returns the View for the next head event. `pending` is the published part of the open block. */
  create(pending: Block | null = null, flashblockIndex = -1): View {
    const { config, sealed, overrides, poolBlockOn, nextBlockAfter, nextVersion } = this.#deps
    const { history, head, headVersion, store, rewindCount, revertCount } = sealed
    const identity = history.identityOf(headVersion)
    // Every rewind creates a View, so this lowers the imported range: blocks rebuilt above it are not final.
    this.#importedNumber = Math.min(this.#importedNumber, head.header.number)
    return new View({
      version: nextVersion(),
      config,
      head,
      pending,
      flashblockIndex,
      safeNumber: this.#blockEpochsBehind(SAFE_EPOCHS),
      finalizedNumber: this.#blockEpochsBehind(FINALIZED_EPOCHS),
      blocks: store,
      persistedState: store.persistedState,
      blockHash: sealed.blockHash,
      history,
      headVersion,
      pendingVersion: history.version,
      nextBaseFee: overrides.nextBaseFee,
      versionAfter: (number) => sealed.versionAfter(number),
      isRewound: () => sealed.rewindCount !== rewindCount,
      isHeadVersionLive: () => history.isCurrent(headVersion, identity),
      isHeadEdited: sealed.watchEdits(),
      isTruncated: sealed.watchTruncation(),
      isRetracted: () => sealed.revertCount !== revertCount,
      poolBlockOn,
      nextBlockAfter,
    })
  }

  /** Marks block `number` and all before it as imported, and therefore safe and finalized. */
  markImported(number: number): void {
    this.#importedNumber = Math.max(this.#importedNumber, number)
  }

  /** Returns the newest block whose L1 origin is `epochs` older than the head's; at least the newest imported block. */
  #blockEpochsBehind(epochs: number): number {
    const { sealed, l1 } = this.#deps
    const limit = l1.epochStart(l1.epochAt(sealed.head.header.timestamp) - epochs + 1)
    const head = sealed.head.header.number
    const isBehind = (number: number) => (sealed.timestampOf(number) ?? Number.POSITIVE_INFINITY) < limit
    let number = Math.min(this.#lastResult.get(epochs) ?? head, head)
    while (number < head && isBehind(number + 1)) number++
    while (number > this.#importedNumber && !isBehind(number)) number--
    number = Math.max(number, this.#importedNumber)
    this.#lastResult.set(epochs, number)
    return number
  }
}
