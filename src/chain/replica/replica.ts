import type { ChainConfig } from '../../evm/index.ts'
import { forgetOldest } from './statesync.ts'
import type { StateSyncStep } from './statesync.ts'
import { PartialBlockReader } from './partialview.ts'
import type { PartialView } from './partialview.ts'
import { StateHistory } from '../state/history.ts'
import { View } from '../view/view.ts'

/** The state in another thread: applies the write sets of a StateSync and executes nothing. */
export class Replica {
  readonly #config: ChainConfig
  readonly #history = new StateHistory()
  /** Local version by version of the original, oldest first. */
  readonly #localVersions = new Map<number, number>()

  constructor(config: ChainConfig) {
    this.#config = config
  }

  /** Applies the next step. */
  apply(step: StateSyncStep): void {
    if (step.kind === 'rewind') this.#rewind(step.version)
    else this.#applyWrites(step)
  }

  /** Rebuilds the View over the local state. Parts outside the original scope cannot be read. */
  view(partial: PartialView): View {
    const { version, head, pending, flashblockIndex, safeNumber, finalizedNumber, nextBaseFee, versions, hashes } = partial
    const localVersion = (number: number) => this.#localVersions.get(versions.get(number) ?? NO_VERSION) ?? NO_VERSION
    return new View({
      version,
      config: this.#config,
      head,
      pending,
      flashblockIndex,
      safeNumber,
      finalizedNumber,
      nextBaseFee,
      blocks: new PartialBlockReader(partial),
      blockHash: (number) => hashes.get(number) ?? null,
      history: this.#history,
      headVersion: localVersion(head.header.number),
      pendingVersion: pending === null ? NO_VERSION : localVersion(pending.header.number),
      versionAfter: localVersion,
      isRewound: () => false,
      persistedState: null,
      isHeadVersionLive: () => true,
      isHeadEdited: () => false,
      isTruncated: () => false,
      isRetracted: () => false,
      poolBlockOn: () => null,
    })
  }

  #applyWrites({ version, writes }: Extract<StateSyncStep, { kind: 'writes' }>): void {
    const localVersion = this.#history.apply(writes)
    if (version === null) return
    this.#localVersions.set(version, localVersion)
    forgetOldest(this.#localVersions)
    const [oldest = localVersion] = this.#localVersions.values()
    this.#history.prune(oldest)
  }

  #rewind(version: number): void {
    const localVersion = this.#localVersions.get(version)
    if (localVersion === undefined) throw new Error(`the feed goes back to version ${version}, which this replica does not have`)
    this.#history.rewind(localVersion)
    for (const later of [...this.#localVersions.keys()]) if (later > version) this.#localVersions.delete(later)
  }
}

/** A version that no state has. */
const NO_VERSION = -1
