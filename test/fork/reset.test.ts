import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { createTestClient, http } from 'viem'
import { startNode } from '../node.fixture.ts'
import type { RunningNode } from '../node.fixture.ts'
import { ALICE, BOB, ForkedChain, LEDGER, Proxy, deploy, quantity, send, word } from './upstream.fixture.ts'

const SMALL = { sponsor: false, wallet: false, bundler: false } as const

let folder: string
let chain: ForkedChain
let ledger: string
/** Blocks at which key 1 of the ledger is 100, 101 and 102. */
let blocks: number[]

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fork-reset-'))
  vi.stubEnv('XDG_CACHE_HOME', folder)
})

afterAll(async () => {
  vi.unstubAllEnvs()
  await rm(folder, { recursive: true })
})

beforeEach(async () => {
  chain = await ForkedChain.start()
  ledger = await deploy(chain.upstream, LEDGER)
  blocks = []
  for (const amount of [100, 1, 1]) {
    const { blockNumber } = await send(chain.upstream, { to: ledger, data: `0x${word(1)}${word(amount)}` })
    blocks.push(Number(blockNumber))
  }
})

afterEach(() => chain[Symbol.asyncDispose]())

const valueOf = async (node: RunningNode): Promise<number> =>
  Number(await node.ask('eth_call', { to: ledger, data: `0x${word(1)}${word(0)}` }))
const heightOf = async (node: RunningNode): Promise<number> => Number(await node.ask('eth_blockNumber'))
const add = (node: RunningNode, amount: number) => send(node, { to: ledger, data: `0x${word(1)}${word(amount)}` })

