import { Abi, Address, Bytes, ENTRY_POINTS, Hash, Hex } from '../eth/index.ts'
import type { EntryPointVersion } from '../eth/index.ts'
import artifact from './paymasters.json' with { type: 'json' }

/** How the paymaster of an EntryPoint version comes to a chain: by a call of `deployer` with `data`, by anybody. */
export interface SponsorDeployment {
  readonly version: EntryPointVersion
  readonly entryPoint: Address
  /** the same on every chain */
  readonly address: Address
  readonly deployer: Address
  /** salt ‖ creation code ‖ owner and signer */
  readonly data: Uint8Array
}

/** The paymasters of these two, the newest version first. Another signer or owner has other ones, since both are part of the code. */
export function sponsorDeployments(owner: Address, signer: Address): readonly SponsorDeployment[] {
  return VERSIONS.map((version) => deploymentOf(version, owner, signer))
}

const VERSIONS: readonly EntryPointVersion[] = ['0.8', '0.7', '0.6']

function deploymentOf(version: EntryPointVersion, owner: Address, signer: Address): SponsorDeployment {
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

/** What the EntryPoint is called with, by whoever pays, to raise a paymaster's deposit. */
export function depositCall({ entryPoint, address }: SponsorDeployment): { readonly to: Address; readonly data: Uint8Array } {
  return { to: entryPoint, data: Abi.call(DEPOSIT_TO, [address]) }
}
