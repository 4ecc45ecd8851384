// The sponsor of a node: viem's paymaster and account clients over HTTP, and each refusal and fault.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import simple7702Account from 'aa08/artifacts/Simple7702Account.json' with { type: 'json' }
import { createPocketchain } from 'pocketchain'
import type { Pocketchain, PocketchainOptions, Server } from 'pocketchain'
import {
  concatHex,
  createPublicClient,
  createWalletClient,
  encodeFunctionData,
  hashTypedData,
  hexToBytes,
  http,
  keccak256,
  numberToHex,
  pad,
  parseAbi,
  parseEther,
  recoverAddress,
  size,
  slice,
  zeroHash,
} from 'viem'
import type { Address, Chain, Hex } from 'viem'
import {
  createBundlerClient,
  createPaymasterClient,
  entryPoint06Abi,
  entryPoint06Address,
  entryPoint07Abi,
  entryPoint07Address,
  entryPoint08Abi,
  entryPoint08Address,
  entryPoint09Address,
  toCoinbaseSmartAccount,
  toPackedUserOperation,
  toSimple7702SmartAccount,
  toSmartAccount,
} from 'viem/account-abstraction'
import type { UserOperation } from 'viem/account-abstraction'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { DEFAULT_CODE_SIZE_LIMIT, DEFAULT_FEE_PARAMETERS, DEFAULT_HARDFORK, defaultGenesis } from '../../src/chain/index.ts'
import type { DefaultGenesisOptions } from '../../src/chain/index.ts'
import { Address as CoreAddress } from '../../src/eth/index.ts'
import { createPaymaster, depositCall, sponsorDeployments } from '../../src/paymaster/index.ts'
import type { Paymaster } from '../../src/paymaster/index.ts'
import { createRemoteRpc } from '../../src/rpc/index.ts'

const ROOT = new URL('../..', import.meta.url)
const BOB: Address = '0x000000000000000000000000000000000000b0b0'
const ENTRY_POINTS = { '0.6': entryPoint06Address, '0.7': entryPoint07Address, '0.8': entryPoint08Address } as const
const ABIS = { '0.6': entryPoint06Abi, '0.7': entryPoint07Abi, '0.8': entryPoint08Abi } as const
type Version = keyof typeof ENTRY_POINTS
const VERSIONS = ['0.6', '0.7', '0.8'] as const
const CHAIN = '0x7a69'
type Fields = Readonly<Record<string, unknown>>

let node: Pocketchain
let server: Server
let chain: Chain

beforeAll(async () => {
  node = await createPocketchain({ wallet: false })
  server = await node.listen({ port: 0, tlsFolder: null })
  await ask('anvil_setCode', '0xe6Cae83BdE06E4c305530e199D7217f42808555B', simple7702Account.deployedBytecode)
  chain = { ...foundry, rpcUrls: { default: { http: [server.url] } } }
})

afterEach(async () => {
  await ask('pocketchain_sponsorFault', null)
  await ask('pocketchain_sponsorPolicies', [{ name: 'everything' }])
})

afterAll(async () => {
  await node.close()
})

function ask(method: string, ...params: readonly unknown[]): Promise<unknown> {
  return node.request({ method, params })
}

interface Answer {
  readonly status: number
  readonly result?: Fields
  readonly error?: { readonly code: number; readonly message: string; readonly data?: Fields }
}

interface Asking {
  readonly at?: Paymaster
  readonly apiKey?: string | null
  readonly signal?: AbortSignal
}

/** One request to the service, without a socket. */
async function pm(stage: 'Stub' | '', params: unknown, asking: Asking = {}): Promise<Answer> {
  return sponsorAnswer(`pm_getPaymaster${stage}Data`, params, asking)
}

async function sponsorAnswer(method: string, params: unknown, { at = node.sponsor, apiKey = null, signal }: Asking = {}): Promise<Answer> {
  const sent = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const { status, body } = await at.handle(new TextEncoder().encode(sent), { apiKey, ...(signal && { signal }) })
  return { status, ...(JSON.parse(body) as Omit<Answer, 'status'>) }
}

interface Entry extends Fields {
  readonly state: string
  readonly maxCost: Hex | null
  readonly reason: string | null
}

async function ledger(query: Fields = {}): Promise<readonly Entry[]> {
  return ((await ask('pocketchain_sponsorLedger', query)) as { entries: readonly Entry[] }).entries
}

interface Status extends Fields {
  readonly paymasters: readonly { version: Version; address: Address; deposit: Hex; deployed: boolean; isLow: boolean; reserved: Hex }[]
  readonly totals: { readonly reserved: Hex; readonly settled: Hex }
  readonly owner: Address
  readonly signer: Address
}

async function status(at = node.sponsor): Promise<Status> {
  return (await at.control({ method: 'pocketchain_sponsorStatus' })) as Status
}

/** Waits until the ledger is settled. */
async function calm(): Promise<Status> {
  await sealed()
  return status()
}

async function paymasterOf(version: Version) {
  const found = (await status()).paymasters.find((each) => each.version === version)
  if (found === undefined) throw new Error(version)
  return found
}

// --- accounts that accept any signature-------------------------------------------------------------------------------

let made = 0

/** Its code returns 0, a valid signature, for any call. */
async function account(): Promise<Address> {
  const address = pad(numberToHex((made += 1) + 0x5b0000), { size: 20 })
  await ask('anvil_setCode', address, '0x5f5f5260205ff3')
  return address
}

async function operation(sender: Address, more: Fields = {}): Promise<Fields> {
  const { standard } = (await ask('pimlico_getUserOperationGasPrice')) as { standard: Fields }
  const gas = { callGasLimit: numberToHex(50_000), verificationGasLimit: numberToHex(100_000), preVerificationGas: numberToHex(200_000) }
  return { sender, nonce: '0x0', callData: '0x', ...gas, ...standard, ...more }
}

/** wei that an operation with these limits may cost, with the paymaster limits that the service proposes */
function maxCostOf(op: Fields, version: Version): bigint {
  const [call, verification, pre, fee] = ['callGasLimit', 'verificationGasLimit', 'preVerificationGas', 'maxFeePerGas'].map((name) =>
    BigInt(op[name] as Hex),
  ) as [bigint, bigint, bigint, bigint]
  return fee * (version === '0.6' ? call + verification * 3n + pre : call + verification + pre + 30_001n)
}

/** Returns the operation with signed paymaster fields, requested without HTTP. */
async function sponsored(version: Version, op: Fields, asking: Asking = {}): Promise<Fields> {
  const { result, error } = await pm('', [op, ENTRY_POINTS[version], CHAIN, null], asking)
  if (result === undefined) throw new Error(JSON.stringify(error))
  return { ...op, ...result, signature: '0x1234' }
}

