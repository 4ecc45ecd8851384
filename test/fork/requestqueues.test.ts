import { afterEach, beforeEach, expect, it } from 'vitest'
import type { RunningNode } from '../node.fixture.ts'
import { BOB, ForkedChain, quantity, word } from './upstream.fixture.ts'

/** EIP-7251: an L1 block takes up to two requests of four slots each out of this queue. */
const CONSOLIDATIONS = '0x0000bbddc7ce488642fb579f8b00f3a590007251'
const REQUESTS = 9
const TAIL = 3

let chain: ForkedChain

beforeEach(async () => {
  chain = await ForkedChain.start({ hardfork: 'osaka' })
  const set = (slot: number, value: number) =>
    chain.upstream.ask('hardhat_setStorageAt', CONSOLIDATIONS, quantity(slot), `0x${word(value)}`)
  await set(TAIL, REQUESTS)
  for (let slot = 4; slot < 4 + 4 * REQUESTS; slot++) await set(slot, slot)
})

afterEach(() => chain[Symbol.asyncDispose]())

function blocks(fork: RunningNode, count: number): Promise<void> {
  return new Promise((resolve) => {
    let left = count
    const unsubscribe = fork.node.chain.head.subscribe((event) => {
      if (event.kind !== 'block' || !event.sealed || --left > 0) return
      unsubscribe()
      resolve()
    })
  })
}

/** Answers of upstream to requests that are sent from now on come after this number of flashblocks. */
function delayBy(fork: RunningNode, flashblocks: number): void {
  let open = (): void => undefined
  chain.proxy.gate = new Promise((resolve) => (open = resolve))
  chain.proxy.onRequest = () => {
    chain.proxy.onRequest = () => undefined
    let left = flashblocks
    fork.node.chain.head.subscribe((event) => {
      if (event.kind === 'block' && !event.sealed && --left === 0) open()
    })
  }
}

it('keeps promises while the requests of a queue are fetched, also if that takes longer than a block', async () => {
  const fork = await chain.fork({ hardfork: 'osaka', cadence: { kind: 'preconf', blockTimeMs: 400, flashblockMs: 100 } })
  const rewinds: unknown[] = []
  fork.node.chain.head.subscribe((event) => event.kind === 'rewind' && rewinds.push(event.cause))
  delayBy(fork, 12)
  await blocks(fork, 1)
  const receipt = await fork.ask('eth_sendTransactionSync', { from: BOB, to: BOB, gas: '0x5208' })
  expect(receipt).toMatchObject({ status: '0x1' })
  await blocks(fork, 6)
  expect(rewinds).toEqual([])
  expect(await fork.ask('eth_getStorageAt', CONSOLIDATIONS, quantity(TAIL), 'latest')).toBe(`0x${word(0)}`)
})

it('seals the queue within a few rounds of fetching when blocks are mined', async () => {
  const fork = await chain.fork({ hardfork: 'osaka', cadence: 'manual' })
  const before = chain.proxy.requests.length
  await fork.ask('anvil_mine', quantity(6))
  expect(await fork.ask('eth_getStorageAt', CONSOLIDATIONS, quantity(TAIL), 'latest')).toBe(`0x${word(0)}`)
  expect(chain.proxy.requests.length - before).toBeLessThanOrEqual(6)
})
