// What the test of word.ts and keccak.ts compiles (../word.test.ts). Not part of the engine.
export { hashOfPair } from './hashed'
export { keccak256 } from './keccak'
export * from './word'
