import { Address, ENTRY_POINTS } from '../eth/index.ts'
import { UserOperationJson, defineMethods, optional, required, schema } from '../jsonrpc/index.ts'
import type { Method } from '../jsonrpc/index.ts'
import { ADDRESS, BYTES, QUANTITY, STRING, record } from '../jsonrpc/jsonschema.ts'
import type { Stage } from './faults.ts'

/** The sender of a request. */
export interface PaymasterCaller {
  readonly apiKey: string | null
  /** aborted when the caller disconnects */
  readonly signal?: AbortSignal
}

/** One HTTP body in progress. */
export interface Exchange extends PaymasterCaller {
  /** set by the fault http-500: the response has this status */
  isServerError: boolean
}

export type Args = readonly [operation: unknown, entryPoint: Address, chainId: bigint, context?: unknown]
export type Answer = (stage: Stage, args: Args, caller: Exchange) => Promise<unknown>

const PARAMS = [
  required('userOperation', schema.documented(UserOperationJson.partialSchema)),
  required('entryPoint', schema.address),
  required('chainId', schema.quantity),
  optional('context', schema.anything),
] as const

const PAYMASTER_FIELDS = {
  paymaster: ADDRESS,
  paymasterData: BYTES,
  paymasterAndData: BYTES,
  paymasterVerificationGasLimit: QUANTITY,
  paymasterPostOpGasLimit: QUANTITY,
}

const EXAMPLE_PARAMS = [
  { sender: Address.zero, nonce: '0x0', callData: '0x', maxFeePerGas: '0x1', maxPriorityFeePerGas: '0x1' },
  ENTRY_POINTS['0.8'],
  '0x7a69',
]

const method = defineMethods<Answer, Exchange>()

/** ERC-7677. EntryPoint 0.6 uses paymasterAndData, later versions the separate fields. */
export const ERC7677_METHODS: readonly Method<Answer, Exchange>[] = [
  method({
    name: 'pm_getPaymasterStubData',
    doc: 'Returns stub paymaster fields for a gas estimate, of the length of signed ones.',
    params: PARAMS,
    result: record('paymaster fields', {}, { ...PAYMASTER_FIELDS, sponsor: record('sponsor', { name: STRING }, { icon: STRING }) }),
    example: { params: EXAMPLE_PARAMS, result: { paymasterAndData: '0x' } },
    handler: (answer, args, caller) => answer('stub', args, caller),
  }),
  method({
    name: 'pm_getPaymasterData',
    doc: 'Returns signed paymaster fields for an operation that a policy grants.',
    params: PARAMS,
    result: record('paymaster fields', {}, PAYMASTER_FIELDS),
    example: { params: EXAMPLE_PARAMS, result: { paymasterAndData: '0x' } },
    handler: (answer, args, caller) => answer('final', args, caller),
  }),
]
