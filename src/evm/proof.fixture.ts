/** What the proofs in test/ run against and the room's door keeps to itself: the port of an engine, and the engine. */
export type { Frame, FrameResult, RunFrame } from './frame.ts'
export { runFrame } from './engine.ts'
