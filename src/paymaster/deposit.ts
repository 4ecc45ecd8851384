import { Address } from '../eth/index.ts'
import type { EntryPointVersion } from '../eth/index.ts'
import type { SponsorDeployment } from './deployment.ts'
import { LOW_DEPOSIT } from './limits.ts'
import type { SponsorNode } from './node.ts'

export interface DepositWatchOptions {
  readonly deployments: readonly SponsorDeployment[]
  /** wei that a paymaster may still have to pay */
  readonly reservedOf: (paymaster: Address) => bigint
  /** gets a line when a deposit becomes low: once, until it is not low any more */
  readonly onLow: (line: string) => void
}

export interface DepositNow {
  /** wei in the EntryPoint */
  readonly deposit: bigint
  readonly reserved: bigint
  /** below LOW_DEPOSIT, or below what is reserved */
  readonly isLow: boolean
}

/** What the paymasters have in their EntryPoints, looked at with every request and every block. */
export class DepositWatch {
  readonly #node: SponsorNode
  readonly #options: DepositWatchOptions
  readonly #low = new Set<EntryPointVersion>()

  constructor(node: SponsorNode, options: DepositWatchOptions) {
    this.#node = node
    this.#options = options
  }

  /** Rejects when the node does not answer. */
  async read(deployment: SponsorDeployment): Promise<DepositNow> {
    const deposit = await this.#node.deposit(deployment.entryPoint, deployment.address)
    const reserved = this.#options.reservedOf(deployment.address)
    return { deposit, reserved, isLow: deposit < LOW_DEPOSIT || deposit < reserved }
  }

  /** As `read`, of a paymaster that is in use: tells when it is low. */
  async watch(deployment: SponsorDeployment): Promise<DepositNow> {
    const now = await this.read(deployment)
    this.#report(deployment, now)
    return now
  }

  /** What is not in use is nobody's worry. */
  async look(isUsed: (version: EntryPointVersion) => boolean): Promise<void> {
    await Promise.all(this.#options.deployments.filter(({ version }) => isUsed(version)).map((each) => this.watch(each)))
  }

  #report({ version, address }: SponsorDeployment, { deposit, reserved, isLow }: DepositNow): void {
    if (!isLow) this.#low.delete(version)
    if (!isLow || this.#low.has(version)) return
    this.#low.add(version)
    this.#options.onLow(
      `the deposit of the sponsor's paymaster for EntryPoint ${version} (${Address.checksum(address)}) is low: ${deposit} wei, of which ${reserved} wei are reserved; pocketchain_sponsorDeposit raises it`,
    )
  }
}