async function included(hash: unknown): Promise<Fields> {
  const ends = performance.now() + 10_000
  while (performance.now() < ends) {
    const receipt = await ask('eth_getUserOperationReceipt', hash)
    if (receipt !== null) return receipt as Fields
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error(`${String(hash)} was not included: ${JSON.stringify(await ask('pimlico_getUserOperationStatus', hash))}`)
}

async function sealed(): Promise<void> {
  await ask('anvil_mine')
  await node.sponsor.settled()
}

// --- with clients -----------------------------------------------------------------------------------------------------

function clients() {
  const client = createPublicClient({ chain, transport: http(), pollingInterval: 20 })
  const paymaster = createPaymasterClient({ transport: http(`${server.url}/paymaster/rpc`) })
  return { client, bundler: createBundlerClient({ client, paymaster, transport: http(server.url), pollingInterval: 20 }) }
}

async function codeAccount(version: Version) {
  const { client } = clients()
  const address = await account()
  return toSmartAccount({
    client,
    entryPoint: { abi: ABIS[version], address: ENTRY_POINTS[version], version },
    getAddress: async () => address,
    encodeCalls: async ([call]) =>
      encodeFunctionData({
        abi: parseAbi(['function execute(address,uint256,bytes)']),
        args: [call?.to ?? BOB, call?.value ?? 0n, call?.data ?? '0x'],
      }),
    decodeCalls: () => Promise.reject(new Error('not needed')),
    getFactoryArgs: async () => ({ factory: undefined, factoryData: undefined }),
    getStubSignature: async () => '0x1234',
    signMessage: () => Promise.reject(new Error('not needed')),
    signTypedData: () => Promise.reject(new Error('not needed')),
    signUserOperation: async () => '0x1234',
  })
}

describe('with viem', () => {
  it.each(VERSIONS)('an operation of EntryPoint %s is sponsored, and the ledger has its charge', async (version) => {
    const { bundler } = clients()
    await sealed()
    const before = await paymasterOf(version)
    const smart = await codeAccount(version)
    const hash = await bundler.sendUserOperation({ account: smart, calls: [{ to: BOB, value: 0n }] })
    const receipt = await bundler.waitForUserOperationReceipt({ hash, timeout: 30_000 })
    expect(receipt).toMatchObject({ success: true, paymaster: before.address })
    await sealed()
    const [entry] = await ledger({ sender: smart.address })
    expect(entry).toMatchObject({
      state: 'settled',
      stage: 'final',
      version,
      paymaster: before.address,
      policy: 'everything',
      userOpHash: hash,
      cost: numberToHex(receipt.actualGasCost),
      success: true,
      transactionHash: receipt.receipt.transactionHash,
      calls: [{ to: BOB, value: '0x0', selector: null }],
    })
    const after = await paymasterOf(version)
    expect(BigInt(before.deposit) - BigInt(after.deposit)).toBe(receipt.actualGasCost)
    expect(after.reserved).toBe('0x0')
  })

  it('an account that its own key delegates makes two calls in its first operation', async () => {
    const owner = privateKeyToAccount(generatePrivateKey())
    const { client, bundler } = clients()
    const smart = await toSimple7702SmartAccount({ client, owner })
    const authorization = await createWalletClient({ account: owner, chain, transport: http() }).signAuthorization({
      contractAddress: smart.authorization.address,
    })
    const calls = [
      { to: BOB, value: 0n },
      { to: BOB, value: 0n, data: '0x12345678' as const },
    ]
    const hash = await bundler.sendUserOperation({ account: smart, calls, authorization })
    expect((await bundler.waitForUserOperationReceipt({ hash, timeout: 30_000 })).success).toBe(true)
    expect((await ledger({ sender: owner.address }))[0]).toMatchObject({
      userOpHash: hash,
      calls: [{ selector: null }, { selector: '0x12345678' }],
    })
    expect(await client.getBalance({ address: owner.address, blockTag: 'pending' })).toBe(0n)
  })

  it('a smart wallet of 0.6 is created by its factory with its first operation', async () => {
    const { client, bundler } = clients()
    const smart = await toCoinbaseSmartAccount({ client, owners: [privateKeyToAccount(generatePrivateKey())], version: '1.1' })
    const hash = await bundler.sendUserOperation({ account: smart, calls: [{ to: BOB, value: 0n }] })
    expect((await bundler.waitForUserOperationReceipt({ hash, timeout: 30_000 })).success).toBe(true)
  })
})

// --- responses --------------------------------------------------------------------------------------------------------

const ADDRESS = /^0x[0-9a-fA-F]{40}$/
const zeros = (data: Hex) => hexToBytes(data).filter((byte) => byte === 0).length

describe.each(VERSIONS)('the responses for EntryPoint %s', (version) => {
  const dataOf = (result: Fields) => (version === '0.6' ? slice(result['paymasterAndData'] as Hex, 20) : (result['paymasterData'] as Hex))

  it('have the shape of the version: the stub with the sponsor, the final one without', async () => {
    const op = await operation(await account())
    const bare = { sender: op['sender'], nonce: '0x0', callData: '0x' }
    const stub = (await pm('Stub', [bare, ENTRY_POINTS[version], CHAIN, null])).result ?? {}
    const final = (await pm('', [op, ENTRY_POINTS[version], CHAIN, {}])).result ?? {}
    const fields =
      version === '0.6' ? ['paymasterAndData'] : ['paymaster', 'paymasterData', 'paymasterVerificationGasLimit', 'paymasterPostOpGasLimit']
    expect(Object.keys(stub)).toEqual([...fields, 'sponsor'])
    expect(Object.keys(final)).toEqual(fields)
    expect(stub['sponsor']).toEqual({ name: 'Pocketchain' })
    if (version !== '0.6') expect(stub['paymaster']).toMatch(ADDRESS)
    expect(final['paymaster']).toBe(stub['paymaster'])
  })

  it('have the same length, and the stub no more zero bytes', async () => {
    for (let i = 0; i < 20; i++) {
      const op = await operation(await account(), { callData: numberToHex(i, { size: 32 }) })
      const stub = dataOf((await pm('Stub', [op, ENTRY_POINTS[version], CHAIN])).result ?? {})
      const final = dataOf((await pm('', [op, ENTRY_POINTS[version], CHAIN])).result ?? {})
      expect(size(stub)).toBe(77)
      expect(size(final)).toBe(77)
      expect(zeros(stub)).toBeLessThanOrEqual(zeros(final))
    }
  })

  it('are signed by the signer over all fields that the account signs', async () => {
    const op = await operation(await account())
    const { address } = await paymasterOf(version)
    const data = dataOf((await pm('', [op, ENTRY_POINTS[version], CHAIN])).result ?? {})
    const validUntil = Number(slice(data, 6, 12))
    const signer = await recoverAddress({ hash: requestHash(version, op, address, validUntil), signature: slice(data, 12) })
    expect(signer).toBe((await status()).signer)
    expect(Number(slice(data, 0, 6))).toBe(0)
    const block = (await ask('eth_getBlockByNumber', 'pending', false)) as { timestamp: Hex }
    expect(Math.abs(validUntil - Number(block.timestamp) - 300)).toBeLessThan(10)
  })

  it('a stub suffices for estimates, and its signature is of an unknown key', async () => {
    const op = await operation(await account(), { signature: '0x1234' })
    const { callGasLimit: _, verificationGasLimit: __, preVerificationGas: ___, ...partial } = op
    const { sponsor: ____, ...stub } = (await pm('Stub', [partial, ENTRY_POINTS[version], CHAIN])).result ?? {}
    const limits = (await ask('eth_estimateUserOperationGas', { ...partial, ...stub }, ENTRY_POINTS[version])) as Fields
    const { paymasterVerificationGasLimit: measured, ...own } = limits
    // The stub's proposals take precedence, as in viem.
    if (measured !== undefined) expect(BigInt(measured as Hex)).toBeLessThan(60_000n)
    const ready = await sponsored(version, { ...partial, ...own, ...stub })
    const { signature: _____, ...fields } = ready
    expect(fields['paymasterVerificationGasLimit']).toBe(stub['paymasterVerificationGasLimit'])
    expect(await included(await ask('eth_sendUserOperation', ready, ENTRY_POINTS[version]))).toMatchObject({ success: true })
    const stranger = await recoverAddress({ hash: keccak256('0x12'), signature: slice(dataOf(stub), 12) })
    expect(stranger).not.toBe((await status()).signer)
  })

  it('a stub takes the path of a signed one: the gas measured with it suffices', async () => {
    const op = await operation(await account(), { signature: '0x1234' })
    const { callGasLimit: _, verificationGasLimit: __, preVerificationGas: ___, ...partial } = op
    const { paymaster, paymasterData, paymasterAndData } = (await pm('Stub', [partial, ENTRY_POINTS[version], CHAIN])).result ?? {}
    const stub = version === '0.6' ? { paymasterAndData } : { paymaster, paymasterData }
    const limits = (await ask('eth_estimateUserOperationGas', { ...partial, ...stub }, ENTRY_POINTS[version])) as Fields
    const ready = await sponsored(version, { ...partial, ...limits, ...stub })
    expect(ready['paymasterVerificationGasLimit']).toBe(limits['paymasterVerificationGasLimit'])
    expect(await included(await ask('eth_sendUserOperation', ready, ENTRY_POINTS[version]))).toMatchObject({ success: true })
  })

  it('the gas that the stub proposes suffices for large call data', async () => {
    const callData = `0x${'ab'.repeat(60_000)}` as const
    const op = await operation(await account(), { callData, signature: '0x1234' })
    const { callGasLimit: _, verificationGasLimit: __, preVerificationGas: ___, ...partial } = op
    const { sponsor: ____, ...stub } = (await pm('Stub', [partial, ENTRY_POINTS[version], CHAIN])).result ?? {}
    const own = (await ask('eth_estimateUserOperationGas', { ...partial, ...stub }, ENTRY_POINTS[version])) as Fields
    const ready = await sponsored(version, { ...partial, ...own, ...stub })
    expect(await included(await ask('eth_sendUserOperation', ready, ENTRY_POINTS[version]))).toMatchObject({ success: true })
  })

  it('a signature is valid for one operation: the chain rejects another fee', async () => {
    const ready = await sponsored(version, await operation(await account()))
    const dearer = { ...ready, maxFeePerGas: numberToHex(BigInt(ready['maxFeePerGas'] as Hex) + 1n) }
    await expect(ask('eth_sendUserOperation', dearer, ENTRY_POINTS[version])).rejects.toMatchObject({ code: -32507 })
    expect(await included(await ask('eth_sendUserOperation', ready, ENTRY_POINTS[version]))).toMatchObject({ success: true })
  })
})

function requestHash(version: Version, op: Fields, paymaster: Address, validUntil: number): Hex {
  const field = (type: string) => (name: string) => ({ name, type })
  const amounts = ['callGasLimit', 'verificationGasLimit', 'preVerificationGas', 'maxFeePerGas', 'maxPriorityFeePerGas']
  const limits = { paymasterVerificationGasLimit: 30_000n, paymasterPostOpGasLimit: 1n }
  const numbers = Object.fromEntries(['nonce', ...amounts].map((name) => [name, BigInt(op[name] as Hex)]))
  const core = { ...op, ...numbers, ...limits, signature: '0x' } as unknown as UserOperation<'0.7'> // the fields of an operation of 0.7
  const packed = version === '0.6' ? { initCode: '0x' } : toPackedUserOperation(core)
  return hashTypedData({
    domain: { name: 'PocketPaymaster', version, chainId: 31_337, verifyingContract: paymaster },
    primaryType: 'UserOperationRequest',
    types: {
      UserOperationRequest: [
        field('address')('sender'),
        field('uint256')('nonce'),
        ...['initCode', 'callData'].map(field('bytes')),
        ...(version === '0.6'
          ? amounts.map(field('uint256'))
          : [
              field('bytes32')('accountGasLimits'),
              field('uint256')('preVerificationGas'),
              field('bytes32')('gasFees'),
              ...['paymasterVerificationGasLimit', 'paymasterPostOpGasLimit'].map(field('uint256')),
            ]),
        ...['validAfter', 'validUntil'].map(field('uint48')),
      ],
    },
    message: { ...core, ...packed, validAfter: 0, validUntil },
  })
}

// --- refusals ---------------------------------------------------------------------------------------------------------

describe.each(VERSIONS)("Pimlico's and ZeroDev's methods for EntryPoint %s", (version) => {
  it('pm_sponsorUserOperation estimates and signs in one request', async () => {
    const { callGasLimit: _, verificationGasLimit: __, preVerificationGas: ___, ...unlimited } = await operation(await account())
    const { result } = await sponsorAnswer('pm_sponsorUserOperation', [{ ...unlimited, signature: '0x1234' }, ENTRY_POINTS[version]])
    expect(result).toMatchObject({
      callGasLimit: expect.stringMatching(/^0x/),
      verificationGasLimit: expect.stringMatching(/^0x/),
      preVerificationGas: expect.stringMatching(/^0x/),
    })
    const hash = await ask('eth_sendUserOperation', { ...unlimited, ...result, signature: '0x1234' }, ENTRY_POINTS[version])
    expect(await included(hash)).toMatchObject({ success: true, paymaster: (await paymasterOf(version)).address })
  })

  it('pm_sponsorUserOperation answers as policy and bundler refuse, and reserves nothing', async () => {
    const before = await calm()
    const op = { ...(await operation(await account())), signature: '0x1234' }
    const failing = { ...op, sender: pad('0xdead', { size: 20 }) }
    expect((await sponsorAnswer('pm_sponsorUserOperation', [failing, ENTRY_POINTS[version]])).error).toMatchObject({
      code: -32_500,
      message: expect.stringContaining('AA20'),
    })
    const context = { policy: 'absent' }
    expect((await sponsorAnswer('pm_sponsorUserOperation', [op, ENTRY_POINTS[version], context])).error).toMatchObject({ code: -32_001 })
    expect((await sponsorAnswer('pm_sponsorUserOperation', [op, BOB])).error).toMatchObject({ code: -32_602 })
    expect((await calm()).totals).toEqual(before.totals)
  })

  it('zd_sponsorUserOperation is the same with one argument, as ZeroDev sends it', async () => {
    const { callGasLimit: _, verificationGasLimit: __, preVerificationGas: ___, ...unlimited } = await operation(await account())
    const userOp = { ...unlimited, signature: '0x1234' }
    const request = { chainId: 31_337, userOp, entryPointAddress: ENTRY_POINTS[version], shouldOverrideFee: false, shouldConsume: true }
    const { result } = await sponsorAnswer('zd_sponsorUserOperation', [request])
    const hash = await ask('eth_sendUserOperation', { ...userOp, ...result }, ENTRY_POINTS[version])
    expect(await included(hash)).toMatchObject({ success: true, paymaster: (await paymasterOf(version)).address })
  })

  it('zd_sponsorUserOperation refuses tokens and other chains', async () => {
    const userOp = { ...(await operation(await account())), signature: '0x1234' }
    const answer = async (fields: Fields) =>
      (await sponsorAnswer('zd_sponsorUserOperation', [{ userOp, entryPointAddress: ENTRY_POINTS[version], ...fields }])).error
    expect(await answer({ gasTokenData: { tokenAddress: BOB } })).toMatchObject({
      code: -32_602,
      message: expect.stringContaining('ERC-20'),
    })
    expect(await answer({ chainId: 1 })).toMatchObject({ code: -32_602, message: expect.stringContaining('chain 31337') })
  })

  it('pm_validateSponsorshipPolicies leaves out policies that the cost exceeds', async () => {
    const op = { ...(await operation(await account())), signature: '0x1234' }
    await ask('pocketchain_sponsorPolicies', [{ name: 'sp_small', perOperation: '1000' }])
    const granting = async (sent: Fields) =>
      (await sponsorAnswer('pm_validateSponsorshipPolicies', [sent, ENTRY_POINTS[version], ['sp_small']])).result
    expect(await granting(op)).toEqual([])
    // Without all amounts the cost is unknown.
    expect(await granting({ ...op, callGasLimit: null })).toMatchObject([{ sponsorshipPolicyId: 'sp_small' }])
  })

  it('pm_validateSponsorshipPolicies returns the policies that would pay', async () => {
    const op = { ...(await operation(await account())), signature: '0x1234' }
    await ask('pocketchain_sponsorPolicies', [{ name: 'sp_open' }, { name: 'sp_other', senders: [BOB] }, { name: 'sp_unasked' }])
    const { result } = await sponsorAnswer('pm_validateSponsorshipPolicies', [
      op,
      ENTRY_POINTS[version],
      ['sp_other', 'sp_open', 'sp_absent'],
    ])
    expect(result).toEqual([{ sponsorshipPolicyId: 'sp_open', data: { name: 'sp_open', author: null, icon: null, description: null } }])
  })
})

const EXECUTE = (to: Address, data: Hex) =>
  encodeFunctionData({ abi: parseAbi(['function execute(address,uint256,bytes)']), args: [to, 0n, data] })

describe('an operation that is not sponsored', () => {
  const cents = '1000000000'
  type Row = [reason: string, stages: 'both' | 'final', policy: Fields, more?: { op?: Fields; context?: unknown }]
  const rows: readonly Row[] = [
    ['chain', 'both', { chains: [1] }],
    ['entry-point', 'both', { entryPoints: [entryPoint06Address] }],
    ['sender', 'both', { senders: [BOB] }],
    ['api-key', 'both', { apiKeys: ['secret'] }],
    ['ended', 'both', { until: '2020-01-01T00:00:00Z' }],
    ['unreadable-calls', 'both', { contracts: [{ address: BOB }] }, { op: { callData: '0x12345678' } }],
    ['contract', 'both', { contracts: [{ address: BOB, selectors: ['ping()'] }] }, { op: { callData: EXECUTE(BOB, '0x12345678') } }],
    ['per-operation', 'final', { perOperation: cents }],
    ['per-user', 'final', { perUser: cents }],
    ['per-day', 'final', { perDay: cents }],
    ['total', 'final', { total: cents }],
    ['total', 'both', { total: '0' }],
    ['policy', 'both', {}, { context: { policy: 'empty' } }],
  ]

  it.each<Row>(rows)('is rejected because of: %s (%s)', async (reason, stages, policy, { op = {}, context = null } = {}) => {
    await ask('pocketchain_sponsorPolicies', [{ name: `for ${reason}`, ...policy }])
    const before = await calm()
    const sender = await account()
    const json = await operation(sender, op)
    const params = [json, entryPoint08Address, CHAIN, context]
    const stub = await pm('Stub', params)
    const final = await pm('', params)
    const refused = { status: 200, error: { code: -32001, message: expect.stringMatching(/^request denied - /), data: { reason } } }
    if (stages === 'both') expect(stub).toMatchObject(refused)
    else expect(stub.result).toBeDefined()
    expect(final).toMatchObject(refused)
    const entries = await ledger({ sender })
    expect(entries.map((each) => each.stage)).toEqual(stages === 'both' ? ['final', 'stub'] : ['final'])
    for (const entry of entries)
      expect(entry).toMatchObject({
        state: 'refused',
        reason,
        message: expect.any(String),
        maxCost: entry.stage === 'stub' ? null : expect.any(String),
      })
    expect((await status()).totals).toEqual(before.totals)
  })

  it('is rejected if the deposit does not cover it', async () => {
    await sealed()
    const { address, reserved } = await paymasterOf('0.7')
    const sender = await account()
    const json = await operation(sender)
    const slot = keccak256(concatHex([pad(address), zeroHash]))
    const whole = await ask('eth_getStorageAt', entryPoint07Address, slot, 'pending')
    const before = await calm()
    await ask('anvil_setStorageAt', entryPoint07Address, slot, numberToHex(BigInt(reserved) + maxCostOf(json, '0.7') - 1n, { size: 32 }))
    const params = [json, entryPoint07Address, CHAIN]
    const stub = await pm('Stub', params)
    const final = await pm('', params)
    await ask('anvil_setStorageAt', entryPoint07Address, slot, zeroHash)
    const empty = await pm('Stub', params)
    await ask('anvil_setStorageAt', entryPoint07Address, slot, whole)
    expect(stub.result).toBeDefined()
    for (const refused of [final, empty])
      expect(refused).toMatchObject({
        status: 200,
        error: { code: -32003, data: { reason: 'deposit-too-low', paymaster: address.toLowerCase() } },
      })
    expect((await ledger({ sender })).map((each) => each.reason)).toEqual(['deposit-too-low', 'deposit-too-low'])
    expect((await paymasterOf('0.7')).reserved).toBe(reserved)
    expect((await status()).totals).toEqual(before.totals)
    expect((await pm('', params)).result).toBeDefined()
  })

  it('has the reasons of all policies in the ledger, without names and figures in the response', async () => {
    await ask('pocketchain_sponsorPolicies', [
      { name: 'friends', senders: [BOB] },
      { name: 'rich', total: '12345' },
      { name: 'keyed', apiKeys: ['key 1', 'key 2'] },
    ])
    const sender = await account()
    const params = [await operation(sender), entryPoint08Address, CHAIN]
    const { error } = await pm('', params)
    const [entry] = await ledger({ sender })
    expect(entry).toMatchObject({
      message: expect.stringContaining('12345 of 12345 wei'),
      reasons: [
        { policy: 'friends', reason: 'sender' },
        { policy: 'rich', reason: 'total' },
        { policy: 'keyed', reason: 'api-key' },
      ],
    })
    expect(error?.data).toEqual({ reason: 'total', entry: entry?.['id'] })
    expect(JSON.stringify(error)).not.toMatch(/friends|rich|keyed|12345/)
    expect((await pm('', params, { apiKey: 'key 3' })).error).toMatchObject({ code: -32001 })
    expect((await pm('', params, { apiKey: 'key 2' })).result).toBeDefined()
  })

  it('a context selects a policy by name; keys of other services are ignored', async () => {
    await ask('pocketchain_sponsorPolicies', [{ name: 'closed', total: '0' }, { name: 'open' }])
    const op = await operation(await account())
    const by = (context: unknown) => pm('Stub', [op, entryPoint08Address, CHAIN, context])
    for (const name of ['policy', 'sponsorshipPolicyId', 'policyId'])
      expect((await by({ [name]: 'closed' })).error?.data).toMatchObject({ reason: 'total' })
    expect((await by({ sponsorshipPolicyId: 'sp_my_policy' })).result).toBeDefined()
    expect((await by({ policy: 'open' })).result).toBeDefined()
  })
})

describe('an invalid request', () => {
  const at = [entryPoint08Address, CHAIN, null]

  it.each<[name: string, make: (op: Fields) => unknown, code: number, message: string]>([
    ['no params', () => undefined, -32602, 'missing value for required argument 0'],
    ['two params', (op) => [op, entryPoint08Address], -32602, 'missing value for required argument 2'],
    ['five params', (op) => [op, ...at, 1], -32602, 'too many arguments, want at most 4'],
    ['no operation', () => [null, ...at], -32602, 'userOperation'],
    ['no sender', (op) => [{ ...op, sender: undefined }, ...at], -32602, 'sender'],
    ['a sender that is none', (op) => [{ ...op, sender: '0x12' }, ...at], -32602, 'sender'],
    ['another EntryPoint', (op) => [op, BOB, CHAIN], -32602, 'not supported'],
    ['EntryPoint 0.9, which has no paymaster', (op) => [op, entryPoint09Address, CHAIN, { policy: 'x' }], -32602, 'not supported'],
    ['an EntryPoint that is no address', (op) => [op, '0x12', CHAIN], -32602, 'entryPoint'],
    ['another chain', (op) => [op, entryPoint08Address, '0x1'], -32602, 'chain 31337, not on 1'],
    ['a chain id that is no quantity', (op) => [op, entryPoint08Address, 31337], -32602, 'chainId'],
    ['a context that is none', (op) => [op, entryPoint08Address, CHAIN, 'policy'], -32602, 'context'],
    ['a policy that has no name', (op) => [op, entryPoint08Address, CHAIN, { policy: 1 }], -32602, 'policy'],
    ['a limit that is too large', (op) => [{ ...op, callGasLimit: numberToHex(2n ** 120n) }, ...at], -32602, 'AA94'],
    [
      'a limit of the paymaster that is too large',
      (op) => [{ ...op, paymasterPostOpGasLimit: numberToHex(2n ** 120n) }, ...at],
      -32602,
      'AA94',
    ],
  ])('%s', async (_, make, code, message) => {
    const before = await calm()
    const params = make(await operation(await account()))
    for (const stage of ['Stub', ''] as const)
      expect(await pm(stage, params)).toMatchObject({ status: 200, error: { code, message: expect.stringContaining(message) } })
    expect(await status()).toEqual(before)
  })

  it.each(['callGasLimit', 'verificationGasLimit', 'preVerificationGas', 'maxFeePerGas', 'maxPriorityFeePerGas'])(
    'a final one without %s, which a stub may lack',
    async (name) => {
      const before = await calm()
      const op = { ...(await operation(await account())), [name]: undefined }
      expect(await pm('', [op, ...at])).toMatchObject({ error: { code: -32602, message: expect.stringContaining(name) } })
      expect(await status()).toEqual(before)
      expect((await pm('Stub', [op, ...at])).result).toBeDefined()
      expect((await pm('Stub', [{ ...op, [name]: '0x0' }, ...at])).result).toBeDefined()
    },
  )

  it('pm_sponsorUserOperation of EntryPoint 0.9', async () => {
    const answer = await sponsorAnswer('pm_sponsorUserOperation', [await operation(await account()), entryPoint09Address])
    expect(answer).toMatchObject({ error: { code: -32602, message: expect.stringContaining('not supported') } })
  })

  it('returns a JSON-RPC error response', async () => {
    const handle = async (body: string) => node.sponsor.handle(new TextEncoder().encode(body), { apiKey: null })
    expect(JSON.parse((await handle('{')).body)).toMatchObject({ error: { code: -32700 } })
    expect(JSON.parse((await handle('{"id":1}')).body)).toMatchObject({ error: { code: -32600 } })
    expect(JSON.parse((await handle('[]')).body)).toMatchObject({ error: { code: -32600 } })
    expect(JSON.parse((await handle('{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}')).body)).toMatchObject({ error: { code: -32601 } })
    expect(await handle('{"jsonrpc":"2.0","method":"eth_chainId"}')).toEqual({ status: 200, body: '' })
    const op = await operation(await account())
    const one = { jsonrpc: '2.0', method: 'pm_getPaymasterStubData', params: [op, ...at] }
    const both = JSON.parse(
      (
        await handle(
          JSON.stringify([
            { ...one, id: 1 },
            { ...one, id: 2, method: 'pm_nothing' },
          ]),
        )
      ).body,
    ) as Fields[]
    expect(both).toMatchObject([
      { id: 1, result: {} },
      { id: 2, error: { code: -32601 } },
    ])
    const many = JSON.stringify(Array.from({ length: 101 }, (_, id) => ({ ...one, id })))
    expect(JSON.parse((await handle(many)).body)).toMatchObject([{ error: { code: -32600 } }])
  })
})

// --- faults -----------------------------------------------------------------------------------------------------------

describe('a fault on demand', () => {
  const unusable = [
    ['wrong-signature', -32507, 'AA34'],
    ['expired', -32503, 'AA32'],
    ['differ', -32507, 'AA34'],
    ['empty-deposit', -32508, 'AA31'],
  ] as const

  it.each(VERSIONS.flatMap((version) => unusable.map((row) => [version, ...row] as const)))(
    'EntryPoint %s, %s: the bundler rejects the signed operation, and nothing is reserved',
    async (version, kind, code, message) => {
      const before = await calm()
      const sender = await account()
      const op = await operation(sender)
      const stub = (await pm('Stub', [op, ENTRY_POINTS[version], CHAIN])).result ?? {}
      expect(await ask('pocketchain_sponsorFault', { kind })).toEqual({ kind })
      const signed = await sponsored(version, op)
      await expect(ask('eth_sendUserOperation', signed, ENTRY_POINTS[version])).rejects.toMatchObject({
        code,
        message: expect.stringContaining(message),
      })
      const field = version === '0.6' ? 'paymasterAndData' : 'paymasterData'
      expect(size(signed[field] as Hex) - size(stub[field] as Hex)).toBe(kind === 'differ' ? 1 : 0)
      expect((await status()).totals).toEqual(before.totals)
      expect(await ledger({ sender })).toMatchObject([
        { state: 'refused', stage: 'final', reason: 'fault', message: expect.stringContaining(kind) },
      ])
      await ask('pocketchain_sponsorFault', null)
      expect(await included(await ask('eth_sendUserOperation', await sponsored(version, op), ENTRY_POINTS[version]))).toMatchObject({
        success: true,
      })
    },
  )

  it('refuse: the given number of times', async () => {
    const before = await calm()
    const params = [await operation(await account()), entryPoint08Address, CHAIN]
    await ask('pocketchain_sponsorFault', { kind: 'refuse', times: 2 })
    expect(await pm('Stub', params)).toMatchObject({ status: 200, error: { code: -32001, data: { reason: 'fault' } } })
    expect((await status())['fault']).toEqual({ kind: 'refuse', times: 1 })
    expect(await pm('', params)).toMatchObject({ status: 200, error: { code: -32001, data: { reason: 'fault' } } })
    expect((await status()).totals).toEqual(before.totals)
    expect((await status())['fault']).toBe(null)
    expect((await pm('Stub', params)).result).toBeDefined()
  })

  it('http-500: the status of the whole response, also over HTTP', async () => {
    const before = await calm()
    const params = [await operation(await account()), entryPoint08Address, CHAIN]
    await ask('pocketchain_sponsorFault', { kind: 'http-500' })
    expect((await pm('', params)).status).toBe(500)
    const response = await fetch(`${server.url}/paymaster`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'pm_getPaymasterData', params }),
    })
    expect(response.status).toBe(500)
    await response.text()
    expect((await status()).totals).toEqual(before.totals)
  })

  it('slow: after the given delay, without a reservation for a disconnected caller', async () => {
    const sender = await account()
    const params = [await operation(sender), entryPoint08Address, CHAIN]
    await ask('pocketchain_sponsorFault', { kind: 'slow', delayMs: 200, times: 1 })
    const start = performance.now()
    expect((await pm('Stub', params)).result).toBeDefined()
    expect(performance.now() - start).toBeGreaterThanOrEqual(195)
    await ask('pocketchain_sponsorFault', { kind: 'slow', delayMs: 3_600_000 })
    const leaving = new AbortController()
    const waiting = pm('', params, { signal: leaving.signal })
    leaving.abort()
    expect(await waiting).toMatchObject({ error: { code: -32002 } })
    expect(await ledger({ sender })).toEqual([])
  })

  it('wrong-signature applies to signed responses only: a stub does not decrement it', async () => {
    const params = [await operation(await account()), entryPoint08Address, CHAIN]
    await ask('pocketchain_sponsorFault', { kind: 'wrong-signature', times: 1 })
    await pm('Stub', params)
    expect((await status())['fault']).toEqual({ kind: 'wrong-signature', times: 1 })
    await pm('', params)
    expect((await status())['fault']).toBe(null)
  })

  it.each<[fault: unknown, message: string]>([
    [{ kind: 'explode' }, 'kind'],
    ['refuse', 'fault'],
    [{ kind: 'refuse', times: 0 }, 'times'],
    [{ kind: 'refuse', times: -1 }, 'times'],
    [{ kind: 'refuse', delayMs: 5 }, 'delayMs'],
    [{ kind: 'slow', delayMs: 3_600_001 }, 'delayMs'],
  ])('that is invalid is rejected: %j', async (fault, message) => {
    await expect(ask('pocketchain_sponsorFault', fault)).rejects.toMatchObject({ code: -32602, message: expect.stringContaining(message) })
    expect((await status())['fault']).toBe(null)
  })
})

