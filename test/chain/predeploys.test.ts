// Runs the code of the default genesis exactly as in the artifact; contracts/README.md lists the origin of each part.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Common, Hardfork, Mainnet } from '@ethereumjs/common'
import { type EVM, createEVM } from '@ethereumjs/evm'
import { Account, createAddressFromString, bytesToHex as hexOf, hexToBytes } from '@ethereumjs/util'
import {
  type Abi,
  type Address,
  type Hex,
  concat,
  decodeErrorResult,
  decodeFunctionResult,
  encodeAbiParameters,
  encodeFunctionData,
  encodePacked,
  getContractAddress,
  getCreate2Address,
  keccak256,
  parseAbi,
  parseAbiParameters,
  parseEther,
  parseSignature,
  serializeTransaction,
  toEventSelector,
  toHex,
  zeroAddress,
} from 'viem'
import { entryPoint06Abi, entryPoint07Abi, entryPoint08Abi } from 'viem/account-abstraction'
import { privateKeyToAccount } from 'viem/accounts'
import { beforeEach, describe, expect, it } from 'vitest'

interface Entry {
  readonly name: string
  readonly address: Address
  readonly nonce: number
  readonly code: Hex
  readonly codeHash?: Hex
  readonly storage?: Readonly<Record<Hex, Hex>>
}
interface Recipe {
  readonly name: string
  readonly address: Address
  readonly deployer: Address
  readonly salt: Hex
  readonly initCode: Hex
}
interface Artifact {
  readonly accounts: readonly Entry[]
  readonly create2: readonly Recipe[]
}

const ROOT = new URL('../..', import.meta.url)
// The shape is the build script's; `--check` below proves that the file is its output.
const artifact = JSON.parse(readFileSync(new URL('src/chain/genesis/predeploys.json', ROOT), 'utf8')) as Artifact

const ALICE = '0x00000000000000000000000000000000000a11ce'
const BOB = '0x0000000000000000000000000000000000000b0b'
const DEPOSITOR = '0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001'
const SYSTEM = '0xfffffffffffffffffffffffffffffffffffffffe'
const WETH = predeploy('06')
const MESSENGER = predeploy('07')
const ORACLE = predeploy('0f')
const BRIDGE = predeploy('10')
const L1_BLOCK = predeploy('15')
const PASSER = predeploy('16')
const L1_MESSENGER = '0x866e82a600a1414e583f7f13623f1ac5d58b0afa'
const L1_MESSENGER_ALIAS = '0x977f82a600a1414e583f7f13623f1ac5d58b1c0b'
const L1_BRIDGE = '0x3154cf16ccdb4c6d922629664174b904d80f2c35'
const CREATE2_DEPLOYER = '0x4e59b44847b379578588920ca78fbf26c0b4956c'
/** The last account of the standard mnemonic. */
const LAST_ACCOUNT = '0xa0ee7a142d267c1f36714e4a8f75612f20a79720'
const PERMIT2 = '0x000000000022d473030f116ddee9f6b43ac78ba3'

const erc20 = parseAbi([
  'function name() view returns (string)',
  'function symbol() view returns (string)',
  'function decimals() view returns (uint8)',
  'function totalSupply() view returns (uint256)',
  'function balanceOf(address) view returns (uint256)',
  'function allowance(address,address) view returns (uint256)',
  'function approve(address,uint256) returns (bool)',
  'function transfer(address,uint256) returns (bool)',
  'function transferFrom(address,address,uint256) returns (bool)',
  'function deposit() payable',
  'function withdraw(uint256)',
])
const l1Block = parseAbi([
  'function number() view returns (uint64)',
  'function timestamp() view returns (uint64)',
  'function basefee() view returns (uint256)',
  'function hash() view returns (bytes32)',
  'function sequenceNumber() view returns (uint64)',
  'function batcherHash() view returns (bytes32)',
  'function blobBaseFee() view returns (uint256)',
  'function baseFeeScalar() view returns (uint32)',
  'function blobBaseFeeScalar() view returns (uint32)',
  'function operatorFeeScalar() view returns (uint32)',
  'function operatorFeeConstant() view returns (uint64)',
  'function daFootprintGasScalar() view returns (uint16)',
])
const oracle = parseAbi([
  'function getL1Fee(bytes) view returns (uint256)',
  'function getL1GasUsed(bytes) view returns (uint256)',
  'function getL1FeeUpperBound(uint256) view returns (uint256)',
  'function getOperatorFee(uint256) view returns (uint256)',
  'function isFjord() view returns (bool)',
  'function isJovian() view returns (bool)',
  'function l1BaseFee() view returns (uint256)',
])
const messenger = parseAbi([
  'function relayMessage(uint256,address,address,uint256,uint256,bytes) payable',
  'function sendMessage(address,bytes,uint32) payable',
  'function messageNonce() view returns (uint256)',
  'function successfulMessages(bytes32) view returns (bool)',
  'function failedMessages(bytes32) view returns (bool)',
  'function baseGas(bytes,uint32) pure returns (uint64)',
])
const bridge = parseAbi([
  'function bridgeETHTo(address,uint32,bytes) payable',
  'function withdraw(address,uint256,uint32,bytes) payable',
  'function finalizeBridgeETH(address,address,uint256,bytes) payable',
  'function finalizeBridgeERC20(address,address,address,address,uint256,bytes)',
])
const passer = parseAbi([
  'function initiateWithdrawal(address,uint256,bytes) payable',
  'function messageNonce() view returns (uint256)',
  'function sentMessages(bytes32) view returns (bool)',
  'function burn()',
])

let chain: Machine

beforeEach(async () => {
  chain = await machine(31337)
})

