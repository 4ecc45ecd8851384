import type { ChainConfig } from '../../evm/index.ts'
import { forgetOldest } from './statesync.ts'
import type { FeedStep } from './statesync.ts'
import { SliceStore } from './partialview.ts'
import type { ViewSlice } from './partialview.ts'
import { StateHistory } from '../state/history.ts'
import { View } from '../view/view.ts'

/** The state in another thread: it applies the write sets of a `Feed` and executes nothing again. */
export class Replica {
  readonly #config: ChainConfig
  readonly #history = new StateHistory()
  /** the version of our own history by that of the original, oldest first */
  readonly #own = new Map<number, number>()

  constructor(config: ChainConfig) {
    this.#config = config
  }

  /** `step` is the next one of the feed. */
  take(step: FeedStep): void {
    if (step.kind === 'rewind') this.#rewind(step.version)
    else this.#apply(step)
  }

  /** The View that the slice was cut from, over our own state. What was not needed when it was cut cannot be read. */
  view(slice: ViewSlice): View {
    const { version, head, pending, flashblockIndex, safeNumber, finalizedNumber, nextBaseFee, versions, hashes } = slice
    const own = (number: number) => this.#own.get(versions.get(number) ?? UNKNOWN) ?? UNKNOWN
    return new View({
      version,
      config: this.#config,
      head,
      pending,
      flashblockIndex,
      safeNumber,
      finalizedNumber,
      nextBaseFee,
      blocks: new SliceStore(slice),
      blockHash: (number) => hashes.get(number) ?? null,
      history: this.#history,
      headVersion: own(head.header.number),
      pendingVersion: pending === null ? UNKNOWN : own(pending.header.number),
      versionAfter: own,
      isRewound: () => false,
      kept: null,
      isHeadKept: () => true,
      isHeadEdited: () => false,
      isCut: () => false,
      isRetracted: () => false,
    })
  }

  #apply({ version, writes }: Extract<FeedStep, { kind: 'writes' }>): void {
    const own = this.#history.apply(writes)
    if (version === null) return
    this.#own.set(version, own)
    forgetOldest(this.#own)
    const [oldest = own] = this.#own.values()
    this.#history.prune(oldest)
  }

  #rewind(version: number): void {
    const own = this.#own.get(version)
    if (own === undefined) throw new Error(`the feed goes back to version ${version}, which this replica does not have`)
    this.#history.rewind(own)
    for (const later of [...this.#own.keys()]) if (later > version) this.#own.delete(later)
  }
}

/** No state has this version. */
const UNKNOWN = -1
