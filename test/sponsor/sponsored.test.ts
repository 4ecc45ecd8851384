// Sponsored operations of apps: viem's bundler, paymaster and account clients over HTTP and HTTPS. No account has ether, and the ledger equals
// the charges of the EntryPoint.
import { request as httpsRequest } from 'node:https'
import simpleAccountFactory06 from 'aa06/artifacts/SimpleAccountFactory.json' with { type: 'json' }
import simple7702Account from 'aa08/artifacts/Simple7702Account.json' with { type: 'json' }
import { createPocketchain } from 'pocketchain'
import type { Pocketchain, Server } from 'pocketchain'
import {
  concatHex,
  createPublicClient,
  createWalletClient,
  custom,
  encodeAbiParameters,
  encodeFunctionData,
  erc20Abi,
  getCreate2Address,
  http,
  numberToHex,
  parseAbi,
  parseEther,
  zeroHash,
} from 'viem'
import type { Address, Chain, Hex, PrivateKeyAccount } from 'viem'
import {
  createBundlerClient,
  createPaymasterClient,
  entryPoint06Abi,
  entryPoint06Address,
  entryPoint07Abi,
  entryPoint07Address,
  entryPoint08Address,
  getUserOperationHash,
  toCoinbaseSmartAccount,
  toSimple7702SmartAccount,
  toSmartAccount,
  toSoladySmartAccount,
} from 'viem/account-abstraction'
import type { PaymasterClient, SmartAccount } from 'viem/account-abstraction'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Operations, chargesOf, differences, ledgerOf, sumOf } from '../../bench/operations.mjs'
import type { Entry } from '../../bench/operations.mjs'
import * as eth from '../../src/eth/index.ts'
import * as rpc from '../../src/rpc/index.ts'
import { appFolder, compiled } from '../apps.fixture.ts'

const CREATE2 = '0x4e59b44847b379578588920ca78fbf26c0b4956c'
const WETH: Address = '0x4200000000000000000000000000000000000006'
const BOB: Address = '0x000000000000000000000000000000000000b0b0'
/** Accounts of the default genesis for 0.7 with one owner key (contracts/src/OwnedAccount.sol). */
const OWNED_ACCOUNT_FACTORY: Address = '0x8c2c918ec24c6349b142dab84324aaa3ec772a35'
const ENTRY_POINTS = { '0.6': entryPoint06Address, '0.7': entryPoint07Address, '0.8': entryPoint08Address } as const
type Version = keyof typeof ENTRY_POINTS
const SOLADY = appFolder('solady')

/** the node's log lines */
const bugs: unknown[] = []
let node: Pocketchain
let server: Server
let chain: Chain
let sponsor: Status
let soladyFactory: Address | null = null
let simpleFactory06: Address

/** The checked part of pocketchain_sponsorStatus. */
interface Status {
  readonly name: string
  readonly paymasters: readonly { readonly version: Version; readonly address: Address; readonly deposit: Hex; readonly reserved: Hex }[]
  readonly totals: { readonly reserved: Hex; readonly settled: Hex }
}

beforeAll(async () => {
  node = await createPocketchain({ wallet: false, onError: (error) => bugs.push(error) })
  server = await node.listen({ port: 0 })
  chain = { ...foundry, rpcUrls: { default: { http: [server.url] } } }
  await deploy(simple7702Account.bytecode as Hex) // hex in a JSON file
  simpleFactory06 = await deploy(concatHex([simpleAccountFactory06.bytecode as Hex, words(entryPoint06Address)])) // hex in a JSON file
  if (SOLADY !== null) {
    const { Account = '0x', Factory = '0x' } = compiled(SOLADY, 'Account.sol')
    soladyFactory = await deploy(concatHex([Factory, words(await deploy(Account))]))
  }
  await ask('anvil_mine') // viem reads what is sealed
  sponsor = await status()
}, 60_000)

afterAll(async () => {
  await node.close()
  expect(bugs).toEqual([])
})

function ask(method: string, ...params: readonly unknown[]): Promise<unknown> {
  return node.request({ method, params })
}

