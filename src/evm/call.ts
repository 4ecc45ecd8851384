import type { Deadline } from './deadline.ts'
import { runCall } from './engine.ts'
import { requireSupported } from './forks.ts'
import { checkIntrinsicGas } from './gas.ts'
import type { BlockContext, OnCallResult, CallMessage } from './message.ts'
import type { StateReader } from './state.ts'
import { World } from './world.ts'

/**
 * Executes an eth_call and passes its result to `onResult`. The result equals that of `executeTransaction` without fees and nonce check, in
 * two thirds of its time.
 *
 * @throws {InvalidTransaction} the gas does not cover the intrinsic gas
 * @throws {OutOfTime} `deadline` has passed
 * @throws {EngineOutOfMemory} the call exceeds the engine's memory
 * @throws {UnsupportedFork} OP chain before Fjord
 */
export function executeCall<T>(
  call: CallMessage,
  context: BlockContext,
  state: StateReader,
  deadline: Deadline,
  onResult: OnCallResult<T>,
): T {
  requireSupported(context.rules)
  // Without reading the clock: the caller has just created the deadline.
  if (deadline.endMs <= deadline.startMs) deadline.check()
  const { to, data, gas } = call
  const left = gas - checkIntrinsicGas({ to, data, gas, accessList: EMPTY_LIST, authorizationList: EMPTY_LIST }, context.rules)
  const world = new World(state)
  try {
    return runCall(call, left, context, world, deadline, onResult)
  } finally {
    world.release()
  }
}

const EMPTY_LIST: readonly never[] = []
