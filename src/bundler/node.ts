import { Abi, DecodeError, Hash, Hex } from '../eth/index.ts'
import type { Address, EntryPoint, UserOperation } from '../eth/index.ts'
import { NodeView, schema } from '../jsonrpc/index.ts'
import { refuse } from './errors.ts'
import { failureOf, revertDataOf } from './failure.ts'
import type { Failure } from './failure.ts'
import { STEPPED, STEPPER, STEPS_CODE, Steps } from './steps.ts'
import type { Step, Stepped } from './steps.ts'

/** geth's state override set: what a call is to find. */
export interface AccountOverride {
  readonly balance?: Hex
  readonly nonce?: Hex
  readonly code?: Hex
  readonly state?: Readonly<Record<string, Hex>>
  readonly stateDiff?: Readonly<Record<string, Hex>>
}
export type Overrides = Readonly<Record<string, AccountOverride>>

/** What the bundler asks the node. */
export class BundlerNode extends NodeView {
  readonly #codes = new Map<Address, Hex>()

  /** Of a key, or of the whole nonce that the account has used last. */
  async nonce({ address }: EntryPoint, sender: Address, key: bigint): Promise<bigint> {
    const answer = await this.read(address, Abi.call(GET_NONCE, [sender, key]))
    return BigInt(Hex.fromBytes(answer.subarray(0, 32)))
  }

  /** Runs a bundle without sending it. null: it would go through, whatever the accounts' own calls do. */
  async handleOps(
    entryPoint: EntryPoint,
    operations: readonly UserOperation[],
    bundler: Address,
    gas: bigint,
    overrides: Overrides = {},
  ): Promise<Failure | null> {
    const data = Hex.fromBytes(entryPoint.handleOps(operations, bundler))
    try {
      await this.#call({ from: bundler, to: entryPoint.address, data, gas: Hex.fromQuantity(gas) }, overrides)
      return null
    } catch (error) {
      const revertData = revertDataOf(error)
      if (revertData === null) throw error
      return failureOf(revertData) ?? { index: null, reason: 'the EntryPoint reverted without naming an operation', inner: revertData }
    }
  }

  /** Calls from the EntryPoint, one after the other in one state. */
  async steps({ address }: EntryPoint, steps: readonly Step[], overrides: Overrides = {}): Promise<readonly Stepped[]> {
    const own = this.#codes.get(address) ?? (await this.code(address))
    this.#codes.set(address, own)
    const staged = merged(overrides, { [address]: { code: STEPS_CODE }, [STEPPED]: { code: own } })
    const call = { from: STEPPER, to: address, data: Steps.encode(steps), gas: STEPS_GAS }
    const answer = schema.bytes.parse(await this.#call(call, staged), 'eth_call')
    try {
      return Steps.decode(answer, steps.length)
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
      throw refuse('server', `the node takes no state overrides in eth_call, without which nothing can be simulated: ${error.message}`)
    }
  }

  #call(call: Readonly<Record<string, string>>, overrides: Overrides): Promise<unknown> {
    const more = Object.keys(overrides).length === 0 ? [] : [overrides]
    return this.ask('eth_call', call, 'pending', ...more)
  }
}

const GET_NONCE = Abi.selector('getNonce(address,uint192)')
const STEPS_GAS = Hex.fromQuantity(45_000_000)

/** `over` wins, account by account and slot by slot. */
export function merged(under: Overrides, over: Overrides): Overrides {
  const result: Record<string, AccountOverride> = {}
  for (const [name, account] of [...Object.entries(under), ...Object.entries(over)]) {
    const key = name.toLowerCase()
    const before = result[key]
    const stateDiff = before?.state === undefined ? { ...before?.stateDiff, ...account.stateDiff } : {}
    const state = before?.state === undefined ? account.state : { ...before.state, ...account.stateDiff, ...account.state }
    const rest = { ...before, ...account }
    delete rest.state
    delete rest.stateDiff
    result[key] = {
      ...rest,
      ...(state === undefined ? undefined : { state }),
      ...(Object.keys(stateDiff).length === 0 || state !== undefined ? undefined : { stateDiff }),
    }
  }
  return result
}

/** The slot of `key` in the mapping at `slot`. */
export function mappingSlot(key: bigint, slot: Hash): Hash {
  return Hash.keccak(Hex.toBytes(`0x${Hex.fromBytes32(key).slice(2)}${slot.slice(2)}`))
}
