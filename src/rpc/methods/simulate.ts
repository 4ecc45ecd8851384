import type { View } from '../../chain/index.ts'
import type { Compat } from '../../compat.ts'
import type { Block } from '../../eth/index.ts'
import type { BlockRef } from '../../jsonrpc/schema.ts'
import { BlockNotFound, findStateBlock } from '../blocks.ts'
import { computed } from '../execution/computed.ts'
import { CODE } from '../../jsonrpc/index.ts'
import { CALL_TIME_MS, SIMULATED_CALLS } from '../limits.ts'
import { optional, required } from '../method.ts'
import type { Method } from '../method.ts'
import { blockOverrides, stateOverrides } from '../execution/overrides.ts'
import { callRequest } from '../execution/request.ts'
import { BYTES, QUANTITY, listOf, record } from '../../jsonrpc/jsonschema.ts'
import { BLOCK, LOG } from '../results.ts'
import { arrayOf, blockRef, boolean, maybe, object } from '../../jsonrpc/schema.ts'
import { Simulation } from '../simulate/simulation.ts'
import { ALICE, BOB } from './examples.ts'

// Too many blocks or calls have error codes of their own, so the lists accept more.
export const simulation = object({
  blockStateCalls: arrayOf(
    object({
      blockOverrides: maybe(blockOverrides),
      stateOverrides: maybe(stateOverrides),
      calls: maybe(arrayOf(callRequest, 2 * SIMULATED_CALLS)),
    }),
    2 * SIMULATED_CALLS,
  ),
  validation: maybe(boolean),
  traceTransfers: maybe(boolean),
  returnFullTransactions: maybe(boolean),
})

const CALL_ERROR = record('error', { code: { type: 'integer' }, message: { type: 'string' } }, { data: BYTES })
const CALL_RESULT = record(
  'call result',
  { status: QUANTITY, returnData: BYTES, gasUsed: QUANTITY, maxUsedGas: QUANTITY, logs: listOf(LOG) },
  { error: CALL_ERROR },
)

export const SIMULATION_METHODS: readonly Method[] = [
  computed({
    name: 'eth_simulateV1',
    doc: 'Runs calls in blocks of their own on top of a block, with state and block overrides, and returns those blocks; nothing is changed.',
    params: [required('simulation', simulation), optional('block', blockRef)],
    result: listOf({ allOf: [BLOCK, { type: 'object', properties: { calls: listOf(CALL_RESULT) } }] }),
    errors: {
      [-38010]: 'with validation: nonce too low',
      [-38011]: 'with validation: nonce too high',
      [-38012]: 'max fee per gas below the base fee',
      [-38013]: 'intrinsic gas too low',
      [-38014]: 'insufficient funds',
      [-38015]: 'block gas limit reached',
      [-38020]: 'block numbers do not rise',
      [-38021]: 'timestamps do not rise',
      [-38025]: 'init code too large',
      [-38026]: 'too many blocks, calls or overrides',
      [CODE.server]: 'overrides that contradict each other',
    },
    example: {
      params: [{ blockStateCalls: [{ calls: [{ from: ALICE, to: BOB, value: '0x1' }] }] }, 'latest'],
      result: [{ number: '0x2', calls: [{ status: '0x1', returnData: '0x', gasUsed: '0x5208', maxUsedGas: '0x5208', logs: [] }] }],
    },
    needs: ({ view, compat }, [, ref]) => {
      const base = requireBase(view, compat, ref)
      return { states: [base], blocks: [], hashesBelow: [base.header.number + 1] }
    },
    compute: ({ view, compat, deadline }, [request, ref]) => {
      const options = {
        validation: request.validation ?? false,
        traceTransfers: request.traceTransfers ?? false,
        fullTransactions: request.returnFullTransactions ?? false,
        otherRefusal: compat.simulation.otherRefusal,
      }
      return new Simulation(view, requireBase(view, compat, ref), request.blockStateCalls, options, deadline(CALL_TIME_MS)).run()
    },
  }),
]

/** Throws BlockNotFound. */
function requireBase(view: View, compat: Compat, ref: BlockRef | undefined): Block {
  const base = findStateBlock(view, compat, ref)
  if (base !== null) return base
  throw new BlockNotFound('state', ref, view, compat.simulation.unknownBlock)
}
