import { STATE_HISTORY_MEMORY_BLOCKS } from '../compat.ts'
import type { Address, Block, Transaction } from '../eth/index.ts'
import type { ChainConfig } from '../evm/index.ts'
import { Admission } from './pool/admission.ts'
import type { FeeParameters } from './sequencing/basefee.ts'
import type { BlockStore } from './view/blockstore.ts'
import type { Cadence } from './sequencing/cadence.ts'
import { openChain } from './genesis/openchain.ts'
import type { LoadedHistory, OpenedChain } from './genesis/openchain.ts'
import type { Genesis } from './genesis/genesis.ts'
import { Head } from './view/head.ts'
import type { CommitPort } from './view/head.ts'
import { NextBlocks } from './sequencing/nextblocks.ts'
import { PoolBlocks } from './sequencing/poolblocks.ts'
import type { View } from './view/view.ts'
import { ViewFactory } from './view/viewfactory.ts'
import { initialOverrides } from './sequencing/testoverrides.ts'
import type { TestOverrides } from './sequencing/testoverrides.ts'
import { SimulatedL1 } from './l1.ts'
import type { L1Options, L1Start } from './l1.ts'
import type { Mempool } from './pool/mempool.ts'
import { Rewinder } from './sequencing/rewinder.ts'
import { SealedChain } from './view/sealedchain.ts'
import { Sequencer } from './sequencing/sequencer.ts'
import { Snapshots } from './sequencing/snapshots.ts'
import type { ExecutionNotes } from './sequencing/executionnotes.ts'
import type { ChainTime } from './sequencing/chaintime.ts'
import { Warmup } from './sequencing/warmup.ts'
import type { Mutex } from './mutex.ts'

/** The first block of a chain, its rules, and where the blocks after it are stored. */
export interface ChainStart {
  readonly genesis: Genesis
  readonly store: BlockStore
  /**
   * State after the store's newest block. Set when the store was filled from a state file and persists no state; older state is
   * unavailable.
   */
  readonly headState?: LoadedHistory | null
  /** Start of a forked chain: the fork block, and a history over its state. `genesis` then gives the rules. */
  readonly fork?: OpenedChain | null
  /** The time starts at the timestamp of the newest block, in place of the clock's. False unless set. */
  readonly startsAtHeadTime?: boolean
  readonly l1: L1Options
  /** Block 0 at the time of the first L2 block unless set. */
  readonly l1Start?: L1Start
  /** EIP-1559 parameters written into the extra data of locally built blocks. */
  readonly feeParameters: FeeParameters
  /** Gas limit of locally built blocks. */
  readonly gasLimit: bigint
  readonly coinbase: Address
  /**
   * Blocks whose state stays readable. With a store that persists state: the blocks held in memory, at most STATE_HISTORY_MEMORY_BLOCKS.
   */
  readonly historyBlocks: number
}

/** The parts that a chain keeps when it restarts with another first block. */
interface PartsDeps {
  /** `null`: a new one is created. */
  readonly head: Head | null
  readonly commits: CommitPort | null
  readonly pool: Mempool
  readonly time: ChainTime
  readonly mutex: Mutex
  readonly seed: string
  readonly notes: ExecutionNotes | null
  readonly cadence: () => Cadence
  readonly isWithinSlot: () => boolean
  readonly nextViewVersion: () => number
  readonly nextSnapshotId: () => number
  /** True after Chain.endMining. */
  readonly isEnding: () => boolean
  /** Called after a fetch for which no caller waits. */
  readonly onWarm: () => void
  readonly onFetchFailure: (error: unknown, tx: Transaction) => void
  readonly onBug: (error: unknown) => void
}

/** Everything of a chain that depends on its first block. */
export interface ChainParts {
  readonly config: ChainConfig
  readonly genesis: Block
  /** True if another version of the program began the chain, with other contracts. */
  readonly hasOtherContracts: boolean
  readonly sealed: SealedChain
  readonly l1: SimulatedL1
  readonly head: Head
  readonly viewFactory: ViewFactory
  readonly snapshots: Snapshots
  readonly overrides: TestOverrides
  readonly sequencer: Sequencer
  readonly rewinder: Rewinder
  readonly admission: Admission
  /** `null` if all state is local. */
  readonly warmup: Warmup | null
}

/** Opens a chain at its first block or at the store's newest one. Throws GenesisMismatch, StateRootMismatch, and store errors. */
export function openParts(start: ChainStart, deps: PartsDeps): ChainParts {
  const { pool, time, mutex, seed, onBug } = deps
  const { config } = start.genesis
  const opened = openChain(start.genesis, start.store, start.headState, start.fork)
  const { genesis, genesisState, history, versions, hasOtherContracts = false } = opened
  const historyBlocks =
    start.store.persistedState === null ? start.historyBlocks : Math.min(start.historyBlocks, STATE_HISTORY_MEMORY_BLOCKS)
  const sealed = new SealedChain(start.store, history, genesis, genesisState, historyBlocks, versions)
  const l1 = new SimulatedL1(start.l1, start.l1Start ?? { number: 0, timestamp: genesis.header.timestamp }, seed)
  const overrides = initialOverrides(start)
  const isGuessing = () => history.isGuessing
  const poolBlocks = new PoolBlocks({
    pool,
    mutex,
    time,
    cadence: deps.cadence,
    isGuessing,
    fetches: () => warmup?.ended ?? 0,
    build: () => sequencer.buildPoolBlock(),
  })
  const poolBlockOn = (view: View) => (view === head.view ? poolBlocks.on(view) : null)
  const isNative = () => deps.cadence().kind === 'native'
  const nextBlocks = new NextBlocks({ mutex, time, isNative, build: (parent) => sequencer.nextBlockAfter(parent) })
  const nextBlockAfter = (parent: Block) => nextBlocks.after(parent)
  const viewFactory = new ViewFactory({ config, sealed, l1, overrides, poolBlockOn, nextBlockAfter, nextVersion: deps.nextViewVersion })
  const head = deps.head ?? new Head(viewFactory.create(), onBug, deps.commits)
  const snapshots = new Snapshots({ sealed, pool, time, overrides, nextId: deps.nextSnapshotId })
  const sequencer = new Sequencer({
    config,
    sealed,
    snapshots,
    pool,
    l1,
    time,
    overrides,
    seed,
    isNative,
    isWithinSlot: deps.isWithinSlot,
    head,
    viewFactory,
    notes: deps.notes,
    onBug,
    warmup: () => warmup,
  })
  const { base } = history
  const blockTimeMs = () => {
    const cadence = deps.cadence()
    return 'blockTimeMs' in cadence ? cadence.blockTimeMs : 0
  }
  const warmup =
    base === null
      ? null
      : new Warmup({
          pool,
          history,
          base,
          contexts: (count) => sequencer.contextsAhead(count, blockTimeMs()),
          onWarm: deps.onWarm,
          onFailure: deps.onFetchFailure,
        })
  const rewinder = new Rewinder({
    sealed,
    sequencer,
    snapshots,
    pool,
    time,
    overrides,
    initialOverrides: initialOverrides(start),
    head,
    viewFactory,
    isEnding: deps.isEnding,
  })
  const admission = new Admission({ config, sealed, pool, time, overrides })
  return {
    config,
    genesis,
    hasOtherContracts,
    sealed,
    l1,
    head,
    viewFactory,
    snapshots,
    overrides,
    sequencer,
    rewinder,
    admission,
    warmup,
  }
}
