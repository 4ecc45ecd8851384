// What clients of alto, another bundler, send: its own methods and its sentences, with viem's accounts over HTTP.
import { createPocketchain } from 'pocketchain'
import type { Pocketchain, Server } from 'pocketchain'
import { createPublicClient, encodeFunctionData, getAddress, http, numberToHex, parseAbi, parseEther } from 'viem'
import type { Address, Chain, Hex } from 'viem'
import {
  createBundlerClient,
  entryPoint08Address,
  entryPoint09Address,
  formatUserOperationRequest,
  toSimple7702SmartAccount,
} from 'viem/account-abstraction'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const BOB: Address = '0x000000000000000000000000000000000000b0b0'
const ETHER = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE'
/** Well-formed, and not the account's. */
const WRONG_SIGNATURE = `0x${'f'.repeat(31)}${'0'.repeat(33)}7${'a'.repeat(63)}1c`
const WETH = '0x4200000000000000000000000000000000000006'
const ENTRY_POINTS = { '0.8': entryPoint08Address, '0.9': entryPoint09Address } as const

let node: Pocketchain
let server: Server
let chain: Chain

beforeEach(async () => {
  node = await createPocketchain({ wallet: false, cadence: 'instant' })
  server = await node.listen({ port: 0 })
  chain = { ...foundry, rpcUrls: { default: { http: [server.url] } } }
})

afterEach(async () => {
  await node.close()
})

function ask(method: string, ...params: readonly unknown[]): Promise<unknown> {
  return node.request({ method, params })
}

/** An account that delegates to the genesis' Simple7702Account, with an ether. */
async function fundedAccount(version: keyof typeof ENTRY_POINTS = '0.8') {
  const owner = privateKeyToAccount(generatePrivateKey())
  const client = createPublicClient({ chain, transport: http(), pollingInterval: 20 })
  const account = await toSimple7702SmartAccount({ client, owner, entryPoint: version })
  await ask('anvil_setBalance', owner.address, numberToHex(parseEther('1')))
  await ask('anvil_setCode', owner.address, `0xef0100${account.authorization.address.slice(2)}`)
  const bundler = createBundlerClient({ account, client, transport: http(server.url), pollingInterval: 20 })

  /** Returns an operation, signed with these fields in place of the prepared ones. */
  async function operation(calls: readonly object[], fields: object = {}) {
    const prepared = await bundler.prepareUserOperation({ account, calls: calls as never, ...fields } as never) // viem's types require each call's ABI
    const changed = { ...(prepared as object), ...fields } as never
    return formatUserOperationRequest({ ...(changed as object), signature: await account.signUserOperation(changed) })
  }
  return { account, address: owner.address, operation }
}

const gift = (value: bigint) => [{ to: BOB, value, data: '0x' }]

describe('pimlico_sendUserOperationNow', () => {
  it('returns the receipt of the operation', async () => {
    const { operation, address } = await fundedAccount()
    const receipt = await ask('pimlico_sendUserOperationNow', await operation(gift(5n)), entryPoint08Address)
    expect(receipt).toMatchObject({ success: true, sender: getAddress(address), receipt: { status: '0x1' } })
    expect(await ask('eth_getBalance', BOB, 'latest')).toBe('0x5')
  })

  it('ends when the pool is cleared, with the hash of the operation', async () => {
    await node.close()
    node = await createPocketchain({ wallet: false, cadence: 'manual' })
    server = await node.listen({ port: 0 })
    chain = { ...foundry, rpcUrls: { default: { http: [server.url] } } }
    const { operation } = await fundedAccount()
    const answer = ask('pimlico_sendUserOperationNow', await operation(gift(5n)), entryPoint08Address)
    const outcome = answer.catch((error: unknown) => error)
    const isSent = async () => ((await ask('txpool_status')) as { pending: Hex }).pending === '0x1'
    while (!(await isSent())) await new Promise((resolve) => setTimeout(resolve, 5))
    await ask('debug_bundler_clearState')
    expect(await outcome).toMatchObject({ code: -32_000, data: { userOpHash: expect.stringMatching(/^0x/) } })
  })

  it('refuses as eth_sendUserOperation and sends nothing', async () => {
    const { operation } = await fundedAccount()
    const sent = { ...(await operation(gift(5n))), signature: WRONG_SIGNATURE }
    await expect(ask('pimlico_sendUserOperationNow', sent, entryPoint08Address)).rejects.toMatchObject({ code: -32_507 })
    expect(await ask('debug_bundler_dumpMempool', entryPoint08Address)).toEqual([])
    expect(await ask('eth_getBalance', BOB, 'latest')).toBe('0x0')
  })
})

