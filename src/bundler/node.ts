import { Abi, DecodeError, Delegation, Hash, Hex } from '../eth/index.ts'
import type { Address, EntryPoint, UserOperation } from '../eth/index.ts'
import type { Rpc } from '../rpc/index.ts'
import { schema } from '../rpc/index.ts'
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

export interface BlockNow {
  readonly baseFee: bigint
  /** seconds */
  readonly timestamp: bigint
}

/** What the bundler asks the node: always of the block under construction, where what is promised has happened. */
export class NodeView {
  readonly #rpc: Rpc
  readonly #codes = new Map<Address, Hex>()
  #chainId: Promise<number> | null = null

  constructor(rpc: Rpc) {
    this.#rpc = rpc
  }

  ask(method: string, ...params: readonly unknown[]): Promise<unknown> {
    return this.#rpc.request({ method, params })
  }

  async quantity(method: string, ...params: readonly unknown[]): Promise<bigint> {
    return schema.quantity.parse(await this.ask(method, ...params), method)
  }

  chainId(): Promise<number> {
    this.#chainId ??= this.quantity('eth_chainId').then(Number)
    this.#chainId.catch(() => (this.#chainId = null))
    return this.#chainId
  }

  async now(): Promise<BlockNow> {
    const block = BLOCK.parse(await this.ask('eth_getBlockByNumber', 'pending', false), 'block')
    return { baseFee: block.baseFeePerGas ?? 0n, timestamp: block.timestamp }
  }

  async code(address: Address): Promise<Hex> {
    const code = await this.ask('eth_getCode', address, 'pending')
    return Hex.isHex(code) ? code : '0x'
  }

  /** What the account delegates to (EIP-7702); null: nothing. */
  async delegate(address: Address): Promise<Address | null> {
    return Delegation.ofText(await this.code(address))
  }

  /** Of a key, or of the whole nonce that the account has used last. */
  async nonce({ address }: EntryPoint, sender: Address, key: bigint): Promise<bigint> {
    const answer = await this.read(address, Abi.call(GET_NONCE, [sender, key]))
    return BigInt(Hex.fromBytes(answer.subarray(0, 32)))
  }

  async deposit({ address }: EntryPoint, holder: Address): Promise<bigint> {
    return BigInt(Hex.fromBytes((await this.read(address, Abi.call(BALANCE_OF, [holder]))).subarray(0, 32)))
  }

  async read(to: Address, data: Uint8Array, overrides: Overrides = {}): Promise<Uint8Array> {
    return bytesOf(await this.#call({ to, data: Hex.fromBytes(data) }, overrides))
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
    const answer = bytesOf(await this.#call(call, staged))
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

const { maybe, object, quantity } = schema
const BLOCK = object({ baseFeePerGas: maybe(quantity), timestamp: quantity })
const GET_NONCE = Abi.selector('getNonce(address,uint192)')
const BALANCE_OF = Abi.selector('balanceOf(address)')
const STEPS_GAS = Hex.fromQuantity(45_000_000)

function bytesOf(value: unknown): Uint8Array {
  return schema.bytes.parse(value, 'eth_call')
}

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
