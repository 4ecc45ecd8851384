import { createPublicClient, createWalletClient, encodeDeployData, encodeFunctionData, http, numberToHex, parseAbi, parseEther } from 'viem'
import type { Hex } from 'viem'
import { createBundlerClient, toSimple7702SmartAccount } from 'viem/account-abstraction'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { base } from 'viem/chains'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Address } from '../../src/eth/index.ts'
import type { PocketchainOptions } from '../../src/index.ts'
import { sender } from '../../src/wallet/batches/sender.fixture.ts'
import { contracts } from '../../src/wallet/preview/contracts.fixture.ts'
import { Keyring } from '../../src/wallet/index.ts'
import { ORIGIN } from '../../src/wallet/wallet.fixture.ts'
import type { RunningNode } from '../node.fixture.ts'
import { startProxy } from '../sponsor/sponsor.fixture.ts'
import { ALICE, ForkedChain, send } from './upstream.fixture.ts'

const BOB: Address = Address.from('0x000000000000000000000000000000000000b0b0')
const erc20 = parseAbi([
  'function transfer(address to, uint256 amount) returns (bool)',
  'function balanceOf(address) view returns (uint256)',
])
const { Coin } = contracts()
const USDC = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913'

/** A chain without the contracts of the wallet, the bundler and the sponsor. */
const BARE = JSON.stringify({
  config: { chainId: 8453, terminalTotalDifficulty: 0, terminalTotalDifficultyPassed: true, shanghaiTime: 0, cancunTime: 0, pragueTime: 0 },
  gasLimit: '0x3938700',
  alloc: { [ALICE]: { balance: '0x21e19e0c9bab2400000' } },
})

