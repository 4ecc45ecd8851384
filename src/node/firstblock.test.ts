import { gunzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import { Hex } from '../eth/index.ts'
import { createPocketchain } from '../index.ts'
import type { Pocketchain, PocketchainOptions } from '../index.ts'

const WETH = '0x4200000000000000000000000000000000000006'
let node: Pocketchain

afterEach(async () => {
  await node.close()
})

async function start(options: PocketchainOptions): Promise<void> {
  node = await createPocketchain({ cadence: 'instant', wallet: false, clock: 'manual', ...options })
}

function ask(method: string, ...params: readonly unknown[]): Promise<unknown> {
  return node.request({ method, params })
}

const GENESIS = JSON.stringify({ config: { chainId: 7, terminalTotalDifficulty: 0 }, number: '0x3e8', gasLimit: '0x1c9c380', alloc: {} })

describe('a chain whose first block is 1,000', () => {
  it.each<[string, PocketchainOptions]>([
    ['by the option', { number: 1_000 }],
    ['by the genesis file', { genesis: GENESIS, balance: 10n ** 19n }],
    ['by the option, over the genesis file', { genesis: GENESIS.replace('0x3e8', '0x5'), number: 1_000, balance: 10n ** 19n }],
  ])('has no earlier blocks, %s', async (_, options) => {
    await start(options)
    expect(await ask('eth_blockNumber')).toBe('0x3e8')
    expect(await ask('eth_getBlockByNumber', 'earliest', false)).toMatchObject({ number: '0x3e8', parentHash: `0x${'00'.repeat(32)}` })
    for (const method of ['eth_getBlockReceipts', 'eth_getBlockTransactionCountByNumber']) expect(await ask(method, '0x3e7')).toBeNull()
    expect(await ask('eth_getBlockByNumber', '0x0', false)).toBeNull()
    const oldest = { disabled: false, oldestBlock: '0x3e8' }
    const { head: _head, ...resources } = (await ask('eth_capabilities')) as Record<string, unknown>
    expect(Object.values(resources)).toEqual(Array(6).fill(oldest))
    await expect(ask('eth_getBalance', WETH, '0x3e7')).rejects.toMatchObject({ code: -32_001 })
    await expect(ask('debug_traceBlockByNumber', '0x3e8')).rejects.toMatchObject({ message: 'genesis is not traceable' })
    await expect(ask('anvil_rollback', 1)).rejects.toMatchObject({ code: -32_602 })
  })

  it('mines, reads history, logs and traces, goes back and starts again', async () => {
    await start({ number: 1_000 })
    const [from] = node.accounts.map(({ address }) => address)
    const hash = await ask('eth_sendTransaction', { from, to: WETH, value: '0x5', data: '0xd0e30db0' })
    expect(await ask('eth_getTransactionReceipt', hash)).toMatchObject({ blockNumber: '0x3e9', status: '0x1' })
    expect(await ask('eth_getLogs', { fromBlock: '0x0' })).toMatchObject([{ blockNumber: '0x3e9', address: WETH }])
    expect(await ask('eth_getBalance', WETH, '0x3e8')).toBe('0x0')
    expect(await ask('eth_feeHistory', '0xff', 'latest', [])).toMatchObject({ oldestBlock: '0x3e8' })
    expect(await ask('trace_filter', { fromBlock: 'earliest', toBlock: 'latest', toAddress: [WETH] })).toHaveLength(1)
    const snapshot = await ask('evm_snapshot')
    await ask('anvil_mine', '0x5')
    expect(await ask('evm_revert', snapshot)).toBe(true)
    expect(await ask('eth_blockNumber')).toBe('0x3e9')
    await ask('anvil_reset')
    expect(await ask('eth_blockNumber')).toBe('0x3e8')
  })
})

it('its state file has its accounts, which a chain from block 0 takes over', async () => {
  await start({ number: 1_000 })
  await ask('anvil_setBalance', '0x00000000000000000000000000000000000000aa', '0x7')
  await ask('anvil_mine')
  const file = gunzipSync(Hex.toBytes((await ask('anvil_dumpState')) as Hex)) // gzip in hex, as anvil
  await node.close()
  const notes: string[] = []
  await start({ stateFile: file, onNote: (line) => void notes.push(line) })
  expect(await ask('eth_getBalance', '0x00000000000000000000000000000000000000aa')).toBe('0x7')
  expect([await ask('eth_blockNumber'), notes]).toEqual(['0x0', [expect.stringContaining('the blocks of the state file are left out')]])
})

it('a chain that is kept begins with block 0', async () => {
  await start({})
  const kept = createPocketchain({ number: 1, data: '/nonexistent/data' })
  await expect(kept).rejects.toThrow('a chain in a data directory begins with block 0, not 1; leave out --data')
})
