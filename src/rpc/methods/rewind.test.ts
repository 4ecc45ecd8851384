import { describe, expect, it } from 'vitest'
import { Address, Hex, Transaction } from '../../eth/index.ts'
import type { Hash } from '../../eth/index.ts'
import { ALICE, GENESIS_SECONDS, KEY, LOGGER_INIT_CODE, PRECONF, testNode } from '../node.fixture.ts'
import type { TestNode } from '../node.fixture.ts'

const STRANGER = Address.from('0x00000000000000000000000000000000000a11ce')
const NATIVE = { kind: 'native', blockTimeMs: 200 } as const
const CADENCES = [
  ['manual', { kind: 'manual' }],
  ['instant', { kind: 'instant' }],
  ['preconf', PRECONF],
  ['native', NATIVE],
] as const

function signed(nonce: bigint): Transaction {
  const fees = { maxFeePerGas: 10_000_000_000n, maxPriorityFeePerGas: 1n }
  return Transaction.sign({ type: 2, chainId: 31_337, nonce, to: STRANGER, value: 1n, gas: 30_000n, ...fees }, KEY)
}

function hashesFrom({ chain }: TestNode, number: number): readonly Hash[] {
  const hashes: Hash[] = []
  for (let block = chain.head.view.byNumber(number); block !== null; block = chain.head.view.byNumber(++number)) hashes.push(block.hash)
  return hashes
}

const userTransactions = ({ chain }: TestNode, number: number) =>
  chain.head.view
    .byNumber(number)
    ?.transactions.filter((tx) => tx.deposit === null)
    .map((tx) => tx.hash)

describe.each(CADENCES)('snapshots under %s', (_, cadence) => {
  it('restore blocks, state, pool, time and settings', async () => {
    const node = await testNode({ cadence })
    const { ask, chain } = node
    await ask('anvil_mine', 2)
    await ask('evm_setAutomine', false)
    await node.send({ to: STRANGER })
    const id = await ask('evm_snapshot')
    const before = { head: chain.head.view.head.hash, pool: chain.pool.all(), time: chain.time.snapshot(), gasLimit: chain.gasLimit }
    await ask('anvil_setBalance', STRANGER, 5)
    await ask('anvil_mine', 2)
    await ask('evm_increaseTime', 5_000)
    await ask('evm_setBlockGasLimit', 20_000_000)
    expect(await ask('evm_revert', id)).toBe(true)
    expect({ head: chain.head.view.head.hash, pool: chain.pool.all(), time: chain.time.snapshot(), gasLimit: chain.gasLimit }).toEqual(
      before,
    )
    expect(await ask('eth_getBalance', STRANGER)).toBe('0x0')
  })

  it('are consumed by a revert together with later ones', async () => {
    const { ask } = await testNode({ cadence })
    const first = await ask('evm_snapshot')
    const second = await ask('evm_snapshot')
    expect(await ask('evm_revert', first)).toBe(true)
    expect(await ask('evm_revert', first)).toBe(false)
    expect(await ask('evm_revert', second)).toBe(false)
    expect(await ask('evm_snapshot')).not.toBe(first)
  })

  it('include the pending block of their time', async () => {
    const node = await testNode({ cadence })
    const hash = await node.send({ to: STRANGER, value: 1n })
    await node.clock.advance(200)
    const id = await node.ask('evm_snapshot')
    const receipt = await node.ask('eth_getTransactionReceipt', hash)
    await node.ask('anvil_mine', 1)
    await node.ask('evm_revert', id)
    expect(await node.ask('eth_getTransactionReceipt', hash)).toEqual(receipt)
  })
})

