// Functions and globals for the host.

export { callFromCompiled, createFromCompiled, execute, executeCall, refuelOrHalt } from './interpreter'
export { delegateOf } from './calls'
export { keccak256 } from './keccak'
export {
  depth, frame, fuel, gasLeft, frameStatus, memoryBase, memorySize, resizeMemory, resizeMemoryFixed, returnSize, self, setFuel,
  setReturnSize,
} from './machine'
export { bail, currentMessage, setTier } from './tier1'
// Functions for compiled code.
export {
  opBalance, opBlobHash, opBlockHash, opCallDataCopy, opCallDataLoad, opCodeCopy, opExp, opExtCodeCopy, opExtCodeHash, opExtCodeSize,
  opKeccak, opLog, opMcopy, opReturn, opReturnDataCopy, opSload, opSstore, opTload, opTstore, pushAddress, pushSelf, pushSelfBalance,
} from './opcodes'
export { add, addmod, byteAt, clz, div, exp, mod, mul, mulmod, sar, sdiv, shl, shr, signextend, smod } from './word'
export {
  account, accountsUsed, markJumpDestinations, beginTransaction, cachedAccount, cachedSlot, checkpoint, clearTrapReason, codeByHash, codeOf,
  currentEpoch, dirtyAccounts, dirtySlots, ensureExists, trapReason, clearState, clearCodes, isNearlyFull, areCodesNearlyFull, logCount,
  logTop, allocateCode, originalValue, findCodeRecord, refund, releaseState, remove, removeTouchedEmpty, revertTo, setCode, setLogs,
  setRefund, setSeed, setSlot, markClean, slot, invalidateAccount, invalidateSlot, touch, touchedEnd, warmAccount, warmSlot,
} from './state'
