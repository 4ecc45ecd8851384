import type { Address, Hash, Hex } from '../eth/index.ts'
import {
  CODE,
  UserOperationJson,
  UserOperationReceiptJson,
  defineMethods,
  jsonSchema,
  optional,
  required,
  schema,
} from '../jsonrpc/index.ts'
import type { JsonSchema, Method, Schema } from '../jsonrpc/index.ts'
import type { Tracked } from './assetchanges.ts'
import { DEV_ENTRIES, LISTED_OPERATIONS, OVERRIDDEN_ACCOUNTS, TRACKED_ADDRESSES } from './limits.ts'
import { UNINCLUDED_STATUSES, WAIT_REASONS } from './results.ts'
import type { RuleWarningJson, RulesJson, UnincludedOperationJson, UnincludedPage } from './results.ts'
import type { RuleSettings } from './rulesettings.ts'
import type { AccountOverride, Overrides } from './stateoverrides.ts'
import type { UnincludedQuery } from './unincluded.ts'

// The rows of the bundler's methods, a second entry point of the module: a node lists the methods without loading the bundler.

/** The implementation of the methods. */
export interface BundlerApi {
  readonly sendUserOperation: (operation: unknown, entryPoint: unknown) => Promise<Hash>
  /** an operation without fees, which the bundler pays */
  readonly sendBoosted: (operation: unknown, entryPoint: unknown) => Promise<Hash>
  /** Returns the receipt. */
  readonly sendNow: (operation: unknown, entryPoint: unknown) => Promise<unknown>
  readonly simulateAssetChange: (operation: unknown, entryPoint: unknown, tracked: Tracked, overrides: Overrides) => Promise<unknown>
  readonly estimateUserOperationGas: (operation: unknown, entryPoint: unknown, overrides: Overrides) => Promise<unknown>
  readonly userOperationByHash: (hash: Hash) => Promise<unknown>
  readonly userOperationReceipt: (hash: Hash) => Promise<unknown>
  readonly userOperationStatus: (hash: Hash) => Promise<unknown>
  readonly supportedEntryPoints: () => Promise<readonly string[]>
  readonly gasPrices: () => Promise<GasPrices>
  /** of the latest block */
  readonly blockNumber: () => Promise<Hex>
  readonly clearState: () => void
  readonly clearPool: () => void
  readonly clearReputation: () => void
  readonly dumpMempool: (entryPoint: unknown) => Promise<unknown>
  /** Returns the hash of the first transaction; `ok` if none was sent. */
  readonly sendBundleNow: () => Promise<Hash | 'ok'>
  readonly setBundlingMode: (mode: 'auto' | 'manual') => void
  readonly setReputation: (entries: readonly ReputationEntry[], entryPoint: unknown) => Promise<void>
  readonly dumpReputation: (entryPoint: unknown) => Promise<unknown>
  readonly stakeStatus: (address: Address, entryPoint: unknown) => Promise<unknown>
  readonly addUserOperations: (operations: readonly unknown[], entryPoint: unknown) => Promise<void>
  /** `hash`: of one operation; undefined: of all whose warnings are kept */
  readonly warnings: (hash: Hash | undefined) => readonly RuleWarningJson[]
  /** Returns the settings after the change. */
  readonly rules: (change: Partial<RuleSettings>) => RulesJson
  readonly unincluded: (query: UnincludedQuery) => Promise<UnincludedPage>
}

/** In wei per gas. */
export interface GasPrices {
  readonly slow: Fees
  readonly standard: Fees
  readonly fast: Fees
  /** of the block under construction */
  readonly baseFee: Hex
}

