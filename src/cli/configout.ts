import { writeFileSync } from 'node:fs'
import type { Pocketchain } from '../index.ts'
import type { DevKeys } from './devkeys.ts'
import { CommandError, EXIT } from './exit.ts'

/** Writes the seven keys that anvil writes, for scripts that read them. The file is for its owner only: it may hold keys. */
export function writeConfig(path: string, node: Pocketchain, keys: DevKeys): void {
  const { header } = node.chain.genesis
  const baseFee = header.baseFeePerGas ?? 0n
  const config = {
    available_accounts: keys.addresses,
    private_keys: keys.secrets?.privateKeys ?? [],
    wallet: { derivation_path: `${keys.path}/`, mnemonic: keys.secrets?.mnemonic ?? null },
    base_fee: String(baseFee),
    gas_price: String(baseFee + TIP),
    gas_limit: String(node.chain.gasLimit),
    genesis_timestamp: String(header.timestamp),
  }
  try {
    writeFileSync(path, `${JSON.stringify(config, null, 2)}\n`, { mode: 0o600 })
  } catch (error) {
    throw new CommandError(EXIT.failed, `--config-out ${path} cannot be written: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** What eth_gasPrice adds to the base fee. */
const TIP = 1_000_000n
