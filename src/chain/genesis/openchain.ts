import type { Block, Hash } from '../../eth/index.ts'
import type { WriteSet } from '../../evm/index.ts'
import type { BlockStore, KeptState } from '../view/blockstore.ts'
import { genesisBlock } from './genesis.ts'
import type { Genesis } from './genesis.ts'
import { InconsistentWrites, StateHistory } from '../state/history.ts'

/** Block 0, and the state that the chain goes on from: that of the store's newest block, or the genesis when the store is empty. */
export interface Foundation {
  readonly genesis: Block
  readonly history: StateHistory
}

/**
 * `headState`: that of the store's newest block, when the store came from elsewhere and keeps none; then its block 0 is taken as it is. Throws
 * OtherGenesis or StateRootMismatch for a store that this chain cannot go on from.
 */
export function foundationOf(genesis: Genesis, store: BlockStore, headState: WriteSet | null = null): Foundation {
  const given = headState === null ? null : store.byNumber(0)
  if (headState !== null && given !== null) return { genesis: given, history: new StateHistory(headState) }
  const beginning = new StateHistory(genesis.state)
  const block = genesisBlock(genesis, beginning)
  if (store.height < 0) return { genesis: block, history: beginning }
  const stored = store.hashOf(0)
  if (stored !== block.hash) throw new OtherGenesis(block.hash, stored)
  return { genesis: block, history: keptState(store) }
}

function keptState({ kept, height }: BlockStore): StateHistory {
  if (kept === null) throw new Error(`the store holds ${height + 1} blocks and no state: a chain cannot go on from it`)
  const history = historyOf(kept, height)
  const computed = history.stateRoot()
  if (computed !== kept.stateRoot) throw new StateRootMismatch(height, kept.stateRoot, computed)
  return history
}

function historyOf(kept: KeptState, height: number): StateHistory {
  try {
    return StateHistory.of(kept.whole())
  } catch (error) {
    if (error instanceof InconsistentWrites) throw new StateRootMismatch(height, kept.stateRoot, null)
    throw error
  }
}

/** The store belongs to a chain of another genesis. */
export class OtherGenesis extends Error {
  override readonly name = 'OtherGenesis'

  constructor(wanted: Hash, stored: Hash | null) {
    super(`the store holds a chain of another genesis: its block 0 is ${stored ?? 'missing'}, that of this chain would be ${wanted}`)
  }
}

/** The state that was kept is not the one that its root was written for: bytes were lost or changed. */
export class StateRootMismatch extends Error {
  override readonly name = 'StateRootMismatch'
  readonly stored: Hash
  /** null: it makes no sense at all */
  readonly computed: Hash | null

  constructor(blockNumber: number, stored: Hash, computed: Hash | null) {
    super(
      `the state kept after block ${blockNumber} is damaged: its root should be ${stored}, and is ${computed ?? 'none, for it contradicts itself'}`,
    )
    this.stored = stored
    this.computed = computed
  }
}
