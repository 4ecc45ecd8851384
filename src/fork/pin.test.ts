import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Hash, Hex } from '../eth/index.ts'
import type { UpstreamError } from './errors.ts'
import { parseForkHeader, parseForkUrl, resolveForkBlock } from './pin.ts'
import { FixtureChain, UpstreamFixture } from './upstream.fixture.ts'
import type { AnswerFunction } from './upstream.fixture.ts'
import { Upstream } from './upstream.ts'

let fixture: UpstreamFixture
let upstream: Upstream

async function start(answer: AnswerFunction): Promise<void> {
  fixture = await UpstreamFixture.start(answer)
  upstream = new Upstream([fixture.url], { backoffMs: 4, retries: 1 })
}

afterEach(async () => {
  upstream.close()
  await fixture.stop()
})

async function messageOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'it was resolved',
    (error: UpstreamError) => error.message,
  )
}

describe('the fork block', () => {
  let chain: FixtureChain

  beforeEach(async () => {
    chain = new FixtureChain()
    await start(chain.answer)
  })

  it('is 2 below the head of an OP chain, in two requests', async () => {
    const block = await resolveForkBlock(upstream)
    expect(block).toMatchObject({ chainId: 10, number: 98, hash: chain.hash(98), parentHash: chain.hash(97), isOp: true, replay: null })
    expect(block.block).toEqual(chain.block(98, true))
    expect(fixture.requests).toHaveLength(2)
  })

  it('is 5 below the head of another chain', async () => {
    await fixture.stop()
    chain = new FixtureChain({ isOp: false, chainId: 1 })
    await start(chain.answer)
    expect(await resolveForkBlock(upstream)).toMatchObject({ chainId: 1, number: 95, isOp: false })
  })

  it('is at least block 0', async () => {
    chain.head = 1
    expect(await resolveForkBlock(upstream)).toMatchObject({ number: 0, isOp: true })
  })

  it('is that of --fork-block-number, in one request', async () => {
    expect(await resolveForkBlock(upstream, { blockNumber: 42 })).toMatchObject({ number: 42, hash: chain.hash(42) })
    expect(fixture.requests).toHaveLength(1)
  })

  it('is below the head by a negative --fork-block-number', async () => {
    expect(await resolveForkBlock(upstream, { blockNumber: -10 })).toMatchObject({ number: 90 })
    expect(await messageOf(resolveForkBlock(upstream, { blockNumber: -101 }))).toBe(
      `block -101 from the head 100 of upstream ${fixture.url} does not exist; use a smaller distance`,
    )
  })

  it('above the head is refused', async () => {
    expect(await messageOf(resolveForkBlock(upstream, { blockNumber: 101 }))).toBe(
      `block 101 is above the head 100 of upstream ${fixture.url}; use a lower --fork-block-number`,
    )
  })

  it('of a chain with another id than --fork-chain-id is refused', async () => {
    expect(await messageOf(resolveForkBlock(upstream, { blockNumber: 42, chainId: 8453 }))).toBe(
      `upstream ${fixture.url} has chain id 10, not 8453; check --fork-url and --fork-chain-id`,
    )
  })

  it('of an upstream that cannot be reached is refused', async () => {
    const { url } = fixture
    fixture.faults.resets = 100
    expect(await messageOf(resolveForkBlock(upstream))).toBe(`upstream ${url} cannot be reached: ECONNRESET (2 attempts)`)
  })

  it('has one source: a number or a transaction', async () => {
    expect(await messageOf(resolveForkBlock(upstream, { blockNumber: 1, transactionHash: Hash.zero }))).toBe(
      'a fork has a block number or a transaction hash; remove --fork-block-number or --fork-transaction-hash',
    )
  })
})

describe('an answer of a wrong shape', () => {
  const chain = new FixtureChain()

  it.each([
    ['eth_chainId', 'ten', 'eth_chainId with a value that is not a quantity of at most 32 bytes'],
    ['eth_chainId', `0x${'f'.repeat(20)}`, 'eth_chainId with a value that is not a quantity below 2^53'],
    ['eth_getBlockByNumber', 'block', 'eth_getBlockByNumber with a value that is not a block'],
    [
      'eth_getBlockByNumber',
      { ...chain.block(42, true), hash: '0x12' },
      'eth_getBlockByNumber with a value that is not a hash of 32 bytes',
    ],
    ['eth_getBlockByNumber', chain.block(43, true), 'eth_getBlockByNumber with a value that is not block 42'],
  ])('of %s is refused (%#)', async (malformed, value, message) => {
    await start((method, params) => (method === malformed ? value : chain.answer(method, params)))
    expect(await messageOf(resolveForkBlock(upstream, { blockNumber: 42 }))).toBe(`upstream ${fixture.url} answered ${message}`)
  })
})