// --- budgets ----------------------------------------------------------------------------------------------------------

describe('a budget', () => {
  it('for 10 operations sponsors exactly 10 of 100 concurrent requests', async () => {
    const senders = await Promise.all(Array.from({ length: 100 }, () => account()))
    const price = await operation(BOB)
    const each = maxCostOf(price, '0.8')
    await ask('pocketchain_sponsorPolicies', [{ name: 'for ten', total: String(each * 10n) }])
    const before = await calm()
    const answers = await Promise.all(
      senders.map(async (sender) => {
        const body = JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'pm_getPaymasterData',
          params: [{ ...price, sender }, entryPoint08Address, CHAIN],
        })
        const response = await fetch(`${server.url}/paymaster/rpc`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body,
        })
        return { sender, ...((await response.json()) as Omit<Answer, 'status'>) }
      }),
    )
    const granted = answers.filter(({ result }) => result !== undefined)
    expect(granted).toHaveLength(10)
    for (const { error } of answers) if (error !== undefined) expect(error).toMatchObject({ code: -32001, data: { reason: 'total' } })
    const held = async () => BigInt((await status()).totals.reserved) - BigInt(before.totals.reserved)
    expect(await held()).toBe(each * 10n)
    // All ten are valid, and their unused budget is free again.
    const hashes = await Promise.all(
      granted.map(({ sender, result }) =>
        ask('eth_sendUserOperation', { ...price, sender, ...result, signature: '0x12' }, entryPoint08Address),
      ),
    )
    const receipts = await Promise.all(hashes.map(included))
    await sealed()
    expect(await held()).toBe(0n)
    const cost = receipts.reduce((sum, { actualGasCost }) => sum + BigInt(actualGasCost as Hex), 0n)
    const [policy] = (await ask('pocketchain_sponsorPolicies')) as readonly { use: Fields; left: Hex }[]
    expect(policy?.use).toEqual({ reserved: '0x0', settled: numberToHex(cost), today: numberToHex(cost), users: 10 })
    expect(BigInt(policy?.left ?? 0)).toBe(each * 10n - cost)
  })

  it('is reserved once per nonce', async () => {
    const op = await operation(await account())
    await ask('pocketchain_sponsorPolicies', [{ name: 'once', total: String(maxCostOf(op, '0.8')) }])
    for (let i = 0; i < 3; i++) expect((await pm('', [op, entryPoint08Address, CHAIN])).result).toBeDefined()
    expect((await pm('', [{ ...op, nonce: '0x1' }, entryPoint08Address, CHAIN])).error?.data).toMatchObject({ reason: 'total' })
  })

  it('is free again after the expiry', async () => {
    await using other = await createPocketchain({
      wallet: false,
      clock: 'manual',
      sponsor: { validForSeconds: 60, policies: [{ name: 'p' }] },
    })
    const at = other.sponsor
    const op = { ...(await operation(BOB)), maxFeePerGas: '0x77359400' }
    expect((await pm('', [op, entryPoint08Address, CHAIN], { at })).result).toBeDefined()
    expect((await status(at)).totals.reserved).not.toBe('0x0')
    await other.request({ method: 'evm_increaseTime', params: [120] })
    for (let i = 0; i < 2; i++) await other.request({ method: 'anvil_mine' })
    await at.settled()
    expect(await status(at)).toMatchObject({ totals: { reserved: '0x0', settled: '0x0' }, counts: { expired: 1 } })
  })
})

