import { afterEach, describe, expect, it } from 'vitest'
import type { Caller } from '../context.ts'
import { Address, Hash } from '../../eth/index.ts'
import type { Json } from '../json.ts'
import { ALICE, LOGGER, LOGGER_INIT_CODE, MANUAL, PRECONF, testNode } from '../node.fixture.ts'
import type { TestNode, TestNodeOptions } from '../node.fixture.ts'

const BOB = Address.from('0x70997970c51812dc3a010c7d01b50e0d17dc79c8')

interface Notification {
  readonly id: string
  readonly result: unknown
}

/** A node, and one connection that records its notifications. */
interface Connected extends TestNode {
  readonly subscribe: (kind: string, option?: unknown) => Promise<Subscription>
  readonly caller: Caller
  readonly disconnect: () => void
  readonly notifications: readonly Notification[]
}

interface Subscription {
  readonly id: string
  readonly results: () => readonly Json[]
}

const running: TestNode[] = []

afterEach(async () => {
  for (const { chain, rpc } of running.splice(0)) {
    await chain.stop()
    await rpc.close()
  }
})

async function connected(options: TestNodeOptions = {}): Promise<Connected> {
  const node = await testNode(options)
  running.push(node)
  const notifications: Notification[] = []
  const ends: (() => void)[] = []
  const session = {
    notify: (id: string, result: unknown) => notifications.push({ id, result }) > 0,
    onClose: (end: () => void) => void ends.push(end),
  }
  const caller: Caller = { tier: 'dedicated', session }
  const subscribe = async (kind: string, option?: unknown) => {
    const id = (await node.rpc.request({ method: 'eth_subscribe', params: [kind, option] }, caller)) as string
    return { id, results: () => notifications.filter((item) => item.id === id).map(({ result }) => result as Json) }
  }
  return { ...node, subscribe, caller, notifications, disconnect: () => ends.forEach((end) => end()) }
}

/** Deploys the logger and seals it. */
async function deploy({ send, chain }: TestNode): Promise<void> {
  await send({ data: LOGGER_INIT_CODE })
  await chain.mine(1)
}

function log({ send }: TestNode, topic: number): Promise<Hash> {
  return send({ to: LOGGER, data: Hash.toBytes(Hash.fromBigint(BigInt(topic))) })
}

function topicsOf(logs: readonly Json[]): readonly (readonly [number, boolean])[] {
  return logs.map(({ topics, removed }) => [Number((topics as string[])[0]), removed as boolean])
}

describe('subscribing', () => {
  it('requires a connection that supports notifications', async () => {
    const { ask } = await testNode()
    await expect(ask('eth_subscribe', 'newHeads')).rejects.toMatchObject({ code: -32_601 })
    await expect(ask('eth_unsubscribe', '0x1')).rejects.toMatchObject({ code: -32_601 })
  })

  it('rejects unknown kinds and options', async () => {
    const { subscribe } = await connected()
    await expect(subscribe('newBlocks')).rejects.toMatchObject({ code: -32_602, message: expect.stringContaining('pendingLogs') })
    await expect(subscribe('logs', { address: '0x1' })).rejects.toMatchObject({ code: -32_602 })
    await expect(subscribe('newPendingTransactions', 'yes')).rejects.toMatchObject({ code: -32_602 })
    await expect(
      subscribe('transactionReceipts', { transactionHashes: Array.from({ length: 201 }, () => Hash.zero) }),
    ).rejects.toMatchObject({
      code: -32_602,
    })
  })

  it('ends by its id, once, and with the connection', async () => {
    const { subscribe, chain, rpc, caller, disconnect } = await connected()
    const first = await subscribe('newHeads')
    const second = await subscribe('newHeads')
    expect(await rpc.request({ method: 'eth_unsubscribe', params: [first.id] }, caller)).toBe(true)
    expect(await rpc.request({ method: 'eth_unsubscribe', params: [first.id] }, caller)).toBe(false)
    await chain.mine(1)
    expect(first.results()).toEqual([])
    expect(second.results()).toHaveLength(1)
    disconnect()
    await chain.mine(1)
    expect(second.results()).toHaveLength(1)
  })

  it('has a limit per connection', async () => {
    const { subscribe } = await connected()
    for (let i = 0; i < 1_024; i++) await subscribe('newHeads')
    await expect(subscribe('newHeads')).rejects.toMatchObject({ code: -32_005 })
  })

  it('ends on a connection that was closed before', async () => {
    const { rpc, chain } = await connected()
    let count = 0
    const session = { notify: () => ++count < 0, onClose: () => undefined }
    await rpc.request({ method: 'eth_subscribe', params: ['newHeads'] }, { tier: 'dedicated', session })
    await chain.mine(3)
    expect(count).toBe(1)
  })

  it('sends the same object to all subscribers', async () => {
    const { subscribe, chain } = await connected()
    const first = await subscribe('newHeads')
    const second = await subscribe('newHeads')
    await chain.mine(1)
    expect(second.results()[0]).toBe(first.results()[0])
  })
})

