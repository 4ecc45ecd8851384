// pocketchain_userOperationPool: what the bundler reports about operations that are in no block.
import { createPocketchain } from 'pocketchain'
import type { Pocketchain } from 'pocketchain'
import { encodeFunctionData, numberToHex, parseAbi, parseEther } from 'viem'
import type { Hex } from 'viem'
import { entryPoint07Address, entryPoint08Address } from 'viem/account-abstraction'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ForkedChain } from '../fork/upstream.fixture.ts'

/** Accepts each operation, and returns for every call. */
const ACCOUNT_CODE = '0x60205ff3'
const GWEI = 10n ** 9n

interface Known {
  readonly id: number
  readonly userOpHash: Hex
  readonly userOperation: { readonly maxFeePerGas: Hex }
}

let node: Pocketchain

beforeEach(async () => {
  node = await createPocketchain({ wallet: false, cadence: 'manual' })
  await ask('debug_bundler_setBundlingMode', 'manual')
})

afterEach(() => node.close())

function ask(method: string, ...params: readonly unknown[]): Promise<unknown> {
  return node.request({ method, params })
}

async function known(query: object = {}): Promise<readonly Known[]> {
  return ((await ask('pocketchain_userOperationPool', query)) as { operations: readonly Known[] }).operations
}

/** Returns an account whose deposit in the EntryPoint pays for its operations. */
async function account(
  sender: Hex = privateKeyToAccount(generatePrivateKey()).address,
  entryPoint: Hex = entryPoint08Address,
): Promise<Hex> {
  await ask('anvil_setCode', sender, ACCOUNT_CODE)
  const abi = parseAbi(['function depositTo(address) payable'])
  const data = encodeFunctionData({ abi, functionName: 'depositTo', args: [sender] })
  await ask('eth_sendTransaction', {
    from: node.accounts[0]?.address,
    to: entryPoint,
    value: numberToHex(parseEther('1')),
    data,
    gas: '0x186a0',
  })
  await ask('evm_mine')
  return sender
}

interface Sent {
  readonly nonce?: number
  readonly maxFee?: bigint
  readonly tip?: bigint
  readonly entryPoint?: Hex
}

async function send(sender: Hex, { nonce = 0, maxFee = 2n * GWEI, tip = 1n, entryPoint = entryPoint08Address }: Sent = {}) {
  const gas = { callGasLimit: '0x30d40', verificationGasLimit: '0x30d40', preVerificationGas: '0x30d40' }
  const fees = { maxFeePerGas: numberToHex(maxFee), maxPriorityFeePerGas: numberToHex(tip) }
  const operation = { sender, nonce: numberToHex(nonce), callData: '0x', signature: '0x12', ...gas, ...fees }
  return (await ask('eth_sendUserOperation', operation, entryPoint)) as Hex
}

/** The block under construction has it. */
async function setBaseFee(wei: bigint): Promise<void> {
  await ask('anvil_setNextBlockBaseFeePerGas', numberToHex(wei))
  await ask('evm_mine')
}