describe('a reset of a fork', () => {
  it('forks another block of the same upstream', async () => {
    const fork = await chain.fork({}, { blockNumber: blocks[0]! })
    await add(fork, 10)
    const snapshot = await fork.ask('evm_snapshot')
    await fork.ask('anvil_setBalance', BOB, '0x1')
    expect(await valueOf(fork)).toBe(110)
    expect(await fork.ask('anvil_reset', { forking: { blockNumber: blocks[2]! } })).toBeNull()
    expect(await valueOf(fork)).toBe(102)
    expect(await heightOf(fork)).toBe(blocks[2])
    expect(await fork.ask('eth_getBalance', BOB)).toBe(quantity(10_000n * 10n ** 18n))
    // An id is not given again.
    await fork.ask('evm_snapshot')
    expect(await fork.ask('evm_revert', snapshot)).toBe(false)
    expect(await fork.ask('pocketchain_forkStatus')).toMatchObject({ blockNumber: blocks[2] })
    expect(await add(fork, 5)).toMatchObject({ status: '0x1', blockNumber: quantity(blocks[2]! + 1) })
    expect(await valueOf(fork)).toBe(107)
    expect(await fork.ask('hardhat_reset', { forking: { blockNumber: quantity(blocks[1]!) } })).toBe(true)
    expect(await valueOf(fork)).toBe(101)
    await fork.ask('anvil_reset', { jsonRpcUrl: chain.proxy.url, blockNumber: blocks[2]! })
    expect(await valueOf(fork)).toBe(102)
    await fork.ask('anvil_reset', { forking: { blockNumber: blocks[1]! } })
    await add(fork, 1)
    await fork.ask('anvil_reset')
    expect([await heightOf(fork), await valueOf(fork)]).toEqual([blocks[1], 101])
  })

  it('follows upstream with an empty `forking`, as viem sends it', async () => {
    const fork = await chain.fork({}, { blockNumber: blocks[0]! })
    const client = createTestClient({ mode: 'anvil', transport: http(fork.url) })
    await chain.upstream.ask('anvil_mine', '0x8')
    await client.reset()
    expect([await heightOf(fork), await valueOf(fork)]).toEqual([(await heightOf(chain.upstream)) - 2, 102])
    await client.reset({ jsonRpcUrl: chain.proxy.url, blockNumber: BigInt(blocks[1]!) })
    expect([await heightOf(fork), await valueOf(fork)]).toEqual([blocks[1], 101])
  })

  it('forks another upstream, keeps its chain id, and serves its subscribers', async () => {
    await using other = await startNode({ ...SMALL, cadence: 'instant', chainId: 10, chainType: 'l1' })
    await other.ask('anvil_setBalance', `0x${'12'.repeat(20)}`, '0x7')
    await other.ask('anvil_mine', '0x8')
    const fork = await chain.fork()
    const heads: number[] = []
    const stop = await fork.node.subscribe(['newHeads'], (head) => heads.push(Number((head as { number: string }).number)))
    await fork.ask('anvil_reset', { forking: { jsonRpcUrl: other.url, blockNumber: 8 } })
    expect(await fork.ask('eth_chainId')).toBe('0x7a69')
    expect(await fork.ask('anvil_metadata')).toMatchObject({ forkedNetwork: { chainId: 10, forkBlockNumber: 8 } })
    expect(await fork.ask('anvil_nodeInfo')).toMatchObject({ network: 'ethereum', forkConfig: { forkUrl: other.url } })
    expect(await fork.ask('eth_getBalance', `0x${'12'.repeat(20)}`)).toBe('0x7')
    expect(await fork.ask('eth_getCode', ledger)).toBe('0x')
    expect(await fork.ask('eth_getBlockByNumber', '0x3', false)).toEqual(await other.ask('eth_getBlockByNumber', '0x3', false))
    expect(await send(fork, { to: BOB, value: '0x1' })).toMatchObject({ status: '0x1', blockNumber: '0x9' })
    expect(await fork.ask('eth_getBlockByNumber', '0x9', false)).toMatchObject({ transactions: [{}] })
    await stop()
    expect(heads).toEqual([9])
  })

  it('changes nothing when upstream does not answer, lacks the block or refuses its state', async () => {
    const fork = await chain.fork({}, { retries: 0 })
    await add(fork, 10)
    const snapshot = await fork.ask('evm_snapshot')
    const before = [await fork.ask('eth_getBlockByNumber', 'latest', true), await fork.ask('pocketchain_info')]
    const closing = await Proxy.start(chain.upstream.url)
    const { url: closed } = closing
    await closing[Symbol.asyncDispose]()
    const refused = (forking: object, sentence: RegExp) => expect(fork.ask('anvil_reset', { forking })).rejects.toThrow(sentence)
    await refused({ jsonRpcUrl: `${closed}/secret` }, new RegExp(`^-32000 upstream ${closed} (?!.*secret)`))
    await refused({ blockNumber: 1_000 }, /^-32000 block 1000 is above the head/)
    await refused({ blockNumber: 'latest' }, /^-32602 /)
    chain.proxy.refuse = ({ method }) =>
      method.startsWith('eth_getAccount') || method.startsWith('eth_getBalance') || method.startsWith('eth_getStorage')
        ? { code: -32_000, message: 'missing trie node 00 (path ) state 0x00 is not available' }
        : null
    await refused({ blockNumber: 1 }, /^-32000 upstream .* lacks the state/)
    chain.proxy.refuse = () => null
    const [block, info] = [await fork.ask('eth_getBlockByNumber', 'latest', true), await fork.ask('pocketchain_info')]
    expect(block).toEqual(before[0])
    expect(info).toMatchObject({ head: (before[1] as { head: object }).head })
    expect(await valueOf(fork)).toBe(112)
    expect(await fork.ask('evm_revert', snapshot)).toBe(true)
    await fork.ask('anvil_reset', { forking: { blockNumber: blocks[0]! } })
    expect(await valueOf(fork)).toBe(100)
  })

  it('is refused at a URL of the node itself, as anvil_setRpcUrl is', async () => {
    const fork = await chain.fork()
    for (const url of [fork.url, fork.url.replace('127.0.0.1', 'localhost')]) {
      const refusal = /^-32602 the fork URL is one of this node/
      await expect(fork.ask('anvil_reset', { forking: { jsonRpcUrl: url } })).rejects.toThrow(refusal)
      await expect(fork.ask('anvil_setRpcUrl', url)).rejects.toThrow(refusal)
    }
    expect(await valueOf(fork)).toBe(102)
  })

  it('ends the fork with hardhat_reset without `forking`', async () => {
    const fork = await chain.fork()
    expect(await fork.ask('hardhat_reset')).toBe(true)
    expect(await fork.ask('pocketchain_forkStatus')).toBeNull()
    expect([await heightOf(fork), await fork.ask('eth_getCode', ledger)]).toEqual([0, '0x'])
    expect(await fork.ask('hardhat_metadata')).toMatchObject({ forkedNetwork: null })
    const served = chain.proxy.requests.length
    expect(await send(fork, { to: BOB, value: '0x1' })).toMatchObject({ status: '0x1', blockNumber: '0x1' })
    expect(await fork.ask('eth_getBalance', `0x${'34'.repeat(20)}`)).toBe('0x0')
    expect(chain.proxy.requests.length).toBe(served)
    await fork.ask('anvil_reset', { forking: { jsonRpcUrl: chain.proxy.url, blockNumber: blocks[0]! } })
    expect(await valueOf(fork)).toBe(100)
  })

  it('under --compat anvil ends the fork without an argument, and returns to the fork block with an empty one', async () => {
    const fork = await chain.fork({ compat: 'anvil' })
    expect(await fork.ask('anvil_reset', { forking: { blockNumber: blocks[1]! } })).toBeNull()
    expect(await valueOf(fork)).toBe(101)
    for (const empty of [{}, { forking: null }]) {
      await add(fork, 1)
      expect(await fork.ask('anvil_reset', empty)).toBeNull()
      expect([await heightOf(fork), await valueOf(fork)]).toEqual([blocks[1], 101])
    }
    await add(fork, 1)
    await fork.ask('ganache_reset')
    expect([await heightOf(fork), await valueOf(fork)]).toEqual([blocks[1], 101])
    expect(await fork.ask('anvil_reset')).toBeNull()
    expect([await heightOf(fork), await fork.ask('eth_getCode', ledger), await fork.ask('pocketchain_forkStatus')]).toEqual([0, '0x', null])
    expect(await fork.ask('anvil_reset')).toBeNull()
    expect(await heightOf(fork)).toBe(0)
  })
})

