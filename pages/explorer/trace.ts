import { ask } from './node.ts'
import type { LogJson } from './wire.ts'

/** A call as `callTracer` returns it. */
export interface CallJson {
  readonly type: string
  readonly from: string
  readonly to?: string
  readonly value?: string
  readonly gas: string
  readonly gasUsed: string
  readonly input: string
  readonly output?: string
  readonly error?: string
  readonly revertReason?: string
  readonly calls?: readonly CallJson[]
  readonly logs?: readonly Pick<LogJson, 'address' | 'topics' | 'data'>[]
}

/** Accounts before and after a transaction, as `prestateTracer` returns them with `diffMode`; `post` has only what changed. */
export interface StateDiffJson {
  readonly pre: Readonly<Record<string, AccountJson>>
  readonly post: Readonly<Record<string, AccountJson>>
}

interface AccountJson {
  readonly balance?: string
  readonly nonce?: number
  readonly code?: string
  readonly storage?: Readonly<Record<string, string>>
}

/** Throws the error of the node: MissingMethod without `debug_`, RpcError for a trace that is too large or a state that is no longer kept. */
export function readCalls(hash: string, signal: AbortSignal): Promise<CallJson> {
  return ask<CallJson>(['debug_traceTransaction', hash, { tracer: 'callTracer', tracerConfig: { withLog: true } }], { signal })
}

export function readStateDiff(hash: string, signal: AbortSignal): Promise<StateDiffJson> {
  return ask<StateDiffJson>(['debug_traceTransaction', hash, { tracer: 'prestateTracer', tracerConfig: { diffMode: true } }], { signal })
}

/** Returns the number of calls in the tree, the outermost one included. */
export function callCount(call: CallJson): number {
  return (call.calls ?? []).reduce((sum, each) => sum + callCount(each), 1)
}
