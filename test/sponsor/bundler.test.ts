// The bundler of a node: viem's account clients over HTTP, and each refusal.
import simpleAccountFactory from 'aa07/artifacts/SimpleAccountFactory.json' with { type: 'json' }
import simple7702Account from 'aa08/artifacts/Simple7702Account.json' with { type: 'json' }
import { createPocketchain } from 'pocketchain'
import type { Pocketchain, Server } from 'pocketchain'
import {
  concatHex,
  createPublicClient,
  createWalletClient,
  decodeFunctionData,
  encodeAbiParameters,
  encodeFunctionData,
  getAddress,
  getCreate2Address,
  http,
  keccak256,
  numberToHex,
  pad,
  parseAbi,
  parseEther,
  size,
  slice,
  toFunctionSelector,
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
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createBundler } from '../../src/bundler/index.ts'
import { RpcError } from '../../src/rpc/index.ts'
import type { RpcRequest } from '../../src/jsonrpc/index.ts'
import type { Rpc } from '../../src/rpc/index.ts'

const CREATE2 = '0x4e59b44847b379578588920ca78fbf26c0b4956c'
const WETH: Address = '0x4200000000000000000000000000000000000006'
const BOB: Address = '0x000000000000000000000000000000000000b0b0'
const VERSIONS = { '0.6': entryPoint06Address, '0.7': entryPoint07Address, '0.8': entryPoint08Address, '0.9': entryPoint09Address } as const
type Version = keyof typeof VERSIONS

let node: Pocketchain
let server: Server
let chain: Chain
let factory07: Address

beforeAll(async () => {
  node = await createPocketchain({ wallet: false, bundler: { rules: 'strict' } })
  server = await node.listen({ port: 0 })
  chain = { ...foundry, rpcUrls: { default: { http: [server.url] } } }
  factory07 = await deploy(
    concatHex([simpleAccountFactory.bytecode as Hex, encodeAbiParameters([{ type: 'address' }], [entryPoint07Address])]), // hex in a JSON file
  )
  await deploy(simple7702Account.bytecode as Hex) // hex in a JSON file
})

afterAll(async () => {
  await node.close()
})

function ask(method: string, ...params: readonly unknown[]): Promise<unknown> {
  return node.request({ method, params })
}

