import { Abi, Hex, IntrinsicGas } from '../eth/index.ts'
import type { EntryPoint, EntryPointVersion, UserOperation } from '../eth/index.ts'
import type { BlockNow } from '../jsonrpc/index.ts'
import { GAS_PRICE_ORACLE } from './node.ts'
import type { BundlerNode } from './node.ts'

// Gas of a bundle that no gas limit of an operation covers (alto's figures for a bundle with one operation).
const FIXED_GAS = 9_830n
const OPERATION_OVERHEAD_GAS = 7_260n
/** Copying ten words of call data costs 92 gas. */
const TEN_WORDS_GAS = 92n
const EXECUTE_USER_OP = Abi.selector('executeUserOp((address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes),bytes32)')
const EXECUTE_USER_OP_GAS = 1_610n
const EXECUTE_USER_OP_TEN_WORDS_GAS = 82n
const TRANSACTION_GAS = BigInt(IntrinsicGas.TRANSACTION)
const TOKEN_GAS = BigInt(IntrinsicGas.TOKEN)
const FLOOR_TOKEN_GAS = BigInt(IntrinsicGas.FLOOR_TOKEN)
const AUTHORIZATION_GAS = BigInt(IntrinsicGas.AUTHORIZATION)

const GET_L1_FEE = Abi.selector('getL1Fee(bytes)')
/** Stands for signature, fees and nonce of the transaction. */
const ENVELOPE = new Uint8Array(110).fill(0xff)

export interface PreVerification {
  /** gas of the bundle that no gas limit covers */
  readonly execution: bigint
  /** the L1 data fee in L2 gas at the operation's price, or the base fee if that is higher */
  readonly data: bigint
}

export async function preVerificationOf(
  node: BundlerNode,
  entryPoint: EntryPoint,
  operation: UserOperation,
  now: BlockNow,
): Promise<PreVerification> {
  const callData = entryPoint.handleOps([operation], operation.sender)
  return { execution: executionGas(entryPoint, callData, operation), data: await dataGas(node, callData, operation, now) }
}

function executionGas({ version }: EntryPoint, callData: Uint8Array, operation: UserOperation): bigint {
  const tokens = BigInt(IntrinsicGas.tokens(callData))
  const words = BigInt(Math.ceil(operation.callData.length / 32))
  const authorization = operation.authorization === null ? 0n : AUTHORIZATION_GAS
  const copying = (words * TEN_WORDS_GAS) / 10n + wholeOperationGas(version, callData, operation)
  const spent = FIXED_GAS + OPERATION_OVERHEAD_GAS + copying + authorization
  // A transaction costs at least the floor of its call data (EIP-7623).
  const lacking = tokens * (FLOOR_TOKEN_GAS - TOKEN_GAS) - spent - leastGas(version, operation)
  return TRANSACTION_GAS + tokens * TOKEN_GAS + spent + (lacking > 0n ? lacking : 0n)
}

/** Returns the gas with which the EntryPoint encodes the whole operation, instead of its call data, for an account's executeUserOp (since 0.7). */
function wholeOperationGas(version: EntryPointVersion, callData: Uint8Array, operation: UserOperation): bigint {
  if (version === '0.6' || Hex.fromBytes(operation.callData.subarray(0, 4)) !== EXECUTE_USER_OP) return 0n
  return EXECUTE_USER_OP_GAS + (BigInt(Math.ceil(callData.length / 32)) * EXECUTE_USER_OP_TEN_WORDS_GAS) / 10n
}

/** Returns the gas that the limits charge at least: since 0.7 a tenth of what call and postOp leave unused. An operation is free to use nothing else of them. */
function leastGas(version: EntryPointVersion, { callGasLimit, paymasterPostOpGasLimit }: UserOperation): bigint {
  return version === '0.6' ? 0n : (callGasLimit + paymasterPostOpGasLimit) / 10n
}

async function dataGas(node: BundlerNode, callData: Uint8Array, operation: UserOperation, now: BlockNow): Promise<bigint> {
  if (!(await node.isRollup())) return 0n
  const transaction = new Uint8Array(ENVELOPE.length + callData.length)
  transaction.set(ENVELOPE)
  transaction.set(callData, ENVELOPE.length)
  const answer = await node.read(GAS_PRICE_ORACLE, Abi.call(GET_L1_FEE, [transaction]))
  const fee = BigInt(Hex.fromBytes(answer.subarray(0, 32)))
  const price = gasPrice(operation, now)
  return price === 0n ? 0n : (fee + price - 1n) / price
}

/** Returns the operation's current gas price; the base fee if its price is lower, as in an estimate with placeholders. */
function gasPrice({ maxFeePerGas, maxPriorityFeePerGas }: UserOperation, { baseFee }: BlockNow): bigint {
  const offered = baseFee + maxPriorityFeePerGas
  const price = offered < maxFeePerGas ? offered : maxFeePerGas
  return price > baseFee ? price : baseFee
}
