import type { Deadline } from './deadline.ts'
import { runCall } from './engine.ts'
import { requireSupported } from './forks.ts'
import { requireGas } from './gas.ts'
import type { BlockContext, Listener, Question } from './message.ts'
import type { StateReader } from './state.ts'
import { World } from './world.ts'

/**
 * Has `hear` take what `executeTransaction` would say of it, without fees and without looking at the nonce, in two thirds of the time.
 *
 * @throws {InvalidTransaction} the gas does not pay for the data
 * @throws {OutOfTime} `deadline` passes
 * @throws {EngineFull} it needs more room than the engine has
 * @throws {UnsupportedFork} OP chain before Fjord
 */
export function answer<T>(question: Question, context: BlockContext, state: StateReader, deadline: Deadline, hear: Listener<T>): T {
  requireSupported(context.rules)
  // It was made a moment ago, for this.
  if (deadline.endMs <= deadline.startMs) deadline.check()
  const { to, data, gas } = question
  const left = gas - requireGas({ to, data, gas, accessList: NONE, authorizationList: NONE }, context.rules)
  const world = new World(state)
  try {
    return runCall(question, left, context, world, deadline, hear)
  } finally {
    world.release()
  }
}

const NONE: readonly never[] = []