async function deploy(initCode: Hex): Promise<Address> {
  const address = getCreate2Address({ from: CREATE2, salt: zeroHash, bytecode: initCode })
  if ((await ask('eth_getCode', address, 'pending')) !== '0x') return address
  const from = node.accounts[9]?.address
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

// --- accounts with constant responses --------------------------------------------------------------------------------

let made = 0

async function withCode(code: Hex): Promise<Address> {
  const address = pad(numberToHex((made += 1) + 0xacc0000), { size: 20 })
  await ask('anvil_setCode', address, code)
  return address
}

/** Code that returns these words for any call. */
function answering(...words: readonly bigint[]): Hex {
  const stores = words.map((word, i) =>
    concatHex(['0x7f', numberToHex(word, { size: 32 }), '0x60', numberToHex(i * 32, { size: 1 }), '0x52']),
  )
  return concatHex([...stores, '0x60', numberToHex(words.length * 32, { size: 1 }), '0x5f', '0xf3'])
}

const POST_OP_07 = 'postOp(uint8,bytes,uint256,uint256)'
const POST_OP = { '0.6': 'postOp(uint8,bytes,uint256)', '0.7': POST_OP_07, '0.8': POST_OP_07, '0.9': POST_OP_07 } as const
const UNPACKED = '(address,uint256,bytes,bytes,uint256,uint256,uint256,uint256,uint256,bytes,bytes)'
const PACKED = '(address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes)'

/** Code that reverts with these data, which are at most four words. */
function reverting(data: Hex): Hex {
  const padded = pad(data, { dir: 'right', size: 128 })
  const stores = [0, 32, 64, 96].map((at) => concatHex(['0x7f', slice(padded, at, at + 32), '0x60', numberToHex(at, { size: 1 }), '0x52']))
  return concatHex([...stores, '0x60', numberToHex(size(data), { size: 1 }), '0x5ffd'])
}

/** Code that runs `then`, which contains no jump, for calls of a function, and `otherwise` for others. */
function branching(signature: string, then: Hex, otherwise: Hex): Hex {
  const target = numberToHex(15 + size(otherwise), { size: 2 })
  return concatHex(['0x5f3560e01c63', toFunctionSelector(signature), '0x1461', target, '0x57', otherwise, '0x5b', then])
}

/** An account that returns this validation data for any signature, with a deposit for its gas. */
async function account(version: Version, validationData = 0n): Promise<Address> {
  const address = await withCode(answering(validationData))
  await depositTo(version, address)
  return address
}

async function paymaster(version: Version, validationData = 0n, deposit = parseEther('1')): Promise<Address> {
  const address = await withCode(answering(0x40n, validationData, 0n))
  if (deposit > 0n) await depositTo(version, address, deposit)
  return address
}

async function depositTo(version: Version, holder: Address, value = parseEther('1')): Promise<void> {
  // The first slot of every EntryPoint is the mapping of deposits. Without a transaction for each there is nothing to wait for.
  const slot = keccak256(concatHex([pad(holder), zeroHash]))
  await ask('anvil_setStorageAt', VERSIONS[version], slot, numberToHex(value, { size: 32 }))
  await ask('anvil_setBalance', VERSIONS[version], numberToHex(parseEther('1000')))
}

type Fields = Readonly<Record<string, unknown>>

async function operation(sender: Address, more: Fields = {}): Promise<Fields> {
  const { standard } = (await ask('pimlico_getUserOperationGasPrice')) as { standard: Fields }
  return {
    sender,
    nonce: '0x0',
    callData: '0x',
    callGasLimit: numberToHex(50_000),
    verificationGasLimit: numberToHex(100_000),
    preVerificationGas: numberToHex(200_000),
    ...standard,
    signature: '0x1234',
    ...more,
  }
}

function sponsored(sponsor: Address, version: Version): Fields {
  if (version === '0.6') return { paymasterAndData: sponsor }
  return {
    paymaster: sponsor,
    paymasterVerificationGasLimit: numberToHex(60_000),
    paymasterPostOpGasLimit: numberToHex(20_000),
    paymasterData: '0x',
  }
}

async function plain(version: Version, more: Fields = {}) {
  const sender = await account(version)
  const sent = await operation(sender, more)
  return { sender, sent, hash: (await ask('eth_sendUserOperation', sent, VERSIONS[version])) as Hex }
}

async function included(hash: Hex): Promise<unknown> {
  const ends = performance.now() + 5_000
  while (performance.now() < ends) {
    const receipt = await ask('eth_getUserOperationReceipt', hash)
    if (receipt !== null) return receipt
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error(`${hash} was not included: ${JSON.stringify(await ask('pimlico_getUserOperationStatus', hash))}`)
}

describe('an operation of EntryPoint 0.9', () => {
  it('has a signature of the paymaster outside its hash', async () => {
    const sender = await account('0.9')
    const signed = { ...sponsored(await paymaster('0.9'), '0.9'), paymasterData: '0xaabb', paymasterSignature: '0x010203' }
    const sent = await operation(sender, signed)
    const hash = (await ask('eth_sendUserOperation', sent, entryPoint09Address)) as Hex
    const again = { ...sent, paymasterSignature: '0x04' }
    await expect(ask('eth_sendUserOperation', again, entryPoint09Address)).rejects.toMatchObject({ data: { userOpHash: hash } })
    expect(await included(hash)).toMatchObject({ success: true })
    expect(await ask('eth_getUserOperationByHash', hash)).toMatchObject({
      userOperation: { paymasterData: '0xaabb', paymasterSignature: '0x010203' },
    })
    await expect(
      ask('eth_sendUserOperation', { ...sent, ...sponsored(await paymaster('0.8'), '0.8') }, entryPoint08Address),
    ).rejects.toMatchObject({ code: -32602, message: expect.stringContaining('paymasterSignature') })
  })

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

  it('succeeds with the estimated limits', async () => {
    const sender = await account(version)
    const sponsor = await paymaster(version)
    const whole = await operation(sender, sponsored(sponsor, version))
    const { callGasLimit: _, verificationGasLimit: __, preVerificationGas: ___, signature: ____, ...partial } = whole
    const limits = (await ask('eth_estimateUserOperationGas', partial, VERSIONS[version])) as Fields
    const hash = await ask('eth_sendUserOperation', { ...whole, ...limits }, VERSIONS[version])
    expect(await included(hash as Hex)).toMatchObject({ success: true })
  })

  it('succeeds with the estimated limits, of which postOp needs the most', async () => {
    // Hashes 128 KB, then sets slot 0: 92,000 gas.
    const sponsor = await withCode(branching(POST_OP[version], '0x620200005f205060015f5500', answering(0x40n, 0n, 0x20n, 7n)))
    await depositTo(version, sponsor)
    await stake(sponsor, parseEther('1'), 86_400n, version) // EREP-050
    const whole = await operation(await account(version), sponsored(sponsor, version))
    const limits = (await ask('eth_estimateUserOperationGas', whole, VERSIONS[version])) as Fields
    expect(Number(limits[version === '0.6' ? 'verificationGasLimit' : 'paymasterPostOpGasLimit'])).toBeGreaterThan(92_000)
    const hash = (await ask('eth_sendUserOperation', { ...whole, ...limits }, VERSIONS[version])) as Hex
    expect(await included(hash)).toMatchObject({ success: true })
    expect(await ask('eth_getStorageAt', sponsor, '0x0', 'pending')).toBe(numberToHex(1, { size: 32 }))
  })

  it('has the reason of a postOp that reverts', async () => {
    const error = concatHex(['0x08c379a0', encodeAbiParameters([{ type: 'string' }], ['no tokens'])])
    const sponsor = await withCode(branching(POST_OP[version], reverting(error), answering(0x40n, 0n, 0x20n, 7n)))
    await depositTo(version, sponsor)
    await stake(sponsor, parseEther('1'), 86_400n, version) // EREP-050
    const sending = operation(await account(version), sponsored(sponsor, version)).then((sent) =>
      ask('eth_sendUserOperation', sent, VERSIONS[version]),
    )
    const reason = 'AA50 postOp reverted: no tokens'
    // In 0.6 the EntryPoint refuses the bundle.
    if (version === '0.6') await expect(sending).rejects.toMatchObject({ code: -32501, message: reason })
    else expect(await included((await sending) as Hex)).toMatchObject({ success: false, reason })
  })

  it('may have its account as its paymaster', async () => {
    const tuple = version === '0.6' ? UNPACKED : PACKED
    const validate = `validatePaymasterUserOp(${tuple},bytes32,uint256)`
    const sender = await withCode(branching(validate, answering(0x40n, 0n, 0n), answering(0n)))
    await depositTo(version, sender)
    const whole = await operation(sender, sponsored(sender, version))
    const limits = (await ask('eth_estimateUserOperationGas', whole, VERSIONS[version])) as Fields
    const hash = (await ask('eth_sendUserOperation', { ...whole, ...limits }, VERSIONS[version])) as Hex
    expect(await included(hash)).toMatchObject({ success: true, sender: getAddress(sender), paymaster: getAddress(sender) })
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
      ...(version === '0.9' ? [] : [['AA10', -32500, 'AA10', operation(fine, await brokenFactory(version))] as const]),
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

async function brokenAccount(version: Version): Promise<Address> {
  const address = await withCode('0x5f5ffd')
  await depositTo(version, address)
  return address
}

async function brokenPaymaster(version: Version): Promise<Address> {
  const address = await withCode('0x5f5ffd')
  await depositTo(version, address)
  return address
}

async function brokenFactory(version: Version): Promise<Fields> {
  const factory = await withCode('0x5f5ffd')
  return version === '0.6' ? { initCode: factory } : { factory, factoryData: '0x' }
}

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
    const rich = { [entryPoint08Address]: { stateDiff: { [slot]: numberToHex(parseEther('1'), { size: 32 }) } } }
    expect(await ask('eth_estimateUserOperationGas', sent, entryPoint08Address, rich)).toMatchObject({ callGasLimit: expect.any(String) })
  })

  it.each([
    ['AA23', -32500, async () => operation(await brokenAccount('0.8'))],
    ['AA33', -32501, async () => operation(await account('0.8'), sponsored(await brokenPaymaster('0.8'), '0.8'))],
    ['AA20', -32500, async () => operation('0x00000000000000000000000000000000000a20a2')],
    ['aggregator', -32506, async () => operation(await account('0.8', 0xa66a66n))],
  ] as const)('is rejected with %s (%i)', async (message, code, made) => {
    await expect(ask('eth_estimateUserOperationGas', await made(), entryPoint08Address)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(message),
    })
  })
})

describe('the pool', () => {
  beforeEach(async () => {
    await ask('debug_bundler_clearState')
    await ask('debug_bundler_setBundlingMode', 'manual')
    return async () => {
      await ask('debug_bundler_clearState')
      await ask('debug_bundler_setBundlingMode', 'auto')
    }
  })

  it('accepts a replacement with both fees raised by 10 %', async () => {
    const sender = await account('0.8')
    const fees = (percent: bigint, tipPercent = percent) => ({
      maxFeePerGas: numberToHex((10_000_000_000n * percent) / 100n),
      maxPriorityFeePerGas: numberToHex((1_000_000_000n * tipPercent) / 100n),
    })
    const hash = await ask('eth_sendUserOperation', await operation(sender, fees(100n)), entryPoint08Address)
    await expect(ask('eth_sendUserOperation', await operation(sender, fees(100n)), entryPoint08Address)).rejects.toMatchObject({
      code: -32602,
    })
    for (const under of [fees(110n, 100n), fees(100n, 110n), fees(109n)])
      await expect(ask('eth_sendUserOperation', await operation(sender, under), entryPoint08Address)).rejects.toMatchObject({
        code: -32602,
        message: expect.stringContaining('replacement underpriced'),
      })
    const better = await ask('eth_sendUserOperation', await operation(sender, fees(110n)), entryPoint08Address)
    expect(await ask('debug_bundler_dumpMempool', entryPoint08Address)).toHaveLength(1)
    expect(await ask('pimlico_getUserOperationStatus', hash)).toMatchObject({ status: 'rejected' })
    await ask('debug_bundler_sendBundleNow')
    expect(await included(better as Hex)).toMatchObject({ success: true })
  })

  it('sends one bundle for many accounts without failing operations', async () => {
    const hashes: Hex[] = []
    const turncoat = await account('0.7')
    for (const sender of [await account('0.7'), turncoat, await account('0.7')])
      hashes.push((await ask('eth_sendUserOperation', await operation(sender), entryPoint07Address)) as Hex)
    await depositTo('0.7', turncoat, 0n)
    const transaction = await ask('debug_bundler_sendBundleNow')
    const [first, , third] = hashes as [Hex, Hex, Hex]
    const receipts = (await Promise.all([first, third].map(included))) as { receipt: { transactionHash: Hex }; logs: unknown[] }[]
    for (const { receipt, logs } of receipts) {
      expect(receipt.transactionHash).toBe(transaction)
      expect(logs).toEqual([])
    }
    expect(await ask('eth_getUserOperationReceipt', hashes[1])).toBe(null)
    for (let i = 0; i < 3; i++) await ask('debug_bundler_sendBundleNow')
    expect(await ask('pimlico_getUserOperationStatus', hashes[1])).toMatchObject({
      status: 'rejected',
      reason: expect.stringContaining('AA21'),
    })
  })

  it('sends the authorizations of several accounts in one transaction', async () => {
    const delegate = await withCode(answering(0n))
    const hashes: Hex[] = []
    for (let i = 0; i < 2; i++) {
      const owner = privateKeyToAccount(generatePrivateKey())
      await depositTo('0.8', owner.address)
      const { r, s, yParity } = await owner.signAuthorization({ chainId: 31_337, contractAddress: delegate, nonce: 0 })
      const eip7702Auth = { chainId: '0x7a69', address: delegate, nonce: '0x0', r, s, yParity: numberToHex(yParity ?? 0) }
      const sent = await operation(owner.address, { factory: '0x7702', factoryData: '0x', eip7702Auth })
      await expect(
        ask('eth_sendUserOperation', { ...sent, eip7702Auth: { ...eip7702Auth, nonce: '0x1' } }, entryPoint08Address),
      ).rejects.toMatchObject({ code: -32602 })
      await expect(ask('eth_sendUserOperation', { ...sent, eip7702Auth: undefined }, entryPoint08Address)).rejects.toMatchObject({
        code: -32602,
        message: expect.stringContaining('0x7702'),
      })
      hashes.push((await ask('eth_sendUserOperation', sent, entryPoint08Address)) as Hex)
    }
    const transaction = await ask('debug_bundler_sendBundleNow')
    const receipts = (await Promise.all(hashes.map(included))) as { success: boolean; receipt: { transactionHash: Hex; type: Hex } }[]
    for (const { success, receipt } of receipts) {
      expect({ success, type: receipt.type }).toEqual({ success: true, type: '0x4' })
      expect(receipt.transactionHash).toBe(transaction)
    }
  })

  it('drops an authorization with a used nonce before the bundle', async () => {
    const delegate = await withCode(answering(0n))
    const owner = privateKeyToAccount(generatePrivateKey())
    await depositTo('0.8', owner.address)
    const { r, s, yParity } = await owner.signAuthorization({ chainId: 31_337, contractAddress: delegate, nonce: 0 })
    const eip7702Auth = { chainId: '0x7a69', address: delegate, nonce: '0x0', r, s, yParity: numberToHex(yParity ?? 0) }
    const upgrade = { factory: '0x7702', factoryData: '0x', eip7702Auth }
    const spoilt = await ask('eth_sendUserOperation', await operation(owner.address, upgrade), entryPoint08Address)
    const innocent = (await ask('eth_sendUserOperation', await operation(await account('0.8')), entryPoint08Address)) as Hex
    await ask('anvil_setNonce', owner.address, '0x1')
    const transaction = await ask('debug_bundler_sendBundleNow')
    expect(await included(innocent)).toMatchObject({ success: true, receipt: { transactionHash: transaction, status: '0x1' } })
    expect(await ask('pimlico_getUserOperationStatus', spoilt)).toMatchObject({
      status: 'rejected',
      reason: expect.stringMatching(/EIP-7702 authorization: .* has used nonce 0/),
    })
  })

  it('defers an authorization after a reorg of its account, and needs none for a delegating account', async () => {
    const delegate = await withCode(answering(0n))
    const owner = privateKeyToAccount(generatePrivateKey())
    await depositTo('0.8', owner.address)
    await ask('anvil_setNonce', owner.address, '0x3')
    const { r, s, yParity } = await owner.signAuthorization({ chainId: 31_337, contractAddress: delegate, nonce: 3 })
    const eip7702Auth = { chainId: '0x7a69', address: delegate, nonce: '0x3', r, s, yParity: numberToHex(yParity ?? 0) }
    const upgrade = { factory: '0x7702', factoryData: '0x', eip7702Auth }
    const sent = (await ask('eth_sendUserOperation', await operation(owner.address, upgrade), entryPoint08Address)) as Hex
    const next = (await ask(
      'eth_sendUserOperation',
      await operation(owner.address, { ...upgrade, nonce: '0x1' }),
      entryPoint08Address,
    )) as Hex
    await ask('anvil_setNonce', owner.address, '0x2')
    for (let i = 0; i < 2; i++) expect(await ask('debug_bundler_sendBundleNow')).toBe('ok')
    expect(await ask('pimlico_getUserOperationStatus', sent)).toMatchObject({ status: 'not_submitted' })
    await ask('anvil_setNonce', owner.address, '0x3')
    await ask('debug_bundler_sendBundleNow')
    expect(await included(sent)).toMatchObject({ success: true })
    await ask('debug_bundler_sendBundleNow')
    expect(await included(next)).toMatchObject({ success: true })
  })

  it('drops an authorization whose account does not reach its nonce', async () => {
    const delegate = await withCode(answering(0n))
    const owner = privateKeyToAccount(generatePrivateKey())
    await depositTo('0.8', owner.address)
    await ask('anvil_setNonce', owner.address, '0x3')
    const { r, s, yParity } = await owner.signAuthorization({ chainId: 31_337, contractAddress: delegate, nonce: 3 })
    const eip7702Auth = { chainId: '0x7a69', address: delegate, nonce: '0x3', r, s, yParity: numberToHex(yParity ?? 0) }
    const upgrade = await operation(owner.address, { factory: '0x7702', factoryData: '0x', eip7702Auth })
    const sent = await ask('eth_sendUserOperation', upgrade, entryPoint08Address)
    await ask('anvil_setNonce', owner.address, '0x2')
    for (let i = 0; i < 3; i++) expect(await ask('debug_bundler_sendBundleNow')).toBe('ok')
    expect(await ask('pimlico_getUserOperationStatus', sent)).toMatchObject({
      status: 'rejected',
      reason: expect.stringMatching(/EIP-7702 authorization: its nonce is 3, and a reorg removed earlier transactions of/),
    })
  })

  it('sends every accepted operation, also one that fills a bundle', async () => {
    const longest = {
      callData: `0x${'00'.repeat(119_392)}`,
      callGasLimit: numberToHex(500_000),
      verificationGasLimit: numberToHex(500_000), // it hashes them
      preVerificationGas: numberToHex(6_000_000),
    }
    const sender = await account('0.8')
    const longer = await operation(sender, { ...longest, callData: `${longest.callData}00`.padEnd(longest.callData.length + 64, '0') })
    await expect(ask('eth_sendUserOperation', longer, entryPoint08Address)).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining('120004 bytes'),
    })
    const hash = (await ask('eth_sendUserOperation', await operation(sender, longest), entryPoint08Address)) as Hex
    expect(await ask('debug_bundler_sendBundleNow')).not.toBe('ok')
    expect(await included(hash)).toMatchObject({ success: true })
  })

  it('drops all operations behind a missing nonce at once', async () => {
    const key = generatePrivateKey()
    await ask('anvil_setBalance', privateKeyToAccount(key).address, numberToHex(parseEther('1')))
    let nowMs = 0
    const own = createBundler({ rpc: node, key, testMode: true, now: () => nowMs })
    const request = (method: string, ...params: readonly unknown[]) => own.request({ method, params })
    await request('debug_bundler_setBundlingMode', 'manual')
    const sender = await account('0.8')
    const [second, third] = await Promise.all(
      ['0x1', '0x2'].map(async (nonce) => request('eth_sendUserOperation', await operation(sender, { nonce }), entryPoint08Address)),
    )
    for (const ms of [0, 29_999]) {
      nowMs = ms
      await request('debug_bundler_sendBundleNow')
      expect(await request('debug_bundler_dumpMempool', entryPoint08Address)).toHaveLength(2)
    }
    nowMs = 30_000
    await request('debug_bundler_sendBundleNow')
    for (const hash of [second, third])
      expect(await request('pimlico_getUserOperationStatus', hash)).toMatchObject({
        status: 'rejected',
        reason: expect.stringContaining('an operation before it is missing'),
      })
    await own.close()
  })

  it('accepts nothing after close, not even without validation', async () => {
    const own = createBundler({ rpc: node, key: generatePrivateKey(), testMode: true })
    const sent = await operation(await account('0.8'))
    await own.close()
    for (const [method, params] of [
      ['eth_sendUserOperation', [sent, entryPoint08Address]],
      ['debug_bundler_addUserOps', [[sent], entryPoint08Address]],
    ] as const) {
      await expect(own.request({ method, params })).rejects.toMatchObject({
        code: -32000,
        message: 'the bundler is closed; send the operation to another one',
      })
    }
    expect(await own.request({ method: 'debug_bundler_dumpMempool', params: [entryPoint08Address] })).toEqual([])
  })

  it('works with a node without subscriptions', async () => {
    const silent: Rpc = { request: (request) => node.request(request), subscribe: () => Promise.reject(new RpcError(-32601, 'no news')) }
    const key = generatePrivateKey()
    await ask('anvil_setBalance', privateKeyToAccount(key).address, numberToHex(parseEther('1')))
    const own = createBundler({ rpc: silent, key })
    const sent = await operation(await account('0.8'))
    const hash = (await own.request({ method: 'eth_sendUserOperation', params: [sent, entryPoint08Address] })) as Hex
    expect(await included(hash)).toMatchObject({ success: true })
    await expect(own.request({ method: 'debug_bundler_clearState' })).rejects.toMatchObject({ code: -32601 })
    await own.close()
  })

  /** Runs a test with a bundler of its own, whose bundles and clock it controls, on a node that mines on request. */
  async function withOwnBundler(
    run: (context: {
      own: ReturnType<typeof createBundler>
      bundler: Hex
      flush: () => Promise<Hex | 'ok'>
      setNowMs: (ms: number) => void
    }) => Promise<void>,
    /** called before each request of the bundler to the node */
    before: (request: RpcRequest) => void | Promise<void> = () => undefined,
  ): Promise<void> {
    await using still = await createPocketchain({ cadence: 'manual', wallet: false })
    const key = generatePrivateKey()
    let nowMs = 0
    const rpc: Rpc = { request: async (request) => (await before(request), still.request(request)), subscribe: still.subscribe }
    const own = createBundler({ rpc, key, testMode: true, now: () => nowMs })
    const bundler = privateKeyToAccount(key).address
    const main = node
    try {
      node = still
      await own.request({ method: 'debug_bundler_setBundlingMode', params: ['manual'] })
      await ask('anvil_setBalance', bundler, numberToHex(parseEther('1')))
      const flush = async () => (await own.request({ method: 'debug_bundler_sendBundleNow' })) as Hex | 'ok'
      await run({ own, bundler, flush, setNowMs: (ms) => (nowMs = ms) })
    } finally {
      node = main
      await own.close()
    }
  }

  it('sends lost bundles again, and stuck ones with higher fees', async () => {
    await withOwnBundler(async ({ own, flush, setNowMs }) => {
      const sent = await operation(await account('0.8'))
      const hash = (await own.request({ method: 'eth_sendUserOperation', params: [sent, entryPoint08Address] })) as Hex
      const status = () => own.request({ method: 'pimlico_getUserOperationStatus', params: [hash] })
      const lost = await flush()
      await ask('anvil_dropTransaction', lost)
      setNowMs(2_000)
      const again = await flush()
      expect(await status()).toEqual({ status: 'submitted', transactionHash: again })
      setNowMs(20_000)
      await flush()
      const { transactionHash: dearer } = (await status()) as { transactionHash: Hex }
      expect(dearer).not.toBe(again)
      expect(await ask('eth_getTransactionByHash', again)).toBe(null)
      await ask('anvil_mine')
      await flush()
      expect(await status()).toEqual({ status: 'included', transactionHash: dearer })
    })
  })

  it('forgets operations that are cleared while their bundle is replaced', async () => {
    let onSend = async (): Promise<unknown> => undefined
    await withOwnBundler(
      async ({ own, flush, setNowMs }) => {
        const sent = await operation(await account('0.8'), sponsored(await paymaster('0.8'), '0.8'))
        await own.request({ method: 'eth_sendUserOperation', params: [sent, entryPoint08Address] })
        await flush()
        onSend = () => own.request({ method: 'debug_bundler_clearState' })
        setNowMs(20_000)
        await flush()
        await ask('anvil_mine')
        await flush()
        expect(await own.request({ method: 'debug_bundler_dumpReputation', params: [entryPoint08Address] })).toEqual([])
      },
      async ({ method }) => void (method === 'eth_sendRawTransaction' && (await onSend())),
    )
  })

  it('pimlico_sendUserOperationNow is not refused because the bundle of another EntryPoint is', async () => {
    await withOwnBundler(
      async ({ own }) => {
        const other = await operation(await account('0.7'))
        await own.request({ method: 'eth_sendUserOperation', params: [other, entryPoint07Address] })
        const sent = await operation(await account('0.8'))
        const answer = own.request({ method: 'pimlico_sendUserOperationNow', params: [sent, entryPoint08Address] })
        const isSent = async () => ((await ask('txpool_status')) as { pending: Hex }).pending === '0x1'
        await expect.poll(isSent).toBe(true)
        await ask('anvil_mine')
        expect(await answer).toMatchObject({ success: true, sender: getAddress(sent['sender'] as Hex) })
      },
      ({ method, params }) => {
        const isOther = method === 'eth_sendRawTransaction' && String(params?.[0]).includes(entryPoint07Address.slice(2).toLowerCase())
        if (isOther) throw new RpcError(-32000, 'refused by the test')
      },
    )
  })

  it('blames only the cheapest operation for the price of a bundle', async () => {
    await withOwnBundler(async ({ own, flush }) => {
      const send = async (wei: bigint) => {
        const price = { maxFeePerGas: numberToHex(wei), maxPriorityFeePerGas: '0x1' }
        const params = [await operation(await account('0.8'), price), entryPoint08Address]
        return (await own.request({ method: 'eth_sendUserOperation', params })) as Hex
      }
      const [cheap, dear] = [await send(2n * 10n ** 9n), await send(50n * 10n ** 9n)]
      await ask('anvil_setMinGasPrice', numberToHex(20n * 10n ** 9n))
      const status = (hash: Hex) => own.request({ method: 'pimlico_getUserOperationStatus', params: [hash] })
      for (let i = 0; i < 3; i++) await expect(flush()).rejects.toMatchObject({ message: expect.stringContaining('underpriced') })
      expect(await status(cheap)).toMatchObject({ status: 'rejected', reason: expect.stringContaining('underpriced') })
      const bundle = await flush()
      expect(await status(dear)).toEqual({ status: 'submitted', transactionHash: bundle })
    })
  })

  it('offers prices that the node accepts, above its minimum price', async () => {
    await withOwnBundler(async ({ own, flush }) => {
      await ask('anvil_setMinGasPrice', numberToHex(20n * 10n ** 9n))
      const send = async (price: Fields) =>
        own.request({ method: 'eth_sendUserOperation', params: [await operation(await account('0.8'), price), entryPoint08Address] })
      const prices = (await own.request({ method: 'pimlico_getUserOperationGasPrice' })) as Record<'slow' | 'standard' | 'fast', Fields>
      for (const price of Object.values(prices)) await send(price)
      const bundle = await flush()
      await ask('anvil_mine')
      expect(await ask('eth_getTransactionReceipt', bundle)).toMatchObject({ status: '0x1' })
    })
  })

  it('fills a missing nonce, without which later bundles are not executable', async () => {
    await withOwnBundler(async ({ own, flush, setNowMs, bundler }) => {
      const send = async () =>
        (await own.request({
          method: 'eth_sendUserOperation',
          params: [await operation(await account('0.8')), entryPoint08Address],
        })) as Hex
      await send()
      const dropped = await flush()
      await own.request({ method: 'debug_bundler_clearState' })
      const waiting = [await send()]
      const bundles = [await flush()]
      waiting.push(await send())
      bundles.push(await flush())
      expect(await ask('eth_getTransactionByHash', bundles[1])).toMatchObject({ nonce: '0x2' })
      await ask('anvil_dropTransaction', dropped)
      setNowMs(20_000)
      await flush()
      await ask('anvil_mine')
      await flush()
      for (const [i, hash] of waiting.entries())
        expect(await own.request({ method: 'pimlico_getUserOperationStatus', params: [hash] })).toEqual({
          status: 'included',
          transactionHash: bundles[i],
        })
      expect(await ask('eth_getTransactionCount', bundler, 'latest')).toBe('0x3')
    })
  })

  it.each(['waits', 'is forgotten by debug_bundler_clearState'])('cancels a bundle below the base fee, whose operation %s', async (end) => {
    await withOwnBundler(async ({ own, flush, setNowMs, bundler }) => {
      const [first, second] = [await account('0.8'), await account('0.8')]
      const price = (wei: bigint) => ({ maxFeePerGas: numberToHex(wei), maxPriorityFeePerGas: '0x1' })
      const send = (sent: Fields) => own.request({ method: 'eth_sendUserOperation', params: [sent, entryPoint08Address] }) as Promise<Hex>
      const cheap = await send(await operation(first, price(2n * 10n ** 9n)))
      const status = (hash: Hex) => own.request({ method: 'pimlico_getUserOperationStatus', params: [hash] })
      const underpriced = await flush()
      await ask('anvil_setNextBlockBaseFeePerGas', numberToHex(20n * 10n ** 9n))
      await ask('anvil_mine')
      expect(await ask('eth_getTransactionReceipt', underpriced)).toBeNull()
      if (end !== 'waits') await own.request({ method: 'debug_bundler_clearState' })
      setNowMs(2_000)
      expect(await flush()).toBe('ok')
      expect(await ask('eth_getTransactionByHash', underpriced)).toBeNull()
      const dear = await send(await operation(second, price(100n * 10n ** 9n)))
      await flush()
      await ask('anvil_mine')
      await flush()
      expect(await status(dear)).toMatchObject({ status: 'included' })
      expect(await ask('eth_getTransactionCount', bundler, 'latest')).toBe('0x2')
      expect(await status(cheap)).toMatchObject({ status: end === 'waits' ? 'not_submitted' : 'not_found' })
      if (end !== 'waits') return
      await ask('anvil_setNextBlockBaseFeePerGas', numberToHex(10n ** 9n))
      await ask('anvil_mine')
      await flush()
      await ask('anvil_mine')
      await flush()
      expect(await status(cheap)).toMatchObject({ status: 'included' })
    })
  })

  it('sends operations of several nonce keys of one account in one bundle', async () => {
    await ask('debug_bundler_setBundlingMode', 'manual')
    const sender = await account('0.8')
    const hashes: Hex[] = []
    for (const key of [0n, 1n, 2n])
      hashes.push(
        (await ask('eth_sendUserOperation', await operation(sender, { nonce: numberToHex(key << 64n) }), entryPoint08Address)) as Hex,
      )
    const bundle = await ask('debug_bundler_sendBundleNow')
    for (const hash of hashes) expect(await included(hash)).toMatchObject({ success: true, receipt: { transactionHash: bundle } })
  })

  it('accepts an operation again after a reorg of its block', async () => {
    await ask('debug_bundler_setBundlingMode', 'auto')
    const sender = await account('0.8')
    const snapshot = await ask('evm_snapshot')
    const sent = await operation(sender)
    const hash = (await ask('eth_sendUserOperation', sent, entryPoint08Address)) as Hex
    await included(hash)
    await ask('evm_revert', snapshot)
    expect(await ask('eth_getUserOperationReceipt', hash)).toBe(null)
    expect(await ask('eth_sendUserOperation', sent, entryPoint08Address)).toBe(hash)
    expect(await included(hash)).toMatchObject({ success: true })
  })

  it('does not count an operation of a paymaster that its account invalidated (EREP-015)', async () => {
    const [sender, sponsor] = [await withCode(ANSWERING_OWN_SLOT), await paymaster('0.8')]
    await ask('eth_sendUserOperation', await operation(sender, sponsored(sponsor, '0.8')), entryPoint08Address)
    expect(await seenOf(sponsor)).toBe(1)
    await ask('anvil_setStorageAt', sender, '0x0', numberToHex(1, { size: 32 }))
    expect(await ask('debug_bundler_sendBundleNow')).toBe('ok')
    expect(await seenOf(sponsor)).toBe(0)
  })

  it.each([
    ['unstaked', 0, 1],
    ['staked', 1, 0],
  ])('counts a failure of the paymaster of an account that is %s (EREP-030)', async (kind, ofSender, ofSponsor) => {
    const [sender, sponsor] = [await account('0.8'), await paymaster('0.8')]
    if (kind === 'staked') await stake(sender, parseEther('1'), 86_400n)
    await ask('eth_sendUserOperation', await operation(sender, sponsored(sponsor, '0.8')), entryPoint08Address)
    await depositTo('0.8', sponsor, 0n)
    expect(await ask('debug_bundler_sendBundleNow')).toBe('ok')
    expect([await seenOf(sender), await seenOf(sponsor)]).toEqual([ofSender, ofSponsor])
  })

  it('bans a paymaster whose deposit covers an operation alone and not in its bundle (EREP-040)', async () => {
    const sponsor = await paymaster('0.8')
    for (let i = 0; i < 2; i++)
      await ask(
        'eth_sendUserOperation',
        await operation(await account('0.8'), { ...sponsored(sponsor, '0.8'), ...PRICE }),
        entryPoint08Address,
      )
    await depositTo('0.8', sponsor, 430_000n * 10n ** 10n) // one operation may cost as much
    expect(await ask('debug_bundler_sendBundleNow')).not.toBeNull()
    expect(await seenOf(sponsor)).toBe(10_000)
  })

  it('bans the staked factory of an account that fails in its bundle only (EREP-020)', async () => {
    await rulesOf({ rules: 'relaxed' })
    try {
      const factory = await withCode(answering(0n))
      await stake(factory, parseEther('1'), 86_400n, '0.9')
      const once = await withCode(CALLED_ONCE)
      for (let i = 0; i < 2; i++) {
        const sender = await withCode(concatHex(['0x5f5f5f5f5f73', once, '0x5af16022575f5ffd5b60205ff3'])) // fails if `once` fails
        await depositTo('0.9', sender)
        // EntryPoint 0.9 does not call the factory of an account that exists.
        await ask('eth_sendUserOperation', await operation(sender, { factory, factoryData: '0x' }), entryPoint09Address)
      }
      expect(await ask('debug_bundler_sendBundleNow')).not.toBeNull()
      expect(await seenOf(factory)).toBe(10_000)
    } finally {
      await rulesOf({ rules: 'strict' })
    }
  })

  it('rejects operations of banned entities', async () => {
    const sponsor = await paymaster('0.8')
    const sent = await operation(await account('0.8'), sponsored(sponsor, '0.8'))
    const reputation = { address: sponsor, opsSeen: '0x3e8', opsIncluded: '0x0' }
    await ask('debug_bundler_setReputation', [reputation], entryPoint08Address)
    expect(await ask('debug_bundler_dumpReputation', entryPoint08Address)).toMatchObject([{ status: 'banned' }])
    await expect(ask('eth_sendUserOperation', sent, entryPoint08Address)).rejects.toMatchObject({ code: -32504 })
    expect(await ask('debug_bundler_dumpMempool', entryPoint08Address)).toEqual([])
  })

  it('accepts operations up to the deposit of their paymaster', async () => {
    const price = { maxFeePerGas: numberToHex(10n ** 10n), maxPriorityFeePerGas: '0x1' }
    // One operation may cost 430,000 gas.
    const sponsor = await paymaster('0.8', 0n, 430_000n * 10n ** 10n)
    const of = async () => operation(await account('0.8'), { ...sponsored(sponsor, '0.8'), ...price })
    await ask('eth_sendUserOperation', await of(), entryPoint08Address)
    await expect(ask('eth_sendUserOperation', await of(), entryPoint08Address)).rejects.toMatchObject({ code: -32508 })
    expect(await ask('debug_bundler_dumpMempool', entryPoint08Address)).toHaveLength(1)
  })
})

