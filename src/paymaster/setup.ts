import { Address, Hex } from '../eth/index.ts'
import type { EntryPointVersion, Hash, PrivateKey } from '../eth/index.ts'
import { CODE, RpcError } from '../jsonrpc/index.ts'
import { depositCall } from './deployment.ts'
import type { SponsorDeployment } from './deployment.ts'
import { SET_UP_MS, SET_UP_POLL_MS } from './limits.ts'
import type { SponsorNode, OwnerCall } from './node.ts'

export interface SetUpOptions {
  readonly owner: { readonly address: Address; readonly key: PrivateKey }
  readonly deployments: readonly SponsorDeployment[]
  /** wei that a paymaster gets when it is deployed */
  readonly depositWei: bigint
}

/** Puts the sponsor's paymasters on a chain that lacks them, each when it is first asked for. The owner's account pays. */
export class SetUp {
  readonly #node: SponsorNode
  readonly #owner: SetUpOptions['owner']
  readonly #deployments: ReadonlyMap<EntryPointVersion, SponsorDeployment>
  readonly #depositWei: bigint
  /** what has been seen to stand */
  readonly #standing = new Set<EntryPointVersion>()
  readonly #underWay = new Map<EntryPointVersion, Promise<void>>()
  /** transactions of one account go one after the other */
  #turn: Promise<unknown> = Promise.resolve()

  constructor(node: SponsorNode, { owner, deployments, depositWei }: SetUpOptions) {
    this.#node = node
    this.#owner = owner
    this.#deployments = new Map(deployments.map((each) => [each.version, each]))
    this.#depositWei = depositWei
  }

  /** When it stands. Throws NotDeployed when the owner cannot pay or the chain lacks what is needed, and when it takes too long. */
  async ensure(version: EntryPointVersion): Promise<void> {
    if (this.#standing.has(version)) return
    let deploying = this.#underWay.get(version)
    if (deploying === undefined) {
      deploying = this.#inTurn(() => this.#deploy(this.of(version))).finally(() => this.#underWay.delete(version))
      this.#underWay.set(version, deploying)
    }
    await deploying
    this.#standing.add(version)
  }

  /** False: a chain that went back has lost it. */
  async stillStands(version: EntryPointVersion): Promise<boolean> {
    const stands = await this.#node.hasCode(this.of(version).address)
    if (!stands) this.#standing.delete(version)
    return stands
  }

  /** It has been seen to stand. */
  isStanding(version: EntryPointVersion): boolean {
    return this.#standing.has(version)
  }

  of(version: EntryPointVersion): SponsorDeployment {
    return this.#deployments.get(version) as SponsorDeployment // there is one for each version
  }

  /** Raises a deposit, and deploys before when it has to. Answers when the transaction was taken. Throws NotDeployed. */
  async deposit(version: EntryPointVersion, wei: bigint): Promise<Hash> {
    const deployment = this.of(version)
    await this.ensure(version)
    return this.#inTurn(async () => {
      const [hash] = await this.#send(deployment, [{ ...depositCall(deployment), value: wei, gas: DEPOSIT_GAS }])
      return hash as Hash // one call, one hash
    })
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work)
    this.#turn = result.catch(() => undefined)
    return result
  }

  async #deploy(deployment: SponsorDeployment): Promise<void> {
    const { address, deployer, entryPoint, data, version } = deployment
    const [stands, hasDeployer, hasEntryPoint] = await Promise.all([address, deployer, entryPoint].map((each) => this.#node.hasCode(each)))
    if (stands === true) return
    if (hasEntryPoint !== true) throw this.#notDeployed(deployment, `there is no EntryPoint ${version} at ${entryPoint} on this chain`)
    if (hasDeployer !== true)
      throw this.#notDeployed(deployment, `the CREATE2 deployer ${deployer}, with which it is deployed, has no code on this chain`)
    // Both at once: a paymaster without a deposit would be a sponsor that cannot pay.
    const hashes = await this.#send(deployment, [
      { to: deployer, data, value: 0n, gas: DEPLOYMENT_GAS },
      ...(this.#depositWei === 0n ? [] : [{ ...depositCall(deployment), value: this.#depositWei, gas: DEPOSIT_GAS }]),
    ])
    await this.#included(deployment, hashes)
    if (await this.#node.hasCode(address)) return
    throw this.#notDeployed(deployment, `the transaction ${hashes[0]} that deploys it was included and failed`)
  }

  async #send(deployment: SponsorDeployment, calls: readonly OwnerCall[]): Promise<readonly Hash[]> {
    const { address, key } = this.#owner
    const [balance, { maxFeePerGas }] = await Promise.all([this.#node.balance(address), this.#node.fees()])
    const wei = calls.reduce((sum, { value, gas }) => sum + value + gas * maxFeePerGas, 0n)
    if (balance < wei) throw this.#notDeployed(deployment, poor(address, balance, wei), { account: address, wei: Hex.fromQuantity(wei) })
    try {
      return await this.#node.send(calls, key)
    } catch (error) {
      if (error instanceof RpcError)
        throw this.#notDeployed(deployment, `the node refused a transaction of ${address}: ${error.message}`, { account: address })
      throw error
    }
  }

  async #included(deployment: SponsorDeployment, hashes: readonly Hash[]): Promise<void> {
    for (let waitedMs = 0; waitedMs < SET_UP_MS; waitedMs += SET_UP_POLL_MS) {
      const included = await Promise.all(hashes.map((hash) => this.#node.isIncluded(hash)))
      if (included.every(Boolean)) return
      await new Promise((resolve) => setTimeout(resolve, SET_UP_POLL_MS))
    }
    throw this.#notDeployed(deployment, `its transactions (${hashes.join(', ')}) wait to be included; ask again when they are`)
  }

  #notDeployed({ version, address, entryPoint }: SponsorDeployment, why: string, more: object = {}): NotDeployed {
    const message = `the sponsor's paymaster for EntryPoint ${version} (${Address.checksum(address)}) is not deployed on this chain: ${why}`
    return new NotDeployed(message, { reason: 'not-deployed', paymaster: address, entryPoint, ...more })
  }
}

function poor(owner: Address, balance: bigint, wei: bigint): string {
  return `${Address.checksum(owner)}, which pays for it, has ${balance} wei and needs ${wei} wei: send it some ether`
}

/** The three take 1.1 to 1.3 million. */
const DEPLOYMENT_GAS = 2_500_000n
const DEPOSIT_GAS = 120_000n

/** `data.reason` is not-deployed; `data.account` and `data.wei` say which account needs how much, when that is why. */
export class NotDeployed extends RpcError {
  constructor(message: string, data: Readonly<Record<string, unknown>>) {
    super(CODE.server, message, data)
    this.name = 'NotDeployed'
  }
}
