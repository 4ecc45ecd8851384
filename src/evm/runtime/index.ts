// What the host may call.

export { execute } from './interpreter'
export { delegateOf, returned } from './calls'
export { keccak256 } from './keccak'
export { depth, frame, gasLeft, memoryBase, memorySize, returnSize, setFuel } from './machine'
export {
  account, accountsUsed, analyse, beginTransaction, cachedAccount, cachedSlot, checkpoint, clearExhausted, codeByHash, codeBytesUsed, codeOf, codesUsed, currentEpoch,
  dirtyAccounts, dirtySlots, ensure, exhausted, forget, forgetCodes, logCount, newCode, original, recordOf, refund, remove, removeTouchedEmpty, revertTo, serialsUsed, setCode,
  setSlot, settled, slot, slotsUsed, staleAccount, staleSlot, touch, touchedEnd, warmAccount, warmSlot,
} from './state'
