// Entry point of the tests of word.ts, keccak.ts and hex.ts (../word.test.ts). Not part of the engine.
export { cachedKeccak64 } from './keccakcache'
export { decodeHex, encodeHex } from './hex'
export { keccak256 } from './keccak'
export * from './word'