// --- methods of the operator -----------------------------------------------------------------------------------------

describe('the methods of the operator', () => {
  it('policies are replaced at run time, and no API key is returned', async () => {
    const policies = [
      { name: 'a', chains: [31_337], perDay: '5', apiKeys: ['top secret'], contracts: [{ address: BOB, selectors: ['ping()'] }] },
    ]
    const shown = await ask('pocketchain_sponsorPolicies', policies)
    expect(shown).toEqual([
      {
        name: 'a',
        chains: [31_337],
        contracts: [
          { address: '0x000000000000000000000000000000000000b0b0'.replace(/.*/, (text) => checksummed(text)), selectors: ['ping()'] },
        ],
        apiKeys: 1,
        perDay: '0x5',
        use: { reserved: '0x0', settled: '0x0', today: '0x0', users: 0 },
        left: '0x5',
      },
    ])
    expect(await ask('pocketchain_sponsorPolicies')).toEqual(shown)
    expect(JSON.stringify([await status(), await ledger()])).not.toContain('top secret')
  })

  it.each<[policies: unknown, message: string]>([
    ['all', 'policies'],
    [[{}], '(policies)[0].name'],
    [[{ name: 'a' }, { name: 'a' }], '(policies)[1].name'],
    [[{ name: 'a', budget: '5' }], '(policies)[0].budget'],
    [[{ name: 'a', total: -1 }], '(policies)[0].total'],
  ])('invalid policies change nothing: %j', async (policies, message) => {
    await expect(ask('pocketchain_sponsorPolicies', policies)).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining(message),
    })
    expect(await ask('pocketchain_sponsorPolicies')).toMatchObject([{ name: 'everything' }])
  })

  it('the ledger is read in pages, the newest first', async () => {
    const sender = await account()
    for (let i = 0; i < 5; i++) await pm('', [await operation(sender, { nonce: numberToHex(i) }), entryPoint08Address, CHAIN])
    const page = async (query: Fields) =>
      (await ask('pocketchain_sponsorLedger', { sender, ...query })) as { entries: readonly { nonce: Hex }[]; next: number | null }
    const first = await page({ limit: 2 })
    expect(first.entries.map(({ nonce }) => nonce)).toEqual(['0x4', '0x3'])
    const second = await page({ limit: 3, before: first.next })
    expect(second.entries.map(({ nonce }) => nonce)).toEqual(['0x2', '0x1', '0x0'])
    expect(second.next).toBe(null)
    expect((await page({ state: 'refused' })).entries).toEqual([])
    await expect(ask('pocketchain_sponsorLedger', { state: 'lost' })).rejects.toMatchObject({ code: -32602 })
    await expect(ask('pocketchain_sponsorLedger', { limit: 0 })).rejects.toMatchObject({ code: -32602 })
  })

  it('a deposit is raised by the owner', async () => {
    const before = await paymasterOf('0.6')
    const hash = await ask('pocketchain_sponsorDeposit', '0.6', numberToHex(parseEther('3')))
    const { client } = clients()
    expect(await client.waitForTransactionReceipt({ hash: hash as Hex })).toMatchObject({
      status: 'success',
      from: (await status()).owner.toLowerCase(),
    })
    expect(BigInt((await paymasterOf('0.6')).deposit) - BigInt(before.deposit)).toBe(parseEther('3'))
    for (const version of ['0.5', '0.9'])
      await expect(ask('pocketchain_sponsorDeposit', version, '0x1')).rejects.toMatchObject({ code: -32602 })
    await expect(ask('pocketchain_sponsorDeposit', '0.6', '0x0')).rejects.toMatchObject({ code: -32602 })
    await expect(ask('pocketchain_sponsorDeposit', '0.6', numberToHex(parseEther('1000000')))).rejects.toMatchObject({
      code: -32000,
      data: { account: expect.any(String) },
    })
  })

  it('are absent without a sponsor and on the public tier', async () => {
    await using bare = await createPocketchain({ wallet: false, sponsor: false })
    await expect(bare.request({ method: 'pocketchain_sponsorStatus' })).rejects.toMatchObject({ code: -32601 })
    expect(() => bare.sponsor).toThrow('without a sponsor')
    await using listening = await bare
      .listen({ port: 0, tlsFolder: null })
      .then((opened) => ({ opened, [Symbol.asyncDispose]: async () => undefined }))
    expect((await fetch(`${listening.opened.url}/paymaster/rpc`, { method: 'POST', body: '{}' })).status).toBe(404)
    const response = await fetch(`${server.url}/public`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"jsonrpc":"2.0","id":1,"method":"pocketchain_sponsorStatus","params":[]}',
    })
    expect(await response.json()).toMatchObject({ error: { code: -32601 } })
  })

  it('invalid options are rejected at the start', async () => {
    const wrong = (sponsor: NonNullable<PocketchainOptions['sponsor']>) => createPocketchain({ wallet: false, sponsor })
    await expect(wrong({ name: '' })).rejects.toThrow(RangeError)
    await expect(wrong({ icon: 'https://example.org/icon.png' })).rejects.toThrow('data: URI')
    // Wallets do not show it.
    await expect(wrong({ icon: 'data:image/svg+xml;utf8,<svg/>' })).rejects.toThrow('encoded')
    await expect(wrong({ validForSeconds: 0 })).rejects.toThrow('validForSeconds')
    await expect(wrong({ depositWei: -1n })).rejects.toThrow('depositWei')
    await expect(wrong({ policies: [{ name: 'a', total: 'much' }] })).rejects.toThrow('policies[0].total')
  })

  it('uses the name and icon of the options', async () => {
    const icon = 'data:image/png;base64,AAAA'
    await using named = await createPocketchain({ wallet: false, sponsor: { name: 'Shop', icon } })
    const { result } = await pm('Stub', [await operation(BOB), entryPoint08Address, CHAIN], { at: named.sponsor })
    expect(result?.['sponsor']).toEqual({ name: 'Shop', icon })
  })
})