describe('operations in no block', () => {
  it('wait for a request in manual mode, for the operations before them, and for the block of their bundle', async () => {
    const sender = await account()
    const [first, second] = [await send(sender), await send(sender, { nonce: 1 })]
    const WAITING = { status: 'not_submitted', transactionHash: null, failedBundles: 0, reason: null, replacedBy: null }
    expect(await known()).toMatchObject([
      { userOpHash: second, entryPoint: entryPoint08Address, waitsFor: 'nonce', ...WAITING },
      { userOpHash: first, waitsFor: 'request', ...WAITING },
    ])
    const transactionHash = await ask('debug_bundler_sendBundleNow')
    const SENT = { status: 'submitted', waitsFor: 'block', transactionHash }
    expect(await known({ transactionHash })).toMatchObject([
      { userOpHash: second, ...SENT },
      { userOpHash: first, ...SENT },
    ])
    const third = await send(sender, { nonce: 2 })
    expect(await known({ userOpHashes: [third] })).toMatchObject([{ waitsFor: 'nonce', ...WAITING }])
    await ask('evm_mine')
    await ask('debug_bundler_sendBundleNow')
    expect(await known()).toMatchObject([{ userOpHash: third }])
  })

  it('do not wait for the bundle of another EntryPoint, which has nonces of its own', async () => {
    const sender = await account(await account(), entryPoint07Address)
    await send(sender)
    const first = await ask('debug_bundler_sendBundleNow')
    const userOpHash = await send(sender, { entryPoint: entryPoint07Address })
    expect(await known()).toMatchObject([{ userOpHash, waitsFor: 'request' }, { waitsFor: 'block' }])
    const second = await ask('debug_bundler_sendBundleNow')
    expect(second).not.toBe(first)
    await ask('evm_mine')
    expect(await ask('eth_getUserOperationReceipt', userOpHash)).toMatchObject({ success: true, receipt: { transactionHash: second } })
  })

  it('wait for a lower base fee, in the pool and in their bundle', async () => {
    const sender = await account()
    const hash = await send(sender)
    await setBaseFee(3n * GWEI)
    expect(await known()).toMatchObject([{ userOpHash: hash, waitsFor: 'price', transactionHash: null }])
    expect(await ask('debug_bundler_sendBundleNow')).toBe('ok')
    await setBaseFee(GWEI)
    expect(await known()).toMatchObject([{ waitsFor: 'request' }])
    const transactionHash = await ask('debug_bundler_sendBundleNow')
    await ask('pocketchain_hold', transactionHash)
    await setBaseFee(3n * GWEI)
    expect(await known()).toMatchObject([{ status: 'submitted', waitsFor: 'price', transactionHash }])
  })

  it('that were dropped have the reason, and the operation that replaced them', async () => {
    const sender = await account()
    const first = await send(sender)
    const second = await send(sender, { maxFee: 3n * GWEI, tip: 2n })
    const DROPPED = { status: 'rejected', transactionHash: null, waitsFor: null }
    expect(await known({ status: 'rejected' })).toMatchObject([
      { userOpHash: first, ...DROPPED, reason: `replaced by ${second}`, replacedBy: second },
    ])
    await ask('anvil_setCode', sender, '0x5f5ffd')
    await ask('debug_bundler_sendBundleNow')
    const [dropped] = await known({ userOpHashes: [second] })
    // The code that was checked is no longer the account's.
    expect(dropped).toMatchObject({ ...DROPPED, reason: expect.stringMatching(/COD-010|AA23/), replacedBy: null })
  })

  it('that were dropped on a fork have the reason, also when upstream refuses to search its history', async () => {
    await using chain = await ForkedChain.start()
    await node.close()
    node = await createPocketchain({ wallet: false, cadence: 'manual', fork: { url: chain.proxy.url } })
    await ask('debug_bundler_setBundlingMode', 'manual')
    const sender = await account()
    const dropped = await send(sender)
    const reason = `replaced by ${await send(sender, { maxFee: 3n * GWEI, tip: 2n })}`
    chain.proxy.refuse = ({ method }) =>
      method === 'eth_getLogs' ? { code: -32005, message: 'query exceeds max block range 10000' } : null
    expect(await ask('pimlico_getUserOperationStatus', dropped)).toEqual({ status: 'rejected', transactionHash: null, reason })
    expect(await ask('eth_getUserOperationReceipt', dropped)).toBeNull()
    const unknown = `0x${'12'.repeat(32)}`
    expect(await ask('eth_getUserOperationReceipt', unknown)).toBeNull()
    expect(await ask('eth_getUserOperationByHash', unknown)).toBeNull()
    expect(await ask('pimlico_getUserOperationStatus', unknown)).toEqual({ status: 'not_found', transactionHash: null })
    // In a block of this chain, and forgotten by the bundler.
    const included = await send(await account())
    await ask('debug_bundler_sendBundleNow')
    await ask('evm_mine')
    await ask('debug_bundler_clearState')
    expect(await ask('eth_getUserOperationReceipt', included)).toMatchObject({ success: true, userOpHash: included })
    expect(await ask('eth_getUserOperationByHash', included)).toMatchObject({ userOperation: { nonce: '0x0' } })
  })

  it.each([
    ['evm_revert', 'revert'],
    ['anvil_reset', 'reset'],
  ])('are dropped with the reason when %s rewinds the chain', async (method, cause) => {
    const sender = await account()
    const snapshot = await ask('evm_snapshot')
    const submitted = await send(sender)
    await ask('debug_bundler_sendBundleNow')
    const waiting = await send(sender, { nonce: 1 })
    expect(await known()).toMatchObject([{ status: 'not_submitted' }, { status: 'submitted' }])
    await ask(method, ...(method === 'evm_revert' ? [snapshot] : []))
    const dropped = { status: 'rejected', reason: `the chain was rewound (${cause}) before a block had the operation; send it again` }
    expect(await known()).toMatchObject([waiting, submitted].map((userOpHash) => ({ userOpHash, ...dropped })))
    await ask('debug_bundler_sendBundleNow')
    await ask('evm_mine')
    expect(await ask('eth_getUserOperationReceipt', submitted)).toBeNull()
    expect(await ask('pimlico_getUserOperationStatus', submitted)).toEqual({ ...dropped, transactionHash: null })
    if (method === 'anvil_reset') await account(sender)
    expect(await send(sender)).toBe(submitted)
    await ask('debug_bundler_sendBundleNow')
    await ask('evm_mine')
    expect(await ask('eth_getUserOperationReceipt', submitted)).toMatchObject({ success: true })
  })

  it('are found when another program includes them after they were dropped', async () => {
    const sender = await account()
    const hash = await send(sender)
    const snapshot = await ask('evm_snapshot')
    const bundle = await ask('debug_bundler_sendBundleNow')
    const { input } = (await ask('eth_getTransactionByHash', bundle)) as { input: Hex }
    await ask('evm_revert', snapshot)
    expect(await ask('pimlico_getUserOperationStatus', hash)).toMatchObject({ status: 'rejected' })
    const before = await ask('evm_snapshot')
    await ask('eth_sendTransaction', { from: node.accounts[0]?.address, to: entryPoint08Address, data: input, gas: '0x1e8480' })
    await ask('evm_mine')
    expect(await ask('eth_getUserOperationReceipt', hash)).toMatchObject({ success: true })
    expect(await ask('eth_getUserOperationByHash', hash)).toMatchObject({ userOperation: { nonce: '0x0' } })
    expect(await ask('pimlico_getUserOperationStatus', hash)).toMatchObject({ status: 'included' })
    expect(await known()).toEqual([])
    await ask('evm_revert', before)
    expect(await known()).toMatchObject([{ userOpHash: hash, status: 'rejected' }])
  })

  it('are listed by page, and refused as a query with an unknown field', async () => {
    const sender = await account()
    const hashes: Hex[] = []
    for (let nonce = 0; nonce < 3; nonce++) hashes.unshift(await send(sender, { nonce }))
    const page = (await ask('pocketchain_userOperationPool', { limit: 2 })) as { operations: readonly Known[]; next: number }
    expect(page.operations.map(({ userOpHash }) => userOpHash)).toEqual(hashes.slice(0, 2))
    expect(page.next).toBe(page.operations[1]?.id)
    const rest = (await ask('pocketchain_userOperationPool', { limit: 2, before: page.next })) as { operations: readonly Known[] }
    expect(rest).toMatchObject({ operations: [{ userOpHash: hashes[2] }], next: null })
    expect(await known({ status: 'submitted' })).toEqual([])
    await expect(known({ hash: hashes[0] })).rejects.toMatchObject({ code: -32602 })
  })
})
