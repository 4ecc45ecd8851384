// What the host may call.

export { answer, callOut, createOut, execute, goOn } from './interpreter'
export { delegateOf, returned } from './calls'
export { keccak256 } from './keccak'
export { depth, frame, fuel, gasLeft, halted, memoryBase, memorySize, range, rangeOf, returnSize, self, setFuel } from './machine'
export { bail, currentMessage, setTier } from './hot'
// for compiled code
export {
  opBalance, opBlobHash, opBlockHash, opCallDataCopy, opCallDataLoad, opCodeCopy, opExp, opExtCodeCopy, opExtCodeHash, opExtCodeSize, opKeccak, opLog,
  opMcopy, opReturn, opReturnDataCopy, opSload, opSstore, opTload, opTstore, pushAddress, pushSelf, pushSelfBalance,
} from './opcodes'
export { add, addmod, byteAt, clz, div, exp, mod, mul, mulmod, sar, sdiv, shl, shr, signextend, smod } from './word'
export {
  account, accountsUsed, analyse, beginTransaction, cachedAccount, cachedSlot, checkpoint, clearExhausted, codeByHash, codeOf, currentEpoch,
  dirtyAccounts, dirtySlots, ensure, exhausted, forget, forgetCodes, isCrowded, isFullOfCodes, logCount, logTop, newCode, original, recordOf, refund,
  release, remove, removeTouchedEmpty, revertTo, setCode, setLogs, setRefund, setSeed, setSlot, settled, slot, staleAccount, staleSlot, touch,
  touchedEnd, warmAccount, warmSlot,
} from './state'