describe('the artifact', () => {
  // solc takes half a minute on two busy cores.
  it('equals a rebuild from the sources', () => {
    const script = fileURLToPath(new URL('contracts/build.mjs', ROOT))
    expect(() => execFileSync(process.execPath, [script, '--check'], { stdio: 'pipe' })).not.toThrow()
  })

  it('names every address once, in lower case', () => {
    const addresses = artifact.accounts.map(({ address }) => address)
    expect(new Set(addresses).size).toBe(addresses.length)
    for (const address of addresses) expect(address).toMatch(/^0x[0-9a-f]{40}$/)
  })

  it('has the hash of each code', () => {
    for (const { code, codeHash } of artifact.accounts) expect(codeHash).toBe(code === '0x' ? undefined : keccak256(code))
  })

  // Safe's from npm:@safe-global/safe-deployments@1.37.56, version 1.3.0 of type eip155; ProxyAdmin's from the genesis of Base, those of EAS
  // from the genesis of World Chain, Lisk, Metal and Swan in the superchain registry; USDC's code comes from Circle's package, linked.
  it.each([
    ['0x4200000000000000000000000000000000000018', '0xaebd68b2a785d0af4b7e1f3e600efde438efa83b08f2ad8bcd9287322f396e5f'],
    ['0x4200000000000000000000000000000000000020', '0xeb6128493b861c32aa48ed0d5c17e97f73a4b6681faf125f14f2a86653bb21b1'],
    ['0x4200000000000000000000000000000000000021', '0x5e36b5b5ab2aef503c5000974d307c1af9c42ba40375bfce90f47867b6c1631b'],
    ['0x69f4d1788e39c87893c980c06edf4b7f686e2938', '0xbba688fbdb21ad2bb58bc320638b43d94e7d100f6f3ebaab0a4e4de6304b1c2e'],
    ['0xfb1bffc9d739b8d520daf37df666da4c687191ea', '0x21842597390c4c6e3c1239e434a682b054bd9548eee5e9b1d6a4482731023c0f'],
    ['0x998739bfdaadde7c933b942a68053933098f9eda', '0x81db0e4afdf5178583537b58c5ad403bd47a4ac7f9bde2442ef3e341d433126a'],
    ['0xa1dabef33b3b82c7814b6d82a79e50f4ac44102b', '0xa9865ac2d9c7a1591619b188c4d88167b50df6cc0c5327fcbd1c8c75f7c066ad'],
    ['0xc22834581ebc8527d974f8a1c97e1bea4ef910bc', '0x337d7f54be11b6ed55fef7b667ea5488db53db8320a05d1146aa4bd169a39a9b'],
    ['0x017062a1de2fe6b99be3d9d37841fed19f573804', '0x03e69f7ce809e81687c69b19a7d7cca45b6d551ffdec73d9bb87178476de1abf'],
    ['0x914d7fec6aac8cd542e72bca78b30650d45643d7', '0x2fa86add0aed31f33a762c9d88e807c475bd51d0f52bd0955754b2608f7e4989'],
    ['0x833589fcd6edb6e08f4c7c32d4f71b54bda02913', '0xae35e3eb201b751574eda9f9544d88ccc4fe7e87db04a2dcd8eee978be956309'],
  ])('has the published code at %s', (address, hash) => {
    const code = artifact.accounts.find((entry) => entry.address === address)?.code ?? '0x'
    expect(keccak256(code)).toBe(hash)
  })

  // Of the genesis files of Ink, Soneium and Unichain in the superchain registry, which start with these contracts; Base got the same code at the
  // same addresses later. Permit2 contains the chain id.
  it.each([
    ['MultiCall3', '0xca11bde05977b3631167028862be2a173976ca11', '0xd5c15df687b16f2ff992fc8d767b4216323184a2bbc6ee2f9c398c318e770891'],
    ['Create2Deployer', '0x13b0d85ccb8bf860b6b79af3029fca081ae9bef2', '0xb0550b5b431e30d38000efb7107aaa0ade03d48a7198a140edda9d27134468b2'],
    ['Safe_v130', '0x69f4d1788e39c87893c980c06edf4b7f686e2938', '0xbba688fbdb21ad2bb58bc320638b43d94e7d100f6f3ebaab0a4e4de6304b1c2e'],
    ['SafeL2_v130', '0xfb1bffc9d739b8d520daf37df666da4c687191ea', '0x21842597390c4c6e3c1239e434a682b054bd9548eee5e9b1d6a4482731023c0f'],
    ['MultiSend_v130', '0x998739bfdaadde7c933b942a68053933098f9eda', '0x81db0e4afdf5178583537b58c5ad403bd47a4ac7f9bde2442ef3e341d433126a'],
    [
      'MultiSendCallOnly_v130',
      '0xa1dabef33b3b82c7814b6d82a79e50f4ac44102b',
      '0xa9865ac2d9c7a1591619b188c4d88167b50df6cc0c5327fcbd1c8c75f7c066ad',
    ],
    [
      'SafeSingletonFactory',
      '0x914d7fec6aac8cd542e72bca78b30650d45643d7',
      '0x2fa86add0aed31f33a762c9d88e807c475bd51d0f52bd0955754b2608f7e4989',
    ],
    ['DeterministicDeploymentProxy', CREATE2_DEPLOYER, '0x2fa86add0aed31f33a762c9d88e807c475bd51d0f52bd0955754b2608f7e4989'],
    [
      'SenderCreator_v060',
      '0x7fc98430eaedbb6070b35b39d798725049088348',
      '0xae818091eaaf1b6175ee41472359a689f3823d0908a41e2e5c4ad508f2fc04a3',
    ],
    ['EntryPoint_v060', '0x5ff137d4b0fdcd49dca30c7cf57e578a026d2789', '0xc93c806e738300b5357ecdc2e971d6438d34d8e4e17b99b758b1f9cac91c8e70'],
    [
      'SenderCreator_v070',
      '0xefc2c1444ebcc4db75e7613d20c6a62ff67a167c',
      '0x283c9d14378f5f4c4e24045b87d621d48443fa5b4af7dd7180a599b3756a7689',
    ],
    ['EntryPoint_v070', '0x0000000071727de22e5e9d8baf0edac6f37da032', '0x8db5ff695839d655407cc8490bb7a5d82337a86a6b39c3f0258aa6c3b582fc58'],
    [
      'BeaconBlockRoots',
      '0x000f3df6d732807ef1319fb7b8bb8522d0beac02',
      '0xf57acd40259872606d76197ef052f3d35588dadf919ee1f0e3cb9b62d3f4b02c',
    ],
    ['CreateX', '0xba5ed099633d3b313e4d5f7bdc1305d3c28ba5ed', '0xbd8a7ea8cfca7b4e5f5041d7d4b17bc317c5ce42cfbc42066a00cf26b43eb53f'],
  ])("has OP's preinstall %s", (_, address, hash) => {
    expect(keccak256(artifact.accounts.find((entry) => entry.address === address)?.code ?? '0x')).toBe(hash)
  })

  it.each([
    [130, '0x145d01cce12e7b786df3b4238520a506e69103acc347b013d7c73e50da8df591'],
    [1_868, '0x7decc160d064e6af33760c8fc0e84caf6fa20fba21fb695a40b08aacc3c2b3a9'],
    [57_073, '0xfc5afc02cb5a67998e014fe03df3a318998600509323d4164fa54f0a3b517077'],
  ])("has OP's preinstall Permit2 on chain %i", async (chainId, hash) => {
    const permit2 = artifact.create2.find(({ name }) => name === 'Permit2')
    expect(keccak256(await codeFor(chainId, permit2!))).toBe(hash)
  })

  it('equals the result of the creation code for chain 31337', async () => {
    for (const recipe of artifact.create2) {
      expect(await codeFor(31337, recipe)).toBe(artifact.accounts.find(({ address }) => address === recipe.address)?.code)
    }
  })
})

describe('WETH9', () => {
  it('wraps and unwraps ether', async () => {
    await chain.fund(ALICE, parseEther('10'))
    await chain.send(WETH, erc20, 'deposit', [], { from: ALICE, value: parseEther('3') })
    await chain.sendRaw(WETH, '0x', { from: ALICE, value: parseEther('1') })
    expect(await chain.read(WETH, erc20, 'balanceOf', [ALICE])).toBe(parseEther('4'))
    expect(await chain.read(WETH, erc20, 'totalSupply', [])).toBe(parseEther('4'))
    const { logs } = await chain.send(WETH, erc20, 'withdraw', [parseEther('1.5')], { from: ALICE })
    expect(logs[0]?.topics[0]).toBe(toEventSelector('Withdrawal(address,uint256)'))
    expect(await chain.balance(ALICE)).toBe(parseEther('7.5'))
    await expect(chain.send(WETH, erc20, 'withdraw', [parseEther('3')], { from: ALICE })).rejects.toThrow('revert')
  })

  it('implements ERC-20 allowances', async () => {
    await chain.fund(ALICE, 100n)
    await chain.send(WETH, erc20, 'deposit', [], { from: ALICE, value: 100n })
    await expect(chain.send(WETH, erc20, 'transferFrom', [ALICE, BOB, 1n], { from: BOB })).rejects.toThrow('revert')
    await chain.send(WETH, erc20, 'approve', [BOB, 60n], { from: ALICE })
    await chain.send(WETH, erc20, 'transferFrom', [ALICE, BOB, 40n], { from: BOB })
    expect(await chain.read(WETH, erc20, 'allowance', [ALICE, BOB])).toBe(20n)
    await chain.send(WETH, erc20, 'transfer', [ALICE, 15n], { from: BOB })
    expect(await chain.read(WETH, erc20, 'balanceOf', [ALICE])).toBe(75n)
    expect(await chain.read(WETH, erc20, 'name', [])).toBe('Wrapped Ether')
    expect(await chain.read(WETH, erc20, 'symbol', [])).toBe('WETH')
    // The storage slot that state overrides written for Base use for balances.
    const slot = keccak256(encodeAbiParameters(parseAbiParameters('address, uint256'), [ALICE, 3n]))
    expect(await chain.storage(WETH, slot)).toBe(75n)
  })
})

describe('L1Block', () => {
  it('stores the packed Jovian values from the depositor', async () => {
    await chain.sendRaw(L1_BLOCK, attributes({}), { from: DEPOSITOR })
    const read = (name: string) => chain.read(L1_BLOCK, l1Block, name, [])
    expect(await read('baseFeeScalar')).toBe(2269)
    expect(await read('blobBaseFeeScalar')).toBe(1_055_762)
    expect(await read('sequenceNumber')).toBe(4n)
    expect(await read('timestamp')).toBe(1_741_388_976n)
    expect(await read('number')).toBe(7_855_060n)
    expect(await read('basefee')).toBe(14_121_491_676n)
    expect(await read('blobBaseFee')).toBe(1_324_954_204n)
    expect(await read('hash')).toBe(toHex(0xabcdn, { size: 32 }))
    expect(await read('batcherHash')).toBe(toHex(0xbadcn, { size: 32 }))
    expect(await read('operatorFeeScalar')).toBe(7)
    expect(await read('operatorFeeConstant')).toBe(11n)
    expect(await read('daFootprintGasScalar')).toBe(400)
    expect(await chain.readRaw(predeploy('13'), '0x')).toBe(toHex(7_855_060n, { size: 32 }))
  })

  it('stores them in the slots that the fee rules read', async () => {
    await chain.sendRaw(L1_BLOCK, attributes({}), { from: DEPOSITOR })
    expect(await chain.storage(L1_BLOCK, toHex(0, { size: 32 }))).toBe((1_741_388_976n << 64n) | 7_855_060n)
    expect(await chain.storage(L1_BLOCK, toHex(3, { size: 32 }))).toBe((2269n << 96n) | (1_055_762n << 64n) | 4n)
    expect(await chain.storage(L1_BLOCK, toHex(7, { size: 32 }))).toBe(1_324_954_204n)
    expect(await chain.storage(L1_BLOCK, toHex(8, { size: 32 }))).toBe((400n << 96n) | (7n << 64n) | 11n)
  })

  it('rejects any other sender', async () => {
    await expect(chain.sendRaw(L1_BLOCK, attributes({}), { from: ALICE })).rejects.toThrow('0x3cc50b45')
  })
})

