import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { RunningNode } from '../node.fixture.ts'
import { ALICE, ForkedChain, deploy, quantity, word } from './upstream.fixture.ts'

const STEPS = 600_000

let chain: ForkedChain
let heavy: string

/** Sums slot 0 and the slot that the second word names, after a loop of the first word's steps. */
const LOOP = '6000355b600190038060035750602035546000540160005260206000f3'

beforeEach(async () => {
  chain = await ForkedChain.start()
  heavy = await deploy(chain.upstream, LOOP)
  for (let slot = 0; slot < 4; slot++) await chain.upstream.ask('anvil_setStorageAt', heavy, quantity(slot), `0x${word(10 + slot)}`)
  await chain.upstream.ask('anvil_mine', 1)
})

afterEach(() => chain[Symbol.asyncDispose]())

const call = (node: RunningNode, slot: number) =>
  node.ask('eth_call', { to: heavy, data: `0x${word(STEPS)}${word(slot)}`, gas: quantity(50_000_000) }, 'latest')

describe('worker threads of a fork', () => {
  it('compute heavy calls with the values of the fork block, each of which is fetched once', async () => {
    const [threads, alone] = [await chain.fork({ workers: 2 }), await chain.fork({ workers: 0 })]
    for (const slot of [1, 2]) expect(await call(threads, slot)).toBe(await call(alone, slot))
    expect(await call(threads, 1)).toBe(`0x${word(21)}`)
    const before = chain.proxy.requests.length
    expect(await Promise.all([1, 2, 1, 2].map((slot) => call(threads, slot)))).toEqual([21, 22, 21, 22].map((sum) => `0x${word(sum)}`))
    expect(chain.proxy.requests.length).toBe(before)
  })

  it('see local changes over the fork block, and those of a deleted account', async () => {
    const node = await chain.fork({ workers: 2 })
    expect(await call(node, 1)).toBe(`0x${word(21)}`)
    await node.ask('anvil_setStorageAt', heavy, quantity(1), `0x${word(100)}`)
    expect(await call(node, 1)).toBe(`0x${word(110)}`)
    await node.ask('anvil_mine', 1)
    expect(await call(node, 1)).toBe(`0x${word(110)}`)
    expect(await call(node, 3)).toBe(`0x${word(23)}`)
  })

  it('read the values of another block after a reset', async () => {
    const node = await chain.fork({ workers: 2 })
    expect(await call(node, 1)).toBe(`0x${word(21)}`)
    await chain.upstream.ask('anvil_setStorageAt', heavy, quantity(1), `0x${word(50)}`)
    await chain.upstream.ask('anvil_mine', 1)
    const blockNumber = Number(await chain.upstream.ask('eth_blockNumber'))
    await node.ask('anvil_reset', { forking: { jsonRpcUrl: chain.proxy.url, blockNumber } })
    expect(await call(node, 1)).toBe(`0x${word(60)}`)
  })

  it('report an upstream that fails with its message, and go on when it answers again', async () => {
    const node = await chain.fork({ workers: 2 }, { retries: 0 })
    expect(await call(node, 1)).toBe(`0x${word(21)}`)
    chain.proxy.failure = { status: 500, body: 'down' }
    await expect(call(node, 3)).rejects.toThrow('-32000')
    chain.proxy.failure = null
    expect(await call(node, 3)).toBe(`0x${word(23)}`)
    expect(await node.ask('eth_getBalance', ALICE, 'latest')).toMatch(/^0x/)
  })
})
