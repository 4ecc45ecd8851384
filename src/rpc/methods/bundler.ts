import { CODE } from '../errors.ts'
import { optional, required } from '../method.ts'
import type { Method } from '../method.ts'
import { rowsOf, told } from '../neighbour.ts'
import { ADDRESS, BOOLEAN, BYTES, HASH, LOG, QUANTITY, RECEIPT, STRING, listOf, orNull, record } from '../results.ts'
import { anything } from '../schema.ts'

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

const OPERATION = required('userOperation', told(USER_OPERATION))
const ENTRY_POINT = required('entryPoint', told(ADDRESS))
const HASH_PARAM = required('userOpHash', told(HASH))

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

const REFUSALS = {
  ...ESTIMATE_REFUSALS,
  [-32502]: 'its validation breaks a rule of ERC-7562',
  [-32504]: 'the paymaster or the factory is throttled or banned',
  [-32505]: 'its validation does what ERC-7562 asks a larger stake for',
  [-32506]: 'the account wants an aggregator',
  [-32507]: 'the signature is wrong',
}

const row = rowsOf('bundler')

const FEES = record('fees', { maxFeePerGas: QUANTITY, maxPriorityFeePerGas: QUANTITY })
const FEE = { maxFeePerGas: '0x4a817c80', maxPriorityFeePerGas: '0xf4240' }

/** ERC-7769, answered by the bundler beside the node, and the two methods of pimlico that clients ask for. */
export const BUNDLER_METHODS: readonly Method[] = [
  row({
    name: 'eth_sendUserOperation',
    doc: 'Checks a user operation, has it included with one of the next flashblocks and answers its hash; with both fees a tenth higher it replaces one of the same nonce.',
    params: [OPERATION, ENTRY_POINT],
    result: HASH,
    errors: { [CODE.server]: 'the bundler has no ether, or too much waits', ...REFUSALS },
    example: { params: [EXAMPLE, EP08], result: OP_HASH },
  }),
  row({
    name: 'eth_estimateUserOperationGas',
    doc: 'Searches the gas limits of a user operation, whose limits, fees and signature may be missing or stand-ins.',
    params: [OPERATION, ENTRY_POINT, optional('stateOverrides', anything)],
    result: record(
      'gas limits',
      { preVerificationGas: QUANTITY, verificationGasLimit: QUANTITY, callGasLimit: QUANTITY },
      { paymasterVerificationGasLimit: QUANTITY, paymasterPostOpGasLimit: QUANTITY },
    ),
    errors: { ...ESTIMATE_REFUSALS, [-32521]: "the account's own call reverts" },
    example: {
      params: [EXAMPLE, EP08],
      result: { preVerificationGas: '0xc350', verificationGasLimit: '0x186a0', callGasLimit: '0x4e20' },
    },
  }),
  row({
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
    example: { params: [OP_HASH], result: null },
  }),
  row({
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
          logs: listOf(LOG),
          receipt: RECEIPT,
        },
        { reason: STRING },
      ),
    ),
    example: { params: [OP_HASH], result: null },
  }),
  row({
    name: 'eth_supportedEntryPoints',
    doc: 'The EntryPoints of this chain that the bundler works with.',
    params: [],
    result: listOf(ADDRESS),
    example: { params: [], result: [EP08] },
  }),
  row({
    name: 'pimlico_getUserOperationGasPrice',
    doc: 'Fees with which a user operation is included now, at three speeds.',
    params: [],
    result: record('fees by speed', { slow: FEES, standard: FEES, fast: FEES }),
    example: { params: [], result: { slow: FEE, standard: FEE, fast: FEE } },
  }),
  row({
    name: 'pimlico_getUserOperationStatus',
    doc: 'Whether a user operation waits (not_submitted), is on its way (submitted), was included, failed or rejected, or is not_found.',
    params: [HASH_PARAM],
    result: record('status', { status: STRING, transactionHash: orNull(HASH) }, { reason: orNull(STRING) }),
    example: { params: [OP_HASH], result: { status: 'included', transactionHash: TX_HASH } },
  }),
]

const OK = { enum: ['ok'] }
const REPUTATION = record('reputation', { address: ADDRESS, opsSeen: QUANTITY, opsIncluded: QUANTITY }, { status: STRING })

/** ERC-7769, "debug": for tests. */
export const BUNDLER_TEST_METHODS: readonly Method[] = [
  row({
    name: 'debug_bundler_clearState',
    doc: 'The bundler forgets what waits, and all reputations.',
    params: [],
    result: OK,
    example: { params: [], result: 'ok' },
  }),
  row({
    name: 'debug_bundler_dumpMempool',
    doc: 'The user operations that wait or are on their way.',
    params: [ENTRY_POINT],
    result: listOf(USER_OPERATION),
    example: { params: [EP08], result: [EXAMPLE] },
  }),
  row({
    name: 'debug_bundler_sendBundleNow',
    doc: 'Sends what waits and answers the hash of the first transaction, or null when nothing does.',
    params: [],
    result: orNull(HASH),
    example: { params: [], result: TX_HASH },
  }),
  row({
    name: 'debug_bundler_setBundlingMode',
    doc: 'With `manual` bundles go out by debug_bundler_sendBundleNow only, with `auto` by themselves.',
    params: [required('mode', told({ enum: ['auto', 'manual'] }))],
    result: OK,
    example: { params: ['manual'], result: 'ok' },
  }),
  row({
    name: 'debug_bundler_setReputation',
    doc: 'Sets how many user operations of an entity were seen and included.',
    params: [required('reputations', told(listOf(REPUTATION))), ENTRY_POINT],
    result: OK,
    example: { params: [[{ address: SENDER, opsSeen: '0x3e8', opsIncluded: '0x0' }], EP08], result: 'ok' },
  }),
  row({
    name: 'debug_bundler_dumpReputation',
    doc: 'The reputations of all entities that are known, the same for every EntryPoint.',
    params: [ENTRY_POINT],
    result: listOf(REPUTATION),
    example: { params: [EP08], result: [{ address: SENDER, opsSeen: '0x3e8', opsIncluded: '0x0', status: 'banned' }] },
  }),
  row({
    name: 'debug_bundler_addUserOps',
    doc: 'Puts user operations among those that wait without checking them.',
    params: [required('userOperations', told(listOf(USER_OPERATION))), ENTRY_POINT],
    result: OK,
    example: { params: [[EXAMPLE], EP08], result: 'ok' },
  }),
]
