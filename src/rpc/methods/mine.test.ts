import { describe, expect, it } from 'vitest'
import { testChain } from '../../chain/chain.fixture.ts'
import { CADENCES } from '../../chain/index.ts'
import { COMPAT } from '../../compat.ts'
import type { Block, Hex } from '../../eth/index.ts'
import type { WriteSet } from '../../evm/index.ts'
import { MemoryStore } from '../../store/index.ts'
import { DevAccounts } from '../accounts.ts'
import { createRpc } from '../noderpc.ts'
import { ALICE, GENESIS_SECONDS, PRECONF, testNode } from '../node.fixture.ts'
import type { TestNode } from '../node.fixture.ts'

const STRANGER = '0x00000000000000000000000000000000000a11ce'

interface DetailedBlock {
  readonly number: Hex
  readonly transactions: readonly { readonly hash: Hex; readonly type: Hex; readonly output: Hex; readonly revertReason?: string }[]
}

/** Init code that returns its data as deployed code, or reverts with it. */
function ending(opcode: 'f3' | 'fd', data: string): Uint8Array {
  const size = (data.length / 2).toString(16).padStart(2, '0')
  return Buffer.from(`60${size}600c60003960${size}6000${opcode}${data}`, 'hex')
}

const ERROR_NO = `08c379a0${'20'.padStart(64, '0')}${'2'.padStart(64, '0')}${Buffer.from('no').toString('hex').padEnd(64, '0')}`

function heightAndTime({ chain }: TestNode): readonly [number, number] {
  const { header } = chain.head.view.head
  return [header.number, header.timestamp - GENESIS_SECONDS]
}

describe('evm_mine', () => {
  it.each([
    [[], [1, 1]],
    [[null], [1, 1]],
    [[GENESIS_SECONDS + 50], [1, 50]],
    [[`0x${(GENESIS_SECONDS + 50).toString(16)}`], [1, 50]],
    [[{ blocks: 3 }], [3, 3]],
    [[{ blocks: '0x3', timestamp: GENESIS_SECONDS + 50 }], [3, 52]],
    [[{ timestamp: GENESIS_SECONDS + 50 }], [1, 50]],
    [[{ blocks: 0 }], [0, 0]],
    [[{}], [1, 1]],
  ])('%j', async (params, expected) => {
    const node = await testNode()
    expect(await node.ask('evm_mine', ...params)).toBe('0x0')
    expect(heightAndTime(node)).toEqual(expected)
  })
})

describe('evm_mine with a timestamp', () => {
  it('comes before a transaction that is sent after it', async () => {
    const node = await testNode({ cadence: CADENCES.instant })
    const [, hash] = await Promise.all([node.ask('evm_mine', GENESIS_SECONDS + 50), node.send({ to: ALICE })])
    const { view } = node.chain.head
    expect([1, 2].map((number) => (view.byNumber(number)?.header.timestamp ?? 0) - GENESIS_SECONDS)).toEqual([50, 51])
    expect(await node.ask('eth_getTransactionReceipt', hash)).toMatchObject({ blockNumber: '0x2' })
  })

  it('seals the promises before it, and refuses one that is not above theirs', async () => {
    const node = await testNode({ cadence: PRECONF })
    const promised = await node.send({ to: ALICE })
    await node.clock.advance(200)
    const pending = node.chain.head.view.byTag('pending').header.timestamp
    await expect(node.ask('evm_mine', pending)).rejects.toMatchObject({ code: -32_602, message: expect.stringMatching(/^Timestamp error/) })
    expect(heightAndTime(node)[0]).toBe(0)
    await node.ask('evm_mine', pending + 100)
    expect(heightAndTime(node)).toEqual([2, pending + 100 - GENESIS_SECONDS])
    expect(await node.ask('eth_getTransactionReceipt', promised)).toMatchObject({ blockNumber: '0x1' })
  })
})