const PRICE = { maxFeePerGas: numberToHex(10n ** 10n), maxPriorityFeePerGas: '0x1' }
/** Returns the word of slot 0. */
const ANSWERING_OWN_SLOT = '0x5f545f5260205ff3'
/** Succeeds at the first call only. */
const CALLED_ONCE = '0x5f54156009575f5ffd5b60015f5500'

function rulesOf(change: object): Promise<unknown> {
  return ask('pocketchain_bundlerRules', change)
}

async function seenOf(entity: Address): Promise<number> {
  const all = (await ask('debug_bundler_dumpReputation', entryPoint08Address)) as { address: Address; opsSeen: Hex }[]
  return Number(all.find(({ address }) => address.toLowerCase() === entity.toLowerCase())?.opsSeen ?? 0)
}

/** The code that runs before it returns. */
function doing(code: Hex, ...words: readonly bigint[]): Hex {
  return concatHex([code, answering(...words)])
}

const READ_OWN_SLOT = '0x5f5450'

async function accountDoing(code: Hex): Promise<Address> {
  const address = await withCode(doing(code, 0n))
  await depositTo('0.8', address)
  return address
}

async function paymasterDoing(code: Hex): Promise<Address> {
  const address = await withCode(doing(code, 0x40n, 0n, 0n))
  await depositTo('0.8', address)
  return address
}