describe('GasPriceOracle', () => {
  it('returns the fee that Base charged for a small transaction', async () => {
    await chain.sendRaw(L1_BLOCK, attributes({}), { from: DEPOSITOR })
    expect(await chain.read(ORACLE, oracle, 'getL1Fee', [SMALL_UNSIGNED])).toBe(191_150_293_412n)
    expect(await chain.read(ORACLE, oracle, 'getL1GasUsed', [SMALL_UNSIGNED])).toBe(1600n)
    expect(await fastLzLength(SMALL_SIGNED)).toBe(115n)
  })

  it('finds the FastLZ length behind the fee of a large OP mainnet transaction', async () => {
    const raw = largeTransaction()
    expect(keccak256(raw)).toBe('0x1059e8004daff32caa1f1b1ef97fe3a07a8cf40508f5b835b66d9420d87c4a4a')
    const length = await fastLzLength(raw)
    expect(length).toBe(385n)
    const size = 836_500n * length - 42_585_600n
    expect((size * (16n * 5227n * 1_055_991_687n + 1_014_213n)) / 10n ** 12n).toBe(24_681_034_813n)
  })

  it('adds the operator fee of Jovian and bounds the data fee from above', async () => {
    await chain.sendRaw(L1_BLOCK, attributes({}), { from: DEPOSITOR })
    expect(await chain.read(ORACLE, oracle, 'getOperatorFee', [21_000n])).toBe(21_000n * 7n * 100n + 11n)
    // 1000 bytes, 68 for the signature, and one more per 255 bytes and 16: the overhead of FastLZ for incompressible bytes.
    const size = 836_500n * 1088n - 42_585_600n
    const bound = (size * (16n * 2269n * 14_121_491_676n + 1_055_762n * 1_324_954_204n)) / 10n ** 12n
    expect(await chain.read(ORACLE, oracle, 'getL1FeeUpperBound', [1000n])).toBe(bound)
    expect(await chain.read(ORACLE, oracle, 'isFjord', [])).toBe(true)
    expect(await chain.read(ORACLE, oracle, 'isJovian', [])).toBe(true)
  })

  /** With fees that make the fee equal to the estimated size, the regression can be undone without loss. */
  async function fastLzLength(data: Hex): Promise<bigint> {
    const unit = attributes({ baseFeeScalar: 0, blobBaseFeeScalar: 1, blobBaseFee: 10n ** 12n })
    await chain.sendRaw(L1_BLOCK, unit, { from: DEPOSITOR })
    const size = await chain.read<bigint>(ORACLE, oracle, 'getL1Fee', [data])
    return (size + 42_585_600n) / 836_500n - 68n
  }
})

describe('L2ToL1MessagePasser', () => {
  it('records a withdrawal under its hash in slot 0', async () => {
    await chain.fund(ALICE, 1000n)
    const nonce = 1n << 240n
    const { logs } = await chain.send(PASSER, passer, 'initiateWithdrawal', [BOB, 50_000n, '0xbeef'], { from: ALICE, value: 7n })
    const hash = keccak256(
      encodeAbiParameters(parseAbiParameters('uint256, address, address, uint256, uint256, bytes'), [
        nonce,
        ALICE,
        BOB,
        7n,
        50_000n,
        '0xbeef',
      ]),
    )
    expect(logs[0]?.topics[0]).toBe(toEventSelector('MessagePassed(uint256,address,address,uint256,uint256,bytes,bytes32)'))
    expect(logs[0]?.data.endsWith(`${hash.slice(2)}${'2'.padStart(64, '0')}beef${'0'.repeat(60)}`)).toBe(true)
    expect(await chain.read(PASSER, passer, 'sentMessages', [hash])).toBe(true)
    expect(await chain.read(PASSER, passer, 'messageNonce', [])).toBe(nonce + 1n)
    expect(await chain.storage(PASSER, keccak256(encodeAbiParameters(parseAbiParameters('bytes32, uint256'), [hash, 0n])))).toBe(1n)
    await chain.send(PASSER, passer, 'burn', [], { from: BOB })
    expect(await chain.balance(PASSER)).toBe(0n)
  })
})

describe('the bridge', () => {
  it('sends ether to the L1 as a withdrawal of the messenger', async () => {
    await chain.fund(ALICE, 1000n)
    const { logs } = await chain.send(BRIDGE, bridge, 'bridgeETHTo', [BOB, 100_000, '0x'], { from: ALICE, value: 600n })
    expect(logs.map(({ address }) => address)).toEqual([BRIDGE, BRIDGE, PASSER, MESSENGER, MESSENGER])
    expect(logs[2]?.topics[3]).toBe(toHex(BigInt(L1_MESSENGER), { size: 32 }))
    expect(await chain.balance(PASSER)).toBe(600n)
    expect(await chain.read(MESSENGER, messenger, 'messageNonce', [])).toBe((1n << 240n) + 1n)
  })

  it('pays out a deposit that comes from the aliased L1 messenger, and only from there', async () => {
    const finalize = encodeFunctionData({ abi: bridge, functionName: 'finalizeBridgeETH', args: [ALICE, BOB, 500n, '0x'] })
    const message = [1n << 240n, L1_BRIDGE, BRIDGE, 500n, 200_000n, finalize] as const
    const hash = keccak256(encodeFunctionData({ abi: messenger, functionName: 'relayMessage', args: message }))
    await chain.fund(L1_MESSENGER_ALIAS, 1000n)
    await chain.fund(ALICE, 1000n)
    await expect(chain.send(MESSENGER, messenger, 'relayMessage', message, { from: ALICE, value: 500n })).rejects.toThrow('revert')
    await chain.send(MESSENGER, messenger, 'relayMessage', message, { from: L1_MESSENGER_ALIAS, value: 500n })
    expect(await chain.balance(BOB)).toBe(500n)
    expect(await chain.read(MESSENGER, messenger, 'successfulMessages', [hash])).toBe(true)
    await expect(chain.send(MESSENGER, messenger, 'relayMessage', message, { from: L1_MESSENGER_ALIAS, value: 500n })).rejects.toThrow(
      'revert',
    )
  })

  it('allows any account to replay a failed message', async () => {
    const call = encodeFunctionData({ abi: erc20, functionName: 'transfer', args: [BOB, 5n] })
    const message = [1n << 240n, ALICE, WETH, 0n, 100_000n, call] as const
    const hash = keccak256(encodeFunctionData({ abi: messenger, functionName: 'relayMessage', args: message }))
    await expect(chain.send(MESSENGER, messenger, 'relayMessage', message, { from: BOB })).rejects.toThrow('cannot be replayed')
    await chain.send(MESSENGER, messenger, 'relayMessage', message, { from: L1_MESSENGER_ALIAS })
    expect(await chain.read(MESSENGER, messenger, 'failedMessages', [hash])).toBe(true)
    // The message failed for lack of WETH; the messenger receives it now.
    await chain.fund(ALICE, 5n)
    await chain.send(WETH, erc20, 'deposit', [], { from: ALICE, value: 5n })
    await chain.send(WETH, erc20, 'transfer', [MESSENGER, 5n], { from: ALICE })
    await chain.send(MESSENGER, messenger, 'relayMessage', message, { from: BOB })
    expect(await chain.read(WETH, erc20, 'balanceOf', [BOB])).toBe(5n)
    await expect(chain.send(MESSENGER, messenger, 'relayMessage', message, { from: BOB })).rejects.toThrow('already been relayed')
  })

  it('mints an L1 token here and burns it on the way back', async () => {
    const factory = parseAbi([
      'function createOptimismMintableERC20(address,string,string) returns (address)',
      'function deployments(address) view returns (address)',
    ])
    const remote = '0x00000000000000000000000000000000000070ce'
    const { data } = await chain.send(predeploy('12'), factory, 'createOptimismMintableERC20', [remote, 'Twin', 'TWN'], { from: ALICE })
    const token: Address = `0x${data.slice(26)}`
    expect(BigInt(await chain.read<Hex>(predeploy('12'), factory, 'deployments', [token]))).toBe(BigInt(remote))
    const mint = encodeFunctionData({ abi: bridge, functionName: 'finalizeBridgeERC20', args: [token, remote, BOB, ALICE, 90n, '0x'] })
    const message = [1n << 240n, L1_BRIDGE, BRIDGE, 0n, 300_000n, mint] as const
    await chain.send(MESSENGER, messenger, 'relayMessage', message, { from: L1_MESSENGER_ALIAS })
    expect(await chain.read(token, erc20, 'balanceOf', [ALICE])).toBe(90n)
    await chain.send(BRIDGE, bridge, 'withdraw', [token, 60n, 100_000, '0x'], { from: ALICE })
    expect(await chain.read(token, erc20, 'totalSupply', [])).toBe(30n)
    expect(await chain.read(token, erc20, 'allowance', [ALICE, PERMIT2])).toBe(2n ** 256n - 1n)
    const interfaces = parseAbi(['function supportsInterface(bytes4) view returns (bool)'])
    for (const id of ['0x01ffc9a7', '0x1d1d8b63', '0xec4fc8e3']) {
      expect(await chain.read(token, interfaces, 'supportsInterface', [id])).toBe(true)
    }
  })

  it('mints an L1 collection here and burns it on the way back', async () => {
    const factory = parseAbi(['function createOptimismMintableERC721(address,string,string) returns (address)'])
    const bridge721 = parseAbi([
      'function finalizeBridgeERC721(address,address,address,address,uint256,bytes)',
      'function bridgeERC721(address,address,uint256,uint32,bytes)',
    ])
    const erc721 = parseAbi(['function ownerOf(uint256) view returns (address)', 'function tokenURI(uint256) view returns (string)'])
    const remote = '0x00000000000000000000000000000000000070cf'
    const l1Bridge = '0x608d94945a64503e642e6370ec598e519a2c1e53'
    const { data } = await chain.send(predeploy('17'), factory, 'createOptimismMintableERC721', [remote, 'Twins', 'TWS'], { from: ALICE })
    const token: Address = `0x${data.slice(26)}`
    const mint = encodeFunctionData({ abi: bridge721, functionName: 'finalizeBridgeERC721', args: [token, remote, BOB, ALICE, 5n, '0x'] })
    const message = [1n << 240n, l1Bridge, predeploy('14'), 0n, 500_000n, mint] as const
    await chain.send(MESSENGER, messenger, 'relayMessage', message, { from: L1_MESSENGER_ALIAS })
    expect(BigInt(await chain.read<Hex>(token, erc721, 'ownerOf', [5n]))).toBe(BigInt(ALICE))
    expect(await chain.read(token, erc721, 'tokenURI', [5n])).toBe(`ethereum:${remote}@1/tokenURI?uint256=5`)
    await chain.send(predeploy('14'), bridge721, 'bridgeERC721', [token, remote, 5n, 100_000, '0x'], { from: ALICE })
    await expect(chain.read(token, erc721, 'ownerOf', [5n])).rejects.toThrow('revert')
  })
})