async function status(): Promise<Status> {
  return (await ask('pocketchain_sponsorStatus')) as Status
}

function words(address: Address): Hex {
  return encodeAbiParameters([{ type: 'address' }], [address])
}

async function deploy(initCode: Hex): Promise<Address> {
  const address = getCreate2Address({ from: CREATE2, salt: zeroHash, bytecode: initCode })
  const from = node.accounts[9]?.address
  const hash = await ask('eth_sendTransaction', { from, to: CREATE2, data: concatHex([zeroHash, initCode]), gas: numberToHex(6_000_000) })
  await publicClient().waitForTransactionReceipt({ hash: hash as Hex })
  expect(await ask('eth_getCode', address, 'pending')).not.toBe('0x')
  return address
}

function publicClient() {
  return createPublicClient({ chain, transport: http(), pollingInterval: 20 })
}

/** The clients of an app, over HTTP at the URLs of the banner. */
function clients(paymaster: PaymasterClient = createPaymasterClient({ transport: http(`${server.url}/paymaster`) })) {
  const client = publicClient()
  return { client, paymaster, bundler: createBundlerClient({ client, paymaster, transport: http(server.url), pollingInterval: 20 }) }
}

type Client = ReturnType<typeof publicClient>

interface Kind {
  readonly name: string
  readonly version: Version
  readonly account: (client: Client, owner: PrivateKeyAccount) => Promise<SmartAccount>
  /** its key delegates it with the first operation */
  readonly delegates?: boolean
}

const KINDS: readonly Kind[] = [
  {
    name: "viem's Simple7702 account",
    version: '0.8',
    delegates: true,
    account: (client, owner) => toSimple7702SmartAccount({ client, owner }),
  },
  {
    name: "viem's Coinbase smart account, version 1.1",
    version: '0.6',
    account: (client, owner) => toCoinbaseSmartAccount({ client, owners: [owner], version: '1.1' }),
  },
  {
    name: "viem's Coinbase smart account, version 1",
    version: '0.6',
    account: (client, owner) => toCoinbaseSmartAccount({ client, owners: [owner], version: '1' }),
  },
  { name: 'an account of the OwnedAccountFactory', version: '0.7', account: ownedAccount },
  { name: 'a SimpleAccount of 0.6', version: '0.6', account: simpleAccount06 },
]

const SOLADY_KIND: Kind = {
  name: "viem's Solady account",
  version: '0.7',
  account: async (client, owner) =>
    toSoladySmartAccount({
      client,
      owner,
      factoryAddress: soladyFactory as Address, // deployed before
      // The factory gives a salt to the owner whose address it begins with.
      salt: concatHex([owner.address, '0x000000000000000000000000']),
    }),
}

describe.each(KINDS)('$name', (kind) => {
  it('needs no ether for its first and second operation', () => completes(kind))
})

describe.skipIf(SOLADY === null)('with a factory compiled from its sources', () => {
  it(`${SOLADY_KIND.name} needs no ether for its first and second operation`, () => completes(SOLADY_KIND))
})

/** Two sponsored operations of a new account, one with a call and one with two. */
async function completes({ version, account: make, delegates = false }: Kind): Promise<void> {
  const owner = privateKeyToAccount(generatePrivateKey())
  const { client, bundler } = clients()
  const account = await make(client, owner)
  const before = await deposit(version)
  let paid = 0n
  for (const amounts of [[1n], [2n, 3n]]) {
    const isFirst = paid === 0n
    const code = await client.getCode({ address: account.address, blockTag: 'pending' })
    expect(code === undefined).toBe(isFirst)
    const calls = amounts.map((amount, i) => approving(i === 0 ? BOB : WETH, amount))
    const authorization = delegates && isFirst ? { authorization: await delegation(owner, account) } : {}
    const hash = await bundler.sendUserOperation({ account, calls, ...authorization })
    const receipt = await bundler.waitForUserOperationReceipt({ hash, timeout: 30_000 })
    expect(receipt).toMatchObject({ success: true, sender: account.address, entryPoint: ENTRY_POINTS[version] })
    expect(receipt.paymaster?.toLowerCase()).toBe(paymasterOf(version).address.toLowerCase())
    expect(await allowance(client, account.address)).toBe(amounts[0])
    expect(await client.getBalance({ address: account.address, blockTag: 'pending' })).toBe(0n)
    const entry = await paidEntry(account.address, hash)
    expect(BigInt(entry.cost ?? 0)).toBe(receipt.actualGasCost)
    expect(BigInt(entry.maxCost ?? 0)).toBeGreaterThanOrEqual(receipt.actualGasCost)
    expect(entry).toMatchObject({ success: true, version, userOpHash: hash, transactionHash: receipt.receipt.transactionHash })
    paid += receipt.actualGasCost
    expect(await deposit(version)).toBe(before - paid)
    await ask('anvil_mine') // viem looks for the account's code in the newest sealed block
  }
}

