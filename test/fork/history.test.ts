import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { STATE_HISTORY_BLOCKS } from '../../src/compat.ts'
import { Address } from '../../src/eth/index.ts'
import type { RunningNode } from '../node.fixture.ts'
import { ALICE, BOB, ForkedChain, LEDGER, deploy, quantity, send, word } from './upstream.fixture.ts'

const KEPT = 5
const PRUNED = /^4444 the state of that block is pruned/
/** An account that nothing writes before a test does. */
const CAROL = `0x${'ca'.repeat(20)}`

let chain: ForkedChain
let ledger: string
let forkNumber: number

beforeAll(async () => {
  chain = await ForkedChain.start()
  ledger = await deploy(chain.upstream, LEDGER)
  await chain.upstream.ask('anvil_setBalance', CAROL, '0x7')
  await add(chain.upstream, 10)
  forkNumber = await heightOf(chain.upstream)
})

afterAll(() => chain[Symbol.asyncDispose]())

/** The same chain at every start, apart from what a test does to it. */
const fork = (stateHistory: number | null = KEPT) =>
  chain.fork({ clock: 'manual', ...(stateHistory === null ? {} : { stateHistory }) }, { blockNumber: forkNumber })
const heightOf = async (node: RunningNode): Promise<number> => Number(await node.ask('eth_blockNumber'))
const add = (node: RunningNode, amount: number) => send(node, { to: ledger, data: `0x${word(1)}${word(amount)}` })
const valueOf = async (node: RunningNode, block: number | string = 'latest'): Promise<number> =>
  Number(await node.ask('eth_call', { to: ledger, data: `0x${word(1)}${word(0)}` }, typeof block === 'number' ? quantity(block) : block))

/** Writes, deletes and replaces what upstream has, what the fork added, and what is new. */
async function disturb(node: RunningNode): Promise<void> {
  await add(node, 5)
  await send(node, { to: CAROL, value: '0x1' })
  await node.ask('anvil_setBalance', BOB, '0x1')
  await node.ask('anvil_setStorageAt', ledger, quantity(9), `0x${word(9)}`)
  await node.ask('anvil_setCode', `0x${'de'.repeat(20)}`, '0x6001')
  await node.node.chain.edit((world) => world.setAccount(Address.from(ledger), null))
}

/** What a client can see of the fork block's state, then a block after it. */
async function observed(node: RunningNode): Promise<unknown> {
  const accounts = [ALICE, BOB, CAROL, ledger, `0x${'de'.repeat(20)}`]
  const seen = [
    await node.ask('eth_getBlockByNumber', 'latest', true),
    await node.ask('anvil_dumpState'),
    ...(await node.askAll(
      accounts.flatMap((account) =>
        (['eth_getBalance', 'eth_getTransactionCount', 'eth_getCode'] as const).map((method) => [method, account, 'latest'] as const),
      ),
    )),
    await node.ask('eth_getStorageAt', ledger, quantity(9)),
    await valueOf(node),
    await valueOf(node, forkNumber),
  ]
  const { accounts: written, slots } = node.node.chain.sealed.history.size()
  return [...seen, written, slots, await add(node, 1), await node.ask('eth_getBlockByNumber', 'latest', false)]
}

