// The bundler of a node: operations of each EntryPoint, viem's account clients over HTTP, estimates, and each refusal.
import simpleAccountFactory from 'aa07/artifacts/SimpleAccountFactory.json' with { type: 'json' }
import simple7702Account from 'aa08/artifacts/Simple7702Account.json' with { type: 'json' }
import { createPocketchain } from 'pocketchain'
import type { Server } from 'pocketchain'
import {
  concatHex,
  createPublicClient,
  createWalletClient,
  decodeFunctionData,
  encodeAbiParameters,
  encodeFunctionData,
  getCreate2Address,
  http,
  keccak256,
  numberToHex,
  pad,
  parseAbi,
  parseEther,
  zeroAddress,
  zeroHash,
} from 'viem'
import type { Address, Chain, Hex } from 'viem'
import {
  createBundlerClient,
  entryPoint06Address,
  entryPoint07Abi,
  entryPoint07Address,
  entryPoint08Address,
  entryPoint09Address,
  getUserOperationHash,
  toCoinbaseSmartAccount,
  toSimple7702SmartAccount,
  toSmartAccount,
} from 'viem/account-abstraction'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  account,
  answering,
  ask,
  BOB,
  brokenAccount,
  absentFactory,
  brokenFactory,
  brokenPaymaster,
  CREATE2,
  depositTo,
  included,
  onNode,
  operation,
  paymaster,
  plain,
  rulesOf,
  sharedNode,
  shareNode,
  sponsored,
  VERSIONS,
  withCode,
} from './bundler.fixture.ts'
import type { Fields } from './bundler.fixture.ts'

shareNode()

let server: Server
let chain: Chain
let factory07: Address

beforeAll(async () => {
  server = await sharedNode().listen({ port: 0 })
  chain = { ...foundry, rpcUrls: { default: { http: [server.url] } } }
  factory07 = await deploy(
    concatHex([simpleAccountFactory.bytecode as Hex, encodeAbiParameters([{ type: 'address' }], [entryPoint07Address])]), // hex in a JSON file
  )
  await deploy(simple7702Account.bytecode as Hex) // hex in a JSON file
})

async function deploy(initCode: Hex): Promise<Address> {
  const address = getCreate2Address({ from: CREATE2, salt: zeroHash, bytecode: initCode })
  if ((await ask('eth_getCode', address, 'pending')) !== '0x') return address
  const from = sharedNode().accounts[9]?.address
  const hash = await ask('eth_sendTransaction', { from, to: CREATE2, data: concatHex([zeroHash, initCode]), gas: numberToHex(5_000_000) })
  await receiptOf(hash as Hex)
  expect(await ask('eth_getCode', address, 'pending')).not.toBe('0x')
  return address
}

function receiptOf(hash: Hex) {
  return createPublicClient({ chain, transport: http(), pollingInterval: 20 }).waitForTransactionReceipt({ hash })
}

function clients() {
  const client = createPublicClient({ chain, transport: http(), pollingInterval: 20 })
  return { client, bundler: createBundlerClient({ client, transport: http(server.url), pollingInterval: 20 }) }
}

