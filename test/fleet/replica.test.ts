import { isDeepStrictEqual } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { HeadEvent } from '../../src/chain/index.ts'
import { caughtUp, startProxy, startServers, until } from './fleet.fixture.ts'
import type { Member } from './fleet.fixture.ts'
import { NO_SERVERS, startNats } from './servers.fixture.ts'

const DEAD = '0x000000000000000000000000000000000000dEaD'
const COIN = '0x00000000000000000000000000000000000000aa'

describe.skipIf(NO_SERVERS !== null)(`a replica${NO_SERVERS === null ? '' : ` (${NO_SERVERS})`}`, () => {
  let servers: Awaited<ReturnType<typeof startServers>>
  beforeAll(async () => {
    servers = await startServers()
  })
  afterEach(() => servers.closeMembers())
  afterAll(() => servers.stop())

  async function pair(options = {}): Promise<readonly [sequencer: Member, replica: Member]> {
    const database = await servers.createDatabase()
    const sequencer = await servers.start(database, 'sequencer', options)
    return [sequencer, await servers.start(database, 'replica')]
  }

  /** What both answer to read methods. */
  async function answers({ ask }: Member, address: string): Promise<unknown> {
    const latest = await ask('eth_getBlockByNumber', 'latest', true)
    const { number } = latest as { number: string }
    return {
      latest,
      receipts: await ask('eth_getBlockReceipts', 'latest'),
      logs: await ask('eth_getLogs', { fromBlock: '0x0', toBlock: 'latest' }),
      balance: await ask('eth_getBalance', address, 'latest'),
      older: await ask('eth_getBalance', address, '0x1'),
      proof: await ask('eth_getProof', address, [], 'latest'),
      trace: await ask('debug_traceBlockByNumber', number, {}),
      fees: await ask('eth_feeHistory', '0x3', 'latest', [50]),
      safe: await ask('eth_getBlockByNumber', 'safe', false),
      config: await ask('eth_config'),
    }
  }

  test('answers reads as the sequencer does, and shows what was written through it at once', async () => {
    const [sequencer, replica] = await pair()
    await until('a sealed block', () => replica.node.chain.head.view.head.header.number > 0)
    const [alice] = (await replica.ask('eth_accounts')) as readonly string[]
    const hash = await replica.ask('eth_sendTransaction', { from: alice, to: DEAD, value: '0x5' })
    expect(await replica.ask('eth_getBalance', DEAD, 'pending')).toBe('0x5')
    expect(await replica.ask('eth_getTransactionReceipt', hash)).toMatchObject({ status: '0x1', transactionHash: hash })
    await replica.ask('anvil_setBalance', COIN, '0x7')
    expect(await replica.ask('eth_getBalance', COIN, 'latest')).toBe('0x7')
    await replica.ask('evm_mine')
    await caughtUp(replica, sequencer)
    expect(await answers(replica, DEAD)).toEqual(await answers(sequencer, DEAD))
    expect([...replica.bugs, ...sequencer.bugs]).toEqual([])
  })

  test('waits for the chain, and one of two sequencers that begin at once waits for the lease', async () => {
    const database = await servers.createDatabase()
    const replica = servers.start(database, 'replica')
    const started: Member[] = []
    const both = [1, 2].map(() => servers.start(database, 'sequencer').then((member) => started.push(member)))
    await until('one of them is the sequencer', () => started.length > 0)
    const follower = await replica
    expect(follower.notes).toContain('the database holds no chain yet; this process waits until a sequencer (--role sequencer) begins one')
    await caughtUp(follower, started[0]!)
    await started[0]!.node.close()
    await Promise.all(both)
    await caughtUp(follower, started[1]!)
    expect(started[1]!.node.chain.genesis.hash).toBe(follower.node.chain.genesis.hash)
  })

  test('continues from the time of a first block that was chosen', async () => {
    const [sequencer, replica] = await pair({ timestamp: 1_600_000_000 })
    await until('a sealed block', () => replica.node.chain.head.view.head.header.number > 0)
    const { header } = replica.node.chain.head.view.head
    expect(header.timestamp - 1_600_000_000).toBeLessThan(600)
    expect([...replica.bugs, ...sequencer.bugs]).toEqual([])
  })

  test('knows what is in the pool of the sequencer', async () => {
    const [, replica] = await pair({ cadence: 'manual' })
    const [alice] = (await replica.ask('eth_accounts')) as readonly string[]
    const announced: unknown[] = []
    const end = await replica.node.subscribe(['newPendingTransactions'], (hash) => announced.push(hash))
    const filter = await replica.ask('eth_newPendingTransactionFilter')
    const hash = await replica.ask('eth_sendTransaction', { from: alice, to: DEAD, value: '0x5' })
    expect(await replica.ask('eth_getTransactionCount', alice, 'pending')).toBe('0x1')
    expect(await replica.ask('eth_getTransactionCount', alice, 'latest')).toBe('0x0')
    expect(await replica.ask('debug_getRawTransaction', hash)).toMatch(/^0x02/)
    await replica.ask('evm_mine')
    expect(announced).toEqual([hash])
    expect(await replica.ask('eth_getFilterChanges', filter)).toEqual([hash])
    await end()
  })

  test('passes on what builds a block without sealing it', async () => {
    const [sequencer, replica] = await pair({ cadence: 'manual' })
    const { hash, header } = replica.node.chain.head.view.head
    const zero = `0x${'0'.repeat(64)}`
    const attributes = {
      timestamp: `0x${(header.timestamp + 2).toString(16)}`,
      prevRandao: zero,
      suggestedFeeRecipient: DEAD,
      withdrawals: [],
      parentBeaconBlockRoot: zero,
    }
    expect(await replica.ask('testing_buildBlockV1', hash, attributes, [], '0x')).toMatchObject({ executionPayload: { parentHash: hash } })
    expect([...replica.bugs, ...sequencer.bugs]).toEqual([])
  })

  test('follows snapshots, reverts, reorgs, resets and retractions', async () => {
    const [sequencer, replica] = await pair({ cadence: 'manual' })
    const [alice] = (await replica.ask('eth_accounts')) as readonly string[]
    const send = (value: string) => replica.ask('eth_sendTransaction', { from: alice, to: DEAD, value })
    await send('0x1')
    await replica.ask('evm_mine')
    await replica.ask('anvil_setBalance', COIN, '0x1')
    const first = await replica.ask('evm_snapshot')
    await replica.ask('anvil_setBalance', COIN, '0x2')
    await replica.ask('anvil_setStorageAt', COIN, '0x0', `0x${'01'.padStart(64, '0')}`)
    await send('0x2')
    await replica.ask('anvil_mine', '0x3')
    expect(await replica.ask('eth_blockNumber')).toBe('0x4')
    await replica.ask('evm_revert', first)
    expect(await replica.ask('eth_blockNumber')).toBe('0x1')
    expect(await replica.ask('eth_getBalance', COIN, 'latest')).toBe('0x1')
    expect(await replica.ask('eth_getStorageAt', COIN, '0x0', 'latest')).toBe(`0x${'0'.repeat(64)}`)
    await send('0x3')
    await replica.ask('anvil_mine', '0x5')
    await replica.ask('anvil_reorg', 2, [])
    expect(await answers(replica, DEAD)).toEqual(await answers(sequencer, DEAD))
    await replica.ask('anvil_reset')
    expect(await replica.ask('eth_blockNumber')).toBe('0x0')
    expect(await replica.ask('eth_getBalance', COIN, 'latest')).toBe('0x0')
    await send('0x4')
    await replica.ask('evm_mine')
    expect(await answers(replica, DEAD)).toEqual(await answers(sequencer, DEAD))
    expect([...replica.bugs, ...sequencer.bugs]).toEqual([])
  })

  test('sees the same events as the sequencer under rough faults', async () => {
    const [sequencer, replica] = await pair({ chaos: 'rough', seed: 'fleet' })
    await caughtUp(replica, sequencer)
    const [mine, other]: [string[], string[]] = [[], []]
    replica.node.chain.head.subscribe((event) => mine.push(...shown(event)))
    sequencer.node.chain.head.subscribe((event) => other.push(...shown(event)))
    const accounts = (await sequencer.ask('eth_accounts')) as readonly string[]
    for (let round = 0; round < 60; round++) {
      await Promise.allSettled(
        accounts.slice(0, 4).map((from) => sequencer.ask('eth_sendTransaction', { from, to: DEAD, value: '0x1', gas: '0x5208' })),
      )
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    const newest = other.at(-1) ?? ''
    await until('the replica sees the last event', () => mine.includes(newest))
    // The replica's first events may be earlier ones of the sequencer.
    const from = mine.indexOf(other[0] ?? '')
    expect(mine.slice(from, from + other.length).join('\n')).toBe(other.slice(0, mine.length - from).join('\n'))
    expect(other.filter((line) => line.includes('rewind')).length).toBeGreaterThan(0)
    expect([...replica.bugs, ...sequencer.bugs]).toEqual([])
  })

  test('that starts later reads the chain, whatever the members were', async () => {
    const database = await servers.createDatabase()
    const sequencer = await servers.start(database, 'sequencer', { cadence: 'manual' })
    await sequencer.ask('anvil_mine', '0xbb8')
    await sequencer.ask('anvil_setBalance', COIN, '0x9')
    const replica = await servers.start(database, 'replica')
    expect(await answers(replica, COIN)).toEqual(await answers(sequencer, COIN))
    await sequencer.node.close()
    const next = await servers.start(database, 'sequencer', { cadence: 'manual' })
    expect(await answers(next, COIN)).toEqual(await answers(replica, COIN))
    await next.ask('evm_mine')
    await caughtUp(replica, next)
    expect(await answers(replica, COIN)).toEqual(await answers(next, COIN))
    expect([...replica.bugs, ...next.bugs]).toEqual([])
  })

  test('that missed edits and a reorg reads them from the database, and announces no block that it had', async () => {
    await using nats = await startNats({ jetStream: false })
    await using proxy = await startProxy(nats.port)
    const database = await servers.createDatabase()
    const sequencer = await servers.start(database, 'sequencer', { cadence: 'manual' }, { nats: nats.url })
    const replica = await servers.start(database, 'replica', {}, { nats: `nats://127.0.0.1:${proxy.port}` })
    const { chain } = replica.node
    const sameState = () =>
      until('the replica has the state of the sequencer', async () => {
        const proofs = [replica, sequencer].map(({ ask }) => ask('eth_getProof', COIN, [], 'latest'))
        return isDeepStrictEqual(...((await Promise.all(proofs)) as [unknown, unknown]))
      })
    const missing = async (changes: () => Promise<unknown>) => {
      await sameState()
      const events: string[] = []
      const end = chain.head.subscribe((event) => events.push(nameOf(event)))
      const { resyncs } = replica.node.fleet?.status().counts ?? { resyncs: 0 }
      proxy.cut()
      await changes()
      proxy.mend()
      await until('the chain is read again', () => (replica.node.fleet?.status().counts.resyncs ?? 0) > resyncs)
      await sameState()
      await caughtUp(replica, sequencer)
      end()
      expect(await answers(replica, COIN)).toEqual(await answers(sequencer, COIN))
      return events
    }
    /** A block of the same hash, whose edits are removed. */
    const again = async (timestamp: number) => {
      await sequencer.ask('anvil_setNextBlockTimestamp', timestamp)
      const snapshot = await sequencer.ask('evm_snapshot')
      await sequencer.ask('anvil_mine')
      await sequencer.ask('anvil_setBalance', DEAD, '0x5')
      return missing(async () => {
        await sequencer.ask('evm_revert', snapshot)
        await sequencer.ask('anvil_mine')
      })
    }
    // The edits of block 0 stay.
    await sequencer.ask('anvil_setBalance', COIN, '0x9')
    expect(await again(1_900_000_000)).toEqual(['rewind to 0', 'block 1'])
    await sequencer.ask('anvil_mine', '0x2')
    await sequencer.ask('anvil_setBalance', COIN, '0x1')
    await sequencer.ask('anvil_setBalance', DEAD, '0x1')
    const edits = async () => {
      await sequencer.ask('anvil_setBalance', COIN, '0x2')
      await sequencer.ask('anvil_mine')
    }
    // All edits of block 3 as one.
    expect(await missing(edits)).toEqual(['edit', 'block 4'])
    await sequencer.ask('anvil_setBalance', COIN, '0x3')
    const reorg = () => sequencer.ask('anvil_reorg', 2, [])
    expect(await missing(reorg)).toEqual(['rewind to 2', 'block 3', 'block 4'])
    const shorter = () => sequencer.ask('anvil_rollback', 2)
    expect(await missing(shorter)).toEqual(['rewind to 2'])
    expect(await again(2_000_000_000)).toEqual(['rewind to 2', 'block 3'])
    expect([...replica.bugs, ...sequencer.bugs]).toEqual([])
  })
})

/** One line for each event, without what belongs to one process. */
function shown(event: HeadEvent): readonly string[] {
  if (event.kind === 'edit') return ['edit']
  if (event.kind === 'rewind') {
    const { cause, removed, retracted, view } = event
    return [
      `rewind ${cause} to ${view.head.hash} removed ${removed.map(({ hash }) => hash).join()} retracted ${retracted?.transactions.map(({ hash }) => hash).join() ?? 'nothing'}`,
    ]
  }
  const { header, hash, transactions } = event.block
  const place = event.sealed
    ? 'sealed'
    : `flashblock ${event.flashblock.index} ${event.flashblock.payloadId} ${event.flashblock.diff.blockHash}`
  return [
    `${place} ${header.number} ${hash} ${transactions.map((tx) => tx.hash).join()} ${event.block.receipts.map(({ cumulativeGasUsed, firstLogIndex }) => `${cumulativeGasUsed}/${firstLogIndex}`).join()}`,
  ]
}

function nameOf(event: HeadEvent): string {
  if (event.kind === 'rewind') return `rewind to ${event.view.head.header.number}`
  return event.kind === 'block' ? `${event.sealed ? 'block' : 'flashblock'} ${event.block.header.number}` : 'edit'
}