describe('the fee vaults', () => {
  const vault = parseAbi(['function withdraw() returns (uint256)', 'function totalProcessed() view returns (uint256)'])

  it.each(['11', '19', '1a', '1b'])('withdraw their balance (0x42..%s)', async (last) => {
    await chain.fund(predeploy(last), 77n)
    await chain.send(predeploy(last), vault, 'withdraw', [], { from: ALICE })
    expect(await chain.balance(LAST_ACCOUNT)).toBe(77n)
    expect(await chain.read(predeploy(last), vault, 'totalProcessed', [])).toBe(77n)
  })
})

describe('BaseTime', () => {
  it('adds milliseconds in steps of 200, written by the depositor', async () => {
    const set = (part: number, from: Address = DEPOSITOR) =>
      chain.sendRaw(predeploy('30'), encodeFunctionData({ abi: baseTime, functionName: 'setTimestampMillisPart', args: [part] }), { from })
    const baseTime = parseAbi(['function setTimestampMillisPart(uint16)'])
    for (const part of [0, 200, 400, 600, 800]) {
      await set(part)
      expect(BigInt(await chain.readRaw(predeploy('30'), '0x7b2fea99'))).toBe(BigInt(part))
      expect(BigInt(await chain.readRaw(predeploy('30'), '0x5745a677'))).toBe(1_700_000_000_000n + BigInt(part))
    }
    for (const part of [1, 100, 1000]) await expect(set(part)).rejects.toThrow('revert')
    await expect(set(200, ALICE)).rejects.toThrow('revert')
  })
})

describe('Multicall3', () => {
  const multicall = parseAbi([
    'struct Call3 { address target; bool allowFailure; bytes callData; }',
    'struct Call3Value { address target; bool allowFailure; uint256 value; bytes callData; }',
    'struct Call { address target; bytes callData; }',
    'struct Result { bool success; bytes returnData; }',
    'function aggregate(Call[] calls) payable returns (uint256, bytes[])',
    'function tryBlockAndAggregate(bool, Call[] calls) payable returns (uint256, bytes32, Result[])',
    'function aggregate3(Call3[] calls) payable returns (Result[])',
    'function aggregate3Value(Call3Value[] calls) payable returns (Result[])',
    'function getChainId() view returns (uint256)',
    'function getEthBalance(address) view returns (uint256)',
    'function getCurrentBlockTimestamp() view returns (uint256)',
  ])
  const MULTICALL = '0xca11bde05977b3631167028862be2a173976ca11'
  const symbol = encodeFunctionData({ abi: erc20, functionName: 'symbol' })
  const fails = encodeFunctionData({ abi: erc20, functionName: 'withdraw', args: [1n] })

  it('aggregates results and tolerates calls that are allowed to fail', async () => {
    const call = (callData: Hex, allowFailure: boolean) => ({ target: WETH, allowFailure, callData })
    const results = await chain.read<readonly { success: boolean; returnData: Hex }[]>(MULTICALL, multicall, 'aggregate3', [
      [call(symbol, false), call(fails, true)],
    ])
    expect(results.map(({ success }) => success)).toEqual([true, false])
    expect(decodeFunctionResult({ abi: erc20, functionName: 'symbol', data: results[0]?.returnData ?? '0x' })).toBe('WETH')
    await expect(chain.read(MULTICALL, multicall, 'aggregate3', [[call(fails, false)]])).rejects.toThrow('Multicall3: call failed')
  })

  it('compares the sum of the call values with its own value', async () => {
    await chain.fund(ALICE, 100n)
    const calls = [30n, 20n].map((value) => ({ target: WETH, allowFailure: false, value, callData: '0x' }))
    await chain.send(MULTICALL, multicall, 'aggregate3Value', [calls], { from: ALICE, value: 50n })
    expect(await chain.read(WETH, erc20, 'balanceOf', [MULTICALL])).toBe(50n)
    const short = chain.send(MULTICALL, multicall, 'aggregate3Value', [calls.slice(1)], { from: ALICE, value: 30n })
    await expect(short).rejects.toThrow('Multicall3: value mismatch')
  })

  it('returns the fields of the block', async () => {
    expect(await chain.read(MULTICALL, multicall, 'getChainId', [])).toBe(31337n)
    expect(await chain.read(MULTICALL, multicall, 'getCurrentBlockTimestamp', [])).toBe(1_700_000_000n)
    const [number] = await chain.read<readonly [bigint]>(MULTICALL, multicall, 'aggregate', [[{ target: WETH, callData: symbol }]])
    expect(number).toBe(9n)
  })
})

describe('the deployers', () => {
  // PUSH1 42 PUSH1 0 MSTORE PUSH1 32 PUSH1 0 RETURN, as creation code that returns itself from offset 11.
  const initCode = '0x600a600b600039600a6000f3602a60005260206000f3'
  const salt = toHex(1n, { size: 32 })
  const expected = (from: Address) => getCreate2Address({ from, salt, bytecode: initCode }).toLowerCase()

  it.each([CREATE2_DEPLOYER, '0x914d7fec6aac8cd542e72bca78b30650d45643d7'] as const)(
    '%s answers with the created address',
    async (deployer) => {
      const { data } = await chain.sendRaw(deployer, concat([salt, initCode]), { from: ALICE })
      expect(data).toBe(expected(deployer))
      expect(await chain.code(expected(deployer))).not.toBe('0x')
    },
  )

  it('Create2Deployer computes the address that it deploys to', async () => {
    const deployer = '0x13b0d85ccb8bf860b6b79af3029fca081ae9bef2'
    const abi = parseAbi(['function deploy(uint256,bytes32,bytes)', 'function computeAddress(bytes32,bytes32) view returns (address)'])
    await chain.send(deployer, abi, 'deploy', [0n, salt, initCode], { from: ALICE })
    expect(await chain.code(expected(deployer))).not.toBe('0x')
    const foretold = await chain.read<Hex>(deployer, abi, 'computeAddress', [salt, keccak256(initCode)])
    expect(foretold.toLowerCase()).toBe(expected(deployer))
  })

  it('CreateX deploys a contract', async () => {
    const createX = '0xba5ed099633d3b313e4d5f7bdc1305d3c28ba5ed'
    const { data } = await chain.send(
      createX,
      parseAbi(['function deployCreate(bytes) payable returns (address)']),
      'deployCreate',
      [initCode],
      {
        from: ALICE,
      },
    )
    const created = getContractAddress({ from: createX, nonce: 1n }).toLowerCase()
    expect(`0x${data.slice(26)}`).toBe(created)
    expect(await chain.code(created)).not.toBe('0x')
  })
})

describe('the system contracts', () => {
  it('EIP-2935 stores the parent hash', async () => {
    const history = '0x0000f90827f1c53a10cb7a02335b175320002935'
    await chain.sendRaw(history, toHex(0xfeedn, { size: 32 }), { from: SYSTEM })
    expect(await chain.readRaw(history, toHex(8n, { size: 32 }))).toBe(toHex(0xfeedn, { size: 32 }))
  })

  it('EIP-4788 stores the beacon root by timestamp', async () => {
    const roots = '0x000f3df6d732807ef1319fb7b8bb8522d0beac02'
    await chain.sendRaw(roots, toHex(0xbeac0n, { size: 32 }), { from: SYSTEM })
    expect(await chain.readRaw(roots, toHex(1_700_000_000n, { size: 32 }))).toBe(toHex(0xbeac0n, { size: 32 }))
  })
})

