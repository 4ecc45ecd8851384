import { NO_WRITES } from '../../evm/index.ts'
import type { ChainConfig } from '../../evm/index.ts'
import { forgetOldest } from './statesync.ts'
import type { StateSyncStep } from './statesync.ts'
import { PartialBlockReader } from './partialview.ts'
import type { PartialView } from './partialview.ts'
import type { MissingKey } from '../state/basestate.ts'
import { StateHistory } from '../state/history.ts'
import { ReplicaBase } from './replicabase.ts'
import type { BaseValue, ReplicaOrigin } from './replicabase.ts'
import { View } from '../view/view.ts'

/** The state in another thread: applies the write sets of a StateSync and executes nothing. */
export class Replica {
  readonly #config: ChainConfig
  /** `null`: the chain is not a fork. */
  readonly #base: ReplicaBase | null
  readonly #history: StateHistory
  /** Local version by version of the original, oldest first. */
  readonly #localVersions = new Map<number, number>()

  constructor(config: ChainConfig, origin: ReplicaOrigin | null = null) {
    this.#config = config
    this.#base = origin === null ? null : new ReplicaBase(origin)
    this.#history = new StateHistory(NO_WRITES, this.#base)
  }

  /** Adds values of the fork block. */
  addBaseValues(values: readonly BaseValue[]): void {
    this.#base?.add(values)
  }

  /** Returns the keys of the fork block that `work` reads and that this replica lacks. */
  missingKeysOf(work: () => unknown): readonly MissingKey[] {
    return this.#history.missingKeysOf(work)
  }

  /** Applies the next step. */
  apply(step: StateSyncStep): void {
    if (step.kind === 'rewind') this.#rewind(step.version)
    else this.#applyWrites(step)
  }

  /** Rebuilds the View over the local state. Parts outside the original scope cannot be read. */
  view(partial: PartialView): View {
    const { version, head, pending, flashblockIndex, safeNumber, finalizedNumber, nextBaseFee, versions, hashes } = partial
    const nextBlock = { header: partial.nextHeader, writesOn: () => partial.nextWrites }
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
      blockHash: (number) => hashes.get(number) ?? this.#base?.blockHash(number) ?? null,
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
      nextBlockAfter: () => nextBlock,
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
