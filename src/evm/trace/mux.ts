import type { Trace } from './trace.ts'
import type { Tracer } from './tracer.ts'

/** geth's muxTracer: several traces of one execution by name. */
export function muxTrace(traces: readonly (readonly [name: string, trace: Trace])[]): Trace {
  return {
    tracer: combineTracers(traces.map(([, { tracer }]) => tracer)),
    json: (executed) => `{${traces.map(([name, { json }]) => `${JSON.stringify(name)}:${json(executed)}`).join(',')}}`,
  }
}

/** Returns a tracer that calls all of these in order. */
function combineTracers(tracers: readonly Tracer[]): Tracer {
  const one: Tracer = {}
  if (tracers.some(({ step }) => step !== undefined)) one.step = (machine) => tracers.forEach((tracer) => tracer.step?.(machine))
  if (tracers.some(({ fault }) => fault !== undefined)) {
    one.fault = (machine, cost, failure) => tracers.forEach((tracer) => tracer.fault?.(machine, cost, failure))
  }
  one.enter = (entered) => tracers.forEach((tracer) => tracer.enter?.(entered))
  one.exit = (exit) => tracers.forEach((tracer) => tracer.exit?.(exit))
  one.log = (log) => tracers.forEach((tracer) => tracer.log?.(log))
  return one
}
