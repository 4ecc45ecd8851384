export { BadFrame, compress, decodeFrame, decodeMessage, plainFrame } from './frame.ts'
export type { Encoding, Frame, StreamMessage } from './frame.ts'
export { Publisher } from './publisher.ts'
export type { Subscriber } from './publisher.ts'