function approving(spender: Address, amount: bigint) {
  return { to: WETH, data: encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args: [spender, amount] }) }
}

function allowance(client: Client, holder: Address): Promise<bigint> {
  return client.readContract({ address: WETH, abi: erc20Abi, functionName: 'allowance', args: [holder, BOB], blockTag: 'pending' })
}

function delegation(owner: PrivateKeyAccount, account: SmartAccount) {
  const contractAddress = account.authorization?.address as Address // of an account that delegates
  return createWalletClient({ account: owner, chain, transport: http() }).signAuthorization({ contractAddress })
}

function paymasterOf(version: Version) {
  const found = sponsor.paymasters.find((each) => each.version === version)
  if (found === undefined) throw new Error(`there is no paymaster for ${version}`)
  return found
}

/** The paymaster's deposit on the block under construction. */
async function deposit(version: Version): Promise<bigint> {
  const { address } = paymasterOf(version)
  const abi = entryPoint06Abi // the same in all versions
  return publicClient().readContract({
    address: ENTRY_POINTS[version],
    abi,
    functionName: 'balanceOf',
    args: [address],
    blockTag: 'pending',
  })
}

/** The ledger entry, once the block is processed. */
async function paidEntry(sender: Address, hash: string) {
  const ends = performance.now() + 5_000
  for (;;) {
    const entry = (await ledgerOf(ask, { sender })).find(({ userOpHash }) => userOpHash === hash)
    if (entry !== undefined && ['included', 'settled'].includes(entry.state)) return entry
    if (performance.now() > ends) throw new Error(`the ledger does not know what ${hash} cost: ${JSON.stringify(entry)}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** The entries of an account, once one is in this state. */
async function stateOf(sender: Address, state: string): Promise<readonly Entry[]> {
  const ends = performance.now() + 20_000
  for (;;) {
    const entries = await ledgerOf(ask, { sender })
    if (entries.some((entry) => entry.state === state)) return entries
    if (performance.now() > ends) throw new Error(`nothing is ${state}: ${JSON.stringify(entries)}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

async function ownedAccount(client: Client, owner: PrivateKeyAccount): Promise<SmartAccount> {
  const abi = parseAbi(['function execute(bytes32 mode, bytes executionData) payable'])
  const batch = [{ type: 'tuple[]', components: [{ type: 'address' }, { type: 'uint256' }, { type: 'bytes' }] }] as const
  /** ERC-7821, all or nothing */
  const mode = `0x01${'00'.repeat(31)}` as const
  return made(client, owner, OWNED_ACCOUNT_FACTORY, '0.7', (calls) => {
    const list = calls.map(({ to, value = 0n, data = '0x' }) => [to, value, data] as const)
    return encodeFunctionData({ abi, functionName: 'execute', args: [mode, encodeAbiParameters(batch, [list])] })
  })
}

async function simpleAccount06(client: Client, owner: PrivateKeyAccount): Promise<SmartAccount> {
  const abi = parseAbi(['function executeBatch(address[] dest, bytes[] func)'])
  return made(client, owner, simpleFactory06, '0.6', (calls) =>
    encodeFunctionData({ abi, functionName: 'executeBatch', args: [calls.map(({ to }) => to), calls.map(({ data = '0x' }) => data)] }),
  )
}

type Calls = readonly { readonly to: Address; readonly value?: bigint | undefined; readonly data?: Hex | undefined }[]

/** A factory account whose owner signs the operation's hash as a message. */
async function made(
  client: Client,
  owner: PrivateKeyAccount,
  factory: Address,
  version: '0.6' | '0.7',
  encode: (calls: Calls) => Hex,
): Promise<SmartAccount> {
  const abi = parseAbi([
    'function createAccount(address owner, uint256 salt) returns (address)',
    'function getAddress(address owner, uint256 salt) view returns (address)',
  ])
  const args = [owner.address, 0n] as const
  const address = await client.readContract({ address: factory, abi, functionName: 'getAddress', args })
  const entryPointAddress = ENTRY_POINTS[version]
  const unused = () => Promise.reject(new Error('not needed'))
  return toSmartAccount({
    client,
    entryPoint:
      version === '0.6'
        ? { abi: entryPoint06Abi, address: entryPointAddress, version: '0.6' as const }
        : { abi: entryPoint07Abi, address: entryPointAddress, version: '0.7' as const },
    getAddress: async () => address,
    encodeCalls: async (calls) => encode(calls as Calls), // calls that are encoded already
    getFactoryArgs: async () => ({ factory, factoryData: encodeFunctionData({ abi, functionName: 'createAccount', args }) }),
    getStubSignature: async () =>
      '0xfffffffffffffffffffffffffffffff0000000000000000000000000000000007aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1c',
    signMessage: unused,
    signTypedData: unused,
    signUserOperation: async ({ chainId = 31_337, ...operation }) => {
      const userOperation = { ...operation, sender: address } as Parameters<typeof getUserOperationHash>[0]['userOperation'] // of this version
      const raw = getUserOperationHash({ chainId, entryPointAddress, entryPointVersion: version, userOperation })
      return owner.signMessage({ message: { raw } })
    },
  })
}

describe('the service', () => {
  it('is the same over TLS, for a client that trusts the CA', async () => {
    const url = `${server.httpsUrl}/paymaster/rpc`
    const ca = server.ca()
    const paymaster = createPaymasterClient({ transport: custom({ request: (request) => secure(url, ca, request) }) })
    const { client, bundler } = clients(paymaster)
    const account = await ownedAccount(client, privateKeyToAccount(generatePrivateKey()))
    const hash = await bundler.sendUserOperation({ account, calls: [approving(BOB, 7n)] })
    expect((await bundler.waitForUserOperationReceipt({ hash, timeout: 30_000 })).success).toBe(true)
    await paidEntry(account.address, hash)
    await expect(secure(url, undefined, { method: 'pm_getPaymasterStubData', params: [] })).rejects.toThrow(/certificate/)
  })

  it('a rejection changes neither account, bundler nor budget', async () => {
    await ask('pocketchain_sponsorPolicies', [{ name: 'others only', senders: [BOB] }])
    try {
      const { client, bundler } = clients()
      const account = await ownedAccount(client, privateKeyToAccount(generatePrivateKey()))
      const before = await status()
      await expect(bundler.sendUserOperation({ account, calls: [approving(BOB, 8n)] })).rejects.toThrow(/sender/)
      expect(await ask('debug_bundler_dumpMempool', entryPoint07Address)).toEqual([])
      const after = await status()
      expect(after.totals).toEqual(before.totals)
      expect(after.paymasters).toEqual(before.paymasters)
      expect(await ledgerOf(ask, { sender: account.address })).toMatchObject([
        { state: 'refused', stage: 'stub', reason: 'sender', maxCost: null, cost: null },
      ])
    } finally {
      await ask('pocketchain_sponsorPolicies', [{ name: 'everything' }])
    }
  })

  it('pays for an operation with a failing call, and reports it', async () => {
    const refuses: Address = '0x00000000000000000000000000000000000f0f0f'
    await ask('anvil_setCode', refuses, '0x5f5ffd')
    const { client, bundler } = clients()
    const account = await ownedAccount(client, privateKeyToAccount(generatePrivateKey()))
    // With given limits, the call is not simulated before.
    const limits = { callGasLimit: 100_000n, verificationGasLimit: 500_000n, preVerificationGas: 200_000n }
    const paymasterLimits = { paymasterVerificationGasLimit: 100_000n, paymasterPostOpGasLimit: 0n }
    const hash = await bundler.sendUserOperation({ account, calls: [{ to: refuses }], ...limits, ...paymasterLimits })
    const { success, actualGasCost } = await bundler.waitForUserOperationReceipt({ hash, timeout: 30_000 })
    expect(success).toBe(false)
    const entry = await paidEntry(account.address, hash)
    expect({ success: entry.success, cost: BigInt(entry.cost ?? 0) }).toEqual({ success: false, cost: actualGasCost })
  })

  it('reverts a charge after a reorg, and applies it again', async () => {
    const url = (path: string) => createPublicClient({ transport: http(`${server.url}${path}`) })
    const asking =
      (path: string) =>
      (method: string, ...params: readonly unknown[]) =>
        url(path).request({ method, params } as Parameters<ReturnType<typeof url>['request']>[0]) // any method
    const operations = new Operations({ eth, rpc }, { ask: asking('/'), sponsor: asking('/paymaster') })
    const sender = operations.sender('whose block is taken back')
    const before = await deposit('0.8')
    const snapshot = await ask('evm_snapshot')
    const prepared = await operations.prepare(sender, operations.callData([{ to: WETH }]))
    await operations.send(prepared)
    const { cost, id } = await paidEntry(sender.address, prepared.hash)
    expect(await deposit('0.8')).toBe(before - BigInt(cost ?? 0))
    await ask('evm_revert', snapshot)
    expect(await deposit('0.8')).toBe(before)
    const [reopened] = await stateOf(sender.address, 'reserved')
    expect(reopened).toMatchObject({ id, cost: null, success: null, transactionHash: null })
    await operations.send(prepared)
    expect(await paidEntry(sender.address, prepared.hash)).toMatchObject({ id, success: true })
  })

  it('has the charges of its paymasters in the ledger, to the wei', async () => {
    await ask('anvil_mine')
    const now = await settled()
    const entries = await ledgerOf(ask)
    const sums: bigint[] = []
    for (const { version, address, deposit: left } of now.paymasters) {
      const charges = await chargesOf({ eth, rpc }, ask, { paymaster: address, entryPoint: ENTRY_POINTS[version] })
      const own = entries.filter((entry) => entry.version === version)
      expect(differences(own, charges)).toEqual([])
      expect(charges.length).toBeGreaterThan(0)
      expect(BigInt(left)).toBe(await deposit(version))
      expect(BigInt(paymasterOf(version).deposit) - BigInt(left)).toBe(sumOf(charges))
      sums.push(sumOf(charges))
    }
    expect(BigInt(now.totals.settled)).toBe(sums.reduce((a, b) => a + b, 0n))
    expect(sponsor.paymasters.map((each) => BigInt(each.deposit))).toEqual(Array(3).fill(parseEther('100')))
  })
})

/** The sponsor's status once no reservation is open. */
async function settled(): Promise<Status> {
  const ends = performance.now() + 5_000
  for (;;) {
    const now = await status()
    if (BigInt(now.totals.reserved) === 0n) return now
    if (performance.now() > ends) throw new Error(`${BigInt(now.totals.reserved)} wei are still held back`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** One JSON-RPC request over TLS: Node's fetch takes a CA only from the environment. */
function secure(url: string, ca: string | undefined, request: { method: string; params?: unknown }): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' }
    const sent = httpsRequest(url, { method: 'POST', headers, ...(ca === undefined ? {} : { ca }) }, (response) => {
      let text = ''
      response.on('data', (data: Buffer) => (text += data.toString()))
      response.on('end', () => {
        const { result, error } = JSON.parse(text) as { result?: unknown; error?: { message: string } } // JSON-RPC
        if (error === undefined) resolve(result)
        else reject(new Error(error.message))
      })
    })
    sent.on('error', reject)
    sent.end(JSON.stringify({ jsonrpc: '2.0', id: 1, ...request }))
  })
}