describe.each(CADENCES)('anvil_reorg under %s', (_, cadence) => {
  it('replaces the last blocks by blocks with the same timestamps', async () => {
    const node = await testNode({ cadence })
    await node.ask('anvil_mine', 5, 7)
    const before = hashesFrom(node, 1)
    const times = before.map((hash) => node.chain.head.view.byHash(hash)?.header.timestamp)
    expect(await node.ask('anvil_reorg', 3, [])).toBeNull()
    const after = hashesFrom(node, 1)
    expect(after.slice(0, 2)).toEqual(before.slice(0, 2))
    expect(after.slice(2).filter((hash) => before.includes(hash))).toEqual([])
    expect(after.map((hash) => node.chain.head.view.byHash(hash)?.header.timestamp)).toEqual(times)
    expect(await node.ask('eth_getBlockByHash', before[4], false)).toBeNull()
  })

  it('includes signed transactions and requests in the given blocks', async () => {
    const node = await testNode({ cadence })
    await node.ask('anvil_mine', 3)
    const raw = signed(0n)
    const request = { from: ALICE, to: STRANGER, value: '0x2' }
    await node.ask('anvil_reorg', 3, [
      [request, 2],
      [Hex.fromBytes(raw.raw), 0],
      [request, '0x0'],
    ])
    expect(userTransactions(node, 1)).toHaveLength(2)
    expect(userTransactions(node, 1)?.[0]).toBe(raw.hash)
    expect(userTransactions(node, 2)).toEqual([])
    expect(userTransactions(node, 3)).toHaveLength(1)
    expect(await node.ask('eth_getBalance', STRANGER)).toBe('0x5')
    expect(await node.ask('eth_getTransactionCount', ALICE)).toBe('0x3')
  })
})

describe('anvil_reorg', () => {
  it('counts nonces from the block that the new ones follow, also when a block is sealed in between', async () => {
    const node = await testNode()
    await node.send({ to: STRANGER, gas: 21_000n })
    await node.chain.mine(1)
    await node.send({ to: STRANGER, gas: 21_000n })
    const sealed = node.chain.mine(1)
    expect(node.chain.head.view.head.header.number).toBe(1)
    await node.ask('anvil_reorg', 1, [[{ from: ALICE, to: STRANGER, value: '0x5', gas: '0x5208' }, 0]])
    await sealed
    const { transactions } = (await node.ask('eth_getBlockByNumber', '0x2', true)) as { transactions: readonly unknown[] }
    expect(transactions.slice(1)).toMatchObject([{ from: ALICE, nonce: '0x1', value: '0x5' }])
  })

  it('fills in its requests as sending does: a given type is kept, requests that cannot be sent are rejected', async () => {
    const node = await testNode()
    await node.chain.mine(2)
    await node.ask('anvil_reorg', 1, [[{ from: ALICE, to: STRANGER, value: '0x1', type: '0x0' }, 0]])
    expect(await node.ask('eth_getTransactionByBlockNumberAndIndex', 'latest', '0x1')).toMatchObject({ from: ALICE, type: '0x0' })
    await expect(node.ask('anvil_reorg', 1, [[{ from: ALICE }, 0]])).rejects.toMatchObject({
      code: -32_602,
      message: expect.stringContaining('contract creation without any data'),
    })
  })

  it('accepts a single object', async () => {
    const node = await testNode()
    await node.ask('anvil_mine', 2)
    await node.ask('anvil_reorg', { depth: 1, txBlockPairs: [[{ from: ALICE, to: STRANGER, value: '0x2' }, 0]] })
    expect(userTransactions(node, 2)).toHaveLength(1)
    await node.ask('anvil_reorg', { depth: '0x2' })
    expect(userTransactions(node, 2)).toEqual([])
  })

  it('sends for impersonated contracts', async () => {
    const node = await testNode()
    await node.ask('anvil_setCode', STRANGER, '0x00')
    await node.ask('anvil_setBalance', STRANGER, '0xde0b6b3a7640000')
    await node.ask('anvil_impersonateAccount', STRANGER)
    await node.ask('anvil_mine', 1)
    await node.ask('anvil_reorg', 1, [[{ from: STRANGER, to: ALICE }, 0]])
    expect(userTransactions(node, 1)).toHaveLength(1)
  })

  it('omits transactions that cannot be included', async () => {
    const node = await testNode()
    await node.ask('anvil_mine', 1)
    await node.ask('anvil_reorg', 1, [
      [Hex.fromBytes(signed(7n).raw), 0],
      [Hex.fromBytes(signed(0n).raw), 0],
    ])
    expect(userTransactions(node, 1)).toEqual([signed(0n).hash])
  })

  it('reports each removed log to a filter once', async () => {
    const node = await testNode()
    await node.send({ data: LOGGER_INIT_CODE })
    await node.ask('anvil_mine', 1)
    const deployed = node.chain.head.view.head.receipts[1]?.contractAddress ?? null
    const filter = await node.ask('eth_newFilter', {})
    const hash = await node.send({ to: deployed })
    await node.ask('anvil_mine', 2)
    expect(await node.ask('eth_getFilterChanges', filter)).toMatchObject([{ transactionHash: hash, removed: false }])
    await node.ask('anvil_reorg', 2)
    expect(await node.ask('eth_getFilterChanges', filter)).toMatchObject([{ transactionHash: hash, removed: true }])
    expect(await node.ask('eth_getFilterChanges', filter)).toEqual([])
  })

  it('block production continues under preconf', async () => {
    const node = await testNode({ cadence: PRECONF })
    await node.ask('anvil_mine', 3)
    await node.ask('anvil_reorg', 2)
    const hash = await node.send({ to: STRANGER, value: 1n })
    await node.clock.advance(200)
    expect(await node.ask('eth_getTransactionReceipt', hash)).toMatchObject({ status: '0x1', blockNumber: '0x4' })
  })
})