describe('with viem', () => {
  it.each(['0.8', '0.9'] as const)(
    'an account that its own key delegates pays for two calls in one operation of %s',
    async (entryPoint) => {
      const owner = privateKeyToAccount(generatePrivateKey())
      await ask('anvil_setBalance', owner.address, numberToHex(parseEther('1')))
      const { client, bundler } = clients()
      const account = await toSimple7702SmartAccount({ client, owner, entryPoint })
      const authorization = await createWalletClient({ account: owner, chain, transport: http() }).signAuthorization({
        contractAddress: account.authorization.address,
      })
      const calls = [
        { to: BOB, value: 1n },
        { to: BOB, value: 2n },
      ]
      const before = await client.getBalance({ address: BOB, blockTag: 'pending' })
      const hash = await bundler.sendUserOperation({ account, calls, authorization })
      const { success, receipt, logs } = await bundler.waitForUserOperationReceipt({ hash, timeout: 30_000 })
      expect(success).toBe(true)
      expect((await client.getTransaction({ hash: receipt.transactionHash })).type).toBe('eip7702')
      expect(await client.getBalance({ address: BOB, blockTag: 'pending' })).toBe(before + 3n)
      expect(logs.every(({ address }) => address.toLowerCase() === VERSIONS[entryPoint].toLowerCase())).toBe(true)
      const found = await bundler.getUserOperation({ hash })
      expect(found).toMatchObject({ transactionHash: receipt.transactionHash, userOperation: { sender: owner.address } })
      // The account delegates already: viem reads the newest sealed block.
      await sealed()
      const again = await bundler.sendUserOperation({ account, calls })
      expect((await bundler.waitForUserOperationReceipt({ hash: again, timeout: 30_000 })).success).toBe(true)
    },
  )

  it('an account of 0.7 is created by its factory with its first operation', async () => {
    const { client, bundler } = clients()
    const account = await simpleAccount(client)
    await ask('anvil_setBalance', await account.getAddress(), numberToHex(parseEther('1')))
    const hash = await bundler.sendUserOperation({ account, calls: [{ to: BOB, value: 5n }] })
    const { success, sender, actualGasCost } = await bundler.waitForUserOperationReceipt({ hash, timeout: 30_000 })
    expect({ success, sender }).toEqual({ success: true, sender: await account.getAddress() })
    expect(actualGasCost).toBeGreaterThan(0n)
    expect(await client.getCode({ address: sender, blockTag: 'pending' })).toBeDefined()
  })

  it('a reverting call is reported by the estimate', async () => {
    const { client, bundler } = clients()
    const account = await simpleAccount(client)
    await ask('anvil_setBalance', await account.getAddress(), numberToHex(parseEther('1')))
    const refuses = await withCode('0x5f5ffd')
    await expect(bundler.sendUserOperation({ account, calls: [{ to: refuses, data: '0x01' }] })).rejects.toThrow('reverted')
    expect(await ask('debug_bundler_dumpMempool', entryPoint07Address)).toEqual([])
  })

  it('a smart wallet of 0.6 is created by its factory with its first operation', async () => {
    const { client, bundler } = clients()
    const owner = privateKeyToAccount(generatePrivateKey())
    const smart = await toCoinbaseSmartAccount({ client, owners: [owner], version: '1.1' })
    await ask('anvil_setBalance', await smart.getAddress(), numberToHex(parseEther('1')))
    const hash = await bundler.sendUserOperation({ account: smart, calls: [{ to: BOB, value: 7n }] })
    const { success, entryPoint } = await bundler.waitForUserOperationReceipt({ hash, timeout: 30_000 })
    expect({ success, entryPoint }).toEqual({ success: true, entryPoint: entryPoint06Address })
  })

  it('bundles pay for themselves', async () => {
    const { bundlerAddress, balance } = await bundlerBalance()
    const { client, bundler } = clients()
    const account = await simpleAccount(client)
    await ask('anvil_setBalance', await account.getAddress(), numberToHex(parseEther('1')))
    for (let i = 0; i < 2; i++) {
      const hash = await bundler.sendUserOperation({ account, calls: [{ to: BOB, value: 5n }] })
      await bundler.waitForUserOperationReceipt({ hash, timeout: 30_000 })
      await sealed()
    }
    expect(await client.getBalance({ address: bundlerAddress, blockTag: 'pending' })).toBeGreaterThanOrEqual(balance)
  })
})

async function sealed(): Promise<void> {
  await ask('anvil_mine')
}

async function bundlerBalance() {
  const { client } = clients()
  // The bundler's account is the sender of each bundle.
  const { hash } = await plain('0.8')
  const receipt = (await included(hash)) as { receipt: { from: Address } }
  const bundlerAddress = receipt.receipt.from
  return { bundlerAddress, balance: await client.getBalance({ address: bundlerAddress, blockTag: 'pending' }) }
}

