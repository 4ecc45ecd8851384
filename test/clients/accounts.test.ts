// Accounts of factories and the paymasters that sponsor them, each through the real EntryPoint of its version on a real chain.
import { createSign, generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createPocketchain } from 'pocketchain'
import type { Pocketchain } from 'pocketchain'
import {
  type Abi,
  type Address,
  type Hex,
  bytesToHex,
  concat,
  createPublicClient,
  createWalletClient,
  custom,
  decodeErrorResult,
  defineChain,
  encodeAbiParameters,
  encodeFunctionData,
  encodePacked,
  getCreate2Address,
  hashMessage,
  hashTypedData,
  hexToBytes,
  keccak256,
  pad,
  parseAbi,
  parseEther,
  parseEventLogs,
  sha256,
  slice,
  toHex,
  zeroAddress,
} from 'viem'
import {
  type UserOperation,
  type WebAuthnAccount,
  entryPoint06Abi,
  entryPoint07Abi,
  entryPoint08Abi,
  getUserOperationHash,
  toCoinbaseSmartAccount,
  toPackedUserOperation,
  toWebAuthnAccount,
} from 'viem/account-abstraction'
import { privateKeyToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { signMessage as signNested } from 'viem/experimental/erc7739'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { contracts } from '../../src/wallet/preview/contracts.fixture.ts'

const ROOT = new URL('../..', import.meta.url)
// The build script defines the type; test/predeploys.test.ts checks that the file is its output.
const sponsors = JSON.parse(readFileSync(new URL('src/paymaster/paymasters.json', ROOT), 'utf8')) as {
  readonly deployer: Address
  readonly salt: Hex
  readonly paymasters: readonly { readonly version: Version; readonly entryPoint: Address; readonly initCode: Hex }[]
}
const predeploys = JSON.parse(readFileSync(new URL('src/chain/genesis/predeploys.json', ROOT), 'utf8')) as {
  readonly accounts: readonly { readonly name: string; readonly address: Address }[]
}
const POCKET_ACCOUNT = (JSON.parse(readFileSync(new URL('src/wallet/delegate.json', ROOT), 'utf8')) as { readonly address: Address })
  .address
const OWNED_FACTORY = predeploys.accounts.find(({ name }) => name === 'OwnedAccountFactory')?.address ?? zeroAddress
const SMART_WALLETS = {
  '1': { factory: '0x0BA5ED0c6AA8c49038F819E587E2633c4A9F428a', account: '0x000100abaad02f1cfC8Bbe32bD5a564817339E72' },
  '1.1': { factory: '0xBA5ED110eFDBa3D005bfC882d75358ACBbB85842', account: '0x00000110dCdEdC9581cb5eCB8467282f2926534d' },
} as const
const FOREIGN: Address = '0x000000000000000000000000000000000000f00d'
const BUNDLER: Address = '0x000000000000000000000000000000000000beef'
const BATCH = toHex(1n << 248n, { size: 32 })
const { Coin, Card, Thing, Faults } = contracts()

const owner = privateKeyToAccount(keccak256('0x0a11ce'))
const other = privateKeyToAccount(keccak256('0x0b0b'))
const sponsor = privateKeyToAccount(keccak256('0x5905'))
/** Keys of the standard mnemonic, for which Base's addresses are recorded. */
const FIRST: Address = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const SECOND: Address = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

type Version = '0.6' | '0.7' | '0.8'
const ENTRY_POINTS = {
  '0.6': { address: '0x5FF137D4b0FDCD49DcA30c7CF57E578a026d2789', abi: entryPoint06Abi },
  '0.7': { address: '0x0000000071727De22E5E9d8BAf0edAc6f37da032', abi: entryPoint07Abi },
  '0.8': { address: '0x4337084D9E255Ff0702461CF8895CE9E3b5Ff108', abi: entryPoint08Abi },
} as const
/** The common functions of the three. */
const entryPointAbi = parseAbi([
  'struct StakeInfo { uint256 deposit; bool staked; uint112 stake; uint32 unstakeDelaySec; uint48 withdrawTime; }',
  'function balanceOf(address) view returns (uint256)',
  'function getNonce(address, uint192) view returns (uint256)',
  'function depositTo(address) payable',
  'function getDepositInfo(address) view returns (StakeInfo)',
  'event UserOperationEvent(bytes32 indexed userOpHash, address indexed sender, address indexed paymaster, uint256 nonce, bool success, uint256 actualGasCost, uint256 actualGasUsed)',
  'event UserOperationRevertReason(bytes32 indexed userOpHash, address indexed sender, uint256 nonce, bytes revertReason)',
])
const ownedAbi = parseAbi([
  'function createAccount(address owner, uint256 salt) returns (address)',
  'function getAddress(address owner, uint256 salt) view returns (address)',
  'function implementation() view returns (address)',
  'function owner() view returns (address)',
  'function entryPoint() view returns (address)',
  'function supportsInterface(bytes4) view returns (bool)',
  'function isValidSignature(bytes32, bytes) view returns (bytes4)',
  'function execute(bytes32 mode, bytes executionData) payable',
  'error OwnerRequired()',
  'error AccountUnauthorized(address)',
])
const bodyAbi = parseAbi(['struct Execution { address target; uint256 value; bytes data; }', 'function body(Execution[] calls)'])
const paymasterAbi = parseAbi([
  'function owner() view returns (address)',
  'function signer() view returns (address)',
  'function entryPoint() view returns (address)',
  'function withdraw(address to, uint256 value)',
  'function addStake(uint32) payable',
  'function unlockStake()',
  'function withdrawStake(address)',
  'error OnlyOwner()',
  'error PaymasterUnauthorized(address)',
])

let node: Pocketchain

beforeEach(async () => (node = await createPocketchain({ cadence: 'instant' })))
afterEach(() => node.close())

describe.each(['1', '1.1'] as const)("the smart wallet of Base's factory %s", (version) => {
  const { factory, account: implementation } = SMART_WALLETS[version]

  it('is deployed by its factory and executes calls in one user operation', async () => {
    const account = await walletOf({ version })
    await fund(account.address)
    const op = await signed(account, { calls: [{ to: FOREIGN, value: 7n }], deploy: true })
    const result = await handle('0.6', op)
    expect(result).toMatchObject({ success: true, sender: account.address })
    expect(await balance(FOREIGN)).toBe(7n)
    expect(await read(account.address, account.abi, 'implementation')).toBe(implementation)
    // The proxy equals the one on Base, whose code sponsors and libraries check.
    expect(await client().getCode({ address: account.address })).toBe(
      '0x363d3d373d3d363d7f360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc545af43d6000803e6038573d6000fd5b3d6000f3',
    )
    const again = await signed(account, {
      calls: [
        { to: FOREIGN, value: 1n },
        { to: FOREIGN, value: 2n },
      ],
    })
    expect(await handle('0.6', again)).toMatchObject({ success: true })
    expect(await balance(FOREIGN)).toBe(10n)
  })

  it('has the address that viem expects, with ether that was sent before the deployment', async () => {
    const account = await walletOf({ version, owners: [owner, other], nonce: 5n })
    const args = [[pad(owner.address), pad(other.address)], 5n] as const
    await send(factory, encodeFunctionData({ abi: account.factory.abi, functionName: 'createAccount', args }), { value: 3n })
    expect(await read(account.address, account.abi, 'isOwnerAddress', [other.address])).toBe(true)
    expect(await read(account.address, account.abi, 'ownerCount')).toBe(2n)
    // A second call forwards its ether and changes nothing.
    await send(factory, encodeFunctionData({ abi: account.factory.abi, functionName: 'createAccount', args }), { value: 4n })
    expect(await balance(account.address)).toBe(7n)
    const hash = await read(factory, account.factory.abi, 'initCodeHash')
    const salt = keccak256(encodeAbiParameters([{ type: 'bytes[]' }, { type: 'uint256' }], args))
    expect(getCreate2Address({ from: factory, salt, bytecodeHash: hash as Hex })).toBe(account.address)
  })

  it('is not deployed without a valid owner', async () => {
    const { factory: its, abi } = await walletOf({ version })
    const create = (owners: readonly Hex[]) => encodeFunctionData({ abi: its.abi, functionName: 'createAccount', args: [owners, 0n] })
    const reasons = [[], ['0x1234'], [pad(FIRST), pad(FIRST)], [toHex(1n << 160n, { size: 32 })]] as const
    const names = await Promise.all(
      reasons.map(async (owners) => {
        const data = await revertOf({ from: FOREIGN, to: factory, data: create(owners) })
        return decodeErrorResult({ abi: [...abi, ...its.abi], data }).errorName
      }),
    )
    expect(names).toEqual(['OwnerRequired', 'InvalidOwnerBytesLength', 'AlreadyOwner', 'InvalidEthereumAddressOwner'])
  })

  it('cannot be initialised by others, neither the account nor its implementation', async () => {
    const account = await deployed({ version })
    const data = encodeFunctionData({ abi: account.abi, functionName: 'initialize', args: [[pad(FOREIGN)]] })
    for (const to of [account.address, implementation]) {
      const reason = await revertOf({ from: FOREIGN, to, data })
      expect(decodeErrorResult({ abi: account.abi, data: reason }).errorName).toBe('Initialized')
    }
  })
})

describe('the smart wallet', () => {
  it('has the addresses that Base gives the same owners', async () => {
    // Results of 0x0BA5…428a on Ethereum and Base, from viem's tests.
    const at = async (owners: readonly Address[], nonce: bigint) => (await walletOf({ version: '1', owners, nonce })).address
    expect(await Promise.all([at([FIRST], 0n), at([SECOND], 0n), at([FIRST, SECOND], 0n), at([FIRST, SECOND], 1n)])).toEqual([
      '0xBb0c1d5E7f530e8e648150fc7Cf30912575523E8',
      '0xA15C25E1d03280C19634954A38D380C076fcafa7',
      '0xCf6498bcc4E30fC6e9674b156995729E0CfC62d4',
      '0x64467188b574493d5C29a3e624115eFD67B83ee1',
    ])
  })

  it('signs messages and typed data, before its deployment and after', async () => {
    const typed = {
      domain: { name: 'App', chainId: 31337 },
      types: { Order: [{ name: 'amount', type: 'uint256' }] },
      primaryType: 'Order',
      message: { amount: 3n },
    } as const
    const account = await walletOf()
    const { address } = account
    for (const isDeployed of [false, true]) {
      if (isDeployed) await deployed()
      const signature = await account.signMessage({ message: 'hello' })
      expect(await client().verifyMessage({ address, message: 'hello', signature }), `deployed: ${isDeployed}`).toBe(true)
      expect(await client().verifyMessage({ address, message: 'goodbye', signature })).toBe(false)
      const order = await account.signTypedData(typed)
      expect(await client().verifyTypedData({ ...typed, address, signature: order })).toBe(true)
      expect(await client().verifyTypedData({ ...typed, message: { amount: 4n }, address, signature: order })).toBe(false)
    }
    expect(await read(address, account.abi, 'eip712Domain')).toEqual([
      '0x0f',
      'Coinbase Smart Wallet',
      '1',
      31337n,
      address,
      toHex(0, { size: 32 }),
      [],
    ])
  })

  it('rejects a signature for another account, a plain one, and one of another key', async () => {
    const account = await deployed()
    const second = await deployed({ nonce: 1n })
    const stranger = await walletOf({ owners: [other], address: account.address })
    const hash = hashMessage('hello')
    const wrap = (signature: Hex) => encodeAbiParameters(WRAPPER, [{ ownerIndex: 0n, signatureData: signature }])
    const given = [
      await second.signMessage({ message: 'hello' }),
      wrap(await owner.signMessage({ message: 'hello' })),
      await stranger.signMessage({ message: 'hello' }),
      encodeAbiParameters(WRAPPER, [{ ownerIndex: 9n, signatureData: '0x' }]),
    ]
    for (const signature of given) {
      expect(await read(account.address, account.abi, 'isValidSignature', [hash, signature])).toBe('0xffffffff')
    }
  })

  it('can have a passkey as owner', async () => {
    const owners = [passkey()]
    const account = await walletOf({ owners })
    await fund(account.address)
    const op = await signed(account, { calls: [{ to: FOREIGN, value: 7n }], deploy: true })
    expect(await handle('0.6', op)).toMatchObject({ success: true })
    expect(await balance(FOREIGN)).toBe(7n)
    const signature = await account.signMessage({ message: 'hello' })
    expect(await client().verifyMessage({ address: account.address, message: 'hello', signature })).toBe(true)
    expect(await client().verifyMessage({ address: account.address, message: 'goodbye', signature })).toBe(false)
    const forged = await (await walletOf({ owners: [passkey()], address: account.address })).signMessage({ message: 'hello' })
    expect(await client().verifyMessage({ address: account.address, message: 'hello', signature: forged })).toBe(false)
  })

  it.each([
    ['another key has signed', { owners: [other] }],
    ['no owner has that index', { ownerIndex: 3 }],
  ])('rejects an operation if %s', async (_, parameters) => {
    const account = await deployed()
    const liar = await walletOf({ ...parameters, address: account.address })
    const op = await signed(liar, { calls: [{ to: FOREIGN, value: 7n }] })
    await refused('0.6', op, 'AA24 signature error')
  })

  it('rejects the dummy signatures of gas estimation without a revert', async () => {
    for (const [nonce, whose] of [owner, passkey()].entries()) {
      const account = await deployed({ owners: [whose], nonce: BigInt(nonce) })
      const op = await signed(account, { calls: [{ to: FOREIGN, value: 7n }] })
      await refused('0.6', { ...op, signature: await account.getStubSignature() }, 'AA24 signature error')
    }
  })

  it('changes its owners with one signature on every chain', async () => {
    await using base = await createPocketchain({ cadence: 'instant', chainId: 8453 })
    const account = await deployed()
    await deployed({}, base)
    const addOther = encodeFunctionData({ abi: account.abi, functionName: 'addOwnerAddress', args: [other.address] })
    const op = await replayable(account, [addOther])
    for (const chain of [node, base]) {
      expect(await handle('0.6', op, chain)).toMatchObject({ success: true })
      expect(await read(account.address, account.abi, 'isOwnerAddress', [other.address], chain)).toBe(true)
    }
    // An ordinary operation is valid on one chain only.
    await refused('0.6', await signed(account, { calls: [{ to: FOREIGN, value: 1n }] }), 'AA24 signature error', base)
  })

  it('executes no other calls without the chain id', async () => {
    const account = await deployed()
    const spend = encodeFunctionData({ abi: account.abi, functionName: 'execute', args: [FOREIGN, 5n, '0x'] })
    const result = await handle('0.6', await replayable(account, [spend]))
    expect(result).toMatchObject({ success: false })
    expect(decodeErrorResult({ abi: account.abi, data: result.reason ?? '0x' })).toMatchObject({
      errorName: 'SelectorNotAllowed',
      args: [spend.slice(0, 10)],
    })
    expect(await balance(FOREIGN)).toBe(0n)
    await refused('0.6', await replayable(account, [], 0n), 'AA23 reverted', node)
    await refused('0.6', await signed(account, { calls: [{ to: FOREIGN }], key: 8453n }), 'AA23 reverted')
  })

  it('accepts calls of its owners, itself and the EntryPoint only', async () => {
    const account = await deployed()
    const execute = encodeFunctionData({ abi: account.abi, functionName: 'execute', args: [FOREIGN, 5n, '0x'] })
    await fund(owner.address)
    await send(account.address, execute, { from: owner })
    expect(await balance(FOREIGN)).toBe(5n)
    const calls: readonly Hex[] = [
      execute,
      encodeFunctionData({ abi: account.abi, functionName: 'executeBatch', args: [[]] }),
      encodeFunctionData({ abi: account.abi, functionName: 'addOwnerAddress', args: [FOREIGN] }),
      encodeFunctionData({ abi: account.abi, functionName: 'executeWithoutChainIdValidation', args: [[]] }),
      encodeFunctionData({ abi: account.abi, functionName: 'upgradeToAndCall', args: [FOREIGN, '0x'] }),
    ]
    for (const data of calls) {
      const reason = await revertOf({ from: FOREIGN, to: account.address, data })
      expect(decodeErrorResult({ abi: account.abi, data: reason }).errorName).toBe('Unauthorized')
    }
  })

  it('keeps its list of owners consistent', async () => {
    const account = await deployed({ owners: [owner, other] })
    const names: string[] = []
    const { address, abi } = account
    await fund(owner.address)
    const attempt = async (data: Hex) => {
      const reason = await revertOf({ from: owner.address, to: address, data })
      names.push(decodeErrorResult({ abi, data: reason }).errorName)
    }
    const remove = (functionName: 'removeOwnerAtIndex' | 'removeLastOwner', index: bigint, who: Address) =>
      encodeFunctionData({ abi, functionName, args: [index, pad(who)] })
    await attempt(encodeFunctionData({ abi, functionName: 'addOwnerAddress', args: [other.address] }))
    await attempt(remove('removeOwnerAtIndex', 7n, other.address))
    await attempt(remove('removeOwnerAtIndex', 1n, owner.address))
    await attempt(remove('removeLastOwner', 0n, owner.address))
    await send(address, remove('removeOwnerAtIndex', 1n, other.address), { from: owner })
    await attempt(remove('removeOwnerAtIndex', 0n, owner.address))
    expect(names).toEqual(['AlreadyOwner', 'NoOwnerAtIndex', 'WrongOwnerAtIndex', 'NotLastOwner', 'LastOwner'])
    const figures = ['nextOwnerIndex', 'removedOwnersCount', 'ownerCount']
    expect(await Promise.all(figures.map((name) => read(address, abi, name)))).toEqual([2n, 1n, 1n])
    const key = [toHex(1, { size: 32 }), toHex(2, { size: 32 })] as const
    await send(address, encodeFunctionData({ abi, functionName: 'addOwnerPublicKey', args: key }), { from: owner })
    expect(await read(address, abi, 'isOwnerPublicKey', key)).toBe(true)
    expect(await read(address, abi, 'ownerAtIndex', [2n])).toBe(concat(key))
    await send(address, remove('removeOwnerAtIndex', 0n, owner.address), { from: owner })
    expect(await read(address, abi, 'ownerAtIndex', [0n])).toBe('0x')
  })

  it('can be upgraded to an upgradeable implementation', async () => {
    const account = await deployed({ version: '1' })
    const { address, abi } = account
    await fund(owner.address)
    const upgrade = (to: Address) => encodeFunctionData({ abi, functionName: 'upgradeToAndCall', args: [to, '0x'] })
    for (const to of [FOREIGN, OWNED_FACTORY]) {
      const reason = await revertOf({ from: owner.address, to: address, data: upgrade(to) })
      expect(decodeErrorResult({ abi, data: reason }).errorName, to).toBe('UpgradeFailed')
    }
    await send(address, upgrade(SMART_WALLETS['1.1'].account), { from: owner })
    expect(await read(address, abi, 'implementation')).toBe(SMART_WALLETS['1.1'].account)
    expect(await read(address, abi, 'isOwnerAddress', [owner.address])).toBe(true)
  })

  it('forwards the revert data of a call, and receives tokens with receiver hooks', async () => {
    const account = await deployed()
    const { Faults: faults } = await put({ Faults })
    const op = await signed(account, {
      calls: [
        { to: FOREIGN, value: 5n },
        { to: faults, data: encodeFunctionData({ abi: Faults.abi, functionName: 'custom' }) },
      ],
    })
    const result = await handle('0.6', op)
    expect(result.success).toBe(false)
    expect(decodeErrorResult({ abi: Faults.abi, data: result.reason ?? '0x' })).toMatchObject({ errorName: 'Broke' })
    expect(await balance(FOREIGN)).toBe(0n)
    await giveTokens(account.address)
  })
})

describe('the account with one owner, for EntryPoint 0.7', () => {
  it('is deployed by its factory and executes calls in one user operation', async () => {
    const account = await addressOf(owner.address)
    await fund(account)
    const { Coin: coin } = await put({ Coin })
    await send(coin, encodeFunctionData({ abi: Coin.abi, functionName: 'transfer', args: [account, 100n] }))
    const calls: Calls = [
      [coin, 0n, encodeFunctionData({ abi: Coin.abi, functionName: 'transfer', args: [FOREIGN, 30n] })],
      [FOREIGN, 5n, '0x'],
    ]
    expect(await handle('0.7', await owned({ calls, deploy: true }))).toMatchObject({ success: true, sender: account })
    expect(await balance(FOREIGN)).toBe(5n)
    expect(await read(coin, Coin.abi, 'balanceOf', [FOREIGN])).toBe(30n)
    expect(await handle('0.7', await owned({ calls: [[FOREIGN, 1n, '0x']] }))).toMatchObject({ success: true })
    expect(await balance(FOREIGN)).toBe(6n)
    expect(await read(account, ownedAbi, 'owner')).toBe(owner.address)
    expect(await read(account, ownedAbi, 'entryPoint')).toBe(ENTRY_POINTS['0.7'].address)
    // ERC-165, ERC-721 and ERC-1155 receivers, ERC-1271, IAccount
    for (const id of ['0x01ffc9a7', '0x150b7a02', '0x4e2312e0', '0x1626ba7e', '0x19822f7c'] as const) {
      expect(await read(account, ownedAbi, 'supportsInterface', [id]), id).toBe(true)
    }
    await giveTokens(account)
  })

  it('has one address per owner and salt, on every chain', async () => {
    await using base = await createPocketchain({ cadence: 'instant', chainId: 8453 })
    const addresses = [await addressOf(owner.address), await addressOf(owner.address, 1n), await addressOf(other.address)]
    expect(new Set(addresses).size).toBe(3)
    expect(await addressOf(owner.address, 0n, base)).toBe(addresses[0])
    // The chain id is part of its signing domain.
    const implementation = (await read(OWNED_FACTORY, ownedAbi, 'implementation')) as Address
    const [here, there] = await Promise.all([node, base].map((chain) => client(chain).getCode({ address: implementation })))
    expect(there).toHaveLength(here?.length ?? 0)
    expect(there).not.toBe(here)
    await makeOwned(owner.address)
    const data = encodeFunctionData({ abi: ownedAbi, functionName: 'createAccount', args: [owner.address, 0n] })
    const again = await client().call({ to: OWNED_FACTORY, data })
    expect(again.data).toBe(pad(addresses[0] ?? zeroAddress).toLowerCase())
    const ownerless = encodeFunctionData({ abi: ownedAbi, functionName: 'createAccount', args: [zeroAddress, 0n] })
    const reason = await revertOf({ from: FOREIGN, to: OWNED_FACTORY, data: ownerless })
    expect(decodeErrorResult({ abi: ownedAbi, data: reason }).errorName).toBe('OwnerRequired')
  })

  it('rejects an operation of another key', async () => {
    const account = await makeOwned(owner.address)
    await fund(account)
    await refused('0.7', await owned({ calls: [[FOREIGN, 5n, '0x']], key: other }), 'AA24 signature error')
  })

  it('accepts calls of its owner without a bundler, and of no other caller', async () => {
    const account = await makeOwned(owner.address)
    await fund(account)
    await fund(owner.address)
    const data = execute([[FOREIGN, 5n, '0x']])
    await send(account, data, { from: owner })
    expect(await balance(FOREIGN)).toBe(5n)
    const implementation = (await read(OWNED_FACTORY, ownedAbi, 'implementation')) as Address
    for (const to of [account, implementation]) {
      const reason = await revertOf({ from: other.address, to, data })
      expect(decodeErrorResult({ abi: ownedAbi, data: reason }).errorName, to).toBe('AccountUnauthorized')
    }
  })

  it('signs nested messages (ERC-7739), which are invalid for other accounts of its owner', async () => {
    const account = await makeOwned(owner.address)
    const second = await makeOwned(owner.address, 1n)
    const wallet = createWalletClient({ account: owner, chain: foundry, transport: custom(node) })
    const verifierDomain = { name: 'OwnedAccount', version: '1', chainId: 31337, verifyingContract: account } as const
    const nested = await signNested(wallet, { account: owner, message: 'hello', verifierDomain })
    const verify = (address: Address, signature: Hex) => client().verifyMessage({ address, message: 'hello', signature })
    expect(await verify(account, nested)).toBe(true)
    expect(await verify(second, nested)).toBe(false)
    expect(await verify(account, await owner.signMessage({ message: 'hello' }))).toBe(false)
  })
})

describe.each(['0.6', '0.7', '0.8'] as const)('the paymaster for EntryPoint %s', (version) => {
  const { address: entryPoint } = ENTRY_POINTS[version]
  let paymaster: Address
  let sender: Address
  let coin: Address
  /** An operation of an account without ether. */
  let draft: Draft

  beforeEach(async () => {
    paymaster = await deployPaymaster(version)
    coin = (await put({ Coin })).Coin
    draft = await beggar(version, [coin, 0n, encodeFunctionData({ abi: Coin.abi, functionName: 'approve', args: [FOREIGN, 7n] })])
    ;({ sender } = draft.op)
  })

  it('pays for an operation that its signer has signed', async () => {
    const before = await deposit(entryPoint, paymaster)
    const result = await handle(version, await sponsored({}))
    expect(result).toMatchObject({ success: true, sender, paymaster })
    expect(await read(coin, Coin.abi, 'allowance', [sender, FOREIGN])).toBe(7n)
    expect(before - (await deposit(entryPoint, paymaster))).toBe(result.actualGasCost)
    expect(await balance(sender)).toBe(0n)
    expect(await balance(BUNDLER)).toBe(result.actualGasCost)
  })

  it('has an address that depends on owner and signer, on every chain', async () => {
    const functions = ['owner', 'signer', 'entryPoint']
    expect(await Promise.all(functions.map((name) => read(paymaster, paymasterAbi, name)))).toEqual([
      owner.address,
      sponsor.address,
      entryPoint,
    ])
    const elsewhere = getCreate2Address({
      from: sponsors.deployer,
      salt: sponsors.salt,
      bytecode: creation(version, owner.address, other.address),
    })
    expect(elsewhere).not.toBe(paymaster)
  })

  const later = (seconds: number) => async () => (await now()) + seconds
  it.each<[string, Partial<Terms>, string]>([
    ['another key', { key: other }, 'AA34 signature error'],
    ['the key for another chain', { chainId: 8453 }, 'AA34 signature error'],
    ['the key for another paymaster', { verifyingContract: FOREIGN }, 'AA34 signature error'],
    ['the key for another entry point', { version: '0.5' }, 'AA34 signature error'],
    ['no key', { key: null }, 'AA34 signature error'],
    ['the key, after its validity', { validUntil: later(-10) }, 'AA32 paymaster expired or not due'],
    ['the key, before its validity', { validAfter: later(1_000) }, 'AA32 paymaster expired or not due'],
  ])('rejects an operation signed by %s', async (_, terms, message) => {
    await refused(version, await sponsored(terms), message)
  })

  it.each(CHANGES.filter(([, only]) => only.includes(version)))(
    'rejects an operation with another %s than the signed one',
    async (_, __, change) => {
      await refused(version, await sponsored({ change }), 'AA34 signature error')
    },
  )

  it('pays its deposit out to its owner only', async () => {
    const call = (functionName: 'withdraw', value: bigint) =>
      encodeFunctionData({ abi: paymasterAbi, functionName, args: [FOREIGN, value] })
    const reason = await revertOf({ from: sponsor.address, to: paymaster, data: call('withdraw', 5n) })
    expect(decodeErrorResult({ abi: paymasterAbi, data: reason }).errorName).toBe('OnlyOwner')
    await fund(owner.address)
    await send(paymaster, call('withdraw', 5n), { from: owner })
    expect(await balance(FOREIGN)).toBe(5n)
    expect(await deposit(entryPoint, paymaster)).toBe(parseEther('1') - 5n)
  })

  it('can be staked by its owner, who can withdraw the stake', async () => {
    await fund(owner.address)
    const stake = encodeFunctionData({ abi: paymasterAbi, functionName: 'addStake', args: [60] })
    const unlock = encodeFunctionData({ abi: paymasterAbi, functionName: 'unlockStake' })
    const back = encodeFunctionData({ abi: paymasterAbi, functionName: 'withdrawStake', args: [FOREIGN] })
    for (const data of [stake, unlock, back]) {
      const reason = await revertOf({ from: sponsor.address, to: paymaster, data })
      expect(decodeErrorResult({ abi: paymasterAbi, data: reason }).errorName).toBe('OnlyOwner')
    }
    await send(paymaster, stake, { from: owner, value: 9n })
    expect(await read(entryPoint, entryPointAbi, 'getDepositInfo', [paymaster])).toMatchObject({ staked: true, stake: 9n })
    await send(paymaster, unlock, { from: owner })
    await node.request({ method: 'evm_increaseTime', params: [61] })
    await send(paymaster, back, { from: owner })
    expect(await balance(FOREIGN)).toBe(9n)
  })

  it('accepts calls of the EntryPoint only', async () => {
    const op = await sponsored({})
    const data = encodeFunctionData({
      abi: validationAbi(version),
      functionName: 'validatePaymasterUserOp',
      args: [onChain(version, op), toHex(0, { size: 32 }), 0n],
    })
    const reason = await revertOf({ from: FOREIGN, to: paymaster, data })
    expect(decodeErrorResult({ abi: paymasterAbi, data: reason }).errorName).toBe('PaymasterUnauthorized')
  })

  it('follows the validation rules of ERC-7562 for unstaked entities, as do account and factory', async () => {
    const op = await sponsored({})
    const abi = validationAbi(version)
    const validation = (functionName: string) =>
      encodeFunctionData({ abi, functionName, args: [onChain(version, op), toHex(0, { size: 32 }), 0n] })
    await sound({ from: entryPoint, to: paymaster, data: validation('validatePaymasterUserOp') })
    const init = version === '0.6' ? [slice(op.initCode ?? '0x', 0, 20), slice(op.initCode ?? '0x', 20)] : [op.factory, op.factoryData]
    const [factory = zeroAddress, factoryData = '0x'] = init
    if (factory !== zeroAddress) {
      await sound({ from: FOREIGN, to: factory, data: factoryData })
      await send(factory, factoryData)
    }
    await sound({ from: entryPoint, to: sender, data: validation('validateUserOp') }, { own: true })
  })

  /** The paymaster signs first, then the terms are changed, then the account signs the result. */
  async function sponsored(terms: Partial<Terms>): Promise<Operation> {
    const limits = { paymasterVerificationGasLimit: 100_000n, paymasterPostOpGasLimit: 1n }
    const op: Operation = { ...draft.op, ...(version !== '0.6' && limits) }
    const data = await paymasterData(version, paymaster, op, terms)
    const payment = version === '0.6' ? { paymasterAndData: concat([paymaster, data]) } : { paymaster, paymasterData: data }
    const paid = { ...op, ...terms.change?.(op), ...payment }
    return { ...paid, signature: await draft.sign(paid) }
  }
})

/** The fields of all versions. */
interface Operation {
  readonly sender: Address
  readonly nonce: bigint
  readonly callData: Hex
  readonly callGasLimit: bigint
  readonly verificationGasLimit: bigint
  readonly preVerificationGas: bigint
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
  readonly signature: Hex
  readonly initCode?: Hex
  readonly paymasterAndData?: Hex
  readonly factory?: Address
  readonly factoryData?: Hex
  readonly paymaster?: Address
  readonly paymasterData?: Hex
  readonly paymasterVerificationGasLimit?: bigint
  readonly paymasterPostOpGasLimit?: bigint
}

interface Draft {
  readonly op: Operation
  readonly sign: (op: Operation) => Promise<Hex>
}

interface Terms {
  /** null: no signature */
  readonly key: typeof owner | null
  readonly chainId: number
  readonly verifyingContract: Address
  readonly version: string
  /** seconds */
  readonly validAfter: () => Promise<number>
  readonly validUntil: () => Promise<number>
  readonly change: (op: Operation) => Partial<Operation>
}

type Calls = readonly (readonly [to: Address, value: bigint, data: Hex])[]
type Wallet = Awaited<ReturnType<typeof walletOf>>
type Owner = Address | typeof owner | WebAuthnAccount

interface WalletParameters {
  readonly version?: '1' | '1.1'
  readonly owners?: readonly Owner[]
  readonly nonce?: bigint
  readonly ownerIndex?: number
  readonly address?: Address
}

const GAS = {
  callGasLimit: 500_000n,
  verificationGasLimit: 1_500_000n,
  preVerificationGas: 100_000n,
  maxFeePerGas: 2_000_000_000n,
  maxPriorityFeePerGas: 1_000_000_000n,
} as const
const ANY: readonly Version[] = ['0.6', '0.7', '0.8']

/** Fields that a bundler or a sender may change after the paymaster has signed. */
const CHANGES: readonly (readonly [field: string, versions: readonly Version[], change: Terms['change']])[] = [
  ['nonce', ANY, () => ({ nonce: 5n << 64n })],
  ['init code', ['0.6'], (op) => ({ initCode: `${op.initCode ?? '0x'}00` })],
  ['init code', ['0.7'], (op) => ({ factoryData: `${op.factoryData ?? '0x'}00` })],
  ['call data', ANY, (op) => ({ callData: `${op.callData}00` })],
  ['call gas limit', ANY, (op) => ({ callGasLimit: op.callGasLimit + 1n })],
  ['verification gas limit', ANY, (op) => ({ verificationGasLimit: op.verificationGasLimit + 1n })],
  ['pre-verification gas', ANY, (op) => ({ preVerificationGas: op.preVerificationGas + 1n })],
  ['fee', ANY, (op) => ({ maxFeePerGas: op.maxFeePerGas + 1n })],
  ['tip', ANY, (op) => ({ maxPriorityFeePerGas: op.maxPriorityFeePerGas + 1n })],
  ['verification gas limit of the paymaster', ['0.7', '0.8'], () => ({ paymasterVerificationGasLimit: 100_001n })],
  ['gas limit of the paymaster afterwards', ['0.7', '0.8'], () => ({ paymasterPostOpGasLimit: 2n })],
]

const WRAPPER = [
  {
    type: 'tuple',
    components: [
      { name: 'ownerIndex', type: 'uint256' },
      { name: 'signatureData', type: 'bytes' },
    ],
  },
] as const

function walletOf(parameters: WalletParameters = {}, chain = node) {
  return toCoinbaseSmartAccount({ client: client(chain), version: '1.1', owners: [owner], ...parameters })
}

/** A deployed account with ether. */
async function deployed(parameters: WalletParameters = {}, chain = node): Promise<Wallet> {
  const account = await walletOf(parameters, chain)
  const { factory, factoryData } = await account.getFactoryArgs()
  await send(factory ?? zeroAddress, factoryData ?? '0x', { chain })
  await fund(account.address, chain)
  return account
}

async function signed(
  account: Wallet,
  { calls, deploy = false, key = 0n }: { calls: readonly { to: Address; value?: bigint; data?: Hex }[]; deploy?: boolean; key?: bigint },
): Promise<Operation> {
  const { factory, factoryData } = await account.getFactoryArgs()
  const op = {
    ...GAS,
    sender: account.address,
    nonce: await nonceOf('0.6', account.address, key),
    initCode: deploy ? concat([factory ?? zeroAddress, factoryData ?? '0x']) : '0x',
    callData: await account.encodeCalls(calls),
    paymasterAndData: '0x',
    signature: '0x',
  } as const
  return { ...op, signature: await account.signUserOperation(op) }
}

/** Calls of the account to itself, signed by its first owner without the chain id. */
async function replayable(account: Wallet, calls: readonly Hex[], key = 8453n): Promise<Operation> {
  const op = {
    ...GAS,
    sender: account.address,
    nonce: await nonceOf('0.6', account.address, key),
    initCode: '0x',
    callData: encodeFunctionData({ abi: account.abi, functionName: 'executeWithoutChainIdValidation', args: [calls] }),
    paymasterAndData: '0x',
    signature: '0x',
  } as const
  const hash = (await read(account.address, account.abi, 'getUserOpHashWithoutChainId', [op])) as Hex
  const signatureData = await owner.sign({ hash })
  return { ...op, signature: encodeAbiParameters(WRAPPER, [{ ownerIndex: 0n, signatureData }]) }
}

/** A key of an authenticator without user interaction. */
function passkey(): WebAuthnAccount {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const point = Buffer.concat([x, y].map((part) => Buffer.from(part, 'base64url')))
  const getFn = async (options?: { readonly publicKey?: { readonly challenge: unknown } }) => {
    const challenge = Buffer.from(options?.publicKey?.challenge as ArrayBuffer).toString('base64url') // WebAuthn, CollectedClientData
    const clientDataJSON = Buffer.from(`{"type":"webauthn.get","challenge":"${challenge}","origin":"http://localhost","crossOrigin":false}`)
    // Hash of the relying party id, the flag UP, a counter.
    const authenticatorData = Buffer.from(hexToBytes(concat([sha256(toHex('localhost')), '0x01', '0x00000001'])))
    const message = Buffer.concat([authenticatorData, hexToBytes(sha256(clientDataJSON))])
    const signature = createSign('sha256').update(message).sign(privateKey)
    const [clientData, authenticator, signed] = [clientDataJSON, authenticatorData, signature].map((part) => Uint8Array.from(part).buffer)
    return { id: 'key', type: 'public-key', response: { clientDataJSON: clientData, authenticatorData: authenticator, signature: signed } }
  }
  return toWebAuthnAccount({ credential: { id: 'key', publicKey: bytesToHex(point) }, getFn, rpId: 'localhost' })
}

async function addressOf(whose: Address, salt = 0n, chain = node): Promise<Address> {
  return (await read(OWNED_FACTORY, ownedAbi, 'getAddress', [whose, salt], chain)) as Address
}

async function makeOwned(whose: Address, salt = 0n): Promise<Address> {
  await send(OWNED_FACTORY, encodeFunctionData({ abi: ownedAbi, functionName: 'createAccount', args: [whose, salt] }))
  return addressOf(whose, salt)
}

async function owned({ calls, deploy = false, key = owner }: { calls: Calls; deploy?: boolean; key?: typeof owner }): Promise<Operation> {
  const sender = await addressOf(owner.address)
  const factoryData = encodeFunctionData({ abi: ownedAbi, functionName: 'createAccount', args: [owner.address, 0n] })
  const op: Operation = {
    ...GAS,
    sender,
    nonce: await nonceOf('0.7', sender),
    callData: execute(calls),
    signature: '0x',
    ...(deploy && { factory: OWNED_FACTORY, factoryData }),
  }
  return { ...op, signature: await signAsMessage(op, key) }
}

function signAsMessage(op: Operation, key: typeof owner): Promise<Hex> {
  return key.signMessage({ message: { raw: hashOf('0.7', op) } })
}

/** An account without ether and, except for 0.8, without code: its operation, and the function that signs it. */
async function beggar(version: Version, call: Calls[number]): Promise<Draft> {
  if (version === '0.6') {
    const account = await walletOf()
    const [to, value, data] = call
    const op = await signed(account, { calls: [{ to, value, data }], deploy: true })
    return { op, sign: (paid) => account.signUserOperation(paid as UserOperation<'0.6'>) } // it has the fields of 0.6
  }
  if (version === '0.7') return { op: await owned({ calls: [call], deploy: true }), sign: (paid) => signAsMessage(paid, owner) }
  const wallet = createWalletClient({ account: owner, chain: foundry, transport: custom(node) })
  const authorization = await wallet.signAuthorization({ contractAddress: POCKET_ACCOUNT })
  const hash = await rich().sendTransaction({ to: zeroAddress, authorizationList: [authorization], gas: 200_000n })
  await client().waitForTransactionReceipt({ hash })
  const op = {
    ...GAS,
    sender: owner.address,
    nonce: await nonceOf('0.8', owner.address),
    callData: execute([call]),
    signature: '0x',
  } as const
  return { op, sign: (paid) => owner.sign({ hash: hashOf('0.8', paid) }) }
}

function execute(calls: Calls): Hex {
  const args = [calls.map(([target, value, data]) => ({ target, value, data }))] as const
  const body: Hex = `0x${encodeFunctionData({ abi: bodyAbi, functionName: 'body', args }).slice(10)}`
  return encodeFunctionData({ abi: ownedAbi, functionName: 'execute', args: [BATCH, body] })
}

async function deployPaymaster(version: Version): Promise<Address> {
  const bytecode = creation(version, owner.address, sponsor.address)
  await send(sponsors.deployer, concat([sponsors.salt, bytecode]))
  const paymaster = getCreate2Address({ from: sponsors.deployer, salt: sponsors.salt, bytecode })
  const data = encodeFunctionData({ abi: entryPointAbi, functionName: 'depositTo', args: [paymaster] })
  await send(ENTRY_POINTS[version].address, data, { value: parseEther('1') })
  return paymaster
}

function creation(version: Version, whose: Address, signer: Address): Hex {
  const found = sponsors.paymasters.find((row) => row.version === version)
  expect(found?.entryPoint).toBe(ENTRY_POINTS[version].address.toLowerCase())
  return concat([found?.initCode ?? '0x', encodeAbiParameters([{ type: 'address' }, { type: 'address' }], [whose, signer])])
}

/** validAfter (6 bytes) ‖ validUntil (6) ‖ signature (65) */
async function paymasterData(version: Version, paymaster: Address, op: Operation, terms: Partial<Terms>): Promise<Hex> {
  const { key = sponsor, chainId = 31337, verifyingContract = paymaster } = terms
  const validAfter = (await terms.validAfter?.()) ?? 0
  const validUntil = (await terms.validUntil?.()) ?? (await now()) + 600
  const hash = hashTypedData({
    domain: { name: 'PocketPaymaster', version: terms.version ?? version, chainId, verifyingContract },
    types: { UserOperationRequest: version === '0.6' ? REQUEST_06 : REQUEST },
    primaryType: 'UserOperationRequest',
    message: { ...op, ...(version !== '0.6' && toPackedUserOperation(op as UserOperation<'0.7'>)), validAfter, validUntil },
  })
  const signature = key === null ? '0x' : await key.sign({ hash })
  return encodePacked(['uint48', 'uint48', 'bytes'], [validAfter, validUntil, signature])
}

const field = (type: string) => (name: string) => ({ name, type })
const REQUEST = [
  { name: 'sender', type: 'address' },
  { name: 'nonce', type: 'uint256' },
  ...['initCode', 'callData'].map(field('bytes')),
  { name: 'accountGasLimits', type: 'bytes32' },
  { name: 'preVerificationGas', type: 'uint256' },
  { name: 'gasFees', type: 'bytes32' },
  ...['paymasterVerificationGasLimit', 'paymasterPostOpGasLimit'].map(field('uint256')),
  ...['validAfter', 'validUntil'].map(field('uint48')),
]
const REQUEST_06 = [
  { name: 'sender', type: 'address' },
  { name: 'nonce', type: 'uint256' },
  ...['initCode', 'callData'].map(field('bytes')),
  ...['callGasLimit', 'verificationGasLimit', 'preVerificationGas', 'maxFeePerGas', 'maxPriorityFeePerGas'].map(field('uint256')),
  ...['validAfter', 'validUntil'].map(field('uint48')),
]

function hashOf(version: Version, op: Operation, chainId = 31337): Hex {
  const userOperation = op as UserOperation<'0.7'> // it has the fields of its version
  return getUserOperationHash({ chainId, entryPointAddress: ENTRY_POINTS[version].address, entryPointVersion: version, userOperation })
}

/** Returns the parameter of handleOps. */
function onChain(version: Version, op: Operation) {
  return version === '0.6' ? op : toPackedUserOperation(op as UserOperation<'0.7'>) // it has the fields of 0.7
}

function handleOps(version: Version, op: Operation): Hex {
  const abi: Abi = ENTRY_POINTS[version].abi
  return encodeFunctionData({ abi, functionName: 'handleOps', args: [[onChain(version, op)], BUNDLER] })
}

/** Runs the operation in a transaction. Returns the event of the EntryPoint. */
async function handle(version: Version, op: Operation, chain = node) {
  const { logs } = await send(ENTRY_POINTS[version].address, handleOps(version, op), { chain })
  const [event] = parseEventLogs({ abi: entryPointAbi, eventName: 'UserOperationEvent', logs })
  const [failure] = parseEventLogs({ abi: entryPointAbi, eventName: 'UserOperationRevertReason', logs })
  if (event === undefined) throw new Error('no UserOperationEvent')
  return { ...event.args, reason: failure?.args.revertReason ?? null }
}

/** Expects an error of the EntryPoint in eth_call, and a transaction without effect. */
async function refused(version: Version, op: Operation, message: string, chain = node): Promise<void> {
  const { address, abi } = ENTRY_POINTS[version]
  const data = handleOps(version, op)
  const before = await traces(version, op, chain)
  const reason = await revertOf({ from: richest(chain), to: address, data }, chain)
  const { errorName, args } = decodeErrorResult({ abi, data: reason })
  expect({ errorName, args }).toMatchObject({ errorName: 'FailedOp', args: [0n, expect.stringContaining(message)] })
  const hash = await rich(chain).sendTransaction({ to: address, data, gas: 5_000_000n })
  expect((await client(chain).waitForTransactionReceipt({ hash })).status).toBe('reverted')
  expect(await traces(version, op, chain)).toEqual(before)
}

/** The state that an operation changes: nonce, code and ether of the sender, deposit of the paymaster, ether of the bundler. */
async function traces(version: Version, op: Operation, chain: Pocketchain) {
  const paymaster = op.paymaster ?? (op.paymasterAndData?.slice(0, 42) as Address | undefined)
  const sponsored = paymaster !== undefined && paymaster.length === 42
  return Promise.all([
    nonceOf(version, op.sender, op.nonce >> 64n, chain),
    client(chain).getCode({ address: op.sender }),
    balance(op.sender, chain),
    sponsored ? deposit(ENTRY_POINTS[version].address, paymaster, chain) : 0n,
    balance(BUNDLER, chain),
  ])
}

async function nonceOf(version: Version, sender: Address, key = 0n, chain = node): Promise<bigint> {
  return (await read(ENTRY_POINTS[version].address, entryPointAbi, 'getNonce', [sender, key], chain)) as bigint
}

async function deposit(entryPoint: Address, account: Address, chain = node): Promise<bigint> {
  return (await read(entryPoint, entryPointAbi, 'balanceOf', [account], chain)) as bigint
}

/** `validateUserOp` and `validatePaymasterUserOp` with the operation of that version. */
function validationAbi(version: Version): Abi {
  const handler = (ENTRY_POINTS[version].abi as Abi).find((entry) => entry.type === 'function' && entry.name === 'handleOps')
  const [ops] = handler?.type === 'function' ? handler.inputs : []
  if (ops === undefined) throw new Error(`handleOps of ${version} takes nothing`)
  const inputs = [
    { ...ops, type: 'tuple' },
    { name: 'hash', type: 'bytes32' },
    { name: 'funds', type: 'uint256' },
  ]
  const names = ['validateUserOp', 'validatePaymasterUserOp']
  return names.map((name) => ({ type: 'function', name, stateMutability: 'nonpayable', inputs, outputs: [] }))
}

/** ERC-7562, OP-011, OP-031 and OP-080 for an entity without stake. */
const BANNED = new Set(
  'ORIGIN GASPRICE BLOCKHASH COINBASE TIMESTAMP NUMBER PREVRANDAO DIFFICULTY GASLIMIT BASEFEE BLOBHASH BLOBBASEFEE CREATE SELFDESTRUCT INVALID BALANCE SELFBALANCE'.split(
    ' ',
  ),
)

/** Traces a call of the validation: no banned opcode, and no storage except (`own`) that of an account, which is the sender. */
async function sound(call: { from: Address; to: Address; data: Hex }, { own = false } = {}): Promise<void> {
  const trace = await node.request({ method: 'debug_traceCall', params: [call, 'latest', { disableStack: true }] })
  const { failed, structLogs } = trace as { failed: boolean; structLogs: readonly { op: string; depth: number }[] }
  expect(failed).toBe(false)
  const ops = structLogs.map(({ op }) => op)
  expect(ops.filter((op) => BANNED.has(op))).toEqual([])
  // OP-012: GAS is allowed only before a call.
  expect(ops.filter((op, i) => op === 'GAS' && !ops[i + 1]?.endsWith('CALL'))).toEqual([])
  const stores = structLogs.filter(({ op, depth }) => /^(SLOAD|SSTORE|TLOAD|TSTORE)$/.test(op) && depth === 1)
  if (!own) expect(stores).toEqual([])
}

/** Tokens with receiver hooks. */
async function giveTokens(to: Address): Promise<void> {
  const { Card: card, Thing: thing } = await put({ Card, Thing })
  await send(card, encodeFunctionData({ abi: Card.abi, functionName: 'mint', args: [to, 1n] }))
  await send(thing, encodeFunctionData({ abi: Thing.abi, functionName: 'mint', args: [to, 1n, 2n] }))
  await send(thing, encodeFunctionData({ abi: Thing.abi, functionName: 'mintBatch', args: [to, [5n, 6n], [1n, 1n]] }))
}

async function put<Name extends string>(what: Readonly<Record<Name, typeof Coin>>): Promise<Record<Name, Address>> {
  const made: Partial<Record<Name, Address>> = {}
  for (const name of Object.keys(what) as Name[]) {
    const args = name === 'Coin' ? ['Coin', 'COIN', 6] : []
    const hash = await rich().deployContract({ abi: what[name].abi, bytecode: what[name].bytecode, args })
    const { contractAddress } = await client().waitForTransactionReceipt({ hash })
    if (!contractAddress) throw new Error(`${name} was not created`)
    made[name] = contractAddress
  }
  return made as Record<Name, Address> // each name was visited
}

async function send(
  to: Address,
  data: Hex,
  { from, value = 0n, chain = node }: { from?: typeof owner; value?: bigint; chain?: Pocketchain } = {},
) {
  const account = from ?? richest(chain)
  const wallet = createWalletClient({ account, chain: chainOf(chain), transport: custom(chain) })
  const hash = await wallet.sendTransaction({ to, data, value, gas: 5_000_000n })
  const receipt = await client(chain).waitForTransactionReceipt({ hash })
  expect(receipt.status).toBe('success')
  return receipt
}

/** Returns the revert data. */
async function revertOf(call: { from: Address; to: Address; data: Hex }, chain = node): Promise<Hex> {
  const refusal: unknown = await chain.request({ method: 'eth_call', params: [call, 'latest'] }).then(
    () => null,
    (error: unknown) => error,
  )
  expect(refusal).toMatchObject({ message: expect.stringMatching(/^execution reverted/), data: expect.stringMatching(/^0x/) })
  return (refusal as { data: Hex }).data // a revert carries it
}

function read(address: Address, abi: Abi, functionName: string, args: readonly unknown[] = [], chain = node): Promise<unknown> {
  return client(chain).readContract({ address, abi, functionName, args })
}

function balance(address: Address, chain = node): Promise<bigint> {
  return client(chain).getBalance({ address })
}

async function fund(address: Address, chain = node): Promise<void> {
  await chain.request({ method: 'anvil_setBalance', params: [address, toHex(parseEther('1'))] })
}

/** seconds */
async function now(): Promise<number> {
  return Number((await client().getBlock()).timestamp)
}

function client(chain = node) {
  return createPublicClient({ chain: chainOf(chain), transport: custom(chain), pollingInterval: 10 })
}

function rich(chain = node) {
  return createWalletClient({ account: richest(chain), chain: chainOf(chain), transport: custom(chain) })
}

function richest(chain: Pocketchain): Address {
  return chain.accounts[0]?.address ?? zeroAddress
}

/** The second chain of a test has the id of Base. */
function chainOf(chain: Pocketchain) {
  return defineChain({ ...foundry, id: chain === node ? foundry.id : 8453 })
}