function checksummed(address: string): Address {
  return CoreAddress.checksum(CoreAddress.from(address))
}

// --- deposits and deployment ------------------------------------------------------------------------------------------

describe('a sponsor on another chain', () => {
  const key = () => generatePrivateKey()

  it('deploys its paymaster with the first request, once', async () => {
    const [owner, signer] = [key(), key()]
    await ask('anvil_setBalance', privateKeyToAccount(owner).address, numberToHex(parseEther('30')))
    const at = createPaymaster({ rpc: node, owner, signer })
    const deployments = sponsorDeployments(
      ...([owner, signer].map((each) => CoreAddress.from(privateKeyToAccount(each).address)) as [CoreAddress, CoreAddress]),
    )
    expect((await status(at)).paymasters.map(({ deployed }) => deployed)).toEqual([false, false, false])
    const ops = await Promise.all(Array.from({ length: 5 }, async () => operation(await account())))
    const ready = await Promise.all(ops.map((op) => sponsored('0.8', op, { at })))
    expect((await status(at)).paymasters).toMatchObject([
      {
        version: '0.8',
        address: checksummed(deployments[0]?.address ?? ''),
        deployed: true,
        deposit: numberToHex(parseEther('10')),
        isLow: false,
      },
      { version: '0.7', deployed: false },
      { version: '0.6', deployed: false },
    ])
    expect(await ask('eth_getTransactionCount', privateKeyToAccount(owner).address, 'pending')).toBe('0x2')
    expect(await included(await ask('eth_sendUserOperation', ready[0], entryPoint08Address))).toMatchObject({ success: true })
    await at.settled()
    expect(await status(at)).toMatchObject({ counts: { reserved: 4 } })
    await at.close()
    // A second sponsor uses the deployed one.
    const again = createPaymaster({ rpc: node, owner, signer })
    await sponsored('0.8', await operation(await account()), { at: again })
    expect(await ask('eth_getTransactionCount', privateKeyToAccount(owner).address, 'pending')).toBe('0x2')
    await again.close()
  })

  it('names the account to fund', async () => {
    const [owner, signer] = [key(), key()]
    const { address } = privateKeyToAccount(owner)
    const at = createPaymaster({ rpc: node, owner, signer })
    const params = [await operation(await account()), entryPoint07Address, CHAIN]
    for (const stage of ['Stub', ''] as const)
      expect(await pm(stage, params, { at })).toMatchObject({
        status: 200,
        error: {
          code: -32003,
          message: expect.stringContaining(address),
          data: { reason: 'not-deployed', account: address.toLowerCase() },
        },
      })
    expect(await status(at)).toMatchObject({ counts: { refused: 2, reserved: 0 } })
    expect(await ask('eth_getTransactionCount', address, 'pending')).toBe('0x0')
    await ask('anvil_setBalance', address, numberToHex(parseEther('11')))
    expect((await pm('', params, { at })).result).toBeDefined()
    await at.close()
  })

  it('deploys nothing for rejected operations', async () => {
    const [owner, signer] = [key(), key()]
    await ask('anvil_setBalance', privateKeyToAccount(owner).address, numberToHex(parseEther('30')))
    const at = createPaymaster({ rpc: node, owner, signer, policies: [{ name: 'empty', senders: [] }] })
    expect((await pm('', [await operation(await account()), entryPoint08Address, CHAIN], { at })).error).toMatchObject({ code: -32001 })
    expect(await ask('eth_getTransactionCount', privateKeyToAccount(owner).address, 'pending')).toBe('0x0')
    await at.close()
  })

  it('reports a low deposit once, and again when it becomes low again', async () => {
    const [owner, signer] = [key(), key()]
    await ask('anvil_setBalance', privateKeyToAccount(owner).address, numberToHex(parseEther('30')))
    const notes: string[] = []
    const at = createPaymaster({ rpc: node, owner, signer, depositWei: parseEther('0.5'), onNote: (line) => notes.push(line) })
    const next = async () => pm('Stub', [await operation(await account()), entryPoint08Address, CHAIN], { at })
    for (let i = 0; i < 3; i++) await next()
    expect(notes).toEqual([expect.stringContaining('is low')])
    expect((await status(at)).paymasters[0]?.isLow).toBe(true)
    const hash = await at.control({ method: 'pocketchain_sponsorDeposit', params: ['0.8', numberToHex(parseEther('2'))] })
    await clients().client.waitForTransactionReceipt({ hash: hash as Hex })
    await next()
    expect(notes).toHaveLength(1)
    const address = (await status(at)).paymasters[0]?.address ?? BOB
    await ask('anvil_setStorageAt', entryPoint08Address, keccak256(concatHex([pad(address), zeroHash])), numberToHex(1n, { size: 32 }))
    await next()
    expect(notes).toHaveLength(2)
    await at.close()
  })

  it('deploys it again after a reorg', async () => {
    const owner = key()
    const genesis = genesisOf(['EntryPoint 0.8', 'SenderCreator 0.8', 'CREATE2 deployer'], owner)
    await using other = await createPocketchain({ genesis, wallet: false, sponsor: { owner }, cadence: 'instant' })
    const at = other.sponsor
    const snapshot = await other.request({ method: 'evm_snapshot' })
    for (let i = 0; i < 2; i++) {
      expect((await pm('Stub', [await operation(BOB), entryPoint08Address, CHAIN], { at })).result).toBeDefined()
      expect((await status(at)).paymasters[0]).toMatchObject({ deployed: true, deposit: numberToHex(parseEther('10')) })
      if (i === 0) await other.request({ method: 'evm_revert', params: [snapshot] })
    }
  })

  it('reserves paid operations again on a reset chain, and settles them there', async () => {
    await using other = await createPocketchain({ wallet: false, cadence: 'instant' })
    const at = other.sponsor
    const sender = await account()
    let op: Fields | null = null
    for (let i = 0; i < 2; i++) {
      await other.request({ method: 'anvil_setCode', params: [sender, '0x5f5f5260205ff3'] })
      op ??= await sponsored('0.8', await operation(sender, { maxFeePerGas: numberToHex(3_000_000_000) }), { at })
      const hash = await other.request({ method: 'eth_sendUserOperation', params: [op, entryPoint08Address] })
      await expect.poll(() => other.request({ method: 'eth_getUserOperationReceipt', params: [hash] })).not.toBeNull()
      await at.settled()
      expect(await status(at)).toMatchObject({ counts: { settled: 1, reserved: 0 } })
      await other.request({ method: 'anvil_reset' })
      await at.settled()
      expect(await status(at)).toMatchObject({ counts: { settled: 0, reserved: 1 }, totals: { settled: '0x0' } })
    }
  })

  it('works with a node over HTTP', async () => {
    const [owner, signer] = [key(), key()]
    await ask('anvil_setBalance', privateKeyToAccount(owner).address, numberToHex(parseEther('30')))
    const at = createPaymaster({ rpc: createRemoteRpc(server.url), owner, signer })
    const ready = await sponsored('0.8', await operation(await account()), { at })
    expect(await included(await ask('eth_sendUserOperation', ready, entryPoint08Address))).toMatchObject({ success: true })
    await ask('anvil_mine')
    await at.settled()
    expect(await status(at)).toMatchObject({ counts: { settled: 1 }, totals: { reserved: '0x0' } })
    await at.close()
  })

  it('names the missing contract: an EntryPoint, the CREATE2 deployer', async () => {
    const owner = key()
    await using empty = await createPocketchain({ genesis: genesisOf([], owner), wallet: false, sponsor: { owner } })
    const params = [await operation(BOB), entryPoint08Address, CHAIN]
    expect((await pm('', params, { at: empty.sponsor })).error).toMatchObject({
      code: -32003,
      message: expect.stringContaining('no EntryPoint 0.8'),
    })
    await using half = await createPocketchain({
      genesis: genesisOf(['EntryPoint 0.8', 'SenderCreator 0.8'], owner),
      wallet: false,
      sponsor: { owner },
    })
    expect((await pm('', params, { at: half.sponsor })).error).toMatchObject({
      code: -32003,
      message: expect.stringContaining('CREATE2 deployer'),
    })
  })

  it('deploys its paymasters on a custom genesis', async () => {
    const owner = key()
    const genesis = genesisOf(['EntryPoint 0.8', 'SenderCreator 0.8', 'CREATE2 deployer'], owner)
    await using other = await createPocketchain({ genesis, wallet: false, sponsor: { owner } })
    expect((await status(other.sponsor)).paymasters[0]).toMatchObject({ version: '0.8', deployed: false, deposit: '0x0' })
    expect((await pm('', [await operation(BOB), entryPoint08Address, CHAIN], { at: other.sponsor })).result).toBeDefined()
    expect((await status(other.sponsor)).paymasters[0]).toMatchObject({ deployed: true, deposit: numberToHex(parseEther('10')) })
  })
})