it('a RangeError of the program is a bug, not an invalid parameter', async () => {
  const { chain } = testChain('manual', { store: new BrokenStore() })
  const bugs: unknown[] = []
  const others = { accounts: new DevAccounts([]), compat: COMPAT.default, clientVersion: '', devClientVersion: '' }
  const rpc = createRpc({ ...others, chain, onBug: (error) => bugs.push(error) })
  await expect(rpc.request({ method: 'evm_mine' })).rejects.toMatchObject({ code: -32_603 })
  expect(bugs).toEqual([new RangeError('Invalid array length')])
})

class BrokenStore extends MemoryStore {
  override append(block: Block, writes: WriteSet): void {
    if (block.header.number > 0) throw new RangeError('Invalid array length')
    super.append(block, writes)
  }
}

describe('{anvil,hardhat,ganache}_mine', () => {
  it.each([
    ['anvil_mine', null, 5 + 60 + 120],
    ['hardhat_mine', true, 6 + 120],
    ['ganache_mine', true, 6 + 120],
  ])('%s counts in numbers and in quantities', async (name, answer, lastSeconds) => {
    const node = await testNode()
    expect(await node.ask(name)).toBe(answer)
    expect(await node.ask(name, 2)).toBe(answer)
    expect(await node.ask(name, '0x2', '0x0')).toBe(answer)
    expect(heightAndTime(node)).toEqual([5, 5])
    expect(await node.ask(name, '0x3', '0x3c')).toBe(answer)
    expect(heightAndTime(node)).toEqual([8, lastSeconds])
  })

  it('begins after the promises if anvil_mine has an interval', async () => {
    const node = await testNode({ cadence: PRECONF })
    await node.send({ to: ALICE })
    await node.clock.advance(200)
    await node.ask('anvil_mine', 1, 3_600)
    expect(heightAndTime(node)).toEqual([2, 1 + 3_600])
    expect(node.chain.head.view.byNumber(1)?.transactions).toHaveLength(2)
  })

  it.each(['anvil_mine', 'hardhat_mine'])('%s has the interval of anvil_setBlockTimestampInterval in place of its own', async (name) => {
    const node = await testNode()
    await node.ask('anvil_setBlockTimestampInterval', 10)
    await node.ask(name, 3, 7)
    expect(heightAndTime(node)).toEqual([3, 30])
    await node.ask('evm_setNextBlockTimestamp', GENESIS_SECONDS + 100)
    await node.ask(name, 3, 7)
    expect(heightAndTime(node)).toEqual([6, 120])
    await node.ask('anvil_removeBlockTimestampInterval')
    await node.ask(name, 3, 7)
    expect(node.chain.head.view.byNumber(9)!.header.timestamp - node.chain.head.view.byNumber(7)!.header.timestamp).toBe(14)
  })

  it('begins at the timestamp that is set for the next block', async () => {
    const node = await testNode()
    await node.ask('evm_setNextBlockTimestamp', GENESIS_SECONDS + 7)
    await node.ask('anvil_mine', 0, 60)
    await node.ask('anvil_mine', 2, 60)
    expect(heightAndTime(node)).toEqual([2, 67])
  })

  it('seals the pending block and the pool', async () => {
    const node = await testNode({ cadence: PRECONF })
    const promised = await node.send({ to: ALICE })
    await node.clock.advance(200)
    const waiting = await node.send({ to: ALICE })
    await node.ask('anvil_mine', 2)
    expect(
      node.chain.head.view
        .byNumber(1)
        ?.transactions.slice(1)
        .map((tx) => tx.hash),
    ).toEqual([promised, waiting])
    expect(node.chain.head.view.head.transactions).toHaveLength(1)
  })
})

