// What precompiles compute in wasm: a module of its own with one page of memory, for it needs no engine and no state.

export { blake2Message, blake2Rounds, blake2State } from './blake2'
export { modexpBegin, modexpContinue, modexpEnd, modexpExponent, modexpModulus, modexpPower, modexpTable } from './modexp'
