import type { Address, Hash } from '../eth/index.ts'
import { CODE, defineMethods, optional, required, schema } from '../jsonrpc/index.ts'
import type { Method, Schema } from '../jsonrpc/index.ts'
import { ADDRESS, BOOLEAN, BYTES, HASH, QUANTITY, STRING, component, listOf, orNull, record } from '../jsonrpc/jsonschema.ts'
import type { AccountOverride, Overrides } from './node.ts'

// The rows of the bundler's methods. This file is an entry point of its own, so that a node can list the methods without loading the bundler.

/** What the methods do. */
export interface BundlerApi {
  readonly sendUserOperation: (operation: unknown, entryPoint: unknown) => Promise<Hash>
  readonly estimateUserOperationGas: (operation: unknown, entryPoint: unknown, overrides: Overrides) => Promise<unknown>
  readonly userOperationByHash: (hash: Hash) => Promise<unknown>
  readonly userOperationReceipt: (hash: Hash) => Promise<unknown>
  readonly userOperationStatus: (hash: Hash) => Promise<unknown>
  readonly supportedEntryPoints: () => Promise<readonly string[]>
  readonly gasPrice: () => Promise<unknown>
  readonly clearState: () => void
  readonly dumpMempool: (entryPoint: unknown) => Promise<unknown>
  /** Returns the hash of the first transaction; null if nothing waits. */
  readonly sendBundleNow: () => Promise<Hash | null>
  readonly setBundlingMode: (mode: 'auto' | 'manual') => void
  readonly setReputation: (entries: readonly ReputationEntry[], entryPoint: unknown) => Promise<void>
  readonly dumpReputation: (entryPoint: unknown) => Promise<unknown>
  readonly addUserOperations: (operations: readonly unknown[], entryPoint: unknown) => Promise<void>
}

export interface ReputationEntry {
  readonly address: Address
  readonly opsSeen: number
  readonly opsIncluded: number
}

/** `api` loads the bundler at the first request. */
export interface BundlerContext {
  readonly api: () => Promise<BundlerApi>
}

const method = defineMethods<BundlerContext, unknown>()

const USER_OPERATION = record(
  'user operation',
  {
    sender: ADDRESS,
    nonce: QUANTITY,
    callData: BYTES,
    callGasLimit: QUANTITY,
    verificationGasLimit: QUANTITY,
    preVerificationGas: QUANTITY,
    maxFeePerGas: QUANTITY,
    maxPriorityFeePerGas: QUANTITY,
    signature: BYTES,
  },
  {
    initCode: BYTES,
    paymasterAndData: BYTES,
    factory: ADDRESS,
    factoryData: BYTES,
    paymaster: ADDRESS,
    paymasterVerificationGasLimit: QUANTITY,
    paymasterPostOpGasLimit: QUANTITY,
    paymasterData: BYTES,
    eip7702Auth: record('authorization', {
      chainId: QUANTITY,
      address: ADDRESS,
      nonce: QUANTITY,
      yParity: QUANTITY,
      r: QUANTITY,
      s: QUANTITY,
    }),
  },
)

const OPERATION = required('userOperation', schema.documented(USER_OPERATION))
const ENTRY_POINT = required('entryPoint', schema.documented(ADDRESS))

/** ERC-7769 gives the message. */
const OPERATION_HASH: Schema<Hash> = {
  json: HASH,
  parse: (value, path) => {
    const isHash = typeof value === 'string' && /^0x[0-9a-fA-F]{64}$/.test(value)
    if (!isHash) throw schema.refused(path, 'Missing/invalid userOpHash')
    return schema.hash.parse(value, path)
  },
}

const HASH_PARAM = required('userOpHash', OPERATION_HASH)

/** Accounts of one override set. */
const MOST_OVERRIDDEN = 1_000

/** The node reads the fields of an override, and refuses those that it does not support. */
const OVERRIDES: Schema<Overrides> = stateOverrides()

const MODE = schema.oneOf('auto', 'manual')

/** Entries of one debug_bundler request. */
const DEV_ENTRIES = 1_000

const REPUTATIONS = schema.arrayOf(
  schema.object({ address: schema.address, opsSeen: schema.integer, opsIncluded: schema.integer }),
  DEV_ENTRIES,
)

const SENDER = '0xd1111111111111111111111111111111111111d1'
const EP08 = '0x4337084D9E255Ff0702461CF8895CE9E3b5Ff108'
const OP_HASH = '0x9dfdd9609e282acf25d41f114916f8946b37d98cd6e657472ac6986df14954f3'
const TX_HASH = '0x3fbac8b19b59077cd29bbacc3815d73577b45a4d976cae80b04c98c793684c07'
const EXAMPLE = {
  sender: SENDER,
  nonce: '0x0',
  callData: '0x',
  callGasLimit: '0x4e20',
  verificationGasLimit: '0x186a0',
  preVerificationGas: '0xc350',
  maxFeePerGas: '0x77359400',
  maxPriorityFeePerGas: '0xf4240',
  signature: '0x',
}