describe('a reset of a chain that is not a fork', () => {
  it('makes it a fork, and hardhat_reset brings the same genesis back', async () => {
    await using node = await startNode({ ...SMALL, cadence: 'instant', workers: 1 })
    const genesis = await node.ask('eth_getBlockByNumber', '0x0', false)
    await send(node, { to: BOB, value: '0x1' })
    await node.ask('hardhat_reset', { forking: { jsonRpcUrl: chain.proxy.url, blockNumber: blocks[1]! } })
    expect([await heightOf(node), await valueOf(node)]).toEqual([blocks[1], 101])
    expect(await add(node, 5)).toMatchObject({ status: '0x1' })
    expect(await valueOf(node)).toBe(106)
    expect(await node.ask('eth_getLogs', { address: ledger, fromBlock: '0x0' })).toHaveLength(3)
    await node.ask('hardhat_reset', {})
    expect(await heightOf(node)).toBe(0)
    expect(await node.ask('eth_getBlockByNumber', '0x0', false)).toEqual(genesis)
    expect(await node.ask('eth_getTransactionCount', ALICE)).toBe('0x0')
    // Runs in a worker thread: 25 ms are spent on the main thread first.
    const loop = '0x5b600056'
    await node.ask('anvil_setCode', BOB, loop)
    await expect(node.ask('eth_call', { to: BOB, gas: quantity(50_000_000) })).rejects.toThrow(/out of gas/)
  })

  it('goes on with its schedule of blocks', async () => {
    await using node = await startNode({ ...SMALL, cadence: { kind: 'preconf', blockTimeMs: 200, flashblockMs: 50 } })
    for (const block of [blocks[0]!, blocks[2]!]) {
      await node.ask('anvil_reset', { forking: { jsonRpcUrl: chain.proxy.url, blockNumber: block } })
      const hash = await node.ask('eth_sendTransaction', { from: ALICE, to: ledger, data: `0x${word(1)}${word(5)}` })
      await new Promise<void>((resolve) => {
        const stop = node.node.chain.head.subscribe(({ view }) => {
          if (view.head.header.number < block + 3) return
          stop()
          resolve()
        })
      })
      expect(await node.ask('eth_getTransactionReceipt', hash)).toMatchObject({ status: '0x1' })
    }
    expect(await valueOf(node)).toBe(107)
    await node.ask('hardhat_reset')
    expect(await heightOf(node)).toBeLessThan(3)
  })

  it('is refused by a node that is closed meanwhile, which leaves no fork open', async () => {
    const node = await startNode({ ...SMALL, cadence: 'instant' })
    let open: () => void = () => undefined
    chain.proxy.gate = new Promise((resolve) => (open = resolve))
    const arrived = new Promise<void>((resolve) => (chain.proxy.onRequest = resolve))
    const reset = (blockNumber: number) =>
      node.node
        .request({ method: 'anvil_reset', params: [{ forking: { jsonRpcUrl: chain.proxy.url, blockNumber } }] })
        .catch((error: unknown) => error)
    const [running, waiting] = [reset(blocks[0]!), reset(blocks[1]!)]
    await arrived
    const closing = node[Symbol.asyncDispose]()
    await new Promise((resolve) => setImmediate(resolve))
    open()
    await closing
    const closed = { code: -32000, message: 'the node is closed and its chain does not change any more' }
    expect(await Promise.all([running, waiting])).toMatchObject([closed, closed])
    expect(node.node.fork).toBeNull()
  })

  it('resets to the genesis with an empty `forking`, and refuses a block without a url', async () => {
    await using node = await startNode({ ...SMALL, cadence: 'instant' })
    await send(node, { to: BOB, value: '0x1' })
    await createTestClient({ mode: 'hardhat', transport: http(node.url) }).reset()
    expect(await heightOf(node)).toBe(0)
    await expect(node.ask('anvil_reset', { forking: { blockNumber: 1 } })).rejects.toThrow(
      '-32602 the chain is not a fork, so `forking` needs a jsonRpcUrl',
    )
  })

  it('is refused in a data directory', async () => {
    const data = await mkdtemp(join(folder, 'data-'))
    await using node = await startNode({ ...SMALL, cadence: 'instant', data })
    await send(node, { to: BOB, value: '0x1' })
    await expect(node.ask('anvil_reset', { forking: { jsonRpcUrl: chain.proxy.url } })).rejects.toThrow(
      /^-32000 a chain in a data directory cannot become a fork: .*; start a node without --data/,
    )
    expect(await heightOf(node)).toBe(1)
  })
})