describe('the state history of a fork', () => {
  it('ends after the given number of blocks; older states come from upstream up to the fork block', async () => {
    const node = await fork()
    const hashes: string[] = []
    for (let block = 0; block < 10; block++) hashes.push((await add(node, 1))['transactionHash'] as string)
    const oldest = forkNumber + 10 - KEPT
    expect([await valueOf(node, oldest), await valueOf(node, forkNumber + 10), await valueOf(node)]).toEqual([15, 20, 20])
    const old = quantity(oldest - 1)
    await expect(node.ask('eth_call', { to: ledger, data: `0x${word(1)}${word(0)}` }, old)).rejects.toThrow(PRUNED)
    await expect(node.ask('eth_getBalance', ALICE, old)).rejects.toThrow(PRUNED)
    await expect(node.ask('eth_getStorageAt', ledger, '0x0', old)).rejects.toThrow(PRUNED)
    await expect(node.ask('debug_traceTransaction', hashes[4])).rejects.toThrow(PRUNED)
    await expect(node.ask('debug_traceBlockByNumber', quantity(forkNumber + 1))).rejects.toThrow(PRUNED)
    await expect(node.ask('eth_getProof', ledger, [], old)).rejects.toThrow(PRUNED)
    expect(await node.ask('debug_traceTransaction', hashes[5], { tracer: 'callTracer' })).toMatchObject({ to: ledger })
    for (const block of [forkNumber, forkNumber - 1]) {
      const asked = ['eth_getProof', ledger, [], quantity(block)] as const
      expect(await node.ask(...asked)).toEqual(await chain.upstream.ask(...asked))
      expect(await valueOf(node, block)).toBe(await valueOf(chain.upstream, block))
    }
    expect(await node.ask('eth_getTransactionReceipt', hashes[0])).toMatchObject({ status: '0x1' })
    expect(await node.ask('eth_getLogs', { address: ledger, fromBlock: quantity(forkNumber) })).toHaveLength(11)
  })

  it('has the state of the fork block from this chain until it is pruned, and from upstream afterwards', async () => {
    const node = await fork()
    const balance = () => node.ask('eth_getBalance', BOB, quantity(forkNumber))
    await node.ask('anvil_setBalance', BOB, '0x5')
    await node.ask('anvil_mine', quantity(KEPT))
    expect(await balance()).toBe('0x5')
    await node.ask('anvil_mine', '0x1')
    expect(await balance()).toBe(await chain.upstream.ask('eth_getBalance', BOB, quantity(forkNumber)))
    expect(await node.ask('eth_getBalance', BOB)).toBe('0x5')
  })

  it('ends after the default number of blocks', async () => {
    const node = await fork(null)
    await node.ask('anvil_mine', quantity(STATE_HISTORY_BLOCKS + 100))
    expect(await node.ask('eth_getBalance', CAROL, quantity(forkNumber + 100))).toBe('0x7')
    await expect(node.ask('eth_getBalance', CAROL, quantity(forkNumber + 99))).rejects.toThrow(PRUNED)
  })

  it('goes back to an older snapshot', async () => {
    const node = await fork()
    await add(node, 1)
    await node.ask('anvil_mine', '0x14')
    const snapshot = await node.ask('evm_snapshot')
    const before = await node.ask('anvil_dumpState')
    await disturb(node)
    await node.ask('anvil_mine', '0x14')
    await disturb(node)
    expect(await node.ask('evm_revert', snapshot)).toBe(true)
    expect([await heightOf(node), await valueOf(node)]).toEqual([forkNumber + 21, 11])
    expect(await node.ask('anvil_dumpState')).toBe(before)
    await node.ask('anvil_mine', '0x14')
    expect(await valueOf(node)).toBe(11)
  })
})

describe('a reset of a fork whose first state is pruned', () => {
  it('has the same result as a new fork, repeatedly, and fetches nothing again', async () => {
    const fresh = await observed(await fork(null))
    const node = await fork()
    for (let round = 0; round < 3; round++) {
      await disturb(node)
      const snapshot = await node.ask('evm_snapshot')
      await node.ask('anvil_mine', '0x14')
      await disturb(node)
      await node.ask('anvil_reorg', 2, [])
      expect(await node.ask('evm_revert', snapshot)).toBe(true)
      await node.ask('anvil_mine', '0x14')
      const requests = chain.proxy.requests.length
      expect(await node.ask('anvil_reset')).toBeNull()
      expect(await valueOf(node)).toBe(10)
      expect(chain.proxy.requests.length).toBe(requests)
      expect(node.node.chain.sealed.history.size()).toMatchObject({ versions: 1 })
      expect(await observed(node)).toEqual(fresh)
    }
  })

  it('works after the endpoint was replaced, and to another block', async () => {
    const node = await fork()
    await disturb(node)
    await node.ask('anvil_mine', '0x14')
    await node.ask('anvil_setRpcUrl', chain.upstream.url)
    await node.ask('anvil_reset')
    expect([await heightOf(node), await valueOf(node), await node.ask('eth_getBalance', CAROL)]).toEqual([forkNumber, 10, '0x7'])
    await node.ask('anvil_mine', '0x14')
    await node.ask('anvil_reset', { forking: { blockNumber: forkNumber - 1 } })
    expect([await heightOf(node), await valueOf(node)]).toEqual([forkNumber - 1, 0])
    for (let block = 0; block < 10; block++) await add(node, 1)
    await expect(valueOf(node, forkNumber)).rejects.toThrow(PRUNED)
    await node.ask('anvil_reset')
    expect([await heightOf(node), await valueOf(node)]).toEqual([forkNumber - 1, 0])
  })
})
