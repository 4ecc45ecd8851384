import { ENTRY_POINTS } from './entrypoints.ts'

/** The sender of the transactions with the L1 attributes, in lower case. */
export const L1_ATTRIBUTES_DEPOSITOR = '0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001'

/** Names of well-known addresses of the default chain, by lower-case address. */
const NAMES: Readonly<Record<string, string>> = {
  '0x4200000000000000000000000000000000000006': 'WETH',
  '0x4200000000000000000000000000000000000007': 'L2CrossDomainMessenger',
  '0x420000000000000000000000000000000000000f': 'GasPriceOracle',
  '0x4200000000000000000000000000000000000010': 'L2StandardBridge',
  '0x4200000000000000000000000000000000000011': 'SequencerFeeVault',
  '0x4200000000000000000000000000000000000015': 'L1Block',
  '0x4200000000000000000000000000000000000016': 'L2ToL1MessagePasser',
  '0x4200000000000000000000000000000000000018': 'ProxyAdmin',
  '0x4200000000000000000000000000000000000019': 'BaseFeeVault',
  '0x420000000000000000000000000000000000001a': 'L1FeeVault',
  '0x420000000000000000000000000000000000001b': 'OperatorFeeVault',
  '0x4200000000000000000000000000000000000020': 'SchemaRegistry',
  '0x4200000000000000000000000000000000000021': 'EAS',
  [L1_ATTRIBUTES_DEPOSITOR]: 'L1 attributes depositor',
  ...Object.fromEntries(Object.entries(ENTRY_POINTS).map(([version, address]) => [address, `EntryPoint ${version}`])),
  '0xca11bde05977b3631167028862be2a173976ca11': 'Multicall3',
  '0x4e59b44847b379578588920ca78fbf26c0b4956c': 'CREATE2 deployer',
  '0x000000000022d473030f116ddee9f6b43ac78ba3': 'Permit2',
  '0x69f4d1788e39c87893c980c06edf4b7f686e2938': 'Safe 1.3.0',
  '0xfb1bffc9d739b8d520daf37df666da4c687191ea': 'SafeL2 1.3.0',
  '0xc22834581ebc8527d974f8a1c97e1bea4ef910bc': 'Safe proxy factory',
  '0x998739bfdaadde7c933b942a68053933098f9eda': 'MultiSend',
  '0xa1dabef33b3b82c7814b6d82a79e50f4ac44102b': 'MultiSendCallOnly',
  '0x000000000000000000636f6e736f6c652e6c6f67': 'console.log',
}

/** Returns the name of a well-known contract, or null. */
export function nameOf(address: string): string | null {
  return NAMES[address.toLowerCase()] ?? null
}

/** Returns the addresses whose name contains `text`, in any letter case. */
export function addressesNamed(text: string): readonly { readonly name: string; readonly address: string }[] {
  const wanted = text.toLowerCase()
  return Object.entries(NAMES).flatMap(([address, name]) => (name.toLowerCase().includes(wanted) ? [{ name, address }] : []))
}
