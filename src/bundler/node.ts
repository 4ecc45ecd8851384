import { Abi, Address, DecodeError, Hash, Hex } from '../eth/index.ts'
import type { EntryPoint, UserOperation } from '../eth/index.ts'
import { CODE, NodeView, RpcError, schema } from '../jsonrpc/index.ts'
import type { BlockNow } from '../jsonrpc/index.ts'
import { bundleGas } from './bundlegas.ts'
import { refuse } from './errors.ts'
import { BUNDLE_GAS, GAS_CAP_PRECISION, KNOWN_CODES, LEAST_GAS_CAP } from './limits.ts'
import { handleOpsFailure, revertDataOf } from './failure.ts'
import type { Failure } from './failure.ts'
import { mergeOverrides } from './stateoverrides.ts'
import type { Overrides } from './stateoverrides.ts'
import { ENTRY_POINT_CODE, SIMULATOR_CALLER, SIMULATOR_CODE, SimulatedCalls } from './simulatedcalls.ts'
import type { SimulatedCall, SimulatedCallResult } from './simulatedcalls.ts'

/** The bundler's requests to the node. */
export class BundlerNode extends NodeView {
  readonly #codes = new Map<Address, Hex>()
  /** hashes of code, by code, oldest first */
  readonly #codeHashes = new Map<Hex, Hash>()
  /** the cap of a transaction, and the gas limit of the block in which it was measured */
  #gasCap: { readonly blockGasLimit: bigint; readonly gas: Promise<bigint> } | null = null

  /** Returns the account's next nonce under a key, with the key in its high bits. */
  async nonce({ address }: EntryPoint, sender: Address, key: bigint): Promise<bigint> {
    const answer = await this.read(address, Abi.call(GET_NONCE, [sender, key]))
    return BigInt(Hex.fromBytes(answer.subarray(0, 32)))
  }

  /** Returns the maxFeePerGas in wei with which a transaction of the bundler itself is included soon. */
  async marketFee(): Promise<bigint> {
    const [{ baseFee }, price] = await Promise.all([this.now(), this.quantity('eth_gasPrice')])
    return maximum(baseFee * 2n + 1n, price)
  }

  /** Whether transactions pay an L1 data fee (OP stack). */
  async isRollup(): Promise<boolean> {
    return (await this.code(GAS_PRICE_ORACLE)) !== '0x'
  }

  /** Returns the greatest gas limit of a bundle: BUNDLE_GAS, or less if a block has less room or the chain caps a transaction lower. */
  async maxBundleGas({ gasLimit }: BlockNow): Promise<bigint> {
    const [isRollup, cap] = await Promise.all([this.isRollup(), this.#transactionGasCap(gasLimit)])
    const ofBlock = isRollup ? gasLimit - L1_ATTRIBUTES_GAS : gasLimit
    return ofBlock < cap ? ofBlock : cap
  }

  /** Measured once, and again for another gas limit of the block if it is below BUNDLE_GAS: the block's limit may have been what was measured. */
  async #transactionGasCap(blockGasLimit: bigint): Promise<bigint> {
    const known = await this.#gasCap?.gas
    if (known !== undefined && (known === BUNDLE_GAS || this.#gasCap?.blockGasLimit === blockGasLimit)) return known
    const measured = { blockGasLimit, gas: this.#measureGasCap() }
    this.#gasCap = measured
    measured.gas.catch(() => (this.#gasCap = null))
    return measured.gas
  }

  /** No method of a node reports its cap (EIP-7825), and an estimate is limited to it: one of code that needs more fails. */
  async #measureGasCap(): Promise<bigint> {
    if (await this.#canUse(BUNDLE_GAS)) return BUNDLE_GAS
    if (!(await this.#canUse(LEAST_GAS_CAP))) return BUNDLE_GAS
    let [low, high] = [LEAST_GAS_CAP, BUNDLE_GAS]
    while (high - low > GAS_CAP_PRECISION) {
      const middle = (low + high) / 2n
      if (await this.#canUse(middle)) low = middle
      else high = middle
    }
    return low
  }

  async #canUse(gas: bigint): Promise<boolean> {
    const least = Hex.fromQuantity(gas - CREATION_GAS)
      .slice(2)
      .padStart(8, '0')
    try {
      await this.ask('eth_estimateGas', { data: `0x63${least}5a10600b57005bfe` }) // PUSH4 least GAS LT PUSH1 11 JUMPI STOP JUMPDEST INVALID
      return true
    } catch (error) {
      if (error instanceof RpcError) return false
      throw error
    }
  }

  /** `null` without code. */
  async codeHash(address: Address): Promise<Hash | null> {
    const code = await this.code(address)
    if (code === '0x') return null
    const known = this.#codeHashes.get(code)
    if (known !== undefined) return known
    const hash = Hash.keccak(Hex.toBytes(code))
    this.#codeHashes.set(code, hash)
    if (this.#codeHashes.size > KNOWN_CODES) this.#codeHashes.delete(this.#codeHashes.keys().next().value!) // it is not empty
    return hash
  }

  /** Simulates a bundle. Returns `null` if the EntryPoint accepts it, even if calls of the accounts revert. */
  async handleOps(
    entryPoint: EntryPoint,
    operations: readonly UserOperation[],
    bundler: Address,
    overrides: Overrides = {},
  ): Promise<Failure | null> {
    const data = entryPoint.handleOps(operations, bundler)
    const gas = Hex.fromQuantity(bundleGas(entryPoint, operations, data.length))
    try {
      await this.#call({ from: bundler, to: entryPoint.address, data: Hex.fromBytes(data), gas }, overrides)
      return null
    } catch (error) {
      const revertData = revertDataOf(error)
      if (!(error instanceof RpcError) || (revertData === null && error.code !== CODE.server)) throw error
      return handleOpsFailure(revertData, error.message)
    }
  }

  /** Runs calls from the EntryPoint's address one after the other on one state. */
  async simulateCalls(
    { address }: EntryPoint,
    calls: readonly SimulatedCall[],
    overrides: Overrides = {},
  ): Promise<readonly SimulatedCallResult[]> {
    const entryPointCode = this.#codes.get(address) ?? (await this.code(address))
    this.#codes.set(address, entryPointCode)
    const simulated = mergeOverrides(overrides, { [address]: { code: SIMULATOR_CODE }, [ENTRY_POINT_CODE]: { code: entryPointCode } })
    const call = { from: SIMULATOR_CALLER, to: address, data: SimulatedCalls.encode(calls), gas: SIMULATION_GAS }
    const answer = schema.bytes.parse(await this.#call(call, simulated), 'eth_call')
    try {
      return SimulatedCalls.decode(answer, calls.length)
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
      throw refuse('server', `the node ignores state overrides in eth_call, which simulations require: ${error.message}`)
    }
  }

  #call(call: Readonly<Record<string, string>>, overrides: Overrides): Promise<unknown> {
    const more = Object.keys(overrides).length === 0 ? [] : [overrides]
    return this.ask('eth_call', call, 'pending', ...more)
  }
}

/** The GasPriceOracle predeploy of the OP stack, which computes the L1 data fee. */
export const GAS_PRICE_ORACLE = Address.from('0x420000000000000000000000000000000000000f')
/** Gas limit of the deposit transaction with which each block of the OP stack begins. */
const L1_ATTRIBUTES_GAS = 1_000_000n
/** The least gas of a transaction that creates a contract. */
const CREATION_GAS = 53_000n

const GET_NONCE = Abi.selector('getNonce(address,uint192)')
const SIMULATION_GAS = Hex.fromQuantity(45_000_000)

export function maximum(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