describe('the entry points', () => {
  const SENDER = `0x${'11'.repeat(20)}` as const
  const packed = {
    sender: SENDER,
    nonce: 1n,
    initCode: '0x',
    callData: '0xdeadbeef',
    accountGasLimits: encodePacked(['uint128', 'uint128'], [200_000n, 100_000n]),
    preVerificationGas: 50_000n,
    gasFees: encodePacked(['uint128', 'uint128'], [1000n, 1_000_000n]),
    paymasterAndData: '0x',
    signature: '0x',
  } as const
  const flat = {
    sender: SENDER,
    nonce: 1n,
    initCode: '0x',
    callData: '0xdeadbeef',
    callGasLimit: 100_000n,
    verificationGasLimit: 200_000n,
    preVerificationGas: 50_000n,
    maxFeePerGas: 1_000_000n,
    maxPriorityFeePerGas: 1000n,
    paymasterAndData: '0x',
    signature: '0x',
  } as const
  const EP06 = '0x5ff137d4b0fdcd49dca30c7cf57e578a026d2789'
  const EP07 = '0x0000000071727de22e5e9d8baf0edac6f37da032'
  const EP08 = '0x4337084d9e255ff0702461cf8895ce9e3b5ff108'
  // Hashes of one operation on chain 8453, as returned by the contracts on Base.
  const hashes = [
    [EP06, entryPoint06Abi, flat, '0x32be63b24458475d319b09cd4b49438fd265f668fa2b6fc3bddf3b162fa2c38c'],
    [EP07, entryPoint07Abi, packed, '0x2bc7d55bf978e22d0eb249b9f81c459c036fdd01253a403451305d92e02f1d76'],
    [EP08, entryPoint08Abi, packed, '0x9dfdd9609e282acf25d41f114916f8946b37d98cd6e657472ac6986df14954f3'],
  ] as const

  it.each(hashes)('%s hashes operations as on Base', async (address, abi, operation, hash) => {
    const base = await machine(8453)
    expect(await base.read(address, abi, 'getUserOpHash', [operation])).toBe(hash)
  })

  it.each([EP06, EP07, EP08])('%s accepts deposits', async (address) => {
    await chain.fund(ALICE, 1000n)
    const abi = parseAbi(['function depositTo(address) payable', 'function balanceOf(address) view returns (uint256)'])
    await chain.send(address, abi, 'depositTo', [BOB], { from: ALICE, value: 10n })
    expect(await chain.read(address, abi, 'balanceOf', [BOB])).toBe(10n)
  })

  it.each([EP06, EP07, EP08])('%s calls its sender creator', async (address) => {
    // The CREATE2 deployer as account factory: the creator returns its 20 bytes.
    const abi = parseAbi(['function getSenderAddress(bytes)', 'error SenderAddressResult(address sender)'])
    const factoryCall = concat([`0x${'00'.repeat(31)}07`, '0x00'])
    const data = encodeFunctionData({ abi, functionName: 'getSenderAddress', args: [concat([CREATE2_DEPLOYER, factoryCall])] })
    const revert = await chain.readRaw(address, data).catch((error: unknown) => (error instanceof Reverted ? error.data : '0x'))
    expect(decodeErrorResult({ abi, data: revert }).errorName).toBe('SenderAddressResult')
  })
})

describe('Permit2', () => {
  const abi = parseAbi([
    'struct TokenPermissions { address token; uint256 amount; }',
    'struct PermitTransferFrom { TokenPermissions permitted; uint256 nonce; uint256 deadline; }',
    'struct SignatureTransferDetails { address to; uint256 requestedAmount; }',
    'function permitTransferFrom(PermitTransferFrom permit, SignatureTransferDetails details, address owner, bytes signature)',
    'function DOMAIN_SEPARATOR() view returns (bytes32)',
  ])

  it.each([31337, 8453])('transfers tokens by a signature for chain %i', async (chainId) => {
    const here = await machine(chainId)
    const owner = privateKeyToAccount(keccak256('0x0e'))
    await here.fund(owner.address, 100n)
    await here.send(WETH, erc20, 'deposit', [], { from: owner.address, value: 100n })
    await here.send(WETH, erc20, 'approve', [PERMIT2, 2n ** 256n - 1n], { from: owner.address })
    const permit = { permitted: { token: WETH, amount: 60n }, nonce: 3n, deadline: 1_800_000_000n }
    const signature = await owner.signTypedData({
      domain: { name: 'Permit2', chainId, verifyingContract: PERMIT2 },
      types: {
        TokenPermissions: [
          { name: 'token', type: 'address' },
          { name: 'amount', type: 'uint256' },
        ],
        PermitTransferFrom: [
          { name: 'permitted', type: 'TokenPermissions' },
          { name: 'spender', type: 'address' },
          { name: 'nonce', type: 'uint256' },
          { name: 'deadline', type: 'uint256' },
        ],
      },
      primaryType: 'PermitTransferFrom',
      message: { ...permit, spender: ALICE },
    })
    const move = [permit, { to: BOB, requestedAmount: 40n }, owner.address, signature] as const
    await here.send(PERMIT2, abi, 'permitTransferFrom', move, { from: ALICE })
    expect(await here.read(WETH, erc20, 'balanceOf', [BOB])).toBe(40n)
    await expect(here.send(PERMIT2, abi, 'permitTransferFrom', move, { from: ALICE })).rejects.toThrow('revert')
  })
})

describe('EAS', () => {
  const REGISTRY = predeploy('20')
  const EAS = predeploy('21')
  const registry = parseAbi([
    'struct SchemaRecord { bytes32 uid; address resolver; bool revocable; string schema; }',
    'function register(string schema, address resolver, bool revocable) returns (bytes32)',
    'function getSchema(bytes32 uid) view returns (SchemaRecord)',
  ])
  const eas = parseAbi([
    'struct AttestationRequestData { address recipient; uint64 expirationTime; bool revocable; bytes32 refUID; bytes data; uint256 value; }',
    'struct AttestationRequest { bytes32 schema; AttestationRequestData data; }',
    'struct Signature { uint8 v; bytes32 r; bytes32 s; }',
    'struct DelegatedAttestationRequest { bytes32 schema; AttestationRequestData data; Signature signature; address attester; uint64 deadline; }',
    'struct RevocationRequestData { bytes32 uid; uint256 value; }',
    'struct RevocationRequest { bytes32 schema; RevocationRequestData data; }',
    'struct Attestation { bytes32 uid; bytes32 schema; uint64 time; uint64 expirationTime; uint64 revocationTime; bytes32 refUID; address recipient; address attester; bool revocable; bytes data; }',
    'function attest(AttestationRequest request) payable returns (bytes32)',
    'function attestByDelegation(DelegatedAttestationRequest request) payable returns (bytes32)',
    'function revoke(RevocationRequest request) payable',
    'function getAttestation(bytes32 uid) view returns (Attestation)',
    'function getSchemaRegistry() view returns (address)',
  ])
  const ZERO_HASH = toHex(0n, { size: 32 })
  const score: Hex = toHex(42n, { size: 32 })
  const body = { recipient: BOB, expirationTime: 0n, revocable: true, refUID: ZERO_HASH, data: score, value: 0n } as const
  interface Attestation {
    readonly attester: Address
    readonly recipient: Address
    readonly data: Hex
    readonly time: bigint
    readonly revocationTime: bigint
  }

  async function registered(on: Machine): Promise<Hex> {
    const { data } = await on.send(REGISTRY, registry, 'register', ['uint256 score', zeroAddress, true], { from: ALICE })
    return data
  }

  it('registers a schema, attests by it and revokes the attestation', async () => {
    const schema = await registered(chain)
    expect(schema).toBe(keccak256(encodePacked(['string', 'address', 'bool'], ['uint256 score', zeroAddress, true])))
    expect(await chain.read(REGISTRY, registry, 'getSchema', [schema])).toMatchObject({
      uid: schema,
      schema: 'uint256 score',
      revocable: true,
    })
    expect(BigInt(await chain.read<Hex>(EAS, eas, 'getSchemaRegistry', []))).toBe(BigInt(REGISTRY))
    const { data: uid, logs } = await chain.send(EAS, eas, 'attest', [{ schema, data: body }], { from: ALICE })
    expect(logs[0]?.topics[0]).toBe(toEventSelector('Attested(address,address,bytes32,bytes32)'))
    const read = () => chain.read<Attestation>(EAS, eas, 'getAttestation', [uid])
    const { attester, recipient, ...rest } = await read()
    expect([BigInt(attester), BigInt(recipient)]).toEqual([BigInt(ALICE), BigInt(BOB)])
    expect(rest).toMatchObject({ data: score, time: 1_700_000_000n, revocationTime: 0n })
    const revocation = [{ schema, data: { uid, value: 0n } }]
    await expect(chain.send(EAS, eas, 'revoke', revocation, { from: BOB })).rejects.toThrow('revert')
    await chain.send(EAS, eas, 'revoke', revocation, { from: ALICE })
    expect(await read()).toMatchObject({ revocationTime: 1_700_000_000n })
    await expect(chain.send(EAS, eas, 'revoke', revocation, { from: ALICE })).rejects.toThrow('revert')
  })

  it.each([31337, 8453])('accepts an attestation that was signed for chain %i', async (chainId) => {
    const here = await machine(chainId)
    const schema = await registered(here)
    const attester = privateKeyToAccount(keccak256('0xa7'))
    const deadline = 1_800_000_000n
    const signature = await attester.signTypedData({
      domain: { name: 'EAS', version: '1.3.0', chainId, verifyingContract: EAS },
      types: {
        Attest: [
          { name: 'attester', type: 'address' },
          { name: 'schema', type: 'bytes32' },
          { name: 'recipient', type: 'address' },
          { name: 'expirationTime', type: 'uint64' },
          { name: 'revocable', type: 'bool' },
          { name: 'refUID', type: 'bytes32' },
          { name: 'data', type: 'bytes' },
          { name: 'value', type: 'uint256' },
          { name: 'nonce', type: 'uint256' },
          { name: 'deadline', type: 'uint64' },
        ],
      },
      primaryType: 'Attest',
      message: { attester: attester.address, schema, ...body, nonce: 0n, deadline },
    })
    const { r, s, v } = parseSignature(signature)
    const request = [{ schema, data: body, signature: { v: Number(v), r, s }, attester: attester.address, deadline }]
    const { data: uid } = await here.send(EAS, eas, 'attestByDelegation', request, { from: BOB })
    expect(await here.read(EAS, eas, 'getAttestation', [uid])).toMatchObject({ attester: attester.address })
    await expect(here.send(EAS, eas, 'attestByDelegation', request, { from: BOB })).rejects.toThrow('revert')
  })
})