async function simpleAccount(client: ReturnType<typeof clients>['client']) {
  const owner = privateKeyToAccount(generatePrivateKey())
  const abi = parseAbi([
    'function createAccount(address owner, uint256 salt) returns (address)',
    'function getAddress(address owner, uint256 salt) view returns (address)',
    'function execute(address dest, uint256 value, bytes func)',
  ])
  const address = await client.readContract({
    address: factory07,
    abi,
    functionName: 'getAddress',
    args: [owner.address, 0n],
    blockTag: 'pending',
  })
  return toSmartAccount({
    client,
    entryPoint: { abi: entryPoint07Abi, address: entryPoint07Address, version: '0.7' },
    getAddress: async () => address,
    encodeCalls: async ([call]) =>
      encodeFunctionData({ abi, functionName: 'execute', args: [call?.to ?? BOB, call?.value ?? 0n, call?.data ?? '0x'] }),
    decodeCalls: async (data) => {
      const { args } = decodeFunctionData({ abi, data })
      return [{ to: args[0], value: args[1], data: args[2] as Hex }] // execute is what is encoded
    },
    getFactoryArgs: async () => ({
      factory: factory07,
      factoryData: encodeFunctionData({ abi, functionName: 'createAccount', args: [owner.address, 0n] }),
    }),
    getStubSignature: async () =>
      '0xfffffffffffffffffffffffffffffff0000000000000000000000000000000007aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1c',
    signMessage: ({ message }) => owner.signMessage({ message }),
    signTypedData: () => Promise.reject(new Error('not needed')),
    signUserOperation: async ({ chainId = 31_337, ...userOperation }) =>
      owner.signMessage({
        message: {
          raw: getUserOperationHash({
            chainId,
            entryPointAddress: entryPoint07Address,
            entryPointVersion: '0.7',
            userOperation: { ...userOperation, sender: address },
          }),
        },
      }),
  })
}

describe('an operation of EntryPoint 0.9', () => {
  it('may have the factory of an account that exists', async () => {
    const sent = await operation(await account('0.9'), await brokenFactory('0.9'))
    expect(await included((await ask('eth_sendUserOperation', sent, entryPoint09Address)) as Hex)).toMatchObject({ success: true })
  })

  it('is valid in a range of blocks', async () => {
    const block = BigInt((await ask('eth_blockNumber')) as Hex)
    const range = (after: bigint, until: bigint) => (((1n << 47n) | after) << 208n) | (((1n << 47n) | until) << 160n)
    const valid = await operation(await account('0.9', range(0n, block + 1_000n)))
    expect(await included((await ask('eth_sendUserOperation', valid, entryPoint09Address)) as Hex)).toMatchObject({ success: true })
    const early = await operation(await account('0.9', range(block + 1_000n, block + 2_000n)))
    await expect(ask('eth_sendUserOperation', early, entryPoint09Address)).rejects.toMatchObject({
      code: -32503,
      message: expect.stringContaining('AA27'),
    })
    const sponsor = await paymaster('0.9', range(block + 1_000n, block + 2_000n))
    await expect(
      ask('eth_sendUserOperation', await operation(await account('0.9'), sponsored(sponsor, '0.9')), entryPoint09Address),
    ).rejects.toMatchObject({ code: -32503, message: expect.stringContaining('AA37') })
  })
})

