import type { Block, Hash } from '../../eth/index.ts'
import type { WriteSet } from '../../evm/index.ts'
import type { BlockStore, PersistedState } from '../view/blockstore.ts'
import { genesisBlock } from './genesis.ts'
import type { Genesis } from './genesis.ts'
import { InconsistentWrites, StateHistory } from '../state/history.ts'

/** The first block, and the state to continue from: that of the store's newest block, or of the first one for an empty store. */
export interface OpenedChain {
  readonly genesis: Block
  readonly history: StateHistory
  /** versions after the newest blocks, the newest one's last; absent: that of the newest block only */
  readonly versions?: readonly number[]
}

/** The state after the store's newest block, if the store was filled from a state file and persists none: alone, or with those of blocks before it. */
export type LoadedHistory = WriteSet | Pick<OpenedChain, 'history' | 'versions'>

/**
 * Loads the state to continue from. With `loaded` the store's first block is taken as the genesis. `fork` is the start of a forked chain, over an empty store. Throws GenesisMismatch or StateRootMismatch.
 */
export function openChain(
  genesis: Genesis,
  store: BlockStore,
  loaded: LoadedHistory | null = null,
  fork: OpenedChain | null = null,
): OpenedChain {
  if (fork !== null) return fork
  const imported = loaded === null ? null : store.byNumber(store.firstBlock)
  if (loaded !== null && imported !== null)
    return { genesis: imported, ...('history' in loaded ? loaded : { history: new StateHistory(loaded) }) }
  const genesisHistory = new StateHistory(genesis.state)
  const block = genesisBlock(genesis, genesisHistory)
  if (store.height < store.firstBlock) return { genesis: block, history: genesisHistory }
  const stored = store.hashOf(store.firstBlock)
  if (stored !== block.hash) throw new GenesisMismatch(block.hash, stored)
  return { genesis: block, history: openPersistedState(store) }
}

function openPersistedState({ persistedState, height }: BlockStore): StateHistory {
  if (persistedState === null) throw new Error(`the store holds ${height + 1} blocks and no state: a chain cannot continue from it`)
  const history = loadHistory(persistedState, height)
  const computed = history.stateRoot()
  if (computed !== persistedState.stateRoot) throw new StateRootMismatch(height, persistedState.stateRoot, computed)
  return history
}

function loadHistory(kept: PersistedState, height: number): StateHistory {
  try {
    return StateHistory.fromChunks(kept.dump())
  } catch (error) {
    if (error instanceof InconsistentWrites) throw new StateRootMismatch(height, kept.stateRoot, null)
    throw error
  }
}

/** The store holds a chain of another genesis. */
export class GenesisMismatch extends Error {
  override readonly name = 'GenesisMismatch'

  constructor(expected: Hash, stored: Hash | null) {
    super(`the store holds a chain of another genesis: its block 0 is ${stored ?? 'missing'}, that of this chain would be ${expected}`)
  }
}

/** The persisted state does not have the stored root: bytes were lost or changed. */
export class StateRootMismatch extends Error {
  override readonly name = 'StateRootMismatch'
  readonly stored: Hash
  /** `null` if the state is inconsistent and has no root. */
  readonly computed: Hash | null

  constructor(blockNumber: number, stored: Hash, computed: Hash | null) {
    super(
      `the state kept after block ${blockNumber} is damaged: its root should be ${stored}, and is ${computed ?? 'none, for it contradicts itself'}`,
    )
    this.stored = stored
    this.computed = computed
  }
}