describe.each(['anvil_mine_detailed', 'evm_mine_detailed'])('%s', (name) => {
  it('returns the output of each transaction', async () => {
    const node = await testNode()
    const deployed = await node.send({ data: ending('f3', 'c0de') })
    const reverted = await node.send({ data: ending('fd', ERROR_NO) })
    const custom = await node.send({ data: ending('fd', 'deadbeef') })
    const blocks = (await node.ask(name, { blocks: 2 })) as readonly DetailedBlock[] // its result schema
    expect(blocks.map(({ number }) => number)).toEqual(['0x1', '0x2'])
    const [deposit, ...sent] = blocks[0]?.transactions ?? []
    expect(deposit).toMatchObject({ type: '0x7e', output: '0x' })
    expect(sent).toMatchObject([
      { hash: deployed, output: '0xc0de' },
      { hash: reverted, output: `0x${ERROR_NO}`, revertReason: 'no' },
      { hash: custom, output: '0xdeadbeef' },
    ])
    expect(sent[2]).not.toHaveProperty('revertReason')
  })

  it('includes edited state and impersonated contracts', async () => {
    const node = await testNode()
    await node.ask('anvil_setCode', STRANGER, '0x60005460005260206000f3')
    await node.ask('anvil_setStorageAt', STRANGER, '0x0', '0x2a')
    await node.ask('anvil_setBalance', STRANGER, '0xde0b6b3a7640000')
    await node.ask('anvil_impersonateAccount', STRANGER)
    await node.ask('eth_sendTransaction', { from: STRANGER, to: STRANGER })
    const [block] = (await node.ask(name)) as readonly DetailedBlock[] // its result schema
    expect(block?.transactions[1]?.output).toBe(`0x${'2a'.padStart(64, '0')}`)
  })
})

describe('evm_setIntervalMining', () => {
  it.each([
    [[5], 5_000],
    [['0x5'], 5_000],
    [[0.5], 500],
    [[999], 999_000],
    [[1_000], 1_000],
    [[5_000], 5_000],
  ])('%j is seconds below 1,000 and milliseconds from there on', async (params, blockTimeMs) => {
    const node = await testNode()
    expect(await node.ask('evm_setIntervalMining', ...params)).toBeNull()
    expect(node.chain.cadence).toEqual({ kind: 'preconf', blockTimeMs, flashblockMs: 200 })
    expect(await node.ask('anvil_getIntervalMining')).toBe(blockTimeMs / 1_000)
    expect(await node.ask('anvil_getAutomine')).toBe(false)
    await node.ask('evm_setIntervalMining', 0)
    expect(node.chain.cadence).toEqual({ kind: 'manual' })
    expect(await node.ask('anvil_getIntervalMining')).toBeNull()
  })

  it('never has flashblocks further apart than blocks', async () => {
    const node = await testNode()
    await node.ask('anvil_setIntervalMining', 0.1)
    expect(node.chain.cadence).toEqual({ kind: 'preconf', blockTimeMs: 100, flashblockMs: 100 })
    await node.clock.advance(1_000)
    expect(node.chain.head.view.head.header.number).toBe(10)
  })

  it('stays under evm_setAutomine(false), as in anvil and Hardhat, and ends with true, with 0 and with miner_stop', async () => {
    const node = await testNode()
    await node.ask('evm_setIntervalMining', 2)
    await node.ask('evm_setAutomine', false)
    expect(await node.ask('anvil_getIntervalMining')).toBe(2)
    await node.clock.advance(4_000)
    expect(node.chain.head.view.head.header.number).toBe(2)
    await node.ask('evm_setAutomine', true)
    expect(node.chain.cadence.kind).toBe('instant')
    await node.ask('evm_setIntervalMining', 2)
    await node.ask('miner_stop')
    expect(node.chain.cadence.kind).toBe('manual')
  })

  it('does not apply to the default block time, which evm_setAutomine(false) ends', async () => {
    const node = await testNode({ cadence: PRECONF })
    await node.ask('evm_setAutomine', false)
    expect(node.chain.cadence.kind).toBe('manual')
  })

  it('anvil_setIntervalMining always interprets seconds', async () => {
    const node = await testNode()
    await node.ask('anvil_setIntervalMining', 2_000)
    expect(node.chain.cadence).toMatchObject({ blockTimeMs: 2_000_000 })
  })
})
