import { onTestFinished } from 'vitest'
import { ManualClock } from '../chain/index.ts'
import { Abi, Address, Bytes, Hash, Hex, Secp256k1, UserOperation, entryPoint } from '../eth/index.ts'
import type { EntryPoint, PrivateKey } from '../eth/index.ts'
import { createPocketchain } from '../index.ts'
import type { Pocketchain, PocketchainOptions } from '../index.ts'
import { memoryRecords, schema } from '../jsonrpc/index.ts'
import type { Records, Rpc, RpcRequest } from '../jsonrpc/index.ts'
import { depositCall, sponsorDeployments } from './deployment.ts'
import { Ledger } from './ledger.ts'
import type { Entry, LedgerOptions, ProcessedBlock } from './ledger.ts'
import { parsePolicies } from './policyschema.ts'
import type { Policy } from './policy.ts'
import { Settlement } from './settlement.ts'
import { PaymasterData } from './signer.ts'

export const ETHER = 10n ** 18n
const GWEI = 10n ** 9n
const EP: EntryPoint = entryPoint('0.8')
const OWNER = keyOf('owner')
const SIGNER = keyOf('signer')
/** EIP-7702: its code is the PocketAccount of the default genesis. */
const DELEGATED = '0xef010010ae3b7839ec82ecddb62bf98924f914233d05fd'
const BENEFICIARY = Address.from(`0x${'be'.repeat(20)}`)
const [DEPLOYMENT] = sponsorDeployments(Secp256k1.address(OWNER), Secp256k1.address(SIGNER))
if (DEPLOYMENT === undefined) throw new Error('there is no paymaster for 0.8')
export const PAYMASTER = DEPLOYMENT.address
export const START = 1_800_000_000

function keyOf(text: string): PrivateKey {
  return Hash.toBytes(Hash.ofText(text))
}

export interface Account {
  readonly key: PrivateKey
  readonly address: Address
}

/** A chain with a paymaster, accounts, a ledger and its settlement. */
export class Scene {
  readonly node: Pocketchain
  readonly clock: ManualClock
  readonly records: Records
  readonly errors: unknown[] = []
  ledger: Ledger
  settlement: Settlement

  static async open(options: PocketchainOptions = {}, records: Records = memoryRecords()): Promise<Scene> {
    const clock = new ManualClock(START * 1_000)
    const node = await createPocketchain({
      cadence: 'instant',
      clock,
      timestamp: START,
      wallet: false,
      bundler: false,
      sponsor: false,
      ...options,
    })
    const scene = new Scene(node, clock, records)
    onTestFinished(() => scene.close())
    await scene.sendAll([
      { to: DEPLOYMENT!.deployer, data: DEPLOYMENT!.data, value: 0n },
      { ...depositCall(DEPLOYMENT!), value: ETHER },
    ])
    await scene.settlement.start()
    return scene
  }

  private constructor(node: Pocketchain, clock: ManualClock, records: Records) {
    this.node = node
    this.clock = clock
    this.records = records
    this.ledger = new Ledger(records)
    this.settlement = this.watch()
  }

  /** Over another Rpc. */
  watch(rpc: Rpc = this.node, options: LedgerOptions = {}): Settlement {
    this.ledger = new Ledger(this.records, options)
    return (this.settlement = this.watcher(this.ledger, rpc))
  }

  /** In addition to the scene's own. */
  watcher(ledger: Ledger, rpc: Rpc = this.node, onHead: (head: ProcessedBlock) => void = () => {}): Settlement {
    return new Settlement({
      rpc,
      ledger,
      chainId: 31_337,
      entryPoints: [EP.address],
      paymasters: [PAYMASTER],
      onError: (error) => this.errors.push(error),
      onHead,
    })
  }

  /** Simulates the end of the process: nothing more is written. */
  async restart(rpc: Rpc = this.node): Promise<void> {
    await this.settlement.close()
    await this.watch(rpc).start()
  }

  async close(): Promise<void> {
    await this.settlement.close()
    await this.node.close()
  }

  request(method: string, ...params: readonly unknown[]): Promise<unknown> {
    return this.node.request({ method, params })
  }

  async mine(count = 1, seconds?: number): Promise<void> {
    await this.request('anvil_mine', count, ...(seconds === undefined ? [] : [seconds]))
  }

  async head(): Promise<{ readonly number: number; readonly timestamp: number }> {
    return HEAD.parse(await this.request('eth_getBlockByNumber', 'latest', false), 'block')
  }

  async now(): Promise<number> {
    return HEAD.parse(await this.request('eth_getBlockByNumber', 'pending', false), 'block').timestamp
  }

  deposit(): Promise<bigint> {
    return this.#read(Abi.call(BALANCE_OF, [PAYMASTER]))
  }

  /** Creates a delegating account without ether. */
  async account(name: string): Promise<Account> {
    const key = keyOf(`account ${name}`)
    const address = Secp256k1.address(key)
    await this.request('anvil_setCode', address, DELEGATED)
    return { key, address }
  }

