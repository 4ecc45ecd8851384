import { Hex } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import type { TraceBudget, TraceFactory, Tracer } from '../../evm/index.ts'
import type { Json } from '../json.ts'

type Entered = Parameters<NonNullable<Tracer['enter']>>[0]
type Left = Parameters<NonNullable<Tracer['exit']>>[0]

/** A call, creation or self-destruction of a transaction. */
interface Call extends Pick<Entered, 'kind' | 'depth' | 'from' | 'to' | 'value' | 'input'> {
  output: Uint8Array
  failed: boolean
}

/** Bytes of the JSON of a call besides its data. */
const CALL_BYTES = 300

/** The calls of a transaction in order, each before its inner calls. */
class CallList implements Tracer {
  readonly calls: Call[] = []
  readonly #budget: TraceBudget
  /** calls that have not returned */
  readonly #open: Call[] = []

  constructor(budget: TraceBudget) {
    this.#budget = budget
  }

  enter({ kind, depth, from, to, value, input }: Entered): void {
    this.#budget.take(CALL_BYTES + input.length * 2)
    const call = { kind, depth, from, to, value, input, output: NOTHING, failed: false }
    this.#open.push(call)
    this.calls.push(call)
  }

  exit({ output, reverted }: Left): void {
    const call = this.#open.pop()
    if (call === undefined) return
    this.#budget.take(output.length * 2)
    call.output = output
    call.failed = reverted
  }
}

const NOTHING = new Uint8Array()

/** Every call in Otterscan's form. The value of a DELEGATECALL is null. */
export const callEntries: TraceFactory = listing((calls) => calls.map(entryJson))

/** Inner transfers, creations and self-destructions, reverted ones included (erigon). */
export const operations: TraceFactory = listing((calls) => calls.filter(isOperation).map(operationJson))

/** The creator of `address`, or null. */
export function creatorOf(address: Address): TraceFactory {
  return listing((calls) => effective(calls).findLast(({ kind, to }) => to === address && CREATIONS.has(kind))?.from ?? null)
}

/** Calls whose effects were not reverted. */
function effective(calls: readonly Call[]): readonly Call[] {
  let failedDepth = Infinity
  return calls.filter(({ depth, failed }) => {
    if (depth <= failedDepth) failedDepth = failed ? depth : Infinity
    return failedDepth === Infinity
  })
}

function listing(resultOf: (calls: readonly Call[]) => unknown): TraceFactory {
  return ({ budget }) => {
    const list = new CallList(budget)
    return { tracer: list, json: () => JSON.stringify(resultOf(list.calls)) }
  }
}

function entryJson({ kind, depth, from, to, value, input, output }: Call): Json {
  return {
    type: kind,
    depth,
    from,
    to,
    value: value === null || kind === 'DELEGATECALL' ? null : Hex.fromQuantity(value),
    input: Hex.fromBytes(input),
    output: Hex.fromBytes(output),
  }
}

/** erigon's numbers. */
const OPERATIONS: ReadonlyMap<string, number> = new Map([
  ['CALL', 0],
  ['SELFDESTRUCT', 1],
  ['CREATE', 2],
  ['CREATE2', 3],
])

const CREATIONS: ReadonlySet<string> = new Set(['CREATE', 'CREATE2'])

/** The transaction itself, at depth 0, is not listed. */
function isOperation({ kind, depth, value }: Call): boolean {
  return depth > 0 && OPERATIONS.has(kind) && (kind !== 'CALL' || (value ?? 0n) !== 0n)
}

function operationJson({ kind, from, to, value }: Call): Json {
  return { type: OPERATIONS.get(kind), from, to, value: Hex.fromQuantity(value ?? 0n) }
}