const ESTIMATE_REFUSALS = {
  [-32500]: 'the EntryPoint, the account or its factory refuses; the message begins with AAxx',
  [-32501]: 'the paymaster refuses',
  [-32503]: 'it is not valid yet, or has expired, or expires too soon',
  [-32508]: 'the deposit of the paymaster is too low',
}

/** The node answers these methods only if it runs a bundler. */
const ABSENT = { [CODE.methodNotFound]: 'the node runs without a bundler' }

const REFUSALS = {
  ...ESTIMATE_REFUSALS,
  [-32502]: 'its validation breaks a rule of ERC-7562',
  [-32504]: 'the paymaster or the factory is throttled or banned',
  [-32505]: 'its validation does what ERC-7562 asks a larger stake for',
  [-32506]: 'the account wants an aggregator',
  [-32507]: 'the signature is wrong',
}

const FEES = record('fees', { maxFeePerGas: QUANTITY, maxPriorityFeePerGas: QUANTITY })
const FEE = { maxFeePerGas: '0x4a817c80', maxPriorityFeePerGas: '0xf4240' }

/** ERC-7769, and the two methods of pimlico that clients use. */
export const BUNDLER_METHODS: readonly Method<BundlerContext, unknown>[] = [
  method({
    name: 'eth_sendUserOperation',
    doc: 'Checks a user operation, has it included with one of the next flashblocks and answers its hash; with both fees a tenth higher it replaces one of the same nonce.',
    params: [OPERATION, ENTRY_POINT],
    result: HASH,
    errors: { [CODE.server]: 'the bundler has no ether, or too much waits', ...REFUSALS, ...ABSENT },
    example: { params: [EXAMPLE, EP08], result: OP_HASH },
    handler: async ({ api }, [operation, entryPoint]) => (await api()).sendUserOperation(operation, entryPoint),
  }),
  method({
    name: 'eth_estimateUserOperationGas',
    doc: 'Searches the gas limits of a user operation, whose limits, fees and signature may be missing or stand-ins.',
    params: [OPERATION, ENTRY_POINT, optional('stateOverrides', OVERRIDES)],
    result: record(
      'gas limits',
      { preVerificationGas: QUANTITY, verificationGasLimit: QUANTITY, callGasLimit: QUANTITY },
      { paymasterVerificationGasLimit: QUANTITY, paymasterPostOpGasLimit: QUANTITY },
    ),
    errors: { ...ESTIMATE_REFUSALS, [-32521]: "the account's own call reverts", ...ABSENT },
    example: {
      params: [EXAMPLE, EP08],
      result: { preVerificationGas: '0xc350', verificationGasLimit: '0x186a0', callGasLimit: '0x4e20' },
    },
    handler: async ({ api }, [operation, entryPoint, overrides = {}]) =>
      (await api()).estimateUserOperationGas(operation, entryPoint, overrides),
  }),
  method({
    name: 'eth_getUserOperationByHash',
    doc: 'A user operation and where it was included, or null while it is in no block, sealed or pre-confirmed.',
    params: [HASH_PARAM],
    result: orNull(
      record('included user operation', {
        userOperation: USER_OPERATION,
        entryPoint: ADDRESS,
        transactionHash: HASH,
        blockHash: HASH,
        blockNumber: QUANTITY,
      }),
    ),
    errors: ABSENT,
    example: { params: [OP_HASH], result: null },
    handler: async ({ api }, [hash]) => (await api()).userOperationByHash(hash),
  }),
  method({
    name: 'eth_getUserOperationReceipt',
    doc: 'What became of a user operation, with its own logs and the receipt of its bundle, or null while it is in no block, sealed or pre-confirmed.',
    params: [HASH_PARAM],
    result: orNull(
      record(
        'receipt of a user operation',
        {
          userOpHash: HASH,
          entryPoint: ADDRESS,
          sender: ADDRESS,
          nonce: QUANTITY,
          paymaster: orNull(ADDRESS),
          actualGasCost: QUANTITY,
          actualGasUsed: QUANTITY,
          success: BOOLEAN,
          logs: listOf(component('Log')),
          receipt: component('Receipt'),
        },
        { reason: STRING },
      ),
    ),
    errors: ABSENT,
    example: { params: [OP_HASH], result: null },
    handler: async ({ api }, [hash]) => (await api()).userOperationReceipt(hash),
  }),
  method({
    name: 'eth_supportedEntryPoints',
    doc: 'The EntryPoints of this chain that the bundler works with.',
    params: [],
    result: listOf(ADDRESS),
    errors: ABSENT,
    example: { params: [], result: [EP08] },
    handler: async ({ api }) => (await api()).supportedEntryPoints(),
  }),
  method({
    name: 'pimlico_getUserOperationGasPrice',
    doc: 'Fees with which a user operation is included now, at three speeds.',
    params: [],
    result: record('fees by speed', { slow: FEES, standard: FEES, fast: FEES }),
    errors: ABSENT,
    example: { params: [], result: { slow: FEE, standard: FEE, fast: FEE } },
    handler: async ({ api }) => (await api()).gasPrice(),
  }),
  method({
    name: 'pimlico_getUserOperationStatus',
    doc: 'Whether a user operation waits (not_submitted), is on its way (submitted), was included, failed or rejected, or is not_found.',
    params: [HASH_PARAM],
    result: record('status', { status: STRING, transactionHash: orNull(HASH) }, { reason: orNull(STRING) }),
    errors: ABSENT,
    example: { params: [OP_HASH], result: { status: 'included', transactionHash: TX_HASH } },
    handler: async ({ api }, [hash]) => (await api()).userOperationStatus(hash),
  }),
]

