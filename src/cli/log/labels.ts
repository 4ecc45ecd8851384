import { Address, ENTRY_POINTS } from '../../eth/index.ts'

/** Names of the addresses that every chain of this node has. */
const LABELS: ReadonlyMap<Address, string> = new Map(
  [
    ['0x0000000000000000000000000000000000000001', 'ecrecover'],
    ['0x0000000000000000000000000000000000000002', 'sha256'],
    ['0x0000000000000000000000000000000000000003', 'ripemd160'],
    ['0x0000000000000000000000000000000000000004', 'identity'],
    ['0x0000000000000000000000000000000000000005', 'modexp'],
    ['0x0000000000000000000000000000000000000006', 'ecadd'],
    ['0x0000000000000000000000000000000000000007', 'ecmul'],
    ['0x0000000000000000000000000000000000000008', 'ecpairing'],
    ['0x0000000000000000000000000000000000000009', 'blake2f'],
    ['0x000000000000000000000000000000000000000a', 'pointEvaluation'],
    ['0x0000000000000000000000000000000000000100', 'p256verify'],
    ['0x4200000000000000000000000000000000000006', 'WETH9'],
    ['0x4200000000000000000000000000000000000007', 'L2CrossDomainMessenger'],
    ['0x420000000000000000000000000000000000000f', 'GasPriceOracle'],
    ['0x4200000000000000000000000000000000000010', 'L2StandardBridge'],
    ['0x4200000000000000000000000000000000000015', 'L1Block'],
    ['0x4200000000000000000000000000000000000016', 'L2ToL1MessagePasser'],
    ['0x000000000022d473030f116ddee9f6b43ac78ba3', 'Permit2'],
    ['0xca11bde05977b3631167028862be2a173976ca11', 'Multicall3'],
    ['0x4e59b44847b379578588920ca78fbf26c0b4956c', 'Create2Deployer'],
    ['0xba5ed099633d3b313e4d5f7bdc1305d3c28ba5ed', 'CreateX'],
    ...Object.entries(ENTRY_POINTS).map(([version, address]) => [address, `EntryPoint ${version}`] as const),
  ].map(([address = '', label = '']) => [Address.from(address), label]),
)

/** `WETH9` for a well-known address, otherwise the address in the letter case of its checksum. */
export function labelOf(address: string): string {
  const parsed = Address.from(address)
  return LABELS.get(parsed) ?? Address.checksum(parsed)
}
