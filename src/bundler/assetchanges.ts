import { Abi, Address, Hex } from '../eth/index.ts'
import { refuse } from './errors.ts'
import { isSignatureFailure } from './failure.ts'
import { ESTIMATE_CALL_GAS } from './limits.ts'
import type { BundlerNode } from './node.ts'
import { delegationOverride, mergeOverrides } from './stateoverrides.ts'
import type { Overrides } from './stateoverrides.ts'
import type { SimulatedCall, SimulatedCallResult } from './simulatedcalls.ts'
import { paymasterGas, validationCalls } from './validation.ts'
import type { Candidate } from './validation.ts'

/** Stands for ether among tokens. */
export const NATIVE_TOKEN = Address.from('0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee')

/** The accounts and tokens whose balances are compared. */
export interface Tracked {
  readonly addresses: readonly Address[]
  readonly tokens: readonly Address[]
}

/** The balance of an account in one token, before and after an operation, in its smallest unit. */
export interface AssetChange {
  readonly address: Address
  readonly token: Address
  readonly balanceBefore: bigint
  readonly balanceAfter: bigint
}

/**
 * Runs an operation and returns each tracked balance before and after it. The account pays its whole prefund, of which a bundle refunds a part to its
 * deposit. An invalid signature is accepted. Throws RpcError -32521 if the EntryPoint refuses the operation, -32602 for a token without a balance.
 */
export async function assetChanges(
  node: BundlerNode,
  bundler: Address,
  candidate: Candidate,
  { addresses, tokens }: Tracked,
  given: Overrides,
): Promise<readonly AssetChange[]> {
  const { entryPoint, operation, hash } = candidate
  const overrides = mergeOverrides(given, delegationOverride(operation), { [BALANCE_READER]: { code: BALANCE_READER_CODE } })
  const failure = await node.handleOps(entryPoint, [operation], bundler, overrides)
  if (failure !== null && !isSignatureFailure(failure))
    throw refuse('reverted', `UserOperation reverted during simulation with reason: ${failure.reason}`, { reason: failure.reason })
  const pairs = addresses.flatMap((address) => tokens.map((token) => ({ address, token })))
  const balances = pairs.map(balanceCall)
  const validations = validationCalls(candidate, { account: operation.verificationGasLimit, paymaster: paymasterGas(operation) }).all
  const execution = operation.callData.length === 0 ? [] : [executionCall()]
  const calls = [...balances, ...validations, ...execution, ...balances]
  const results = await node.simulateCalls(entryPoint, calls, overrides)
  return pairs.map((pair, i) => ({
    ...pair,
    balanceBefore: balanceIn(results[i], pair.token),
    balanceAfter: balanceIn(results[results.length - pairs.length + i], pair.token),
  }))

  function executionCall(): SimulatedCall {
    return { to: operation.sender, gas: operation.callGasLimit, data: entryPoint.execute(operation, hash) }
  }
}

const BALANCE_OF = Abi.selector('balanceOf(address)')

function balanceCall({ address, token }: { readonly address: Address; readonly token: Address }): SimulatedCall {
  const gas = ESTIMATE_CALL_GAS
  return token === NATIVE_TOKEN
    ? { to: BALANCE_READER, gas, data: Hex.toBytes(Hex.fromBytes32(BigInt(address))) }
    : { to: token, gas, data: Abi.call(BALANCE_OF, [address]) }
}

function balanceIn(result: SimulatedCallResult | undefined, token: Address): bigint {
  if (result?.success === true && result.output.length >= 32) return BigInt(Hex.fromBytes(result.output.subarray(0, 32)))
  throw refuse(
    'invalid',
    `${Address.checksum(token)} has no balanceOf(address); name ERC-20 tokens, or ${Address.checksum(NATIVE_TOKEN)} for ether`,
  )
}

const BALANCE_READER = Address.from('0x7a17000000000000000000000000000000000b41')
/** Returns the ether of the address in the call data: CALLDATALOAD(0), BALANCE, MSTORE(0), RETURN(0, 32). */
const BALANCE_READER_CODE: Hex = '0x5f35315f5260205ff3'
