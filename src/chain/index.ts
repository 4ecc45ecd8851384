export { decodeExtraData, nextBaseFee } from './basefee.ts'
export type { FeeParameters } from './basefee.ts'
export type { BlockStore, Location, LogFilter, PlacedLog } from './blocks.ts'
export { BlockBuilder, BlockFull } from './builder.ts'
export type { BlockAttributes, BuilderState } from './builder.ts'
export { CADENCES } from './cadence.ts'
export type { Cadence, CadenceKind } from './cadence.ts'
export { Chain } from './chain.ts'
export type { ChainOptions } from './chain.ts'
export { ManualClock, RealClock } from './clock.ts'
export type { Clock } from './clock.ts'
export {
  DEFAULT_CODE_SIZE_LIMIT,
  DEFAULT_FEE_PARAMETERS,
  DEFAULT_HARDFORK,
  DEFAULT_TRANSACTION_GAS_CAP,
  SEQUENCER_FEE_VAULT,
  defaultGenesis,
  opConfig,
} from './defaultgenesis.ts'
export type { DefaultGenesisOptions } from './defaultgenesis.ts'
export { environment } from './environment.ts'
export type { Genesis } from './genesis.ts'
export { GenesisError, parseGenesis } from './gethgenesis.ts'
export { Head } from './head.ts'
export type { EditEvent, FlashblockEvent, HeadEvent, HeadListener, RewindEvent, SealedEvent } from './head.ts'
export { ImportError, importChain } from './import.ts'
export { DEFAULT_L1 } from './l1.ts'
export type { L1Options, L1Origin, SimulatedL1 } from './l1.ts'
export { logsOfBlock, matches } from './logs.ts'
export { MINE_BLOCKS, TRANSACTION_BYTES } from './limits.ts'
export { PoolError } from './mempool.ts'
export type { Mempool, PoolErrorCode } from './mempool.ts'
export type { AccountProof, StorageProof } from './proof.ts'
export type { PoolOrder } from './selection.ts'
export { PrunedState, RewoundState, StateHistory } from './state.ts'
export { Trie } from './trie.ts'
export { isImpersonated } from './validation.ts'
export { View } from './view.ts'
export type { BlockTag } from './view.ts'
