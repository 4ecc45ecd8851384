import { Address, ENTRY_POINTS } from '../eth/index.ts'
import { UserOperationJson, defineMethods, optional, required, schema } from '../jsonrpc/index.ts'
import type { Method, Schema } from '../jsonrpc/index.ts'
import { ADDRESS, BYTES, QUANTITY, STRING, listOf, orNull, record } from '../jsonrpc/jsonschema.ts'
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

/** The implementation of the methods. */
export interface SponsorService {
  readonly answer: (stage: Stage, args: Args, caller: Exchange) => Promise<unknown>
  /** Estimates the operation's gas and returns the limits with signed paymaster fields. */
  readonly sponsor: (request: SponsorRequest, caller: Exchange) => Promise<unknown>
  /** Returns the policies among these names that would pay. */
  readonly grantingPolicies: (operation: unknown, entryPoint: Address, names: readonly string[], caller: Exchange) => Promise<unknown>
}

export interface SponsorRequest {
  readonly operation: unknown
  readonly entryPoint: Address
  /** by default that of the sponsor */
  readonly chainId?: bigint | undefined
  readonly context?: unknown
}

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

/** The argument of ZeroDev's paymaster client. Its other fields concern the fees and the quota of ZeroDev's service. */
const ZERODEV_REQUEST = schema.object({
  userOp: PARAMS[0].schema,
  entryPointAddress: schema.address,
  chainId: schema.maybe(schema.bigInteger),
  gasTokenData: schema.maybe(tokenRefusal()),
})

const method = defineMethods<SponsorService, Exchange>()

const SPONSORED_FIELDS = { preVerificationGas: QUANTITY, verificationGasLimit: QUANTITY, callGasLimit: QUANTITY }
const POLICY_DATA = { name: STRING, author: orNull(STRING), icon: orNull(STRING), description: orNull(STRING) }

/** Limit of names in pm_validateSponsorshipPolicies. */
const MAX_POLICY_NAMES = 100

const SPONSORED = record('gas limits and paymaster fields', SPONSORED_FIELDS, PAYMASTER_FIELDS)
const SPONSORED_EXAMPLE = { preVerificationGas: '0xc350', verificationGasLimit: '0x186a0', callGasLimit: '0x4e20', paymasterAndData: '0x' }

/** ERC-7677, and methods of the paymasters of Pimlico and ZeroDev. EntryPoint 0.6 uses paymasterAndData, later versions the separate fields. */
export const PAYMASTER_METHODS: readonly Method<SponsorService, Exchange>[] = [
  method({
    name: 'pm_getPaymasterStubData',
    doc: 'Returns stub paymaster fields for a gas estimate, of the length of signed ones.',
    params: PARAMS,
    result: record('paymaster fields', {}, { ...PAYMASTER_FIELDS, sponsor: record('sponsor', { name: STRING }, { icon: STRING }) }),
    example: { params: EXAMPLE_PARAMS, result: { paymasterAndData: '0x' } },
    handler: ({ answer }, args, caller) => answer('stub', args, caller),
  }),
  method({
    name: 'pm_getPaymasterData',
    doc: 'Returns signed paymaster fields for an operation that a policy grants.',
    params: PARAMS,
    result: record('paymaster fields', {}, PAYMASTER_FIELDS),
    example: { params: EXAMPLE_PARAMS, result: { paymasterAndData: '0x' } },
    handler: ({ answer }, args, caller) => answer('final', args, caller),
  }),
  method({
    name: 'pm_sponsorUserOperation',
    doc: 'Estimates the gas of an operation with the bundler of the chain, and returns its limits with signed paymaster fields.',
    params: [PARAMS[0], PARAMS[1], PARAMS[3]],
    result: SPONSORED,
    example: { params: EXAMPLE_PARAMS.slice(0, 2), result: SPONSORED_EXAMPLE },
    handler: ({ sponsor }, [operation, entryPoint, context], caller) => sponsor({ operation, entryPoint, context }, caller),
  }),
  method({
    name: 'zd_sponsorUserOperation',
    doc: 'As pm_sponsorUserOperation, with one argument. A request with an ERC-20 token is refused.',
    params: [required('request', ZERODEV_REQUEST)],
    result: SPONSORED,
    example: {
      params: [{ userOp: EXAMPLE_PARAMS[0], entryPointAddress: EXAMPLE_PARAMS[1], chainId: 31_337 }],
      result: SPONSORED_EXAMPLE,
    },
    handler: ({ sponsor }, [{ userOp, entryPointAddress, chainId }], caller) =>
      sponsor({ operation: userOp, entryPoint: entryPointAddress, chainId }, caller),
  }),
  method({
    name: 'pm_validateSponsorshipPolicies',
    doc: 'Returns those of the named policies that would pay for an operation now.',
    params: [PARAMS[0], PARAMS[1], required('sponsorshipPolicyIds', schema.arrayOf(schema.string, MAX_POLICY_NAMES))],
    result: listOf(record('policy', { sponsorshipPolicyId: STRING, data: record('description', POLICY_DATA) })),
    example: { params: [...EXAMPLE_PARAMS.slice(0, 2), ['everything']], result: [] },
    handler: ({ grantingPolicies }, [operation, entryPoint, names], caller) => grantingPolicies(operation, entryPoint, names, caller),
  }),
]

function tokenRefusal(): Schema<never> {
  return {
    json: { title: 'not supported' },
    parse: (_, path) => {
      throw schema.refused(path, 'this sponsor takes no ERC-20 token: leave it out')
    },
  }
}
