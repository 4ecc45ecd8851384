import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startNode } from '../node.fixture.ts'
import type { RunningNode } from '../node.fixture.ts'
import type { ForkOptions } from '../../src/index.ts'
import { ALICE, BOB, ForkedChain, LEDGER, deploy, quantity, send, word } from './upstream.fixture.ts'

let chain: ForkedChain
let ledger: string

const FAST = { retries: 1, backoffMs: 1 } as const
const COLD = { to: '0x00000000000000000000000000000000000c01d0', value: '0x1' }

beforeEach(async () => {
  chain = await ForkedChain.start()
  ledger = await deploy(chain.upstream, LEDGER)
})

afterEach(() => chain[Symbol.asyncDispose]())

describe('the start of a fork fails with one sentence', () => {
  const start = async (fork: Partial<ForkOptions>): Promise<RunningNode> => {
    const node = await startNode({ fork: { url: chain.proxy.url, storageCaching: false, ...FAST, ...fork } })
    await node[Symbol.asyncDispose]()
    return node
  }

  it('for an upstream that does not answer, without the path of its URL', async () => {
    const error = start({ url: 'http://127.0.0.1:1/secret-key' })
    await expect(error).rejects.toMatchObject({ name: 'UpstreamError', reason: 'unreachable' })
    await expect(error).rejects.not.toThrow(/secret/)
  })

  it('for another chain id', async () => {
    await expect(start({ chainId: 1 })).rejects.toThrow(/has chain id 31337, not 1; check --fork-url and --fork-chain-id/)
  })

  it('for a block above the head', async () => {
    await expect(start({ blockNumber: 1_000 })).rejects.toThrow(
      /block 1000 is above the head 1 of upstream .*; use a lower --fork-block-number/,
    )
    await expect(start({ blockNumber: -1_000 })).rejects.toThrow(/block -1000 from the head 1 .* does not exist; use a smaller distance/)
  })

  it('for a pruned upstream', async () => {
    chain.proxy.refuse = ({ method }) =>
      /^eth_(getAccountInfo|getBalance|getCode|getTransactionCount|getStorage)/.test(method)
        ? { code: -32_000, message: 'missing trie node 00 (path ) state 0x00 is not available' }
        : null
    await expect(start({ blockNumber: 1 })).rejects.toThrow(
      'upstream has no state of block 1; use an archive endpoint or a newer --fork-block-number',
    )
  })

  it('for refusals of too many requests until the retries end', async () => {
    chain.proxy.failure = { status: 429, body: '{"error":"too many requests"}' }
    await expect(start({})).rejects.toMatchObject({ name: 'UpstreamError', reason: 'rate-limit' })
  })

  it.each(['<html>', '{}', '[]', '{"jsonrpc":"2.0","id":1,"result":5}', 'null'])('for the answer %s', async (body) => {
    chain.proxy.failure = { status: 200, body }
    await expect(start({})).rejects.toMatchObject({ name: 'UpstreamError', reason: 'malformed' })
  })
})