const OK = { enum: ['ok'] }
const REPUTATION = record('reputation', { address: ADDRESS, opsSeen: QUANTITY, opsIncluded: QUANTITY }, { status: STRING })

/** ERC-7769, "debug": for tests. */
export const BUNDLER_DEV_METHODS: readonly Method<BundlerContext, unknown>[] = [
  method({
    name: 'debug_bundler_clearState',
    doc: 'The bundler forgets what waits, and all reputations.',
    params: [],
    result: OK,
    errors: ABSENT,
    example: { params: [], result: 'ok' },
    handler: async ({ api }) => ok((await api()).clearState()),
  }),
  method({
    name: 'debug_bundler_dumpMempool',
    doc: 'The user operations that wait or are on their way.',
    params: [ENTRY_POINT],
    result: listOf(USER_OPERATION),
    errors: ABSENT,
    example: { params: [EP08], result: [EXAMPLE] },
    handler: async ({ api }, [entryPoint]) => (await api()).dumpMempool(entryPoint),
  }),
  method({
    name: 'debug_bundler_sendBundleNow',
    doc: 'Sends what waits and answers the hash of the first transaction, or null when nothing does.',
    params: [],
    result: orNull(HASH),
    errors: ABSENT,
    example: { params: [], result: TX_HASH },
    handler: async ({ api }) => (await api()).sendBundleNow(),
  }),
  method({
    name: 'debug_bundler_setBundlingMode',
    doc: 'With `manual` bundles go out by debug_bundler_sendBundleNow only, with `auto` by themselves.',
    params: [required('mode', MODE)],
    result: OK,
    errors: ABSENT,
    example: { params: ['manual'], result: 'ok' },
    handler: async ({ api }, [mode]) => ok((await api()).setBundlingMode(mode)),
  }),
  method({
    name: 'debug_bundler_setReputation',
    doc: 'Sets how many user operations of an entity were seen and included.',
    params: [required('reputations', REPUTATIONS), ENTRY_POINT],
    result: OK,
    errors: ABSENT,
    example: { params: [[{ address: SENDER, opsSeen: '0x3e8', opsIncluded: '0x0' }], EP08], result: 'ok' },
    handler: async ({ api }, [reputations, entryPoint]) => ok(await (await api()).setReputation(reputations, entryPoint)),
  }),
  method({
    name: 'debug_bundler_dumpReputation',
    doc: 'The reputations of all entities that are known, the same for every EntryPoint.',
    params: [ENTRY_POINT],
    result: listOf(REPUTATION),
    errors: ABSENT,
    example: { params: [EP08], result: [{ address: SENDER, opsSeen: '0x3e8', opsIncluded: '0x0', status: 'banned' }] },
    handler: async ({ api }, [entryPoint]) => (await api()).dumpReputation(entryPoint),
  }),
  method({
    name: 'debug_bundler_addUserOps',
    doc: 'Puts user operations among those that wait without checking them.',
    params: [required('userOperations', schema.arrayOf(schema.documented(USER_OPERATION), DEV_ENTRIES)), ENTRY_POINT],
    result: OK,
    errors: ABSENT,
    example: { params: [[EXAMPLE], EP08], result: 'ok' },
    handler: async ({ api }, [operations, entryPoint]) => ok(await (await api()).addUserOperations(operations, entryPoint)),
  }),
]

function ok(done: void): 'ok' {
  return done ?? 'ok'
}

function stateOverrides(): Schema<Overrides> {
  const account = schema.object({})
  const unread: Schema<AccountOverride> = {
    json: account.json,
    parse: (value, path) => {
      account.parse(value, path)
      return value as AccountOverride // the node parses its fields
    },
  }
  const { json, parse } = schema.mapOf(schema.address, unread, MOST_OVERRIDDEN)
  return { json, parse: (value, path) => Object.fromEntries(parse(value, path)) }
}