describe('ProxyAdmin', () => {
  it('belongs to the last account of the standard mnemonic', async () => {
    const abi = parseAbi(['function owner() view returns (address)', 'function transferOwnership(address)'])
    expect((await chain.read<Hex>(predeploy('18'), abi, 'owner', [])).toLowerCase()).toBe(LAST_ACCOUNT)
    await expect(chain.send(predeploy('18'), abi, 'transferOwnership', [BOB], { from: ALICE })).rejects.toThrow('not the owner')
    await chain.send(predeploy('18'), abi, 'transferOwnership', [BOB], { from: LAST_ACCOUNT })
    expect(BigInt(await chain.read<Hex>(predeploy('18'), abi, 'owner', []))).toBe(BigInt(BOB))
  })
})

describe('Safe 1.3.0', () => {
  const FACTORY = '0xc22834581ebc8527d974f8a1c97e1bea4ef910bc'
  const HANDLER = '0x017062a1de2fe6b99be3d9d37841fed19f573804'
  const MULTI_SEND = '0xa1dabef33b3b82c7814b6d82a79e50f4ac44102b'
  const SINGLETONS = ['0x69f4d1788e39c87893c980c06edf4b7f686e2938', '0xfb1bffc9d739b8d520daf37df666da4c687191ea'] as const
  const safe = parseAbi([
    'function setup(address[] owners, uint256 threshold, address to, bytes data, address fallbackHandler, address paymentToken, uint256 payment, address paymentReceiver)',
    'function createProxyWithNonce(address singleton, bytes initializer, uint256 saltNonce) returns (address)',
    'function multiSend(bytes transactions) payable',
    'function nonce() view returns (uint256)',
    'function VERSION() view returns (string)',
    'function getOwners() view returns (address[])',
    'function isValidSignature(bytes32 hash, bytes signature) view returns (bytes4)',
    'function execTransaction(address to, uint256 value, bytes data, uint8 operation, uint256 safeTxGas, uint256 baseGas, uint256 gasPrice, address gasToken, address refundReceiver, bytes signatures) payable returns (bool)',
  ])
  const [one, two, stranger] = ['0x51', '0x52', '0x53'].map((seed) => privateKeyToAccount(keccak256(seed as Hex)))
  type Owner = ReturnType<typeof privateKeyToAccount>
  type Call = { readonly to: Address; readonly value: bigint; readonly data: Hex; readonly operation: number }

  /** A Safe of two owners, both of whom must sign, with 100 wei. */
  async function created(on: Machine, singleton: Address): Promise<Address> {
    const owners = [one!.address, two!.address]
    const setUp = [owners, 2n, zeroAddress, '0x', HANDLER, zeroAddress, 0n, zeroAddress] as const
    const initializer = encodeFunctionData({ abi: safe, functionName: 'setup', args: setUp })
    const { data, logs } = await on.send(FACTORY, safe, 'createProxyWithNonce', [singleton, initializer, 7n], { from: ALICE })
    expect(logs.at(-1)?.topics[0]).toBe(toEventSelector('ProxyCreation(address,address)'))
    const address: Address = `0x${data.slice(26)}`
    await on.fund(address, 100n)
    return address
  }

  async function execute(on: Machine, chainId: number, address: Address, call: Call, signers: readonly Owner[]): Promise<Outcome> {
    const fees = { safeTxGas: 0n, baseGas: 0n, gasPrice: 0n, gasToken: zeroAddress, refundReceiver: zeroAddress }
    const message = { ...call, ...fees, nonce: await on.read<bigint>(address, safe, 'nonce', []) }
    const sorted = signers.toSorted((a, b) => (BigInt(a.address) < BigInt(b.address) ? -1 : 1))
    const signatures = await Promise.all(
      sorted.map((owner) =>
        owner.signTypedData({ domain: { chainId, verifyingContract: address }, types: SAFE_TYPES, primaryType: 'SafeTx', message }),
      ),
    )
    const { to, value, data, operation } = call
    const args = [to, value, data, operation, 0n, 0n, 0n, zeroAddress, zeroAddress, concat(signatures)]
    return on.send(address, safe, 'execTransaction', args, { from: BOB })
  }

  it.each(SINGLETONS)('the proxy factory creates a Safe of two owners over %s, which sends with two signatures', async (singleton) => {
    const address = await created(chain, singleton)
    expect(await chain.read(address, safe, 'getOwners', [])).toEqual([one!.address, two!.address])
    expect(await chain.read(address, safe, 'VERSION', [])).toBe('1.3.0')
    const call = { to: ALICE, value: 30n, data: '0x', operation: 0 } as const
    await execute(chain, 31337, address, call, [one!, two!])
    expect([await chain.balance(address), await chain.balance(ALICE)]).toEqual([70n, 30n])
    await expect(execute(chain, 31337, address, call, [one!])).rejects.toThrow('GS020')
    await expect(execute(chain, 31337, address, call, [one!, stranger!])).rejects.toThrow('GS026')
    await expect(execute(chain, 8453, address, call, [one!, two!])).rejects.toThrow('GS026')
    const takeover = [[BOB], 1n, zeroAddress, '0x', zeroAddress, zeroAddress, 0n, zeroAddress]
    await expect(chain.send(singleton, safe, 'setup', takeover, { from: BOB })).rejects.toThrow('GS200')
  })

  it('sends a batch through MultiSendCallOnly on any chain id', async () => {
    const here = await machine(8453)
    const address = await created(here, SINGLETONS[1])
    const batch = [ALICE, BOB].map((to) =>
      encodePacked(['uint8', 'address', 'uint256', 'uint256', 'bytes'], [0, to as Address, 20n, 0n, '0x']),
    )
    const data = encodeFunctionData({ abi: safe, functionName: 'multiSend', args: [concat(batch)] })
    await execute(here, 8453, address, { to: MULTI_SEND, value: 0n, data, operation: 1 }, [two!, one!])
    expect([await here.balance(address), await here.balance(ALICE), await here.balance(BOB)]).toEqual([60n, 20n, 20n])
  })

  it('verifies messages by its fallback handler', async () => {
    const address = await created(chain, SINGLETONS[0])
    const hash = keccak256('0xfeed')
    const typed = {
      domain: { chainId: 31337, verifyingContract: address },
      types: { SafeMessage: [{ name: 'message', type: 'bytes' }] },
      primaryType: 'SafeMessage',
      message: { message: hash },
    } as const
    const sorted = [one!, two!].toSorted((a, b) => (BigInt(a.address) < BigInt(b.address) ? -1 : 1))
    const signatures = await Promise.all(sorted.map((owner) => owner.signTypedData(typed)))
    expect(await chain.read(address, safe, 'isValidSignature', [hash, concat(signatures)])).toBe('0x1626ba7e')
  })
})

const SAFE_TYPES = {
  SafeTx: [
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'data', type: 'bytes' },
    { name: 'operation', type: 'uint8' },
    { name: 'safeTxGas', type: 'uint256' },
    { name: 'baseGas', type: 'uint256' },
    { name: 'gasPrice', type: 'uint256' },
    { name: 'gasToken', type: 'address' },
    { name: 'refundReceiver', type: 'address' },
    { name: 'nonce', type: 'uint256' },
  ],
} as const