const RULES = {
  ...Object.fromEntries(
    ['homestead', 'eip150', 'eip155', 'eip158', 'byzantium', 'constantinople', 'petersburg', 'istanbul', 'berlin', 'london'].map((fork) => [
      `${fork}Block`,
      0,
    ]),
  ),
  terminalTotalDifficulty: 0,
  terminalTotalDifficultyPassed: true,
  shanghaiTime: 0,
  cancunTime: 0,
  pragueTime: 0,
}

/** Returns, in geth's format, the accounts of the default genesis with one of these names. */
function genesisOf(names: readonly string[], owner: Hex): string {
  const { accounts } = JSON.parse(readFileSync(new URL('src/chain/genesis/predeploys.json', ROOT), 'utf8')) as {
    accounts: readonly { name: string; address: Address; code: Hex; nonce?: number; storage?: Readonly<Record<Hex, Hex>> }[]
  }
  const entries = accounts
    .filter(({ name }) => names.includes(name))
    .map(({ address, code, nonce = 0, storage = {} }) => [address, { code, nonce: numberToHex(nonce), balance: '0x0', storage }] as const)
  const rich = [privateKeyToAccount(owner).address, { balance: numberToHex(parseEther('50')) }] as const
  return JSON.stringify({
    config: { chainId: 31_337, ...RULES },
    difficulty: '0x0',
    gasLimit: '0x3938700',
    baseFeePerGas: '0x3b9aca00',
    alloc: Object.fromEntries([...entries, rich]),
  })
}

