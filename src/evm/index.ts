export { NONCE_MAX } from './state.ts'
export type { Account, StateKey, StateReader, WriteSet } from './state.ts'
export { isEmpty, World } from './world.ts'
export type { BlockContext, BlockEnv, ExecuteOptions, Executed, Listener, Message, Outcome, Question } from './message.ts'
export { requireSupported, rulesAt, UnsupportedFork } from './forks.ts'
export { L1_FORKS, OP_FORKS } from './forks.ts'
export type { Activation, BlobParameters, ChainConfig, L1Fork, OpActivation, OpFork, Rules } from './forks.ts'
export { executeTransaction } from './execute.ts'
export { answer } from './answer.ts'
export { knowsType } from './validate.ts'
export { InvalidTransaction } from './refusal.ts'
export type { RefusalCode } from './refusal.ts'
export { beginBlock, endBlock } from './system.ts'
export type { BlockParts } from './system.ts'
export { floorGas, GAS_PER_BLOB, intrinsicGas } from './gas.ts'
export { blobBaseFee, effectiveGasPrice, nextExcessBlobGas } from './fees.ts'
export type { BlobFeeParent } from './fees.ts'
export {
  BASE_FEE_VAULT,
  daFootprint,
  footprintScalar,
  L1_BLOCK,
  L1_FEE_VAULT,
  l1Cost,
  MESSAGE_PASSER,
  operatorFee,
  OPERATOR_FEE_VAULT,
} from './rollup.ts'
export { fastLzSize } from './fastlz.ts'
export { precompiles } from './precompiles.ts'
export { Deadline, OutOfTime } from './deadline.ts'
export { Layer } from './layer.ts'
export { revertReason } from './revertreason.ts'
export { EngineFull } from './engine.ts'
export { configureTier1, tier1 } from './jit/index.ts'
export type { Tier1Mode, Tier1Settings } from './jit/index.ts'
export {
  callTrace,
  erc7562Trace,
  flatCallTrace,
  muxTrace,
  noopTrace,
  prestateTrace,
  selectorTrace,
  structLogTrace,
  TraceBudget,
  TraceTooLarge,
} from './trace/index.ts'
export type { Trace, TraceMaker, TracePlace, TraceStart, Tracer } from './trace/index.ts'
export { loadPrecompiles, NotLoaded } from './precompiled/table.ts'