/** The second slot of its deposit has staked, stake and delay. In 0.6 the first one has the deposit in 112 bits, staked and stake. */
async function stake(holder: Address, amount: bigint, delaySec: bigint, version: Version = '0.8'): Promise<void> {
  const slot = BigInt(keccak256(concatHex([pad(holder), zeroHash])))
  const stakeWord = 1n | (amount << 8n)
  const words = version === '0.6' ? [parseEther('1') | (stakeWord << 112n), delaySec] : [parseEther('1'), stakeWord | (delaySec << 120n)]
  for (const [i, word] of words.entries())
    await ask('anvil_setStorageAt', VERSIONS[version], numberToHex(slot + BigInt(i), { size: 32 }), numberToHex(word, { size: 32 }))
}

describe('the rules of ERC-7562', () => {
  /** code of a call with 1,000 gas */
  const call = (to: Address, value: '5f' | '6001' = '5f'): Hex => `0x5f5f5f5f${value}73${to.slice(2)}6103e8f150`

  it.each<[rule: string, code: Hex]>([
    ['OP-011', '0x4250'],
    ['OP-011', '0x3a50'],
    ['OP-011', '0x5f5f5ff050'],
    ['OP-012', '0x5a50'],
    ['OP-031', '0x5f5f5f5ff550'],
    ['OP-041', call('0x00000000000000000000000000000000000e3e3e')],
    ['OP-054', `0x73${entryPoint08Address.slice(2).toLowerCase()}3f50` as Hex],
    ['OP-054', `0x63b760faf95f5260205f6004601c5f73${entryPoint08Address.slice(2).toLowerCase()}5af150` as Hex],
    ['OP-061', call(WETH, '6001')],
    ['OP-062', call('0x0000000000000000000000000000000000000012')],
    ['OP-080', '0x4750'],
  ])('reject %s (%s)', async (rule, code) => {
    const sender = await accountDoing(code)
    await ask('anvil_setBalance', sender, '0x1')
    await expect(ask('eth_sendUserOperation', await operation(sender), entryPoint08Address)).rejects.toMatchObject({
      code: -32502,
      message: expect.stringContaining(rule),
    })
    expect(await ask('debug_bundler_dumpMempool', entryPoint08Address)).toEqual([])
  })

  it('let an account read its own storage', async () => {
    const sender = await accountDoing(READ_OWN_SLOT)
    const hash = await ask('eth_sendUserOperation', await operation(sender), entryPoint08Address)
    expect(await included(hash as Hex)).toMatchObject({ success: true })
  })

  it('let a paymaster read its own storage when it has a stake that is large enough', async () => {
    const sponsor = await paymasterDoing(READ_OWN_SLOT)
    const sent = await operation(await account('0.8'), sponsored(sponsor, '0.8'))
    const send = () => ask('eth_sendUserOperation', sent, entryPoint08Address)
    await expect(send()).rejects.toMatchObject({ code: -32502, message: expect.stringContaining('STO-031') })
    await stake(sponsor, 1n, 86_400n)
    await expect(send()).rejects.toMatchObject({ code: -32505, data: { paymaster: sponsor } })
    await stake(sponsor, parseEther('1'), 60n)
    await expect(send()).rejects.toMatchObject({ code: -32505 })
    expect(await ask('debug_bundler_dumpMempool', entryPoint08Address)).toEqual([])
    await stake(sponsor, parseEther('1'), 86_400n)
    expect(await included((await send()) as Hex)).toMatchObject({ success: true })
  })

  it('drop operations after a change of validated code', async () => {
    await ask('debug_bundler_setBundlingMode', 'manual')
    const sender = await account('0.8')
    const hash = await ask('eth_sendUserOperation', await operation(sender), entryPoint08Address)
    await ask('anvil_setCode', sender, doing('0x5b', 0n))
    expect(await ask('debug_bundler_sendBundleNow')).toBe('ok')
    expect(await ask('pimlico_getUserOperationStatus', hash)).toMatchObject({
      status: 'rejected',
      reason: expect.stringContaining('COD-010'),
    })
    await ask('debug_bundler_setBundlingMode', 'auto')
  })

  it('do not accept a paymaster of the pool as a sender', async () => {
    await ask('debug_bundler_setBundlingMode', 'manual')
    const sponsor = await paymaster('0.8')
    await ask('eth_sendUserOperation', await operation(await account('0.8'), sponsored(sponsor, '0.8')), entryPoint08Address)
    await ask('anvil_setCode', sponsor, answering(0n))
    await expect(ask('eth_sendUserOperation', await operation(sponsor), entryPoint08Address)).rejects.toMatchObject({
      code: -32502,
      message: expect.stringContaining('STO-040'),
    })
    await ask('debug_bundler_clearState')
    await ask('debug_bundler_setBundlingMode', 'auto')
  })

  it('are not skipped: the bundler does not start on a node without the tracer, unless they are switched off', async () => {
    const untracing: Rpc = {
      subscribe: (params, listener) => node.subscribe(params, listener),
      request: async (request) => {
        if (request.method === 'debug_traceCall') throw new RpcError(-32601, 'the method debug_traceCall does not exist')
        return node.request(request)
      },
    }
    const key = generatePrivateKey()
    await ask('anvil_setBalance', privateKeyToAccount(key).address, numberToHex(parseEther('1')))
    const strict = createBundler({ rpc: untracing, key })
    const lax = createBundler({ rpc: untracing, key, rules: false })
    const sender = await accountDoing('0x4250')
    const request = { method: 'eth_sendUserOperation', params: [await operation(sender), entryPoint08Address] }
    await expect(strict.request(request)).rejects.toMatchObject({ code: -32000, data: { reason: 'no-tracer' } })
    expect(await included((await lax.request(request)) as Hex)).toMatchObject({ success: true })
    await strict.close()
    await lax.close()
  })
})

