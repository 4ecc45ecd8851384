export { BadFrame, compress, decodeFrame, plainFrame } from './frame.ts'
export type { Encoding, Frame } from './frame.ts'
export { Publisher } from './publisher.ts'
export type { Subscriber } from './publisher.ts'