describe('--fork-transaction-hash', () => {
  const raws = [Uint8Array.of(0x7e, 1), Uint8Array.of(2, 2), Uint8Array.of(2, 3)]
  const hashes = raws.map((raw) => Hash.keccak(raw))
  const chain = new FixtureChain()
  const withTransactions: AnswerFunction = (method, params) => {
    const [first, second] = params as [string, string]
    if (method === 'eth_getTransactionByHash') {
      const index = hashes.indexOf(first as Hash)
      if (first === Hash.ofText('pending')) return { hash: first, blockNumber: null }
      return index < 0 ? null : { hash: first, blockNumber: '0x32', transactionIndex: Hex.fromQuantity(index) }
    }
    if (method === 'eth_getBlockByNumber' && first === '0x32') return { ...chain.block(50, false), transactions: hashes }
    if (method === 'eth_getRawTransactionByBlockNumberAndIndex') return Hex.fromBytes(raws[Number(second)]!)
    if (method === 'debug_getRawTransaction') return Hex.fromBytes(raws[hashes.indexOf(first as Hash)]!)
    return chain.answer(method, params)
  }

  it('forks from the block before, with the transactions up to it, in two requests', async () => {
    await start(withTransactions)
    const block = await resolveForkBlock(upstream, { transactionHash: hashes[1]! })
    expect(block).toMatchObject({ number: 49, hash: chain.hash(49) })
    expect(block.replay).toMatchObject({ block: { number: '0x32' }, transactions: raws.slice(0, 2).map(Hex.fromBytes) })
    expect(fixture.requests).toHaveLength(2)
  })

  it('reads the transactions by hash where upstream has no index', async () => {
    await start(withTransactions)
    fixture.faults.absent.add('eth_getRawTransactionByBlockNumberAndIndex')
    const block = await resolveForkBlock(upstream, { transactionHash: hashes[2]! })
    expect(block.replay?.transactions).toEqual(raws.map(Hex.fromBytes))
    expect(fixture.requests).toHaveLength(3)
  })

  it('is refused for an unknown or pending transaction, and for an upstream without raw ones', async () => {
    await start(withTransactions)
    const unknown = Hash.ofText('unknown')
    expect(await messageOf(resolveForkBlock(upstream, { transactionHash: unknown }))).toBe(
      `upstream ${fixture.url} has no transaction ${unknown}; check --fork-transaction-hash`,
    )
    const pending = Hash.ofText('pending')
    expect(await messageOf(resolveForkBlock(upstream, { transactionHash: pending }))).toBe(
      `transaction ${pending} is not in a block yet; fork when it is`,
    )
    for (const method of ['eth_getRawTransactionByBlockNumberAndIndex', 'debug_getRawTransaction']) fixture.faults.absent.add(method)
    expect(await messageOf(resolveForkBlock(upstream, { transactionHash: hashes[0]! }))).toMatch(
      /gives no raw transaction 0x[0-9a-f]{64} by /,
    )
  })
})

describe('parseForkUrl', () => {
  beforeEach(() => start(new FixtureChain().answer))

  it.each([
    ['https://host/v2/key@123', 'https://host/v2/key', 123],
    ['https://host@0x10', 'https://host', 16],
    ['http://127.0.0.1:8545@-5', 'http://127.0.0.1:8545', -5],
    ['https://user:pass@host/path', 'https://user:pass@host/path', null],
    ['https://user:pass@host/path@7', 'https://user:pass@host/path', 7],
    ['https://host/path', 'https://host/path', null],
    ['https://host/@latest', 'https://host/@latest', null],
  ])('splits %s', (text, url, blockNumber) => expect(parseForkUrl(text)).toEqual({ url, blockNumber }))
})

describe('parseForkHeader', () => {
  beforeEach(() => start(new FixtureChain().answer))

  it('splits name and value', () => {
    expect(parseForkHeader('Authorization: Bearer a:b')).toEqual(['authorization', 'Bearer a:b'])
    expect(parseForkHeader('x-key:1')).toEqual(['x-key', '1'])
  })

  it.each(['no colon', ': value', 'name: a\nb', 'na me: x'])('refuses %j without showing it', (text) => {
    expect(() => parseForkHeader(text)).toThrow(
      'a --fork-header is not of the form "Name: value"; its value may hold a key and is not shown',
    )
  })
})