describe('the modes of the rules', () => {
  it('relaxed accepts a violation with a warning, and a failing signature not', async () => {
    const notes: string[] = []
    await using relaxed = await createPocketchain({ wallet: false, onNote: (line) => notes.push(line) })
    const own = node
    try {
      node = relaxed
      expect(await rulesOf({})).toMatchObject({ rules: 'relaxed', minStake: numberToHex(parseEther('0.1')), minUnstakeDelay: '0x15180' })
      const sender = await accountDoing('0x4250')
      const hash = (await ask('eth_sendUserOperation', await operation(sender), entryPoint08Address)) as Hex
      expect(await included(hash)).toMatchObject({ success: true })
      const warning = { userOpHash: hash, rule: 'OP-011', role: 'account', entity: sender.toLowerCase(), code: -32_502 }
      expect(await ask('pocketchain_userOperationWarnings', hash)).toMatchObject([
        { ...warning, message: expect.stringMatching(/^account uses banned opcode: TIMESTAMP \(OP-011 of ERC-7562/) },
      ])
      expect(await ask('pocketchain_userOperationWarnings')).toHaveLength(1)
      expect(await ask('pocketchain_userOperationWarnings', zeroHash)).toEqual([])
      expect(notes.filter((line) => line.includes('--bundler-rules strict refuses it here too'))).toHaveLength(1)
      const wrong = await withCode(doing('0x4250', 1n))
      await depositTo('0.8', wrong)
      await expect(ask('eth_sendUserOperation', await operation(wrong), entryPoint08Address)).rejects.toMatchObject({ code: -32507 })
      // Reads five slots of the paymaster itself.
      const sponsor = await paymasterDoing('0x5f545060015450600254506003545060045450')
      const many = await ask('eth_sendUserOperation', await operation(await account('0.8'), sponsored(sponsor, '0.8')), entryPoint08Address)
      expect(await ask('pocketchain_userOperationWarnings', many)).toMatchObject([{ rule: 'STO-031', entity: sponsor.toLowerCase() }])
      await rulesOf({ rules: 'strict' })
      await expect(ask('eth_sendUserOperation', await operation(await accountDoing('0x4350')), entryPoint08Address)).rejects.toMatchObject({
        code: -32502,
        message: expect.stringMatching(/^account uses banned opcode: NUMBER .*--bundler-rules relaxed accepts it here with a warning$/),
      })
      await rulesOf({ rules: 'off' })
      const unseen = (await ask('eth_sendUserOperation', await operation(await accountDoing('0x4250')), entryPoint08Address)) as Hex
      expect(await included(unseen)).toMatchObject({ success: true })
      expect(await ask('pocketchain_userOperationWarnings', unseen)).toEqual([])
      expect(await ask('debug_bundler_clearState')).toBe('ok')
      expect(await ask('pocketchain_userOperationWarnings')).toEqual([])
    } finally {
      node = own
    }
  })

  it('count an entity as staked by the configured stake and delay', async () => {
    const sponsor = await paymasterDoing(READ_OWN_SLOT)
    const sent = await operation(await account('0.8'), sponsored(sponsor, '0.8'))
    const send = () => ask('eth_sendUserOperation', sent, entryPoint08Address)
    await stake(sponsor, 1n, 2n)
    await expect(send()).rejects.toMatchObject({ code: -32505 })
    const status = () => ask('debug_bundler_getStakeStatus', sponsor, entryPoint08Address)
    const stakeInfo = { addr: getAddress(sponsor), stake: '1', unstakeDelaySec: '2' }
    expect(await status()).toEqual({ stakeInfo, isStaked: false })
    try {
      await rulesOf({ minStake: '0x1', minUnstakeDelay: '0x2' })
      expect(await included((await send()) as Hex)).toMatchObject({ success: true })
      expect(await status()).toEqual({ stakeInfo, isStaked: true })
    } finally {
      await rulesOf({ minStake: numberToHex(parseEther('0.1')), minUnstakeDelay: '0x15180' })
    }
  })

  it.each([
    [{ rules: 'lax' }, 'one of strict, relaxed, off'],
    [{ minStake: -1 }, 'minStake'],
    [{ stake: '0x1' }, 'is unknown; there are rules, minStake, minUnstakeDelay'],
  ])('refuse %j', async (change, message) => {
    await expect(rulesOf(change)).rejects.toMatchObject({ code: -32602, message: expect.stringContaining(message) })
    expect(await rulesOf({})).toMatchObject({ rules: 'strict' })
  })

  it('an unstaked paymaster returns no context (EREP-050)', async () => {
    // Returns (bytes of length 1, 0).
    const sponsor = await withCode(answering(0x40n, 0n, 1n, 0n))
    await depositTo('0.8', sponsor)
    const sent = await operation(await account('0.8'), sponsored(sponsor, '0.8'))
    const send = () => ask('eth_sendUserOperation', sent, entryPoint08Address)
    await expect(send()).rejects.toMatchObject({ code: -32502, message: expect.stringMatching(/^paymaster returns a context \(EREP-050/) })
    await stake(sponsor, parseEther('1'), 86_400n)
    expect(await included((await send()) as Hex)).toMatchObject({ success: true })
  })

  it('the precompiles of BLS12-381 may be called', async () => {
    const sender = await accountDoing(`0x5f5f5f5f5f73${'0b'.padStart(40, '0')}6103e8f150`)
    const sent = await operation(sender)
    await expect(ask('eth_sendUserOperation', sent, entryPoint08Address)).resolves.toMatch(/^0x/)
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
    const own = node
    try {
      node = poor
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
    } finally {
      node = own
    }
  })
})
