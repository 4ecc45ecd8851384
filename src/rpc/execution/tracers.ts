import {
  callTrace,
  erc7562Trace,
  flatCallTrace,
  muxTrace,
  noopTrace,
  prestateTrace,
  selectorTrace,
  structLogTrace,
} from '../../evm/index.ts'
import type { TraceFactory } from '../../evm/index.ts'
import { TRACE_TIME_MOST_MS, TRACER_DEPTH, TRACERS_AT_ONCE } from '../limits.ts'
import { anything, arrayOf, boolean, integer, mapOf, maybe, mismatch, object, refused, string } from '../../jsonrpc/schema.ts'
import type { Infer, Schema } from '../../jsonrpc/schema.ts'

/** A boolean, false by default. */
const flag: Schema<boolean> & { readonly maybe: true } = {
  maybe: true,
  json: boolean.json,
  parse: (value, path) => maybe(boolean).parse(value, path) ?? false,
}

/** geth's duration text, such as `300ms`, `10s` or `1m30s`, in milliseconds. */
const duration: Schema<number> = {
  json: { title: 'duration such as 10s', type: 'string', pattern: '^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$' },
  parse: (value, path) => {
    const text = string.parse(value, path)
    if (!DURATION.test(text)) throw mismatch(path, 'a duration such as "10s" or "300ms"', value)
    let ms = 0
    for (const [, amount, unit] of text.matchAll(PART)) ms += Number(amount) * (UNITS_MS[unit ?? ''] ?? 0)
    if (ms > TRACE_TIME_MOST_MS) throw refused(path, `at most ${TRACE_TIME_MOST_MS / 1_000}s`)
    return ms
  },
}

const DURATION = /^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$/
const PART = /([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)/g
const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/** geth's TraceConfig. `reexec` limits geth's search for a state and has no effect here. */
export const TRACE_OPTION_FIELDS = {
  tracer: maybe(string),
  tracerConfig: maybe(anything),
  timeout: maybe(duration),
  reexec: maybe(anything),
  disableStorage: flag,
  disableStack: flag,
  enableMemory: flag,
  enableReturnData: flag,
  limit: maybe(integer),
} as const

export const traceOptions = object(TRACE_OPTION_FIELDS)

export type TraceOptions = Infer<typeof traceOptions>

/** Returns the tracer that the options name, by default the struct logger. Throws RpcError -32602; `path` names the options. */
export function traceFactory(options: TraceOptions | undefined, path: string): TraceFactory {
  if (options?.tracer !== undefined) return named(options.tracer, options.tracerConfig, path, 0)
  const { disableStorage = false, disableStack = false, enableMemory = false, enableReturnData = false, limit = 0 } = options ?? {}
  return (start) => structLogTrace(start, { disableStorage, disableStack, enableMemory, enableReturnData, limit })
}

/** Parses the options of one tracer; `depth`: the number of muxTracers around it. */
type Reader = (config: unknown, path: string, depth: number) => TraceFactory

const callOptions = object({ onlyTopCall: flag, withLog: flag })
const flatOptions = object({ convertParityErrors: flag, includePrecompiles: flag })
const prestateOptions = object({ diffMode: flag, disableCode: flag, disableStorage: flag, includeEmpty: flag })
const erc7562Options = object({ withLog: flag, ignoredOpcodes: maybe(arrayOf(integer, 256)) })
const muxOptions = mapOf(string, anything, TRACERS_AT_ONCE)

const TRACERS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ['callTracer', (config, path) => withOptions(callOptions.parse(config, path), callTrace)],
  ['flatCallTracer', (config, path) => withOptions(flatOptions.parse(config, path), flatCallTrace)],
  ['prestateTracer', prestate],
  ['4byteTracer', () => selectorTrace],
  ['erc7562Tracer', erc7562],
  ['noopTracer', () => noopTrace],
  ['muxTracer', mux],
])

function named(name: string, config: unknown, path: string, depth: number): TraceFactory {
  const read = TRACERS.get(name)
  if (read !== undefined) return read(config ?? {}, `${path}.tracerConfig`, depth)
  const known = [...TRACERS.keys()].join(', ')
  throw mismatch(`${path}.tracer`, `one of ${known} (tracers in JavaScript are not run)`, name)
}

function withOptions<O>(options: O, make: (start: Parameters<TraceFactory>[0], options: O) => ReturnType<TraceFactory>): TraceFactory {
  return (start) => make(start, options)
}

function prestate(config: unknown, path: string): TraceFactory {
  const options = prestateOptions.parse(config, path)
  if (options.diffMode && options.includeEmpty) throw refused(path, 'cannot use diffMode with includeEmpty')
  return withOptions(options, prestateTrace)
}

function erc7562(config: unknown, path: string): TraceFactory {
  const { withLog, ignoredOpcodes } = erc7562Options.parse(config, path)
  return withOptions({ withLog, ignoredOpcodes: ignoredOpcodes ?? null }, erc7562Trace)
}

function mux(config: unknown, path: string, depth: number): TraceFactory {
  if (depth === TRACER_DEPTH) throw refused(path, `muxTracer is nested more than ${TRACER_DEPTH} times`)
  const options = muxOptions.parse(config, path)
  const makers = Array.from(options, ([name, own]) => [name, named(name, own, `${path}.${name}`, depth + 1)] as const)
  return (start) => muxTrace(makers.map(([name, make]) => [name, make(start)] as const))
}
