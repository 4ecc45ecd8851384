import { Abi, Address, Bytes, ENTRY_POINTS, Hash, Hex } from '../eth/index.ts'
import artifact from './paymasters.json' with { type: 'json' }
import { SPONSORED_VERSIONS } from './sponsoredversion.ts'
import type { SponsoredVersion } from './sponsoredversion.ts'

/** The deployment of an EntryPoint version's paymaster: a call of `deployer` with `data`, from any account. */
export interface SponsorDeployment {
  readonly version: SponsoredVersion
  readonly entryPoint: Address
  /** the same on every chain */
  readonly address: Address
  readonly deployer: Address
  /** salt ‖ creation code ‖ owner and signer */
  readonly data: Uint8Array
}

/** Returns the paymasters of this owner and signer, the newest version first. Both are part of the code and thus of the address. */
export function sponsorDeployments(owner: Address, signer: Address): readonly SponsorDeployment[] {
  return SPONSORED_VERSIONS.map((version) => deploymentOf(version, owner, signer))
}

function deploymentOf(version: SponsoredVersion, owner: Address, signer: Address): SponsorDeployment {
  const found = artifact.paymasters.find((each) => each.version === version)
  if (found === undefined) throw new Error(`no paymaster was built for EntryPoint ${version}`)
  const code = Bytes.concat([Hex.toBytes(found.initCode), Abi.encode([owner, signer])])
  const deployer = Address.from(artifact.deployer)
  const salt = Hash.from(artifact.salt)
  return {
    version,
    entryPoint: ENTRY_POINTS[version],
    address: Address.create2(deployer, salt, code),
    deployer,
    data: Bytes.concat([Hash.toBytes(salt), code]),
  }
}

const DEPOSIT_TO = Abi.selector('depositTo(address)')

/** Returns the call of the EntryPoint that raises a paymaster's deposit, from any account. */
export function depositCall({ entryPoint, address }: SponsorDeployment): { readonly to: Address; readonly data: Uint8Array } {
  return { to: entryPoint, data: Abi.call(DEPOSIT_TO, [address]) }
}