describe.each(['0.6', '0.7', '0.8', '0.9'] as const)('an operation of EntryPoint %s', (version) => {
  it('is included with the next flashblock and has its own logs in the receipt', async () => {
    const { sender, sent, hash } = await plain(version)
    const receipt = (await included(hash)) as { success: boolean; logs: unknown[]; receipt: { logs: unknown[]; status: string } }
    expect(receipt).toMatchObject({ userOpHash: hash, success: true, nonce: '0x0', paymaster: zeroAddress })
    expect(receipt.logs).toEqual([])
    expect(receipt.receipt.status).toBe('0x1')
    const found = (await ask('eth_getUserOperationByHash', hash)) as { userOperation: Fields }
    expect(found.userOperation).toMatchObject({ nonce: '0x0', callGasLimit: sent['callGasLimit'], signature: '0x1234' })
    expect(String(found.userOperation['sender']).toLowerCase()).toBe(sender)
    expect(await ask('pimlico_getUserOperationStatus', hash)).toMatchObject({ status: 'included' })
  })

  it('is reported as not found after its promise is retracted for good, and can be sent again', async () => {
    await ask('anvil_mine') // a new block, whose promise is not sealed soon
    const { sent, hash } = await plain(version)
    const { receipt } = (await included(hash)) as { receipt: { transactionHash: Hex } }
    await ask('pocketchain_stall', 1_000)
    await ask('pocketchain_retract', receipt.transactionHash, 'nowhere')
    expect(await ask('eth_getUserOperationReceipt', hash)).toBeNull()
    expect(await ask('pimlico_getUserOperationStatus', hash)).toEqual({
      status: 'not_found',
      transactionHash: null,
      reason: `the bundle ${receipt.transactionHash} was retracted, or no longer contains the operation`,
    })
    await ask('pocketchain_stall', 0)
    expect(await ask('eth_sendUserOperation', sent, VERSIONS[version])).toBe(hash)
    expect(await included(hash)).toMatchObject({ success: true })
  })

  it('is submitted again while the transaction of its retracted promise waits', async () => {
    await ask('anvil_mine') // a new block, whose promise is not sealed soon
    const { hash } = await plain(version)
    const { receipt } = (await included(hash)) as { receipt: { transactionHash: Hex } }
    await ask('pocketchain_stall', 1_000)
    await ask('pocketchain_retract', receipt.transactionHash)
    expect(await ask('pimlico_getUserOperationStatus', hash)).toEqual({ status: 'submitted', transactionHash: receipt.transactionHash })
    await ask('pocketchain_stall', 0)
    expect(await included(hash)).toMatchObject({ success: true })
    expect(await ask('pimlico_getUserOperationStatus', hash)).toMatchObject({ status: 'included' })
  })

  it('is found in the chain by a bundler that did not send it', async () => {
    const { hash } = await plain(version)
    const receipt = await included(hash)
    const found = await ask('eth_getUserOperationByHash', hash)
    await ask('debug_bundler_clearState')
    expect(await ask('eth_getUserOperationReceipt', hash)).toEqual(receipt)
    expect(await ask('eth_getUserOperationByHash', hash)).toEqual(found)
  })

  it('waits for earlier nonces', async () => {
    const sender = await account(version)
    const [first, second] = [await operation(sender), await operation(sender, { nonce: '0x1' })]
    const later = (await ask('eth_sendUserOperation', second, VERSIONS[version])) as Hex
    expect(await ask('eth_getUserOperationReceipt', later)).toBe(null)
    const sooner = (await ask('eth_sendUserOperation', first, VERSIONS[version])) as Hex
    expect(await included(sooner)).toMatchObject({ nonce: '0x0' })
    expect(await included(later)).toMatchObject({ nonce: '0x1' })
  })

  it('is rejected with its code, and nothing is sent', async () => {
    const day = BigInt(Math.floor(Date.now() / 1_000))
    const fine = await account(version)
    const rows: readonly (readonly [name: string, code: number, message: string, Fields | Promise<Fields>])[] = [
      ['AA23', -32500, 'AA23', operation(await brokenAccount(version))],
      ['AA20', -32500, 'AA20', operation('0x00000000000000000000000000000000000a20a2')],
      ['AA13', -32500, 'AA13', operation('0x00000000000000000000000000000000000a13a1', await brokenFactory(version))],
      [
        'no factory',
        -32500,
        `AA13 initCode failed or OOG: there is no code at the factory ${BOB}`,
        operation('0x00000000000000000000000000000000000a13a2', absentFactory(version)),
      ],
      ...(version === '0.9' ? [] : [['AA10', -32500, 'AA10', operation(fine, await brokenFactory(version))] as const]),
      ...(version === '0.9' ? [] : [['AA10, no factory', -32500, 'AA10', operation(fine, absentFactory(version))] as const]),
      ['AA21', -32500, 'AA21', operation(await withCode(answering(0n)))],
      ['AA25 far ahead', -32500, 'AA25', operation(fine, { nonce: '0xb' })],
      ['AA24', -32507, 'AA24', operation(await account(version, 1n))],
      ['AA34', -32507, 'AA34', operation(fine, sponsored(await paymaster(version, 1n), version))],
      ['AA22 expired', -32503, 'AA22', operation(await account(version, (day - 100n) << 160n))],
      ['AA22 not due', -32503, 'AA22', operation(await account(version, (day + 1_000n) << 208n))],
      ['AA22 soon', -32503, 'AA22', operation(await account(version, (day + 3n) << 160n))],
      ['AA32', -32503, 'AA32', operation(fine, sponsored(await paymaster(version, (day - 100n) << 160n), version))],
      ['AA30', -32501, 'AA30', operation(fine, sponsored('0x00000000000000000000000000000000000a30a3', version))],
      ['AA33', -32501, 'AA33', operation(fine, sponsored(await brokenPaymaster(version), version))],
      ['malformed result', -32501, version === '0.9' ? 'AA35' : 'AA33', operation(fine, sponsored(await account(version), version))],
      ['AA31', -32508, 'AA31', operation(fine, sponsored(await paymaster(version, 0n, 1n), version))],
      ['aggregator', -32506, 'aggregator', operation(await account(version, 0xa66a66n))],
      ['price', -32602, 'maxFeePerGas', operation(fine, { maxFeePerGas: '0x1', maxPriorityFeePerGas: '0x1' })],
      ['overhead', -32602, 'preVerificationGas', operation(fine, { preVerificationGas: '0x1' })],
      ['tip above fee', -32602, 'maxPriorityFeePerGas', operation(fine, { maxPriorityFeePerGas: '0xffffffffffff' })],
      ['no verification', -32602, 'verificationGasLimit', operation(fine, { verificationGasLimit: '0x1' })],
      ['too much gas', -32602, 'gas limits', operation(fine, { callGasLimit: numberToHex(20_000_000) })],
      ['missing field', -32602, 'signature', operation(fine, { signature: undefined })],
      [
        'paymaster of another version',
        -32602,
        'EntryPoint 0.6',
        operation(fine, { [version === '0.6' ? 'paymaster' : 'paymasterAndData']: fine }),
      ],
      ['factory of another version', -32602, 'EntryPoint 0.6', operation(fine, { [version === '0.6' ? 'factory' : 'initCode']: fine })],
      ['bad authorization', -32602, 'EIP-7702 authorization', operation(fine, { eip7702Auth: authorization() })],
    ]
    for (const [name, code, message, made] of rows) {
      const sent = await made
      await expect(ask('eth_sendUserOperation', sent, VERSIONS[version]), name).rejects.toMatchObject({
        code,
        message: expect.stringContaining(message),
      })
      expect(await ask('debug_bundler_dumpMempool', VERSIONS[version]), name).toEqual([])
    }
  })

  it('is rejected out of its time range with the range', async () => {
    const day = BigInt(Math.floor(Date.now() / 1_000))
    const fine = await account(version)
    const sponsor = await paymaster(version, (day - 100n) << 160n)
    const rows: readonly (readonly [Fields, until: bigint, after: bigint, paymaster?: Address])[] = [
      [await operation(await account(version, (day - 100n) << 160n)), day - 100n, 0n],
      [await operation(await account(version, (day + 1_000n) << 208n)), 0n, day + 1_000n],
      [await operation(await account(version, (day + 3n) << 160n)), day + 3n, 0n],
      [await operation(fine, sponsored(sponsor, version)), day - 100n, 0n, sponsor],
    ]
    for (const rules of ['strict', 'off']) {
      await rulesOf({ rules })
      for (const [sent, until, after, by] of rows)
        await expect(ask('eth_sendUserOperation', sent, VERSIONS[version])).rejects.toMatchObject({
          code: -32503,
          data: { validUntil: numberToHex(until), validAfter: numberToHex(after), ...(by === undefined ? {} : { paymaster: by }) },
        })
    }
    await rulesOf({ rules: 'strict' })
  })
})

