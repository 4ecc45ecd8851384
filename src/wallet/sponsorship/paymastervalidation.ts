import { Abi, DecodeError, Delegation, Hex, UserOperation } from '../../eth/index.ts'
import type { Address, EntryPoint } from '../../eth/index.ts'
import { RpcError } from '../../jsonrpc/index.ts'
import type { Sponsored } from '../batches/execution.ts'
import { intrinsicGas } from '../batches/gas.ts'
import { isConnectionError } from '../batches/transactions.ts'
import type { WalletChain } from '../chains/chain.ts'
import { sponsorFailed } from '../errors.ts'
import { GRANT_SECONDS_LEFT } from '../limits.ts'
import { causeOf } from './failure.ts'

/**
 * Simulates the paymaster's validation of the operation, which a bundler does only after the account has signed. Returns the context that the contract
 * receives in postOp. Throws RpcError 4300, and the refusals of the node.
 */
export async function validatePaymaster(
  chain: WalletChain,
  point: EntryPoint,
  operation: UserOperation,
  execution: Sponsored,
): Promise<Uint8Array> {
  const maxCost = point.prefundGas(operation) * operation.maxFeePerGas
  const [validation, deposit, now] = await Promise.all([
    attempt(operation, 'AA33 reverted', () => validate(chain, point, operation, execution)),
    attempt(operation, 'AA31 paymaster deposit too low', () => depositOf(chain, point, operation)),
    timestamp(chain),
  ])
  if (deposit < maxCost)
    throw refused(operation, 'AA31 paymaster deposit too low', { deposit: Hex.fromQuantity(deposit), required: Hex.fromQuantity(maxCost) })
  const { context, isSigned, validAfter, validUntil } = validation
  if (!isSigned) throw refused(operation, 'AA34 signature error')
  if (validAfter > now)
    throw refused(operation, 'AA32 paymaster expired or not due', { validAfter: Number(validAfter), timestamp: Number(now) })
  if (validUntil !== 0n && validUntil < now + GRANT_SECONDS_LEFT) {
    throw refused(operation, 'AA32 paymaster expired or not due', { validUntil: Number(validUntil), timestamp: Number(now) })
  }
  return context
}

/** The EntryPoint's calls of a paymaster: validatePaymasterUserOp before the account's calls, postOp after them. */
export const PaymasterCalls = { before, after }

interface EntryPointCall {
  readonly from: Address
  readonly to: Address
  readonly input: Hex
  readonly gas: Hex
}

function before(chain: WalletChain, point: EntryPoint, operation: UserOperation, delegate: Address): EntryPointCall {
  const hash = UserOperation.hash(operation, { version: point.version, entryPoint: point.address, chainId: chain.chainId, delegate })
  const data = point.validatePaymaster(operation, hash, point.prefundGas(operation) * operation.maxFeePerGas)
  return callOf(point, operation, data, operation.paymasterVerificationGasLimit)
}

/** With the maximum cost. */
function after(point: EntryPoint, operation: UserOperation, context: Uint8Array): EntryPointCall {
  const data = point.postOp(context, point.prefundGas(operation) * operation.maxFeePerGas, operation.maxFeePerGas)
  return callOf(point, operation, data, operation.paymasterPostOpGasLimit)
}

/** Adds the intrinsic gas, which a call from the EntryPoint does not have. */
function callOf({ address }: EntryPoint, { paymaster }: UserOperation, data: Uint8Array, gas: bigint): EntryPointCall {
  if (paymaster === null) throw new Error('a sponsored operation has a paymaster')
  const limit = gas + intrinsicGas({ to: paymaster, data })
  return { from: address, to: paymaster, input: Hex.fromBytes(data), gas: Hex.fromQuantity(limit) }
}

interface Validation {
  readonly context: Uint8Array
  readonly isSigned: boolean
  /** Unix time, seconds; 0n: no end */
  readonly validUntil: bigint
  readonly validAfter: bigint
}

/** Result: context, and a word of authorizer (160 bits, lowest), validUntil (48) and validAfter (48). */
async function validate(
  chain: WalletChain,
  point: EntryPoint,
  operation: UserOperation,
  { delegate, upgrade }: Sponsored,
): Promise<Validation> {
  const call = before(chain, point, operation, delegate)
  const overrides = upgrade === null ? [] : [{ [operation.sender]: { code: Delegation.text(delegate) } }]
  const output = await bytesOf(chain, [call, 'pending', ...overrides])
  const values = Abi.Reader(output)
  const word = values.word(1)
  return {
    context: values.bytes(0),
    isSigned: BigInt.asUintN(160, word) === 0n,
    validUntil: BigInt.asUintN(48, word >> 160n),
    validAfter: word >> 208n,
  }
}

async function depositOf(chain: WalletChain, { address }: EntryPoint, { paymaster }: UserOperation): Promise<bigint> {
  const data = Abi.call(BALANCE_OF, [paymaster ?? address])
  return Abi.Reader(await bytesOf(chain, [{ to: address, input: Hex.fromBytes(data) }, 'pending'])).word(0)
}

const BALANCE_OF = Abi.selector('balanceOf(address)')

async function bytesOf({ rpc }: WalletChain, params: readonly unknown[]): Promise<Uint8Array> {
  const answer = await rpc.request({ method: 'eth_call', params })
  return Hex.isHex(answer) ? Hex.toBytes(answer) : new Uint8Array()
}

async function timestamp({ rpc }: WalletChain): Promise<bigint> {
  const block = await rpc.request({ method: 'eth_getBlockByNumber', params: ['pending', false] })
  const { timestamp: seconds } = (block ?? {}) as { readonly timestamp?: unknown } // any JSON object has this shape
  return Hex.isHex(seconds) ? BigInt(seconds) : BigInt(Math.floor(Date.now() / 1_000))
}

/** Blames the paymaster for a revert or an undecodable result, but not for a lost connection. */
async function attempt<T>(operation: UserOperation, reason: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof DecodeError) throw refused(operation, `${reason}: ${error.message}`)
    if (!(error instanceof RpcError) || isConnectionError(error)) throw error
    throw refused(operation, `${reason}: ${error.message}`, { cause: causeOf(error) })
  }
}

/** `reason`: the EntryPoint's error text. */
function refused({ paymaster }: UserOperation, reason: string, data: Readonly<Record<string, unknown>> = {}): RpcError {
  return sponsorFailed('paymaster-refused', `the paymaster ${paymaster} does not pay: ${reason}`, {
    cause: { message: reason, data: { paymaster, ...data } },
  })
}