describe('newHeads', () => {
  it('notifies sealed blocks only', async () => {
    const { subscribe, clock, chain } = await connected({ cadence: PRECONF })
    const heads = await subscribe('newHeads')
    await clock.advance(1_999)
    expect(heads.results()).toEqual([])
    await clock.advance(2_001)
    expect(heads.results().map(({ number }) => number)).toEqual(['0x1', '0x2'])
    expect(heads.results()[1]).toMatchObject({ hash: chain.head.view.head.hash })
    expect(heads.results()[1]).not.toHaveProperty('transactions')
  })
})

describe('pendingLogs', () => {
  it('notifies each log once, when it is promised', async () => {
    const node = await connected({ cadence: PRECONF })
    await deploy(node)
    const pending = await node.subscribe('pendingLogs')
    const sealed = await node.subscribe('logs')
    await log(node, 1)
    await node.clock.advance(200)
    await log(node, 2)
    await log(node, 3)
    await node.clock.advance(200)
    expect(topicsOf(pending.results())).toEqual([
      [1, false],
      [2, false],
      [3, false],
    ])
    expect(pending.results()[0]).toMatchObject({ blockHash: Hash.zero, blockNumber: '0x2' })
    expect(sealed.results()).toEqual([])
    await node.clock.advance(1_600)
    expect(topicsOf(sealed.results())).toEqual([
      [1, false],
      [2, false],
      [3, false],
    ])
    expect(topicsOf(pending.results())).toHaveLength(3)
    // The sealed log equals the pre-confirmed one except for the block hash.
    const { blockHash: _, ...promised } = pending.results()[1] ?? {}
    expect(sealed.results()[1]).toMatchObject(promised)
  })

  it('notifies only later logs to a subscriber in the middle of a block', async () => {
    const node = await connected({ cadence: PRECONF })
    await deploy(node)
    await log(node, 1)
    await node.clock.advance(200)
    const pending = await node.subscribe('pendingLogs')
    await log(node, 2)
    await node.clock.advance(2_000)
    expect(topicsOf(pending.results())).toEqual([[2, false]])
  })

  it('notifies sealed logs under a cadence without promises', async () => {
    for (const cadence of [MANUAL, { kind: 'instant' }, { kind: 'native', blockTimeMs: 200 }] as const) {
      const node = await connected({ cadence })
      await deploy(node)
      const pending = await node.subscribe('pendingLogs')
      await log(node, 1)
      await node.chain.mine(1)
      expect(topicsOf(pending.results())).toEqual([[1, false]])
    }
  })

  it('matches address and topics', async () => {
    const node = await connected()
    await deploy(node)
    const none = await node.subscribe('pendingLogs', { address: BOB })
    const two = await node.subscribe('pendingLogs', { address: LOGGER, topics: [[Hash.fromBigint(2n)]] })
    await log(node, 1)
    await log(node, 2)
    await node.chain.mine(1)
    expect(none.results()).toEqual([])
    expect(topicsOf(two.results())).toEqual([[2, false]])
  })

  it('notifies retracted logs as removed', async () => {
    const node = await connected({ cadence: PRECONF })
    await deploy(node)
    await node.clock.advance(2_000)
    const pending = await node.subscribe('pendingLogs')
    const sealed = await node.subscribe('logs')
    await log(node, 1)
    await node.clock.advance(200)
    await node.chain.rollback(1)
    expect(topicsOf(pending.results())).toEqual([
      [1, false],
      [1, true],
    ])
    expect(sealed.results()).toEqual([])
  })
})

