// Entry point of the tests of word.ts and keccak.ts (../word.test.ts). Not part of the engine.
export { cachedKeccak64 } from './keccakcache'
export { keccak256 } from './keccak'
export * from './word'