interface Fees {
  readonly maxFeePerGas: Hex
  readonly maxPriorityFeePerGas: Hex
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

const { ADDRESS, HASH, QUANTITY, STRING, listOf, orNull, record } = jsonSchema

// The EntryPoint's version decides which fields an operation has, so the handler parses it.
const OPERATION = required('userOperation', schema.documented(UserOperationJson.schema))
const PARTIAL_OPERATION = required('userOperation', schema.documented(UserOperationJson.partialSchema))
const ENTRY_POINT = required('entryPoint', schema.documented(ADDRESS))

/** The message of ERC-7769. */
const OPERATION_HASH: Schema<Hash> = {
  json: HASH,
  parse: (value, path) => {
    const isHash = typeof value === 'string' && /^0x[0-9a-fA-F]{64}$/.test(value)
    if (!isHash) throw schema.refused(path, 'Missing/invalid userOpHash')
    return schema.hash.parse(value, path)
  },
}

const HASH_PARAM = required('userOpHash', OPERATION_HASH)

/** Only the addresses are parsed: the node parses the override of an account, and refuses fields that it does not support. */
const OVERRIDES: Schema<Overrides> = stateOverrides()

const NATIVE_TOKEN = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee'

const MODE = schema.oneOf('auto', 'manual')

const TRACKED: Schema<Tracked> = schema.strictObject({
  addresses: schema.arrayOf(schema.address, TRACKED_ADDRESSES),
  tokens: schema.arrayOf(schema.address, TRACKED_ADDRESSES),
})

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

const OP_RECEIPT = {
  userOpHash: OP_HASH,
  entryPoint: EP08,
  sender: SENDER,
  nonce: '0x0',
  paymaster: '0x0000000000000000000000000000000000000000',
  actualGasCost: '0x1e5c5a7d4a00',
  actualGasUsed: '0x1a2b0',
  success: true,
  logs: [],
  receipt: { transactionHash: TX_HASH, status: '0x1' },
}

const ESTIMATE_REFUSALS = {
  [-32500]: 'the EntryPoint, the account or its factory refuses the operation; the message begins with AAxx',
  [-32501]: 'the paymaster refuses the operation',
  [-32503]: 'it is not valid yet, or has expired, or expires too soon',
  [-32506]: 'the account requires a signature aggregator',
  [-32508]: 'the deposit of the paymaster is too low',
}

/** The methods do not exist on a node without a bundler. */
const ABSENT = { [CODE.methodNotFound]: 'the node runs without a bundler' }

const REFUSALS = {
  ...ESTIMATE_REFUSALS,
  [-32502]: 'its validation breaks a rule of ERC-7562',
  [-32504]: 'the paymaster or the factory is throttled or banned',
  [-32505]: 'its validation requires a larger stake (ERC-7562)',
  [-32507]: 'the signature is wrong',
}

const FEES = record('fees', { maxFeePerGas: QUANTITY, maxPriorityFeePerGas: QUANTITY })
const FEE = { maxFeePerGas: '0x4a817c80', maxPriorityFeePerGas: '0xf4240' }

// The client libraries of these providers request the fees of each operation from a method of their own bundler.
const METHODS_WITH_SPEEDS = [
  ['pimlico_getUserOperationGasPrice', 'Pimlico'],
  ['zd_getUserOperationGasPrice', 'ZeroDev'],
  ['biconomy_getGasFeeValues', 'Biconomy (abstractjs)'],
] as const
const METHODS_WITH_STANDARD_FEES = [
  ['skandha_getGasPrice', 'Etherspot'],
  ['thirdweb_getUserOperationGasPrice', 'thirdweb'],
] as const

/** The methods of ERC-7769, and those of other bundlers that clients use. */
export const BUNDLER_METHODS: readonly Method<BundlerContext, unknown>[] = [
  method({
    name: 'eth_sendUserOperation',
    doc: 'Validates a user operation, sends it in a bundle with one of the next flashblocks and returns its hash; with both fees raised by 10 % it replaces one with the same nonce.',
    params: [OPERATION, ENTRY_POINT],
    result: HASH,
    errors: { [CODE.server]: 'the bundler has no ether, or the pool is full', ...REFUSALS, ...ABSENT },
    example: { params: [EXAMPLE, EP08], result: OP_HASH },
    handler: async ({ api }, [operation, entryPoint]) => (await api()).sendUserOperation(operation, entryPoint),
  }),
  method({
    name: 'eth_estimateUserOperationGas',
    doc: 'Estimates the gas limits of a user operation, whose limits, fees and signature may be missing or placeholders.',
    params: [PARTIAL_OPERATION, ENTRY_POINT, optional('stateOverrides', OVERRIDES)],
    result: record(
      'gas limits',
      { preVerificationGas: QUANTITY, verificationGasLimit: QUANTITY, callGasLimit: QUANTITY },
      { paymasterVerificationGasLimit: QUANTITY, paymasterPostOpGasLimit: QUANTITY },
    ),
    errors: { ...ESTIMATE_REFUSALS, [-32521]: "the account's call reverts", ...ABSENT },
    example: {
      params: [EXAMPLE, EP08],
      result: { preVerificationGas: '0xc350', verificationGasLimit: '0x186a0', callGasLimit: '0x4e20' },
    },
    handler: async ({ api }, [operation, entryPoint, overrides = {}]) =>
      (await api()).estimateUserOperationGas(operation, entryPoint, overrides),
  }),
  method({
    name: 'eth_getUserOperationByHash',
    doc: 'Returns a user operation with its block and transaction, or null while it is in no block, sealed or pre-confirmed.',
    params: [HASH_PARAM],
    result: orNull(
      record('included user operation', {
        userOperation: UserOperationJson.schema,
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
    doc: 'Returns the receipt of a user operation with its own logs and the receipt of its bundle, or null while it is in no block, sealed or pre-confirmed.',
    params: [HASH_PARAM],
    result: orNull(UserOperationReceiptJson.schema.json),
    errors: ABSENT,
    example: { params: [OP_HASH], result: null },
    handler: async ({ api }, [hash]) => (await api()).userOperationReceipt(hash),
  }),
  method({
    name: 'eth_supportedEntryPoints',
    doc: 'Returns the EntryPoints of this chain that the bundler supports.',
    params: [],
    result: listOf(ADDRESS),
    errors: ABSENT,
    example: { params: [], result: [EP08] },
    handler: async ({ api }) => (await api()).supportedEntryPoints(),
  }),
  ...METHODS_WITH_SPEEDS.map(([name, provider]) =>
    method({
      name,
      doc: `Returns fees for the inclusion of a user operation at three speeds, as the client library of ${provider} reads them.`,
      params: [],
      result: record('fees by speed', { slow: FEES, standard: FEES, fast: FEES }),
      errors: ABSENT,
      example: { params: [], result: { slow: FEE, standard: FEE, fast: FEE } },
      handler: async ({ api }) => {
        const { slow, standard, fast } = await (await api()).gasPrices()
        return { slow, standard, fast }
      },
    }),
  ),
  ...METHODS_WITH_STANDARD_FEES.map(([name, provider]) =>
    method({
      name,
      doc: `Returns the \`standard\` fees of pimlico_getUserOperationGasPrice, as the client library of ${provider} reads them.`,
      params: [],
      result: FEES,
      errors: ABSENT,
      example: { params: [], result: FEE },
      handler: async ({ api }) => (await (await api()).gasPrices()).standard,
    }),
  ),
  method({
    name: 'rundler_getUserOperationGasPrice',
    doc: 'Returns the number of the latest block, the base fee of the block under construction, the priority fee that the node suggests, and the `standard` fees of pimlico_getUserOperationGasPrice.',
    params: [],
    result: record('fees', { priorityFee: QUANTITY, baseFee: QUANTITY, blockNumber: QUANTITY, suggested: FEES }),
    errors: ABSENT,
    example: {
      params: [],
      result: { priorityFee: FEE.maxPriorityFeePerGas, baseFee: '0x2e90edd0', blockNumber: '0x10', suggested: FEE },
    },
    handler: async ({ api }) => {
      const bundler = await api()
      const [{ standard: suggested, baseFee }, blockNumber] = await Promise.all([bundler.gasPrices(), bundler.blockNumber()])
      return { priorityFee: suggested.maxPriorityFeePerGas, baseFee, blockNumber, suggested }
    },
  }),
  method({
    name: 'rundler_maxPriorityFeePerGas',
    doc: 'Returns the priority fee that the node suggests, in wei per gas. The bundler requires none.',
    params: [],
    result: QUANTITY,
    errors: ABSENT,
    example: { params: [], result: FEE.maxPriorityFeePerGas },
    handler: async ({ api }) => (await (await api()).gasPrices()).standard.maxPriorityFeePerGas,
  }),
  method({
    name: 'pimlico_getUserOperationStatus',
    doc: 'Returns the status of a user operation: not_submitted (in the pool), submitted (in a sent bundle), included, failed, rejected or not_found. Also not_found after its bundle was retracted permanently; the operation can be sent again.',
    params: [HASH_PARAM],
    result: record('status', { status: STRING, transactionHash: orNull(HASH) }, { reason: orNull(STRING) }),
    errors: ABSENT,
    example: { params: [OP_HASH], result: { status: 'included', transactionHash: TX_HASH } },
    handler: async ({ api }, [hash]) => (await api()).userOperationStatus(hash),
  }),
]

const OK = { enum: ['ok'] }
const RULE_NAMES = ['strict', 'relaxed', 'off'] as const
const RULES = schema.strictObject({
  rules: schema.maybe(schema.oneOf(...RULE_NAMES)),
  minStake: schema.maybe(schema.quantity),
  minUnstakeDelay: schema.maybe(schema.quantity),
})
const INTEGER = { type: 'integer', minimum: 0 }
const UNINCLUDED_QUERY: Schema<UnincludedQuery> = schema.strictObject({
  userOpHashes: schema.maybe(schema.arrayOf(OPERATION_HASH, LISTED_OPERATIONS)),
  transactionHash: schema.maybe(schema.hash),
  status: schema.maybe(schema.oneOf(...UNINCLUDED_STATUSES)),
  limit: schema.maybe(schema.atLeast(1, schema.integer)),
  before: schema.maybe(schema.integer),
})
const UNINCLUDED = record('user operation in no block', {
  id: INTEGER,
  userOpHash: HASH,
  entryPoint: ADDRESS,
  userOperation: UserOperationJson.schema,
  status: { enum: UNINCLUDED_STATUSES },
  transactionHash: orNull(HASH),
  waitsFor: { enum: [...WAIT_REASONS, null] },
  failedBundles: INTEGER,
  reason: orNull(STRING),
  replacedBy: orNull(HASH),
} satisfies Record<keyof UnincludedOperationJson, JsonSchema>)
const REPUTATION = record('reputation', { address: ADDRESS, opsSeen: QUANTITY, opsIncluded: QUANTITY }, { status: STRING })

/** The debug methods of ERC-7769, and those of alto for which the bundler's account may pay. */
export const BUNDLER_DEV_METHODS: readonly Method<BundlerContext, unknown>[] = [
  method({
    name: 'pocketchain_userOperationWarnings',
    doc: 'Returns the violations for which a public bundler would refuse user operations that this one accepted under relaxed rules (ERC-7562): of one operation, or of all, the oldest first; empty if there are none.',
    params: [optional('userOpHash', OPERATION_HASH)],
    result: listOf(
      record('rule warning', {
        userOpHash: HASH,
        rule: STRING,
        role: orNull(STRING),
        entity: orNull(ADDRESS),
        code: { type: 'integer' },
        message: STRING,
      }),
    ),
    errors: ABSENT,
    example: {
      params: [OP_HASH],
      result: [
        {
          userOpHash: OP_HASH,
          rule: 'OP-011',
          role: 'account',
          entity: SENDER,
          code: -32_502,
          message: 'account uses banned opcode: TIMESTAMP (OP-011 of ERC-7562, …',
        },
      ],
    },
    handler: async ({ api }, [hash]) => (await api()).warnings(hash),
  }),
  method({
    name: 'pocketchain_userOperationPool',
    doc: 'Returns user operations of the bundler that are in no block, newest first: those in the pool with their bundle and what they wait for, and the newest dropped ones with the reason. At most 100 per page; `before` is the `next` of the previous page, and ends with the process.',
    params: [optional('query', UNINCLUDED_QUERY)],
    result: record('page', { operations: listOf(UNINCLUDED), next: orNull(INTEGER) }),
    errors: ABSENT,
    example: {
      params: [{ userOpHashes: [OP_HASH] }],
      result: {
        operations: [
          {
            id: 1,
            userOpHash: OP_HASH,
            entryPoint: EP08,
            userOperation: EXAMPLE,
            status: 'not_submitted',
            transactionHash: null,
            waitsFor: 'price',
            failedBundles: 0,
            reason: null,
            replacedBy: null,
          },
        ],
        next: null,
      },
    },
    handler: async ({ api }, [query = {}]) => (await api()).unincluded(query),
  }),
  method({
    name: 'pocketchain_bundlerRules',
    doc: 'Changes the rules of ERC-7562 for coming user operations, and returns them: strict refuses violations, relaxed accepts them with a warning, off does not look; and the least stake (wei, seconds) of a staked entity.',
    params: [optional('rules', RULES)],
    result: record('rules', { rules: { enum: RULE_NAMES }, minStake: QUANTITY, minUnstakeDelay: QUANTITY }),
    errors: ABSENT,
    example: { params: [{ rules: 'strict' }], result: { rules: 'strict', minStake: '0x16345785d8a0000', minUnstakeDelay: '0x15180' } },
    handler: async ({ api }, [change = {}]) => {
      const { rules, minStake, minUnstakeDelay } = change
      return (await api()).rules({
        ...(rules === undefined ? {} : { rules }),
        ...(minStake === undefined ? {} : { minStake }),
        ...(minUnstakeDelay === undefined ? {} : { minUnstakeDelay }),
      })
    },
  }),
  method({
    name: 'pimlico_sendUserOperationNow',
    doc: 'Sends a user operation in a bundle immediately, waits until it is in a block and returns its receipt.',
    params: [OPERATION, ENTRY_POINT],
    result: UserOperationReceiptJson.schema.json,
    errors: { [CODE.server]: 'as eth_sendUserOperation, or it is in no block after 20 s', ...REFUSALS, ...ABSENT },
    example: { params: [EXAMPLE, EP08], result: OP_RECEIPT },
    handler: async ({ api }, [operation, entryPoint]) => (await api()).sendNow(operation, entryPoint),
  }),
  method({
    name: 'pimlico_simulateAssetChange',
    doc: 'Runs a user operation and returns the balances of accounts in tokens before and after it; 0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE stands for ether. The account pays its whole prefund.',
    params: [OPERATION, ENTRY_POINT, required('tracked', TRACKED), optional('stateOverrides', OVERRIDES)],
    result: listOf(record('asset change', { address: ADDRESS, token: ADDRESS, balanceBefore: QUANTITY, balanceAfter: QUANTITY })),
    errors: { [-32521]: 'the EntryPoint refuses the operation; the message ends with AAxx', ...ABSENT },
    example: {
      params: [EXAMPLE, EP08, { addresses: [SENDER], tokens: [NATIVE_TOKEN] }],
      result: [{ address: SENDER, token: NATIVE_TOKEN, balanceBefore: '0xde0b6b3a7640000', balanceAfter: '0xddf12f9a1b20000' }],
    },
    handler: async ({ api }, [operation, entryPoint, tracked, overrides = {}]) =>
      (await api()).simulateAssetChange(operation, entryPoint, tracked, overrides),
  }),
  method({
    name: 'boost_sendUserOperation',
    doc: 'Sends a user operation whose fees are 0 and which has no paymaster: the bundler pays for it.',
    params: [OPERATION, ENTRY_POINT],
    result: HASH,
    errors: { [CODE.server]: 'the bundler has no ether, or the pool is full', ...REFUSALS, ...ABSENT },
    example: { params: [{ ...EXAMPLE, maxFeePerGas: '0x0', maxPriorityFeePerGas: '0x0' }, EP08], result: OP_HASH },
    handler: async ({ api }, [operation, entryPoint]) => (await api()).sendBoosted(operation, entryPoint),
  }),
  method({
    name: 'debug_bundler_clearState',
    doc: 'Clears the pool, the reputations and the outcomes of the bundler.',
    params: [],
    result: OK,
    errors: ABSENT,
    example: { params: [], result: 'ok' },
    handler: async ({ api }) => ok((await api()).clearState()),
  }),
  method({
    name: 'debug_bundler_clearMempool',
    doc: 'Removes the user operations of the pool, with those in sent bundles; reputations and outcomes stay.',
    params: [],
    result: OK,
    errors: ABSENT,
    example: { params: [], result: 'ok' },
    handler: async ({ api }) => ok((await api()).clearPool()),
  }),
  method({
    name: 'debug_bundler_clearReputation',
    doc: 'Clears the reputations of all entities; the pool stays.',
    params: [],
    result: OK,
    errors: ABSENT,
    example: { params: [], result: 'ok' },
    handler: async ({ api }) => ok((await api()).clearReputation()),
  }),
  method({
    name: 'debug_bundler_dumpMempool',
    doc: 'Returns the user operations of the pool, with those in sent bundles.',
    params: [ENTRY_POINT],
    result: listOf(UserOperationJson.schema),
    errors: ABSENT,
    example: { params: [EP08], result: [EXAMPLE] },
    handler: async ({ api }, [entryPoint]) => (await api()).dumpMempool(entryPoint),
  }),
  method({
    name: 'debug_bundler_sendBundleNow',
    doc: 'Sends the operations of the pool and returns the hash of the first transaction, or `ok` if there are none.',
    params: [],
    result: STRING,
    errors: ABSENT,
    example: { params: [], result: TX_HASH },
    handler: async ({ api }) => (await api()).sendBundleNow(),
  }),
  method({
    name: 'debug_bundler_setBundlingMode',
    doc: 'With `manual` bundles are sent by debug_bundler_sendBundleNow only, with `auto` automatically.',
    params: [required('mode', MODE)],
    result: OK,
    errors: ABSENT,
    example: { params: ['manual'], result: 'ok' },
    handler: async ({ api }, [mode]) => ok((await api()).setBundlingMode(mode)),
  }),
  method({
    name: 'debug_bundler_setReputation',
    doc: 'Sets the numbers of user operations of an entity that were seen and included.',
    params: [required('reputations', REPUTATIONS), ENTRY_POINT],
    result: OK,
    errors: ABSENT,
    example: { params: [[{ address: SENDER, opsSeen: '0x3e8', opsIncluded: '0x0' }], EP08], result: 'ok' },
    handler: async ({ api }, [reputations, entryPoint]) => ok(await (await api()).setReputation(reputations, entryPoint)),
  }),
  method({
    name: 'debug_bundler_dumpReputation',
    doc: 'Returns the reputations of all entities, which are the same for every EntryPoint.',
    params: [ENTRY_POINT],
    result: listOf(REPUTATION),
    errors: ABSENT,
    example: { params: [EP08], result: [{ address: SENDER, opsSeen: '0x3e8', opsIncluded: '0x0', status: 'banned' }] },
    handler: async ({ api }, [entryPoint]) => (await api()).dumpReputation(entryPoint),
  }),
  method({
    name: 'debug_bundler_getStakeStatus',
    doc: 'Returns the stake of an entity (wei and seconds as decimal text, as the reference bundler), and whether it is enough for the rules of ERC-7562 that allow more to staked entities.',
    params: [required('address', schema.address), ENTRY_POINT],
    result: record('stake status', {
      stakeInfo: record('stake', { addr: ADDRESS, stake: STRING, unstakeDelaySec: STRING }),
      isStaked: { type: 'boolean' },
    }),
    errors: ABSENT,
    example: {
      params: [SENDER, EP08],
      result: { stakeInfo: { addr: SENDER, stake: '100000000000000000', unstakeDelaySec: '86400' }, isStaked: true },
    },
    handler: async ({ api }, [address, entryPoint]) => (await api()).stakeStatus(address, entryPoint),
  }),
  method({
    name: 'debug_bundler_addUserOps',
    doc: 'Adds user operations to the pool without validating them.',
    params: [required('userOperations', schema.arrayOf(schema.documented(UserOperationJson.schema), DEV_ENTRIES)), ENTRY_POINT],
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
      const override = value as AccountOverride // the node parses its fields
      // The node would not see both: they are merged with the bundler's own overrides.
      if (override.state && override.stateDiff) throw schema.refused(path, "has both 'state' and 'stateDiff'")
      return override
    },
  }
  const { json, parse } = schema.mapOf(schema.address, unread, OVERRIDDEN_ACCOUNTS)
  return { json, parse: (value, path) => Object.fromEntries(parse(value, path)) }
}