describe('USDC', () => {
  const USDC = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913'
  const usdc = parseAbi([
    'function version() view returns (string)',
    'function currency() view returns (string)',
    'function masterMinter() view returns (address)',
    'function isMinter(address) view returns (bool)',
    'function configureMinter(address, uint256) returns (bool)',
    'function minterAllowance(address) view returns (uint256)',
    'function mint(address, uint256) returns (bool)',
    'function burn(uint256)',
    'function pause()',
    'function blacklist(address)',
    'function unBlacklist(address)',
    'function isBlacklisted(address) view returns (bool)',
    'function nonces(address) view returns (uint256)',
    'function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)',
    'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)',
    'function receiveWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
    'function authorizationState(address, bytes32) view returns (bool)',
    'function initialize(string, string, string, uint8, address, address, address, address)',
  ])
  const owner = privateKeyToAccount(keccak256('0x05'))
  const give = (on: Machine, amount: bigint, to: Address = owner.address) =>
    on.send(USDC, usdc, 'mint', [to, amount], { from: LAST_ACCOUNT })
  const balances = (on: Machine, ...holders: readonly Address[]) =>
    Promise.all(holders.map((holder) => on.read<bigint>(USDC, erc20, 'balanceOf', [holder])))
  const domain = (chainId: number) => ({ name: 'USD Coin', version: '2', chainId, verifyingContract: USDC }) as const

  it('has the metadata of USDC on Base', async () => {
    const read = (name: string) => chain.read(USDC, name === 'version' || name === 'currency' ? usdc : erc20, name, [])
    const names = ['name', 'symbol', 'decimals', 'version', 'currency', 'totalSupply']
    expect(await Promise.all(names.map(read))).toEqual(['USD Coin', 'USDC', 6, '2', 'USD', 0n])
    const again = ['A', 'A', 'A', 6, BOB, BOB, BOB, BOB]
    await expect(chain.send(USDC, usdc, 'initialize', again, { from: BOB })).rejects.toThrow('already initialized')
    // The storage slot that state overrides written for Base use for balances.
    await give(chain, 5n)
    expect(await chain.storage(USDC, keccak256(encodeAbiParameters(parseAbiParameters('address, uint256'), [owner.address, 9n])))).toBe(5n)
  })

  it('is minted and burned by minters within their allowance', async () => {
    expect(await chain.read(USDC, usdc, 'isMinter', [LAST_ACCOUNT])).toBe(true)
    await expect(chain.send(USDC, usdc, 'mint', [ALICE, 1n], { from: ALICE })).rejects.toThrow('caller is not a minter')
    await expect(chain.send(USDC, usdc, 'configureMinter', [ALICE, 9n], { from: ALICE })).rejects.toThrow('not the masterMinter')
    await chain.send(USDC, usdc, 'configureMinter', [ALICE, 9n], { from: LAST_ACCOUNT })
    await chain.send(USDC, usdc, 'mint', [ALICE, 7n], { from: ALICE })
    await expect(chain.send(USDC, usdc, 'mint', [ALICE, 3n], { from: ALICE })).rejects.toThrow('exceeds minterAllowance')
    await chain.send(USDC, usdc, 'burn', [3n], { from: ALICE })
    expect([await balances(chain, ALICE), await chain.read(USDC, erc20, 'totalSupply', [])]).toEqual([[4n], 4n])
  })

  it.each([31337, 8453])('accepts a permit that was signed for chain %i, once', async (chainId) => {
    const here = await machine(chainId)
    await give(here, 50n)
    const deadline = 1_800_000_000n
    const signature = await owner.signTypedData({
      domain: domain(chainId),
      types: {
        Permit: [
          { name: 'owner', type: 'address' },
          { name: 'spender', type: 'address' },
          { name: 'value', type: 'uint256' },
          { name: 'nonce', type: 'uint256' },
          { name: 'deadline', type: 'uint256' },
        ],
      },
      primaryType: 'Permit',
      message: { owner: owner.address, spender: ALICE, value: 40n, nonce: 0n, deadline },
    })
    const { r, s, v } = parseSignature(signature)
    const permit = (value: bigint) => [owner.address, ALICE, value, deadline, Number(v), r, s]
    await expect(here.send(USDC, usdc, 'permit', permit(41n), { from: BOB })).rejects.toThrow('EIP2612: invalid signature')
    await here.send(USDC, usdc, 'permit', permit(40n), { from: BOB })
    await expect(here.send(USDC, usdc, 'permit', permit(40n), { from: BOB })).rejects.toThrow('EIP2612: invalid signature')
    await here.send(USDC, erc20, 'transferFrom', [owner.address, BOB, 30n], { from: ALICE })
    expect(await balances(here, owner.address, BOB)).toEqual([20n, 30n])
    expect(await here.read(USDC, erc20, 'allowance', [owner.address, ALICE])).toBe(10n)
  })

  it.each(['TransferWithAuthorization', 'ReceiveWithAuthorization'] as const)('accepts %s (EIP-3009), once', async (primaryType) => {
    await give(chain, 50n)
    const message = {
      from: owner.address,
      to: BOB,
      value: 15n,
      validAfter: 0n,
      validBefore: 1_800_000_000n,
      nonce: keccak256('0x01'),
    } as const
    const fields = [
      { name: 'from', type: 'address' },
      { name: 'to', type: 'address' },
      { name: 'value', type: 'uint256' },
      { name: 'validAfter', type: 'uint256' },
      { name: 'validBefore', type: 'uint256' },
      { name: 'nonce', type: 'bytes32' },
    ] as const
    const types = { TransferWithAuthorization: fields, ReceiveWithAuthorization: fields }
    const signature = await owner.signTypedData({ domain: domain(31337), types, primaryType, message })
    const { r, s, v } = parseSignature(signature)
    const { from, to, value, validAfter, validBefore, nonce } = message
    const terms = [from, to, value, validAfter, validBefore, nonce]
    const redeem = (sender: Address) =>
      primaryType === 'TransferWithAuthorization'
        ? chain.send(USDC, usdc, 'transferWithAuthorization', [...terms, signature], { from: sender })
        : chain.send(USDC, usdc, 'receiveWithAuthorization', [...terms, Number(v), r, s], { from: sender })
    if (primaryType === 'ReceiveWithAuthorization') await expect(redeem(ALICE)).rejects.toThrow('caller must be the payee')
    await redeem(primaryType === 'TransferWithAuthorization' ? ALICE : BOB)
    expect(await balances(chain, owner.address, BOB)).toEqual([35n, 15n])
    expect(await chain.read(USDC, usdc, 'authorizationState', [owner.address, message.nonce])).toBe(true)
    await expect(redeem(BOB)).rejects.toThrow('authorization is used or canceled')
  })

  it('accepts the ERC-1271 signature of a contract through its signature checker', async () => {
    const yes = '0x00000000000000000000000000000000000001e5'
    await chain.place(yes, '0x631626ba7e60e01b60005260206000f3') // answers every call with the magic value
    await give(chain, 9n, yes)
    const terms = [yes, BOB, 4n, 0n, 1_800_000_000n, keccak256('0x02'), '0x1234']
    await chain.send(USDC, usdc, 'transferWithAuthorization', terms, { from: ALICE })
    expect(await balances(chain, yes, BOB)).toEqual([5n, 4n])
  })

  it('does not move from, to or by a blocked account', async () => {
    await give(chain, 50n)
    await give(chain, 50n, BOB)
    await expect(chain.send(USDC, usdc, 'blacklist', [BOB], { from: ALICE })).rejects.toThrow('caller is not the blacklister')
    await chain.send(USDC, usdc, 'blacklist', [BOB], { from: LAST_ACCOUNT })
    expect(await chain.read(USDC, usdc, 'isBlacklisted', [BOB])).toBe(true)
    const blocked = 'account is blacklisted'
    await expect(chain.send(USDC, erc20, 'transfer', [ALICE, 1n], { from: BOB })).rejects.toThrow(blocked)
    await expect(chain.send(USDC, erc20, 'transfer', [BOB, 1n], { from: owner.address })).rejects.toThrow(blocked)
    await expect(give(chain, 1n, BOB)).rejects.toThrow(blocked)
    expect(await balances(chain, BOB)).toEqual([50n])
    await chain.send(USDC, usdc, 'unBlacklist', [BOB], { from: LAST_ACCOUNT })
    await chain.send(USDC, erc20, 'transfer', [ALICE, 1n], { from: BOB })
    await chain.send(USDC, usdc, 'pause', [], { from: LAST_ACCOUNT })
    await expect(chain.send(USDC, erc20, 'transfer', [ALICE, 1n], { from: BOB })).rejects.toThrow('paused')
  })
})

type Options = { readonly from: Address; readonly value?: bigint }
type Outcome = { readonly data: Hex; readonly logs: readonly { address: string; topics: readonly Hex[]; data: Hex }[] }

