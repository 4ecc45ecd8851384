import type { Trace } from './trace.ts'

/** geth's noopTracer: what an execution costs that somebody listens to. */
export function noopTrace(): Trace {
  return { tracer: { step() {}, fault() {}, enter() {}, leave() {}, log() {} }, json: () => '{}' }
}