describe.each<[string, PocketchainOptions]>([
  ['with all contracts', { chainId: 8453 }],
  ['without contracts', { genesis: BARE }],
])('a fork of chain 8453 %s', (_, options) => {
  let chain: ForkedChain
  let fork: RunningNode
  /** A token of which ALICE has a million. */
  let coin: Hex

  beforeEach(async () => {
    chain = await ForkedChain.start(options)
    const data = encodeDeployData({ ...Coin, args: ['USD Coin', 'USDC', 6] })
    coin = (await send(chain.upstream, { data }))['contractAddress'] as Hex
    fork = await chain.fork({ cadence: 'preconf', sponsor: {}, bundler: {}, wallet: {} })
  })

  afterEach(() => chain[Symbol.asyncDispose]())

  const coinsOf = async (node: RunningNode, account: string): Promise<bigint> => {
    const data = encodeFunctionData({ abi: erc20, functionName: 'balanceOf', args: [account as Hex] })
    return BigInt((await node.ask('eth_call', { to: coin, data }, 'pending')) as string)
  }
  const transfer = (amount: bigint): Hex => encodeFunctionData({ abi: erc20, functionName: 'transfer', args: [BOB, amount] })

  it('has the common contracts, and those of OP chains only if upstream has them', async () => {
    const hasCode = async (address: string) => (await fork.ask('eth_getCode', address, 'latest')) !== '0x'
    const safes = ['0x69f4d1788e39c87893c980c06edf4b7f686e2938', '0xc22834581ebc8527d974f8a1c97e1bea4ef910bc']
    expect(await Promise.all(safes.map(hasCode))).toEqual([true, true])
    const isFull = options.genesis === undefined
    expect(await Promise.all(['0x4200000000000000000000000000000000000021', USDC].map(hasCode))).toEqual([isFull, isFull])
    const mint = (node: RunningNode, amount: number) => node.ask('pocketchain_mintUsdc', BOB, amount)
    if (!isFull) return expect(mint(fork, 1)).rejects.toThrow('there is no ERC-20 token at')
    expect([await mint(fork, 5), await mint(fork, 7), await mint(chain.upstream, 1)]).toEqual(['0x5', '0xc', '0x1'])
  })

  it('confirms a sponsored batch that transfers an upstream token', async () => {
    expect(await fork.ask('eth_chainId')).toBe('0x2105')
    const proxy = await startProxy(fork.node)
    const [{ privateKey, address }] = fork.node.accounts as [{ privateKey: Hex; address: Address }]
    const site = sender(fork.node, { allowHttpLoopback: true, keyring: Keyring.of({ dev: [privateKey] }) })
    site.wallet.sites.connect(ORIGIN, [address])
    const before = BigInt((await fork.ask('eth_getBalance', address, 'pending')) as string)
    const id = await site.send({
      chainId: '0x2105',
      atomicRequired: true,
      calls: [
        { to: coin, data: transfer(1_000_000n) },
        { to: coin, data: transfer(2_000_000n) },
      ],
      capabilities: { paymasterService: { url: proxy.url } },
    })
    expect(await site.settled(id)).toMatchObject({ status: 200, atomic: true, capabilities: { userOperation: { success: true } } })
    expect(await coinsOf(fork, BOB)).toBe(3_000_000n)
    expect(BigInt((await fork.ask('eth_getBalance', address, 'pending')) as string)).toBe(before)
    expect(await coinsOf(chain.upstream, BOB)).toBe(0n)
    expect(site.errors).toEqual([])
  })

  it('includes a user operation of viem', async () => {
    const client = createPublicClient({ chain: base, transport: http(fork.url), pollingInterval: 20 })
    const bundler = createBundlerClient({ client, transport: http(fork.url), pollingInterval: 20 })
    const owner = privateKeyToAccount(generatePrivateKey())
    const included = async (transaction: object) => {
      const hash = (await fork.ask('eth_sendTransaction', { from: ALICE, ...transaction })) as Hex
      expect(await client.waitForTransactionReceipt({ hash })).toMatchObject({ status: 'success' })
    }
    await fork.ask('anvil_setBalance', owner.address, numberToHex(parseEther('1')))
    const account = await toSimple7702SmartAccount({ client, owner })
    const authorization = await createWalletClient({ account: owner, chain: base, transport: http(fork.url) }).signAuthorization({
      contractAddress: account.authorization.address,
    })
    await included({ to: coin, data: transferTo(owner.address, 500n) })
    const calls = [{ to: coin, data: transfer(200n) }]
    const hash = await bundler.sendUserOperation({ account, calls, authorization })
    const { success, receipt } = await bundler.waitForUserOperationReceipt({ hash, timeout: 30_000 })
    expect(success).toBe(true)
    expect((await client.getTransaction({ hash: receipt.transactionHash })).type).toBe('eip7702')
    expect([await coinsOf(fork, BOB), await coinsOf(fork, owner.address)]).toEqual([200n, 300n])
  })

  it('serves wallet, bundler and sponsor after a reset to another block', async () => {
    const block = Number(await chain.upstream.ask('eth_blockNumber'))
    await send(chain.upstream, { to: coin, data: transfer(7n) })
    const proxy = await startProxy(fork.node)
    const [{ privateKey, address }] = fork.node.accounts as [{ privateKey: Hex; address: Address }]
    const site = sender(fork.node, { allowHttpLoopback: true, keyring: Keyring.of({ dev: [privateKey] }) })
    site.wallet.sites.connect(ORIGIN, [address])
    for (const blockNumber of [block + 1, block]) {
      await fork.ask('anvil_reset', { forking: { blockNumber } })
      const had = await coinsOf(fork, BOB)
      expect(had).toBe(blockNumber === block ? 0n : 7n)
      const calls = [{ to: coin, data: transfer(1n) }]
      const id = await site.send({ chainId: '0x2105', calls, capabilities: { paymasterService: { url: proxy.url } } })
      expect(await site.settled(id)).toMatchObject({ status: 200 })
      expect(await coinsOf(fork, BOB)).toBe(had + 1n)
    }
  })
})

function transferTo(to: string, amount: bigint): Hex {
  return encodeFunctionData({ abi: erc20, functionName: 'transfer', args: [to as Hex, amount] })
}