function authorization(): Fields {
  return { chainId: '0x7a69', address: CREATE2, nonce: '0x0', yParity: '0x0', r: '0x1', s: '0x1' }
}

describe('an estimate', () => {
  it('is rejected with the revert data if the call of the account reverts', async () => {
    // Its validation is a call of four words and more, its execution has none.
    const sender = await withCode('0x366008575f5ffd005b5f5f5260205ff3')
    await depositTo('0.8', sender)
    const sent = await operation(sender, { callGasLimit: undefined, signature: '0x' })
    await expect(ask('eth_estimateUserOperationGas', sent, entryPoint08Address)).rejects.toMatchObject({
      code: -32521,
      message: expect.stringContaining('UserOperation reverted during simulation with reason:'),
    })
  })

  it('is rejected without funds, unless an override provides them', async () => {
    const sender = await withCode(answering(0n))
    const sent = await operation(sender, { paymasterVerificationGasLimit: undefined })
    await expect(ask('eth_estimateUserOperationGas', sent, entryPoint08Address)).rejects.toMatchObject({
      code: -32500,
      message: expect.stringContaining('AA21'),
    })
    const slot = keccak256(concatHex([pad(sender), zeroHash]))
    const rich = { [entryPoint08Address]: { state: null, stateDiff: { [slot]: numberToHex(parseEther('1'), { size: 32 }) } } }
    expect(await ask('eth_estimateUserOperationGas', sent, entryPoint08Address, rich)).toMatchObject({ callGasLimit: expect.any(String) })
    const both = { [sender]: { state: {}, stateDiff: {} } }
    await expect(ask('eth_estimateUserOperationGas', sent, entryPoint08Address, both)).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining("has both 'state' and 'stateDiff'"),
    })
  })

  it.each([
    ['AA23', -32500, async () => operation(await brokenAccount('0.8'))],
    ['AA33', -32501, async () => operation(await account('0.8'), sponsored(await brokenPaymaster('0.8'), '0.8'))],
    ['AA20', -32500, async () => operation('0x00000000000000000000000000000000000a20a2')],
    [
      `no code at the factory ${BOB}`,
      -32500,
      async () => operation('0x00000000000000000000000000000000000a13a2', { factory: BOB, factoryData: '0x' }),
    ],
    ['aggregator', -32506, async () => operation(await account('0.8', 0xa66a66n))],
  ] as const)('is rejected with %s (%i)', async (message, code, made) => {
    await expect(ask('eth_estimateUserOperationGas', await made(), entryPoint08Address)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(message),
    })
  })
})