interface Machine {
  /** Calls and keeps the effects. @throws {Reverted} */
  sendRaw(to: string, data: Hex, options: Options): Promise<Outcome>
  send(to: string, abi: Abi, functionName: string, args: readonly unknown[], options: Options): Promise<Outcome>
  /** Calls from the zero address and discards the effects. @throws {Reverted} */
  readRaw(to: string, data: Hex): Promise<Hex>
  /** The decoded result; the type parameter follows from the ABI. */
  read<T = unknown>(to: string, abi: Abi, functionName: string, args: readonly unknown[]): Promise<T>
  fund(address: string, balance: bigint): Promise<void>
  place(address: string, code: Hex): Promise<void>
  balance(address: string): Promise<bigint>
  code(address: string): Promise<Hex>
  storage(address: string, slot: Hex): Promise<bigint>
}

/** An EVM that holds the genesis code at block 9 and 1,700,000,000 s; for another chain id the contracts that depend on it are created again. */
async function machine(chainId: number): Promise<Machine> {
  const evm = await emptyEvm(chainId)
  for (const { address, code, nonce, storage } of artifact.accounts) {
    await place(evm, address, nonce, code, storage ?? {})
  }
  for (const recipe of chainId === 31337 ? [] : artifact.create2) await place(evm, recipe.address, 2, await codeFor(chainId, recipe), {})
  const sendRaw: Machine['sendRaw'] = (to, data, options) => run(evm, to, data, options)
  const readRaw: Machine['readRaw'] = async (to, data) => (await run(evm, to, data, { from: BOB })).data
  return {
    sendRaw,
    readRaw,
    send: (to, abi, functionName, args, options) => sendRaw(to, encodeFunctionData({ abi, functionName, args }), options),
    read: async <T>(to: string, abi: Abi, functionName: string, args: readonly unknown[]) => {
      const data = await readRaw(to, encodeFunctionData({ abi, functionName, args }))
      return decodeFunctionResult({ abi, functionName, args, data }) as T
    },
    fund: async (address, balance) => {
      const account = (await evm.stateManager.getAccount(at(address))) ?? new Account()
      account.balance = balance
      await evm.stateManager.putAccount(at(address), account)
    },
    place: (address, code) => place(evm, address, 1, code, {}),
    balance: async (address) => (await evm.stateManager.getAccount(at(address)))?.balance ?? 0n,
    code: async (address) => hexOf(await evm.stateManager.getCode(at(address))),
    storage: async (address, slot) => BigInt(hexOf(await evm.stateManager.getStorage(at(address), hexToBytes(slot)))) || 0n,
  }
}

async function emptyEvm(chainId: number): Promise<EVM> {
  return createEVM({ common: new Common({ chain: { ...Mainnet, chainId }, hardfork: Hardfork.Prague }) })
}

async function place(evm: EVM, address: string, nonce: number, code: Hex, storage: Readonly<Record<Hex, Hex>>): Promise<void> {
  await evm.stateManager.putAccount(at(address), new Account(BigInt(nonce)))
  await evm.stateManager.putCode(at(address), hexToBytes(code))
  for (const [slot, value] of Object.entries(storage)) {
    // Keys of a parsed JSON object are plain strings to the compiler.
    await evm.stateManager.putStorage(at(address), hexToBytes(slot as Hex), hexToBytes(value))
  }
}

async function run(evm: EVM, to: string, data: Hex, { from, value = 0n }: Options): Promise<Outcome> {
  // Each call is a separate transaction with regard to original and transient storage.
  evm.stateManager.originalStorageCache.clear()
  evm.transientStorage.clear()
  const { execResult } = await evm.runCall({
    caller: at(from),
    to: at(to),
    data: hexToBytes(data),
    value,
    gasLimit: 30_000_000n,
    block: { header: BLOCK },
  })
  await evm.journal.cleanup()
  const answer = hexOf(execResult.returnValue)
  if (execResult.exceptionError) throw new Reverted(execResult.exceptionError.error, answer)
  const logs = (execResult.logs ?? []).map(([address, topics, logData]) => ({
    address: hexOf(address),
    topics: topics.map((topic) => hexOf(topic)),
    data: hexOf(logData),
  }))
  return { data: answer, logs }
}

const BLOCK = {
  number: 9n,
  coinbase: at(predeploy('11')),
  timestamp: 1_700_000_000n,
  difficulty: 0n,
  prevRandao: new Uint8Array(32),
  gasLimit: 60_000_000n,
  baseFeePerGas: 5_000_000n,
  getBlobGasPrice: () => 1n,
}

/** Returns the code that a recipe's creation code deploys on a chain with this id, through its deployer. */
async function codeFor(chainId: number, { address, deployer, salt, initCode }: Recipe): Promise<Hex> {
  const evm = await emptyEvm(chainId)
  await place(evm, deployer, 1, artifact.accounts.find((entry) => entry.address === deployer)?.code ?? '0x', {})
  const { data } = await run(evm, deployer, concat([salt, initCode]), { from: ALICE })
  expect(data).toBe(address)
  return hexOf(await evm.stateManager.getCode(at(address)))
}

class Reverted extends Error {
  readonly data: Hex

  constructor(reason: string, data: Hex) {
    // Error(string) as text, anything else as bytes.
    const abi = parseAbi(['error Error(string)'])
    const text = data.startsWith('0x08c379a0') ? decodeErrorResult({ abi, data }).args[0] : data
    super(`${reason}: ${text}`)
    this.data = data
  }
}

function at(address: string) {
  return createAddressFromString(address.toLowerCase())
}

function predeploy(lastByte: string): Address {
  return `0x42${'0'.repeat(36)}${lastByte}`
}

/** Calldata of the L1-attributes deposit (Jovian, 178 bytes). */
function attributes({ baseFeeScalar = 2269, blobBaseFeeScalar = 1_055_762, blobBaseFee = 1_324_954_204n }): Hex {
  const data = concat([
    '0x3db6be2b',
    toHex(baseFeeScalar, { size: 4 }),
    toHex(blobBaseFeeScalar, { size: 4 }),
    toHex(4, { size: 8 }),
    toHex(1_741_388_976, { size: 8 }),
    toHex(7_855_060, { size: 8 }),
    toHex(14_121_491_676n, { size: 32 }),
    toHex(blobBaseFee, { size: 32 }),
    toHex(0xabcdn, { size: 32 }),
    toHex(0xbadcn, { size: 32 }),
    toHex(7, { size: 4 }),
    toHex(11, { size: 8 }),
    toHex(400, { size: 2 }),
  ])
  expect(data.length).toBe(2 + 178 * 2)
  return data
}

const SMALL_SIGNED: Hex =
  '0x02f86c8221058034839a4ae283021528942f16386bb37709016023232523ff6d9daf444be380841249c58bc080a001b927eda2af9b00b52a57be0885e0303c39dd2831732e14051c2336470fd468a0681bf120baf562915841a48601c2b54a6742511e535cf8f71c95115af7ff63bd'
const SMALL_UNSIGNED = serializeTransaction({
  type: 'eip1559',
  chainId: 8453,
  nonce: 0,
  maxPriorityFeePerGas: 0x34n,
  maxFeePerGas: 0x9a4ae2n,
  gas: 0x21528n,
  to: '0x2f16386bb37709016023232523ff6d9daf444be3',
  data: '0x1249c58b',
})

/** The second transaction of OP mainnet's block 124665056, 1176 bytes: a Safe approves a vault and deposits, in one multicall. */
function largeTransaction(): Hex {
  const [vault, token] = ['0x21c4928109acb0659a88ae5329b5374a3024694c', '0xdc6ff44d5d932cbd77b52e5612ba0529dc6226f1'] as const
  const amount = 0x49b9ca9a694340000n
  const multicall = encodeFunctionData({
    abi: parseAbi(['function aggregate3((address,bool,bytes)[])']),
    args: [
      [
        [token, false, encodeFunctionData({ abi: erc20, functionName: 'approve', args: [vault, amount] })],
        [vault, false, concat(['0xb6b55f25', toHex(amount, { size: 32 })])],
      ],
    ],
  })
  const none = `0x${'0'.repeat(40)}` as const
  const data = encodeFunctionData({
    abi: parseAbi(['function execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)']),
    args: [
      '0x087000a300de7200382b55d40045000000e5d60e',
      0n,
      multicall,
      1,
      0n,
      0n,
      0n,
      none,
      none,
      '0x5ec214a3950bea839a7e6fbb0ba1540ac2076acd50820e2d5ef83d0902cdffb24a47aff7de5190290769c4f0a9c6fabf63012986a0d590b1b571547a8c7050ea1b',
    ],
  })
  return serializeTransaction(
    {
      type: 'eip1559',
      chainId: 10,
      nonce: 0x03fba7,
      maxPriorityFeePerGas: 0x01d6d279n,
      maxFeePerGas: 0x01db2b6dn,
      gas: 0x0493e0n,
      to: '0x3e6f4f7866654c18f536170780344aa8772950b6',
      data,
    },
    {
      yParity: 0,
      r: '0x6db770e6e25a617fe9652f0958bd9bd6e49281a53036906386ed39ec48eadf63',
      s: '0x7f47cf51a4a40b4494cf26efc686709a9b03939e20ee27e59682f5faa536667e',
    },
  )
}