describe('boost_sendUserOperation', () => {
  const FREE = { maxFeePerGas: 0n, maxPriorityFeePerGas: 0n }

  it.each(['0.8', '0.9'] as const)('sends an operation of %s for which the bundler pays', async (version) => {
    const { operation, address } = await fundedAccount(version)
    const sent = await operation(gift(7n), FREE)
    const hash = (await ask('boost_sendUserOperation', sent, ENTRY_POINTS[version])) as Hex
    await ask('debug_bundler_sendBundleNow')
    expect(await ask('eth_getUserOperationReceipt', hash)).toMatchObject({ success: true, actualGasCost: '0x0' })
    expect(await ask('eth_getBalance', address, 'latest')).toBe(numberToHex(parseEther('1') - 7n))
  })

  it('shares a bundle with operations that pay', async () => {
    await ask('debug_bundler_setBundlingMode', 'manual')
    const [free, paying] = [await fundedAccount(), await fundedAccount()]
    const hashes = [
      await ask('boost_sendUserOperation', await free.operation(gift(1n), FREE), entryPoint08Address),
      await ask('eth_sendUserOperation', await paying.operation(gift(1n)), entryPoint08Address),
    ]
    const transaction = await ask('debug_bundler_sendBundleNow')
    for (const hash of hashes)
      expect(await ask('eth_getUserOperationReceipt', hash)).toMatchObject({ success: true, receipt: { transactionHash: transaction } })
  })

  it('refuses fees, a paymaster, a wrong signature and a second time, and keeps one operation', async () => {
    await ask('debug_bundler_setBundlingMode', 'manual')
    const { operation } = await fundedAccount()
    const sent = await operation(gift(1n), FREE)
    const refused = async (changed: object, message: string, code = -32_602) =>
      expect(ask('boost_sendUserOperation', { ...sent, ...changed }, entryPoint08Address)).rejects.toMatchObject({
        code,
        message: expect.stringContaining(message),
      })
    const fees = 'maxFeePerGas and maxPriorityFeePerGas must be 0 for a boosted user operation'
    await refused({ maxFeePerGas: '0x3b9aca00' }, fees)
    await refused({ maxPriorityFeePerGas: '0x1' }, fees)
    const paymaster = { paymaster: BOB, paymasterVerificationGasLimit: '0x1', paymasterPostOpGasLimit: '0x0', paymasterData: '0x' }
    await refused(paymaster, 'Paymaster is not supported for boosted user operations')
    await refused({ signature: WRONG_SIGNATURE }, 'AA24', -32_507)
    expect(await ask('debug_bundler_dumpMempool', entryPoint08Address)).toEqual([])
    await ask('boost_sendUserOperation', sent, entryPoint08Address)
    await refused({}, 'Already known')
    expect(await ask('debug_bundler_dumpMempool', entryPoint08Address)).toHaveLength(1)
  })
})