describe('a fork whose upstream fails later', () => {
  const FAILURES = {
    'an error 500': { status: 500, body: 'down' },
    'too many requests': { status: 429, body: '{"error":"too many requests"}' },
    'no JSON': { status: 200, body: '<html>maintenance</html>' },
  } as const

  it.each(Object.entries(FAILURES))('refuses what is not local with the sentence, and keeps its state: %s', async (_, failure) => {
    const fork = await chain.fork({}, FAST)
    await send(fork, { to: ledger, data: `0x${word(1)}${word(5)}` })
    const head = await fork.ask('eth_blockNumber')
    chain.proxy.failure = failure
    for (const [method, ...params] of [
      ['eth_getBalance', COLD.to],
      ['eth_call', { to: COLD.to, data: '0x01' }],
      ['eth_estimateGas', COLD],
      ['eth_getBlockByNumber', '0x0', false],
      ['eth_getLogs', { fromBlock: '0x0' }],
      ['eth_getTransactionReceipt', `0x${'12'.repeat(32)}`],
      ['eth_feeHistory', '0x5', 'latest', []],
      ['eth_sendTransaction', { from: ALICE, ...COLD, gas: '0x5208' }],
      ['anvil_setNonce', COLD.to, '0x1'],
    ] as const) {
      await expect(fork.ask(method, ...params), method).rejects.toThrow(/^-32000 upstream http:\/\/127\.0\.0\.1:\d+ /)
    }
    expect(await fork.ask('eth_blockNumber')).toBe(head)
    expect(await fork.ask('txpool_status')).toEqual({ pending: '0x0', queued: '0x0' })
    expect(await send(fork, { to: ledger, data: `0x${word(1)}${word(1)}` })).toMatchObject({ logs: [{ data: `0x${word(6)}` }] })
    await fork.ask('evm_mine')
    chain.proxy.failure = null
    expect(await send(fork, COLD)).toMatchObject({ status: '0x1', blockNumber: quantity(Number(head) + 3) })
  })

  it.each([null, {}, '0x', 7])(
    'names a result that is not a list, or not a history of fees, where lists are joined: %j',
    async (result) => {
      const fork = await chain.fork({}, FAST)
      await fork.ask('evm_mine')
      // Fetches what the traces of this chain read.
      await fork.ask('trace_filter', { fromBlock: '0x0' })
      chain.proxy.result = result
      for (const [method, ...params] of [
        ['eth_getLogs', { fromBlock: '0x0' }],
        ['trace_filter', { fromBlock: '0x0' }],
        ['eth_feeHistory', '0x5', 'latest', []],
      ] as const) {
        await expect(fork.ask(method, ...params), method).rejects.toThrow(`-32000 upstream answered ${method} with a value that is not`)
      }
    },
  )

  it('drops a transaction whose state cannot be fetched, reports it and goes on with pre-confirmations', async () => {
    const reported: unknown[] = []
    const fork = await chain.fork({ cadence: 'preconf', onError: (error) => reported.push(error) }, FAST)
    chain.proxy.failure = FAILURES['an error 500']
    const lost = await fork.ask('eth_sendTransaction', { from: ALICE, ...COLD, gas: '0x5208' })
    const dropped = new Promise<void>((resolve) => {
      const unsubscribe = fork.node.chain.head.subscribe(() => {
        if (reported.length === 0) return
        unsubscribe()
        resolve()
      })
    })
    await dropped
    expect(reported).toHaveLength(1)
    expect(String(reported[0])).toMatch(new RegExp(`transaction ${String(lost)} is dropped, because state .* not available: upstream http`))
    chain.proxy.failure = null
    expect(await fork.ask('eth_getTransactionByHash', lost)).toBeNull()
    const raw = { from: BOB, ...COLD, gas: '0x5208' }
    const hash = await fork.ask('eth_sendTransaction', raw)
    await new Promise<void>((resolve) => {
      const unsubscribe = fork.node.chain.head.subscribe(({ view }) => {
        if (view.pending?.transactions.some((tx) => tx.hash === hash) !== true) return
        unsubscribe()
        resolve()
      })
    })
    expect(await fork.ask('eth_getTransactionReceipt', hash)).toMatchObject({ status: '0x1' })
  })

  it('names a fork block that upstream has replaced', async () => {
    const fork = await chain.fork({}, FAST)
    await chain.upstream.ask('anvil_reorg', 1, [])
    await expect(fork.ask('eth_getBalance', COLD.to)).rejects.toThrow(
      /^-32000 upstream replaced the fork block: block 1 was 0x[0-9a-f]{64} and is now 0x[0-9a-f]{64}; fork again, or use a lower --fork-block-number/,
    )
  })

  it('keeps the fork block, and refuses the history before it, when upstream has replaced the block', async () => {
    const fork = await chain.fork({}, FAST)
    const [whole, short] = await chain.upstream.askAll([
      ['eth_getBlockByNumber', '0x1', true],
      ['eth_getBlockByNumber', '0x1', false],
    ])
    await chain.upstream.ask('anvil_reorg', 1, [])
    expect(await fork.ask('eth_getBlockByNumber', '0x1', true)).toEqual(whole)
    expect(await fork.ask('eth_getBlockByNumber', 'latest', false)).toEqual(short)
    expect(await fork.ask('eth_getBlockByHash', (short as { readonly hash: string }).hash, false)).toEqual(short)
    for (const [method, ...params] of [
      ['eth_getBlockByNumber', '0x0', false],
      ['eth_getBlockReceipts', '0x1'],
      ['eth_getLogs', { fromBlock: '0x0' }],
      ['eth_getTransactionReceipt', `0x${'12'.repeat(32)}`],
    ] as const) {
      await expect(fork.ask(method, ...params), method).rejects.toThrow(/^-32000 upstream replaced the fork block: block 1 was /)
    }
  })

  it('does not read another chain in its place', async () => {
    await using other = await startNode({ cadence: 'instant', chainId: 5 })
    await other.ask('evm_mine')
    const notes: string[] = []
    const fork = await chain.fork({ onNote: (line) => notes.push(line) }, { ...FAST, url: [chain.proxy.url, other.url] })
    chain.proxy.failure = FAILURES['an error 500']
    for (const [method, ...params] of [
      ['eth_getBlockByNumber', '0x0', false],
      ['eth_getLogs', { fromBlock: '0x0' }],
      ['eth_getBalance', COLD.to],
    ] as const) {
      await expect(fork.ask(method, ...params), method).rejects.toThrow(`-32000 upstream ${chain.proxy.url} answered HTTP 500`)
    }
    expect(notes.filter((line) => line.includes(other.url))).toEqual([
      `upstream ${other.url} has chain id 5, not 31337, which the fork has; use an endpoint of the same chain. It is not used`,
    ])
    chain.proxy.failure = null
    expect(await fork.ask('eth_getBlockByNumber', '0x0', false)).toEqual(await chain.upstream.ask('eth_getBlockByNumber', '0x0', false))
  })
})
