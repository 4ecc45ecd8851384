import { writeFileSync } from 'node:fs'
import type { Pocketchain } from '../index.ts'
import type { DevKeys } from './devkeys.ts'
import { CommandError, EXIT } from './exit.ts'

/** Writes the seven JSON keys of anvil's file. Mode 0600, because it may contain private keys. */
export async function writeConfig(path: string, node: Pocketchain, keys: DevKeys): Promise<void> {
  const { header } = node.chain.genesis
  const config = {
    available_accounts: keys.addresses,
    private_keys: keys.secrets?.privateKeys ?? [],
    wallet: { derivation_path: `${keys.path}/`, mnemonic: keys.secrets?.mnemonic ?? null },
    base_fee: String(header.baseFeePerGas ?? 0n),
    gas_price: String(await gasPrice(node)),
    gas_limit: String(node.chain.gasLimit),
    genesis_timestamp: String(header.timestamp),
  }
  try {
    writeFileSync(path, `${JSON.stringify(config, null, 2)}\n`, { mode: 0o600 })
  } catch (error) {
    throw new CommandError(EXIT.failed, `--config-out ${path} cannot be written: ${error instanceof Error ? error.message : String(error)}`)
  }
}

async function gasPrice({ request }: Pocketchain): Promise<bigint> {
  return BigInt(String(await request({ method: 'eth_gasPrice' })))
}