describe('the default genesis', () => {
  const genesis = (calls: NonNullable<DefaultGenesisOptions['calls']>) =>
    defaultGenesis({
      chainId: 31_337,
      timestamp: 0,
      hardfork: DEFAULT_HARDFORK,
      gasLimit: 60_000_000n,
      baseFeePerGas: 0n,
      feeParameters: DEFAULT_FEE_PARAMETERS,
      accounts: [],
      codeSizeLimit: DEFAULT_CODE_SIZE_LIMIT,
      transactionGasCap: null,
      calls,
    }).state

  it('contains the sponsor contracts that scripts/sponsor.mjs prepared', async () => {
    const { owner, signer } = await status()
    const deployments = sponsorDeployments(CoreAddress.from(owner), CoreAddress.from(signer))
    const run = genesis(
      deployments.flatMap((each) => [
        { to: each.deployer, data: each.data },
        { ...depositCall(each), value: parseEther('100') },
      ]),
    )
    const prepared = genesis('precomputed')
    expect(prepared.accounts).toEqual(run.accounts)
    expect(prepared.storage).toEqual(run.storage)
    expect(prepared.codes).toEqual(run.codes)
  })

  it.each<[name: string, PocketchainOptions]>([
    ['other words', { mnemonic: 'legal winner thank year wave sausage worth useful legal winner thank yellow' }],
    ['another path', { derivationPath: "m/44'/60'/1'/0" }],
    ['another chain id', { chainId: 84_532 }],
    ['rules without transient storage fees of today', { hardfork: 'fjord' }],
    [
      'a code size limit that they exceed',
      { mnemonic: 'legal winner thank year wave sausage worth useful legal winner thank yellow', codeSizeLimit: 2_000 },
    ],
    ['the same under another chain id', { chainId: 5, codeSizeLimit: 2_000 }],
  ])('has paymasters with deposits under %s', async (_, options) => {
    await using other = await createPocketchain({ wallet: false, ...options })
    const { paymasters, owner } = await status(other.sponsor)
    expect(paymasters.map(({ deployed, deposit }) => ({ deployed, deposit }))).toEqual(
      VERSIONS.map(() => ({ deployed: true, deposit: numberToHex(parseEther('100')) })),
    )
    expect(await other.request({ method: 'eth_getBalance', params: [owner, 'latest'] })).toBe(numberToHex(parseEther('1000')))
  })

  it('is the same without a sponsor', async () => {
    const one = { timestamp: 1_700_000_000, wallet: false } as const
    await using sponsoredNode = await createPocketchain(one)
    await using bare = await createPocketchain({ ...one, sponsor: false })
    const hashOf = (each: Pocketchain) => each.request({ method: 'eth_getBlockByNumber', params: ['0x0', false] })
    expect(await hashOf(bare)).toEqual(await hashOf(sponsoredNode))
  })
})

