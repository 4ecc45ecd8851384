import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTick } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ManualClock } from '../../src/chain/index.ts'
import { createPocketchain } from '../../src/index.ts'
import type { Pocketchain, PocketchainOptions } from '../../src/index.ts'

const ALICE = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'
const BOB = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
const START_MS = 1_700_000_000_000
/** number of blocks, far above the retention window */
const ENOUGH = 12

let data = ''
let nodes: Pocketchain[] = []
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'pocketchain-directory-'))
})
afterEach(async () => {
  for (const node of nodes) await node.close()
  nodes = []
  rmSync(data, { recursive: true, force: true })
})

async function opened(options: PocketchainOptions = {}) {
  const bugs: unknown[] = []
  const node = await createPocketchain({
    data,
    cadence: 'instant',
    clock: 'manual',
    workers: 0,
    onError: (error) => bugs.push(error),
    ...options,
  })
  nodes.push(node)
  const ask = (method: string, ...params: unknown[]) => node.request({ method, params })
  const give = async (times: number) => {
    for (let i = 0; i < times; i++) await ask('eth_sendTransaction', { from: ALICE, to: BOB, value: '0x1' })
  }
  return { node, ask, give, bugs }
}

describe('a chain in a directory', () => {
  test('keeps its chain id, which no block contains', async () => {
    const genesis = JSON.stringify({ config: { chainId: 1 }, timestamp: '0x65000000', gasLimit: '0x3938700', difficulty: '0x0', alloc: {} })
    const first = await opened({ genesis, chainId: 7 })
    await first.ask('anvil_mine')
    await first.node.close()
    await expect(opened({ genesis, chainId: 99 })).rejects.toThrow('the directory holds the chain 7, not 99; start it with --chain-id 7')
    const second = await opened({ genesis, chainId: 7 })
    expect([await second.ask('eth_chainId'), await second.ask('eth_blockNumber')]).toEqual(['0x7', '0x1'])
  })

  test('ends during a long request that mines, and keeps the blocks until then', async () => {
    const first = await opened()
    const mining = first.ask('anvil_mine', '0x186a0').catch((error: unknown) => error)
    while ((await first.ask('eth_blockNumber')) === '0x0') await nextTick()
    await first.node.close()
    expect(await mining).toMatchObject({
      code: -32000,
      message: expect.stringMatching(/^the node is stopping; \d+ of 100000 blocks were mined: mine the rest when it runs again$/),
    })
    const mined = Number(/\d+/.exec(String(await mining))?.[0])
    expect(mined).toBeLessThan(100_000)
    const second = await opened()
    expect([await second.ask('eth_blockNumber'), first.bugs]).toEqual([`0x${mined.toString(16)}`, []])
  })

  test('is not changed by a node that is closed, which refuses every request', async () => {
    const first = await opened()
    await first.give(1)
    const sending = first.ask('eth_sendTransaction', { from: ALICE, to: BOB, value: '0x1' })
    const closing = first.node.close()
    const closed = { code: -32000, message: 'the node is closed; createPocketchain starts another' }
    await expect(first.ask('eth_blockNumber')).rejects.toMatchObject(closed)
    await Promise.all([sending, closing])
    await expect(first.node.subscribe(['newHeads'], () => undefined)).rejects.toMatchObject(closed)
    await expect(first.give(1)).rejects.toMatchObject(closed)
    await expect(first.node.chain.mine(1)).rejects.toMatchObject({ name: 'ChainClosed' })
    await expect(first.node.promises.setPace({ speed: 2 })).rejects.toMatchObject({ name: 'ChainClosed' })
    const second = await opened()
    expect([await second.ask('eth_blockNumber'), first.bugs]).toEqual(['0x2', []])
  })

  test('continues under another cadence, with blocks every 200 ms, and after a switch back', async () => {
    const clock = new ManualClock(START_MS)
    const first = await opened({ cadence: 'native', clock })
    await first.give(1)
    await clock.advance(1_000)
    const height = await first.ask('eth_blockNumber')
    expect(Number(height)).toBeGreaterThan(3)
    await first.node.close()
    const second = await opened({ cadence: 'instant' })
    expect(await second.ask('eth_blockNumber')).toBe(height)
    await second.give(2)
    const { view } = second.node.chain.head
    expect(view.head.timestampMs).toBeNull()
    expect(view.head.header.timestamp).toBeGreaterThan(view.byNumber(Number(height))!.header.timestamp)
    await second.node.close()
    const third = await opened({ cadence: 'native' })
    expect(Number(await third.ask('eth_blockNumber'))).toBe(Number(height) + 2)
    await third.ask('anvil_mine', '0x2')
    expect(third.node.chain.head.view.head.timestampMs).not.toBeNull()
    expect([first.bugs, second.bugs, third.bugs]).toEqual([[], [], []])
  })

  test('that is pruned returns 4444 for old state and does not revert to a pruned snapshot', async () => {
    const { ask, give, node, bugs } = await opened({ prune: 3 })
    const old = await ask('evm_snapshot')
    await give(ENOUGH)
    const head = await ask('eth_blockNumber')
    const balance = await ask('eth_getBalance', BOB, 'latest')
    const gone = { code: 4444, message: expect.stringContaining('--prune') }
    await expect(ask('evm_revert', old)).rejects.toMatchObject(gone)
    expect([await ask('eth_blockNumber'), await ask('eth_getBalance', BOB, 'latest')]).toEqual([head, balance])
    const near = await ask('evm_snapshot')
    await give(2)
    expect(await ask('evm_revert', near)).toBe(true)
    expect([await ask('eth_blockNumber'), await ask('eth_getBalance', BOB, 'latest')]).toEqual([head, balance])
    expect(await ask('eth_getBlockByNumber', '0x1', false)).toMatchObject({ number: '0x1' })
    await node.close()
    const again = await opened({ prune: 3 })
    expect([await again.ask('eth_blockNumber'), await again.ask('eth_getBalance', BOB, 'latest')]).toEqual([head, balance])
    await expect(again.ask('eth_getBalance', BOB, '0x1')).rejects.toMatchObject(gone)
    expect(bugs).toEqual([])
  })

  test('restarts from genesis at a reset, pruned or not, also after it is reopened', async () => {
    const before = await opened({ prune: 3 })
    const [genesis, balance] = [await before.ask('eth_getBlockByNumber', '0x0', false), await before.ask('eth_getBalance', BOB, 'latest')]
    await before.give(ENOUGH)
    await before.ask('anvil_reset')
    expect(await before.ask('eth_getBalance', BOB, 'latest')).toBe(balance)
    await before.give(1)
    const head = await before.ask('eth_getBlockByNumber', 'latest', true)
    await before.node.close()
    const after = await opened()
    expect(await after.ask('eth_getBlockByNumber', '0x0', false)).toEqual(genesis)
    expect(await after.ask('eth_getBlockByNumber', 'latest', true)).toEqual(head)
    expect(head).toMatchObject({ number: '0x1' })
  })

  test('rejects a chain with another genesis', async () => {
    await (await opened()).node.close()
    for (const other of [{ accounts: 3 }, { gasLimit: 20_000_000n }, { hardfork: 'isthmus' }]) {
      await expect(opened(other)).rejects.toThrow(/chain of another genesis/)
    }
    await expect(opened({ chainId: 5 })).rejects.toThrow(/holds the chain 31337, not 5/)
    expect(await (await opened()).ask('eth_blockNumber')).toBe('0x0')
  })
})