  async sendAll(calls: readonly { readonly to: Address; readonly data: Uint8Array; readonly value: bigint }[]): Promise<void> {
    const from = this.node.accounts[0]?.address
    for (const { to, data, value } of calls)
      await this.request('eth_sendTransaction', { from, to, data: Hex.fromBytes(data), value: Hex.fromQuantity(value), gas: '0x4c4b40' })
    if ((await this.request('eth_getCode', PAYMASTER, 'latest')) === '0x') await this.mine()
  }

  /** Reserves and signs, as the service does. */
  async grant(
    { key, address: sender }: Account,
    { nonce, policies = ANY, fee = 2n * GWEI, validForSeconds = 300 }: GrantOptions = {},
  ): Promise<{ readonly operation: UserOperation; readonly entry: Entry }> {
    const draft = await this.#draft(sender, nonce, fee)
    const now = await this.now()
    const domain = { version: '0.8', chainId: 31_337, paymaster: PAYMASTER } as const
    const paymasterData = PaymasterData.sign(draft, domain, now + validForSeconds, SIGNER)
    const operation = signed({ ...draft, paymasterData }, key)
    const reservation = this.ledger.reserve(
      policies,
      {
        ...{
          chainId: 31_337,
          version: '0.8',
          entryPoint: EP.address,
          sender,
          nonce: draft.nonce,
          calls: [],
          unreadable: null,
          apiKey: null,
          policy: null,
          now,
        },
        maxCost: EP.prefundGas(draft) * draft.maxFeePerGas,
      },
      {
        paymaster: PAYMASTER,
        validUntil: now + validForSeconds,
        userOpHash: hashOf(operation),
        maxFeePerGas: draft.maxFeePerGas,
        maxPriorityFeePerGas: draft.maxPriorityFeePerGas,
      },
    )
    if (!reservation.isGranted) throw new Error(reservation.message)
    return { operation, entry: reservation.entry }
  }

  /** An operation that the account pays for. */
  async own({ key, address: sender }: Account, nonce?: bigint): Promise<UserOperation> {
    await this.request('anvil_setBalance', sender, Hex.fromQuantity(ETHER))
    const draft = await this.#draft(sender, nonce, 2n * GWEI)
    return signed({ ...draft, paymaster: null, paymasterVerificationGasLimit: 0n }, key)
  }

  /** Sends a bundle. */
  async bundle(...operations: readonly UserOperation[]): Promise<void> {
    await this.sendAll([{ to: EP.address, data: EP.handleOps(operations, BENEFICIARY), value: 0n }])
  }

  of({ id }: Entry): Entry | undefined {
    return this.ledger.entries().entries.find((entry) => entry.id === id)
  }

  async #draft(sender: Address, nonce: bigint | undefined, fee: bigint): Promise<UserOperation> {
    return UserOperation.of({
      sender,
      nonce: nonce ?? (await this.#read(Abi.call(GET_NONCE, [sender, 0n]))),
      callGasLimit: 50_000n,
      verificationGasLimit: 150_000n,
      preVerificationGas: 60_000n,
      maxFeePerGas: fee,
      maxPriorityFeePerGas: GWEI,
      paymaster: PAYMASTER,
      paymasterVerificationGasLimit: 100_000n,
    })
  }

  async #read(data: Uint8Array): Promise<bigint> {
    return schema.quantity.parse(await this.request('eth_call', { to: EP.address, data: Hex.fromBytes(data) }, 'pending'), 'eth_call')
  }
}

interface GrantOptions {
  /** the account's next one */
  readonly nonce?: bigint
  readonly policies?: readonly Policy[]
  /** wei per gas */
  readonly fee?: bigint
  readonly validForSeconds?: number
}

const ANY = parsePolicies([{ name: 'everything' }])
const HEAD = schema.object({ number: schema.quantityNumber, timestamp: schema.quantityNumber })
const BALANCE_OF = Abi.selector('balanceOf(address)')
const GET_NONCE = Abi.selector('getNonce(address,uint192)')

function hashOf(operation: UserOperation): Hash {
  return UserOperation.hash(operation, { version: '0.8', entryPoint: EP.address, chainId: 31_337 })
}

function signed(operation: UserOperation, key: PrivateKey): UserOperation {
  const { r, s, yParity } = Secp256k1.sign(hashOf(operation), key)
  const words = [r, s].map((word) => Hash.toBytes(Hash.fromBigint(word)))
  return { ...operation, signature: Bytes.concat([...words, Uint8Array.of(27 + yParity)]) }
}

/** An Rpc whose responses `over` may replace or delay. */
export function between(node: Rpc, over: (request: RpcRequest, forward: () => Promise<unknown>) => Promise<unknown>): Rpc {
  return { request: (request) => over(request, () => node.request(request)), subscribe: node.subscribe }
}
