import { Address, USDC } from '../../eth/index.ts'
import { DELEGATE, delegateName } from '../delegate.ts'
import type { Account } from '../keys/keyring.ts'

/** An account of the wallet, whose name is shown for its address. */
export type AccountName = Pick<Account, 'address' | 'name'>

export const PERMIT2 = Address.from('0x000000000022d473030f116ddee9f6b43ac78ba3')

/** Addresses without a known key. */
export const BURNS: ReadonlySet<Address> = new Set(
  [
    '0x0000000000000000000000000000000000000000',
    '0x000000000000000000000000000000000000dead',
    '0xdead000000000000000000000000000000000000',
    '0xffffffffffffffffffffffffffffffffffffffff',
  ].map((address) => Address.from(address)),
)

/** The label of a known address, such as `your account 2` or `Multicall3`; null if unknown. */
export function labelOf(address: Address, chainId: number, accounts: readonly AccountName[]): string | null {
  const own = accounts.find((account) => account.address === address)
  if (own !== undefined) return `your ${own.name.replace(/^Account/, 'account')}`
  return EVERYWHERE.get(address) ?? delegateName(address) ?? ON_CHAIN.get(`${chainId} ${address}`) ?? null
}

/** Addresses that are equal on every chain: CREATE2 deployments, precompiles and conventions. */
const EVERYWHERE: ReadonlyMap<Address, string> = table([
  ['0x0000000000000000000000000000000000000000', 'the zero address'],
  ['0x000000000000000000000000000000000000dead', 'a burn address'],
  ['0xdead000000000000000000000000000000000000', 'a burn address'],
  ['0x0000000000000000000000000000000000000001', 'precompile ecrecover'],
  ['0x0000000000000000000000000000000000000002', 'precompile sha256'],
  ['0x0000000000000000000000000000000000000004', 'precompile identity'],
  [DELEGATE.deployer, 'CREATE2 deployer'],
  ['0xca11bde05977b3631167028862be2a173976ca11', 'Multicall3'],
  [PERMIT2, 'Permit2'],
  ['0x5ff137d4b0fdcd49dca30c7cf57e578a026d2789', 'EntryPoint 0.6'],
  ['0x0000000071727de22e5e9d8baf0edac6f37da032', 'EntryPoint 0.7'],
  ['0x4337084d9e255ff0702461cf8895ce9e3b5ff108', 'EntryPoint 0.8'],
  ['0x433709009b8330fda32311df1c2afa402ed8d009', 'EntryPoint 0.9'],
  ['0x914d7fec6aac8cd542e72bca78b30650d45643d7', 'Safe singleton factory'],
  ['0xba5ed099633d3b313e4d5f7bdc1305d3c28ba5ed', 'CreateX'],
  ['0x13b0d85ccb8bf860b6b79af3029fca081ae9bef2', 'Create2Deployer'],
  ['0x00000000000000adc04c56bf30ac9d3c0aaf14dc', 'Seaport 1.5'],
  ['0x0000000000000068f116a894984e2db1123eb395', 'Seaport 1.6'],
  ['0x63c0c19a282a1b52b07dd5a65b58948a07dae32b', 'MetaMask delegator'],
  ['0x000f3df6d732807ef1319fb7b8bb8522d0beac02', 'beacon roots (EIP-4788)'],
  ['0x0000f90827f1c53a10cb7a02335b175320002935', 'block hashes (EIP-2935)'],
  ['0x4200000000000000000000000000000000000006', 'WETH9'],
  ['0x4200000000000000000000000000000000000007', 'L2CrossDomainMessenger'],
  ['0x420000000000000000000000000000000000000f', 'GasPriceOracle'],
  ['0x4200000000000000000000000000000000000010', 'L2StandardBridge'],
  ['0x4200000000000000000000000000000000000011', 'SequencerFeeVault'],
  ['0x4200000000000000000000000000000000000012', 'OptimismMintableERC20Factory'],
  ['0x4200000000000000000000000000000000000014', 'L2ERC721Bridge'],
  ['0x4200000000000000000000000000000000000015', 'L1Block'],
  ['0x4200000000000000000000000000000000000016', 'L2ToL1MessagePasser'],
])

/** Deployments of single chains. */
const ON_CHAIN: ReadonlyMap<string, string> = new Map(
  (
    [
      [1, '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2', 'WETH9'],
      [1, '0x7a250d5630b4cf539739df2c5dacb4c659f2488d', 'Uniswap V2 router'],
      [1, '0xe592427a0aece92de3edee1f18e0157c05861564', 'Uniswap V3 router'],
      [1, '0x68b3465833fb72a70ecdf485e0e4c7bd8665fc45', 'Uniswap router 02'],
      [1, '0x66a9893cc07d91d95644aedd05d03f95e1dba8af', 'Uniswap universal router'],
      [10, '0xe592427a0aece92de3edee1f18e0157c05861564', 'Uniswap V3 router'],
      [10, '0x68b3465833fb72a70ecdf485e0e4c7bd8665fc45', 'Uniswap router 02'],
      [8453, '0x4752ba5dbc23f44d87826276bf6fd6b1c372ad24', 'Uniswap V2 router'],
      [8453, '0x2626664c2603336e57b271c5c0b26f421741e481', 'Uniswap router 02'],
      [8453, '0x6ff5693b99212da76ad316178a184ab56d299b43', 'Uniswap universal router'],
      [8453, USDC, 'USD Coin'],
    ] as const
  ).map(([chainId, address, name]) => [`${chainId} ${address}`, name]),
)

function table(rows: readonly (readonly [string, string])[]): ReadonlyMap<Address, string> {
  return new Map(rows.map(([address, name]) => [Address.from(address), name]))
}
