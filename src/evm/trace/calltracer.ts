import { Hex } from '../../eth/index.ts'
import { frameHead, Frames, logJson } from './frames.ts'
import type { CallFrame, FrameOptions } from './frames.ts'
import type { Trace, TraceContext } from './trace.ts'

/** geth's callTracer: the tree of calls. */
export function callTrace(start: TraceContext, options: FrameOptions): Trace {
  const frames = new Frames<CallFrame>(start, options, (frame) => frame)
  return { tracer: frames, json: (executed) => JSON.stringify(callJson(frames.finish(executed))) }
}

function callJson(frame: CallFrame): Record<string, unknown> {
  return {
    ...frameHead(frame),
    ...(frame.calls.length === 0 ? undefined : { calls: frame.calls.map(callJson) }),
    ...(frame.logs.length === 0 ? undefined : { logs: frame.logs.map(logJson) }),
    ...(frame.value === null ? undefined : { value: Hex.fromQuantity(frame.value) }),
    type: frame.kind,
  }
}