describe('pimlico_simulateAssetChange', () => {
  const ERC20 = parseAbi(['function deposit() payable', 'function transfer(address, uint256) returns (bool)'])

  it('returns the balances of ether and tokens before and after, and changes none', async () => {
    const { operation, address } = await fundedAccount()
    const sent = await operation([
      { to: BOB, value: 3n, data: '0x' },
      { to: WETH, value: 100n, data: encodeFunctionData({ abi: ERC20, functionName: 'deposit' }) },
      { to: WETH, data: encodeFunctionData({ abi: ERC20, functionName: 'transfer', args: [BOB, 40n] }) },
    ])
    const tracked = { addresses: [address, BOB], tokens: [ETHER, WETH] }
    const changes = (await ask('pimlico_simulateAssetChange', sent, entryPoint08Address, tracked)) as {
      balanceBefore: Hex
      balanceAfter: Hex
    }[]
    expect(changes).toMatchObject([
      { address: getAddress(address), token: ETHER, balanceBefore: numberToHex(parseEther('1')) },
      { address: getAddress(address), token: WETH, balanceBefore: '0x0', balanceAfter: '0x3c' },
      { address: getAddress(BOB), token: ETHER, balanceBefore: '0x0', balanceAfter: '0x3' },
      { address: getAddress(BOB), token: WETH, balanceBefore: '0x0', balanceAfter: '0x28' },
    ])
    expect(BigInt(changes[0]?.balanceAfter ?? 0)).toBeLessThan(parseEther('1') - 103n) // the prefund too
    expect(await ask('eth_getBalance', BOB, 'latest')).toBe('0x0')
  })

  it('returns nothing for no accounts, and refuses an operation that the EntryPoint refuses and an address that is no token', async () => {
    const { operation, address } = await fundedAccount()
    const sent = await operation(gift(1n))
    const simulate = (changed: object, tokens: readonly string[], addresses: readonly string[] = [address]) =>
      ask('pimlico_simulateAssetChange', { ...sent, ...changed }, entryPoint08Address, { addresses, tokens })
    expect(await simulate({}, [ETHER], [])).toEqual([])
    await expect(simulate({ nonce: '0x1' }, [ETHER])).rejects.toMatchObject({
      code: -32_521,
      message: 'UserOperation reverted during simulation with reason: AA25 invalid account nonce',
    })
    await expect(simulate({}, [entryPoint08Address.replace('43', '44')])).rejects.toMatchObject({
      code: -32_602,
      message: expect.stringContaining('has no balanceOf(address)'),
    })
  })
})

describe('operations of one account', () => {
  it('with consecutive nonces share a bundle, and an estimate beyond a gap is AA25', async () => {
    await ask('debug_bundler_setBundlingMode', 'manual')
    const { operation } = await fundedAccount()
    await expect(operation(gift(1n), { nonce: 1n })).rejects.toThrow('AA25')
    const hashes: unknown[] = []
    for (let nonce = 0n; nonce < 6n; nonce++)
      hashes.push(await ask('eth_sendUserOperation', await operation(gift(1n), { nonce }), entryPoint08Address))
    const warned = (await ask('pocketchain_userOperationWarnings')) as { userOpHash: Hex; rule: string }[]
    expect(warned.filter(({ rule }) => rule === 'UREP-010').map(({ userOpHash }) => userOpHash)).toEqual(hashes.slice(4))
    const transaction = await ask('debug_bundler_sendBundleNow')
    for (const hash of hashes)
      expect(await ask('eth_getUserOperationReceipt', hash)).toMatchObject({ success: true, receipt: { transactionHash: transaction } })
    expect(await ask('eth_getBalance', BOB, 'latest')).toBe('0x6')
  })

  it('without a stake are limited to four under strict rules', async () => {
    await ask('debug_bundler_setBundlingMode', 'manual')
    await ask('pocketchain_bundlerRules', { rules: 'strict' })
    const { operation } = await fundedAccount()
    for (let nonce = 0n; nonce < 4n; nonce++) await ask('eth_sendUserOperation', await operation(gift(1n), { nonce }), entryPoint08Address)
    await expect(ask('eth_sendUserOperation', await operation(gift(1n), { nonce: 4n }), entryPoint08Address)).rejects.toMatchObject({
      code: -32_505,
      data: { rule: 'UREP-010' },
    })
    expect(await ask('debug_bundler_dumpMempool', entryPoint08Address)).toHaveLength(4)
  })

  it('of which one can only be paid when its predecessor has run wait for the next bundle', async () => {
    await ask('debug_bundler_setBundlingMode', 'manual')
    const { operation, address } = await fundedAccount()
    const first = await operation(gift(1n), { nonce: 0n })
    const { callGasLimit, verificationGasLimit, preVerificationGas, maxFeePerGas } = first
    const gas = BigInt(callGasLimit ?? 0) + BigInt(verificationGasLimit ?? 0) + BigInt(preVerificationGas ?? 0)
    await ask('anvil_setBalance', address, numberToHex((gas * BigInt(maxFeePerGas ?? 0) * 15n) / 10n))
    const hashes = [
      await ask('eth_sendUserOperation', first, entryPoint08Address),
      await ask('eth_sendUserOperation', await operation(gift(1n), { nonce: 1n }), entryPoint08Address),
    ]
    const [one, two] = [await ask('debug_bundler_sendBundleNow'), await ask('debug_bundler_sendBundleNow')]
    for (const [i, hash] of hashes.entries())
      expect(await ask('eth_getUserOperationReceipt', hash)).toMatchObject({ success: true, receipt: { transactionHash: [one, two][i] } })
  })

  it('after one that fails in its bundle wait for another with its nonce', async () => {
    await ask('debug_bundler_setBundlingMode', 'manual')
    const { operation, address } = await fundedAccount()
    const [first, second] = [
      await ask('eth_sendUserOperation', await operation(gift(1n), { nonce: 0n }), entryPoint08Address),
      await ask('eth_sendUserOperation', await operation(gift(2n), { nonce: 1n }), entryPoint08Address),
    ]
    const replacement = await operation(gift(3n), { nonce: 0n })
    await ask('anvil_setBalance', address, '0x0')
    expect(await ask('debug_bundler_sendBundleNow')).toBe('ok')
    expect(await ask('pimlico_getUserOperationStatus', first)).toMatchObject({ status: 'rejected' })
    expect(await ask('pimlico_getUserOperationStatus', second)).toMatchObject({ status: 'not_submitted' })
    await ask('anvil_setBalance', address, numberToHex(parseEther('1')))
    await ask('eth_sendUserOperation', replacement, entryPoint08Address)
    await ask('debug_bundler_sendBundleNow')
    await ask('debug_bundler_sendBundleNow')
    expect(await ask('eth_getUserOperationReceipt', second)).toMatchObject({ success: true, nonce: '0x1' })
  })
})

