import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import {
  createPublicClient,
  createTestClient,
  createWalletClient,
  encodeFunctionData,
  http,
  parseAbi,
  parseEther,
  publicActions,
} from 'viem'
import type { Hex } from 'viem'
import { foundry } from 'viem/chains'
import { mnemonicToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bytecode } from '../../examples/contract/counter.mjs'
import { CAST, FORGE, compiledForgeProject } from '../foundry.fixture.ts'
import type { ForgeProject } from '../foundry.fixture.ts'
import { WORDS } from '../node.fixture.ts'
import type { RunningNode } from '../node.fixture.ts'
import { ALICE, BOB, ForkedChain, send } from '../fork/upstream.fixture.ts'

// Clients on a fork of another pocketchain: what they read of the forked chain, change on the fork, and find in older blocks.

const KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'
const abi = parseAbi(['function count() view returns (uint256)', 'function increment()'])
const INCREMENT = encodeFunctionData({ abi, functionName: 'increment' })

describe.each(['op', 'l1'] as const)('on a fork of an %s chain', (chainType) => {
  let chain: ForkedChain
  let fork: RunningNode
  let counter: Hex
  let forkNumber: number
  /** A call of the counter before the fork block. */
  let called: string

  beforeAll(async () => {
    chain = await ForkedChain.start({ chainType })
    counter = (await send(chain.upstream, { data: bytecode }))['contractAddress'] as Hex
    await send(chain.upstream, { to: counter, data: INCREMENT })
    called = (await send(chain.upstream, { to: counter, data: INCREMENT }))['transactionHash'] as string
    await send(chain.upstream, { to: BOB, value: '0x1' })
    forkNumber = Number(await chain.upstream.ask('eth_blockNumber'))
    fork = await chain.fork()
  })

  afterAll(() => chain[Symbol.asyncDispose]())

  describe.skipIf(FORGE === null)('forge', () => {
    let project: ForgeProject
    beforeAll(async () => {
      project = await compiledForgeProject()
    }, 60_000)
    afterAll(() => project[Symbol.dispose]())

    it('tests against the forked state, and an older block of it', async () => {
      const env = { COUNTER: counter, COUNT: '2', BEFORE: String(forkNumber - 2), COUNT_BEFORE: '1', NODE_URL: fork.url }
      const out = await project.forge('test', '--fork-url', fork.url, '--match-contract', 'OnFork', { env })
      expect(out).toContain('3 tests passed, 0 failed')
    })

    it('broadcasts a script', async () => {
      const before = Number(await fork.ask('eth_getTransactionCount', ALICE, 'latest'))
      const out = await project.forge('script', 'script/Seven.s.sol', '--rpc-url', fork.url, '--private-key', KEY, '--broadcast')
      expect(out).toContain('ONCHAIN EXECUTION COMPLETE & SUCCESSFUL')
      expect(Number(await fork.ask('eth_getTransactionCount', ALICE, 'latest'))).toBe(before + 7)
    })
  })

  it.skipIf(CAST === null)('cast reads, sends, and replays on both sides of the border', async () => {
    const cast = async (...args: readonly string[]) => (await promisify(execFile)(CAST!, [...args, '--rpc-url', fork.url])).stdout.trim()
    expect(await cast('call', counter, 'count()(uint256)', '--block', String(forkNumber))).toBe('2')
    expect(await cast('call', counter, 'count()(uint256)', '--block', String(forkNumber - 2))).toBe('1')
    const head = Number(await cast('call', counter, 'count()(uint256)'))
    const sent = JSON.parse(await cast('send', '--json', '--private-key', KEY, counter, 'increment()')) as {
      status: string
      transactionHash: string
    }
    expect(sent.status).toBe('0x1')
    expect(await cast('call', counter, 'count()(uint256)')).toBe(String(head + 1))
    expect(await cast('storage', counter, '0')).toBe(`0x${(head + 1).toString(16).padStart(64, '0')}`)
    expect(await cast('storage', counter, '0', '--block', String(forkNumber))).toBe(`0x${'2'.padStart(64, '0')}`)
    const logs = JSON.parse(await cast('logs', '--json', '--address', counter, '--from-block', '0')) as { blockNumber: string }[]
    expect(logs.map(({ blockNumber }) => Number(blockNumber) <= forkNumber)).toEqual(expect.arrayContaining([true, false]))
    expect(await cast('block', String(forkNumber), '--field', 'hash')).toBe(
      ((await chain.upstream.ask('eth_getBlockByNumber', `0x${forkNumber.toString(16)}`, false)) as { hash: string }).hash,
    )
    const paid = await chain.upstream.ask('eth_getBalance', ALICE, `0x${(forkNumber - 1).toString(16)}`)
    expect(await cast('balance', ALICE, '--block', String(forkNumber - 1))).toBe(String(BigInt(String(paid))))
    // cast 1.7.1 treats chain 31337 as an Ethereum chain and therefore decodes no deposits.
    if (chainType === 'op') return
    for (const hash of [called, sent.transactionHash]) expect(await cast('run', hash)).toContain('Transaction successfully executed')
  })

  it.each(['anvil', 'hardhat'] as const)("viem's test actions in mode %s", async (mode) => {
    const settings = { chain: foundry, transport: http(fork.url), pollingInterval: 20, cacheTime: 0 } as const
    const client = createTestClient({ mode, ...settings }).extend(publicActions)
    const read = () => client.readContract({ address: counter, abi, functionName: 'count' })
    const snapshot = await client.snapshot()
    const number = await client.getBlockNumber()
    await client.mine({ blocks: 3 })
    expect(await client.getBlockNumber()).toBe(number + 3n)
    await client.setStorageAt({ address: counter, index: 0, value: `0x${'63'.padStart(64, '0')}` })
    expect(await read()).toBe(99n)
    await client.impersonateAccount({ address: counter })
    await client.setBalance({ address: counter, value: parseEther('1') })
    const wallet = createWalletClient(settings)
    const hash = await wallet.sendTransaction({ account: counter, to: counter, data: INCREMENT })
    expect(await client.waitForTransactionReceipt({ hash })).toMatchObject({ status: 'success' })
    await client.stopImpersonatingAccount({ address: counter })
    expect(await read()).toBe(100n)
    await client.setCode({ address: '0x00000000000000000000000000000000000c0de5', bytecode: '0x60016000526001601ff3' })
    expect(await client.call({ to: '0x00000000000000000000000000000000000c0de5' })).toEqual({ data: '0x01' })
    await client.revert({ id: snapshot })
    expect(await client.getBlockNumber()).toBe(number)

    const account = mnemonicToAccount(WORDS, { addressIndex: 3 })
    const signed = await createWalletClient({ account, ...settings }).sendTransaction({ to: counter, data: INCREMENT })
    await client.waitForTransactionReceipt({ hash: signed })
    await client.reset({ jsonRpcUrl: chain.upstream.url, blockNumber: BigInt(forkNumber - 2) })
    expect([await client.getBlockNumber(), await read()]).toEqual([BigInt(forkNumber - 2), 1n])
    await client.reset({ jsonRpcUrl: chain.upstream.url, blockNumber: BigInt(forkNumber) })
    expect([await client.getBlockNumber(), await read()]).toEqual([BigInt(forkNumber), 2n])
    if (mode === 'anvil') await client.setRpcUrl(chain.proxy.url)
    const upstream = createPublicClient({ chain: foundry, transport: http(chain.upstream.url) })
    const block = { blockNumber: BigInt(forkNumber) } as const
    expect(await client.getBlock({ ...block, includeTransactions: true })).toEqual(
      await upstream.getBlock({ ...block, includeTransactions: true }),
    )
  })
})
