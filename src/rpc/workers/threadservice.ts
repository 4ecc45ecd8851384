import { MissingState, Replica } from '../../chain/index.ts'
import type { View } from '../../chain/index.ts'
import type { Compat } from '../../compat.ts'
import { configureTier1, Deadline } from '../../evm/index.ts'
import type { ConsoleCalls } from '../../evm/index.ts'
import { CALL_METHODS } from '../methods/call.ts'
import type { Method } from '../method.ts'
import { OTTERSCAN_METHODS } from '../methods/otterscan.ts'
import { SIMULATION_METHODS } from '../methods/simulate.ts'
import { DEBUG_TRACE_METHODS } from '../methods/trace.ts'
import { CALL_MANY_METHODS } from '../methods/callmany.ts'
import { DEBUG_METHODS } from '../methods/debug.ts'
import { FLAT_TRACE_METHODS } from '../methods/flattrace.ts'
import { refusalOf } from '../refusals.ts'
import { BLOCK_PARTIES, partiesTask } from '../search/blockcalls.ts'
import { JsonText } from '../texts.ts'
import type { FromThread, InitMessage, TaskMessage, ToThread } from './messages.ts'

/** The methods that a thread can compute: not all rows of `table.ts`, whose imports would delay the start. */
export const THREAD_METHODS: ReadonlyMap<string, Method['computed']> = new Map([
  ...[
    ...CALL_METHODS,
    ...SIMULATION_METHODS,
    ...DEBUG_TRACE_METHODS,
    ...FLAT_TRACE_METHODS,
    ...CALL_MANY_METHODS,
    ...DEBUG_METHODS,
    ...OTTERSCAN_METHODS,
  ].map((row) => [row.name, row.computed] as const),
  [BLOCK_PARTIES, partiesTask],
])

/** Handles the messages to a worker thread. `post` sends its answers. */
export function threadService(post: (message: FromThread) => void): (message: ToThread) => void {
  let state: ThreadState | null = null
  post({ kind: 'ready' })
  return (message) => {
    if (message.kind === 'init') state = init(message)
    else if (state === null) throw new Error(`"${message.kind}" before "init"`)
    else if (message.kind === 'sync') for (const step of message.steps) state.replica.apply(step)
    else if (message.kind === 'base') state.replica.addBaseValues(message.values)
    else post(answer(message, state))
  }
}

interface ThreadState {
  readonly replica: Replica
  /** View of the last task; null: no task yet */
  view: View | null
  readonly compat: Compat
}

function init({ config, origin, compat, tier1 }: InitMessage): ThreadState {
  configureTier1(tier1)
  return { replica: new Replica(config, origin), view: null, compat }
}

function answer({ method, args, slice, spentMs }: TaskMessage, state: ThreadState): FromThread {
  const { replica, compat } = state
  const startMs = performance.now()
  let console: ConsoleCalls | null = null
  const onConsole = (calls: ConsoleCalls) => void (console = calls)
  try {
    if (slice !== null) state.view = replica.view(slice)
    const { view } = state
    if (view === null) throw new Error('the first task has no slice')
    const compute = THREAD_METHODS.get(method)
    if (compute === undefined) throw new Error(`${method} cannot run in a thread`)
    const deadline = (limitMs: number) => new Deadline(limitMs, spentMs)
    const run = () => compute({ view, compat, deadline, onConsole }, args)
    let result: unknown
    try {
      result = run()
    } catch (error) {
      if (!(error instanceof MissingState)) throw error
      // The further keys that the task misses when it continues with guesses.
      const keys = [...error.keys, ...replica.missingKeysOf(run)]
      return { kind: 'missing', keys, tookMs: performance.now() - startMs }
    }
    return { kind: 'answer', text: result instanceof JsonText ? result.text : JSON.stringify(result), console }
  } catch (error) {
    const refusal = refusalOf(error, compat)
    if (refusal === null) return { kind: 'bug', report: error instanceof Error ? (error.stack ?? error.message) : String(error) }
    const { code, message, data } = refusal
    return { kind: 'refusal', code, message, data, console }
  }
}