describe('an authorization', () => {
  it.each([
    ['whose s is high', { s: '0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364140' }, 's must be <= secp256k1.n/2'],
    ['without a signer', { r: '0x0' }, 'Invalid ECDSA signature'],
    ['with another yParity', { yParity: '0x1b' }, 'The yParity value must be either 0 or 1'],
    ['for the zero address', { address: `0x${'00'.repeat(20)}` }, 'Cannot delegate to the zero address.'],
    ['for another chain', { chainId: '0x1' }, 'its chainId is 1, this chain'],
  ])('%s is refused', async (_, changed, message) => {
    const owner = privateKeyToAccount(generatePrivateKey())
    const { operation, account } = await fundedAccount()
    const signed = await owner.signAuthorization({ chainId: 31_337, contractAddress: account.authorization.address, nonce: 0 })
    const eip7702Auth = {
      chainId: '0x7a69',
      address: signed.address,
      nonce: '0x0',
      r: signed.r,
      s: signed.s,
      yParity: numberToHex(signed.yParity ?? 0),
      ...changed,
    }
    const by = { sender: owner.address, factory: '0x7702', factoryData: '0x', eip7702Auth }
    const sent = { ...(await operation(gift(1n))), preVerificationGas: '0x20000', ...by }
    await expect(ask('eth_sendUserOperation', sent, entryPoint08Address)).rejects.toMatchObject({
      code: -32_602,
      message: expect.stringContaining(message),
    })
  })
})

it('the prices of pimlico_getUserOperationGasPrice are at least those that viem proposes', async () => {
  const { slow } = (await ask('pimlico_getUserOperationGasPrice')) as { slow: { maxFeePerGas: Hex; maxPriorityFeePerGas: Hex } }
  const proposed = await createPublicClient({ chain, transport: http() }).estimateFeesPerGas()
  expect(BigInt(slow.maxFeePerGas)).toBeGreaterThanOrEqual(proposed.maxFeePerGas)
  expect(BigInt(slow.maxPriorityFeePerGas)).toBeGreaterThanOrEqual(proposed.maxPriorityFeePerGas)
})