// --- restart ----------------------------------------------------------------------------------------------------------

describe('a sponsor with a stored ledger', () => {
  it('continues: reservations are kept and settled', async () => {
    const data = mkdtempSync(join(tmpdir(), 'sponsor-'))
    try {
      const options = { data, wallet: false, sponsor: { policies: [{ name: 'kept', total: String(parseEther('1')) }] } } as const
      const first = await createPocketchain(options)
      const sender = await account()
      await first.request({ method: 'anvil_setCode', params: [sender, '0x5f5f5260205ff3'] })
      const ready = await sponsored('0.8', await operation(sender, { maxFeePerGas: numberToHex(5_000_000_000) }), { at: first.sponsor })
      const { totals } = await status(first.sponsor)
      await first.close()

      const second = await createPocketchain(options)
      expect((await status(second.sponsor)).totals).toEqual(totals)
      await second.request({ method: 'anvil_setCode', params: [sender, '0x5f5f5260205ff3'] })
      const hash = await second.request({ method: 'eth_sendUserOperation', params: [ready, entryPoint08Address] })
      const own = node
      node = second
      const { actualGasCost } = await included(hash).finally(() => (node = own))
      await second.close()

      const third = await createPocketchain(options)
      await third.request({ method: 'anvil_mine' })
      await third.sponsor.settled()
      expect(await status(third.sponsor)).toMatchObject({ totals: { reserved: '0x0', settled: actualGasCost }, counts: { settled: 1 } })
      await third.close()
    } finally {
      rmSync(data, { recursive: true, force: true })
    }
  })
})
