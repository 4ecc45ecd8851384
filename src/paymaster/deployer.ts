import { Address, Hex } from '../eth/index.ts'
import type { Hash, PrivateKey } from '../eth/index.ts'
import { CODE, RpcError } from '../jsonrpc/index.ts'
import { depositCall } from './deployment.ts'
import type { SponsorDeployment } from './deployment.ts'
import { DEPLOYMENT_TIMEOUT_MS, DEPLOYMENT_POLL_MS } from './limits.ts'
import type { SponsorNode, OwnerCall } from './node.ts'
import type { SponsoredVersion } from './sponsoredversion.ts'

interface DeployerOptions {
  readonly owner: { readonly address: Address; readonly key: PrivateKey }
  readonly deployments: readonly SponsorDeployment[]
  /** initial deposit of a paymaster, in wei */
  readonly depositWei: bigint
}

/** Deploys the sponsor's paymasters at their first use. The owner's account pays. */
export class PaymasterDeployer {
  readonly #node: SponsorNode
  readonly #owner: DeployerOptions['owner']
  readonly #deployments: ReadonlyMap<SponsoredVersion, SponsorDeployment>
  readonly #depositWei: bigint
  /** versions whose paymaster was seen on the chain */
  readonly #deployed = new Set<SponsoredVersion>()
  readonly #deploying = new Map<SponsoredVersion, Promise<void>>()
  /** orders the transactions of the owner's account */
  #lastTask: Promise<unknown> = Promise.resolve()

  constructor(node: SponsorNode, { owner, deployments, depositWei }: DeployerOptions) {
    this.#node = node
    this.#owner = owner
    this.#deployments = new Map(deployments.map((each) => [each.version, each]))
    this.#depositWei = depositWei
  }

  /**
   * Resolves once the paymaster is deployed. Throws NotDeployed if the owner cannot pay, the chain lacks a contract, or after
   * `DEPLOYMENT_TIMEOUT_MS`.
   */
  async ensureDeployed(version: SponsoredVersion): Promise<void> {
    if (this.#deployed.has(version)) return
    let deploying = this.#deploying.get(version)
    if (deploying === undefined) {
      deploying = this.#serialize(() => this.#deploy(this.of(version))).finally(() => this.#deploying.delete(version))
      this.#deploying.set(version, deploying)
    }
    await deploying
    this.#deployed.add(version)
  }

  /** Returns false if a reorg has removed the paymaster. */
  async isStillDeployed(version: SponsoredVersion): Promise<boolean> {
    const isDeployed = await this.#node.hasCode(this.of(version).address)
    if (!isDeployed) this.#deployed.delete(version)
    return isDeployed
  }

  /** Returns whether the paymaster was seen on the chain. */
  isDeployed(version: SponsoredVersion): boolean {
    return this.#deployed.has(version)
  }

  of(version: SponsoredVersion): SponsorDeployment {
    return this.#deployments.get(version) as SponsorDeployment // sponsorDeployments returns one for each version
  }

  /** Raises a deposit, after the deployment if necessary. Returns once the node has accepted the transaction. Throws NotDeployed. */
  async deposit(version: SponsoredVersion, wei: bigint): Promise<Hash> {
    const deployment = this.of(version)
    await this.ensureDeployed(version)
    return this.#serialize(async () => {
      const [hash] = await this.#send(deployment, [{ ...depositCall(deployment), value: wei, gas: DEPOSIT_GAS }])
      return hash as Hash // one call, one hash
    })
  }

  #serialize<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#lastTask.then(work)
    this.#lastTask = result.catch(() => undefined)
    return result
  }

  async #deploy(deployment: SponsorDeployment): Promise<void> {
    const { address, deployer, entryPoint, data, version } = deployment
    const [isDeployed, hasDeployer, hasEntryPoint] = await Promise.all(
      [address, deployer, entryPoint].map((each) => this.#node.hasCode(each)),
    )
    if (isDeployed === true) return
    if (hasEntryPoint !== true) throw this.#notDeployed(deployment, `there is no EntryPoint ${version} at ${entryPoint} on this chain`)
    if (hasDeployer !== true) throw this.#notDeployed(deployment, `the CREATE2 deployer ${deployer} has no code on this chain`)
    // Sent together, so that a deployed paymaster has a deposit.
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
    if (balance < wei)
      throw this.#notDeployed(deployment, insufficientFunds(address, balance, wei), { account: address, wei: Hex.fromQuantity(wei) })
    try {
      return await this.#node.send(calls, key)
    } catch (error) {
      if (error instanceof RpcError)
        throw this.#notDeployed(deployment, `the node refused a transaction of ${address}: ${error.message}`, { account: address })
      throw error
    }
  }

  async #included(deployment: SponsorDeployment, hashes: readonly Hash[]): Promise<void> {
    for (let waitedMs = 0; waitedMs < DEPLOYMENT_TIMEOUT_MS; waitedMs += DEPLOYMENT_POLL_MS) {
      const included = await Promise.all(hashes.map((hash) => this.#node.isIncluded(hash)))
      if (included.every(Boolean)) return
      await new Promise((resolve) => setTimeout(resolve, DEPLOYMENT_POLL_MS))
    }
    throw this.#notDeployed(deployment, `its transactions (${hashes.join(', ')}) are not included yet; send the request again later`)
  }

  #notDeployed({ version, address, entryPoint }: SponsorDeployment, why: string, more: object = {}): NotDeployed {
    const message = `the sponsor's paymaster for EntryPoint ${version} (${Address.checksum(address)}) is not deployed on this chain: ${why}`
    return new NotDeployed(message, { reason: 'not-deployed', paymaster: address, entryPoint, ...more })
  }
}

function insufficientFunds(owner: Address, balance: bigint, wei: bigint): string {
  return `${Address.checksum(owner)}, which pays for it, has ${balance} wei and needs ${wei} wei: send ether to it`
}

/** Deployments take 1.1 to 1.3 million gas. */
const DEPLOYMENT_GAS = 2_500_000n
const DEPOSIT_GAS = 120_000n

/** `data.reason` is not-deployed; `data.account` and `data.wei` name the account to fund, if that is the cause. */
export class NotDeployed extends RpcError {
  constructor(message: string, data: Readonly<Record<string, unknown>>) {
    super(CODE.server, message, data)
    this.name = 'NotDeployed'
  }
}
