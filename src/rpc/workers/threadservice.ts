import { Replica } from '../../chain/index.ts'
import type { View } from '../../chain/index.ts'
import type { Compat } from '../../compat.ts'
import { configureTier1, Deadline } from '../../evm/index.ts'
import { CALL_METHODS } from '../methods/call.ts'
import { SIMULATION_METHODS } from '../methods/simulate.ts'
import { TRACE_METHODS } from '../methods/trace.ts'
import { refusalOf } from '../refusals.ts'
import { JsonText } from '../texts.ts'
import type { BeginMessage, FromThread, TaskMessage, ToThread } from './messages.ts'

const METHODS = new Map([...CALL_METHODS, ...SIMULATION_METHODS, ...TRACE_METHODS].map((row) => [row.name, row]))

/** Handles the messages to a worker thread. `post` sends its answers. */
export function threadService(post: (message: FromThread) => void): (message: ToThread) => void {
  let begun: Begun | null = null
  post({ kind: 'ready' })
  return (message) => {
    if (message.kind === 'begin') begun = begin(message)
    else if (begun === null) throw new Error(`"${message.kind}" before "begin"`)
    else if (message.kind === 'feed') for (const step of message.steps) begun.replica.apply(step)
    else post(answer(message, begun))
  }
}

/** The state of a thread. */
interface Begun {
  readonly replica: Replica
  /** of the last task; null: no task yet */
  view: View | null
  readonly compat: Compat
}

function begin({ config, compat, tier1 }: BeginMessage): Begun {
  configureTier1(tier1)
  return { replica: new Replica(config), view: null, compat }
}

function answer({ method, args, slice, spentMs }: TaskMessage, begun: Begun): FromThread {
  const { replica, compat } = begun
  try {
    if (slice !== null) begun.view = replica.view(slice)
    const { view } = begun
    if (view === null) throw new Error('the first task has no slice')
    const compute = METHODS.get(method)?.computed
    if (compute === undefined) throw new Error(`${method} cannot run in a thread`)
    const deadline = (limitMs: number) => new Deadline(limitMs, spentMs)
    const result = compute({ view, compat, deadline }, args)
    return { kind: 'answer', text: result instanceof JsonText ? result.text : JSON.stringify(result) }
  } catch (error) {
    const refusal = refusalOf(error, compat)
    if (refusal === null) return { kind: 'bug', report: error instanceof Error ? (error.stack ?? error.message) : String(error) }
    const { code, message, data } = refusal
    return { kind: 'refusal', code, message, data }
  }
}