describe('anvil_rollback', () => {
  it.each([
    [[], 4],
    [[3], 2],
    [['0x5'], 0],
  ])('%j leaves block %i as the head', async (params, number) => {
    const { ask, chain } = await testNode()
    await ask('anvil_mine', 5)
    expect(await ask('anvil_rollback', ...params)).toBeNull()
    expect(chain.head.view.head.header.number).toBe(number)
  })

  it('does not return transactions to the pool', async () => {
    const { ask, send, chain } = await testNode()
    const hash = await send({ to: STRANGER, value: 1n })
    await ask('evm_mine')
    await ask('anvil_rollback')
    expect(await ask('eth_getTransactionByHash', hash)).toBeNull()
    expect(chain.pool.size).toBe(0)
    expect(await ask('eth_getBalance', STRANGER)).toBe('0x0')
  })
})

describe.each(CADENCES)('anvil_reset under %s', (_, cadence) => {
  it.each([[[]], [[null]], [[{}]], [[{ forking: null }]], [[{ forking: { blockNumber: null } }]]])(
    '%j goes back to how it began',
    async (params) => {
      const { ask, chain } = await testNode({ cadence })
      await ask('anvil_setBalance', STRANGER, 5)
      await ask('evm_setNextBlockTimestamp', GENESIS_SECONDS + 900)
      await ask('anvil_mine', 2)
      await ask('evm_setBlockGasLimit', 20_000_000)
      await ask('anvil_setMinGasPrice', 5)
      await ask('evm_snapshot')
      expect(await ask('anvil_reset', ...params)).toBeNull()
      expect(await ask('hardhat_reset', ...params)).toBe(true)
      expect(chain.head.view.head.hash).toBe(chain.genesis.hash)
      expect(await ask('eth_getBalance', STRANGER, 'pending')).toBe('0x0')
      expect(chain).toMatchObject({ gasLimit: 60_000_000n, minGasPrice: 0n, snapshots: [] })
      expect(chain.nowSeconds()).toBe(GENESIS_SECONDS)
      await ask('anvil_mine', 1)
      const [first] = await (await testNode({ cadence })).chain.mine(1)
      expect(chain.head.view.head.hash).toBe(first?.hash)
    },
  )
})
