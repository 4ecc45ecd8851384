import { Address } from '../eth/index.ts'
import type { SponsorDeployment } from './deployment.ts'
import { LOW_DEPOSIT } from './limits.ts'
import type { SponsorNode } from './node.ts'
import type { SponsoredVersion } from './sponsoredversion.ts'

interface DepositMonitorOptions {
  readonly deployments: readonly SponsorDeployment[]
  /** Returns the wei reserved for a paymaster. */
  readonly reservedOf: (paymaster: Address) => bigint
  /** receives a line once per deposit that becomes low */
  readonly onLow: (line: string) => void
}

interface DepositState {
  /** wei in the EntryPoint */
  readonly deposit: bigint
  readonly reserved: bigint
  /** below LOW_DEPOSIT, or below what is reserved */
  readonly isLow: boolean
}

/** Checks the paymasters' deposits in their EntryPoints, at each request and each block. */
export class DepositMonitor {
  readonly #node: SponsorNode
  readonly #options: DepositMonitorOptions
  readonly #low = new Set<SponsoredVersion>()

  constructor(node: SponsorNode, options: DepositMonitorOptions) {
    this.#node = node
    this.#options = options
  }

  /** Rejects when the node does not answer. */
  async read(deployment: SponsorDeployment): Promise<DepositState> {
    const deposit = await this.#node.deposit(deployment.entryPoint, deployment.address)
    const reserved = this.#options.reservedOf(deployment.address)
    return { deposit, reserved, isLow: deposit < LOW_DEPOSIT || deposit < reserved }
  }

  /** Reads the deposit of a paymaster in use and reports it if it is low. */
  async check(deployment: SponsorDeployment): Promise<DepositState> {
    const now = await this.read(deployment)
    this.#report(deployment, now)
    return now
  }

  /** Paymasters that are not deployed have no deposit to check. */
  async checkDeployed(isDeployed: (version: SponsoredVersion) => boolean): Promise<void> {
    await Promise.all(this.#options.deployments.filter(({ version }) => isDeployed(version)).map((each) => this.check(each)))
  }

  #report({ version, address }: SponsorDeployment, { deposit, reserved, isLow }: DepositState): void {
    if (!isLow) this.#low.delete(version)
    if (!isLow || this.#low.has(version)) return
    this.#low.add(version)
    this.#options.onLow(
      `the deposit of the sponsor's paymaster for EntryPoint ${version} (${Address.checksum(address)}) is low: ${deposit} wei, of which ${reserved} wei are reserved; pocketchain_sponsorDeposit raises it`,
    )
  }
}