describe('logs', () => {
  it('notifies removed logs of a rewind, oldest first and each once, then the new ones', async () => {
    const node = await connected()
    await deploy(node)
    const sealed = await node.subscribe('logs')
    const pending = await node.subscribe('pendingLogs')
    const transactions = []
    for (const topic of [1, 2, 3]) {
      await log(node, topic)
      const [block] = await node.chain.mine(1)
      transactions.push(...(block?.transactions ?? []).filter(({ from }) => from === ALICE))
    }
    const old = sealed.results().map(({ blockHash }) => blockHash)
    await node.chain.reorg(
      3,
      transactions.slice(0, 2).map((tx) => ({ tx, block: 1 })),
    )
    const notified = [
      [1, false],
      [2, false],
      [3, false],
      [1, true],
      [2, true],
      [3, true],
      [1, false],
      [2, false],
    ]
    expect(topicsOf(sealed.results())).toEqual(notified)
    expect(topicsOf(pending.results())).toEqual(notified)
    expect(
      sealed
        .results()
        .slice(3, 6)
        .map(({ blockHash }) => blockHash),
    ).toEqual(old)
    expect(sealed.results()[6]).toMatchObject({ blockHash: node.chain.head.view.byNumber(3)?.hash, logIndex: '0x0' })
  })
})

describe('flashblocks', () => {
  it('are notified as the growing pending block with full transactions', async () => {
    const node = await connected({ cadence: PRECONF })
    const feed = await node.subscribe('newFlashblocks')
    await node.send({ to: BOB, value: 1n })
    await node.clock.advance(400)
    const [first, second] = feed.results()
    expect(feed.results()).toHaveLength(2)
    expect(first).toMatchObject({ number: '0x1', hash: Hash.zero })
    expect(second?.['transactions']).toMatchObject([{ type: '0x7e' }, { from: ALICE, blockHash: null, blockNumber: '0x1' }])
  })

  it('notify their transactions once: hashes, or objects with the fields of the receipt', async () => {
    const node = await connected({ cadence: PRECONF })
    const hashes = await node.subscribe('newFlashblockTransactions')
    const full = await node.subscribe('newFlashblockTransactions', true)
    const hash = await node.send({ to: BOB, value: 1n })
    await node.clock.advance(2_200)
    expect(hashes.results()).toHaveLength(2)
    expect(hashes.results()[0]).toBe(hash)
    expect(full.results()[0]).toMatchObject({
      hash,
      blockHash: null,
      status: '0x1',
      gasUsed: '0x5208',
      logs: [],
      contractAddress: null,
      from: ALICE,
    })
    // The next block begins with its deposit.
    expect(full.results()[1]).toMatchObject({ type: '0x7e', blockNumber: '0x2' })
  })
})

describe('transactions of the pool', () => {
  it('are notified when they can be executed', async () => {
    const node = await connected()
    const hashes = await node.subscribe('newPendingTransactions')
    const full = await node.subscribe('newPendingTransactions', true)
    const later = await node.send({ to: BOB, nonce: 1n })
    expect(hashes.results()).toEqual([])
    const first = await node.send({ to: BOB, nonce: 0n })
    expect(hashes.results()).toEqual([first, later])
    expect(full.results()[0]).toMatchObject({ hash: first, blockHash: null })
  })
})

describe('transactionReceipts', () => {
  it('notifies the watched receipts when they are sealed', async () => {
    const node = await connected()
    const first = await node.send({ to: BOB })
    const second = await node.send({ to: BOB })
    const one = await node.subscribe('transactionReceipts', { transactionHashes: [second] })
    const all = await node.subscribe('transactionReceipts')
    const empty = await node.subscribe('transactionReceipts', { transactionHashes: [] })
    await node.chain.mine(2)
    expect(one.results()).toMatchObject([[{ transactionHash: second, status: '0x1' }]])
    expect(all.results()[0]).toMatchObject([{ type: '0x7e' }, { transactionHash: first }, { transactionHash: second }])
    expect(empty.results()).toEqual(all.results())
  })
})

describe('syncing', () => {
  it('notifies false once', async () => {
    const { subscribe, chain } = await connected()
    const feed = await subscribe('syncing')
    await chain.mine(1)
    expect(feed.results()).toEqual([false])
  })
})
