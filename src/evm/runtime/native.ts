// Kernels of the precompiles: a separate module with one page of memory, without state.

export { blake2Message, blake2Rounds, blake2State } from './blake2'
export { modexpBegin, modexpContinue, modexpEnd, modexpExponent, modexpModulus, modexpPower, modexpTable } from './modexp'
