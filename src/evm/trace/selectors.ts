import { Hex } from '../../eth/index.ts'
import type { Trace } from './trace.ts'
import type { FrameEntry } from './tracer.ts'

const CALLS: ReadonlySet<string> = new Set(['CALL', 'CALLCODE', 'DELEGATECALL', 'STATICCALL'])

/** geth's 4byteTracer: number of calls by selector and argument size: `{"0x27dc297e-128": 1}`. */
export function selectorTrace(): Trace {
  const counts = new Map<string, number>()
  return {
    tracer: {
      enter({ kind, input, precompile }: FrameEntry) {
        if (precompile || input.length < 4 || !CALLS.has(kind)) return
        const key = `${Hex.fromBytes(input.subarray(0, 4))}-${input.length - 4}`
        counts.set(key, (counts.get(key) ?? 0) + 1)
      },
    },
    json: () => JSON.stringify(Object.fromEntries(counts)),
  }
}
