export { NONCE_MAX, NO_WRITES } from './state.ts'
export type { Account, StateKey, StateReader, WriteSet } from './state.ts'
export { isEmpty, sameAccount, World } from './world.ts'
export type { BlockContext, BlockEnv, ExecuteOptions, Executed, OnCallResult, Message, Outcome, CallMessage } from './message.ts'
export { impliedL1Fork, requireSupported, rulesAt, UnsupportedFork } from './forks.ts'
export { L1_FORKS, OP_FORKS } from './forks.ts'
export type { Activation, BlobParameters, ChainConfig, L1Fork, OpActivation, OpFork, Rules } from './forks.ts'
export type { ConsoleCalls } from './console.ts'
export { executeTransaction } from './execute.ts'
export { executeCall } from './call.ts'
export { blobProblem, isTypeSupported } from './validate.ts'
export { InvalidTransaction } from './invalidtransaction.ts'
export type { InvalidTransactionCode } from './invalidtransaction.ts'
export { beginBlock, endBlock } from './system.ts'
export { BEACON_ROOTS, CONSOLIDATION_QUEUE, HISTORY_STORAGE, SYSTEM_ACCOUNTS, WITHDRAWAL_QUEUE } from './system.ts'
export type { EndBlockInput } from './system.ts'
export { floorGas, GAS_PER_BLOB, intrinsicGas } from './gas.ts'
export { blobBaseFee, effectiveGasPrice, nextExcessBlobGas } from './fees.ts'
export type { BlobFeeParent } from './fees.ts'
export {
  BASE_FEE_VAULT,
  daFootprint,
  daFootprintGasScalar,
  L1_BLOCK,
  L1_FEE_VAULT,
  l1Cost,
  L2_TO_L1_MESSAGE_PASSER,
  operatorFee,
  OPERATOR_FEE_VAULT,
} from './rollup.ts'
export { fastLzSize } from './fastlz.ts'
export { verifyBlobs } from './blobs/index.ts'
export { activePrecompiles } from './precompiles/addresses.ts'
export { Deadline, OutOfTime } from './deadline.ts'
export { StateOverlay, TrackedOverlay } from './overlay.ts'
export { errorText, revertReason } from './revertreason.ts'
export { EngineOutOfMemory } from './engine.ts'
export { configureTier1, resetTier1, tier1, tier1ModeOf } from './jit/index.ts'
export type { Tier1Mode, Tier1Settings } from './jit/index.ts'
export {
  callTrace,
  erc7562Trace,
  flatCallTrace,
  muxTrace,
  noopTrace,
  prestateTrace,
  stateDiffTrace,
  selectorTrace,
  structLogTrace,
  TraceBudget,
  TraceTooLarge,
} from './trace/index.ts'
export type { Trace, StateDiff, TraceFactory, TraceLocation, TraceContext, Tracer } from './trace/index.ts'
export { canReadCurves, loadPrecompiles, PrecompileNotLoaded } from './precompiles/table.ts'
