import { Header } from '../../eth/index.ts'
import type { Address, Block, Hash } from '../../eth/index.ts'
import { NO_WRITES } from '../../evm/index.ts'
import type { WriteSet } from '../../evm/index.ts'
import type { BlockStore, PersistedState } from '../view/blockstore.ts'
import { genesisBlock } from './genesis.ts'
import type { Genesis } from './genesis.ts'
import { InconsistentWrites, StateHistory } from '../state/history.ts'

/** The first block, and the state to continue from: that of the store's newest block, or of the first one for an empty store. */
export interface OpenedChain {
  readonly genesis: Block
  /** The state of the first block, on a fork what it adds to that of the fork block; `null` if it is pruned and this program's genesis has another one. */
  readonly genesisState: WriteSet | null
  readonly history: StateHistory
  /** versions after the newest blocks, the newest one's last; absent: that of the newest block only */
  readonly versions?: readonly number[]
  /** True if another version of the program began the chain, with other contracts. */
  readonly hasOtherContracts?: boolean
}

/** The state after the store's newest block, if the store was filled from a state file and persists no state: only that state, or also the states of earlier blocks. */
export type LoadedHistory = WriteSet | Pick<OpenedChain, 'history' | 'versions'>

/**
 * Loads the state to continue from. With `loaded` the store's first block is taken as the genesis. `fork` is the start of a forked chain, over an empty store.
 * A chain that another version of the program began keeps its contracts. Throws GenesisMismatch or StateRootMismatch.
 */
export function openChain(
  genesis: Genesis,
  store: BlockStore,
  loaded: LoadedHistory | null = null,
  fork: OpenedChain | null = null,
): OpenedChain {
  if (fork !== null) return fork
  const imported = loaded === null ? null : store.byNumber(store.firstBlock)
  if (loaded !== null && imported !== null) {
    const history = 'history' in loaded ? loaded : { history: new StateHistory(loaded) }
    return { genesis: imported, genesisState: genesis.state, ...history }
  }
  const genesisHistory = new StateHistory(genesis.state)
  const block = genesisBlock(genesis, genesisHistory)
  if (store.height < store.firstBlock) return { genesis: block, genesisState: genesis.state, history: genesisHistory }
  const stored = store.hashOf(store.firstBlock)
  if (stored === block.hash) return { genesis: block, genesisState: genesis.state, history: openPersistedState(store) }
  const { mayLack = [], ...others } = genesis
  if (mayLack.length > 0) {
    const earlier = openEarlierForm({ ...others, state: without(genesis.state, mayLack) }, store)
    if (earlier !== null) return earlier
  }
  const other = genesis.contractsMayDiffer === true ? startOfAnotherVersion(block, genesis.state, store) : null
  if (other === null) throw new GenesisMismatch(block.hash, stored)
  return { ...other, history: openPersistedState(store), hasOtherContracts: true }
}

/** Returns null if the store holds a chain of neither this genesis nor this one with other contracts. */
function openEarlierForm(genesis: Genesis, store: BlockStore): OpenedChain | null {
  try {
    return openChain(genesis, store)
  } catch (error) {
    if (error instanceof GenesisMismatch) return null
    throw error
  }
}

function without(state: WriteSet, addresses: readonly Address[]): WriteSet {
  const accounts = new Map(state.accounts)
  for (const address of addresses) accounts.delete(address)
  return { ...state, accounts }
}

/** Returns the stored start of the chain if it differs from the default genesis in contracts only, else null. */
function startOfAnotherVersion(block: Block, state: WriteSet, store: BlockStore): Pick<OpenedChain, 'genesis' | 'genesisState'> | null {
  const genesis = store.byNumber(0)
  if (genesis === null || store.persistedState === null) return null
  const { stateRoot } = block.header
  if (Header.hash({ ...genesis.header, stateRoot }) !== block.hash) return null
  const genesisState = firstState(store.persistedState, genesis.header.stateRoot)
  // Other options fund other accounts. Contracts of the genesis have no ether, except for the deposits in EntryPoints.
  return genesisState === null || haveSameBalances(genesisState, state) ? { genesis, genesisState } : null
}

/** Returns the state of block 0; null if it is pruned, or if dev methods edited it before block 1: the store keeps only the edited one. */
function firstState(persistedState: PersistedState, stateRoot: Hash): WriteSet | null {
  if (persistedState.oldestBlock > 0) return null
  const history = StateHistory.fromChunks(persistedState.dump())
  const version = history.apply(persistedState.writesToRevertTo(0))
  if (history.stateRoot() !== stateRoot) return null
  const [whole = NO_WRITES] = history.dump(version, Number.POSITIVE_INFINITY)
  return whole
}

function haveSameBalances(one: WriteSet, other: WriteSet): boolean {
  const [ones, others] = [balancesOf(one), balancesOf(other)]
  return ones.size === others.size && [...ones].every(([address, balance]) => others.get(address) === balance)
}

function balancesOf({ accounts }: WriteSet): ReadonlyMap<Address, bigint> {
  const funded = new Map<Address, bigint>()
  for (const [address, account] of accounts) if (account !== null && account.balance > 0n) funded.set(address, account.balance)
  return funded
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
