/** Internals that the tests in test/ run against. */
export type { Frame, FrameResult } from './frame.ts'
export { runFrame } from './engine.ts'
