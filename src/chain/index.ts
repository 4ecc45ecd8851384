export { Chain } from './chain.ts'
export type { ChainOptions, OpenBlockRecovery } from './chain.ts'
export type { ChainStart } from './chainparts.ts'
export { ChainClosed } from './chainclosed.ts'
export { MiningEnded } from './miningended.ts'
export { OutOfRange } from './outofrange.ts'
export { TimeSlice } from './timeslice.ts'
export type { BlockTag } from '../eth/index.ts'
export {
  DELAY_FLASHBLOCKS,
  DELAY_MS,
  FETCH_ROUNDS,
  LATEST_SECONDS,
  MAX_BLOCK_TIME_MS,
  MAX_FIRST_BLOCK,
  MAX_FLASHBLOCK_MS,
  MAX_SPEED,
  MINE_BLOCKS,
  MIN_FLASHBLOCK_MS,
  MIN_SPEED,
  STALL_MS,
  POOL_BYTES,
  TRANSACTION_BYTES,
} from './limits.ts'

export { MissingState } from './state/basestate.ts'
export type { AccessListCall, BaseState, ForkOrigin, MissingKey } from './state/basestate.ts'
export { UpstreamError } from './state/upstreamerror.ts'
export type { UpstreamReason } from './state/upstreamerror.ts'
export { InconsistentWrites, NoProofs, PrunedState, RewoundState, StateHistory } from './state/history.ts'
export type { AccountProof, StorageProof } from './state/proof.ts'
export { mergeWrites } from './state/writesetbuilder.ts'
export { Trie } from './state/trie.ts'

export type { PoolOrder } from './pool/besttransactions.ts'
export { NonceTooLow, PoolError } from './pool/mempool.ts'
export type { Mempool, PoolErrorCode } from './pool/mempool.ts'
export { isImpersonated } from './pool/validation.ts'

export { Chaos } from './promises/chaos.ts'
export { CHAOS_PROFILES, NO_CHAOS } from './promises/chaosprofile.ts'
export type { ChaosName, ChaosProfile } from './promises/chaosprofile.ts'
export type { Delay, Place, PromiseChange, PromiseControl, RetractTarget } from './promises/control.ts'
export type { TransactionFilter } from './promises/holds.ts'
export type { Histogram } from './promises/histogram.ts'
export type { PromiseLedger, PromisePage, PromiseQuery } from './promises/ledger.ts'
export type { LedgerStorage } from './promises/ledgerrecords.ts'
export type { PromiseCause, PromiseOutcome, PromiseRecord, SettledRecord } from './promises/promiserecord.ts'
export { PromiseError } from './promises/promiseerror.ts'

export { ExecutionNotes } from './sequencing/executionnotes.ts'
export type { ExecutionNote } from './sequencing/executionnotes.ts'
export { decodeExtraData, nextBaseFee, nextBlobBaseFee } from './sequencing/basefee.ts'
export type { FeeParameters } from './sequencing/basefee.ts'
export { BlockBuilder, BlockFull } from './sequencing/builder.ts'
export type { DetachedBlock } from './sequencing/sequencer.ts'
export type { BlockAttributes, BuilderState } from './sequencing/builder.ts'
export { CADENCES, cadenceProblem } from './sequencing/cadence.ts'
export type { Cadence, CadenceKind } from './sequencing/cadence.ts'
export { ManualClock, RealClock } from './sequencing/clock.ts'
export type { Clock } from './sequencing/clock.ts'
export { toBlockEnv } from './view/environment.ts'
export { DEFAULT_L1 } from './l1.ts'
export type { L1Options, L1Origin, L1Start, SimulatedL1 } from './l1.ts'
export { decodeL1Attributes } from './sequencing/deposits.ts'
export type { L1Attributes } from './sequencing/deposits.ts'
export { openFork } from './genesis/forkgenesis.ts'
export type { ForkGenesisOptions } from './genesis/forkgenesis.ts'
export { CorruptOpenBlockRecord } from './sequencing/openblockrecord.ts'

export type {
  BlockReader,
  BlockStore,
  GasPayment,
  LocatedLog,
  LocatedTransaction,
  LogFilter,
  PersistedState,
  TransactionLocation,
} from './view/blockstore.ts'
export { Head } from './view/head.ts'
export type { CommitPort, EditEvent, FlashblockEvent, HeadEvent, HeadListener, RewindCause, RewindEvent, SealedEvent } from './view/head.ts'
export { logsOfBlock, matchesFilter } from './view/logs.ts'
export { StateNotInMemory, View } from './view/view.ts'

export { DEFAULT_FEE_PARAMETERS, DEFAULT_HARDFORK, configOf, defaultGenesis, SEQUENCER_FEE_VAULT } from './genesis/defaultgenesis.ts'
export type { DefaultContract } from './genesis/defaultcontract.ts'
export type { DefaultGenesisOptions, GenesisCall } from './genesis/defaultgenesis.ts'
export { smartAccountContracts } from './genesis/smartaccounts.ts'
export { DEFAULT_CODE_SIZE_LIMIT, DEFAULT_TRANSACTION_GAS_CAP, genesisBlock } from './genesis/genesis.ts'
export type { Genesis } from './genesis/genesis.ts'
export { GenesisError, parseGenesis } from './genesis/gethgenesis.ts'
export { GenesisMismatch, StateRootMismatch } from './genesis/openchain.ts'
export type { LoadedHistory, OpenedChain } from './genesis/openchain.ts'

export { ChangeGap, ChangeRecorder } from './replica/follower.ts'
export type { ChainChange, FlashblockChange } from './replica/follower.ts'
export { importChain, ImportError, replayBlock } from './replica/import.ts'
export { toPartialView } from './replica/partialview.ts'
export type { PartialView, ViewScope } from './replica/partialview.ts'
export { Replica } from './replica/replica.ts'
export { baseValues, replicaOrigin } from './replica/replicabase.ts'
export type { BaseValue, ReplicaOrigin } from './replica/replicabase.ts'
export { StateSync } from './replica/statesync.ts'
export type { StateSyncStep } from './replica/statesync.ts'
export type { SealedChain } from './view/sealedchain.ts'
