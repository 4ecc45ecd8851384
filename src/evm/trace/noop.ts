import type { Trace } from './trace.ts'

/** geth's noopTracer, for measuring the cost of tracing. */
export function noopTrace(): Trace {
  return { tracer: { step() {}, fault() {}, enter() {}, exit() {}, log() {} }, json: () => '{}' }
}