describe('invalid parameters', () => {
  it.each([
    ['eth_sendUserOperation', [{}, BOB], -32602, 'not supported'],
    ['eth_sendUserOperation', [{}, entryPoint08Address], -32602, 'sender'],
    ['eth_estimateUserOperationGas', [{}, BOB], -32602, 'not supported'],
    ['eth_getUserOperationReceipt', ['0x12'], -32602, 'Missing/invalid userOpHash'],
    ['eth_getUserOperationByHash', ['0x12'], -32602, 'Missing/invalid userOpHash'],
    ['debug_bundler_setBundlingMode', ['sometimes'], -32602, 'auto, manual'],
  ])('%s %j', async (method, params, code, message) => {
    await expect(ask(method, ...params)).rejects.toMatchObject({ code, message: expect.stringContaining(message) })
  })

  it('an unknown hash is null', async () => {
    expect(await ask('eth_getUserOperationReceipt', zeroHash)).toBe(null)
    expect(await ask('eth_getUserOperationByHash', zeroHash)).toBe(null)
    expect(await ask('pimlico_getUserOperationStatus', zeroHash)).toEqual({ status: 'not_found', transactionHash: null })
  })
})

describe('the bundler of a node', () => {
  it('supports the four EntryPoints, the one of the wallet first', async () => {
    expect(await ask('eth_supportedEntryPoints')).toEqual([
      entryPoint08Address,
      entryPoint09Address,
      entryPoint07Address,
      entryPoint06Address,
    ])
  })

  it('is absent when it is switched off', async () => {
    await using plainNode = await createPocketchain({ bundler: false, wallet: false })
    await expect(plainNode.request({ method: 'eth_supportedEntryPoints' })).rejects.toMatchObject({ code: -32601 })
  })

  it('names the account to fund without ether', async () => {
    const key = generatePrivateKey()
    await using poor = await createPocketchain({ wallet: false, bundler: { key } })
    const { address } = privateKeyToAccount(key)
    await onNode(poor, async () => {
      await ask('anvil_setBalance', address, '0x0')
      const sender = await withCode(answering(0n))
      await ask('anvil_setBalance', sender, numberToHex(parseEther('1')))
      const at = await paymaster('0.8')
      await expect(ask('eth_sendUserOperation', await operation(sender, sponsored(at, '0.8')), entryPoint08Address)).rejects.toMatchObject({
        code: -32000,
        message: expect.stringContaining(address.toLowerCase()),
        data: { reason: 'bundler-unfunded' },
      })
      expect(await ask('debug_bundler_dumpMempool', entryPoint08Address)).toEqual([])
    })
  })
})
